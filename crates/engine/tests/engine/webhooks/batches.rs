//! Batches: several events in one request.

use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use sluice_engine::rows::DeliveryState;
use sluice_engine::{AdminError, EndpointPatch, NewEndpoint};
use sluice_flow::event::EventType;
use sluice_flow::event::delivery::RETRY_SECONDS;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::EndpointId;
use sluice_store::EventStore as _;

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

/// The signature of a request, by the specification.
fn signature(secret: &str, id: &str, seconds: &str, body: &[u8]) -> String {
    let key = STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = [format!("{id}.{seconds}.").as_bytes(), body].concat();
    format!("v1,{}", STANDARD.encode(hmac::sign(&key, &signed)))
}

#[tokio::test]
async fn events_of_a_second_share_a_request_that_is_signed_as_one() {
    let it = Hooked::new().await;
    let endpoint = batched(&it).await;
    let secret = it.handle().await.rotate_endpoint_secret(endpoint, 0).await.unwrap().1.0;
    it.pass(1).await;
    let mut responses = Vec::new();
    for _ in 0..3 {
        responses.push(it.submit().await);
        it.world.clock.advance_millis(100);
    }
    // All of them can be read, and wait for others.
    it.world.clock.advance_millis(it.world.faults.log_delay_millis() + 200);
    let log = async || {
        let log = it.handle().await.read_events(&EventFilter::default(), None, 100).await.unwrap();
        let created = log.events.into_iter().map(|it| it.payload);
        created.filter(|it| it.kind == EventType::ResponseCreated).collect::<Vec<_>>()
    };
    while log().await.len() < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let reads = it.world.faults.log_reads.load(Ordering::SeqCst);
    it.deliver().await;
    assert!(it.world.faults.log_reads.load(Ordering::SeqCst) > reads, "they were found");
    assert_eq!(it.receivers.got(URL), [] as [Value; 0], "they wait");
    // A second after the first one could be read.
    it.world.clock.advance_millis(700);
    it.deliver().await;
    it.pass(60).await;
    let got = it.receivers.got(URL);
    assert_eq!(got.len(), 1, "one request");
    assert_eq!(
        (&got[0]["type"], &got[0]["apiVersion"]),
        (&json!("event.batch"), &json!("2026-11"))
    );
    let (id, seconds) =
        (it.receivers.header(0, "webhook-id"), it.receivers.header(0, "webhook-timestamp"));
    assert_eq!(id, got[0]["id"].as_str().unwrap());
    let expected = signature(&secret, &id, &seconds, &it.receivers.body(0));
    assert_eq!(it.receivers.header(0, "webhook-signature"), expected);
    let events = got[0]["data"]["events"].as_array().unwrap();
    let of = |event: &Value| event["data"]["response"]["responseId"].as_str().unwrap().to_owned();
    assert_eq!(events.iter().map(of).collect::<Vec<_>>(), responses);
    let created: Vec<Value> =
        log().await.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
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

/// More events than one step sends again to an endpoint without batches, and than one batch has.
#[tokio::test]
async fn a_failed_batch_is_sent_again_with_the_same_id_and_all_its_events() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500), Does::Reply(500), Does::Reply(200)]);
    let endpoint = batched(&it).await;
    for _ in 0..130 {
        it.submit().await;
    }
    it.until(URL, 2).await;
    let waiting = it.deliveries(endpoint).await;
    assert!(waiting.iter().all(|row| row.state == DeliveryState::Waiting && row.attempts == 1));
    it.pass(10).await;
    it.until(URL, 4).await;
    it.pass(60).await;
    let got = it.receivers.got(URL);
    let messages: Vec<(Value, Vec<String>)> =
        got.iter().map(|body| (body["id"].clone(), ids(body))).collect();
    assert_eq!(messages.iter().map(|it| it.1.len()).collect::<Vec<_>>(), [100, 30, 100, 30]);
    assert_eq!(messages[..2], messages[2..], "the same messages");
    for (number, (id, _)) in messages.iter().enumerate() {
        assert_eq!(json!(it.receivers.header(number, "webhook-id")), *id);
    }
    let delivered = it.deliveries(endpoint).await;
    assert!(delivered.iter().all(|row| row.state == DeliveryState::Delivered));
}

#[tokio::test]
async fn batches_that_were_given_up_are_sent_again_as_they_were() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500)]);
    let endpoint = batched(&it).await;
    for round in 1..=2 {
        for _ in 0..30 {
            it.submit().await;
        }
        it.until(URL, round).await;
    }
    for seconds in RETRY_SECONDS {
        // With jitter.
        it.pass(i64::from(seconds) * 11 / 10 + 10).await;
    }
    let given_up = it.deliveries(endpoint).await;
    assert!(given_up.iter().all(|row| row.state == DeliveryState::Failed), "{given_up:?}");
    let before = it.receivers.got(URL);
    it.receivers.script(URL, &[Does::Reply(200)]);
    let since = sluice_flow::time::Timestamp::from_millis(0);
    it.handle().await.redeliver_failed(endpoint, since).await.unwrap();
    it.until(URL, before.len() + 2).await;
    let of = |body: &Value| (body["id"].as_str().unwrap().to_owned(), ids(body));
    let mut first: Vec<_> = before[..2].iter().map(of).collect();
    let mut again: Vec<_> = it.receivers.got(URL)[before.len()..].iter().map(of).collect();
    first.sort_unstable();
    again.sort_unstable();
    assert_eq!(first, again);
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
