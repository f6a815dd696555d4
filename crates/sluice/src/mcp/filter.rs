//! Filters of results and responses, the same for every tool.

use std::collections::BTreeMap;

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use sluice_flow::id::FlowVersionId;
use sluice_flow::time::Timestamp;

use super::api::{Pair, pair};
use super::error::ToolError;

/// Which responses count.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars", inline)]
pub(super) struct Filter {
    /// First day in UTC, as YYYY-MM-DD.
    #[serde(default)]
    from: Option<String>,
    /// Last day in UTC, as YYYY-MM-DD, inclusive.
    #[serde(default)]
    to: Option<String>,
    /// Only responses to this version: a flowVersionId (fv_…) from get_flow.
    #[serde(default)]
    version: Option<String>,
    /// Only responses of respondents with this decision: admitted (linked to the respondent) or
    /// `collection_only` (anonymous).
    #[serde(default)]
    admission: Option<Admission>,
    /// Only responses with these tags, by name.
    #[serde(default)]
    tags: Option<BTreeMap<String, String>>,
    /// Only responses with these answers; all must match.
    #[serde(default)]
    answers: Option<Vec<AnswerFilter>>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "rmcp::schemars", inline)]
enum Admission {
    Admitted,
    CollectionOnly,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars", inline)]
struct AnswerFilter {
    /// Id of the question.
    question: String,
    /// How the answer compares with the value. Without it: the answer is the value, or has it among
    /// several choices.
    #[serde(default)]
    compare: Option<Compare>,
    /// The value: an option id, a number, a date, a part of a text, or true or false for
    /// `answered`.
    #[serde(deserialize_with = "text_of")]
    #[schemars(with = "String")]
    value: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "rmcp::schemars", inline)]
enum Compare {
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    Contains,
    Answered,
}

impl Compare {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Contains => "contains",
            Self::Answered => "answered",
        }
    }
}

/// Assistants also send numbers and booleans as such.
fn text_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => Ok(text),
        it @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => Ok(it.to_string()),
        _ => Err(serde::de::Error::custom("value must be a text")),
    }
}

impl Filter {
    /// For summaries and cross-tabulations, which select days.
    pub(super) fn by_day(&self) -> Result<Vec<Pair>, ToolError> {
        let mut query = self.common()?;
        for (name, day) in [("from", &self.from), ("to", &self.to)] {
            query.extend(day.as_ref().map(|day| pair(name, day)));
        }
        Ok(query)
    }

    /// For lists of responses, which select instants: the same days.
    pub(super) fn by_instant(&self) -> Result<Vec<Pair>, ToolError> {
        let mut query = self.common()?;
        for (name, day, days_more) in [("from", &self.from, 0), ("to", &self.to, 1)] {
            let Some(day) = day else { continue };
            let start: Timestamp = format!("{day}T00:00:00Z").parse().map_err(|_| {
                ToolError::new(format!("filter.{name} must be a day such as 2026-11-30"))
            })?;
            query.push(pair(name, start.day().plus(days_more).starts_at()));
        }
        Ok(query)
    }

    fn common(&self) -> Result<Vec<Pair>, ToolError> {
        let mut query = Vec::new();
        if let Some(version) = &self.version {
            let id: FlowVersionId = version.parse().map_err(|_| {
                ToolError::new("filter.version must be a flowVersionId (fv_…) from get_flow")
            })?;
            query.push(pair("version", id));
        }
        query.extend(self.admission.map(|admission| {
            let name = match admission {
                Admission::Admitted => "admitted",
                Admission::CollectionOnly => "collection_only",
            };
            pair("admission", name)
        }));
        for (name, value) in self.tags.iter().flatten() {
            query.push((format!("tag.{name}"), value.clone()));
        }
        for AnswerFilter { question, compare, value } in self.answers.iter().flatten() {
            let operator = compare.map(|it| format!("[{}]", it.as_str())).unwrap_or_default();
            query.push((format!("answer.{question}{operator}"), value.clone()));
        }
        Ok(query)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filter(value: serde_json::Value) -> Filter {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn both_ends_of_a_period_are_included() {
        let days = filter(json!({"from": "2026-11-01", "to": "2026-11-30"}));
        let by_day = days.by_day().unwrap();
        assert_eq!(by_day, [pair("from", "2026-11-01"), pair("to", "2026-11-30")]);
        let from = pair("from", "2026-11-01T00:00:00.000Z");
        assert_eq!(days.by_instant().unwrap(), [from, pair("to", "2026-12-01T00:00:00.000Z")]);
        assert!(filter(json!({"from": "yesterday"})).by_instant().is_err());
    }

    #[test]
    fn answers_and_tags_become_parameters() {
        let given = filter(json!({
            "admission": "collection_only", "tags": {"plan": "pro"},
            "answers": [{"question": "nps", "compare": "lt", "value": 7}, {"question": "use", "value": "api"}],
        }));
        let expected = [
            pair("admission", "collection_only"),
            pair("tag.plan", "pro"),
            pair("answer.nps[lt]", "7"),
            pair("answer.use", "api"),
        ];
        assert_eq!(given.by_day().unwrap(), expected);
        assert!(filter(json!({"version": "../tokens"})).by_day().is_err());
    }
}
