//! The one table of question types.
//!
//! A type is one file that says everything about it, and one line here.

use serde::Serialize;
use serde_json::Value;

use super::answer::Problems;
use super::rules::{Comparable, Label, Rules};
use crate::counts::counted::Counted;
use crate::definition::reader::Reader;
use crate::text_map::Texts;

macro_rules! types {
    ($($name:literal => $variant:ident in $module:ident, $label:literal, $purpose:literal;)*) => {
        $(pub use super::$module::$variant;)*

        /// A question's type with that type's own fields.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum QuestionType { $($variant($variant),)* }

        impl QuestionType {
            /// The name of every type there is, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];

            /// What authors choose from: each type's name, what they call it, and what it is for.
            pub const OFFERED: &[(&str, &str, &str)] = &[$(($name, $label, $purpose)),*];

            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// What authors call the type.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$variant(_) => $label,)* }
            }

            /// Whether there is anything to answer.
            pub fn is_answerable(&self) -> bool {
                match self { $(Self::$variant(_) => $variant::ANSWERABLE,)* }
            }

            pub(super) fn read(name: &str, reader: &mut Reader<'_>) -> Option<Self> {
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

            /// How the answers to it are counted.
            pub fn counted(&self) -> Counted<'_> {
                match self { $(Self::$variant(rules) => rules.counted(),)* }
            }

            pub(crate) fn comparable(&self) -> Comparable<'_> {
                match self { $(Self::$variant(rules) => rules.comparable(),)* }
            }

            pub(super) fn text_chars_max(&self) -> u32 {
                match self { $(Self::$variant(rules) => rules.text_chars_max(),)* }
            }

            pub(super) fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
                match self { $(Self::$variant(rules) => rules.labels(),)* }
            }
        }

        /// Each type's name, needed fields and schema of its own fields.
        pub(crate) fn schemas() -> Vec<(&'static str, &'static [&'static str], Value)> {
            vec![$(($name, $variant::NEEDED, $variant::schema())),*]
        }
    };
}

types! {
    "shortText" => ShortText in short_text, "Short text", "One line, such as a name.";
    "longText" => LongText in long_text, "Long text", "Several lines, in their own words.";
    "email" => Email in email, "E-mail address", "Checked to look like one.";
    "url" => Url in url, "Web address", "A link that starts with http.";
    "phone" => Phone in phone, "Telephone number", "Digits, spaces and + - ( ).";
    "number" => Number in number, "Number", "Within limits, if you like.";
    "date" => Date in date, "Date", "A day of the calendar.";
    "singleChoice" => SingleChoice in single_choice, "Single choice", "One of several options, all in view.";
    "dropdown" => Dropdown in dropdown, "Dropdown", "One of many options, in a list that unfolds.";
    "multipleChoice" => MultipleChoice in multiple_choice, "Multiple choice", "Any of several options.";
    "ranking" => Ranking in ranking, "Ranking", "Options to be put in order.";
    "matrix" => Matrix in matrix, "Matrix", "The same scale for several things.";
    "rating" => Rating in rating, "Rating", "Three to ten stars, numbers or faces.";
    "nps" => Nps in nps, "Net promoter score", "How likely to recommend, from 0 to 10.";
    "yesNo" => YesNo in yes_no, "Yes or no", "Two buttons.";
    "consent" => Consent in consent, "Consent", "A box to tick.";
    "statement" => Statement in statement, "Statement", "Something to read; no answer.";
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition::reader::Faults;

    #[test]
    fn every_types_schema_has_exactly_the_fields_that_it_reads() {
        for (name, needed, schema) in schemas() {
            let faults = Faults::default();
            let empty = json!({});
            let mut reader = Reader::open(&empty, String::new(), &faults).unwrap();
            QuestionType::read(name, &mut reader).unwrap();
            let mut read: Vec<_> = reader.asked().to_vec();
            let mut described: Vec<_> =
                schema.as_object().unwrap().keys().map(String::as_str).collect();
            read.sort_unstable();
            described.sort_unstable();
            assert_eq!(read, described, "{name}");
            let missed: Vec<_> = faults.into_vec().into_iter().map(|fault| fault.pointer).collect();
            let needed: Vec<_> = needed.iter().map(|field| format!("/{field}")).collect();
            assert_eq!(missed, needed, "{name}");
        }
    }
}
