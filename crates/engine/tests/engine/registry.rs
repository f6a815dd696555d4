//! The registry: what is cached, what is dropped, and when.

use crate::support;

use std::sync::atomic::Ordering;
use std::time::Duration;
use support::UseCases as _;

use serde_json::Value;
use sluice_engine::{AppPatch, FlowPatch, NoFlow, Receipt};
use sluice_flow::lifecycle::{FlowTimes, accepting};
use sluice_flow::payload::Generation;
use sluice_flow::time::{Timestamp, Window};
use sluice_store::StoreError;
use support::{Mood, World, accepted, code, submission, version_in};

#[tokio::test]
async fn an_unknown_key_is_looked_up_once_until_something_changes() {
    let world = World::new().await;
    let lookups = || world.faults.key_lookups.load(Ordering::SeqCst);
    for _ in 0..5 {
        assert!(world.engine.app_by_key("pk_0000000000000000000000").await.unwrap().is_none());
    }
    assert_eq!(lookups(), 1);
    assert!(world.engine.app_by_key("not a key").await.unwrap().is_none());
    assert_eq!(lookups(), 1);
    world.app().await;
    world.engine.app_by_key("pk_0000000000000000000000").await.unwrap();
    assert_eq!(lookups(), 2);
}

#[tokio::test]
async fn a_start_reads_no_apps() {
    let world = World::new().await;
    for _ in 0..20 {
        world.app().await;
    }
    let other = world.another().await;
    assert_eq!(other.faults.changed_apps.load(Ordering::SeqCst), 0);
    assert_eq!(other.faults.reads.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_change_drops_the_entries_of_its_app_only() {
    let world = World::new().await;
    let mut apps = Vec::new();
    for _ in 0..20 {
        apps.push(world.app().await);
    }
    let lookups = || world.faults.key_lookups.load(Ordering::SeqCst);
    let view_all = async || {
        for app in &apps {
            world.view(app).await;
        }
    };
    // The change feed reports all new apps a little later, and then no more.
    let is_reported = || world.faults.changed_apps.load(Ordering::SeqCst) >= apps.len();
    loop {
        let before = lookups();
        tokio::time::sleep(Duration::from_millis(500)).await;
        view_all().await;
        if lookups() == before && is_reported() {
            break;
        }
    }
    let before = lookups();
    let patch = AppPatch { name: Some("Shop 2".into()), ..AppPatch::default() };
    world.engine.update_app(&world.actor, apps[7].row.app_id, &patch).await.unwrap();
    view_all().await;
    let looked_up = lookups() - before;
    // Once for the change, and perhaps once more for the feed.
    assert!((1..=2).contains(&looked_up), "{looked_up} of {} apps", apps.len());
}

/// Makes many concurrent requests for one value while the store hangs, and then one more.
async fn ask_while_it_hangs<T: Send + 'static>(
    world: &World,
    ask: impl AsyncFn() -> Result<T, StoreError>,
) {
    let lookups = || world.faults.hung.load(Ordering::SeqCst);
    let before = lookups();
    world.faults.set(Mood::Hanging(Duration::from_secs(2)));
    let failed = async || match ask().await {
        Err(StoreError::Failed(cause)) => {
            assert!(cause.to_string().contains("deadline"), "{cause}");
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("found a value although the store hangs"),
    };
    let late = async || {
        while lookups() == before {
            tokio::task::yield_now().await;
        }
        failed().await;
    };
    tokio::join!(failed(), failed(), failed(), late(), failed(), late(), failed(), late());
    assert_eq!(lookups() - before, 1, "8 callers share one lookup, and so one deadline");
    world.faults.set(Mood::Well);
    assert!(ask().await.is_ok(), "a failure is not cached");
}

#[tokio::test]
async fn concurrent_callers_share_one_failure_within_one_deadline() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id.to_string();
    let other = world.another().await;
    let lookups = || other.faults.key_lookups.load(Ordering::SeqCst);
    ask_while_it_hangs(&other, async || other.engine.app_by_key(app.api_keys[0].as_str()).await)
        .await;
    assert_eq!(lookups(), 2, "one failed lookup for all callers, and one more");
    let (view, flow) = (other.view(&app).await, flow.to_string());
    ask_while_it_hangs(&other, async || other.engine.resolve(&view, &flow).await).await;
    let snapshot = async || other.engine.snapshot(&view, &version, Generation::LATEST).await;
    ask_while_it_hangs(&other, snapshot).await;
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let world = World::new().await;
    let app = world.app().await;
    let key = &app.api_keys[0];
    assert!(world.engine.app_by_key(key.as_str()).await.unwrap().is_some());
    world.engine.revoke_key(&world.actor, app.row.app_id, key).await.unwrap();
    assert!(world.engine.app_by_key(key.as_str()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_publish_takes_effect_at_once() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let view = world.view(&app).await;
    let flow_text = flow.to_string();
    assert_eq!(
        world.engine.resolve(&view, &flow_text).await.unwrap().unwrap_err(),
        NoFlow::NotPublished
    );
    let first = world.publish(flow).await.flow_version_id;
    let resolved = world.engine.resolve(&view, &flow_text).await.unwrap().unwrap();
    assert_eq!(version_in(&resolved), first.to_string());
    let second = world.publish(flow).await.flow_version_id;
    let resolved = world.engine.resolve(&view, &flow_text).await.unwrap().unwrap();
    assert_eq!(version_in(&resolved), second.to_string());
}

/// Publishes, one of which must be seen in time.
const ROUNDS_MAX: usize = 20;

#[tokio::test]
async fn a_publish_by_another_process_takes_effect_within_a_second() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    world.publish(flow).await;
    let other = world.another().await;
    let view = other.view(&app).await;
    other.engine.resolve(&view, &flow.to_string()).await.unwrap().unwrap();
    // A busy machine may be late, but not every time. What takes longer is never in time.
    let (mut published, mut seen) = (Value::Null, Value::Null);
    for _ in 0..ROUNDS_MAX {
        published = world.publish(flow).await.flow_version_id.to_string().into();
        tokio::time::sleep(Duration::from_millis(900)).await;
        let resolved = other.engine.resolve(&view, &flow.to_string()).await.unwrap().unwrap();
        seen = version_in(&resolved);
        if seen == published {
            break;
        }
    }
    assert_eq!(seen, published);
}

#[tokio::test]
async fn a_response_judged_on_an_outdated_version_is_judged_again() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let other = world.another().await;
    let view = other.view(&app).await;
    accepted(other.submit(&view, &submission(version)).await);
    world.engine.retire(&world.actor, version).await.unwrap();
    // The feed is read five times a second; this happens sooner.
    let receipt = other.submit(&view, &submission(version)).await;
    assert_eq!(code(&receipt), "flow_version_not_found");
    assert_eq!(world.stored(flow).await.len(), 1);
}

#[tokio::test]
async fn a_retired_version_is_neither_served_nor_accepts_responses() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let id = version.to_string();
    assert!(world.engine.snapshot(&view, &id, Generation::LATEST).await.unwrap().is_some());
    world.engine.retire(&world.actor, version).await.unwrap();
    assert!(world.engine.snapshot(&view, &id, Generation::LATEST).await.unwrap().is_none());
    assert_eq!(code(&world.submit(&view, &submission(version)).await), "flow_version_not_found");
}

