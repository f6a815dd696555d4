//! Closing by number: a flow accepts a limited number of responses (`closeAfter`), and a limited
//! number with certain answers (`quotas`).
//!
//! These are settings of a flow, not of a version: they apply to all its versions at once. A
//! condition is written in the language of `visibleIf` and reads the answers of a response by the
//! questions of its version. A version that does not have the questions of a quota is not limited
//! by it. What is counted is the number of accepted responses ([`ClosingCounts`]); the store
//! compares it with the limits in the transaction that stores a response.

mod changes;
mod choices;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::reader::{Faults, ObjectReader};
use crate::definition::{Definition, Fault};
use crate::issue::Full;
use crate::logic::{self, Condition, Earlier};
use crate::submission::stored_texts;
use crate::text_map::TextMap;

pub use self::changes::{QuotaChange, all_of_questions};
pub use self::choices::{AnswerChoices, answer_choices, in_words};

/// The largest limit: a billion responses.
pub const LIMIT_MAX: u32 = 1_000_000_000;
/// The most quotas that a flow can have.
pub const QUOTAS_MAX: usize = 50;
/// The longest id of a quota, in characters.
pub const QUOTA_ID_CHARS_MAX: usize = 64;

/// The counter of all responses. No quota has this id.
pub const ALL: &str = "";

/// When a flow stops accepting responses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closing {
    /// The number of responses after which it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_after: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
}

/// How many responses that satisfy a condition are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    pub id: String,
    /// The condition as JSON. It becomes a [`Condition`] with the questions of a version.
    pub when: Value,
    pub limit: u32,
}

impl Closing {
    /// Reads the stored form; absent means that nothing is limited.
    pub fn from_stored(json: Option<&str>) -> Result<Self, String> {
        let Some(json) = json else { return Ok(Self::default()) };
        serde_json::from_str(json).map_err(|error| format!("the limits of a flow: {error}"))
    }

    /// The stored form; `None` if nothing is limited.
    pub fn to_stored(&self) -> Option<String> {
        // Writing plain data to a string cannot fail.
        (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    pub fn is_empty(&self) -> bool {
        self.close_after.is_none() && self.quotas.is_empty()
    }

    /// The quotas whose conditions do not fit this definition, each with what is wrong.
    pub fn misfits(&self, definition: &Definition) -> Vec<(&str, Fault)> {
        let of_quota = |quota| {
            let Quota { id, when, .. }: &Quota = quota;
            condition(when, "", definition)
                .err()
                .unwrap_or_default()
                .into_iter()
                .map(|it| (id.as_str(), it))
        };
        self.quotas.iter().flat_map(of_quota).collect()
    }

    /// The limits for responses to a version. Without a definition that can be read, its responses
    /// count towards no quota.
    pub fn limits(&self, definition: Option<&Definition>) -> VersionLimits {
        let all = CountedLimit {
            limit: Limit { counter: ALL.to_owned(), most: self.close_after.map(u64::from) },
            when: None,
        };
        let quotas = self.quotas.iter().filter_map(|quota| {
            let when = Some(condition(&quota.when, "", definition?).ok()?);
            let most = Some(u64::from(quota.limit));
            Some(CountedLimit { limit: Limit { counter: quota.id.clone(), most }, when })
        });
        let limits =
            if self.is_empty() { Vec::new() } else { [all].into_iter().chain(quotas).collect() };
        VersionLimits { limits }
    }

    /// The counters that these settings need.
    pub fn counters(&self) -> impl Iterator<Item = &str> {
        let all = (!self.is_empty()).then_some(ALL);
        all.into_iter().chain(self.quotas.iter().map(|quota| quota.id.as_str()))
    }

    /// Those of its counters that count the same as `before`: they stay valid.
    pub fn kept_counters(&self, before: &Self) -> Vec<String> {
        let is_kept = |counter: &&str| {
            let when =
                |of: &Self| of.quotas.iter().find(|it| it.id == *counter).map(|it| it.when.clone());
            before.counters().any(|it| it == *counter) && when(self) == when(before)
        };
        self.counters().filter(is_kept).map(str::to_owned).collect()
    }
}

fn is_id(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=QUOTA_ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(is_part)
}

/// The faults of a condition with the first definition, unless it fits one of them.
fn condition_faults(when: &Value, pointer: &str, definitions: &[&Definition]) -> Vec<Fault> {
    let mut first = None;
    for definition in definitions {
        match condition(when, pointer, definition) {
            Ok(_) => return Vec::new(),
            Err(faults) => {
                first.get_or_insert(faults);
            }
        }
    }
    first.unwrap_or_else(|| {
        let message = "there is no version or valid draft whose questions it could ask about";
        vec![Fault::new(pointer, message)]
    })
}

/// A condition about the answers to any questions of a definition.
fn condition(
    when: &Value,
    pointer: &str,
    definition: &Definition,
) -> Result<Condition, Vec<Fault>> {
    if asks_about_score(when) {
        let message = "must ask about answers, not about the score";
        return Err(vec![Fault::new(pointer, message)]);
    }
    let questions = definition.questions();
    let ids: HashSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
    let mut asked = Earlier::new(ids);
    for question in questions {
        asked.add(&question.id, Some(question.question_type.clone()));
    }
    let faults = Faults::default();
    let read = logic::read(when, pointer, None, &asked, &faults);
    let mut faults = faults.into_vec();
    for fault in &mut faults {
        fault.message = fault.message.replace("an earlier question", "a question");
    }
    match read {
        Some(condition) if faults.is_empty() => Ok(condition),
        _ => Err(faults),
    }
}

/// Whether a condition, or a part of it, is about the score: a limit is decided by answers alone.
fn asks_about_score(when: &Value) -> bool {
    match when {
        Value::Object(parts) => parts.contains_key("score") || parts.values().any(asks_about_score),
        Value::Array(parts) => parts.iter().any(asks_about_score),
        _ => false,
    }
}

/// The limits that apply to responses to one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionLimits {
    limits: Vec<CountedLimit>,
}

#[derive(Debug, Clone, PartialEq)]
struct CountedLimit {
    limit: Limit,
    /// Absent for all responses.
    when: Option<Condition>,
}

/// Conditions hold no floating-point numbers.
impl Eq for CountedLimit {}

/// A counter that a response adds one to, and how many it may count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub counter: String,
    /// Absent if it only counts.
    pub most: Option<u64>,
}

