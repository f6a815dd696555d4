//! Which responses pass a filter, decided on their stored JSON.
//!
//! A scan may read very many rows of which few pass, so a cheap test comes first: a text in the
//! JSON appears between quotes, unless the JSON contains an escape. A row that fails this test
//! cannot pass. All others are parsed, without building anything.

use sluice_flow::id::FlowVersionId;
use sluice_flow::submission::{Admission, each_entry};

use super::{ResponseQuery, Search};

/// The prefix of a chosen "other", before its text.
const OTHER: &str = "other:";
/// The value that matches all of them.
const ANY_OTHER: &str = "other";

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
    tags: Vec<ValueFilter>,
    answers: Vec<ValueFilter>,
    search: Option<Search>,
    /// A buffer for folded text, reused for every row.
    room: String,
}

impl RowFilter {
    pub(crate) fn new(query: &ResponseQuery) -> Self {
        let filter = |all: &[(String, String)], others| {
            all.iter().map(|(name, value)| ValueFilter::new(name, value, others)).collect()
        };
        Self {
            version: query.version,
            admission: query.admission,
            tags: filter(&query.tags, false),
            answers: filter(&query.answers, true),
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
            && hold(&self.tags, row.tags.unwrap_or("{}"))
            && hold(&self.answers, row.answers)
            && match &self.search {
                Some(search) => are_in(search, row.answers, &mut self.room),
                None => true,
            }
    }

    /// For each tag, a text that its JSON must contain unless it has an escape.
    pub(crate) fn tag_needles(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|filter| filter.needle.as_str())
    }

    /// The same for answers.
    pub(crate) fn answer_needles(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().map(|filter| filter.needle.as_str())
    }

    pub(crate) fn words(&self) -> &[String] {
        self.search.as_ref().map_or(&[], |search| &search.words)
    }
}

/// A name and a text that must be among its values.
#[derive(Debug)]
struct ValueFilter {
    name: String,
    value: String,
    any_other: bool,
    /// The text that JSON without escapes must contain.
    needle: String,
}

impl ValueFilter {
    fn new(name: &str, value: &str, others: bool) -> Self {
        let any_other = others && value == ANY_OTHER;
        // Both the option "other" and any text after it begin like this.
        let needle = if any_other { format!("\"{value}") } else { format!("\"{value}\"") };
        Self { name: name.to_owned(), value: value.to_owned(), any_other, needle }
    }

    fn is(&self, text: &str) -> bool {
        text == self.value || (self.any_other && text.starts_with(OTHER))
    }
}

/// Whether each name has its text in a stored map of texts.
fn hold(all: &[ValueFilter], json: &str) -> bool {
    let possible = |filter: &ValueFilter| json.contains(&filter.needle) || has_escape(json);
    if all.is_empty() {
        return true;
    }
    if !all.iter().all(possible) {
        return false;
    }
    let mut held = vec![false; all.len()];
    let read = each_entry(json, |name, texts| {
        for (filter, held) in all.iter().zip(&mut held) {
            *held |= filter.name == name && texts.as_slice().iter().any(|text| filter.is(text));
        }
    });
    read.is_ok() && held.into_iter().all(|held| held)
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
            let text = if is_text { Some(&**text) } else { text.strip_prefix(OTHER) };
            let Some(text) = text else { continue };
            fold_into(room, text);
            for (word, found) in search.words.iter().zip(&mut found) {
                *found |= room.contains(word.as_str());
            }
        }
    });
    read.is_ok() && found.into_iter().all(|found| found)
}

/// The form of a text used in searches: case is ignored, in any script.
pub fn folded(text: &str) -> String {
    let mut folded = String::new();
    fold_into(&mut folded, text);
    folded
}

/// Upper case first, so that letters with several lower-case forms (ß and ss, ς and σ) become
/// equal.
fn fold_into(room: &mut String, text: &str) {
    room.clear();
    if text.is_ascii() {
        room.push_str(text);
        room.make_ascii_lowercase();
        return;
    }
    for letter in text.chars() {
        if letter.is_ascii() {
            room.push(letter.to_ascii_lowercase());
        } else {
            room.extend(letter.to_uppercase().flat_map(char::to_lowercase));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use sluice_flow::id::{AppId, FlowId, v7};
    use sluice_flow::time::Timestamp;

    use super::*;

    pub(crate) fn query_of_all() -> ResponseQuery {
        let id = v7(Timestamp::from_millis(1), 0, 0);
        let all = ResponseQuery::new(AppId::from_uuid(id), FlowId::from_uuid(id), 10);
        ResponseQuery { scan_limit: 1_000, ..all }
    }

    #[test]
    fn folding_ignores_case() {
        for (one, other) in [
            ("Grün", "GRÜN"),
            ("Straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("ПРИВЕТ", "привет"),
            ("İstanbul", "İSTANBUL"),
            ("日本", "日本"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} and {other}");
        }
        assert_ne!(folded("grun"), folded("grün"));
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
