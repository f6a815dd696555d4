//! The terms of a response, and the terms of a query.

use sluice_flow::answer_filter::AnswerTest;
use sluice_flow::id::FlowVersionId;
use sluice_flow::question::choice::{OTHER, OTHER_PREFIX};
use sluice_flow::submission::{Admission, each_entry};

use super::filter::{Term, filter_of, may_hold};
use crate::ResponseQuery;

/// A longer answer is free text; nobody filters by all of it.
const ANSWER_BYTES_MAX: usize = 64;

fn of_version(version: FlowVersionId) -> Term {
    Term::new(["version", &version.to_string(), ""])
}

fn of_admission(admission: Admission) -> Term {
    Term::new(["admission", admission.as_str(), ""])
}

fn of_tag(name: &str, value: &str) -> Term {
    Term::new(["tag", name, value])
}

fn of_answer(question: &str, value: &str) -> Term {
    Term::new(["answer", question, value])
}

fn of_other(question: &str) -> Term {
    Term::new(["other", question, ""])
}

/// The columns of a response that become terms, as stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedColumns<'r> {
    pub(crate) version: FlowVersionId,
    pub(crate) admission: Admission,
    pub(crate) answers: &'r str,
    pub(crate) tags: Option<&'r str>,
}

/// The terms of the responses of one block.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    all: Vec<Term>,
    /// Of the previous response: the next one nearly always has the same.
    version: Option<FlowVersionId>,
    is_unreadable: bool,
}

impl Terms {
    /// Adds the terms of a response.
    pub(crate) fn add(&mut self, response: IndexedColumns<'_>) {
        let IndexedColumns { version, admission, answers, tags } = response;
        let all = &mut self.all;
        if self.version.replace(version) != Some(version) {
            all.push(of_version(version));
        }
        all.push(of_admission(admission));
        let answered = each_entry(answers, |question, texts| {
            for value in texts.as_slice() {
                if value == OTHER || value.starts_with(OTHER_PREFIX) {
                    all.push(of_other(&question));
                }
                if value.len() <= ANSWER_BYTES_MAX {
                    all.push(of_answer(&question, value));
                }
            }
        });
        let tagged = each_entry(tags.unwrap_or("{}"), |name, texts| {
            all.extend(texts.as_slice().iter().map(|value| of_tag(&name, value)));
        });
        self.is_unreadable |= answered.is_err() || tagged.is_err();
    }

    /// The filter over all terms. Unreadable content cannot be excluded, so it gives an empty
    /// filter.
    pub(crate) fn filter(mut self) -> Vec<u8> {
        if self.is_unreadable {
            return Vec::new();
        }
        self.all.sort_unstable();
        self.all.dedup();
        filter_of(&self.all)
    }
}

/// The terms that every response matching a query has. Without any, no block can be excluded.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueryTerms(Vec<Term>);

impl QueryTerms {
    pub(crate) fn new(query: &ResponseQuery) -> Self {
        let tags = query.tags.iter().map(|(name, value)| of_tag(name, value));
        // Only equality: other comparisons match many values.
        let answers = query.answers.iter().filter_map(|filter| match &filter.test {
            AnswerTest::Is(value) if value == OTHER => Some(of_other(&filter.question)),
            AnswerTest::Is(value) if value.len() <= ANSWER_BYTES_MAX => {
                Some(of_answer(&filter.question, value))
            }
            _ => None,
        });
        let version = query.version.map(of_version);
        let admission = query.admission.map(of_admission);
        Self(version.into_iter().chain(admission).chain(tags).chain(answers).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The terms, for a backend that evaluates filters in its database.
    pub(crate) fn terms(&self) -> &[Term] {
        &self.0
    }

    /// Whether a block with this filter may have a matching response.
    pub(crate) fn may_be_in(&self, filter: &[u8]) -> bool {
        self.0.iter().all(|&term| may_hold(filter, term))
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::answer_filter::AnswerFilter;

    use super::*;
    use crate::listing::query_of_all;

    fn version(number: u128) -> FlowVersionId {
        FlowVersionId::from_uuid(uuid::Uuid::from_u128(number))
    }

    fn filter(answers: &str, tags: Option<&str>) -> Vec<u8> {
        let mut terms = Terms::default();
        let admission = Admission::CollectionOnly;
        terms.add(IndexedColumns { version: version(1), admission, answers, tags });
        terms.filter()
    }

    #[test]
    fn a_block_is_excluded_by_a_version_or_admission_that_no_response_has() {
        let block = filter("{}", None);
        for (version, admission, expected) in [
            (Some(version(1)), None, true),
            (Some(version(2)), None, false),
            (None, Some(Admission::CollectionOnly), true),
            (None, Some(Admission::Admitted), false),
            (Some(version(1)), Some(Admission::Admitted), false),
        ] {
            let query = ResponseQuery { version, admission, ..query_of_all() };
            assert_eq!(
                QueryTerms::new(&query).may_be_in(&block),
                expected,
                "{version:?} {admission:?}"
            );
        }
    }

    #[test]
    fn a_block_is_excluded_only_if_no_response_in_it_can_match() {
        let long = "x".repeat(ANSWER_BYTES_MAX + 1);
        let answers = format!(
            r#"{{"nps":"9","use":["api","other:my own way"],"caf\u00e9":"cr\u00e8me","why":"{long}"}}"#
        );
        let block = filter(&answers, Some(r#"{"plan":"pro","team":["a","b"]}"#));
        let pairs = |all: &[(&str, &str)]| {
            all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let is = |all: &[(&str, &str)]| {
            all.iter().map(|(question, value)| AnswerFilter::is(*question, *value)).collect()
        };
        for (answers, tags, expected) in [
            (&[][..], &[][..], true),
            (&[("nps", "9")], &[], true),
            (&[("nps", "8")], &[], false),
            (&[("use", "api")], &[("plan", "pro")], true),
            (&[("use", "api")], &[("plan", "free")], false),
            (&[("use", "other")], &[], true),
            (&[("nps", "other")], &[], false),
            (&[("use", "other:my own way")], &[], true),
            (&[("café", "crème")], &[], true),
            (&[("why", &long)], &[], true),
            (&[("use", "pro")], &[], false),
            (&[], &[("team", "b")], true),
            (&[], &[("team", "c")], false),
        ] {
            let query = ResponseQuery { answers: is(answers), tags: pairs(tags), ..query_of_all() };
            assert_eq!(QueryTerms::new(&query).may_be_in(&block), expected, "{answers:?} {tags:?}");
        }
    }

    #[test]
    fn a_comparison_excludes_no_block() {
        let block = filter(r#"{"nps":"9"}"#, None);
        for test in [AnswerTest::IsNot("9".into()), AnswerTest::Answered(false)] {
            let answers = vec![AnswerFilter { question: "nps".into(), test }];
            let query = ResponseQuery { answers, ..query_of_all() };
            assert!(
                QueryTerms::new(&query).is_empty() && QueryTerms::new(&query).may_be_in(&block)
            );
        }
    }

    #[test]
    fn unreadable_content_is_not_excluded() {
        let query = ResponseQuery { tags: vec![("a".into(), "b".into())], ..query_of_all() };
        assert!(QueryTerms::new(&query).may_be_in(&filter("{", None)));
        assert!(!QueryTerms::new(&query).may_be_in(&filter("{}", None)));
    }
}
