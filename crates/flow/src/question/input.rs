//! How an answer is entered: the kinds of controls, with what each needs.
//!
//! A question type chooses one of these. Forms, their parsing, the script of the hosted page,
//! thumbnails, imports and example answers match on it and never on the type, so a new type that
//! uses an existing control needs no change there. A new kind of control is a new variant here; the
//! compiler then reports every match that must handle it.

use serde::Serialize;

use super::choice::{Choice, OptionOrder, Options};
use super::decimal::Decimal;
use super::text::Length;

/// The control with which a question is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'q> {
    /// No control: the question takes no answer.
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
    /// One of these options; in a drop-down list if `dropdown`, otherwise all visible.
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
    /// All of these options, put in order.
    Order {
        options: &'q [Choice],
        order: OptionOrder,
    },
    /// One column for each row.
    Grid {
        rows: &'q [Choice],
        columns: &'q [Choice],
    },
    /// One value from `low` to `high`.
    Scale {
        low: u32,
        high: u32,
        marks: Marks,
        /// Whether an answer adds its value to the score.
        is_scored: bool,
        low_label: Option<&'q str>,
        high_label: Option<&'q str>,
    },
    /// `yes` or `no`.
    YesNo,
    /// A checkbox with this value when ticked.
    Tick {
        value: &'static str,
    },
}

/// The format of a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Email,
    Url,
    Phone,
}

/// How the steps of a scale are drawn.
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
    /// The name of the control kind in scripts.
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

    /// Whether respondents write their answers as text, of whatever format.
    pub fn is_text(&self) -> bool {
        match self {
            Self::Line { .. } | Self::Paragraph { .. } => true,
            Self::Nothing
            | Self::Number { .. }
            | Self::Date { .. }
            | Self::OneOf { .. }
            | Self::SomeOf { .. }
            | Self::Order { .. }
            | Self::Grid { .. }
            | Self::Scale { .. }
            | Self::YesNo
            | Self::Tick { .. } => false,
        }
    }

    /// Whether answers are free text.
    pub fn is_prose(&self) -> bool {
        matches!(self, Self::Line { format: Format::Text, .. } | Self::Paragraph { .. })
    }

    /// Whether a change of this field makes answers from before and after incomparable, because the
    /// scale changes.
    pub(crate) fn is_scale(&self, field: &str) -> bool {
        match self {
            Self::Order { .. } => field == "options",
            Self::Grid { .. } => field == "columns",
            Self::Scale { .. } => field == "max",
            _ => false,
        }
    }
}
