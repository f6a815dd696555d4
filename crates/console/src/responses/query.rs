//! Selects the responses to show, and how: the filters, the columns, the order and the position in
//! the list. All of it is in the address.

use std::fmt;

use sluice_engine::response_columns::{self, FixedColumn, ResponseColumn};
use sluice_engine::response_table::SortBy;
use sluice_engine::rows::Order;
use sluice_engine::{QuestionHistory, ResponseFilter};
use sluice_flow::definition::Fault;
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::response_order::Direction;
use sluice_flow::submission::Admission;
use sluice_flow::time::{DAY_SECONDS, Day, Timestamp};

use crate::addresses::query;
use crate::answer_filters;
use crate::request::Fields;

/// The most columns of a table, besides the first.
pub(super) const COLUMNS_MAX: usize = 50;
pub(super) const RECEIVED: ResponseColumn = ResponseColumn::Fixed(FixedColumn::ReceivedAt);

/// Where the shown page starts in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ListPosition {
    #[default]
    First,
    /// After this response, in the order of the list.
    After(ResponseId),
    Before(ResponseId),
    /// A page of a list that is sorted by a column; the second is 2.
    Page(usize),
}

/// The height of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Density {
    #[default]
    Comfortable,
    Compact,
}

impl Density {
    pub(super) const ALL: &[Self] = &[Self::Comfortable, Self::Compact];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Comfortable => "comfortable",
            Self::Compact => "compact",
        }
    }
}

/// How the list is ordered: as stored, or by a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListOrder<'q> {
    ByTime(Order),
    ByColumn(&'q SortBy),
}

/// An end of a period: a day in UTC, or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeBound {
    Day(Day),
    Instant(Timestamp),
}

impl TimeBound {
    fn parse(text: &str) -> Option<Self> {
        let day = text.parse().ok().map(Self::Day);
        day.or_else(|| text.parse().ok().map(Self::Instant))
    }

    fn start(self) -> Timestamp {
        match self {
            Self::Day(day) => {
                Timestamp::from_millis(0).plus_seconds(i64::from(day.number()) * DAY_SECONDS)
            }
            Self::Instant(at) => at,
        }
    }

    /// A day is included until its end.
    fn end(self) -> Timestamp {
        match self {
            Self::Day(_) => self.start().plus_seconds(DAY_SECONDS),
            Self::Instant(at) => at,
        }
    }
}

impl fmt::Display for TimeBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => day.fmt(f),
            Self::Instant(at) => at.fmt(f),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ResponsesQuery {
    pub(super) version: Option<FlowVersionId>,
    pub(super) from: Option<TimeBound>,
    pub(super) to: Option<TimeBound>,
    pub(super) admission: Option<Admission>,
    pub(super) tags: Vec<(String, String)>,
    pub(super) answers: Vec<(String, String)>,
    pub(super) search: Option<String>,
    /// The columns after the first; `None` is the default.
    pub(super) columns: Option<Vec<ResponseColumn>>,
    /// `None` is newest first.
    pub(super) sort: Option<SortBy>,
    pub(super) density: Density,
    pub(super) position: ListPosition,
}

