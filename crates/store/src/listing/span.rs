//! A range of ids, which is a range of times.

use sluice_flow::id::v7;
use sluice_flow::time::Timestamp;

use super::ResponseQuery;
use crate::Order;

/// Ids from the first to the last, both inclusive. Never reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: u128,
    pub(crate) last: u128,
}

impl Span {
    /// The span that the query's times and cursor allow, if any.
    pub(crate) fn for_query(query: &ResponseQuery) -> Option<Self> {
        // The first id of a millisecond sorts before every id that was made in it.
        let opens = |time: Timestamp| v7(time, 0, 0).as_u128() >> 80 << 80;
        let first = query.from.map_or(0, opens);
        let last = match query.to {
            Some(to) => opens(to).checked_sub(1)?,
            None => u128::MAX,
        };
        let span = (first <= last).then_some(Self { first, last })?;
        match query.after {
            Some(id) => span.beyond(id.uuid().as_u128(), query.order),
            None => Some(span),
        }
    }

    /// The part of the span after `id` in this order; `id` may lie outside of it.
    pub(crate) fn beyond(self, id: u128, order: Order) -> Option<Self> {
        let span = match order {
            Order::Asc => Self { first: self.first.max(id.checked_add(1)?), ..self },
            Order::Desc => Self { last: self.last.min(id.checked_sub(1)?), ..self },
        };
        (span.first <= span.last).then_some(span)
    }

    /// The smallest span that contains both.
    pub(crate) fn joined_with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// The part of the span up to and including `id`, which is in it.
    pub(crate) fn up_to(self, id: u128, order: Order) -> Self {
        match order {
            Order::Asc => Self { last: id, ..self },
            Order::Desc => Self { first: id, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::ResponseId;

    use super::super::row_filter::tests::query_of_all;
    use super::*;

    #[test]
    fn a_time_range_is_an_id_range() {
        let start = |millis: u128| millis << 80;
        let of = |millis: i64| v7(Timestamp::from_millis(millis), 0, 0).as_u128();
        let time = |millis: Option<i64>| millis.map(Timestamp::from_millis);
        for (from, to, after, order, expected) in [
            (None, None, None, Order::Asc, Some((0, u128::MAX))),
            (Some(5), Some(9), None, Order::Asc, Some((start(5), start(9) - 1))),
            (Some(5), Some(9), Some(7), Order::Asc, Some((of(7) + 1, start(9) - 1))),
            (Some(5), Some(9), Some(7), Order::Desc, Some((start(5), of(7) - 1))),
            (Some(5), Some(9), Some(3), Order::Asc, Some((start(5), start(9) - 1))),
            (Some(5), Some(9), Some(9), Order::Asc, None),
            (Some(9), Some(9), None, Order::Asc, None),
            (None, Some(0), None, Order::Asc, None),
        ] {
            let after = time(after).map(|at| ResponseId::from_uuid(v7(at, 0, 0)));
            let query =
                ResponseQuery { from: time(from), to: time(to), after, order, ..query_of_all() };
            let bits = Span::for_query(&query).map(|span| (span.first, span.last));
            assert_eq!(bits, expected, "[{from:?}, {to:?}) after {after:?} {order:?}");
        }
    }
}
