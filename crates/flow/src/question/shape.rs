//! The kind of value of an answer, and its readable text: for code that exports, searches or shows
//! answers.

use std::borrow::Cow;

use super::choice::{Choice, OTHER_PREFIX};
use super::rules::{Comparable, Label};
use super::types::QuestionType;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Free text.
    Text,
    /// A decimal number.
    Number,
    /// `YYYY-MM-DD`.
    Date,
    /// One of a few fixed values or options, or `other:` with a text.
    Word,
    /// Several of these.
    List,
    /// The question takes no answer.
    Nothing,
}

impl Shape {
    /// A shape that fits the answers of two versions with these two shapes.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Nothing, shape) | (shape, Self::Nothing) => shape,
            (Self::List, _) | (_, Self::List) => Self::List,
            _ => Self::Text,
        }
    }
}

impl QuestionType {
    pub fn shape(&self) -> Shape {
        match self.comparable() {
            Comparable::Never => Shape::Nothing,
            Comparable::Text => Shape::Text,
            Comparable::Number => Shape::Number,
            Comparable::Date => Shape::Date,
            Comparable::Words(_) | Comparable::OneOf { .. } => Shape::Word,
            Comparable::Presence | Comparable::SomeOf { .. } | Comparable::Cells { .. } => {
                Shape::List
            }
        }
    }

    /// One text of an answer in readable form: the label of an option instead of its id.
    pub fn in_words<'t>(&'t self, text: &'t str) -> Cow<'t, str> {
        match self.comparable() {
            Comparable::Cells { rows, columns } => {
                let (row, column) = text.split_once(':').unwrap_or((text, ""));
                format!("{}: {}", label_of(rows, row), label_of(columns, column)).into()
            }
            Comparable::Words(_) => capitalised(text).into(),
            _ => match text.strip_prefix(OTHER_PREFIX) {
                Some(own) if self.shape() != Shape::Text => own.into(),
                _ => label_of(self.options(), text).into(),
            },
        }
    }

    /// The possible choices with their labels; empty for free text.
    pub fn choices(&self) -> Vec<(String, String)> {
        let own = |choices: &[Choice]| {
            choices.iter().map(|it| (it.id.clone(), it.label.clone())).collect::<Vec<_>>()
        };
        match self.comparable() {
            Comparable::Words(words) => {
                words.iter().map(|word| ((*word).to_owned(), capitalised(word))).collect()
            }
            Comparable::Cells { rows, columns } => rows
                .iter()
                .flat_map(|row| columns.iter().map(move |column| (row, column)))
                .map(|(row, column)| {
                    let id = format!("{}:{}", row.id, column.id);
                    (id, format!("{}: {}", row.label, column.label))
                })
                .collect(),
            _ => own(self.options()),
        }
    }

    pub(super) fn options(&self) -> &[Choice] {
        let each = self.labels().into_iter().find_map(|(name, label)| match label {
            Label::Each(choices) if name == "options" => Some(choices),
            _ => None,
        });
        each.unwrap_or_default()
    }
}

fn label_of<'t>(choices: &'t [Choice], id: &'t str) -> &'t str {
    choices.iter().find(|choice| choice.id == id).map_or(id, |choice| choice.label.as_str())
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Shape; 6] =
        [Shape::Text, Shape::Number, Shape::Date, Shape::Word, Shape::List, Shape::Nothing];

    #[test]
    fn an_answer_reads_as_its_label() {
        let options =
            serde_json::json!([{"id": "api", "label": "The API"}, {"id": "b", "label": "B"}]);
        let questions = serde_json::json!([
            {"id": "one", "type": "singleChoice", "prompt": "?", "options": options, "allowOther": true},
            {"id": "rank", "type": "ranking", "prompt": "?", "options": options},
            {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
            {"id": "yes", "type": "yesNo", "prompt": "?"},
            {"id": "text", "type": "shortText", "prompt": "?"},
        ]);
        let draft = serde_json::json!({"title": "t", "questions": questions});
        let definition = crate::definition::check(&draft).unwrap();
        for (question, text, words) in [
            ("one", "api", "The API"),
            ("one", "other:my own", "my own"),
            ("one", "gone", "gone"),
            ("rank", "b", "B"),
            ("grid", "api:b", "The API: B"),
            ("yes", "no", "No"),
            ("text", "other:x", "other:x"),
        ] {
            let kind = &definition.question(question).unwrap().question_type;
            assert_eq!(kind.in_words(text), words, "{question} {text}");
        }
        let of = |question| definition.question(question).unwrap().question_type.choices();
        assert_eq!(
            of("yes"),
            [("yes".to_owned(), "Yes".to_owned()), ("no".to_owned(), "No".to_owned())]
        );
        assert_eq!(of("grid").len(), 4);
        assert_eq!(of("rank").len(), 2);
        assert_eq!(of("text"), []);
    }

    #[test]
    fn combining_two_shapes_is_symmetric() {
        for one in ALL {
            assert_eq!(one.or(one), one);
            for other in ALL {
                assert_eq!(one.or(other), other.or(one), "{one:?} and {other:?}");
            }
        }
        assert_eq!(Shape::Number.or(Shape::Word), Shape::Text);
        assert_eq!(Shape::Word.or(Shape::List), Shape::List);
        assert_eq!(Shape::Nothing.or(Shape::Date), Shape::Date);
    }
}
