//! Visits to hosted pages: the script reports them, and without script the server counts what it
//! sees. Loading a page counts nothing.

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::funnel::{Funnel, FunnelFilter};
use sluice_flow::id::FlowId;

use crate::browser::{Browser, READ, attribute, path, published};
use crate::support::{Reply, Site, actor, request, survey};
use crate::use_cases::UseCases as _;

async fn funnel(site: &Site, flow: FlowId) -> Funnel {
    site.engine.funnel(&actor(), flow, &FunnelFilter::default()).await.unwrap()
}

/// Opened, started, each question as seen and left, finished.
async fn figures(site: &Site, flow: FlowId) -> (u64, u64, Vec<(u64, u64)>, u64) {
    let funnel = funnel(site, flow).await;
    let questions = funnel.questions.iter().map(|it| (it.seen, it.left())).collect();
    (funnel.opened, funnel.started, questions, funnel.finished)
}

/// Loads the image that a browser without script shows.
async fn show_image(site: &Site, browser: &Browser<'_>, headers: &[(&str, &str)]) -> Reply {
    let html = browser.html();
    let image = html.split("<noscript>").nth(1).unwrap();
    site.get(&attribute(image, "src=\""), headers).await
}

async fn report(site: &Site, flow: FlowId, body: &Value) -> Reply {
    let body = Body::from(body.to_string());
    let headers = [("sluice-script", "1"), ("content-type", "text/plain")];
    site.send(request(Method::POST, &format!("/f/{flow}/visit"), &headers, body)).await
}

#[tokio::test]
async fn loading_a_page_counts_nothing() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    for path in [path(flow), format!("/f/{flow}?embed=1")] {
        let page = site.get(&path, &[]).await;
        assert_eq!(page.header("set-cookie"), None);
        assert!(page.text().contains(&format!("data-visits=\"/f/{flow}/visit\"")));
    }
    assert_eq!(figures(&site, flow).await, (0, 0, vec![(0, 0); 3], 0));
}

#[tokio::test]
async fn without_script_every_step_is_counted_once() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    let image = show_image(&site, &browser, &[]).await;
    assert_eq!((image.status, image.header("cache-control").as_deref()), (204, Some("no-store")));
    assert_eq!(image.header("set-cookie"), None);
    assert_eq!(figures(&site, flow).await, (1, 0, vec![(1, 1), (0, 0), (0, 0)], 0));
    // A fault keeps the visitor where they are.
    browser.press("next", &[]).await;
    assert_eq!(browser.page.status, 422);
    assert_eq!(figures(&site, flow).await, (1, 0, vec![(1, 1), (0, 0), (0, 0)], 0));
    browser.press("next", &[("answers.nps", "9")]).await;
    assert_eq!(figures(&site, flow).await, (1, 1, vec![(1, 0), (1, 1), (0, 0)], 0));
    browser.press("next", &[]).await;
    let at_the_last = (1, 1, vec![(1, 0), (1, 0), (1, 1)], 0);
    assert_eq!(figures(&site, flow).await, at_the_last);
    browser.press("back", &[]).await;
    browser.press("back", &[]).await;
    browser.press("next", &[("answers.nps", "8")]).await;
    browser.press("next", &[]).await;
    assert_eq!(figures(&site, flow).await, at_the_last, "going back counts nothing twice");
    site.at(READ);
    browser.press("send", &[("answers.use", "api")]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(figures(&site, flow).await, (1, 1, vec![(1, 0); 3], 1));
    let median = funnel(&site, flow).await.time_to_finish.unwrap();
    assert_eq!((median.times, median.from_seconds), (1, 5));
}

#[tokio::test]
async fn a_page_that_is_fetched_ahead_is_not_counted() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    let browser = Browser::open(&site, &path(flow)).await;
    for headers in [("sec-purpose", "prefetch"), ("purpose", "prefetch"), ("x-moz", "prefetch")] {
        assert_eq!(show_image(&site, &browser, &[headers]).await.status, 204);
    }
    let version = browser.hidden("version");
    let image = format!("/f/{flow}/visit?version={version}");
    let head = site.send(request(Method::HEAD, &image, &[], Body::empty())).await;
    assert_eq!(head.status, 204);
    assert_eq!(site.get(&format!("/f/{flow}/visit?version=x"), &[]).await.status, 204);
    assert_eq!(funnel(&site, flow).await.opened, 0);
}

#[tokio::test]
async fn a_form_that_is_sent_twice_is_finished_once() {
    let site = Site::start().await;
    let one = json!({"title": "One", "questions": [{"id": "nps", "type": "nps", "prompt": "?"}]});
    let flow = published(&site, one).await;
    let mut first = Browser::open(&site, &path(flow)).await;
    let mut again = Browser::open(&site, &path(flow)).await;
    again.page.body = first.page.body.clone();
    site.at(READ);
    first.press("send", &[("answers.nps", "9")]).await;
    again.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(funnel(&site, flow).await.finished, 1);
}

#[tokio::test]
async fn a_visitor_who_is_moved_to_a_new_version_opens_it_where_they_were() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    show_image(&site, &browser, &[]).await;
    browser.press("next", &[("answers.nps", "9")]).await;
    site.grace(flow, 0).await;
    let second = site.publish_again(flow).await;
    site.at(READ);
    browser.press("next", &[]).await;
    assert_eq!(browser.hidden("version"), second.to_string());
    let filter = FunnelFilter { version: Some(second), ..FunnelFilter::default() };
    let moved = site.engine.funnel(&actor(), flow, &filter).await.unwrap();
    assert_eq!((moved.opened, moved.started, moved.finished), (1, 1, 0));
    let left: Vec<u64> = moved.questions.iter().map(|it| it.left()).collect();
    assert_eq!(left, [0, 1, 0]);
}

#[tokio::test]
async fn the_script_reports_steps_of_this_flow_only() {
    let site = Site::start().await;
    let flow = published(&site, survey()).await;
    let version = Browser::open(&site, &path(flow)).await.hidden("version");
    let steps = json!([{"step": "opened"}, {"step": "seen", "question": "nps"}]);
    let body = json!({"flowVersionId": version, "steps": steps});
    assert_eq!(report(&site, flow, &body).await.status, 204);
    assert_eq!(figures(&site, flow).await, (1, 0, vec![(1, 1), (0, 0), (0, 0)], 0));
    let other = published(&site, survey()).await;
    report(&site, other, &body).await.assert_problem(404, "flow_version_not_found");
    let unknown = json!([{"step": "seen", "question": "x"}]);
    let unknown = json!({"flowVersionId": version, "steps": unknown});
    report(&site, flow, &unknown).await.assert_problem(400, "unknown_question");
    report(&site, flow, &json!([])).await.assert_problem(400, "visit_invalid");
    assert_eq!((funnel(&site, flow).await.opened, funnel(&site, other).await.opened), (1, 0));
}
