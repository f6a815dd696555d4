//! What metrics show of the queue and of the store.

use std::time::Duration;

use crate::support::{Mood, World, accepted, submission};
use sluice_store::StatusStore as _;

pub(crate) fn value(metrics: &str, name: &str) -> f64 {
    let found = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("{name} is missing: {metrics}")).parse().unwrap()
}

#[tokio::test]
async fn submissions_that_wait_have_a_number_and_an_age() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let body = submission(version);
    let waiting = || {
        let metrics = world.engine.health().metrics_text();
        ["sluice_queued_submissions", "sluice_commits_in_progress", "sluice_queue_oldest_seconds"]
            .map(|name| value(&metrics, name))
    };
    assert_eq!(waiting(), [0.0, 0.0, 0.0]);
    world.faults.set(Mood::Held);
    let written = world.submit_with_key(&view, &body, "written");
    let queued = world.submit_with_key(&view, &body, "queued");
    let watched = async {
        let held = async {
            while !matches!(waiting(), [1.0, 1.0, age] if age > 0.02) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), held).await.unwrap();
        world.faults.set(Mood::Well);
    };
    let (written, queued, ()) = tokio::join!(biased; written, queued, watched);
    accepted(written);
    accepted(queued);
    // A write ends after its submissions are answered.
    let ended = async {
        while waiting() != [0.0, 0.0, 0.0] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    let metrics = world.engine.health().metrics_text();
    for (name, count) in [("sluice_commit_seconds_count", 2.0), ("sluice_commit_rows_sum", 2.0)] {
        assert_eq!(value(&metrics, name), count, "{name}");
    }
    assert!(value(&metrics, "sluice_pool_connections_max") >= 1.0);
    let kind = world.faults.status().kind;
    assert!(metrics.contains(&format!("store=\"{kind}\"}} 1\n")), "{metrics}");
}
