//! Counts of what visitors did: rows and queries.
//!
//! A row is a number. There is no row for a visit, and nothing that could tell two visits apart.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;

/// How often something happened on one day, in visits to one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitCountRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub day: Day,
    pub flow_version_id: FlowVersionId,
    /// [`sluice_flow::visit::VisitCounter`] as text.
    pub counter: String,
    pub visits: u64,
}

/// The length of an id in a key.
const ID_BYTES: usize = 16;
/// The length of a day in a key.
const DAY_BYTES: usize = 4;

impl VisitCountRow {
    /// The key of the row in its app as bytes, in the order of the rows.
    pub(crate) fn key(&self) -> Vec<u8> {
        // Days before the epoch are negative; the first bit makes them sort first.
        let day = (self.day.number().cast_unsigned() ^ (1 << 31)).to_be_bytes();
        let (flow, version) = (self.flow_id.uuid(), self.flow_version_id.uuid());
        [flow.as_bytes(), &day[..], version.as_bytes(), self.counter.as_bytes()].concat()
    }
}

/// The parts of a [`VisitCountRow::key`]; what a short key lacks is the lowest possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisitCountKey {
    pub(crate) flow: [u8; ID_BYTES],
    pub(crate) day: i64,
    pub(crate) version: [u8; ID_BYTES],
    pub(crate) counter: String,
}

impl VisitCountKey {
    pub(crate) fn read(key: &[u8]) -> Self {
        let mut fixed = [0; ID_BYTES + DAY_BYTES + ID_BYTES];
        let (start, rest) = key.split_at(key.len().min(fixed.len()));
        fixed[..start.len()].copy_from_slice(start);
        let (mut flow, mut day, mut version) = ([0; ID_BYTES], [0; DAY_BYTES], [0; ID_BYTES]);
        flow.copy_from_slice(&fixed[..ID_BYTES]);
        day.copy_from_slice(&fixed[ID_BYTES..ID_BYTES + DAY_BYTES]);
        version.copy_from_slice(&fixed[ID_BYTES + DAY_BYTES..]);
        let day = (u32::from_be_bytes(day) ^ (1 << 31)).cast_signed().into();
        Self { flow, day, version, counter: String::from_utf8_lossy(rest).into_owned() }
    }
}

/// Which counts of a flow to read. Days are UTC, and both ends are included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VisitCountsQuery {
    pub from: Option<Day>,
    pub to: Option<Day>,
}

impl VisitCountsQuery {
    /// The numbers of the first and the last day.
    pub(crate) fn days(&self) -> (i64, i64) {
        let (from, to) = (self.from.map(Day::number), self.to.map(Day::number));
        (from.unwrap_or(i32::MIN).into(), to.unwrap_or(i32::MAX).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_flow_day_version_and_counter_and_are_read_back() {
        let id = |number: u128| uuid::Uuid::from_u128(number);
        let row = |flow, day, version, counter: &str| VisitCountRow {
            app_id: AppId::from_uuid(id(1)),
            flow_id: FlowId::from_uuid(id(flow)),
            day: Day::from_number(day),
            flow_version_id: FlowVersionId::from_uuid(id(version)),
            counter: counter.to_owned(),
            visits: 1,
        };
        let rows = [
            row(1, -2, 9, "z"),
            row(1, -1, 8, "a"),
            row(1, 0, 8, "a"),
            row(1, 20_000, 7, "seen:a"),
            row(1, 20_000, 7, "seen:b"),
            row(1, 20_000, 8, "a"),
            row(2, -9, 0, "a"),
        ];
        assert!(rows.is_sorted_by(|one, two| one.key() < two.key()));
        for row in rows {
            let key = VisitCountKey::read(&row.key());
            assert_eq!(
                (key.flow, key.version),
                (row.flow_id.uuid().into_bytes(), row.flow_version_id.uuid().into_bytes())
            );
            assert_eq!((key.day, key.counter), (row.day.number().into(), row.counter));
        }
        assert_eq!(VisitCountKey::read(b"").day, i64::from(i32::MIN));
    }
}
