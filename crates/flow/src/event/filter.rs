//! Which events a reader or an endpoint wants.

use crate::id::FlowId;

use super::EventType;

/// Selects events by type and flow; empty lists select everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub types: Vec<EventType>,
    /// An event that belongs to no flow does not match a filter by flow.
    pub flows: Vec<FlowId>,
}

impl EventFilter {
    pub fn matches(&self, event: EventType, flow: Option<FlowId>) -> bool {
        let of_flow = match flow {
            Some(flow) => self.flows.is_empty() || self.flows.contains(&flow),
            None => self.flows.is_empty(),
        };
        of_flow && self.wants(event)
    }

    /// Whether events of this type can match.
    pub fn wants(&self, event: EventType) -> bool {
        self.types.is_empty() || self.types.contains(&event)
    }

    /// Whether responses have to be read.
    pub fn wants_responses(&self) -> bool {
        EventType::ALL.iter().any(|it| it.is_derived() && self.wants(*it))
    }

    /// The flow, if the filter selects exactly one.
    pub fn single_flow(&self) -> Option<FlowId> {
        match self.flows.as_slice() {
            [flow] => Some(*flow),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_filter_selects_by_type_and_flow() {
        let flow = |number| FlowId::from_uuid(Uuid::from_u128(number));
        use EventType::{FlowClosed, RespondentErased, ResponseCreated};
        let any = EventFilter::default();
        let responses = EventFilter { types: vec![ResponseCreated], flows: vec![] };
        let of_one = EventFilter { types: vec![], flows: vec![flow(1)] };
        for (filter, event, of, expected) in [
            (&any, ResponseCreated, Some(flow(1)), true),
            (&any, RespondentErased, None, true),
            (&responses, ResponseCreated, Some(flow(2)), true),
            (&responses, FlowClosed, Some(flow(2)), false),
            (&of_one, FlowClosed, Some(flow(1)), true),
            (&of_one, FlowClosed, Some(flow(2)), false),
            (&of_one, RespondentErased, None, false),
        ] {
            assert_eq!(filter.matches(event, of), expected, "{filter:?} {event:?} {of:?}");
        }
        assert!(any.wants_responses() && of_one.wants_responses());
        let closed = EventFilter { types: vec![FlowClosed], flows: vec![] };
        assert!(!closed.wants_responses());
        assert_eq!((of_one.single_flow(), any.single_flow()), (Some(flow(1)), None));
    }
}
