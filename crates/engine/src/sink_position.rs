//! How far the logs are published to sinks, according to the store: what waits while nothing is
//! sent, and how a copy continues after the events that its original has published.

use std::collections::HashSet;

use sluice_flow::id::{AppId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{LogQuery, Order, Page, SinkLease, SinkPositionRow, Store, StoreResult};

use crate::core::Core;
use crate::events::{PAGE_BYTES_MAX, start};
use crate::ids::random_bits;
use crate::outbound_hold::Publishes;

/// The positions that are written in one transaction, and the apps that are read at a time.
const BATCH: usize = 500;
/// The length of the lease that is needed to move the positions.
const LEASE_SECONDS: i64 = 15;
/// The rows that are read of the log of one app: responses that were erased may precede the first.
const ROWS: usize = 16;

/// The sinks that the store knows, and the one of this server.
pub(crate) async fn names(
    store: &dyn Store,
    configured: Option<&Publishes>,
) -> StoreResult<Vec<String>> {
    let mut names = store.list_sinks().await?;
    names.extend(configured.map(|it| it.sink.clone()));
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The time of the oldest event that is not published; absent if there is none.
pub(crate) async fn waiting_since(
    store: &dyn Store,
    sink: &str,
    configured: Option<&Publishes>,
    now: Timestamp,
) -> StoreResult<Option<Timestamp>> {
    let mut rows = store.list_sink_positions(sink).await?;
    let missing = unpublished(store, sink, &rows, configured).await?;
    rows.extend(missing);
    // The log of an app whose position is later than an event that was found has no older one.
    rows.sort_unstable_by_key(|row| row.position);
    let mut oldest: Option<Timestamp> = None;
    for row in rows {
        if oldest.is_some_and(|oldest| row.position.made_at() > oldest) {
            break;
        }
        let first = first_after(store, &row, now).await?;
        oldest = [oldest, first].into_iter().flatten().min();
    }
    Ok(oldest)
}

async fn first_after(
    store: &dyn Store,
    row: &SinkPositionRow,
    now: Timestamp,
) -> StoreResult<Option<Timestamp>> {
    let mut after = row.position;
    loop {
        let page = store
            .read_log(&LogQuery {
                app_id: row.app_id,
                flow_id: None,
                responses: true,
                after,
                before: None,
                order: Order::Asc,
                now,
                limit: ROWS,
                bytes_max: PAGE_BYTES_MAX,
            })
            .await?;
        match page.entries.first() {
            Some(entry) => return Ok(Some(entry.position().made_at())),
            None if page.has_more && page.next > after => after = page.next,
            None => return Ok(None),
        }
    }
}

/// The apps of this server's sink without a position, each at the beginning of its log.
async fn unpublished(
    store: &dyn Store,
    sink: &str,
    rows: &[SinkPositionRow],
    configured: Option<&Publishes>,
) -> StoreResult<Vec<SinkPositionRow>> {
    let Some(configured) = configured.filter(|it| it.sink == sink) else { return Ok(Vec::new()) };
    let positions: HashSet<AppId> = rows.iter().map(|row| row.app_id).collect();
    let has_position = |app: AppId| positions.contains(&app);
    let mut missing = Vec::new();
    let mut page = Page { after: None, limit: BATCH };
    loop {
        let apps = store.list_apps(page).await?;
        let Some(last) = apps.last() else { return Ok(missing) };
        page.after = Some(last.row.app_id);
        let apps = apps.iter().map(|app| app.row.app_id);
        let chosen = apps.filter(|app| configured.includes(*app) && !has_position(*app));
        let at_start =
            |app_id| SinkPositionRow { app_id, sink: sink.to_owned(), position: start() };
        missing.extend(chosen.map(at_start));
    }
}

/// Moves the positions of all sinks that are before this one to it. A sink without any position is
/// new: it gets everything. Returns false if another server publishes.
pub(crate) async fn skip_to(core: &Core, position: EventId) -> StoreResult<bool> {
    let (store, configured) = (&*core.store, core.outbound.publishes.as_ref());
    for sink in store.list_sinks().await? {
        let mut rows = store.list_sink_positions(&sink).await?;
        let missing = unpublished(store, &sink, &rows, configured).await?;
        rows.extend(missing);
        rows.retain(|row| row.position < position);
        rows.iter_mut().for_each(|row| row.position = position);
        let worker = random_bits().to_be_bytes();
        let lease = |seconds| {
            let (sink, now) = (sink.clone(), core.now());
            SinkLease { sink, worker, now, until: now.plus_seconds(seconds) }
        };
        if !core.watched(store.lease_sink(lease(LEASE_SECONDS)).await)? {
            return Ok(false);
        }
        for part in rows.chunks(BATCH) {
            let saved = store.save_sink_positions(lease(LEASE_SECONDS), part.to_vec()).await;
            if !core.watched(saved)? {
                return Ok(false);
            }
        }
        // Releases the lease.
        core.watched(store.save_sink_positions(lease(0), Vec::new()).await)?;
    }
    Ok(true)
}
