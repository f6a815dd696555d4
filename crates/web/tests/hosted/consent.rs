//! Consent to link answers: asked in plain words, only of people who are known, unticked by
//! default, and decided only by the box. The ending claims no more than is true.

use serde_json::{Value, json};
use sluice_flow::submission::Admission;

use crate::browser::{Browser, READ, published, stored};
use crate::support::Site;

fn asks(respondent_analytics: &str) -> Value {
    json!({
        "title": "t", "respondentAnalytics": respondent_analytics,
        "questions": [
            {"id": "a", "type": "yesNo", "prompt": "A?"}, {"id": "b", "type": "yesNo", "prompt": "B?"},
        ],
    })
}

#[tokio::test]
async fn the_box_starts_unticked_and_decides() {
    for (setting, ticked, admission, linked) in [
        ("ask", false, Admission::CollectionOnly, false),
        ("ask", true, Admission::Admitted, true),
        ("never", false, Admission::CollectionOnly, false),
        ("never", true, Admission::CollectionOnly, false),
    ] {
        let site = Site::start().await;
        let flow = published(&site, asks(setting)).await;
        let at = format!("/f/{flow}?identities.userId=user-4711");
        let mut browser = Browser::open(&site, &at).await;
        site.at(READ);
        browser.press("next", &[("answers.a", "yes")]).await;
        let html = browser.html();
        assert_eq!(
            html.contains("name=\"analytics\" value=\"admitted\">"),
            setting == "ask",
            "{html}"
        );
        let fields: &[(&str, &str)] = if ticked {
            &[("answers.b", "no"), ("analytics", "admitted")]
        } else {
            &[("answers.b", "no")]
        };
        browser.press("send", fields).await;
        let rows = stored(&site, flow).await;
        assert_eq!(rows[0].admission, admission, "{setting} {ticked}");
        assert_eq!(rows[0].respondent_id.is_some(), linked, "{setting} {ticked}");
        let address = browser.page.header("location").unwrap();
        let done = site.get(&address, &[]).await.text();
        let message = if linked { "they are linked to you" } else { "They are anonymous" };
        assert!(done.contains(message), "{done}");
        assert!(!address.contains("4711"), "{address}");
    }
}

#[tokio::test]
async fn the_ending_states_whether_answers_of_a_personal_link_are_linked() {
    for (query, ticked, message) in [
        ("flowAssignmentId=crm-7", true, "They are not linked to you."),
        ("identities.traits.plan=pro", true, "they are linked to you"),
        ("identities.traits.plan=pro", false, "They are anonymous"),
        ("flowAssignmentId=crm-7", false, "They are not linked to you."),
        ("tags.plan=pro", true, "They are not linked to you."),
        ("utm_source=mail", true, "They are not linked to you."),
        ("context.locale=en&theme=dark", true, "They are anonymous"),
    ] {
        let site = Site::start().await;
        let flow = published(&site, asks("ask")).await;
        let mut browser = Browser::open(&site, &format!("/f/{flow}?{query}")).await;
        site.at(READ);
        browser.press("next", &[("answers.a", "yes")]).await;
        let fields: &[(&str, &str)] = if ticked { &[("analytics", "admitted")] } else { &[] };
        browser.press("send", fields).await;
        let address = browser.page.header("location").unwrap();
        let done = site.get(&address, &[]).await.text();
        assert!(done.contains(message), "{query} {ticked}: {done}");
    }
}

#[tokio::test]
async fn a_ticked_box_stays_ticked_when_the_form_is_shown_again() {
    let site = Site::start().await;
    let flow = published(&site, asks("ask")).await;
    let mut browser = Browser::open(&site, &format!("/f/{flow}?identities.userId=u-1")).await;
    browser.press("next", &[("answers.a", "yes")]).await;
    browser.press("back", &[("analytics", "admitted")]).await;
    assert_eq!(browser.hidden("analytics"), "admitted");
    browser.press("next", &[("answers.a", "yes")]).await;
    assert!(browser.html().contains("value=\"admitted\" checked"));
}

#[tokio::test]
async fn only_people_who_are_known_are_asked() {
    for (query, asked) in [
        ("", false),
        ("?tags.plan=pro&context.locale=en", false),
        ("?identities.userId=u-1", true),
        // Whom these stand for is not known here.
        ("?flowAssignmentId=crm-7", false),
        ("?flowAssignmentId=fa_0000000000000000000000", false),
    ] {
        let site = Site::start().await;
        let flow = published(&site, asks("ask")).await;
        let mut browser = Browser::open(&site, &format!("/f/{flow}{query}")).await;
        site.at(READ);
        let scripted = site.get(&format!("/f/{flow}{query}"), &[("sluice-script", "1")]).await;
        assert_eq!(scripted.text().contains("name=\"analytics\""), asked, "{query}");
        browser.press("next", &[("answers.a", "yes")]).await;
        assert_eq!(browser.html().contains("name=\"analytics\""), asked, "{query}");
        // A box that was not shown cannot be ticked.
        browser.press("send", &[("answers.b", "no"), ("analytics", "admitted")]).await;
        let expected = if asked { Admission::Admitted } else { Admission::CollectionOnly };
        assert_eq!(stored(&site, flow).await[0].admission, expected, "{query}");
    }
}

#[tokio::test]
async fn answers_that_may_name_a_person_are_never_called_anonymous() {
    let options = json!([{"id": "a", "label": "A"}]);
    for (question, field, value, anonymous) in [
        (json!({"type": "nps"}), "answers.q", "9", true),
        (json!({"type": "email"}), "answers.q", "ada@example.com", false),
        (json!({"type": "phone"}), "answers.q", "+49 30 123456", false),
        (json!({"type": "longText"}), "answers.q", "I am Ada", false),
        (json!({"type": "longText"}), "answers.q", "", true),
        (json!({"type": "singleChoice", "options": options}), "answers.q", "a", true),
    ] {
        for scripted in [false, true] {
            let site = Site::start().await;
            let mut question = question.clone();
            question["id"] = json!("q");
            question["prompt"] = json!("Q?");
            let definition = json!({"title": "t", "questions": [question]});
            let flow = published(&site, definition).await;
            let headers: &[(&str, &str)] = if scripted { &[("sluice-script", "1")] } else { &[] };
            let mut browser = Browser::open_with(&site, &format!("/f/{flow}"), headers).await;
            site.at(READ);
            browser.press("send", &[(field, value)]).await;
            let done = match browser.page.header("location") {
                Some(address) => site.get(&address, &[]).await.text(),
                None => browser.html(),
            };
            assert!(done.contains("Your answers are saved."), "{question}: {done}");
            assert_eq!(done.contains("They are anonymous"), anonymous, "{question}: {done}");
            assert_eq!(done.contains("They are not linked to you."), !anonymous, "{question}");
        }
    }
}
