//! The order of responses by an answer or a tag, for tables that are sorted by a column.
//!
//! A value becomes a [`SortKey`]. Numbers compare as numbers, dates as dates, options by their
//! order in the question, texts without regard to case. If a question had several types, its
//! numbers come first, then dates, options, and texts. A response without the value is last in
//! both directions; responses with equal values are newest first in both directions.
//!
//! [`FirstResponses`] keeps the first of the order of any number of responses, so that sorting
//! needs one pass and a fixed amount of memory.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use crate::date::is_date;
use crate::folding::folded;
use crate::id::ResponseId;
use crate::question::choice::OTHER_PREFIX;
use crate::question::{Decimal, Input, QuestionType, Shape};
use crate::text_map::Texts;

/// Texts are compared by this many of their first characters.
pub const TEXT_CHARS_MAX: usize = 200;

/// A value, in the form in which values compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortKey {
    Number(Decimal),
    /// `YYYY-MM-DD`.
    Date(String),
    Options(Vec<OptionKey>),
    /// Folded.
    Text(String),
    /// There is no value.
    Nothing,
}

/// An option by its position, or a free text, which comes after all options.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionKey {
    Position(u32),
    Other(String),
}

impl SortKey {
    /// A text whose question or column has no other form.
    pub fn text(text: &str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(short(text)) }
    }

    pub fn number(number: u32) -> Self {
        Decimal::parse(&number.to_string()).map_or(Self::Nothing, Self::Number)
    }

    /// A plain decimal number; nothing if the text is none.
    pub fn decimal(text: &str) -> Self {
        Decimal::parse(text).map_or(Self::Nothing, Self::Number)
    }

    /// The value of a tag: a number if it is one. A list compares like its texts in a row.
    pub fn tag(tag: Option<&Texts<'_>>) -> Self {
        match tag.map(Texts::as_slice) {
            Some([text]) => match Decimal::parse(text) {
                Some(number) => Self::Number(number),
                None => Self::text(text),
            },
            Some(texts) => Self::text(&texts.join(", ")),
            None => Self::Nothing,
        }
    }

    /// Numbers before dates, dates before options, options before texts.
    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Date(_) => 1,
            Self::Options(_) => 2,
            Self::Text(_) => 3,
            Self::Nothing => 4,
        }
    }

    fn ascending(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.compared(other),
            (Self::Date(one), Self::Date(other)) | (Self::Text(one), Self::Text(other)) => {
                one.cmp(other)
            }
            (Self::Options(one), Self::Options(other)) => one.cmp(other),
            (one, other) => one.rank().cmp(&other.rank()),
        }
    }

    /// How two values compare in a direction; nothing is last in both.
    pub fn compare(&self, other: &Self, direction: Direction) -> Ordering {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => Ordering::Equal,
            (Self::Nothing, _) => Ordering::Greater,
            (_, Self::Nothing) => Ordering::Less,
            (one, other) => match direction {
                Direction::Ascending => one.ascending(other),
                Direction::Descending => other.ascending(one),
            },
        }
    }
}

/// Smallest first, or largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    pub fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// How the answers to a question are ordered, over all versions that ask it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerOrder {
    has_numbers: bool,
    has_dates: bool,
    /// In the newest version that offers them; options that it no longer offers are last.
    positions: HashMap<String, u32>,
    /// Whether the order of the texts in a list is part of the answer.
    is_ranked: bool,
}

impl AnswerOrder {
    /// From the types of the question in the versions that ask it, oldest first.
    pub fn new(types: &[&QuestionType]) -> Self {
        let mut order = Self::default();
        for question_type in types.iter().rev() {
            order.has_numbers |= question_type.shape() == Shape::Number;
            order.has_dates |= question_type.shape() == Shape::Date;
            order.is_ranked |= matches!(question_type.input(), Input::Order { .. });
            for (id, _) in question_type.choices() {
                let next = u32::try_from(order.positions.len()).unwrap_or(u32::MAX);
                order.positions.entry(id).or_insert(next);
            }
        }
        order
    }

    /// The key of an answer; `None` is no answer.
    pub fn key(&self, answer: Option<&Texts<'_>>) -> SortKey {
        let Some(answer) = answer.filter(|answer| !answer.is_absent()) else {
            return SortKey::Nothing;
        };
        let texts = answer.as_slice();
        let option = |text: &str| match self.positions.get(text) {
            Some(position) => Some(OptionKey::Position(*position)),
            None => text.strip_prefix(OTHER_PREFIX).map(|own| OptionKey::Other(short(own))),
        };
        if let [text] = texts {
            if let Some(number) = Decimal::parse(text).filter(|_| self.has_numbers) {
                return SortKey::Number(number);
            }
            if self.has_dates && is_date(text) {
                return SortKey::Date(text.clone().into_owned());
            }
        }
        let options: Option<Vec<_>> = texts.iter().map(|text| option(text)).collect();
        match options.filter(|_| !self.positions.is_empty()) {
            Some(mut options) => {
                if !self.is_ranked {
                    options.sort_unstable();
                }
                SortKey::Options(options)
            }
            None => SortKey::text(&texts.join(", ")),
        }
    }
}

fn short(text: &str) -> String {
    let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    folded(&text[..end])
}

/// The first responses of an order, of all that were added.
#[derive(Debug)]
pub struct FirstResponses {
    limit: usize,
    direction: Direction,
    /// The last in the order is on top.
    heap: BinaryHeap<Ranked>,
}

impl FirstResponses {
    pub fn new(limit: usize, direction: Direction) -> Self {
        Self { limit, direction, heap: BinaryHeap::new() }
    }

    pub fn add(&mut self, key: SortKey, response: ResponseId) {
        let ranked = Ranked { key, response, direction: self.direction };
        if self.heap.len() < self.limit {
            self.heap.push(ranked);
        } else if let Some(mut last) = self.heap.peek_mut()
            && ranked < *last
        {
            *last = ranked;
        }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The responses in order.
    pub fn in_order(&self) -> Vec<ResponseId> {
        let mut ranked: Vec<&Ranked> = self.heap.iter().collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|it| it.response).collect()
    }
}

/// A response in the order of its key.
#[derive(Debug, PartialEq, Eq)]
struct Ranked {
    key: SortKey,
    response: ResponseId,
    direction: Direction,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = self.key.compare(&other.key, self.direction);
        by_key.then_with(|| other.response.cmp(&self.response))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
