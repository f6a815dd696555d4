//! A slow receiver slows nobody else, settings change between two steps, and what matches nothing
//! costs nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sluice_engine::rows::{AnswersOnErasure, DeliveryState, Scope};
use sluice_engine::{AdminError, EndpointPatch, EndpointState};
use sluice_flow::event::EventType;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::hooked::{Does, Hooked, URL};
use crate::support::{UseCases as _, accepted, submission};

/// Waits for a condition that background work brings about; time as the service sees it stands
/// still.
pub(super) async fn becomes(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), waiting).await.is_ok(), "{what}");
}

pub(super) fn closed() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// More slow receivers than there are places for prompt ones. All of them hang before the prompt
/// one has something to receive: without leaving their places, not all of them would get a request.
#[tokio::test]
async fn a_slow_receiver_slows_nobody_else() {
    const SLOW: usize = 40;
    let it = Hooked::new().await;
    let gate = closed();
    let slow: Vec<String> =
        (0..SLOW).map(|number| format!("https://slow{number}.example/")).collect();
    for url in &slow {
        it.receivers.script(url, &[Does::Until(Arc::clone(&gate), "late")]);
        it.endpoint(url, &[EventType::ResponseCreated]).await;
    }
    it.submit().await;
    it.settle();
    let asked = || slow.iter().all(|url| it.receivers.got(url).len() == 1);
    becomes("every slow one has one request", asked).await;
    it.endpoint(URL, &[EventType::ResponseCreated]).await;
    for round in 1..=3 {
        it.submit().await;
        it.settle();
        becomes("the prompt receiver is served", || it.receivers.got(URL).len() == round).await;
    }
    assert!(asked(), "the slow ones got nothing more");
    gate.add_permits(10_000);
    becomes("they get everything in the end", || {
        it.world.clock.advance_millis(100);
        slow.iter().all(|url| it.receivers.got(url).len() == 4)
    })
    .await;
}

/// The receivers answer when all of them have been asked, so that their work overlaps.
#[tokio::test]
async fn the_log_is_read_once_for_all_endpoints_of_an_app() {
    const ENDPOINTS: usize = 12;
    let it = Hooked::new().await;
    let gate = closed();
    let urls: Vec<String> =
        (0..ENDPOINTS).map(|number| format!("https://n{number}.example/")).collect();
    for (number, url) in urls.iter().enumerate() {
        it.receivers.script(url, &[Does::Until(Arc::clone(&gate), "")]);
        // Different types, and the same rows.
        let types: [&[EventType]; 2] = [&[], &[EventType::ResponseCreated]];
        it.endpoint(url, types[number % 2]).await;
    }
    it.pass(1).await;
    let reads = || it.world.faults.log_reads.load(Ordering::SeqCst);
    let before = reads();
    it.submit().await;
    it.settle();
    let asked = || urls.iter().all(|url| it.receivers.got(url).len() == 1);
    becomes("all are asked", asked).await;
    assert!(reads() - before <= 3, "{} reads for {ENDPOINTS} endpoints", reads() - before);
    gate.add_permits(10_000);
    it.deliver().await;
    let bodies = urls.iter().map(|url| it.receivers.got(url).remove(0));
    assert_eq!(bodies.map(|body| body["id"].to_string()).collect::<HashSet<_>>().len(), 1);
}

