//! One response with its JSON columns parsed and its values in the order of the export's columns.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::json;
use sluice_flow::question::Shape;
use sluice_flow::submission::{Texts, each_entry};
use sluice_flow::time::Day;
use sluice_store::ResponseRow;

use super::ExportFailed;
use crate::question_history::HistoricQuestion;

const USER_ID: &str = "userId";
const EMAIL: &str = "traits.email";

/// Which answers and tags a row has, in which order.
#[derive(Debug, Default)]
pub(super) struct RowLayout {
    pub(super) questions: Vec<HistoricQuestion>,
    /// Ordered by name.
    pub(super) tags: Vec<String>,
    /// The positions of the questions in the order of their ids, which is how answers are stored.
    by_id: Vec<usize>,
    /// Whether answers may not fit their column, because not every version could be read.
    has_unreadable: bool,
}

impl RowLayout {
    pub(super) fn new(
        questions: Vec<HistoricQuestion>,
        tags: Vec<String>,
        has_unreadable: bool,
    ) -> Self {
        let mut by_id: Vec<usize> = (0..questions.len()).collect();
        by_id.sort_by(|&one, &other| questions[one].id.cmp(&questions[other].id));
        Self { questions, tags, by_id, has_unreadable }
    }

    /// Whether the column of a question can hold an answer to it.
    fn fits(&self, position: usize, answer: &Texts<'_>) -> bool {
        match (self.questions[position].shape, answer) {
            _ if !self.has_unreadable => true,
            (Shape::List, _) => true,
            (_, Texts::Many(_)) => false,
            (Shape::Number, Texts::One(text)) => text.parse::<f64>().is_ok(),
            (Shape::Date, Texts::One(text)) => text.parse::<Day>().is_ok(),
            (Shape::Text | Shape::Word | Shape::Nothing, Texts::One(_)) => true,
        }
    }

    /// The position of the question with this id.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        let found = self.by_id.binary_search_by(|&at| self.questions[at].id.as_str().cmp(id));
        found.ok().map(|place| self.by_id[place])
    }
}

/// Allocated once and filled again for each row.
#[derive(Debug)]
pub(super) struct FlatRow<'r> {
    /// Indexed by the position of the question.
    pub(super) answers: Vec<Option<Texts<'r>>>,
    /// Answers that have no column.
    more_answers: Vec<(Cow<'r, str>, Texts<'r>)>,
    /// Indexed by the position of the name.
    pub(super) tags: Vec<Option<Texts<'r>>>,
    /// Tags that have no column.
    more_tags: Vec<(Cow<'r, str>, Texts<'r>)>,
    pub(super) user_id: Option<Cow<'r, str>>,
    pub(super) email: Option<Cow<'r, str>>,
    more_identities: Vec<Identity<'r>>,
    /// locale, path, referrer, search, userAgent.
    pub(super) context: [Option<Cow<'r, str>>; 5],
}

impl<'r> FlatRow<'r> {
    pub(super) fn new(layout: &RowLayout) -> Self {
        Self {
            answers: vec![None; layout.questions.len()],
            more_answers: Vec::new(),
            tags: vec![None; layout.tags.len()],
            more_tags: Vec::new(),
            user_id: None,
            email: None,
            more_identities: Vec::new(),
            context: [const { None }; 5],
        }
    }

    pub(super) fn fill(
        &mut self,
        row: &'r ResponseRow,
        layout: &RowLayout,
    ) -> Result<(), ExportFailed> {
        let unreadable = |error: serde_json::Error| {
            ExportFailed(format!("{} cannot be read: {error}", row.response_id))
        };
        self.answers.fill(None);
        self.tags.fill(None);
        self.more_answers.clear();
        self.more_tags.clear();
        self.more_identities.clear();
        (self.user_id, self.email) = (None, None);
        self.context = [const { None }; 5];
        self.fill_answers(&row.answers, layout).map_err(unreadable)?;
        if let Some(tags) = &row.tags {
            self.fill_tags(tags, layout).map_err(unreadable)?;
        }
        if let Some(identities) = &row.identities {
            self.fill_identities(serde_json::from_str(identities).map_err(unreadable)?);
        }
        if let Some(context) = &row.context {
            let context: Context<'r> = serde_json::from_str(context).map_err(unreadable)?;
            let page = context.page.unwrap_or_default();
            let texts = [context.locale, page.path, page.referrer, page.search, context.user_agent];
            self.context = texts.map(|text| text.map(|Text(text)| text));
        }
        Ok(())
    }