impl ResponsesQuery {
    /// Reads the parameters of an address. Invalid parameters are ignored.
    pub(super) fn from_fields(fields: &Fields) -> Self {
        let id = |name: &str| fields.get(name).and_then(|text| text.parse::<ResponseId>().ok());
        let page = fields.get("page").and_then(|page| page.parse().ok()).filter(|page| *page > 1);
        let position = match (id("after"), id("before"), page) {
            (Some(id), ..) => ListPosition::After(id),
            (None, Some(id), _) => ListPosition::Before(id),
            (None, None, Some(page)) => ListPosition::Page(page),
            (None, None, None) => ListPosition::First,
        };
        // As typed: the name of a tag may end with a space.
        let columns = Some(fields.raw("columns")).filter(|list| !list.is_empty()).map(|list| {
            let names = response_columns::split(list);
            columns_of(names.iter().filter_map(|name| ResponseColumn::named(name)))
        });
        let tags = fields.0.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("tag.").filter(|name| !name.is_empty())?;
            Some((name.to_owned(), value.clone()))
        });
        let mut tags: Vec<_> = tags.collect();
        tags.dedup();
        Self {
            version: fields.get("version").and_then(|text| text.parse().ok()),
            from: fields.get("from").and_then(TimeBound::parse),
            to: fields.get("to").and_then(TimeBound::parse),
            admission: fields.get("admission").and_then(Admission::named),
            tags,
            answers: answer_filters::from_fields(fields),
            search: fields.get("search").map(str::to_owned),
            columns: columns.filter(|columns| !columns.is_empty()),
            sort: sort_of(fields.raw("sort")),
            density: match fields.get("density") {
                Some("compact") => Density::Compact,
                _ => Density::Comfortable,
            },
            position,
        }
    }

    /// Without filters by an answer that cannot be applied, and without columns of unknown
    /// questions.
    pub(super) fn known(self, history: &QuestionHistory) -> Self {
        let is_known = |column: &ResponseColumn| match column {
            ResponseColumn::Answer(id) => history.questions.iter().any(|it| it.id == *id),
            _ => true,
        };
        let columns = self.columns.map(|all| all.into_iter().filter(is_known).collect::<Vec<_>>());
        Self {
            answers: answer_filters::known(history, &self.answers),
            columns: columns.filter(|columns| !columns.is_empty()),
            sort: self.sort.filter(|sort| is_known(&sort.column)),
            ..self
        }
    }

    pub(super) fn order(&self) -> ListOrder<'_> {
        match &self.sort {
            None => ListOrder::ByTime(Order::Desc),
            Some(sort) if sort.column == RECEIVED => ListOrder::ByTime(Order::Asc),
            Some(sort) => ListOrder::ByColumn(sort),
        }
    }

    /// The query with the filters that the form adds; none if the form was not sent.
    pub(super) fn with_added(
        &self,
        fields: &Fields,
        history: &QuestionHistory,
    ) -> Result<Option<Self>, Fault> {
        if !fields.has("apply") {
            return Ok(None);
        }
        let mut query = self.with_position(ListPosition::First);
        answer_filters::add(&mut query.answers, fields, history)?;
        if let (Some(name), Some(value)) = (fields.get("tag_name"), fields.get("tag_value")) {
            query.tags.push((name.to_owned(), value.to_owned()));
        }
        Ok(Some(query))
    }

    pub(super) fn filter(&self) -> ResponseFilter {
        ResponseFilter {
            version: self.version,
            from: self.from.map(TimeBound::start),
            to: self.to.map(TimeBound::end),
            admission: self.admission,
            tags: self.tags.clone(),
            answers: self.answers.clone(),
            search: self.search.clone(),
        }
    }

    pub(super) fn is_filtered(&self) -> bool {
        !self.filter_pairs().is_empty()
    }

    /// The same columns and order of all responses.
    pub(super) fn unfiltered(&self) -> Self {
        Self {
            columns: self.columns.clone(),
            sort: self.sort.clone(),
            density: self.density,
            ..Self::default()
        }
    }

    pub(super) fn with_position(&self, position: ListPosition) -> Self {
        Self { position, ..self.clone() }
    }

    /// The filters, columns and order as query parameters.
    pub(super) fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs = self.filter_pairs();
        let mut add = |name: &str, value: String| pairs.push((name.to_owned(), value));
        if let Some(columns) = &self.columns {
            add("columns", response_columns::joined(columns));
        }
        if let Some(sort) = &self.sort {
            add("sort", sort_name(sort));
        }
        if self.density != Density::default() {
            add("density", self.density.as_str().to_owned());
        }
        pairs
    }

    /// The filters as query parameters.
    pub(super) fn filter_pairs(&self) -> Vec<(String, String)> {
        let one = |name: &str, value: Option<String>| value.map(|value| (name.to_owned(), value));
        let named = |kind: &'static str, all: &[(String, String)]| {
            let all = all.to_vec();
            all.into_iter().map(move |(name, value)| (format!("{kind}.{name}"), value))
        };
        one("version", self.version.map(|id| id.to_string()))
            .into_iter()
            .chain(one("from", self.from.map(|when| when.to_string())))
            .chain(one("to", self.to.map(|when| when.to_string())))
            .chain(one("admission", self.admission.map(|it| it.as_str().to_owned())))
            .chain(named("tag", &self.tags))
            .chain(named("answer", &self.answers))
            .chain(one("search", self.search.clone()))
            .collect()
    }

    /// The path of the list. Without a query, it leads to the visitor's default view.
    pub(super) fn path(flow: FlowId) -> String {
        format!("/console/flows/{flow}/responses")
    }

    /// The address of the list, never without a query.
    pub(super) fn address(&self, flow: FlowId) -> String {
        let path = Self::path(flow);
        match self.address_of(&path) {
            bare if bare == path => format!("{path}?sort={NEWEST_FIRST}"),
            address => address,
        }
    }

    /// The same query at another path.
    pub(super) fn address_of(&self, path: &str) -> String {
        match self.encoded() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// The query of an address.
    pub(super) fn encoded(&self) -> String {
        let position = match self.position {
            ListPosition::First => None,
            ListPosition::After(id) => Some(("after".to_owned(), id.to_string())),
            ListPosition::Before(id) => Some(("before".to_owned(), id.to_string())),
            ListPosition::Page(page) => Some(("page".to_owned(), page.to_string())),
        };
        let pairs: Vec<_> = self.pairs().into_iter().chain(position).collect();
        query(&pairs)
    }
}

