//! The table of question types.
//!
//! A type is one file in this folder that defines everything about it, and one line in the table
//! below (with its `mod`). No other code of the server lists the types; each SDK has a table.

mod consent;
mod date;
mod dropdown;
mod email;
mod long_text;
pub(crate) mod matrix;
mod multiple_choice;
mod nps;
mod number;
mod phone;
mod ranking;
mod rating;
mod short_text;
mod single_choice;
mod statement;
pub(crate) mod url;
mod yes_no;

use serde::Serialize;
use serde_json::{Map, Value};

pub use self::nps::NpsGroup;
use crate::counts::count_method::CountMethod;
use crate::definition::reader::{Faults, ObjectReader};
use crate::question::answer::Problems;
use crate::question::field::{self, Field, FieldKind};
use crate::question::input::Input;
use crate::question::rules::{Comparable, Label, Rules, Scoring};
use crate::score::Score;
use crate::text_map::Texts;

macro_rules! types {
    ($($name:literal => $variant:ident in $module:ident, $label:literal, $purpose:literal;)*) => {
        $(pub use self::$module::$variant;)*

        /// A question's type with that type's own fields.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum QuestionType { $($variant($variant),)* }

        impl QuestionType {
            /// The name of every type, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The types for authors to choose from: name, label, and purpose.
            pub const OFFERED: &[(&str, &str, &str)] = &[$(($name, $label, $purpose)),*];

            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The author-facing name of the type.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$variant(_) => $label,)* }
            }

            /// The path of the type's icon, 24 units square, drawn with one line.
            pub fn icon(&self) -> &'static str {
                match self { $(Self::$variant(_) => $variant::ICON,)* }
            }

            /// Whether the question takes an answer.
            pub fn is_answerable(&self) -> bool {
                match self { $(Self::$variant(_) => $variant::ANSWERABLE,)* }
            }

            pub(in crate::question) fn read(
                name: &str,
                reader: &mut ObjectReader<'_>,
            ) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::read(reader))),)*
                    _ => None,
                }
            }

            pub(crate) fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
                match self { $(Self::$variant(rules) => rules.judge(answer, problems),)* }
            }

            pub(crate) fn is_whole(&self, answer: &Texts<'_>) -> bool {
                match self { $(Self::$variant(rules) => rules.is_whole(answer),)* }
            }

            /// The control with which it is answered.
            pub fn input(&self) -> Input<'_> {
                match self { $(Self::$variant(rules) => rules.input(),)* }
            }

            /// The type's own fields.
            pub fn fields(&self) -> Vec<Field> {
                match self { $(Self::$variant(_) => $variant::fields(),)* }
            }

            /// How its answers are counted.
            pub fn count_method(&self) -> CountMethod<'_> {
                match self { $(Self::$variant(rules) => rules.count_method(),)* }
            }

            pub(crate) fn comparable(&self) -> Comparable<'_> {
                match self { $(Self::$variant(rules) => rules.comparable(),)* }
            }

            fn scoring(&self) -> Scoring<'_> {
                match self { $(Self::$variant(rules) => rules.scoring(),)* }
            }

            pub(in crate::question) fn text_chars_max(&self) -> u32 {
                match self { $(Self::$variant(rules) => rules.text_chars_max(),)* }
            }

            pub(in crate::question) fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
                match self { $(Self::$variant(rules) => rules.labels(),)* }
            }
        }

        /// Each type's name, required fields and schema of its own fields.
        pub(crate) fn schemas() -> Vec<(&'static str, &'static [&'static str], Map<String, Value>)> {
            vec![$(($name, $variant::NEEDED, field::schemas(&$variant::fields()))),*]
        }
    };
}

