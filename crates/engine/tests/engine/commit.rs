//! Group commit: sharing writes, refusing, failing, and never acknowledging an unknown outcome.

use crate::metrics::value;
use crate::support;

use std::sync::atomic::Ordering;
use std::time::Duration;
use support::UseCases as _;

use serde_json::json;
use sluice_engine::{FlowPatch, SubmitError};
use sluice_flow::time::Window;
use sluice_store::Lanes;
use support::{Mood, World, accepted, code, submission};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_that_queue_while_one_write_runs_share_the_next() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    accepted(world.submit(&view, &submission(version)).await);
    world.faults.set(Mood::Slow(Duration::from_millis(500)));
    let before = world.faults.commits.load(Ordering::SeqCst);
    let body = submission(version);
    let many = (0..200).map(|_| world.submit(&view, &body));
    for receipt in futures_util::future::join_all(many).await {
        accepted(receipt);
    }
    let writes = world.faults.commits.load(Ordering::SeqCst) - before;
    assert!(writes <= 10, "200 submissions took {writes} writes");
    assert_eq!(world.stored(flow).await.len(), 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_hangs_does_not_delay_a_single_submission_of_its_lane() {
    let world = World::with_lanes(Lanes { count: 4, by_app: false }).await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    accepted(world.submit(&view, &body).await);
    let before = world.faults.commits.load(Ordering::SeqCst);
    world.faults.set(Mood::Slow(Duration::from_secs(3_600)));
    let next = async {
        while world.faults.commits.load(Ordering::SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Nothing else arrives or ends after it has queued.
        world.faults.set(Mood::Well);
        accepted(world.submit(&view, &body).await);
    };
    tokio::select! {
        () = next => {}
        _ = world.submit(&view, &body) => panic!("the write did not hang"),
    }
}

#[tokio::test]
async fn the_submissions_of_one_request_share_one_write() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    accepted(world.submit(&view, &body).await);
    let before = world.faults.commits.load(Ordering::SeqCst);
    let calls = futures_util::future::join_all((0..10).map(|_| world.submit(&view, &body)));
    for receipt in world.engine.together(calls).await {
        accepted(receipt);
    }
    assert_eq!(world.faults.commits.load(Ordering::SeqCst) - before, 1);
    assert_eq!(world.stored(flow).await.len(), 11);
    // A request that was given up leaves nothing behind that would hold up the next one.
    drop(world.engine.together(world.submit(&view, &body)));
    accepted(world.submit(&view, &body).await);
}

#[tokio::test]
async fn a_full_queue_refuses_submissions_and_stores_none_of_them() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    accepted(world.submit(&view, &submission(version)).await);
    world.faults.set(Mood::Held);
    let body = submission(version);
    let crowd = sluice_engine::commit_queue::QUEUE_MAX + 2_000;
    let many = futures_util::future::join_all((0..crowd).map(|_| world.submit(&view, &body)));
    let release = async {
        let shed = "sluice_submissions_total{outcome=\"shed\"}";
        let refused = async {
            while value(&world.engine.health().metrics_text(), shed) < 1.0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), refused).await.unwrap();
        world.faults.set(Mood::Well);
    };
    let (receipts, ()) = tokio::join!(biased; many, release);
    let shed = receipts.iter().filter(|receipt| receipt.is_err()).count();
    assert!(shed > 0, "nothing was refused");
    for receipt in receipts.iter().filter(|receipt| receipt.is_err()) {
        let Err(SubmitError::Unavailable(why)) = receipt else { panic!("{receipt:?}") };
        assert!(why.reason.contains("overloaded"), "{why}");
    }
    assert_eq!(world.stored(flow).await.len(), 1 + crowd - shed);
}

#[tokio::test]
async fn submissions_fail_while_the_store_fails_and_succeed_once_it_recovers() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    world.faults.set(Mood::Failing);
    let receipt = world.submit(&view, &submission(version)).await;
    assert!(matches!(receipt, Err(SubmitError::Unavailable(_))), "{receipt:?}");
    world.faults.set(Mood::Well);
    accepted(world.submit(&view, &submission(version)).await);
    assert_eq!(world.stored(flow).await.len(), 1);
}

