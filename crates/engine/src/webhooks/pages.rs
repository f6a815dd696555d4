//! Pages of the log that the endpoints of an app share: what one of them reads, the others need
//! too.
//!
//! A page is kept only as long as an endpoint works with it. Endpoints with the same
//! [`LogShape`] read the same rows, and each selects by its own filter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{AppId, EventId, FlowId};
use tokio::time::Instant;

use super::removals::Removals;
use crate::admin::AdminResult;
use crate::core::Core;
use crate::events::{Event, EventPage, read};

/// The most events that are read at a time.
const PAGE: usize = 100;
/// The most bytes of texts that are read at a time.
const PAGE_BYTES: usize = 1024 * 1024;
/// With more apps and shapes than this, those without a page are forgotten.
const SLOTS_MAX: usize = 1_000;

/// Which rows of the log a filter needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LogShape {
    responses: bool,
    flow: Option<FlowId>,
}

impl LogShape {
    pub(super) fn new(filter: &EventFilter) -> Self {
        Self { responses: filter.wants_responses(), flow: filter.single_flow() }
    }

    /// Everything in these rows.
    pub(super) fn filter(self) -> EventFilter {
        use sluice_flow::event::EventType;
        let types = match self.responses {
            true => Vec::new(),
            false => EventType::logged().filter(|it| !it.is_derived()).collect(),
        };
        EventFilter { types, flows: self.flow.into_iter().collect() }
    }
}

/// A page that was read for some endpoint.
#[derive(Debug)]
pub(super) struct SharedPage {
    /// The position that it was read after, and when reading began.
    after: EventId,
    pub(super) read_at: Instant,
    page: EventPage,
}

impl SharedPage {
    /// Whether it is what a reader would find after this position, or the beginning of that.
    fn continues(&self, after: EventId) -> bool {
        let is_within = self.after <= after && after < self.page.next;
        is_within && (self.page.has_more || self.page.events.iter().any(|it| it.position > after))
    }

    /// The events after a position that an endpoint wants.
    pub(super) fn select(&self, filter: &EventFilter, after: EventId) -> Vec<Event> {
        let events = self.page.events.iter().filter(|it| it.position > after);
        events.filter(|it| filter.matches(it.payload.kind, it.flow_id)).cloned().collect()
    }

    pub(super) fn next(&self) -> EventId {
        self.page.next
    }

    pub(super) fn has_more(&self) -> bool {
        self.page.has_more
    }

    pub(super) fn ends_before_unknown(&self) -> bool {
        self.page.ends_before_unknown
    }
}

type Slot = Arc<tokio::sync::Mutex<Weak<SharedPage>>>;

/// The pages that endpoints work with.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<HashMap<(AppId, LogShape), Slot>>);

impl Pages {
    /// A page after a position. Endpoints that ask at the same time share one read. An endpoint
    /// gets no page from before it knew how many replies were removed.
    pub(super) async fn read(
        &self,
        core: &Core,
        app: AppId,
        filter: &EventFilter,
        after: EventId,
        removals: &Removals,
    ) -> AdminResult<Arc<SharedPage>> {
        let shape = LogShape::new(filter);
        let slot = self.slot((app, shape));
        let mut held = slot.lock().await;
        if let Some(page) = held.upgrade()
            && page.continues(after)
            && removals.at(page.read_at).is_some()
        {
            return Ok(page);
        }
        let read_at = Instant::now();
        let page = read(core, app, &shape.filter(), after, (PAGE, PAGE_BYTES)).await?;
        let page = Arc::new(SharedPage { after, read_at, page });
        *held = Arc::downgrade(&page);
        Ok(page)
    }

    fn slot(&self, key: (AppId, LogShape)) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= SLOTS_MAX {
            let is_used = |slot: &Slot| {
                Arc::strong_count(slot) > 1
                    || slot.try_lock().is_ok_and(|page| page.strong_count() > 0)
            };
            slots.retain(|_, slot| is_used(slot));
        }
        Arc::clone(slots.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use sluice_flow::event::EventType;
    use sluice_flow::event::payload::Payload;
    use uuid::Uuid;

    use super::*;

    fn id(bits: u128) -> EventId {
        EventId::from_uuid(Uuid::from_u128(bits))
    }

    fn page(after: u128, positions: &[u128], next: u128, has_more: bool) -> SharedPage {
        let event = |bits: &u128| {
            let data = RawValue::from_string("{}".to_owned()).unwrap();
            let payload = Payload::new(id(*bits), EventType::FlowArchived, data);
            Event { payload, position: id(*bits), flow_id: None }
        };
        let events = positions.iter().map(event).collect();
        let page = EventPage { events, next: id(next), has_more, ends_before_unknown: false };
        SharedPage { after: id(after), read_at: Instant::now(), page }
    }

    #[test]
    fn a_page_is_shared_with_those_that_continue_within_it() {
        for (page, after, expected) in [
            (page(10, &[11, 15], 20, true), 10, true),
            (page(10, &[11, 15], 20, true), 12, true),
            (page(10, &[11, 15], 20, true), 19, true),
            (page(10, &[11, 15], 20, true), 20, false),
            (page(10, &[11, 15], 20, true), 9, false),
            // The end of the log, which may have grown since.
            (page(10, &[11, 15], 20, false), 14, true),
            (page(10, &[11, 15], 20, false), 15, false),
            (page(10, &[], 20, false), 10, false),
        ] {
            assert_eq!(page.continues(id(after)), expected, "{after} of {page:?}");
        }
        let page = page(10, &[11, 15], 20, true);
        let found = page.select(&EventFilter::default(), id(11));
        assert_eq!(found.iter().map(|it| it.position).collect::<Vec<_>>(), [id(15)]);
        let closed = EventFilter { types: vec![EventType::FlowClosed], flows: vec![] };
        assert!(page.select(&closed, id(10)).is_empty());
    }

    #[test]
    fn a_shape_has_everything_that_its_filters_select() {
        let flow = FlowId::from_uuid(Uuid::from_u128(1));
        for types in [vec![], vec![EventType::FlowClosed], vec![EventType::InvitationCompleted]] {
            for flows in [vec![], vec![flow], vec![flow, FlowId::from_uuid(Uuid::from_u128(2))]] {
                let filter = EventFilter { types: types.clone(), flows };
                let shape = LogShape::new(&filter).filter();
                for kind in EventType::logged() {
                    for of in [None, Some(flow)] {
                        let is_missing = filter.matches(kind, of) && !shape.matches(kind, of);
                        assert!(!is_missing, "{filter:?} {kind:?} {of:?}");
                    }
                }
                assert_eq!(LogShape::new(&shape), LogShape::new(&filter));
            }
        }
    }
}
