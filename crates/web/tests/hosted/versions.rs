//! A version is published while a respondent answers the previous one.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};

use crate::browser::{Browser, READ, answers, path, published, stored};
use crate::support::{Site, actor};

fn first() -> Value {
    json!({
        "title": "First", "respondentAnalytics": "never",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How?"},
            {"id": "kind", "type": "singleChoice", "prompt": "Which?",
             "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]},
            {"id": "text", "type": "shortText", "prompt": "Text?"},
            {"id": "gone", "type": "yesNo", "prompt": "Gone?"},
        ],
    })
}

/// An option is removed, a question changes its type, one is removed and one is added.
fn second() -> Value {
    json!({
        "title": "Second", "respondentAnalytics": "never",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How?"},
            {"id": "kind", "type": "singleChoice", "prompt": "Which?", "options": [{"id": "b", "label": "B"}]},
            {"id": "text", "type": "number", "prompt": "Number?"},
            {"id": "new", "type": "yesNo", "prompt": "New?"},
        ],
    })
}

async fn publish_second(site: &Site, flow: sluice_flow::id::FlowId) {
    site.engine.put_draft(&actor(), flow, second()).await.unwrap();
    site.publish(flow).await;
}

const FILLED: &[(&str, &str)] =
    &[("answers.nps", "9"), ("answers.kind", "a"), ("answers.text", "12"), ("answers.gone", "yes")];

#[tokio::test]
async fn during_the_grace_window_the_old_version_accepts_steps_and_answers() {
    let site = Site::start().await;
    let flow = published(&site, first()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    let version = browser.hidden("version");
    site.at(READ);
    publish_second(&site, flow).await;
    browser.press("next", FILLED).await;
    assert_eq!(browser.hidden("version"), version);
    browser.press("send", &FILLED[1..]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(stored(&site, flow).await[0].flow_version_id.to_string(), version);
    let done = site.get(&browser.page.header("location").unwrap(), &[]).await;
    assert_eq!(done.status, 200);
}

#[tokio::test]
async fn after_the_grace_window_valid_answers_are_carried_to_the_new_version() {
    for (go, script) in [("send", false), ("next", false), ("send", true)] {
        let site = Site::start().await;
        let flow = published(&site, first()).await;
        site.grace(flow, 60).await;
        let headers: &[(&'static str, &str)] = if script { &[("sluice-script", "1")] } else { &[] };
        let mut browser = Browser::open_with(&site, &path(flow), headers).await;
        let (version, key) = (browser.hidden("version"), browser.hidden("key"));
        publish_second(&site, flow).await;
        site.at(61_000);
        browser.press(go, FILLED).await;
        assert_eq!(browser.page.status, 422, "{}", browser.html());
        let html = browser.html();
        assert!(html.contains("This form changed while you were answering."), "{html}");
        assert!(html.contains("<h1 dir=\"auto\">Second</h1>"));
        assert_ne!(browser.hidden("version"), version);
        assert_eq!(browser.hidden("key"), key);
        assert_eq!(browser.hidden("step"), "kind", "the first unanswered question");
        assert!(stored(&site, flow).await.is_empty());
        if !script {
            assert_eq!(browser.hidden("answers.nps"), "9");
        }
        let rest = [("answers.kind", "b"), ("answers.new", "no")];
        let nps = [("answers.nps", "9")];
        let fields: Vec<_> = rest.into_iter().chain(nps.into_iter().filter(|_| script)).collect();
        browser.press("send", &fields).await;
        assert_eq!(browser.page.status, if script { 200 } else { 303 }, "{}", browser.html());
        assert_eq!(answers(&site, flow).await, json!({"nps": "9", "kind": "b", "new": "no"}));
    }
}

#[tokio::test]
async fn a_retired_version_carries_its_answers_too() {
    let site = Site::start().await;
    let flow = published(&site, first()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    let version = browser.hidden("version").parse().unwrap();
    publish_second(&site, flow).await;
    site.engine.retire(&actor(), version).await.unwrap();
    site.at(READ);
    browser.press("send", FILLED).await;
    assert!(browser.html().contains("This form changed"), "{}", browser.html());
    assert_eq!(browser.hidden("answers.nps"), "9");
}

#[tokio::test]
async fn a_retry_after_the_grace_window_gets_the_ending_of_the_stored_response() {
    let site = Site::start().await;
    let flow = published(&site, first()).await;
    site.grace(flow, 60).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    let mut again = Browser::open(&site, &path(flow)).await;
    again.page.body = browser.page.body.clone();
    site.at(READ);
    browser.press("send", FILLED).await;
    publish_second(&site, flow).await;
    site.at(120_000);
    again.press("send", FILLED).await;
    assert_eq!(again.page.status, 303, "{}", again.html());
    assert_eq!(stored(&site, flow).await.len(), 1);
}