/// What stands for the default order in an address that would otherwise be empty.
const NEWEST_FIRST: &str = "-receivedAt";

/// The order with this name: that of a column, with a minus in front if it descends.
pub(super) fn sort_of(name: &str) -> Option<SortBy> {
    let (name, direction) = match name.strip_prefix('-') {
        Some(name) => (name, Direction::Descending),
        None => (name, Direction::Ascending),
    };
    let column = ResponseColumn::named(name)?;
    let is_known =
        column.is_sortable() || (column == RECEIVED && direction == Direction::Ascending);
    is_known.then_some(SortBy { column, direction })
}

pub(super) fn sort_name(sort: &SortBy) -> String {
    let minus = if sort.direction == Direction::Descending { "-" } else { "" };
    format!("{minus}{}", sort.column.name())
}

/// Columns after the first, each once.
pub(super) fn columns_of(all: impl Iterator<Item = ResponseColumn>) -> Vec<ResponseColumn> {
    let mut columns: Vec<ResponseColumn> = Vec::new();
    for column in all {
        if column != RECEIVED && !columns.contains(&column) && columns.len() < COLUMNS_MAX {
            columns.push(column);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_a_round_trip_through_its_address() {
        for text in [
            "",
            "admission=admitted",
            "from=2026-11-01&to=2026-11-15",
            "from=2026-11-01T10:00:00.000Z",
            "tag.plan=pro&tag.a%20b=c%26d&answer.nps=9&answer.use=other&search=a%20b",
            "answer.nps%5Blt%5D=7&answer.why%5Banswered%5D=true",
            "search=x&after=rs_034y6XKcVpyT0TgS6fWhZt",
            "before=rs_034y6XKcVpyT0TgS6fWhZt",
            "columns=version,answer.nps,tag.a%20b,tag.c%5C,d&sort=-answer.nps&page=3",
            "search=x&sort=receivedAt&density=compact",
        ] {
            let query = ResponsesQuery::from_fields(&Fields::parse(text));
            let address = query.address_of("/x");
            assert_eq!(address.strip_prefix("/x?").unwrap_or_default(), text);
        }
        let wrong = ResponsesQuery::from_fields(&Fields::parse(
            "from=x&admission=y&after=z&version=w&tag.=v&columns=x,y&sort=tags&density=z&page=1",
        ));
        assert_eq!(wrong, ResponsesQuery::default());
        let newest = ResponsesQuery::from_fields(&Fields::parse("sort=-receivedAt"));
        assert_eq!(newest, ResponsesQuery::default());
    }

    #[test]
    fn an_address_of_the_list_is_never_without_a_query() {
        let flow = FlowId::from_uuid(sluice_flow::id::v7(Timestamp::from_millis(0), 0, 0));
        let address = ResponsesQuery::default().address(flow);
        assert!(address.ends_with("/responses?sort=-receivedAt"), "{address}");
    }

    #[test]
    fn a_column_is_shown_once_and_the_first_is_not_among_the_others() {
        let query = ResponsesQuery::from_fields(&Fields::parse(
            "columns=version,receivedAt,tag.x,version,nonsense",
        ));
        assert_eq!(query.encoded(), "columns=version,tag.x");
    }

    #[test]
    fn the_last_day_is_included() {
        let query = ResponsesQuery::from_fields(&Fields::parse("from=1970-01-02&to=1970-01-02"));
        let filter = query.filter();
        assert_eq!(filter.from, Some(Timestamp::from_millis(86_400_000)));
        assert_eq!(filter.to, Some(Timestamp::from_millis(2 * 86_400_000)));
    }
}
