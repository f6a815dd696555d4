//! Overload: a slow disk stores what it can, in time, and recovers as soon as the load falls.
//!
//! Time is simulated, so nothing here depends on the machine: a commit takes a fixed time and the
//! runtime's clock jumps to the next event. `tests/faults/overload` does the same on a real disk.

use crate::metrics::value;
use crate::support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sluice_engine::{Receipt, SubmitError};
use sluice_store::Lanes;
use support::{Mood, World, accepted, submission};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const SYNC: Duration = Duration::from_secs(1);
/// What one sync holds.
const BATCH: f64 = 512.0;
const PATIENCE: Duration = Duration::from_secs(5);
/// The documented deadline of a submission.
const DEADLINE: Duration = Duration::from_secs(2);

/// The reply to one client, and when.
enum Reply {
    Stored { after: Duration, at: Instant },
    Refused { retry_after: u32, sent: Instant },
    GaveUp { sent: Instant },
}

/// Offers submissions at this rate, and returns what their clients saw.
async fn offer(
    world: &Arc<World>,
    body: &Arc<Vec<u8>>,
    key: &str,
    rate: f64,
    seconds: f64,
) -> Vec<Reply> {
    let app = world.engine.app_by_key(key).await.unwrap().unwrap();
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..(rate * seconds) as u32 {
        tokio::time::sleep_until(start + Duration::from_secs_f64(f64::from(number) / rate)).await;
        let (world, app, body) = (Arc::clone(world), Arc::clone(&app), Arc::clone(body));
        clients.spawn(async move {
            let sent = Instant::now();
            match timeout(PATIENCE, world.engine.submit_as(&app, Some(&body), None, None)).await {
                Err(_) => Reply::GaveUp { sent },
                Ok(Ok(Receipt::Accepted(_))) => {
                    Reply::Stored { after: sent.elapsed(), at: Instant::now() }
                }
                Ok(Err(SubmitError::Unavailable(why))) => {
                    assert!(why.reason.contains("overloaded"), "{why}");
                    Reply::Refused { retry_after: why.retry_after_seconds, sent }
                }
                Ok(other) => panic!("{other:?}"),
            }
        });
    }
    clients.join_all().await
}

#[tokio::test]
async fn three_times_the_load_of_a_slow_disk_keeps_its_goodput_and_it_recovers_when_the_load_falls()
{
    let world = Arc::new(World::in_runtime_time().await);
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let body = Arc::new(submission(version).to_string().into_bytes());
    let key = app.api_keys[0].as_str();
    world.faults.set(Mood::Simulated(SYNC));
    tokio::time::pause();
    let allowed = BATCH / SYNC.as_secs_f64();

    let start = Instant::now();
    let replies = offer(&world, &body, key, 3.0 * allowed, 12.0).await;
    let in_window = |at: Instant| (2.0..12.0).contains(&(at - start).as_secs_f64());
    let mut stored = Vec::new();
    let (mut good, mut waits) = (0, std::collections::BTreeSet::new());
    for reply in &replies {
        match reply {
            Reply::Stored { after, at } => {
                stored.push(*after);
                good += usize::from(in_window(*at));
            }
            Reply::Refused { retry_after, .. } => {
                waits.insert(*retry_after);
            }
            Reply::GaveUp { .. } => panic!("a client gave up"),
        }
    }
    assert!(good as f64 >= 0.9 * allowed * 10.0, "{good} in ten seconds of {allowed} a second");
    stored.sort_unstable();
    let p99 = stored[stored.len() * 99 / 100];
    assert!(p99 <= 2 * DEADLINE, "{p99:?}");
    assert!(waits.len() >= 3 && *waits.first().unwrap() >= 2, "adapts, with jitter: {waits:?}");
    assert!(world.engine.health().is_saturated());
    // The store answers in real time, which paused time does not wait for.
    tokio::time::resume();
    assert!(world.engine.health().ready().await.is_ok(), "a saturated server is ready");
    tokio::time::pause();
    assert_eq!(world.faults.rows.load(Ordering::SeqCst), stored.len(), "refused, and written");

    let fell = Instant::now();
    for reply in offer(&world, &body, key, allowed / 5.0, 15.0).await {
        match reply {
            Reply::Stored { .. } => {}
            Reply::Refused { sent, .. } | Reply::GaveUp { sent } => {
                let after = sent - fell;
                assert!(after < Duration::from_secs(5), "refused {after:?} after the load fell");
            }
        }
    }
    sleep(PATIENCE).await;
    assert!(!world.engine.health().is_saturated());
}

#[tokio::test]
async fn a_submission_whose_client_has_gone_is_not_written_and_a_retry_stores_it() {
    // One write at a time, so that the waiting submissions keep waiting.
    let world = World::with_lanes(Lanes { count: 1, by_app: false }).await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    world.faults.set(Mood::Held);
    let first = world.submit_with_key(&view, &body, "first");
    let third = world.submit_with_key(&view, &body, "third");
    let second = async {
        let queued = async {
            while value(&world.engine.health().metrics_text(), "sluice_queued_submissions") < 2.0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        // It is dropped once it waits, and the third one as well.
        tokio::select! {
            _ = world.submit_with_key(&view, &body, "second") => panic!("it did not wait"),
            queued = timeout(Duration::from_secs(60), queued) => queued.unwrap(),
        }
        world.faults.set(Mood::Well);
    };
    let (first, (), third) = tokio::join!(biased; first, second, third);
    accepted(first);
    accepted(third);
    assert_eq!(world.stored(flow).await.len(), 2);
    let metrics = world.engine.health().metrics_text();
    assert!(metrics.contains("sluice_submissions_total{outcome=\"abandoned\"} 1"), "{metrics}");
    let retry = accepted(world.submit_with_key(&view, &body, "second").await);
    assert!(!retry.replayed, "the first attempt was stored");
    assert_eq!(world.stored(flow).await.len(), 3);
}
