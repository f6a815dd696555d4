//! Changes to the settings of a flow, and what they are then.

use serde_json::json;
use sluice_engine::clock::Clock as _;
use sluice_engine::rows::Scope;
use sluice_engine::{AdminResult, Engine, FlowPatch};
use sluice_flow::id::FlowVersionId;
use sluice_flow::time::{Timestamp, Window};

use super::clients::{Client, did, responses};
use super::history::{Action, Counter, Outcome};
use super::model::{Change, FlowConfig, Version};
use super::nodes::{Node, Running};
use super::operations::Setting;
use crate::support::{UseCases as _, definition};

/// More versions than a flow ever has.
const VERSIONS_MAX: usize = 10_000;

pub(super) async fn set(
    client: &Client,
    node: &Node,
    running: &Running,
    flow: usize,
    setting: Setting,
) {
    let engine = &running.engine;
    let Some(change) = resolved(client, engine, flow, setting).await else { return };
    let invoked = client.recorder.moment();
    let did = did(&carry_out(client, engine, flow, change).await);
    let (after, counter, mut draft) = observe(client, node, flow).await;
    let outcome = Outcome::Changed { did, after: after.clone(), counter };
    let action = Action::Change { flow, change };
    client.recorder.note(client.number, running.number, invoked, action, outcome);
    // Now and then there is a draft, to which others may submit.
    if matches!(change, Change::Publish) && draft.is_none() && after.versions.len() % 2 == 0 {
        let id = client.board.flows[flow];
        let made = node.running().await.engine.put_draft(&client.actor, id, definition()).await;
        draft = made.ok().map(|it| it.flow_version_id);
    }
    let mut known = client.board.versions[flow].lock().unwrap();
    known.published = after.versions.iter().map(|it| it.id).collect();
    known.draft = draft;
}

/// The change with its arguments; `None` if there is nothing to change.
async fn resolved(
    client: &Client,
    engine: &Engine,
    flow: usize,
    setting: Setting,
) -> Option<Change> {
    let now = client.recorder.clock.now().as_millis();
    Some(match setting {
        Setting::Publish => Change::Publish,
        Setting::Republish(pick) => Change::Republish(client.board.version(flow, pick)?),
        Setting::Retire(pick) => Change::Retire(client.board.version(flow, pick)?),
        Setting::Close => Change::Close,
        Setting::Reopen => Change::Reopen,
        Setting::Window { starts, ends } => {
            let at = |millis: Option<i64>| millis.map(|millis| now + millis);
            Change::Window { starts: at(starts), ends: at(ends) }
        }
        Setting::Grace(seconds) => Change::Grace(seconds),
        Setting::Archive => Change::Archive,
        Setting::Restore => Change::Restore,
        Setting::Limit(None) => Change::Limit(None),
        Setting::Limit(Some(more)) => {
            let (stored, _) =
                responses(engine, &client.actor, client.board.flows[flow]).await.ok()?;
            Change::Limit(Some((u32::try_from(stored).ok()? + more).max(1)))
        }
    })
}

async fn carry_out(
    client: &Client,
    engine: &Engine,
    flow: usize,
    change: Change,
) -> AdminResult<()> {
    let (actor, id) = (&client.actor, client.board.flows[flow]);
    let patch =
        |patch: FlowPatch| async move { engine.update_flow(actor, id, &patch).await.map(drop) };
    match change {
        Change::Publish => {
            let flow = engine.flow(actor, Scope::Write, id).await?;
            if flow.draft.is_none() {
                let mut draft = definition();
                draft["title"] = json!(format!("Feedback {}", flow.last_number));
                flow.put_draft(draft).await?;
            }
            engine.publish(actor, id).await.map(drop)
        }
        Change::Republish(version) => engine.republish(actor, version).await.map(drop),
        Change::Retire(version) => engine.retire(actor, version).await.map(drop),
        Change::Close => engine.flow(actor, Scope::Write, id).await?.close().await.map(drop),
        Change::Reopen => engine.flow(actor, Scope::Write, id).await?.reopen(None).await,
        Change::Window { starts, ends } => {
            let at = |millis: Option<i64>| millis.map(Timestamp::from_millis);
            let live_window = Some(Window { starts_at: at(starts), ends_at: at(ends) });
            patch(FlowPatch { live_window, ..FlowPatch::default() }).await
        }
        Change::Grace(seconds) => {
            let grace_window_seconds = Some(seconds);
            patch(FlowPatch { grace_window_seconds, ..FlowPatch::default() }).await
        }
        Change::Archive => engine.archive_flow(actor, id).await,
        Change::Restore => engine.flow(actor, Scope::Write, id).await?.restore().await,
        Change::Limit(limit) => {
            let close_after = Some(limit);
            patch(FlowPatch { close_after, ..FlowPatch::default() }).await
        }
    }
}

/// The settings of a flow as they are now, the counter of its limit, and its draft. Nobody else
/// changes them.
pub(super) async fn observe(
    client: &Client,
    node: &Node,
    flow: usize,
) -> (FlowConfig, Option<Counter>, Option<FlowVersionId>) {
    loop {
        let running = node.running().await;
        match read(client, &running.engine, flow).await {
            Ok(read) => return read,
            // It is being restarted.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

pub(super) async fn read(
    client: &Client,
    engine: &Engine,
    flow: usize,
) -> AdminResult<(FlowConfig, Option<Counter>, Option<FlowVersionId>)> {
    let (actor, id) = (&client.actor, client.board.flows[flow]);
    let handle = engine.flow(actor, Scope::Read, id).await?;
    let limit = handle.flow.limits()?.close_after;
    let counter = match limit {
        Some(_) => {
            let from = client.recorder.number();
            let value = handle.closing().await?.counts.get("");
            Some(Counter { from, to: client.recorder.number(), value })
        }
        None => None,
    };
    let mut versions = handle.list_versions(None, VERSIONS_MAX).await?;
    versions.sort_by_key(|version| version.number);
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    let version = |row: &sluice_engine::rows::VersionRow| {
        let times = &row.times;
        Version {
            id: row.flow_version_id,
            published: millis(times.published_at).unwrap(),
            ends: times.superseded_at.map(|it| times.grace_ends_at.unwrap_or(it).as_millis()),
            retired: millis(times.retired_at),
        }
    };
    let config = FlowConfig {
        starts: millis(handle.flow.live.starts_at),
        ends: millis(handle.flow.live.ends_at),
        archived: millis(handle.flow.archived_at),
        grace: handle.flow.grace_window_seconds,
        limit,
        versions: versions.iter().map(version).collect(),
    };
    Ok((config, counter, handle.draft.as_ref().map(|draft| draft.flow_version_id)))
}
