//! The trait that every question type implements, and the values it uses.

use super::answer::Problems;
use super::choice::Choice;
use super::field::Field;
use super::input::Input;
use crate::counts::count_method::CountMethod;
use crate::definition::limits::ANSWER_CHARS_MAX;
use crate::definition::reader::ObjectReader;
use crate::text_map::Texts;

/// Implemented by each question type.
pub(crate) trait Rules: Sized {
    /// Whether the question takes an answer.
    const ANSWERABLE: bool = true;
    /// The path of its icon, 24 units square, drawn with one line.
    const ICON: &str;
    /// Its own required fields.
    const NEEDED: &[&str] = &[];

    /// Reads its own fields; faults go to the reader.
    fn read(reader: &mut ObjectReader<'_>) -> Self;

    /// Reports everything wrong with an answer that is not absent.
    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>);

    /// Whether an answer satisfies `required`.
    fn is_whole(&self, _answer: &Texts<'_>) -> bool {
        true
    }

    /// The control with which it is answered. Deliberately without a default, like `count_method`,
    /// `comparable` and `fields`.
    fn input(&self) -> Input<'_>;

    /// How its answers are counted.
    fn count_method(&self) -> CountMethod<'_>;

    /// Which tests conditions may apply to an answer.
    fn comparable(&self) -> Comparable<'_>;

    /// What an answer adds to the score.
    fn scoring(&self) -> Scoring<'_> {
        Scoring::Nothing
    }

    /// The most characters of an answer that is a single text.
    fn text_chars_max(&self) -> u32 {
        ANSWER_CHARS_MAX
    }

    /// Its own translatable texts, by field name.
    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        Vec::new()
    }

    /// Its own fields.
    fn fields() -> Vec<Field>;
}

/// Which tests conditions may apply to an answer, besides whether there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Comparable<'q> {
    /// The question takes no answer.
    Never,
    /// Only whether there is an answer.
    Presence,
    Text,
    Number,
    Date,
    Words(&'static [&'static str]),
    OneOf {
        options: &'q [Choice],
        other: bool,
    },
    SomeOf {
        options: &'q [Choice],
        other: bool,
    },
    Cells {
        rows: &'q [Choice],
        columns: &'q [Choice],
    },
}

impl Comparable<'_> {
    /// The name used in the editor's script.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Presence => "presence",
            Self::Text => "text",
            Self::Number => "number",
            Self::Date => "date",
            Self::Words(_) => "words",
            Self::OneOf { .. } => "one",
            Self::SomeOf { .. } => "some",
            Self::Cells { .. } => "cells",
        }
    }
}

/// What an answer adds to the score.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scoring<'q> {
    Nothing,
    /// The scores of the chosen options.
    Options(&'q [Choice]),
    /// Its own value.
    Value,
}

/// A translatable text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label<'q> {
    One,
    /// One label for each choice.
    Each(&'q [Choice]),
    /// One alternative text for each choice that has an image with one.
    Alts(&'q [Choice]),
}
