//! One form is stored once, despite a double click, a reload or the back button; a GET stores
//! nothing.

use serde_json::json;

use crate::browser::{Browser, READ, one, path, published, stored};
use crate::support::Site;

fn nps() -> serde_json::Value {
    one(json!({"id": "nps", "type": "nps", "prompt": "How?"}))
}

#[tokio::test]
async fn the_same_form_sent_twice_is_one_response_and_the_same_ending() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let mut first = Browser::open(&site, &path(flow)).await;
    let mut again = Browser::open(&site, &path(flow)).await;
    again.page.body = first.page.body.clone();
    site.at(READ);
    first.press("send", &[("answers.nps", "9")]).await;
    again.press("send", &[("answers.nps", "9")]).await;
    assert_eq!((first.page.status, again.page.status), (303, 303));
    assert_eq!(first.page.header("location"), again.page.header("location"));
    assert_eq!(stored(&site, flow).await.len(), 1);
}

#[tokio::test]
async fn a_changed_answer_in_the_same_form_is_reported_and_not_stored() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let mut first = Browser::open(&site, &path(flow)).await;
    let mut again = Browser::open(&site, &path(flow)).await;
    again.page.body = first.page.body.clone();
    site.at(READ);
    first.press("send", &[("answers.nps", "9")]).await;
    again.press("send", &[("answers.nps", "1")]).await;
    assert_eq!((again.page.status, again.state().as_str()), (409, "answered"));
    assert_eq!(stored(&site, flow).await.len(), 1);
}

#[tokio::test]
async fn two_forms_are_two_responses() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let mut forms =
        [Browser::open(&site, &path(flow)).await, Browser::open(&site, &path(flow)).await];
    assert_ne!(forms[0].hidden("key"), forms[1].hidden("key"));
    site.at(READ);
    for form in &mut forms {
        form.press("send", &[("answers.nps", "9")]).await;
    }
    assert_eq!(stored(&site, flow).await.len(), 2);
}

#[tokio::test]
async fn loading_a_page_stores_nothing_and_can_be_repeated() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let version = site.engine.links().flow(&flow.to_string()).await.unwrap().unwrap().current.id();
    for path in [
        path(flow),
        format!(
            "/f/{flow}?embed=1&answers.nps=9&go=send&flowAssignmentId=fa_0000000000000000000000"
        ),
        format!("/f/{flow}/done?version={version}&linked=1"),
    ] {
        let page = site.get(&path, &[]).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("cache-control").as_deref(), Some("private, no-cache"));
    }
    assert!(stored(&site, flow).await.is_empty());
}