#[tokio::test]
async fn a_resolve_changes_at_the_edges_of_the_live_window() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    world.publish(flow).await;
    let start = world.engine.now().plus_seconds(10);
    let end = start.plus_seconds(10);
    let live_window = Some(Window { starts_at: Some(start), ends_at: Some(end) });
    let patch = FlowPatch { live_window, ..FlowPatch::default() };
    world.engine.update_flow(&world.actor, flow, &patch).await.unwrap();
    let view = world.view(&app).await;
    let before = |edge: Timestamp| Timestamp::from_millis(edge.as_millis() - 1);
    for (now, status, until) in [
        (before(start), "scheduled", Some(start)),
        (start, "open", Some(end)),
        (before(end), "open", Some(end)),
        (end, "closed", None),
    ] {
        world.clock.set(now);
        let resolved = world.engine.resolve(&view, &flow.to_string()).await.unwrap().unwrap();
        let body: Value = serde_json::from_slice(&resolved.served.body).unwrap();
        assert_eq!(body["status"], status, "{now}");
        assert_eq!(resolved.valid_until, until, "{now}");
    }
}

/// Two processes on one database: one publishes without grace, both accept submissions to the
/// version that they last saw. Every stored response must have been allowed at its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publish_against_submit_stores_only_what_an_offline_replay_allows() {
    let folder = World::new().await;
    let (world, other) = (folder.in_real_time().await, folder.in_real_time().await);
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let grace_window_seconds = Some(Some(0));
    let patch = FlowPatch { grace_window_seconds, ..FlowPatch::default() };
    world.engine.update_flow(&world.actor, flow, &patch).await.unwrap();
    let mut newest = world.publish(flow).await.flow_version_id;
    let (here, there) = (world.view(&app).await, other.view(&app).await);
    for round in 0..100 {
        let body = submission(newest);
        let publish = async {
            tokio::time::sleep(Duration::from_micros(round % 7 * 300)).await;
            world.publish(flow).await.flow_version_id
        };
        let submits = futures_util::future::join_all((0..4).map(|_| {
            let (a, b) = (world.submit(&here, &body), other.submit(&there, &body));
            async { tokio::join!(a, b) }
        }));
        let (published, _) = tokio::join!(publish, submits);
        newest = published;
    }
    let versions = world.engine.list_versions(&world.actor, flow, None, 1_000).await.unwrap();
    let rows = world.stored(flow).await;
    assert!(rows.len() > 50, "only {} stored: the test had no load", rows.len());
    for row in rows {
        let version =
            versions.iter().find(|version| version.flow_version_id == row.flow_version_id).unwrap();
        let state = accepting(&version.times, &FlowTimes::default(), row.response_id.made_at());
        assert!(state.accepts(), "{row:?} against {version:?}");
    }
}

