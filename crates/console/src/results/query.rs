//! Selects the results to show: the period, the version, the tag, the answers, and the comparison.
//! All of it is in the address, so that a query can be shared.

use std::fmt;

use sluice_engine::{QuestionHistory, SummaryFilter};
use sluice_flow::definition::Fault;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::submission::Admission;
use sluice_flow::time::Day;

use crate::addresses::query;
use crate::answer_filters::{self, NamedValue};
use crate::chart::Date;
use crate::request::Fields;

/// The periods to choose from, in days.
pub(super) const PERIODS: [i32; 3] = [7, 30, 90];

/// The selected days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Period {
    #[default]
    All,
    /// This many days, including today.
    Last(i32),
    /// From one day to another; either end may be open.
    Between(Option<Day>, Option<Day>),
}

/// What the answers are compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Compare {
    Version,
    /// With the same number of days before.
    Period,
    /// By the values of a tag.
    Tag(String),
}

/// The selected results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ResultsQuery {
    pub(super) period: Period,
    pub(super) version: Option<FlowVersionId>,
    pub(super) tag: Option<(String, String)>,
    pub(super) admission: Option<Admission>,
    pub(super) answers: Vec<NamedValue>,
    pub(super) compare: Option<Compare>,
}

impl ResultsQuery {
    /// Reads the parameters of an address. Invalid parameters are ignored.
    pub(super) fn from_fields(fields: &Fields) -> Self {
        let day = |name: &str| fields.get(name).and_then(|text| text.parse::<Day>().ok());
        let last = fields.get("period").and_then(|text| text.strip_suffix('d')?.parse().ok());
        let period = match (last.filter(|days| PERIODS.contains(days)), day("from"), day("to")) {
            (Some(days), ..) => Period::Last(days),
            (None, None, None) => Period::All,
            (None, from, to) => Period::Between(from, to),
        };
        let named = |(name, value): &(String, String)| {
            let name = name.strip_prefix("tag.").filter(|name| !name.is_empty())?;
            Some((name.to_owned(), value.clone()))
        };
        // A form cannot name a field after its selected value, so one field holds name and value.
        let chosen = || fields.get("tag").and_then(|pair| Fields::parse(pair).0.into_iter().next());
        let compare = match fields.get("compare") {
            Some("version") => Some(Compare::Version),
            Some("period") => Some(Compare::Period),
            Some(other) => other.strip_prefix("tag.").map(|name| Compare::Tag(name.to_owned())),
            None => None,
        };
        Self {
            period,
            version: fields.get("version").and_then(|text| text.parse().ok()),
            tag: fields
                .0
                .iter()
                .find_map(named)
                .or_else(chosen)
                .filter(|(name, _)| !name.is_empty()),
            admission: fields.get("admission").and_then(Admission::named),
            answers: answer_filters::from_fields(fields),
            compare,
        }
    }

    /// The query with the filter that the form adds; none if the form was not sent.
    pub(super) fn with_added(
        &self,
        fields: &Fields,
        history: &QuestionHistory,
    ) -> Result<Option<Self>, Fault> {
        if !fields.has("apply") {
            return Ok(None);
        }
        let mut query = self.clone();
        answer_filters::add(&mut query.answers, fields, history)?;
        Ok(Some(query))
    }

    /// Without filters by an answer that cannot be applied.
    pub(super) fn known(self, history: &QuestionHistory) -> Self {
        Self { answers: answer_filters::known(history, &self.answers), ..self }
    }

    /// The filter of the engine, on this day.
    pub(super) fn filter(&self, today: Day) -> SummaryFilter {
        let (from, to) = self.period.days(today);
        SummaryFilter {
            from,
            to,
            versions: self.version.into_iter().collect(),
            tags: self.tag.iter().cloned().collect(),
            admission: self.admission,
            answers: self.answers.clone(),
        }
    }

    /// The tag whose values are compared.
    pub(super) fn compared_tag(&self) -> Option<&str> {
        match &self.compare {
            Some(Compare::Tag(name)) => Some(name),
            _ => None,
        }
    }

    /// The same period, without any filter or comparison.
    pub(super) fn unfiltered(&self) -> Self {
        Self { period: self.period, ..Self::default() }
    }

    pub(super) fn without_answer(&self, at: usize) -> Self {
        let mut query = self.clone();
        query.answers.remove(at);
        query
    }

