//! How an answer is given: the kinds of controls that there are, with what each needs to know.
//!
//! A question type chooses one of these. Forms, their parsing, the script of the hosted page,
//! thumbnails and example answers match on it and never on the type, so a new type that is asked
//! for in one of these ways needs nothing there. A new kind of control is a new variant here; the
//! compiler then names every place that must know it.

use serde::Serialize;

use super::choice::{Choice, Options};
use super::decimal::Decimal;
use super::text::Length;

/// The control that a question is answered with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'q> {
    /// There is nothing to answer.
    Nothing,
    /// One line of text.
    Line {
        format: Format,
        length: Length,
    },
    /// Several lines of text.
    Paragraph {
        length: Length,
    },
    Number {
        min: Option<&'q Decimal>,
        max: Option<&'q Decimal>,
        integer: bool,
    },
    Date {
        min: Option<&'q str>,
        max: Option<&'q str>,
    },
    /// One of these options; in a list that opens if `dropdown`, otherwise all in view.
    OneOf {
        options: &'q Options,
        dropdown: bool,
    },
    /// Any of these options.
    SomeOf {
        options: &'q Options,
        min: Option<u32>,
        max: Option<u32>,
    },
    /// All of these options, in an order.
    Order {
        options: &'q [Choice],
    },
    /// One column for each row.
    Grid {
        rows: &'q [Choice],
        columns: &'q [Choice],
    },
    /// One mark from `low` to `high`.
    Scale {
        low: u32,
        high: u32,
        marks: Marks,
        low_label: Option<&'q str>,
        high_label: Option<&'q str>,
    },
    /// `yes` or `no`.
    YesNo,
    /// A box to tick, which answers `value`.
    Tick {
        value: &'static str,
    },
}

/// What a line of text must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Email,
    Url,
    Phone,
}

/// What the marks of a scale look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    #[default]
    Star,
    Number,
    Emoji,
}

impl Marks {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Number => "number",
            Self::Emoji => "emoji",
        }
    }
}

impl Input<'_> {
    /// The name by which scripts tell the kinds apart.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Line { format: Format::Text, .. } => "text",
            Self::Line { format: Format::Email, .. } => "email",
            Self::Line { format: Format::Url, .. } => "url",
            Self::Line { format: Format::Phone, .. } => "phone",
            Self::Paragraph { .. } => "paragraph",
            Self::Number { .. } => "number",
            Self::Date { .. } => "date",
            Self::OneOf { dropdown: false, .. } => "one",
            Self::OneOf { dropdown: true, .. } => "dropdown",
            Self::SomeOf { .. } => "some",
            Self::Order { .. } => "order",
            Self::Grid { .. } => "grid",
            Self::Scale { .. } => "scale",
            Self::YesNo => "yesNo",
            Self::Tick { .. } => "tick",
        }
    }

    /// Whether answers are prose, written freely.
    pub fn is_prose(&self) -> bool {
        matches!(self, Self::Line { format: Format::Text, .. } | Self::Paragraph { .. })
    }

    /// Whether answers given before and after a change of this field do not compare, because the
    /// scale is another.
    pub(crate) fn is_scale(&self, field: &str) -> bool {
        match self {
            Self::Order { .. } => field == "options",
            Self::Grid { .. } => field == "columns",
            Self::Scale { .. } => field == "max",
            _ => false,
        }
    }
}
