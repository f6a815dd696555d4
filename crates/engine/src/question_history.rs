//! The questions of a flow, over all its published versions.

use std::sync::Arc;

use sluice_flow::answer_filter::{AnswerFilter, split_name};
use sluice_flow::definition::Definition;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::question::{QuestionType, Shape};
use sluice_store::{Store, VersionRow};

use crate::admin::AdminResult;
use crate::definitions::Definitions;

/// The number of versions to read at a time.
const VERSIONS_PAGE: usize = 200;

/// A question by its id, over all versions that asked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoricQuestion {
    pub id: String,
    /// The text and the type in the newest version that asks it.
    pub prompt: String,
    pub question_type: &'static str,
    /// A shape that fits the answers of all those versions.
    pub(crate) shape: Shape,
    /// The newest version that asks it.
    pub(crate) last_asked_in: u32,
}

/// The questions of a flow, and its versions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuestionHistory {
    /// In the order in which they first appeared, so that a later version adds to the end.
    pub questions: Vec<HistoricQuestion>,
    /// Oldest first.
    pub versions: Vec<HistoricVersion>,
    /// The id and number of versions whose definition cannot be read: their questions are missing.
    pub unreadable: Vec<(FlowVersionId, u32)>,
}

/// A published version.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoricVersion {
    pub id: FlowVersionId,
    pub number: u32,
    pub definition: Arc<Definition>,
}

impl QuestionHistory {
    pub fn version(&self, id: FlowVersionId) -> Option<&HistoricVersion> {
        self.versions.iter().find(|version| version.id == id)
    }

    /// The id and number of every version, oldest first, also of those that cannot be read.
    pub fn numbers(&self) -> Vec<(FlowVersionId, u32)> {
        let readable = self.versions.iter().map(|version| (version.id, version.number));
        let mut numbers: Vec<_> = readable.chain(self.unreadable.iter().copied()).collect();
        numbers.sort_unstable_by_key(|(_, number)| *number);
        numbers
    }

    /// The number of a version, also of one that cannot be read.
    pub fn number(&self, id: FlowVersionId) -> Option<u32> {
        self.numbers().into_iter().find(|(version, _)| *version == id).map(|(_, number)| number)
    }

    /// Whether a version asks this question for a text.
    pub(crate) fn asks_text(&self, version: FlowVersionId, question: &str) -> bool {
        let asked = self.version(version).and_then(|it| it.definition.question(question));
        asked.is_some_and(|it| it.question_type.shape() == Shape::Text)
    }

    /// Whether a version has scores.
    pub fn is_scored(&self) -> bool {
        self.versions.iter().any(|version| version.definition.is_scored())
    }

    /// The newest version.
    pub fn newest(&self) -> Option<&HistoricVersion> {
        self.versions.last()
    }

    /// Reads a filter by an answer, given as in a query without its prefix: `nps[lt]` and `7`. The
    /// error says what is possible.
    pub fn answer_filter(&self, name: &str, value: &str) -> Result<AnswerFilter, String> {
        let (question, _) = split_name(name);
        let types: Vec<&QuestionType> = self.types_of(question).collect();
        AnswerFilter::read(name, value, &types)
    }

    /// The types of a question in the versions that ask it, oldest first.
    pub fn types_of<'h, 'q>(
        &'h self,
        question: &'q str,
    ) -> impl Iterator<Item = &'h QuestionType> + use<'h, 'q> {
        let asking = self.versions.iter().filter_map(move |it| it.definition.question(question));
        asking.map(|question| &question.question_type)
    }

    /// Adds a version that is newer than those before.
    pub(crate) fn add(&mut self, id: FlowVersionId, number: u32, definition: Arc<Definition>) {
        let answerable =
            definition.questions().iter().filter(|it| it.question_type.is_answerable());
        for question in answerable {
            let (id, shape) = (&question.id, question.question_type.shape());
            let asked = HistoricQuestion {
                id: id.clone(),
                prompt: question.prompt.clone(),
                question_type: question.question_type.name(),
                shape,
                last_asked_in: number,
            };
            match self.questions.iter_mut().find(|it| it.id == *id) {
                Some(known) => *known = HistoricQuestion { shape: known.shape.or(shape), ..asked },
                None => self.questions.push(asked),
            }
        }
        self.versions.push(HistoricVersion { id, number, definition });
    }
}

/// The questions of a flow, over all its versions that can be read. The caller has proved its
/// permission.
pub(crate) async fn read(
    store: &dyn Store,
    definitions: &Definitions,
    app: AppId,
    flow: FlowId,
) -> AdminResult<QuestionHistory> {
    let mut asked = QuestionHistory::default();
    for version in versions(store, app, flow).await? {
        match definitions.readable(&version) {
            Some(definition) => asked.add(version.flow_version_id, version.number, definition),
            None => asked.unreadable.push((version.flow_version_id, version.number)),
        }
    }
    Ok(asked)
}

/// All versions, oldest first.
async fn versions(store: &dyn Store, app: AppId, flow: FlowId) -> AdminResult<Vec<VersionRow>> {
    let mut versions = Vec::new();
    loop {
        let before = versions.last().map(|last: &VersionRow| last.number);
        let page = store.list_versions(app, flow, before, VERSIONS_PAGE).await?;
        let is_last = page.len() < VERSIONS_PAGE;
        versions.extend(page);
        if is_last {
            versions.reverse();
            return Ok(versions);
        }
    }
}
