//! Webhooks: what receivers get, by the table of replies and the schedule, with a clock that the
//! test sets. The receivers are scripted; `crates/web/tests/webhooks` has real ones.

mod backlog;
mod batches;
mod fair;
mod hooked;
mod newer;
mod stopping;

use serde_json::{Value, json};
use sluice_engine::rows::{DeliveryState, Scope};
use sluice_engine::{EndpointPatch, EndpointState, NewEndpoint};
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::FlowId;
use sluice_flow::time::Timestamp;

use hooked::{Does, Hooked, URL};

#[tokio::test]
async fn a_receiver_gets_what_happens_after_it_was_created_with_the_same_id() {
    let it = Hooked::new().await;
    it.submit().await;
    let endpoint = it.endpoint(URL, &[]).await;
    let response = it.submit().await;
    it.until(URL, 1).await;
    let handle = it.handle().await;
    let all = EventFilter::default();
    let log = handle.read_events(&all, None, 100).await.unwrap();
    let last = serde_json::to_value(&log.events.last().unwrap().payload).unwrap();
    let got = it.receivers.got(URL);
    assert_eq!(got, [last]);
    assert_eq!(got[0]["data"]["response"]["responseId"], json!(response));
    assert_eq!(got[0]["data"]["response"]["identities"], json!([]));
    assert_eq!(got[0]["timestamp"], got[0]["data"]["response"]["receivedAt"]);
    assert_eq!(it.receivers.header(0, "webhook-id"), got[0]["id"].as_str().unwrap());
    let seconds: i64 = it.receivers.header(0, "webhook-timestamp").parse().unwrap();
    assert!((it.world.clock_seconds() - seconds).abs() < 60);
    let deliveries = it.deliveries(endpoint).await;
    assert_eq!(deliveries.len(), 1);
    let row = &deliveries[0];
    assert_eq!((row.state, row.status, row.attempts), (DeliveryState::Delivered, Some(204), 1));
    assert_eq!(row.reply.as_deref(), Some("status 204"));
}

#[tokio::test]
async fn every_change_is_reported_in_order() {
    let it = Hooked::new().await;
    it.endpoint(URL, &[]).await;
    let (engine, actor) = (&it.world.engine, &it.world.actor);
    let response = it.submit().await.parse().unwrap();
    it.world.clock.advance_millis(10);
    let flow = engine.flow(actor, Scope::Write, it.flow).await.unwrap();
    flow.close().await.unwrap();
    it.world.clock.advance_millis(10);
    engine.flow(actor, Scope::Write, it.flow).await.unwrap().reopen(None).await.unwrap();
    it.world.clock.advance_millis(10);
    engine.version(actor, Scope::Write, it.version).await.unwrap().retire().await.unwrap();
    it.world.clock.advance_millis(10);
    engine.response(actor, Scope::Erase, response).await.unwrap().delete().await.unwrap();
    it.world.clock.advance_millis(10);
    it.world.publish(it.flow).await;
    it.world.clock.advance_millis(10);
    engine.flow(actor, Scope::Write, it.flow).await.unwrap().archive().await.unwrap();
    it.until(URL, 6).await;
    let mut types = it.receivers.types(URL);
    // Requests to one receiver run side by side, and the response was deleted before it was sent.
    types.sort_unstable();
    let expected = [
        "flow.archived",
        "flow.closed",
        "flow.published",
        "flow.reopened",
        "flow_version.retired",
        "response.deleted",
    ];
    assert_eq!(types, expected);
    let log = it.handle().await.read_events(&EventFilter::default(), None, 100).await.unwrap();
    let log: Vec<&str> = log.events.iter().map(|it| it.payload.kind.as_str()).collect();
    let order = [
        "flow.published",
        "flow.closed",
        "flow.reopened",
        "flow_version.retired",
        "response.deleted",
        "flow.published",
        "flow.archived",
    ];
    assert_eq!(log, order);
}

