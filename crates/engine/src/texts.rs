//! The answers to text questions: the most frequent words, and the newest answers.
//!
//! Words are not counted in advance. They are read from a fixed number of the newest responses on
//! the requested days, so that the cost does not depend on the size of the flow; a page that shows
//! them says so.

use std::collections::HashMap;

use serde_json::Value;
use sluice_flow::answer_filter::AnswerFilter;
use sluice_flow::id::ResponseId;
use sluice_flow::words;
use sluice_store::{Order, ResponseRow, Scope};

use crate::admin::AdminResult;
use crate::boxed;
use crate::handle::FlowHandle;
use crate::question_history::QuestionHistory;
use crate::responses::{Paging, ResponseFilter};
use crate::summary::SummaryFilter;

/// The number of newest responses that are read.
pub const TEXT_RESPONSES: usize = 1_000;
/// The maximum number of words, and of answers, that are returned for a question.
const WORDS_MAX: usize = 40;
const NEWEST_MAX: usize = 5;

/// The texts in the newest responses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The number of responses that were read: all on the requested days, or the newest of them.
    pub looked_at: usize,
    by_question: HashMap<String, Written>,
}

/// The text answers to one question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    pub answers: usize,
    /// Each word with the number of answers that contain it.
    pub words: Vec<(String, u64)>,
    /// Newest first.
    pub newest: Vec<(ResponseId, String)>,
}

impl Texts {
    pub fn for_question(&self, question: &str) -> Option<&Written> {
        self.by_question.get(question)
    }

    /// Reads texts from responses, newest first.
    fn read(
        rows: &[ResponseRow],
        history: &QuestionHistory,
        filter: &SummaryFilter,
        by_answers: &[AnswerFilter],
        questions: &[&str],
    ) -> Self {
        let mut found: HashMap<&str, Vec<(ResponseId, String)>> = HashMap::new();
        for row in rows.iter().filter(|row| passes(row, filter, by_answers)) {
            let Ok(Value::Object(mut answers)) = serde_json::from_str(&row.answers) else {
                continue;
            };
            for question in questions {
                // An empty text is no answer, and an option of another version no text.
                if let Some(Value::String(text)) = answers.remove(*question)
                    && !text.is_empty()
                    && history.asks_text(row.flow_version_id, question)
                {
                    found.entry(question).or_default().push((row.response_id, text));
                }
            }
        }
        let written = |(question, mut answers): (&str, Vec<(ResponseId, String)>)| {
            let texts = answers.iter().map(|(_, text)| text.as_str());
            let words = words::frequent(texts, WORDS_MAX);
            let count = answers.len();
            answers.truncate(NEWEST_MAX);
            (question.to_owned(), Written { answers: count, words, newest: answers })
        };
        Self { looked_at: rows.len(), by_question: found.into_iter().map(written).collect() }
    }
}

fn passes(row: &ResponseRow, filter: &SummaryFilter, by_answers: &[AnswerFilter]) -> bool {
    let version = filter.versions.is_empty() || filter.versions.contains(&row.flow_version_id);
    version
        && filter.admission.is_none_or(|admission| admission == row.admission)
        && filter.tags.iter().all(|(name, value)| has_tag(row, name, value))
        && by_answers.iter().all(|filter| filter.holds_in(&row.answers))
}

fn has_tag(row: &ResponseRow, name: &str, value: &str) -> bool {
    let Some(Ok(Value::Object(tags))) = row.tags.as_deref().map(serde_json::from_str) else {
        return false;
    };
    match tags.get(name) {
        Some(Value::String(own)) => own == value,
        Some(Value::Array(own)) => own.iter().any(|own| own.as_str() == Some(value)),
        _ => false,
    }
}

impl FlowHandle {
    /// The text answers to these questions, in the newest responses that pass the filter.
    #[boxed]
    pub async fn texts(
        &self,
        history: &QuestionHistory,
        filter: &SummaryFilter,
        questions: &[&str],
    ) -> AdminResult<Texts> {
        if questions.is_empty() {
            return Ok(Texts::default());
        }
        self.permit.core(Scope::Read)?;
        let given = ResponseFilter { answers: filter.answers.clone(), ..ResponseFilter::default() };
        let by_answers = given.checked_answers(|question| history.types_of(question).collect())?;
        // Everything but days is filtered here: the store would scan everything for a rare one.
        let newest = ResponseFilter {
            from: filter.from.map(|day| day.starts_at()),
            to: filter.to.map(|day| day.plus(1).starts_at()),
            ..ResponseFilter::default()
        };
        let paging = Paging { after: None, order: Order::Desc, limit: TEXT_RESPONSES };
        let page = self.list_responses(&newest, paging).await?;
        Ok(Texts::read(&page.rows, history, filter, &by_answers, questions))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_flow::definition;
    use sluice_flow::id::{FlowVersionId, v7};
    use sluice_flow::time::Timestamp;

    use super::*;
    use crate::stored_response::tests::empty_row;

    fn row(number: u32, answers: &str) -> ResponseRow {
        let id = |kind| v7(Timestamp::from_millis(1_000), number, kind);
        ResponseRow {
            flow_version_id: FlowVersionId::from_uuid(id(3)),
            response_id: ResponseId::from_uuid(id(4)),
            answers: answers.to_owned(),
            ..empty_row(1)
        }
    }

    const SHORT_TEXT: &str = r#"{"id":"why","type":"shortText","prompt":"Why?"}"#;
    const CHOICE: &str = r#"{"id":"why","type":"singleChoice","prompt":"Why?","options":[
        {"id":"price","label":"Price"},{"id":"speed","label":"Speed"}]}"#;

    /// The history of a flow whose versions, from number 1, ask these questions.
    fn asking(questions: &[&str]) -> QuestionHistory {
        let mut history = QuestionHistory::default();
        for (number, question) in (1..).zip(questions) {
            let definition = format!(r#"{{"title":"T","questions":[{question}]}}"#);
            let definition = definition::check(&serde_json::from_str(&definition).unwrap());
            let id = FlowVersionId::from_uuid(v7(Timestamp::from_millis(1_000), number, 3));
            history.add(id, number, Arc::new(definition.unwrap()));
        }
        history
    }

    fn of_why(rows: &[ResponseRow], history: &QuestionHistory) -> Written {
        let texts = Texts::read(rows, history, &SummaryFilter::default(), &[], &["why"]);
        texts.for_question("why").unwrap().clone()
    }

    #[test]
    fn an_option_of_an_earlier_version_is_no_text() {
        let history = asking(&[CHOICE, SHORT_TEXT]);
        let rows = [row(2, r#"{"why":"Slow export"}"#), row(1, r#"{"why":"price"}"#)];
        assert_eq!(
            of_why(&rows, &history).newest,
            [(rows[0].response_id, "Slow export".to_owned())]
        );
    }

    #[test]
    fn an_empty_text_is_no_answer() {
        let rows = [row(2, r#"{"why":""}"#), row(1, r#"{"why":"Slow export"}"#)];
        let written = of_why(&rows, &asking(&[SHORT_TEXT, SHORT_TEXT]));
        assert_eq!((written.answers, written.newest.len()), (1, 1));
        assert_eq!(written.newest[0].1, "Slow export");
    }
}
