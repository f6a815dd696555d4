//! Judges answers against the questions of the version.
//!
//! This runs for every submission: one pass over the questions, without allocations unless there is
//! an issue or the questions have jumps or scores (only an e-mail address must be parsed to be
//! checked). Logic decides only whether `required` applies; an answer to a hidden question is
//! judged like any other.

use crate::definition::Definition;
use crate::issue::{Code, Issue};
use crate::question::{Problems, Question, Shape};
use crate::score::Score;
use crate::snapshot::Snapshot;
use crate::text_map::TextMap;

/// Converts each answer to the form in which it is stored: a list if its question takes several
/// values, otherwise a text. An empty list or text is no answer. A list of several texts for a
/// question that takes one is left as it is, for [`judge`] to refuse.
pub fn canonicalise(definition: &Definition, answers: &mut TextMap<'_>) {
    // Both are sorted by id.
    let mut questions = definition.in_order_of_ids().peekable();
    for (id, answer) in answers.iter_mut() {
        while questions.next_if(|(_, question)| question.id.as_str() < id).is_some() {}
        if let Some((_, question)) = questions.next_if(|(_, question)| question.id == id) {
            answer.canonicalise(question.question_type.shape() == Shape::List);
        }
    }
}

/// Every issue of these answers; none means that they are accepted.
///
/// Issues are in question order, followed by those about unknown questions.
pub fn judge(snapshot: &Snapshot, answers: &TextMap<'_>) -> Vec<Issue> {
    judge_and_score(snapshot, answers).0
}

/// The same with the score of the answers, if the version has scores: both follow from one pass
/// over the questions.
pub fn judge_and_score(snapshot: &Snapshot, answers: &TextMap<'_>) -> (Vec<Issue>, Option<Score>) {
    let definition = snapshot.definition();
    let mut issues = Vec::new();
    let mut known = 0;
    // Computed only if there are jumps or scores.
    let is_plain = definition.is_plain() && !definition.is_scored();
    let route = (!is_plain).then(|| definition.route(answers));
    for (at, question) in definition.questions().iter().enumerate() {
        let is_visible = || match &route {
            Some(route) => route.is_visible(at),
            None => {
                let condition = question.visible_if.as_ref();
                condition.is_none_or(|condition| condition.holds(answers))
            }
        };
        known += usize::from(judge_one(question, answers, is_visible, &mut issues));
    }
    if known < answers.len() {
        let unknown = answers.names().filter(|id| definition.question(id).is_none());
        issues.extend(unknown.map(unknown_question));
    }
    let score = route.filter(|_| definition.is_scored()).map(|route| route.score());
    (issues, score)
}

/// Every issue of the answer to this question, which is visible; for a page that asks one question
/// at a time.
pub fn judge_question(question: &Question, answers: &TextMap<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    judge_one(question, answers, || true, &mut issues);
    issues
}

/// Judges the answer to one question. Returns whether the submission contains the question at all.
fn judge_one(
    question: &Question,
    answers: &TextMap<'_>,
    is_visible: impl FnOnce() -> bool,
    issues: &mut Vec<Issue>,
) -> bool {
    let named = answers.get(question.id.as_str());
    let answer = named.filter(|answer| !answer.is_absent());
    let mut problems = Problems { question: &question.id, issues };
    let whole = answer.is_some_and(|answer| {
        question.question_type.judge(answer, &mut problems);
        question.question_type.is_whole(answer)
    });
    if question.required && !whole && is_visible() {
        let rule = if answer.is_some() { "must be answered in full" } else { "must be answered" };
        problems.add(Code::AnswerRequired, rule);
    }
    named.is_some()
}

/// The client chose this id, so only the start of a long one is repeated.
fn unknown_question(id: &str) -> Issue {
    const SHOWN_CHARS_MAX: usize = 64;
    let shown: String = id.chars().take(SHOWN_CHARS_MAX).collect();
    let message = format!("This version has no question \"{shown}\".");
    Issue::for_answer(Code::UnknownQuestion, id, message)
}
