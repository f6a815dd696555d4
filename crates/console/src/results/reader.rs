//! Who reads the results: a user of the console, or anyone with the link of a report. It decides
//! which questions and texts are shown, and whether there are links to other pages.

use sluice_engine::QuestionHistory;
use sluice_engine::reports::OpenReport;
use sluice_engine::summary::{QuestionSummary, Summary};
use sluice_flow::answer_filter::split_name;
use sluice_flow::id::FlowId;
use sluice_flow::question::QuestionType;
use sluice_flow::question::choice::OTHER_PREFIX;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reader {
    /// A user who may read all responses of this flow.
    User(FlowId),
    /// Anyone with the link.
    Link {
        /// The only questions that are shown, by id.
        questions: Vec<String>,
        shows_texts: bool,
    },
}

impl Reader {
    pub(super) fn from_report(report: &OpenReport) -> Self {
        Self::Link { questions: report.questions.clone(), shows_texts: report.shows_texts }
    }

    /// The flow whose pages may be linked to.
    pub(super) fn flow(&self) -> Option<FlowId> {
        match self {
            Self::User(flow) => Some(*flow),
            Self::Link { .. } => None,
        }
    }

    /// Removes everything that is not to be shown. Groups of a comparison are found through the
    /// questions that are left.
    pub(super) fn restrict(&self, summary: &mut Summary) {
        if let Self::Link { questions, .. } = self {
            summary.questions.retain(|question| questions.contains(&question.id));
            // It would tell something about the answers to questions that are not shown.
            summary.score = None;
        }
    }

    /// Whether the answers to a text question may be shown. The link never shows addresses and
    /// telephone numbers, which identify people: not even if only some version asks for them, since
    /// texts are read by the id of the question.
    pub(super) fn may_read_texts(&self, question: &str, history: &QuestionHistory) -> bool {
        let is_prose = |it: &QuestionType| it.input().is_prose();
        match self {
            Self::User(_) => true,
            Self::Link { shows_texts, .. } => {
                *shows_texts && history.types_of(question).all(is_prose)
            }
        }
    }

    /// Whether a filter by an answer may be described: the description contains the question and
    /// the answer.
    pub(super) fn may_read_filter(
        &self,
        name: &str,
        value: &str,
        history: &QuestionHistory,
    ) -> bool {
        let Self::Link { questions, shows_texts } = self else { return true };
        let (question, _) = split_name(name);
        let is_written = history.types_of(question).any(|it| it.input().is_text());
        questions.iter().any(|it| it == question)
            && match is_written {
                true => self.may_read_texts(question, history),
                false => *shows_texts || !value.starts_with(OTHER_PREFIX),
            }
    }
}

/// Answers such as e-mail addresses and telephone numbers contain no words.
pub(super) fn is_prose(question: &QuestionSummary) -> bool {
    QuestionType::blank(question.question_type).is_some_and(|it| it.input().is_prose())
}
