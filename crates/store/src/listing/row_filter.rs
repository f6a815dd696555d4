//! Which responses pass a filter, decided on their stored JSON.
//!
//! A scan may read very many rows of which few pass, so a cheap test comes first: a text in the
//! JSON appears between quotes, unless the JSON contains an escape. A row that fails this test
//! cannot pass. All others are parsed, without building anything.

use sluice_flow::answer_filter::{AnswerFilter, AnswerTest};
use sluice_flow::folding::fold_into;
use sluice_flow::id::FlowVersionId;
use sluice_flow::question::choice::{OTHER, OTHER_PREFIX};
use sluice_flow::submission::{Admission, Texts, each_entry, entry};

use super::{ResponseQuery, Search};

/// The parts of a row that decide whether it passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'r> {
    pub(crate) version: FlowVersionId,
    pub(crate) admission: Admission,
    pub(crate) answers: &'r str,
    pub(crate) tags: Option<&'r str>,
}

/// A filter, prepared for many rows.
#[derive(Debug)]
pub(crate) struct RowFilter {
    version: Option<FlowVersionId>,
    admission: Option<Admission>,
    tags: Vec<TagFilter>,
    answers: Vec<AnswerCheck>,
    search: Option<Search>,
    /// A buffer for folded text, reused for every row.
    room: String,
}

impl RowFilter {
    pub(crate) fn new(query: &ResponseQuery) -> Self {
        Self {
            version: query.version,
            admission: query.admission,
            tags: query.tags.iter().map(|(name, value)| TagFilter::new(name, value)).collect(),
            answers: query.answers.iter().map(AnswerCheck::new).collect(),
            search: query.search.clone(),
            room: String::new(),
        }
    }

    /// Whether every row passes.
    pub(crate) fn is_open(&self) -> bool {
        self.version.is_none()
            && self.admission.is_none()
            && self.tags.is_empty()
            && self.answers.is_empty()
            && self.search.is_none()
    }

    pub(crate) fn passes(&mut self, row: &Candidate<'_>) -> bool {
        self.version.is_none_or(|version| version == row.version)
            && self.admission.is_none_or(|admission| admission == row.admission)
            && tags_hold(&self.tags, row.tags.unwrap_or("{}"))
            && answers_hold(&self.answers, row.answers)
            && match &self.search {
                Some(search) => are_in(search, row.answers, &mut self.room),
                None => true,
            }
    }

    /// For each tag, a text that its JSON must contain unless it has an escape.
    pub(crate) fn tag_needles(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|filter| filter.needle.as_str())
    }

    /// The same for answers that must exist.
    pub(crate) fn answer_needles(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().filter_map(|check| check.needle.as_deref())
    }

    /// Folded texts that the answers must contain, unless their JSON has an escape.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.search.iter().flat_map(|search| &search.words).map(String::as_str);
        let parts = self.answers.iter().filter_map(|check| match &check.filter.test {
            AnswerTest::Contains(part) | AnswerTest::OtherContains(part) => Some(part.as_str()),
            _ => None,
        });
        words.chain(parts)
    }
}

/// A tag and a text that must be among its values.
#[derive(Debug)]
struct TagFilter {
    name: String,
    value: String,
    /// The text that JSON without escapes must contain.
    needle: String,
}

impl TagFilter {
    fn new(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), value: value.to_owned(), needle: format!("\"{value}\"") }
    }
}

/// A filter by an answer.
#[derive(Debug)]
struct AnswerCheck {
    filter: AnswerFilter,
    /// The text that JSON without escapes must contain; `None` if a response without the answer
    /// passes.
    needle: Option<String>,
}

impl AnswerCheck {
    fn new(filter: &AnswerFilter) -> Self {
        let needle = match &filter.test {
            // Both the option "other" and any text after it begin like this.
            AnswerTest::Is(value) if value == OTHER => Some(format!("\"{value}")),
            AnswerTest::Is(value) => Some(format!("\"{value}\"")),
            test => test.needs_answer().then(|| format!("\"{}\"", filter.question)),
        };
        Self { filter: filter.clone(), needle }
    }
}

/// Whether each tag has its text in a stored map of texts.
fn tags_hold(all: &[TagFilter], json: &str) -> bool {
    let has = |texts: Texts<'_>, value: &str| texts.as_slice().iter().any(|it| it == value);
    all.iter().all(|TagFilter { name, value, .. }| {
        entry(json, name).is_ok_and(|texts| texts.is_some_and(|texts| has(texts, value)))
    })
}

/// Whether stored answers pass every filter.
fn answers_hold(all: &[AnswerCheck], json: &str) -> bool {
    all.iter().all(|check| check.filter.holds_in(json))
}

fn has_escape(json: &str) -> bool {
    json.contains('\\')
}

/// Whether every word occurs in one of the texts.
fn are_in(search: &Search, answers: &str, room: &mut String) -> bool {
    fold_into(room, answers);
    let possible = |word: &String| room.contains(word.as_str());
    if !has_escape(answers) && !search.words.iter().all(possible) {
        return false;
    }
    let mut found = vec![false; search.words.len()];
    let read = each_entry(answers, |question, texts| {
        let is_text = search.questions.iter().any(|id| *id == question);
        for text in texts.as_slice() {
            let text = if is_text { Some(&**text) } else { text.strip_prefix(OTHER_PREFIX) };
            let Some(text) = text else { continue };
            fold_into(room, text);
            for (word, found) in search.words.iter().zip(&mut found) {
                *found |= room.contains(word.as_str());
            }
        }
    });
    read.is_ok() && found.into_iter().all(|found| found)
}

#[cfg(test)]
pub(crate) mod tests {
    use sluice_flow::folding::folded;
    use sluice_flow::id::{AppId, FlowId, v7};
    use sluice_flow::time::Timestamp;

    use super::*;

    pub(crate) fn query_of_all() -> ResponseQuery {
        let id = v7(Timestamp::from_millis(1), 0, 0);
        let all = ResponseQuery::new(AppId::from_uuid(id), FlowId::from_uuid(id), 10);
        ResponseQuery { scan_limit: 1_000, ..all }
    }

    #[test]
    fn an_escape_does_not_hide_a_match() {
        let search = |words: &[&str]| Search {
            words: words.iter().map(|word| folded(word)).collect(),
            questions: vec!["why".to_owned()],
        };
        let mut room = String::new();
        for (answers, words, expected) in [
            (r#"{"why":"caf\u00e9 au lait"}"#, &["CAFÉ"][..], true),
            (r#"{"why":"a\nb"}"#, &["nb"], false),
            (r#"{"why":"say \"hi\""}"#, &["\"HI\""], true),
            (r#"{"use":"why not"}"#, &["why"], false),
            (r#"{"use":"other:Why not"}"#, &["why"], true),
            (r#"{"use":"other:Why not"}"#, &["other"], false),
            (r#"{"why":"one","use":["other:two"]}"#, &["two", "one"], true),
            (r#"{"why":"one"}"#, &["one", "two"], false),
            ("{}", &["why"], false),
        ] {
            assert_eq!(are_in(&search(words), answers, &mut room), expected, "{answers} {words:?}");
        }
    }
}
