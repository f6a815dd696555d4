//! The path of a submission: what is stored, what is refused, and what a retry gets.

use crate::support;

use serde_json::json;
use sluice_engine::intake::Grace;
use sluice_engine::{FlowPatch, NewFlow, Receipt};
use sluice_flow::definition::Kind;
use sluice_flow::time::{Timestamp, Window};
use support::UseCases as _;
use support::{World, accepted, code, submission};

#[tokio::test]
async fn an_accepted_submission_is_stored_as_sent() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let mut body = submission(version);
    body["respondentAnalyticsAdmission"] = json!("admitted");
    body["identities"] = json!([{"type": "userId", "value": "u-1"}]);
    body["metadata"] = json!({"tags": {"plan": "pro", "seats": ["a", "b"]}});
    body["context"] = json!({"page": {"path": "/x", "search": "?a=1"}, "locale": "en_us"});
    body["flowAssignmentId"] = json!("mine");
    let id = accepted(world.submit(&view, &body).await).response_id;

    let rows = world.stored(flow).await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(row.response_id, id);
    assert_eq!(row.response_id.made_at(), world.engine.now());
    assert_eq!(row.answers, r#"{"nps":"9","why":"quick"}"#);
    assert_eq!(row.identities.as_deref(), Some(r#"[{"type":"userId","value":"u-1"}]"#));
    assert_eq!(row.tags.as_deref(), Some(r#"{"plan":"pro","seats":["a","b"]}"#));
    let context = r#"{"locale":"en-US","page":{"path":"/x","search":"?a=1"}}"#;
    assert_eq!(row.context.as_deref(), Some(context));
    assert_eq!(row.flow_assignment_id.as_deref(), Some("mine"));
}

#[tokio::test]
async fn collection_only_stores_no_identity() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let mut body = submission(version);
    body["identities"] = json!([{"type": "userId", "value": "canary-7"}]);
    let first = accepted(world.submit_with_key(&view, &body, "k").await).response_id;
    assert_eq!(world.stored(flow).await[0].identities, None);
    // The digest that distinguishes a retry from another submission does not depend on the identity
    // either.
    body["identities"] = json!([]);
    let again = accepted(world.submit_with_key(&view, &body, "k").await);
    assert_eq!((again.response_id, again.replayed), (first, true));
    world.engine.close().await;
    for file in std::fs::read_dir(world.folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(8).any(|window| window == b"canary-7"));
    }
}

#[tokio::test]
async fn a_version_of_another_app_is_not_found() {
    let world = World::new().await;
    let (mine, other) = (world.app().await, world.app().await);
    let flow = world.flow(&mine).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&other).await;
    assert_eq!(code(&world.submit(&view, &submission(version)).await), "flow_version_not_found");
}

#[tokio::test]
async fn a_hundred_concurrent_submissions_with_one_key_store_one_row() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    let tries = (0..100).map(|_| world.submit_with_key(&view, &body, "same"));
    let receipts = futures_util::future::join_all(tries).await;
    let ids: std::collections::BTreeSet<_> =
        receipts.into_iter().map(|receipt| accepted(receipt).response_id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.stored(flow).await.len(), 1);
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_stores_nothing() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let mut body = submission(version);
    accepted(world.submit_with_key(&view, &body, "k").await);
    body["answers"]["nps"] = json!("1");
    assert_eq!(code(&world.submit_with_key(&view, &body, "k").await), "idempotency_key_reused");
    assert_eq!(world.stored(flow).await.len(), 1);
}

#[tokio::test]
async fn a_refused_submission_does_not_consume_its_key() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let mut body = submission(version);
    body["answers"] = json!({});
    assert_eq!(code(&world.submit_with_key(&view, &body, "k").await), "answer_required");
    body["answers"] = json!({"nps": "3"});
    assert!(!accepted(world.submit_with_key(&view, &body, "k").await).replayed);
}