types! {
    "shortText" => ShortText in short_text, "Short text", "One line, such as a name.";
    "longText" => LongText in long_text, "Long text", "Several lines of free text.";
    "email" => Email in email, "E-mail address", "The format is checked.";
    "url" => Url in url, "Web address", "A link that starts with http.";
    "phone" => Phone in phone, "Telephone number", "Digits, spaces and + - ( ).";
    "number" => Number in number, "Number", "With optional limits.";
    "date" => Date in date, "Date", "A calendar date.";
    "singleChoice" => SingleChoice in single_choice, "Single choice", "One of several options, all in view.";
    "dropdown" => Dropdown in dropdown, "Dropdown", "One of many options, in a drop-down list.";
    "multipleChoice" => MultipleChoice in multiple_choice, "Multiple choice", "Any of several options.";
    "ranking" => Ranking in ranking, "Ranking", "Options to put in order.";
    "matrix" => Matrix in matrix, "Matrix", "The same scale for several items.";
    "rating" => Rating in rating, "Rating", "Three to ten stars, numbers or faces.";
    "nps" => Nps in nps, "Net promoter score", "How likely to recommend, from 0 to 10.";
    "yesNo" => YesNo in yes_no, "Yes or no", "Two buttons.";
    "consent" => Consent in consent, "Consent", "A checkbox.";
    "statement" => Statement in statement, "Statement", "Text without an answer.";
}

impl QuestionType {
    /// A question of this type with nothing set, for properties that all questions of a type share.
    pub fn blank(name: &str) -> Option<Self> {
        let (nothing, faults) = (Value::Object(Map::new()), Faults::default());
        let mut reader = ObjectReader::open(&nothing, String::new(), &faults)?;
        Self::read(name, &mut reader)
    }

    /// The author-facing name of the type with this name.
    pub fn label_of(name: &str) -> Option<&'static str> {
        Self::OFFERED.iter().find(|(own, ..)| *own == name).map(|(_, label, _)| *label)
    }

    /// Whether an answer can add to the score.
    pub fn is_scored(&self) -> bool {
        match self.scoring() {
            Scoring::Nothing => false,
            Scoring::Options(options) => options.iter().any(|option| option.score.is_some()),
            Scoring::Value => true,
        }
    }

    /// What a valid answer adds to the score.
    pub(crate) fn score(&self, answer: &Texts<'_>) -> Score {
        let mut sum = Score::default();
        let texts = answer.as_slice();
        match self.scoring() {
            Scoring::Nothing => {}
            Scoring::Options(options) => {
                let chosen = options.iter().filter(|it| texts.iter().any(|id| *id == it.id));
                chosen.filter_map(|option| option.score).for_each(|score| sum += score);
            }
            Scoring::Value => texts.iter().take(1).for_each(|it| sum += Score::from_mark(it)),
        }
        sum
    }

    /// The names of its fields that are lists of choices.
    pub fn choice_fields(&self) -> Vec<&'static str> {
        let choices = self.fields().into_iter();
        choices
            .filter(|field| matches!(field.kind, FieldKind::Choices { .. }))
            .map(|field| field.name)
            .collect()
    }

    /// The tests that conditions may apply to an answer, by their name in the editor's script.
    pub fn comparison(&self) -> &'static str {
        self.comparable().as_str()
    }

    /// The only possible answers, if they are the same for all questions of the type.
    pub fn fixed_answers(&self) -> &'static [&'static str] {
        match self.comparable() {
            Comparable::Words(words) => words,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_has_a_separate_icon() {
        let icons =
            QuestionType::NAMES.iter().map(|name| QuestionType::blank(name).unwrap().icon());
        assert_eq!(icons.collect::<BTreeSet<_>>().len(), QuestionType::NAMES.len());
    }

    #[test]
    fn every_types_schema_has_exactly_the_fields_that_it_reads() {
        for (name, needed, schema) in schemas() {
            let faults = Faults::default();
            let empty = json!({});
            let mut reader = ObjectReader::open(&empty, String::new(), &faults).unwrap();
            QuestionType::read(name, &mut reader).unwrap();
            let mut read: Vec<_> = reader.asked().to_vec();
            let mut described: Vec<_> = schema.keys().map(String::as_str).collect();
            read.sort_unstable();
            described.sort_unstable();
            assert_eq!(read, described, "{name}");
            let missed: Vec<_> = faults.into_vec().into_iter().map(|fault| fault.pointer).collect();
            let needed: Vec<_> = needed.iter().map(|field| format!("/{field}")).collect();
            assert_eq!(missed, needed, "{name}");
        }
    }
}