#[tokio::test]
async fn a_filter_selects_types_and_flows() {
    let it = Hooked::new().await;
    it.endpoint("https://types.example/", &[EventType::FlowClosed]).await;
    let other = it.world.flow(&it.app).await.flow.flow_id;
    let filter = EventFilter { types: vec![], flows: vec![other] };
    let url = "https://flows.example/".to_owned();
    let new = NewEndpoint { url, filter, ..NewEndpoint::default() };
    it.handle().await.create_endpoint(&new).await.unwrap();
    it.endpoint(URL, &[]).await;
    it.submit().await;
    let (engine, actor) = (&it.world.engine, &it.world.actor);
    engine.flow(actor, Scope::Write, it.flow).await.unwrap().close().await.unwrap();
    it.until(URL, 2).await;
    it.pass(60).await;
    assert_eq!(it.receivers.types("https://types.example/"), ["flow.closed"]);
    assert_eq!(it.receivers.types("https://flows.example/"), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_event_is_sent_again_by_the_schedule_and_then_given_up() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Hang, Does::Reply(500), Does::Reply(302)]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    it.submit().await;
    it.until(URL, 1).await;
    let hours = |hours: i64| hours * 3_600;
    let pauses = [5, 300, 1_800, hours(2), hours(5), hours(10), hours(14), hours(20), hours(24)];
    for (attempts, pause) in (1_u32..).zip(pauses) {
        let row = it.deliveries(endpoint).await.remove(0);
        assert_eq!((row.state, row.attempts), (DeliveryState::Waiting, attempts));
        let wait = (row.next_at.unwrap().as_millis() - row.attempted_at.as_millis()) / 1_000;
        assert!((pause..=pause + pause / 10 + 1).contains(&wait), "{attempts}: {wait} s");
        it.pass(wait - 1).await;
        assert_eq!(it.receivers.got(URL).len(), attempts as usize, "too early");
        it.pass(2).await;
        assert_eq!(it.receivers.got(URL).len(), attempts as usize + 1, "after {attempts}");
    }
    let row = it.deliveries(endpoint).await.remove(0);
    assert_eq!((row.state, row.attempts, row.next_at), (DeliveryState::Failed, 10, None));
    assert_eq!(it.given_up(), 1.0);
    assert_eq!(row.status, Some(302));
    let ids: Vec<Value> = it.receivers.got(URL).iter().map(|body| body["id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "every attempt has the same id");
    assert_eq!(it.state(endpoint).await, EndpointState::Failing);
    // On request it is sent again, and a success clears the record.
    it.receivers.script(URL, &[Does::Reply(200)]);
    let since = Timestamp::from_millis(0);
    it.handle().await.redeliver_failed(endpoint, since).await.unwrap();
    it.until(URL, 11).await;
    assert_eq!(it.state(endpoint).await, EndpointState::Active);
    assert_eq!(it.deliveries(endpoint).await[0].state, DeliveryState::Delivered);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::RetryAfter(429, "120"), Does::Reply(200)]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    it.submit().await;
    it.until(URL, 1).await;
    let row = it.deliveries(endpoint).await.remove(0);
    let wait = (row.next_at.unwrap().as_millis() - row.attempted_at.as_millis()) / 1_000;
    assert!((120..=132).contains(&wait), "{wait}");
    it.pass(100).await;
    assert_eq!(it.receivers.got(URL).len(), 1);
    it.pass(40).await;
    assert_eq!(it.deliveries(endpoint).await[0].state, DeliveryState::Delivered);
}

#[tokio::test]
async fn a_receiver_that_is_gone_disables_its_endpoint_with_an_event() {
    let it = Hooked::new().await;
    let other = "https://other.example/";
    it.receivers.script(URL, &[Does::Reply(410)]);
    let endpoint = it.endpoint(URL, &[]).await;
    it.endpoint(other, &[EventType::EndpointDisabled]).await;
    it.submit().await;
    assert_eq!(it.given_up(), 0.0);
    it.until(other, 1).await;
    assert_eq!(it.given_up(), 1.0);
    let got = it.receivers.got(other).remove(0);
    assert_eq!(got["data"]["webhookId"], json!(endpoint));
    assert_eq!(got["data"]["reason"], json!("gone"));
    assert_eq!(it.state(endpoint).await, EndpointState::Disabled);
    let before = it.receivers.got(URL).len();
    it.submit().await;
    it.pass(3_600).await;
    assert_eq!(it.receivers.got(URL).len(), before, "nothing more is sent");
    // Enabled again, it continues where it left off.
    it.receivers.script(URL, &[Does::Reply(200)]);
    let enable = EndpointPatch { enabled: Some(true), ..EndpointPatch::default() };
    it.handle().await.change_endpoint(endpoint, &enable).await.unwrap();
    it.until(URL, before + 1).await;
    assert_eq!(it.state(endpoint).await, EndpointState::Active);
}

#[tokio::test]
async fn an_endpoint_that_fails_for_days_is_disabled() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Hang]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    it.submit().await;
    it.until(URL, 1).await;
    for _ in 0..9 {
        it.pass(12 * 3_600).await;
        assert_eq!(it.state(endpoint).await, EndpointState::Failing);
    }
    it.submit().await;
    it.pass(12 * 3_600).await;
    it.pass(12 * 3_600).await;
    let found = it.handle().await.endpoint(endpoint).await.unwrap();
    assert_eq!(found.state, EndpointState::Disabled);
    assert_eq!(found.disabled_reason.as_deref(), Some("failing"));
}

