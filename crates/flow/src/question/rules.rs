//! What every question type defines, and the kinds of values that it defines it with.

use super::answer::Problems;
use super::choice::Choice;
use super::field::Field;
use super::input::Input;
use crate::counts::counted::Counted;
use crate::definition::limits::ANSWER_CHARS_MAX;
use crate::definition::reader::Reader;
use crate::text_map::Texts;

/// What a type defines.
pub(crate) trait Rules: Sized {
    /// Whether there is anything to answer.
    const ANSWERABLE: bool = true;
    /// Those of its own fields that must be given.
    const NEEDED: &[&str] = &[];

    /// Reads its own fields; faults go to the reader.
    fn read(reader: &mut Reader<'_>) -> Self;

    /// Notes whatever is wrong with an answer that is not absent.
    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>);

    /// Whether an answer is all that `required` asks for.
    fn is_whole(&self, _answer: &Texts<'_>) -> bool {
        true
    }

    /// The control that it is answered with. There is no default, nor for the three that follow.
    fn input(&self) -> Input<'_>;

    /// How its answers are counted.
    fn counted(&self) -> Counted<'_>;

    /// What conditions may ask of an answer.
    fn comparable(&self) -> Comparable<'_>;

    /// The most characters of an answer that is one text.
    fn text_chars_max(&self) -> u32 {
        ANSWER_CHARS_MAX
    }

    /// Its own texts that can be translated, by field name.
    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        Vec::new()
    }

    /// Its own fields.
    fn fields() -> Vec<Field>;
}

/// What conditions may ask of an answer, besides whether there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Comparable<'q> {
    /// There is never an answer.
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
    /// The name by which the editor's script distinguishes them.
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

/// A text that can be translated.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label<'q> {
    One,
    /// One label for each of these.
    Each(&'q [Choice]),
}
