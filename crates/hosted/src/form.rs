//! The fields of a sent form, and the answers made from them.
//!
//! Fields are kept as sent, so that a form can be shown again exactly as it was filled in; the
//! types of the questions decide how they become answers. Names have at most three parts:
//! `answers.ID`, `other.ID`, `matrix.ID.ROW`, `rank.ID.OPTION`; ids contain no dot.

use std::borrow::Cow;
use std::collections::HashMap;

use sluice_flow::definition::Definition;
use sluice_flow::id::FormKey;
use sluice_flow::locale;
use sluice_flow::question::choice::{Choice, OTHER_PREFIX};
use sluice_flow::question::{Input, Question};
use sluice_flow::submission::{TextMap, Texts};
use sluice_http::query;

/// The most fields read from one form; our forms never have more.
const FIELDS_MAX: usize = 20_000;

/// Languages with a decimal comma, in which `12,5` is a number.
const DECIMAL_COMMA: [&str; 16] = [
    "cs", "da", "de", "el", "es", "fi", "fr", "it", "nb", "nl", "pl", "pt", "ru", "sv", "tr", "uk",
];

/// What a button does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormAction {
    Next,
    Back,
    Send,
}

/// The non-empty fields of a form, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Form {
    fields: Vec<(String, String)>,
    /// Field indexes by name, and by question: a form may have thousands of fields, and each is
    /// looked up by name.
    by_name: HashMap<String, Vec<usize>>,
    by_question: HashMap<String, Vec<usize>>,
}