    /// Answers are stored in the order of their questions' ids, so the next is usually found at
    /// once.
    fn fill_answers(&mut self, json: &'r str, layout: &RowLayout) -> serde_json::Result<()> {
        let id_at = |place: usize| layout.questions[layout.by_id[place]].id.as_str();
        let mut next = 0;
        let (answers, more) = (&mut self.answers, &mut self.more_answers);
        each_entry(json, |id, texts| {
            while next < layout.by_id.len() && id_at(next) < &*id {
                next += 1;
            }
            let position = match next < layout.by_id.len() && id_at(next) == id {
                true => Some(layout.by_id[next]),
                false => layout.position(&id),
            };
            match position {
                Some(position) if layout.fits(position, &texts) => {
                    answers[position] = Some(texts);
                }
                _ => more.push((id, texts)),
            }
        })
    }

    fn fill_tags(&mut self, json: &'r str, layout: &RowLayout) -> serde_json::Result<()> {
        let (tags, more) = (&mut self.tags, &mut self.more_tags);
        each_entry(json, |name, texts| {
            match layout.tags.binary_search_by(|tag| tag.as_str().cmp(&name)) {
                Ok(place) => tags[place] = Some(texts),
                Err(_) => more.push((name, texts)),
            }
        })
    }

    fn fill_identities(&mut self, identities: Vec<Identity<'r>>) {
        for identity in identities {
            match &*identity.kind.0 {
                USER_ID if self.user_id.is_none() => self.user_id = Some(identity.value.0),
                EMAIL if self.email.is_none() => self.email = Some(identity.value.0),
                _ => self.more_identities.push(identity),
            }
        }
    }

    /// Identities without a dedicated column, as JSON.
    pub(super) fn other_identities(&self) -> Option<String> {
        if self.more_identities.is_empty() {
            return None;
        }
        let items = self.more_identities.iter();
        let items = items.map(|it| json!({"type": it.kind.0, "value": it.value.0}));
        Some(serde_json::Value::Array(items.collect()).to_string())
    }

    /// Answers without a column, as JSON.
    pub(super) fn other_answers(&self) -> Option<String> {
        as_json(&self.more_answers)
    }

    /// Tags without a dedicated column, as JSON.
    pub(super) fn other_tags(&self) -> Option<String> {
        as_json(&self.more_tags)
    }
}

/// Names and texts as an object; none if there are none.
fn as_json(entries: &[(Cow<'_, str>, Texts<'_>)]) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let items = entries.iter().map(|(name, texts)| match texts {
        Texts::One(text) => (name.to_string(), json!(text)),
        Texts::Many(texts) => (name.to_string(), json!(texts)),
    });
    Some(serde_json::Value::Object(items.collect()).to_string())
}

#[derive(Debug, serde::Deserialize)]
struct Identity<'r> {
    #[serde(rename = "type", borrow)]
    kind: Text<'r>,
    #[serde(borrow)]
    value: Text<'r>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context<'r> {
    #[serde(borrow)]
    locale: Option<Text<'r>>,
    #[serde(borrow)]
    page: Option<PageContext<'r>>,
    #[serde(borrow)]
    user_agent: Option<Text<'r>>,
}

#[derive(Debug, Default, serde::Deserialize)]
struct PageContext<'r> {
    #[serde(borrow)]
    path: Option<Text<'r>>,
    #[serde(borrow)]
    referrer: Option<Text<'r>>,
    #[serde(borrow)]
    search: Option<Text<'r>>,
}

/// A text that borrows if possible; serde's own support copies within an `Option`.
#[derive(Debug)]
struct Text<'r>(Cow<'r, str>);

impl<'de: 'r, 'r> Deserialize<'de> for Text<'r> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}