impl VersionLimits {
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    /// The limits that a response with these answers counts towards.
    pub fn for_answers(&self, answers: &TextMap<'_>) -> Vec<Limit> {
        let applies = |it: &&CountedLimit| it.when.as_ref().is_none_or(|when| when.holds(answers));
        self.limits.iter().filter(applies).map(|it| it.limit.clone()).collect()
    }

    /// The same for the stored form of the answers.
    pub fn for_stored_answers(&self, answers: &str) -> Vec<Limit> {
        self.for_answers(&stored_texts(answers).unwrap_or_default())
    }

    /// Only the limits with these counters.
    #[must_use]
    pub fn only(mut self, counters: &[&str]) -> Self {
        self.limits.retain(|it| counters.contains(&it.limit.counter.as_str()));
        self
    }
}

/// How many responses each limit of a flow has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClosingCounts(BTreeMap<String, u64>);

impl ClosingCounts {
    pub fn get(&self, counter: &str) -> u64 {
        self.0.get(counter).copied().unwrap_or(0)
    }

    pub fn has(&self, counter: &str) -> bool {
        self.0.contains_key(counter)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(counter, count)| (counter.as_str(), *count))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn set(&mut self, counter: &str, count: u64) {
        self.0.insert(counter.to_owned(), count);
    }

    /// The first limit that has no room for one more response. A limit that is not counted has
    /// none: the number of responses is unknown.
    pub fn full(&self, limits: &[Limit]) -> Option<Full> {
        let has_room = |limit: &&Limit| {
            let counted = self.0.get(&limit.counter);
            counted.is_some_and(|&counted| limit.most.is_none_or(|most| counted < most))
        };
        let full = limits.iter().find(|limit| !has_room(limit))?;
        Some(if full.counter == ALL { Full::Flow } else { Full::Quota })
    }

    /// Counts one more response.
    pub fn add(&mut self, limits: &[Limit]) {
        for limit in limits {
            *self.0.entry(limit.counter.clone()).or_default() += 1;
        }
    }