#[tokio::test]
async fn after_an_unknown_outcome_nothing_is_acknowledged_and_a_retry_elsewhere_finds_one_row() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    world.faults.set(Mood::LosingTrack);
    let receipt = world.submit_with_key(&view, &submission(version), "k").await;
    assert!(matches!(receipt, Err(SubmitError::Unavailable(_))), "{receipt:?}");
    world.faults.set(Mood::Well);
    let later = world.submit(&view, &submission(version)).await;
    assert!(matches!(later, Err(SubmitError::Unavailable(_))), "{later:?}");
    assert!(world.engine.health().ready().await.is_err());
    tokio::time::timeout(Duration::from_secs(60), world.engine.health().lost_track())
        .await
        .unwrap();

    let restarted = world.another().await;
    let view = restarted.view(&app).await;
    let retry = accepted(restarted.submit_with_key(&view, &submission(version), "k").await);
    assert!(retry.replayed);
    assert_eq!(restarted.stored(flow).await.len(), 1);
}

#[tokio::test]
async fn closing_stores_queued_submissions_and_refuses_new_ones() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    accepted(world.submit(&view, &body).await);
    world.faults.set(Mood::Slow(Duration::from_millis(20)));
    let commits = || world.faults.commits.load(Ordering::SeqCst);
    let before = commits();
    let many = futures_util::future::join_all((0..50).map(|_| world.submit(&view, &body)));
    // All are queued together, so once a commit has begun none is still on its way to the queue.
    let close = async {
        while commits() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world.engine.close().await;
    };
    let (receipts, ()) = tokio::join!(many, close);
    for receipt in receipts {
        accepted(receipt);
    }
    assert!(world.submit(&view, &body).await.is_err());
    assert_eq!(world.another().await.stored(flow).await.len(), 51);
}

#[tokio::test]
async fn a_window_that_ends_while_a_submission_queues_refuses_it() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let ends_at = Some(world.engine.now().plus_seconds(1));
    let live_window = Some(Window { starts_at: None, ends_at });
    let patch = FlowPatch { live_window, ..FlowPatch::default() };
    world.engine.update_flow(&world.actor, flow, &patch).await.unwrap();
    let view = world.view(&app).await;
    // The first commit ends after the clock was moved, however slow the machine is.
    world.faults.set(Mood::Held);
    let body = submission(version);
    let first = world.submit(&view, &body);
    let first_begins = async || {
        while world.faults.commits.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let late = async {
        first_begins().await;
        let mut body = submission(version);
        body["answers"]["why"] = json!("late");
        world.submit(&view, &body).await
    };
    let turn = async {
        first_begins().await;
        // The late one waits for less, and is asked first.
        tokio::time::sleep(Duration::from_millis(20)).await;
        world.clock.advance_millis(1_000);
        world.faults.set(Mood::Well);
    };
    let (first, late, ()) = tokio::join!(biased; first, late, turn);
    accepted(first);
    assert_eq!(code(&late), "no_longer_accepting");
    assert_eq!(world.stored(flow).await.len(), 1);
}

#[tokio::test]
async fn an_unknown_outcome_ends_the_process_wherever_it_occurs() {
    let lost_within = async |world: &World, seconds: u64| {
        let wait = Duration::from_secs(seconds);
        tokio::time::timeout(wait, world.engine.health().lost_track()).await.is_ok()
    };
    let world = World::new().await;
    world.faults.set(Mood::Failing);
    assert!(world.engine.health().ready().await.is_err());
    assert!(!lost_within(&world, 1).await, "a failed write is no reason to exit");
    world.faults.set(Mood::LosingTrack);
    assert!(world.engine.health().ready().await.is_err());
    assert!(lost_within(&world, 60).await);

    let world = World::new().await;
    world.faults.set(Mood::LosingTrack);
    assert!(world.engine.create_app(&world.actor, "Shop").await.is_err());
    assert!(lost_within(&world, 60).await);
    world.faults.set(Mood::Well);
    assert!(world.engine.health().ready().await.is_err(), "ready again after an unknown outcome");
}

#[tokio::test]
async fn readiness_is_checked_once_for_all_callers_and_again_after_a_failed_write() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let checks = || world.faults.checks.load(Ordering::SeqCst);
    let all = futures_util::future::join_all((0..100).map(|_| world.engine.health().ready())).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(checks(), 1);
    world.faults.set(Mood::Failing);
    assert!(world.submit(&view, &submission(version)).await.is_err());
    assert!(world.engine.health().ready().await.is_err(), "the shared answer is out of date");
    assert_eq!(checks(), 2);
    world.faults.set(Mood::Well);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(world.engine.health().ready().await.is_ok());
}
