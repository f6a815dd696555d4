//! Several endings, without a script: which one is shown, where it redirects, and what its address
//! contains.

use serde_json::{Value, json};

use crate::browser::{Browser, READ, one, path, published, stored};
use crate::support::Site;

fn survey() -> Value {
    json!({
        "title": "t",
        "questions": [
            {"id": "stars", "type": "rating", "prompt": "?", "score": "value",
             "next": [{"when": {"question": "stars", "equals": 5}, "to": "end:away"}]},
            {"id": "name", "type": "shortText", "prompt": "?"},
        ],
        "endings": [
            {"id": "away", "redirectUrl": "https://one.example/thanks"},
            {"id": "low", "when": {"question": "stars", "lessThan": 3}, "title": "Sorry"},
            {"id": "named", "when": {"question": "name", "answered": true}, "title": "Bye {{answer:name|you}}"},
        ],
        "ending": {"title": "Thanks", "redirectUrl": "https://two.example/"},
    })
}

/// Answers the survey with these stars and, if it is asked, this name.
async fn finished<'s>(site: &'s Site, flow: &str, stars: &str, name: &str) -> Browser<'s> {
    let mut browser = Browser::open(site, flow).await;
    site.at(READ);
    browser.press("next", &[("answers.stars", stars)]).await;
    let more: &[(&str, &str)] = &[("answers.name", name)];
    let more = if browser.html().contains("id=\"q-name\"") { more } else { &[] };
    browser.press("send", more).await;
    site.at(0);
    browser
}

#[tokio::test]
async fn the_answers_decide_which_ending_is_shown_and_where_it_leads() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    let address = path(flow);
    let form = site.get(&address, &[]).await;
    let policy = form.header("content-security-policy").unwrap();
    let allowed = "form-action 'self' https://one.example https://two.example;";
    assert!(policy.contains(allowed), "{policy}");

    let jumped = finished(&site, &address, "5", "Ada").await.page;
    assert_eq!(jumped.status, 303);
    assert_eq!(jumped.header("location").as_deref(), Some("https://one.example/thanks"));
    let plain = finished(&site, &address, "4", "").await.page;
    assert_eq!(plain.header("location").as_deref(), Some("https://two.example/"));

    let low = finished(&site, &address, "1", "").await.page;
    let ending = low.header("location").unwrap();
    assert!(ending.contains("/done?") && ending.contains("&ending=low"), "{ending}");
    assert!(site.get(&ending, &[]).await.text().contains("<h1 dir=\"auto\">Sorry</h1>"));

    let rows = stored(&site, flow).await;
    let scores: Vec<Option<&str>> = rows.iter().map(|row| row.score.as_deref()).collect();
    assert_eq!(scores, [Some("5"), Some("4"), Some("1")]);
    // The jump skipped the question, so that it was not even asked.
    assert_eq!(rows[0].answers, r#"{"stars":"5"}"#);
}

#[tokio::test]
async fn an_ending_that_repeats_an_answer_is_shown_without_an_address_that_contains_it() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    site.at(READ);
    browser.press("next", &[("answers.stars", "4")]).await;
    let form = browser.page.body.clone();
    for _ in 0..2 {
        browser.page.body = form.clone();
        browser.press("send", &[("answers.name", "Lovelace <b>")]).await;
        assert_eq!(browser.page.status, 200);
        assert!(browser.html().contains(">Lovelace &lt;b&gt;</span></h1>"), "{}", browser.html());
    }
    // The second time was a reload.
    assert_eq!(stored(&site, flow).await.len(), 1);
    let version = browser.html();
    let done =
        version.split("data-done=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let done = done.replace("&amp;", "&");
    assert!(done.contains("&ending=named") && !done.contains("Lovelace"), "{done}");
    assert!(site.get(&done, &[]).await.text().contains(">you</span></h1>"));
}

/// Nothing was asked, so there is nothing to send, and no answers that were saved.
#[tokio::test]
async fn a_message_is_confirmed_and_does_not_thank_for_answers() {
    let site = Site::start().await;
    for questions in [json!([]), json!([{"id": "news", "type": "statement", "prompt": "We moved"}])]
    {
        let message = json!({
            "title": "We moved", "description": "To New Road.",
            "respondentAnalytics": "never", "questions": questions,
        });
        let flow = published(&site, message).await;
        let mut browser = Browser::open(&site, &path(flow)).await;
        assert!(browser.html().contains("value=\"send\">OK</button>"), "{}", browser.html());
        site.at(READ);
        browser.press("send", &[]).await;
        site.at(0);
        let done = browser.page.header("location").unwrap();
        let done = site.get(&done, &[]).await.text();
        assert!(done.contains("Thank you") && !done.contains("answers are saved"), "{done}");
        assert_eq!(stored(&site, flow).await.len(), 1);
    }
    let flow = published(&site, one(json!({"id": "why", "type": "longText", "prompt": "?"}))).await;
    assert!(
        Browser::open(&site, &path(flow)).await.html().contains("value=\"send\">Send</button>")
    );
}

/// Another ending may be about anything: only the usual one has a tick above it.
#[tokio::test]
async fn only_the_usual_ending_has_a_tick() {
    let site = Site::start().await;
    let mut survey = survey();
    survey["ending"] = json!({"title": "Thanks"});
    let address = path(published(&site, survey).await);
    for (stars, title, ticked) in [("1", "Sorry", false), ("4", "Thanks", true)] {
        let done = finished(&site, &address, stars, "").await.page.header("location").unwrap();
        let page = site.get(&done, &[]).await.text();
        assert!(page.contains(&format!(">{title}</h1>")), "{page}");
        assert_eq!(page.contains("<div class=\"tick\">"), ticked, "{page}");
    }
}