    /// Counts one response less.
    pub fn release(&mut self, counters: &[String]) {
        for counter in counters {
            if let Some(count) = self.0.get_mut(counter) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Removes all counters except these.
    pub fn keep(&mut self, counters: &[String]) {
        self.0.retain(|counter, _| counters.contains(counter));
    }

    /// Whether these responses close the flow.
    pub fn closes(&self, closing: &Closing) -> bool {
        closing.close_after.is_some_and(|limit| self.get(ALL) >= u64::from(limit))
    }
}

/// The fault of a `closeAfter`, if it has one.
pub fn close_after_fault(limit: Option<u32>) -> Option<Fault> {
    let message = format!("must be a whole number from 1 to {LIMIT_MAX}, or null");
    let is_fault = limit.is_some_and(|limit| !(1..=LIMIT_MAX).contains(&limit));
    is_fault.then(|| Fault::new("/closeAfter", message))
}

/// Reads quotas as an author sends them, or all their faults. Each condition must fit one of the
/// definitions.
pub fn read_quotas(value: &Value, definitions: &[&Definition]) -> Result<Vec<Quota>, Vec<Fault>> {
    let whole = |message: String| vec![Fault::new("/quotas", message)];
    let Some(items) = value.as_array() else { return Err(whole("must be a list".to_owned())) };
    if items.len() > QUOTAS_MAX {
        let message = format!("must hold at most {QUOTAS_MAX} items, but holds {}", items.len());
        return Err(whole(message));
    }
    let faults = Faults::default();
    let (mut quotas, mut conditions, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
    for (index, item) in items.iter().enumerate() {
        let pointer = format!("/quotas/{index}");
        let Some(mut reader) = ObjectReader::open(item, pointer, &faults) else { continue };
        let id = reader.needed_text("id", QUOTA_ID_CHARS_MAX).unwrap_or_default();
        if !id.is_empty() && !is_id(&id) {
            reader.fault("id", "must be letters, digits, underscores and hyphens");
        } else if !id.is_empty() && !ids.insert(id.clone()) {
            reader.fault("id", "must be unique; another quota has this id");
        }
        let when = reader.needed("when").cloned();
        let limit = match item.get("limit") {
            Some(limit) if !limit.is_null() => reader.count("limit", 1..=LIMIT_MAX),
            _ => reader.needed("limit").and(None),
        };
        if let Some(when) = &when {
            conditions.extend(condition_faults(when, &reader.at("when"), definitions));
        }
        reader.close();
        if let (Some(when), Some(limit)) = (when, limit) {
            quotas.push(Quota { id, when, limit });
        }
    }
    let mut faults = faults.into_vec();
    faults.append(&mut conditions);
    if faults.is_empty() { Ok(quotas) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition::check;

    fn survey() -> Definition {
        let option = |id: &str| json!({"id": id, "label": id});
        check(&json!({
            "title": "Panel",
            "questions": [
                {"id": "sex", "type": "singleChoice", "prompt": "?",
                 "options": [option("f"), option("m")], "allowOther": true},
                {"id": "age", "type": "number", "prompt": "?"}
            ]
        }))
        .unwrap()
    }

    fn quota(id: &str, when: Value, limit: u32) -> Value {
        json!({"id": id, "when": when, "limit": limit})
    }

    #[test]
    fn quotas_are_refused_with_all_faults() {
        let women = json!({"question": "sex", "equals": "f"});
        let check = |quotas: Value, expected: &[(&str, &str)]| {
            let faults = read_quotas(&quotas, &[&survey()]).err().unwrap_or_default();
            let found: Vec<_> =
                faults.iter().map(|it| (it.pointer.as_str(), it.message.as_str())).collect();
            assert_eq!(found, expected, "{quotas}");
        };
        check(json!([quota("women", women.clone(), 50)]), &[]);
        check(json!({}), &[("/quotas", "must be a list")]);
        check(
            json!(vec![quota("a", women.clone(), 1); 51]),
            &[("/quotas", "must hold at most 50 items, but holds 51")],
        );
        check(
            json!([quota("a", women.clone(), 1), quota("a", women.clone(), 0)]),
            &[
                ("/quotas/1/id", "must be unique; another quota has this id"),
                ("/quotas/1/limit", "must be a whole number from 1 to 1000000000"),
            ],
        );
        check(
            json!([{"id": "a b", "limit": 1, "what": 1}]),
            &[
                ("/quotas/0/id", "must be letters, digits, underscores and hyphens"),
                ("/quotas/0/when", "when is required"),
                ("/quotas/0/what", "unknown field; did you mean when?"),
            ],
        );
        check(
            json!([quota("a", json!({"question": "height", "equals": 1}), 1)]),
            &[("/quotas/0/when/question", "must be the id of a question")],
        );
        check(
            json!([quota("a", json!({"not": {"score": true, "lessThan": 5}}), 1)]),
            &[("/quotas/0/when", "must ask about answers, not about the score")],
        );
        check(
            json!([quota("a", json!({"question": "sex", "lessThan": 1}), 1)]),
            &[(
                "/quotas/0/when/lessThan",
                "does not fit a singleChoice question; equals, in, notIn, answered would",
            )],
        );
    }

    #[test]
    fn a_response_counts_towards_the_limits_whose_condition_holds() {
        let closing = Closing {
            close_after: Some(3),
            quotas: vec![
                Quota {
                    id: "women".into(),
                    when: json!({"question": "sex", "equals": "f"}),
                    limit: 2,
                },
                Quota {
                    id: "old".into(),
                    when: json!({"question": "age", "greaterThan": 64}),
                    limit: 1,
                },
                // No version has this question.
                Quota { id: "tall".into(), when: json!({"question": "cm", "equals": 1}), limit: 1 },
            ],
        };
        let stored = closing.to_stored();
        assert_eq!(Closing::from_stored(stored.as_deref()), Ok(closing.clone()));
        let limits = closing.limits(Some(&survey()));
        for (answers, counters) in [
            (r#"{"sex":"f","age":"70"}"#, vec!["", "women", "old"]),
            (r#"{"sex":"m","age":"64"}"#, vec![""]),
            (r#"{"sex":"other:x"}"#, vec![""]),
            ("{}", vec![""]),
        ] {
            let found = limits.for_stored_answers(answers);
            let found: Vec<_> = found.iter().map(|limit| limit.counter.as_str()).collect();
            assert_eq!(found, counters, "{answers}");
        }
        assert!(Closing::default().limits(Some(&survey())).is_empty());
    }

    #[test]
    fn the_first_limit_without_room_refuses() {
        let limit = |counter: &str, most| Limit { counter: counter.to_owned(), most };
        let limits = [limit(ALL, Some(3)), limit("women", Some(2))];
        let mut counts = ClosingCounts::default();
        // What is not counted has no room.
        assert_eq!(counts.full(&limits), Some(Full::Flow));
        counts.set(ALL, 0);
        counts.set("women", 0);
        counts.add(&limits);
        assert_eq!(counts.full(&limits), None);
        counts.add(&limits);
        assert_eq!(counts.full(&limits), Some(Full::Quota));
        assert_eq!(counts.full(&limits[..1]), None);
        counts.add(&limits[..1]);
        assert_eq!(counts.full(&limits), Some(Full::Flow));
        assert!(counts.closes(&Closing { close_after: Some(3), quotas: Vec::new() }));
        counts.release(&[ALL.to_owned(), "women".to_owned()]);
        assert_eq!(counts.full(&limits), None);
    }

    #[test]
    fn a_counter_is_kept_while_it_counts_the_same() {
        let quota = |id: &str, option: &str, limit| Quota {
            id: id.to_owned(),
            when: json!({"question": "sex", "equals": option}),
            limit,
        };
        let closing = |quotas| Closing { close_after: None, quotas };
        let before = closing(vec![quota("a", "f", 1), quota("b", "m", 1)]);
        let after = closing(vec![quota("a", "f", 5), quota("b", "f", 1), quota("c", "f", 1)]);
        assert_eq!(after.kept_counters(&before), [ALL, "a"]);
        assert_eq!(after.kept_counters(&Closing::default()), [""; 0]);
        assert_eq!(Closing::default().kept_counters(&before), [""; 0]);
    }
}