/// Another process has the first version cached, in its grace window. A publish that ends the grace
/// arrives through the change feed, and no row of the publish names the first version.
#[tokio::test]
async fn a_grace_window_ended_by_another_process_ends_here() {
    let folder = World::new().await;
    let (world, other) = (folder.in_real_time().await, folder.in_real_time().await);
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let first = world.publish(flow).await.flow_version_id;
    let second = world.publish(flow).await.flow_version_id;
    let there = other.view(&app).await;
    accepted(other.submit(&there, &submission(first)).await);
    world.engine.retire(&world.actor, second).await.unwrap();
    let grace_window_seconds = Some(Some(0));
    let patch = FlowPatch { grace_window_seconds, ..FlowPatch::default() };
    world.engine.update_flow(&world.actor, flow, &patch).await.unwrap();
    let third = world.publish(flow).await.flow_version_id;
    // At once: even before the feed is read, the store refuses a response judged on an old entry.
    let Ok(Receipt::Refused(issues)) = other.submit(&there, &submission(first)).await else {
        panic!("not refused");
    };
    assert_eq!(issues[0].latest_flow_version_id, Some(third));
}

/// A flow's page is requested by the flow's id alone, without a key that identifies its app.
#[tokio::test]
async fn a_cached_page_needs_no_database_read_and_changes_take_effect_at_once() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let text = flow.to_string();
    assert_eq!(world.engine.links().flow(&text).await.unwrap().unwrap_err(), NoFlow::NotPublished);
    let first = world.publish(flow).await.flow_version_id;
    // The feed repeats this process's own changes a moment later, and the page is read again after
    // each.
    while {
        world.faults.set(Mood::Well);
        assert_eq!(world.engine.links().flow(&text).await.unwrap().unwrap().current.id(), first);
        world.faults.set(Mood::Hanging(Duration::ZERO));
        world.engine.links().flow(&text).await.is_err()
    } {}
    world.faults.set(Mood::Well);
    let hosted = sluice_engine::branding::HostedPatch {
        spam_protection: Some(false),
        ..sluice_engine::branding::HostedPatch::default()
    };
    let patch = AppPatch { hosted: Some(Some(hosted)), ..AppPatch::default() };
    world.engine.update_app(&world.actor, app.row.app_id, &patch).await.unwrap();
    assert!(!world.engine.links().flow(&text).await.unwrap().unwrap().branding().spam_protection);
    world.engine.archive_flow(&world.actor, flow).await.unwrap();
    assert_eq!(world.engine.links().flow(&text).await.unwrap().unwrap_err(), NoFlow::NotFound);
}