#[tokio::test]
async fn a_new_url_is_used_after_the_step_that_is_running() {
    const NEW: &str = "https://new.example/hook";
    let it = Hooked::new().await;
    let gate = closed();
    it.receivers.script(URL, &[Does::Until(Arc::clone(&gate), "")]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    for _ in 0..150 {
        it.submit().await;
    }
    it.world.clock.advance_millis(500);
    becomes("the backlog is begun", || !it.receivers.got(URL).is_empty()).await;
    let patch = EndpointPatch { url: Some(NEW.to_owned()), ..EndpointPatch::default() };
    it.handle().await.change_endpoint(endpoint, &patch).await.unwrap();
    gate.add_permits(10_000);
    becomes("all are sent", || it.receivers.got(URL).len() + it.receivers.got(NEW).len() >= 150)
        .await;
    assert!(it.receivers.got(URL).len() <= 100, "one step: {}", it.receivers.got(URL).len());
    it.deliver().await;
    assert_eq!(it.receivers.got(URL).len() + it.receivers.got(NEW).len(), 150);
}

#[tokio::test]
async fn events_that_match_nothing_cost_no_writes() {
    let it = Hooked::new().await;
    let endpoint = it.endpoint(URL, &[EventType::FlowClosed]).await;
    it.pass(1).await;
    let writes = || it.world.faults.webhook_writes.load(Ordering::SeqCst);
    let before = (writes(), it.handle().await.endpoint(endpoint).await.unwrap().cursor);
    assert!(before.0 > 0, "its first position was saved");
    for _ in 0..20 {
        it.submit().await;
        it.world.clock.advance_millis(500);
        it.deliver().await;
    }
    let after = (writes(), it.handle().await.endpoint(endpoint).await.unwrap().cursor);
    assert_eq!(after, before, "nothing was written for 20 responses");
    let (engine, actor) = (&it.world.engine, &it.world.actor);
    engine.flow(actor, Scope::Write, it.flow).await.unwrap().close().await.unwrap();
    it.until(URL, 1).await;
    it.pass(60).await;
    assert_eq!(it.receivers.types(URL), ["flow.closed"]);
    let saved = it.handle().await.endpoint(endpoint).await.unwrap().cursor;
    assert!(saved > before.1, "its position is saved now and then");
}

#[tokio::test]
async fn a_hundred_events_cost_one_read_and_one_write() {
    const EVENTS: usize = 400;
    let it = Hooked::new().await;
    it.endpoint(URL, &[EventType::ResponseCreated]).await;
    it.pass(1).await;
    for _ in 0..EVENTS {
        it.submit().await;
    }
    let faults = &it.world.faults;
    let cost =
        || [&faults.webhook_writes, &faults.log_reads].map(|count| count.load(Ordering::SeqCst));
    let before = cost();
    it.world.clock.advance_millis(1_000);
    it.until(URL, EVENTS).await;
    // Four pages, the search for them, and taking the endpoint.
    for (after, before) in cost().into_iter().zip(before) {
        assert!(after - before <= 10, "{} for {EVENTS} events", after - before);
    }
}

#[tokio::test]
async fn a_wake_that_failed_or_was_skipped_is_tried_again() {
    let it = Hooked::new().await;
    it.endpoint(URL, &[EventType::ResponseCreated]).await;
    it.pass(1).await;
    for number in 1..=2 {
        let faults = &it.world.faults;
        let (failing, skipping) = (&faults.failing_wakes, &faults.skipped_wakes);
        if number == 1 { failing } else { skipping }.store(2, Ordering::SeqCst);
        it.submit().await;
        // Less than the time after which an endpoint is checked anyway.
        it.world.clock.advance_millis(1_000);
        becomes("it is sent", || it.receivers.got(URL).len() == number).await;
        let left = failing.load(Ordering::SeqCst) + skipping.load(Ordering::SeqCst);
        assert_eq!(left, 0, "both wakes were lost");
    }
}

#[tokio::test]
async fn a_reply_about_a_response_that_was_deleted_meanwhile_is_not_kept() {
    let it = Hooked::new().await;
    let gate = closed();
    it.receivers.script(URL, &[Does::Until(Arc::clone(&gate), "you sent: quick")]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    let (gone, kept) = (it.submit().await, it.submit().await);
    it.world.clock.advance_millis(500);
    becomes("the first one is sent", || !it.receivers.got(URL).is_empty()).await;
    let (engine, actor) = (&it.world.engine, &it.world.actor);
    let response = engine.response(actor, Scope::Erase, gone.parse().unwrap()).await.unwrap();
    response.delete().await.unwrap();
    gate.add_permits(10_000);
    it.deliver().await;
    let replies: Vec<_> = it.deliveries(endpoint).await;
    let reply = |response: &str| {
        let id = response.replacen("rs_", "evt_", 1);
        let row = replies.iter().find(|row| row.event_id.to_string() == id).unwrap();
        assert_eq!(row.state, DeliveryState::Delivered);
        row.reply.clone()
    };
    assert_eq!(reply(&gone), None);
    assert_eq!(reply(&kept).as_deref(), Some("you sent: quick"));
}

#[tokio::test]
async fn a_reply_about_a_person_who_was_erased_meanwhile_is_not_kept() {
    let it = Hooked::new().await;
    let gate = closed();
    it.receivers.script(URL, &[Does::Until(Arc::clone(&gate), "hello u-7")]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    let linked = async |user: &str| {
        let mut body = submission(it.version);
        body["respondentAnalyticsAdmission"] = "admitted".into();
        body["identities"] = serde_json::json!([{"type": "userId", "value": user}]);
        accepted(it.world.submit(&it.view, &body).await).response_id
    };
    let (gone, kept) = (linked("u-7").await, linked("u-8").await);
    let stored = it.world.stored(it.flow).await;
    let respondent = stored.iter().find(|row| row.response_id == gone).unwrap().respondent_id;
    it.settle();
    becomes("the first one is sent", || !it.receivers.got(URL).is_empty()).await;
    let (engine, actor) = (&it.world.engine, &it.world.actor);
    engine.erase_respondent(actor, respondent.unwrap(), AnswersOnErasure::Keep).await.unwrap();
    gate.add_permits(10_000);
    it.deliver().await;
    let rows = it.deliveries(endpoint).await;
    let reply = |response: sluice_flow::id::ResponseId| {
        let row = rows.iter().find(|row| row.event_id.uuid() == response.uuid()).unwrap();
        assert_eq!(row.state, DeliveryState::Delivered);
        row.reply.clone()
    };
    assert_eq!((reply(gone), reply(kept).as_deref()), (None, Some("hello u-7")));
}

#[tokio::test]
async fn an_endpoint_whose_url_is_no_longer_allowed_can_be_disabled_and_deleted() {
    let it = Hooked::new().await;
    let endpoint = it.endpoint(URL, &[]).await;
    it.receivers.forbidden.lock().unwrap().push(URL.to_owned());
    let enabled = |enabled| EndpointPatch { enabled: Some(enabled), ..EndpointPatch::default() };
    let off = it.handle().await.change_endpoint(endpoint, &enabled(false)).await.unwrap();
    assert_eq!(off.state, EndpointState::Disabled);
    let refused = it.handle().await.change_endpoint(endpoint, &enabled(true)).await.unwrap_err();
    let AdminError::Invalid(faults) = refused else { panic!("{refused:?}") };
    assert_eq!(faults[0].pointer, "/url");
    it.handle().await.delete_endpoint(endpoint).await.unwrap();
    assert_eq!(it.handle().await.list_endpoints().await.unwrap(), []);
}

#[tokio::test]
async fn test_events_have_a_limit() {
    const TESTS_MAX: usize = 16;
    let it = Hooked::new().await;
    let gate = closed();
    it.receivers.script(URL, &[Does::Until(Arc::clone(&gate), "")]);
    let endpoint = it.endpoint(URL, &[]).await;
    let handle = Arc::new(it.handle().await);
    let send = || {
        let handle = Arc::clone(&handle);
        tokio::spawn(async move { handle.send_test_event(endpoint).await })
    };
    let mut running = JoinSet::new();
    for _ in 0..TESTS_MAX {
        let handle = Arc::clone(&handle);
        running.spawn(async move { handle.send_test_event(endpoint).await });
    }
    becomes("all are sent", || it.receivers.got(URL).len() == TESTS_MAX).await;
    let refused = send().await.unwrap().unwrap_err();
    assert!(format!("{refused:?}").contains("too_many_tests"), "{refused:?}");
    for _ in 0..TESTS_MAX {
        gate.add_permits(1);
        let sent = running.join_next().await.unwrap().unwrap().unwrap();
        assert_eq!(sent.state, DeliveryState::Delivered);
    }
    gate.add_permits(1);
    assert!(send().await.unwrap().is_ok());
}
