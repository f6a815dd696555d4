//! Consent to link answers: asked in plain words, unticked by default, and decided only by the box.

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
        ("flowAssignmentId=crm-7", true, "they are linked to you"),
        ("identities.traits.plan=pro", true, "they are linked to you"),
        ("identities.traits.plan=pro", false, "They are anonymous"),
        ("tags.plan=pro", true, "They are anonymous"),
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
    let mut browser = Browser::open(&site, &format!("/f/{flow}")).await;
    browser.press("next", &[("answers.a", "yes")]).await;
    browser.press("back", &[("analytics", "admitted")]).await;
    assert_eq!(browser.hidden("analytics"), "admitted");
    browser.press("next", &[("answers.a", "yes")]).await;
    assert!(browser.html().contains("value=\"admitted\" checked"));
}