impl Form {
    pub(super) fn parse(body: &str) -> Self {
        // An empty step is the end; any other empty field is dropped.
        let named = query::pairs(body).filter(|(name, value)| !value.is_empty() || name == "step");
        // Browsers end lines with CRLF, scripts with LF; the answer must be the same. Nobody types
        // a NUL, so it is removed.
        let owned = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
            (name.into_owned(), value.replace("\r\n", "\n").replace('\0', ""))
        };
        Self::from_fields(named.take(FIELDS_MAX).map(owned).collect())
    }

    fn from_fields(fields: Vec<(String, String)>) -> Self {
        let (mut by_name, mut by_question) = (HashMap::new(), HashMap::new());
        for (at, (name, _)) in fields.iter().enumerate() {
            by_name.entry(name.clone()).or_insert_with(Vec::new).push(at);
            if let Some(id) = question_of(name) {
                by_question.entry(id.to_owned()).or_insert_with(Vec::new).push(at);
            }
        }
        Self { fields, by_name, by_question }
    }

    /// The values of a field, in order.
    fn all(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        let places = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|&at| self.fields[at].1.as_str())
    }

    /// The last value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next_back()
    }

    /// Whether a box is ticked, or an option chosen.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|sent| sent == value)
    }

    pub(super) fn action(&self) -> FormAction {
        match self.get("go") {
            Some("send") => FormAction::Send,
            Some("back") => FormAction::Back,
            _ => FormAction::Next,
        }
    }

    /// The questions that were on the page.
    pub(super) fn shown(&self) -> Vec<&str> {
        self.all("on").collect()
    }

    pub(super) fn key(&self) -> Option<FormKey> {
        self.get("key")?.parse().ok()
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.has("analytics", "admitted")
    }

    /// The fields of one question.
    pub(super) fn of_question(&self, id: &str) -> impl Iterator<Item = &(String, String)> {
        let places = self.by_question.get(id).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|&at| &self.fields[at])
    }

    /// The form without the fields of questions for which `passes` is false.
    #[must_use]
    pub(super) fn keeping(&self, passes: impl Fn(&str) -> bool) -> Self {
        let is_kept = |(name, _): &&(String, String)| question_of(name).is_none_or(&passes);
        Self::from_fields(self.fields.iter().filter(is_kept).cloned().collect())
    }

    /// The answers made from the fields, for the questions of a definition.
    pub(super) fn answers<'f>(&'f self, definition: &'f Definition, language: &str) -> TextMap<'f> {
        let answered = definition.questions().iter().filter_map(|question| {
            let answer = self.answer(question, language)?;
            Some((Cow::Borrowed(question.id.as_str()), answer))
        });
        answered.collect()
    }

    fn answer<'f>(&'f self, question: &Question, language: &str) -> Option<Texts<'f>> {
        let id = &question.id;
        let field = format!("answers.{id}");
        let typed = || self.get(&field);
        let line = || typed().map(str::trim).filter(|text| !text.is_empty());
        let one = |text: Cow<'f, str>| Some(Texts::One(text));
        match question.question_type.input() {
            Input::Nothing => None,
            Input::SomeOf { .. } => many(self.chosen(id, &field)),
            Input::OneOf { .. } => self.chosen(id, &field).pop().and_then(one),
            Input::Order { options, .. } => many(self.ranked(id, options)),
            Input::Grid { rows, .. } => {
                let cell = |row: &Choice| {
                    let column = self.get(&format!("matrix.{id}.{}", row.id))?;
                    Some(Cow::Owned(format!("{}:{column}", row.id)))
                };
                many(rows.iter().filter_map(cell).collect())
            }
            Input::Number { .. } => one(plain_number(line()?, language)),
            Input::Paragraph { .. } => one(Cow::Borrowed(typed()?)),
            Input::Line { .. }
            | Input::Date { .. }
            | Input::Scale { .. }
            | Input::YesNo
            | Input::Tick { .. } => one(Cow::Borrowed(line()?)),
        }
    }

    /// The chosen options, including the free-text answer. Its text counts only while "other" is
    /// chosen, although the field is always sent.
    fn chosen<'f>(&'f self, id: &str, field: &str) -> Vec<Cow<'f, str>> {
        let own = self.get(&format!("other.{id}")).map_or("", str::trim);
        let option = |value| match value {
            OTHER_PREFIX => Cow::Owned(format!("{OTHER_PREFIX}{own}")),
            option => Cow::Borrowed(option),
        };
        self.all(field).map(option).collect()
    }

    /// The options in the order of their positions. Options that share a position are dropped, so
    /// that the ranking is reported as incomplete.
    fn ranked<'f>(&self, id: &str, options: &[Choice]) -> Vec<Cow<'f, str>> {
        let position = |option: &Choice| -> Option<usize> {
            self.get(&format!("rank.{id}.{}", option.id))?.parse().ok()
        };
        let mut placed: Vec<(usize, &str)> = options
            .iter()
            .filter_map(|option| Some((position(option)?, option.id.as_str())))
            .collect();
        placed.sort_by_key(|(position, _)| *position);
        let alone = |at: &usize| placed.iter().filter(|(position, _)| position == at).count() == 1;
        let unique = placed.iter().filter(|(position, _)| alone(position));
        let ranked: Vec<Cow<'f, str>> =
            unique.map(|(_, option)| Cow::Owned((*option).to_owned())).collect();
        // All options share one position: something was answered, but it is not an order.
        match (ranked.is_empty(), placed.first()) {
            (true, Some((_, option))) => vec![Cow::Owned((*option).to_owned())],
            _ => ranked,
        }
    }
}

