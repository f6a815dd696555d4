//! Selects the responses to show: the filters and the position in the list. All of it is in the
//! address.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sluice_engine::{QuestionHistory, ResponseFilter};
use sluice_flow::definition::Fault;
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_flow::time::{Day, Timestamp};

use crate::answer_filters;
use crate::request::Fields;

/// Characters that are not escaped in an address.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b'/');
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Where the shown page starts in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ListPosition {
    #[default]
    Newest,
    OlderThan(ResponseId),
    NewerThan(ResponseId),
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
    pub(super) position: ListPosition,
}

impl ResponsesQuery {
    /// Reads the parameters of an address. Invalid parameters are ignored.
    pub(super) fn from_fields(fields: &Fields) -> Self {
        let id = |name: &str| fields.get(name).and_then(|text| text.parse::<ResponseId>().ok());
        let position = match (id("after"), id("before")) {
            (Some(id), _) => ListPosition::OlderThan(id),
            (None, Some(id)) => ListPosition::NewerThan(id),
            (None, None) => ListPosition::Newest,
        };
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
            position,
        }
    }

    /// Without filters by an answer that cannot be applied.
    pub(super) fn known(self, history: &QuestionHistory) -> Self {
        Self { answers: answer_filters::known(history, &self.answers), ..self }
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
        let mut query = self.with_position(ListPosition::Newest);
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
        self.with_position(ListPosition::Newest) != Self::default()
    }

    pub(super) fn with_position(&self, position: ListPosition) -> Self {
        Self { position, ..self.clone() }
    }

    /// The filters as query parameters.
    pub(super) fn pairs(&self) -> Vec<(String, String)> {
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

    pub(super) fn address(&self, flow: FlowId) -> String {
        self.address_of(&format!("/console/flows/{flow}/responses"))
    }

    /// The same query at another path.
    pub(super) fn address_of(&self, path: &str) -> String {
        let position = match self.position {
            ListPosition::Newest => None,
            ListPosition::OlderThan(id) => Some(("after".to_owned(), id.to_string())),
            ListPosition::NewerThan(id) => Some(("before".to_owned(), id.to_string())),
        };
        let encoded = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
        let pairs = self.pairs().into_iter().chain(position);
        let pairs: Vec<String> =
            pairs.map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value))).collect();
        match pairs.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", pairs.join("&")),
        }
    }
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
        ] {
            let query = ResponsesQuery::from_fields(&Fields::parse(text));
            let address = query.address_of("/x");
            assert_eq!(address.strip_prefix("/x?").unwrap_or_default(), text);
        }
        let wrong = ResponsesQuery::from_fields(&Fields::parse(
            "from=x&admission=y&after=z&version=w&tag.=v",
        ));
        assert_eq!(wrong, ResponsesQuery::default());
    }

    #[test]
    fn the_last_day_is_included() {
        let query = ResponsesQuery::from_fields(&Fields::parse("from=1970-01-02&to=1970-01-02"));
        let filter = query.filter();
        assert_eq!(filter.from, Some(Timestamp::from_millis(86_400_000)));
        assert_eq!(filter.to, Some(Timestamp::from_millis(2 * 86_400_000)));
    }
}
