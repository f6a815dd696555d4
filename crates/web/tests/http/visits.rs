//! Counting visits: what is accepted, what is refused and why, and what browsers on other origins
//! may read.

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::funnel::FunnelFilter;
use sluice_flow::visit::BODY_BYTES_MAX;

use crate::support::{Reply, Site, actor, request, survey};
use crate::use_cases::UseCases as _;

async fn report(site: &Site, headers: &[(&str, &str)], body: &str) -> Reply {
    let body = Body::from(body.to_owned());
    site.send(request(Method::POST, &site.path("visits"), headers, body)).await
}

#[tokio::test]
async fn a_visit_is_counted_without_any_identity_and_answered_204() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let steps = json!([
        {"step": "opened"}, {"step": "seen", "question": "nps"}, {"step": "started"},
        {"step": "passed", "question": "nps"}, {"step": "finished", "seconds": 48},
    ]);
    let body = json!({"flowVersionId": version, "steps": steps}).to_string();
    // `navigator.sendBeacon` sends text.
    for content_type in ["application/json", "text/plain;charset=UTF-8"] {
        let reply = report(&site, &[("content-type", content_type)], &body).await;
        assert_eq!((reply.status, reply.body.len()), (204, 0), "{}", reply.text());
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
        assert_eq!(reply.header("set-cookie"), None);
    }
    let funnel = site.engine.funnel(&actor(), flow, &FunnelFilter::default()).await.unwrap();
    assert_eq!((funnel.opened, funnel.started, funnel.finished), (2, 2, 2));
    assert_eq!((funnel.questions[0].seen, funnel.questions[0].left()), (2, 0));
}

#[tokio::test]
async fn a_visit_that_cannot_be_counted_is_refused_with_a_reason() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let draft = site.flow(survey()).await;
    let draft = site.engine.get_draft(&actor(), draft).await.unwrap().flow_version_id;
    let opened = json!([{"step": "opened"}]);
    let visit = |version: &str, steps: &Value| json!({"flowVersionId": version, "steps": steps});
    let known = version.to_string();
    let long = " ".repeat(BODY_BYTES_MAX + 1);
    for (body, status, code, detail) in [
        ("{".to_owned(), 400, "visit_invalid", "The body must be a JSON object."),
        (
            visit(&known, &json!([{"step": "seen"}])).to_string(),
            400,
            "visit_invalid",
            "steps[0].question must be the id of a question.",
        ),
        (
            visit(&known, &json!([{"step": "seen", "question": "zzz"}])).to_string(),
            400,
            "unknown_question",
            "steps[0].question must be the id of a question of this version.",
        ),
        (
            visit("fv_0000000000000000000001", &opened).to_string(),
            404,
            "flow_version_not_found",
            "This app has no such published version, or it is no longer available.",
        ),
        (
            visit(&draft.to_string(), &opened).to_string(),
            404,
            "flow_version_not_found",
            "This app has no such published version, or it is no longer available.",
        ),
        (long, 413, "payload_too_large", "Send at most 128 KiB at once."),
    ] {
        let reply = report(&site, &[], &body).await;
        reply.assert_problem(status, code);
        assert_eq!(reply.json()["detail"], detail);
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
    }
    let other = site.other_app().await;
    let foreign = report(&other, &[], &visit(&known, &opened).to_string()).await;
    foreign.assert_problem(404, "flow_version_not_found");
    let funnel = site.engine.funnel(&actor(), flow, &FunnelFilter::default()).await.unwrap();
    assert_eq!(funnel.opened, 0);
}

#[tokio::test]
async fn other_methods_keys_and_origins_are_treated_like_those_of_the_reads() {
    let site = Site::start().await;
    let (path, origin) = (site.path("visits"), ("origin", "https://shop.example"));
    let preflight = [origin, ("access-control-request-method", "POST")];
    let reply = site.send(request(Method::OPTIONS, &path, &preflight, Body::empty())).await;
    assert_eq!(reply.status, 204);
    assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
    site.get(&path, &[]).await.assert_problem(405, "method_not_allowed");
    let unknown = "/api/v1/pk_0000000000000000000001/visits";
    let reply = site.send(request(Method::POST, unknown, &[], Body::from("{}"))).await;
    reply.assert_problem(401, "api_key_invalid");
}