fn many(texts: Vec<Cow<'_, str>>) -> Option<Texts<'_>> {
    (!texts.is_empty()).then_some(Texts::Many(texts))
}

/// The question that a field belongs to.
fn question_of(name: &str) -> Option<&str> {
    let mut parts = name.split('.');
    let kind = parts.next()?;
    let id = parts.next()?;
    matches!(kind, "answers" | "other" | "matrix" | "rank").then_some(id)
}

/// Converts a number to the canonical form from the notation of the language: native digits, a
/// decimal comma.
fn plain_number<'t>(text: &'t str, language: &str) -> Cow<'t, str> {
    let commas = DECIMAL_COMMA.contains(&locale::language(language)) && !text.contains('.');
    let plain = |letter: char| match letter {
        '٠'..='٩' => char::from_digit(letter as u32 - '٠' as u32, 10).unwrap_or(letter),
        '۰'..='۹' => char::from_digit(letter as u32 - '۰' as u32, 10).unwrap_or(letter),
        '٫' => '.',
        ',' if commas => '.',
        '\u{2212}' => '-',
        letter => letter,
    };
    let written: String = text.chars().map(plain).collect();
    if written == text { Cow::Borrowed(text) } else { Cow::Owned(written) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluice_flow::definition;

    use super::*;

    fn survey() -> Definition {
        let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]);
        let question = |id: &str, kind: &str| json!({"id": id, "type": kind, "prompt": "?"});
        let with = |id: &str, kind: &str| {
            let mut question = question(id, kind);
            question["options"] = options.clone();
            if kind != "ranking" {
                question["allowOther"] = json!(true);
            }
            question
        };
        let mut matrix = question("grid", "matrix");
        matrix["rows"] = options.clone();
        matrix["columns"] = options.clone();
        let draft = json!({"title": "t", "questions": [
            question("line", "shortText"), question("text", "longText"), question("number", "number"),
            with("one", "singleChoice"), with("some", "multipleChoice"), with("order", "ranking"), matrix,
            question("said", "statement"),
        ]});
        definition::check(&draft).unwrap()
    }

    #[track_caller]
    fn check(body: &str, language: &str, answers: Value) {
        let (form, definition) = (Form::parse(body), survey());
        let made = form.answers(&definition, language);
        assert_eq!(serde_json::to_value(&made).unwrap(), answers, "{body}");
    }

    #[test]
    fn fields_become_answers_by_the_types_of_their_questions() {
        check("", "en", json!({}));
        check(
            "answers.line=+a+&answers.text=+b%0D%0Ac+",
            "en",
            json!({"line": "a", "text": " b\nc "}),
        );
        check("answers.line=+&answers.nosuch=1&answers.said=1", "en", json!({}));
        check("answers.one=a", "en", json!({"one": "a"}));
        check("answers.one=other%3A&other.one=+mine+", "en", json!({"one": "other:mine"}));
        check("answers.one=a&other.one=mine", "en", json!({"one": "a"}));
        check("other.one=mine", "en", json!({}));
        check("answers.one=other%3A", "en", json!({"one": "other:"}));
        check(
            "answers.some=a&answers.some=other%3A&other.some=x",
            "en",
            json!({"some": ["a", "other:x"]}),
        );
        check("answers.some=a", "en", json!({"some": ["a"]}));
        check(
            "matrix.grid.a=b&matrix.grid.c=c&matrix.grid.z=c",
            "en",
            json!({"grid": ["a:b", "c:c"]}),
        );
    }

    #[test]
    fn a_ranking_is_an_order_only_if_no_two_options_share_a_position() {
        check(
            "rank.order.a=2&rank.order.b=1&rank.order.c=3",
            "en",
            json!({"order": ["b", "a", "c"]}),
        );
        check("rank.order.a=1&rank.order.b=1&rank.order.c=3", "en", json!({"order": ["c"]}));
        check("rank.order.a=1&rank.order.b=1&rank.order.c=1", "en", json!({"order": ["a"]}));
        check("rank.order.a=1", "en", json!({"order": ["a"]}));
    }

    #[test]
    fn a_number_is_read_in_the_notation_of_the_language() {
        for (language, written, number) in [
            ("en", "12.5", "12.5"),
            ("en", "1,000", "1,000"),
            ("de-AT", "12,5", "12.5"),
            ("de", "1.000,5", "1.000,5"),
            ("ar", "١٢٫٥", "12.5"),
            ("fa", "۴۲", "42"),
            ("en", "−3", "-3"),
        ] {
            check(&format!("answers.number={written}"), language, json!({"number": number}));
        }
    }

    #[test]
    fn fields_of_questions_are_separate_from_those_of_the_page() {
        let form =
            Form::parse("answers.a=1&other.a=2&rank.b.x=1&key=k&analytics=admitted&version=v.w");
        assert_eq!(form.of_question("a").count(), 2);
        let form = form.keeping(|id| id == "b");
        assert_eq!(form.get("answers.a"), None);
        assert_eq!(form.get("rank.b.x"), Some("1"));
        assert!(form.is_admitted() && form.get("version") == Some("v.w"));
    }
}
