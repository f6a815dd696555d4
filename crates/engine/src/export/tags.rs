//! The names of a flow's tags, collected from its responses.
//!
//! Every response is scanned once. The position is remembered, so a later export scans only newer
//! responses. A name keeps its column even if no response has it any more.
//!
//! If there are more names than columns, the first in alphabetical order have one, so the choice
//! depends only on the responses and not on earlier exports.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use sluice_flow::id::{AppId, FlowId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{ResponseQuery, Store};

use crate::admin::AdminResult;

/// Columns for tags; further tags share one column.
const TAG_COLUMNS_MAX: usize = 200;
/// Flows whose tag names are remembered.
const FLOWS_MAX: usize = 256;
/// A response may become visible this long after one with a later id.
const SETTLES_SECONDS: i64 = 60;

#[derive(Debug, Default)]
pub(super) struct TagNames(Mutex<HashMap<FlowId, FlowTagNames>>);

#[derive(Debug, Clone, Default)]
struct FlowTagNames {
    /// The first names in order, at most as many as there are columns.
    names: BTreeSet<String>,
    /// All responses up to this one were scanned.
    up_to: Option<ResponseId>,
}

impl TagNames {
    /// The names in order. Scans the responses that were not scanned before.
    pub(super) async fn for_flow(
        &self,
        store: &dyn Store,
        app_id: AppId,
        flow_id: FlowId,
        now: Timestamp,
    ) -> AdminResult<Vec<String>> {
        let mut known = self.lock().get(&flow_id).cloned().unwrap_or_default();
        let settled = ResponseId::from_uuid(v7(now.plus_seconds(-SETTLES_SECONDS), 0, 0));
        // Only counts, so no row of the page is returned.
        let mut query = ResponseQuery::new(app_id, flow_id, 1);
        query.after = known.up_to;
        loop {
            let part = store.count_responses(&query).await?;
            known.add(part.tag_names);
            query.after = part.next;
            known.up_to = part.next.filter(|next| *next < settled).or(known.up_to);
            if part.next.is_none() {
                break;
            }
        }
        let names = known.names.iter().cloned().collect();
        known.up_to = Some(settled);
        let mut all = self.lock();
        if all.len() >= FLOWS_MAX && !all.contains_key(&flow_id) {
            all.clear();
        }
        all.insert(flow_id, known);
        Ok(names)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<FlowId, FlowTagNames>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FlowTagNames {
    fn add(&mut self, names: BTreeSet<String>) {
        self.names.extend(names.into_iter().take(TAG_COLUMNS_MAX));
        while self.names.len() > TAG_COLUMNS_MAX {
            self.names.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names((from, to): (usize, usize)) -> BTreeSet<String> {
        (from..to).map(|number| format!("tag{number:04}")).collect()
    }

    #[test]
    fn tag_columns_do_not_depend_on_the_order_of_scanning() {
        let first = names((0, TAG_COLUMNS_MAX));
        for parts in [
            &[(0, 500)][..],
            &[(0, 100), (100, 500)],
            &[(300, 500), (0, 300)],
            &[(250, 500), (150, 250), (50, 150), (0, 50)],
        ] {
            let mut known = FlowTagNames::default();
            for part in parts {
                known.add(names(*part));
            }
            assert_eq!(known.names, first, "{parts:?}");
        }
    }
}
