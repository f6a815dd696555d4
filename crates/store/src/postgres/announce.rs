//! Announces responses again that are stored behind the horizon of the log: see [`super::events`].

use std::sync::LazyLock;

use sluice_flow::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::by_app::{AppColumn, ByApp, groups};
use crate::event::{EventIds, before};
use crate::{EventRow, LATE, NewResponse};

/// How long before its transaction has the lock an id may be assigned.
pub(super) const SETTLES_MILLIS: i64 = 2_000;
/// Responses with ids up to this one are late, if their transaction has the lock at this time.
pub(super) fn late_at(now: Timestamp) -> u128 {
    before(Timestamp::from_millis(now.as_millis().saturating_sub(SETTLES_MILLIS).max(0)))
}

/// Announces responses again.
pub(super) static ANNOUNCE: LazyLock<ByApp> = LazyLock::new(|| {
    let columns = [("event_id", "uuid"), ("flow_id", "uuid"), ("kind", "text"), ("body", "text")];
    ByApp::insert("events", &columns, "")
});

/// The columns of [`ANNOUNCE`].
pub(super) struct Announced {
    pub(super) apps: AppColumn,
    ids: Vec<Uuid>,
    flows: Vec<Uuid>,
    kinds: Vec<&'static str>,
    bodies: Vec<String>,
}

impl Announced {
    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 5] {
        [self.apps.param(), &self.ids, &self.flows, &self.kinds, &self.bodies]
    }
}

/// The rows among these that are late, by app if the database is distributed.
pub(super) fn announced<'r>(
    is_spread: bool,
    rows: impl Iterator<Item = &'r NewResponse>,
    now: Timestamp,
) -> Vec<Announced> {
    let late = late_at(now);
    let rows = rows.filter(|it| it.row.response_id.uuid().as_u128() <= late);
    let mut ids = EventIds::new(now);
    let of_group = |rows: Vec<&NewResponse>| {
        let apps = AppColumn::new(is_spread, rows.iter().map(|it| it.row.app_id));
        let events: Vec<EventRow> = rows
            .iter()
            .map(|it| EventRow::late(&it.row, ids.next(it.row.response_id.uuid())))
            .collect();
        Announced {
            apps,
            ids: events.iter().map(|row| row.event_id.uuid()).collect(),
            flows: rows.iter().map(|it| it.row.flow_id.uuid()).collect(),
            kinds: vec![LATE; events.len()],
            bodies: events.into_iter().map(|row| row.body).collect(),
        }
    };
    groups(is_spread, rows, |it| it.row.app_id).into_iter().map(of_group).collect()
}