#[tokio::test]
async fn a_retry_after_the_version_closed_gets_the_original_receipt() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    let first = accepted(world.submit_with_key(&view, &body, "k").await).response_id;
    let live_window = Some(Window { starts_at: None, ends_at: Some(world.engine.now()) });
    let patch = FlowPatch { live_window, ..FlowPatch::default() };
    world.engine.update_flow(&world.actor, flow, &patch).await.unwrap();
    let again = accepted(world.submit_with_key(&view, &body, "k").await);
    assert_eq!((again.response_id, again.replayed), (first, true));
    assert_eq!(code(&world.submit_with_key(&view, &body, "new").await), "no_longer_accepting");
}

#[tokio::test]
async fn grace_is_half_open_and_returned_with_the_acceptance() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let grace_window_seconds = Some(Some(60));
    let patch = FlowPatch { grace_window_seconds, ..FlowPatch::default() };
    world.engine.update_flow(&world.actor, flow, &patch).await.unwrap();
    let old = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    world.clock.advance_millis(5);
    let new = world.publish(flow).await;
    let ends = new.published_at.plus_seconds(60);

    let in_grace = accepted(world.submit(&view, &submission(old)).await).grace;
    let superseded_by = Some(new.flow_version_id);
    assert_eq!(in_grace, Some(Grace { superseded_by, accepts_until: ends }));
    world.clock.set(Timestamp::from_millis(ends.as_millis() - 1));
    accepted(world.submit(&view, &submission(old)).await);
    world.clock.set(ends);
    let Ok(Receipt::Refused(issues)) = world.submit(&view, &submission(old)).await else {
        panic!("not refused");
    };
    assert_eq!(issues[0].latest_flow_version_id, Some(new.flow_version_id));
    assert_eq!(issues[0].code.as_str(), "no_longer_accepting");
}

#[tokio::test]
async fn a_retry_with_an_answer_in_the_other_form_is_the_same_submission() {
    let world = World::new().await;
    let app = world.app().await;
    let definition = json!({"title": "T", "questions": [
        {"id": "nps", "type": "nps", "prompt": "?"},
        {"id": "use", "type": "multipleChoice", "prompt": "?", "options": [
            {"id": "api", "label": "A"}, {"id": "ui", "label": "U"},
        ]},
    ]});
    let new = NewFlow { name: "F".into(), kind: Kind::Survey, definition: Some(definition) };
    let flow = world.engine.create_flow(&world.actor, app.row.app_id, &new).await.unwrap();
    let flow = flow.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let mut body = submission(version);
    body["answers"] = json!({"nps": "9", "use": ["api"]});
    let first = accepted(world.submit_with_key(&view, &body, "k").await).response_id;
    body["answers"] = json!({"nps": ["9"], "use": "api"});
    let again = accepted(world.submit_with_key(&view, &body, "k").await);
    assert_eq!((again.response_id, again.replayed), (first, true));
    // Also when the version no longer accepts responses.
    world.engine.retire(&world.actor, version).await.unwrap();
    let late = accepted(world.submit_with_key(&view, &body, "k").await);
    assert_eq!((late.response_id, late.replayed), (first, true));
    let rows = world.stored(flow).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].answers, r#"{"nps":"9","use":["api"]}"#);
}

#[tokio::test]
async fn publishing_warns_if_the_longest_answers_exceed_the_body_limit() {
    let world = World::new().await;
    let app = world.app().await;
    let long = |n: usize| json!({"id": format!("q{n}"), "type": "longText", "prompt": "?", "maxLength": 16_384});
    for (count, warned) in [(15, false), (16, true)] {
        let questions: Vec<_> = (0..count).map(long).collect();
        let definition = json!({"title": "T", "questions": questions});
        let new = NewFlow { name: "F".into(), kind: Kind::Form, definition: Some(definition) };
        let flow = world.engine.create_flow(&world.actor, app.row.app_id, &new).await.unwrap();
        let published = world.publish(flow.flow.flow_id).await;
        assert_eq!(!published.warnings.is_empty(), warned, "{count}");
        let again = world.engine.republish(&world.actor, published.flow_version_id).await.unwrap();
        assert_eq!(again.warnings, published.warnings);
    }
}
