//! Which columns an export has, and what stands in each of them.
//!
//! The order is the same for every export of a flow: what every response has, then the questions in the
//! order in which versions first asked them, then tags by name, then the context. A question that was
//! removed keeps its column. A column is called as its question; where that is the name of another column,
//! `answer.` stands before it.

use std::borrow::Cow;
use std::collections::HashMap;

use sluice_flow::id::FlowVersionId;
use sluice_flow::question::Shape;
use sluice_flow::submission::Texts;
use sluice_flow::time::Timestamp;
use sluice_store::ResponseRow;

use super::Headings;
use super::laid::Laid;
use crate::asked::{Asked, AskedQuestion};

/// What the cells of a column hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    Date,
    Time,
    Flag,
    List,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// What people read above it.
    pub(super) heading: String,
    pub(super) kind: Kind,
}

/// What takes the cells of one row after the other, from left to right.
pub(super) trait Cells {
    fn empty(&mut self);
    /// A text that somebody wrote.
    fn text(&mut self, text: &str);
    /// A text of ours: an id, or a word.
    fn word(&mut self, word: &str);
    fn whole(&mut self, number: u32);
    /// A decimal number as it was written.
    fn number(&mut self, number: &str);
    /// `YYYY-MM-DD`.
    fn date(&mut self, date: &str);
    fn time(&mut self, time: Timestamp);
    fn flag(&mut self, flag: bool);
    fn list(&mut self, texts: &[Cow<'_, str>]);
}

const FIRST: [(&str, Kind); 11] = [
    ("responseId", Kind::Text),
    ("receivedAt", Kind::Time),
    ("flowVersionId", Kind::Text),
    ("version", Kind::Whole),
    ("respondentAnalyticsAdmission", Kind::Text),
    ("respondentId", Kind::Text),
    ("identityVerified", Kind::Flag),
    ("identities.userId", Kind::Text),
    ("identities.traits.email", Kind::Text),
    ("identities.other", Kind::Text),
    ("flowAssignmentId", Kind::Text),
];
const LAST: [(&str, Kind); 6] = [
    ("tags.other", Kind::Text),
    ("context.locale", Kind::Text),
    ("context.page.path", Kind::Text),
    ("context.page.referrer", Kind::Text),
    ("context.page.search", Kind::Text),
    ("context.userAgent", Kind::Text),
];

#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) questions: Vec<AskedQuestion>,
    /// In the order of their names.
    pub(super) tags: Vec<String>,
    /// The positions of the questions in the order of their ids, which is how answers are stored.
    pub(super) by_id: Vec<usize>,
    /// Each version's id in writing, and its number.
    versions: HashMap<FlowVersionId, (String, u32)>,
    headings: Headings,
}

impl Columns {
    pub(super) fn new(asked: Asked, tags: Vec<String>, headings: Headings) -> Self {
        let Asked { questions, versions } = asked;
        let mut by_id: Vec<usize> = (0..questions.len()).collect();
        by_id.sort_by(|&one, &other| questions[one].id.cmp(&questions[other].id));
        let versions = versions.into_iter().map(|it| (it.id, (it.id.to_string(), it.number)));
        let versions = versions.collect();
        Self { questions, tags, by_id, versions, headings }
    }

    /// Every column, in order.
    pub(super) fn all(&self) -> Vec<Column> {
        let named = |name: String, kind| Column { heading: name.clone(), name, kind };
        let fixed = |(name, kind): &(&str, Kind)| named((*name).to_owned(), *kind);
        let questions = self.questions.iter().map(|question| Column {
            name: self.name_of(question),
            heading: self.heading_of(question),
            kind: match question.shape {
                Shape::Number => Kind::Number,
                Shape::Date => Kind::Date,
                Shape::List => Kind::List,
                Shape::Text | Shape::Word | Shape::Nothing => Kind::Text,
            },
        });
        let tags = self.tags.iter().map(|name| named(format!("tag.{name}"), Kind::List));
        let first = FIRST.iter().map(fixed);
        first.chain(questions).chain(tags).chain(LAST.iter().map(fixed)).collect()
    }

    /// What the column of a question is called.
    pub(super) fn name_of(&self, question: &AskedQuestion) -> String {
        match FIRST.iter().any(|(name, _)| *name == question.id) {
            true => format!("answer.{}", question.id),
            false => question.id.clone(),
        }
    }

    /// The id behind the text tells questions with the same text apart.
    fn heading_of(&self, question: &AskedQuestion) -> String {
        match self.headings {
            Headings::Ids => self.name_of(question),
            Headings::Texts => {
                let words: Vec<&str> = question.prompt.split_whitespace().collect();
                format!("{} [{}]", words.join(" "), question.id)
            }
        }
    }

    /// Hands out the cells of a row.
    pub(super) fn lay_out(&self, row: &ResponseRow, laid: &Laid<'_>, cells: &mut impl Cells) {
        cells.word(&row.response_id.to_string());
        cells.time(row.response_id.made_at());
        match self.versions.get(&row.flow_version_id) {
            Some((id, number)) => {
                cells.word(id);
                cells.whole(*number);
            }
            None => {
                cells.word(&row.flow_version_id.to_string());
                cells.empty();
            }
        }
        cells.word(row.admission.as_str());
        match row.respondent_id {
            Some(id) => cells.word(&id.to_string()),
            None => cells.empty(),
        }
        cells.flag(row.identity_verified);
        optional(cells, laid.user_id.as_deref());
        optional(cells, laid.email.as_deref());
        optional(cells, laid.other_identities().as_deref());
        optional(cells, row.flow_assignment_id.as_deref());
        for (question, answer) in self.questions.iter().zip(&laid.answers) {
            self::answer(cells, question.shape, answer.as_ref());
        }
        for tag in &laid.tags {
            match tag {
                Some(texts) => cells.list(each(texts)),
                None => cells.empty(),
            }
        }
        optional(cells, laid.other_tags().as_deref());
        for text in &laid.context {
            optional(cells, text.as_deref());
        }
    }
}

fn optional(cells: &mut impl Cells, text: Option<&str>) {
    match text {
        Some(text) => cells.text(text),
        None => cells.empty(),
    }
}

fn answer(cells: &mut impl Cells, shape: Shape, answer: Option<&Texts<'_>>) {
    let Some(answer) = answer else { return cells.empty() };
    match (shape, answer) {
        (Shape::List, texts) => cells.list(each(texts)),
        (_, Texts::Many(texts)) => match texts.first() {
            Some(text) => cells.text(text),
            None => cells.empty(),
        },
        (_, Texts::One(text)) if text.is_empty() => cells.empty(),
        (Shape::Number, Texts::One(text)) => cells.number(text),
        (Shape::Date, Texts::One(text)) => cells.date(text),
        (Shape::Text | Shape::Word | Shape::Nothing, Texts::One(text)) => cells.text(text),
    }
}

pub(super) fn each<'t, 'j>(texts: &'t Texts<'j>) -> &'t [Cow<'j, str>] {
    match texts {
        Texts::One(text) => std::slice::from_ref(text),
        Texts::Many(texts) => texts,
    }
}
