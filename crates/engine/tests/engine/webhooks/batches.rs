//! Batches: several events in one request.

use serde_json::{Value, json};
use sluice_engine::rows::DeliveryState;
use sluice_engine::{AdminError, EndpointPatch, NewEndpoint};
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::EndpointId;

use super::hooked::{Does, Hooked, URL};

async fn batched(it: &Hooked) -> EndpointId {
    it.world.clock.advance_millis(1_000);
    let filter = EventFilter { types: vec![EventType::ResponseCreated], flows: vec![] };
    let new = NewEndpoint { url: URL.to_owned(), filter, batch: true, ..NewEndpoint::default() };
    let (endpoint, _) = it.handle().await.create_endpoint(&new).await.unwrap();
    assert!(endpoint.batch);
    endpoint.endpoint_id
}

fn ids(body: &Value) -> Vec<String> {
    let events = body["data"]["events"].as_array().unwrap();
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn events_of_a_second_share_a_request_that_is_signed_as_one() {
    let it = Hooked::new().await;
    let endpoint = batched(&it).await;
    let mut responses = Vec::new();
    for _ in 0..3 {
        responses.push(it.submit().await);
        it.world.clock.advance_millis(5);
    }
    it.until(URL, 1).await;
    it.pass(60).await;
    let got = it.receivers.got(URL);
    assert_eq!(got.len(), 1, "one request");
    assert_eq!(got[0]["type"], "event.batch");
    assert_eq!(got[0]["apiVersion"], "2026-11");
    assert_eq!(it.receivers.header(0, "webhook-id"), got[0]["id"].as_str().unwrap());
    assert_eq!(it.receivers.header(0, "webhook-signature").split(' ').count(), 1);
    let events = got[0]["data"]["events"].as_array().unwrap();
    let of = |event: &Value| event["data"]["response"]["responseId"].as_str().unwrap().to_owned();
    assert_eq!(events.iter().map(of).collect::<Vec<_>>(), responses);
    let log = it.handle().await.read_events(&EventFilter::default(), None, 100).await.unwrap();
    let created = log.events.iter().filter(|it| it.payload.kind == EventType::ResponseCreated);
    let created: Vec<Value> =
        created.map(|it| serde_json::to_value(&it.payload).unwrap()).collect();
    assert_eq!(*events, created, "the same events as in the log");
    let deliveries = it.deliveries(endpoint).await;
    assert_eq!(deliveries.len(), 3, "each event has its delivery");
    assert!(deliveries.iter().all(|row| row.state == DeliveryState::Delivered));
}

#[tokio::test]
async fn a_batch_has_at_most_100_events() {
    let it = Hooked::new().await;
    batched(&it).await;
    for _ in 0..130 {
        it.submit().await;
    }
    it.until(URL, 2).await;
    it.pass(60).await;
    let sizes: Vec<usize> = it.receivers.got(URL).iter().map(|body| ids(body).len()).collect();
    assert_eq!(sizes, [100, 30]);
}

#[tokio::test]
async fn a_failed_batch_is_sent_again_with_the_same_id_and_all_its_events() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500), Does::Reply(200)]);
    let endpoint = batched(&it).await;
    for _ in 0..3 {
        it.submit().await;
    }
    it.until(URL, 1).await;
    let waiting = it.deliveries(endpoint).await;
    assert!(waiting.iter().all(|row| row.state == DeliveryState::Waiting && row.attempts == 1));
    it.pass(10).await;
    it.until(URL, 2).await;
    let got = it.receivers.got(URL);
    assert_eq!(ids(&got[0]).len(), 3);
    assert_eq!((ids(&got[0]), &got[0]["id"]), (ids(&got[1]), &got[1]["id"]));
    let delivered = it.deliveries(endpoint).await;
    assert!(delivered.iter().all(|row| row.state == DeliveryState::Delivered));
}

#[tokio::test]
async fn chat_formats_do_not_batch() {
    let it = Hooked::new().await;
    let endpoint = batched(&it).await;
    let chat = EndpointPatch { format: Some("slack".to_owned()), ..EndpointPatch::default() };
    let refused = it.handle().await.change_endpoint(endpoint, &chat).await.unwrap_err();
    let AdminError::Invalid(faults) = refused else { panic!("{refused:?}") };
    assert_eq!(faults[0].pointer, "/batch");
    let both = EndpointPatch { batch: Some(false), ..chat };
    let changed = it.handle().await.change_endpoint(endpoint, &both).await.unwrap();
    assert_eq!((changed.format.as_str(), changed.batch), ("slack", false));
    it.submit().await;
    it.until(URL, 1).await;
    assert_eq!(it.receivers.got(URL)[0]["text"], json!("New response"));
}