    /// Whether nothing is filtered.
    pub(super) fn is_everything(&self) -> bool {
        Self { compare: None, ..self.clone() } == Self::default()
    }

    /// The address of the page of this query.
    pub(super) fn address(&self, flow: FlowId) -> String {
        format!("/console/flows/{flow}/results{}", self.query_string())
    }

    /// The address of the page that shares a report of this query.
    pub(super) fn reports_address(&self, flow: FlowId) -> String {
        format!("{}{}", page_path(flow, "reports"), self.query_string())
    }

    /// The address of one of its charts, as a file.
    pub(super) fn chart_address(&self, flow: FlowId, chart: &str) -> String {
        format!("/console/flows/{flow}/results/chart/{chart}.svg{}", self.query_string())
    }

    /// The address of the responses of this query, or of those that contain this word.
    pub(super) fn responses_address(&self, flow: FlowId, today: Day, word: Option<&str>) -> String {
        let mut pairs: Vec<_> =
            word.map(|it| ("search".to_owned(), it.to_owned())).into_iter().collect();
        let (from, to) = self.period.days(today);
        pairs.extend(from.map(|day| ("from".to_owned(), day.to_string())));
        // The last day is included there, too.
        pairs.extend(to.map(|day| ("to".to_owned(), day.to_string())));
        pairs.extend(self.version.map(|version| ("version".to_owned(), version.to_string())));
        pairs.extend(self.tag.iter().map(|(name, value)| (format!("tag.{name}"), value.clone())));
        pairs.extend(self.kept_pairs());
        format!("/console/flows/{flow}/responses{}", with_question_mark(&pairs))
    }

    /// The address of another page about the results of this query, with its own parameters first.
    pub(super) fn page_address(&self, flow: FlowId, page: &str, own: &[(&str, &str)]) -> String {
        let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let plain = Self { compare: None, ..self.clone() };
        let pairs: Vec<_> = own.chain(plain.pairs()).collect();
        format!("{}{}", page_path(flow, page), with_question_mark(&pairs))
    }

    /// The parameters of the filters that the form of versions, tags and comparisons keeps.
    pub(super) fn kept_pairs(&self) -> Vec<(String, String)> {
        let admission = self.admission.map(|it| ("admission".to_owned(), it.as_str().to_owned()));
        let answers = self.answers.iter();
        let answers = answers.map(|(name, value)| (format!("answer.{name}"), value.clone()));
        admission.into_iter().chain(answers).collect()
    }

    /// The parameters, after a question mark if there are any.
    fn query_string(&self) -> String {
        with_question_mark(&self.pairs())
    }

    /// Name and value of each parameter.
    pub(super) fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs = self.period.pairs();
        pairs.extend(self.version.map(|version| ("version".to_owned(), version.to_string())));
        pairs.extend(self.tag.iter().map(|(name, value)| (format!("tag.{name}"), value.clone())));
        pairs.extend(self.kept_pairs());
        pairs.extend(
            self.compare.as_ref().map(|compare| ("compare".to_owned(), compare.to_string())),
        );
        pairs
    }

    pub(super) fn with_period(&self, period: Period) -> Self {
        Self { period, ..self.clone() }
    }
}

impl Period {
    /// The first and last day; none if open.
    pub(super) fn days(self, today: Day) -> (Option<Day>, Option<Day>) {
        match self {
            Self::All => (None, None),
            Self::Last(days) => (Some(today.plus(1 - days)), Some(today)),
            Self::Between(from, to) => (from, to),
        }
    }

    pub(super) fn pairs(self) -> Vec<(String, String)> {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        match self {
            Self::All => Vec::new(),
            Self::Last(days) => vec![pair("period", format!("{days}d"))],
            Self::Between(from, to) => {
                let from = from.map(|day| pair("from", day.to_string()));
                from.into_iter().chain(to.map(|day| pair("to", day.to_string()))).collect()
            }
        }
    }

    /// The period in words.
    pub(super) fn label(self) -> String {
        match self {
            Self::All => "All time".to_owned(),
            Self::Last(days) => format!("Last {days} days"),
            Self::Between(Some(from), Some(to)) if from == to => date_label(from),
            Self::Between(Some(from), Some(to)) => {
                format!("{} to {}", date_label(from), date_label(to))
            }
            Self::Between(Some(from), None) => format!("From {}", date_label(from)),
            Self::Between(None, Some(to)) => format!("Until {}", date_label(to)),
            Self::Between(None, None) => "All time".to_owned(),
        }
    }
}