#[tokio::test]
async fn an_endpoint_whose_deliveries_were_all_given_up_is_still_tried() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500)]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    for _ in 0..30 {
        it.submit().await;
    }
    it.until(URL, 20).await;
    for _ in 0..9 {
        it.pass(12 * 3_600).await;
    }
    it.receivers.script(URL, &[Does::Reply(200)]);
    for _ in 0..20 {
        it.pass(3_600 / 2).await;
    }
    assert_eq!(it.state(endpoint).await, EndpointState::Active);
}

#[tokio::test]
async fn while_a_receiver_fails_new_events_stay_in_the_log() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500)]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    for _ in 0..60 {
        it.submit().await;
    }
    it.until(URL, 20).await;
    it.pass(1).await;
    let waiting = it.deliveries(endpoint).await.len();
    assert!((20..=28).contains(&waiting), "{waiting} deliveries wait");
    it.receivers.script(URL, &[Does::Reply(200)]);
    it.until(URL, 60 + waiting).await;
    let mut ids: Vec<String> =
        it.receivers.got(URL).iter().map(|it| it["id"].to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 60, "all arrive after the outage");
}

#[tokio::test]
async fn a_new_secret_signs_beside_the_previous_one_until_its_end() {
    let it = Hooked::new().await;
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    let signatures = async |number: usize| {
        it.submit().await;
        it.until(URL, number + 1).await;
        it.receivers.header(number, "webhook-signature").split(' ').count()
    };
    assert_eq!(signatures(0).await, 1);
    it.handle().await.rotate_endpoint_secret(endpoint, 3_600).await.unwrap();
    assert_eq!(signatures(1).await, 2);
    it.pass(3_600).await;
    assert_eq!(signatures(2).await, 1);
    it.handle().await.rotate_endpoint_secret(endpoint, 0).await.unwrap();
    assert_eq!(signatures(3).await, 1);
}

#[tokio::test]
async fn a_replay_sends_everything_after_a_position_again() {
    let it = Hooked::new().await;
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    for _ in 0..3 {
        it.submit().await;
        it.world.clock.advance_millis(5);
    }
    it.until(URL, 3).await;
    let log = it.handle().await.read_events(&EventFilter::default(), None, 100).await.unwrap();
    let created = log.events.iter().filter(|it| it.payload.kind == EventType::ResponseCreated);
    let first = created.clone().next().unwrap().position;
    it.handle().await.replay_endpoint(endpoint, first).await.unwrap();
    it.until(URL, 5).await;
    it.pass(60).await;
    assert_eq!(it.receivers.got(URL).len(), 5, "the two after it");
}

#[tokio::test]
async fn a_test_event_is_sent_at_once_and_is_not_repeated() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500)]);
    let endpoint = it.endpoint(URL, &[]).await;
    let sent = it.handle().await.send_test_event(endpoint).await.unwrap();
    assert_eq!((sent.state, sent.status), (DeliveryState::Failed, Some(500)));
    it.pass(3_600).await;
    assert_eq!(it.receivers.types(URL), ["endpoint.test"]);
    assert_eq!(it.given_up(), 0.0);
    assert_eq!(it.deliveries(endpoint).await.len(), 1);
    assert_eq!(it.state(endpoint).await, EndpointState::Active);
}

#[tokio::test]
async fn an_endpoint_with_faults_is_refused_with_all_of_them() {
    let it = Hooked::new().await;
    let filter = EventFilter {
        types: vec![EventType::EndpointTest],
        flows: vec![FlowId::from_uuid(uuid::Uuid::nil())],
    };
    let new = NewEndpoint {
        url: "http://plain.example/".to_owned(),
        description: "x".repeat(501),
        format: Some("fax".to_owned()),
        batch: false,
        filter,
    };
    let refused = it.handle().await.create_endpoint(&new).await.unwrap_err();
    let sluice_engine::AdminError::Invalid(faults) = refused else { panic!("{refused:?}") };
    let at: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(at, ["/url", "/description", "/format", "/types/0", "/flows/0"]);
    assert_eq!(it.handle().await.list_endpoints().await.unwrap(), []);
}
