//! How much erasing one person with very many responses slows down the submissions of another app.
//!
//! A measurement, to be run by hand on an idle machine (docs/respondents.md); it prints the ratio
//! of two figures of one run. `ERASURE_RESPONSES` is the number of responses, 100,000 by default.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::UseCases as _;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use sluice_engine::AppView;
use sluice_engine::rows::AnswersOnErasure;
use sluice_flow::id::FlowVersionId;
use support::{World, accepted, submission};

const RESPONSES: usize = 100_000;
/// The number of concurrent submissions while the store is filled.
const AT_ONCE: usize = 512;
/// Clients of the other app, each with one submission at a time and a pause after it.
const CLIENTS: usize = 8;
const PAUSE: Duration = Duration::from_millis(20);
const BASELINE: Duration = Duration::from_secs(15);
/// The maximum p99 during the erasure, as a multiple of the p99 without it.
const TIMES_MAX: f64 = 3.0;

fn of_one_person(version: FlowVersionId) -> Value {
    let mut body = submission(version);
    body["respondentAnalyticsAdmission"] = json!("admitted");
    body["identities"] = json!([{"type": "userId", "value": "u-1"}]);
    body
}

/// Submits until `stop` is set; returns how long each submission took.
async fn load(
    world: &World,
    view: &Arc<AppView>,
    version: FlowVersionId,
    stop: &AtomicBool,
) -> Vec<Duration> {
    let client = async || {
        let (body, mut took) = (submission(version), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            accepted(world.submit(view, &body).await);
            took.push(begun.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        took
    };
    let mut all = futures_util::future::join_all((0..CLIENTS).map(|_| client())).await.concat();
    all.sort_unstable();
    all
}

fn share(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len() - 1;
    sorted[((last as f64 * share) as usize).min(last)]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of minutes, to be run by hand; see docs/respondents.md"]
async fn an_erasure_of_very_many_responses_does_not_slow_down_another_app() {
    let responses = std::env::var("ERASURE_RESPONSES").ok().and_then(|it| it.parse().ok());
    let responses: usize = responses.unwrap_or(RESPONSES);
    let still = World::new().await;
    let world = still.in_real_time().await;
    let (app, other) = (world.app().await, world.app().await);
    let version = world.publish(world.flow(&app).await.flow.flow_id).await.flow_version_id;
    let others = world.publish(world.flow(&other).await.flow.flow_id).await.flow_version_id;
    let (view, other) = (world.view(&app).await, world.view(&other).await);
    let body = of_one_person(version);
    let filling = futures_util::stream::iter(0..responses)
        .map(|_| async { accepted(world.submit(&view, &body).await) })
        .buffer_unordered(AT_ONCE);
    filling.for_each(async |_| {}).await;

    let (stop, end) = (AtomicBool::new(false), async || tokio::time::sleep(BASELINE).await);
    let ((), without) = tokio::join!(
        async {
            end().await;
            stop.store(true, Ordering::Relaxed);
        },
        load(&world, &other, others, &stop)
    );
    stop.store(false, Ordering::Relaxed);
    let erase = async {
        let page = sluice_engine::rows::Page { after: None, limit: 2 };
        let app = app.row.app_id;
        let found = world.engine.list_respondents(&world.actor, app, page).await.unwrap();
        let id = found[0].row.respondent_id;
        let begun = Instant::now();
        let (mut erased, mut calls) = (0, 0);
        // The background may finish it between two calls; then the respondent no longer exists.
        while let Ok(one) =
            world.engine.erase_respondent(&world.actor, id, AnswersOnErasure::Delete).await
        {
            (erased, calls) = (erased + one.responses, calls + 1);
            if one.remaining.is_none() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        (begun.elapsed(), erased, calls)
    };
    let ((took, erased, calls), during) = tokio::join!(erase, load(&world, &other, others, &stop));
    for (name, of) in [("without", &without), ("during", &during)] {
        let (median, p99) = (share(of, 0.5), share(of, 0.99));
        println!("{name}: {} submissions, median {median:?}, p99 {p99:?}", of.len());
    }
    let ratio = share(&during, 0.99).as_secs_f64() / share(&without, 0.99).as_secs_f64();
    println!("{responses} responses erased in {took:?}, {erased} of them by {calls} calls");
    println!("p99 of the other app: {ratio:.2} times, at most {TIMES_MAX} is the goal");
    assert!(ratio <= TIMES_MAX);
}