impl Compare {
    /// The comparison in words.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Version => "Compared by version".to_owned(),
            Self::Period => "Compared with the previous period".to_owned(),
            Self::Tag(name) => format!("Compared by {name}"),
        }
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => f.write_str("version"),
            Self::Period => f.write_str("period"),
            Self::Tag(name) => write!(f, "tag.{name}"),
        }
    }
}

/// The path of another page about results, for a form that sends the parameters.
pub(super) fn page_path(flow: FlowId, page: &str) -> String {
    format!("/console/flows/{flow}/results/{page}")
}

/// A day as text: 15 Nov 2026.
pub(super) fn date_label(day: Day) -> String {
    Date::from_day(day.number().into()).full()
}

fn with_question_mark(pairs: &[(String, String)]) -> String {
    if pairs.is_empty() { String::new() } else { format!("?{}", query(pairs)) }
}

/// One pair as the value of a field.
pub(super) fn as_value(name: &str, value: &str) -> String {
    query(&[(name.to_owned(), value.to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> FlowId {
        "fl_0000000000000000000000".parse().unwrap()
    }

    fn query(text: &str) -> ResultsQuery {
        ResultsQuery::from_fields(&Fields::parse(text))
    }

    #[test]
    fn a_generated_address_is_read_back() {
        for text in [
            "",
            "?period=7d",
            "?from=2026-11-01&to=2026-11-15",
            "?to=2026-11-15",
            "?tag.plan=pro&compare=version",
            "?tag.a%20%26%3D%3F=%C3%BC%2B%25",
            "?compare=tag.plan",
            "?period=30d&compare=period",
            "?tag.plan=pro&admission=admitted&answer.nps%5Blt%5D=7&answer.why=x&compare=version",
        ] {
            let read = query(text.trim_start_matches('?'));
            assert_eq!(read.query_string(), text);
            assert_eq!(query(read.query_string().trim_start_matches('?')), read);
        }
    }

    #[test]
    fn invalid_parameters_are_ignored() {
        for text in [
            "period=8d",
            "period=7",
            "from=yesterday",
            "version=1",
            "tag.=x",
            "compare=moon",
            "tag=",
        ] {
            assert_eq!(query(text), ResultsQuery::default(), "{text}");
        }
    }

    #[test]
    fn the_tag_of_the_form_is_a_pair_in_one_field() {
        let value = as_value("a=b", "c&d");
        let text = with_question_mark(&[("tag".to_owned(), value)]);
        assert_eq!(
            query(text.trim_start_matches('?')).tag,
            Some(("a=b".to_owned(), "c&d".to_owned()))
        );
    }

    #[test]
    fn the_last_days_end_with_today() {
        let today: Day = "2026-11-15".parse().unwrap();
        let filter = query("period=7d").filter(today);
        assert_eq!(
            (filter.from.unwrap().to_string(), filter.to),
            ("2026-11-09".to_owned(), Some(today))
        );
        assert_eq!(query("").filter(today), SummaryFilter::default());
    }

    #[test]
    fn a_word_is_searched_for_in_the_same_responses() {
        let today: Day = "2026-11-15".parse().unwrap();
        let filtered = query("from=2026-11-01&tag.plan=pro");
        let address = filtered.responses_address(flow(), today, Some("émoji"));
        let expected = "/responses?search=%C3%A9moji&from=2026-11-01&tag.plan=pro";
        assert!(address.ends_with(expected), "{address}");
        // The last day is included on both pages.
        let address = query("period=7d").responses_address(flow(), today, Some("x"));
        assert!(address.ends_with("?search=x&from=2026-11-09&to=2026-11-15"), "{address}");
    }

    #[test]
    fn results_lead_to_their_responses_with_all_filters() {
        let today: Day = "2026-11-15".parse().unwrap();
        let filters = "from=2026-11-01&tag.plan=pro&admission=admitted&answer.nps%5Blt%5D=7";
        let address =
            query(&format!("{filters}&compare=version")).responses_address(flow(), today, None);
        assert!(address.ends_with(&format!("/responses?{filters}")), "{address}");
    }
}
