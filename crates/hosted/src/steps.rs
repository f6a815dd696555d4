//! The steps of the form without a script, one question each.
//!
//! A step is a question that the answers lead to, or the end, where only sending is left. The last
//! question is shown together with the end if it is certain to be the last: whether a later
//! question is visible may depend on the answer.

use sluice_flow::definition::Definition;
use sluice_flow::logic::Condition;
use sluice_flow::question::Question;
use sluice_flow::submission::TextMap;

/// Where a respondent is: at a question, by its index, or at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Question(usize),
    End,
}

impl Step {
    /// The first step. A flow without questions has only its end.
    pub(super) fn first(definition: &Definition, answers: &TextMap<'_>) -> Self {
        Self::after(definition, answers, 0)
    }

    /// The step with this name, if the answers lead to it; otherwise the first.
    pub(super) fn named(
        definition: &Definition,
        answers: &TextMap<'_>,
        name: Option<&str>,
    ) -> Self {
        let questions = definition.questions();
        let at = name.and_then(|name| questions.iter().position(|question| question.id == name));
        match (at, name) {
            (Some(at), _) if questions[at].is_asked(answers) => Self::Question(at),
            (_, Some("")) => Self::End,
            _ => Self::first(definition, answers),
        }
    }

    pub(super) fn next(self, definition: &Definition, answers: &TextMap<'_>) -> Self {
        match self {
            Self::Question(at) => Self::after(definition, answers, at + 1),
            Self::End => Self::End,
        }
    }

    pub(super) fn back(self, definition: &Definition, answers: &TextMap<'_>) -> Self {
        let questions = definition.questions();
        let end = match self {
            Self::Question(at) => at,
            Self::End => questions.len(),
        };
        let before = questions[..end].iter().rposition(|question| question.is_asked(answers));
        before.map_or_else(|| Self::first(definition, answers), Self::Question)
    }

    /// The first question from this index on that the answers lead to.
    fn after(definition: &Definition, answers: &TextMap<'_>, from: usize) -> Self {
        let rest = definition.questions().get(from..).unwrap_or_default();
        let next = rest.iter().position(|question| question.is_asked(answers));
        next.map_or(Self::End, |ahead| Self::Question(from + ahead))
    }

    /// The first question without an answer, used when kept answers are reviewed.
    pub(super) fn first_open(definition: &Definition, answers: &TextMap<'_>) -> Self {
        let open = definition.questions().iter().position(|question| {
            question.is_asked(answers)
                && question.question_type.is_answerable()
                && answers.get(&question.id).is_none()
        });
        open.map_or_else(|| Self::first(definition, answers), Self::Question)
    }

    pub(super) fn question(self, definition: &Definition) -> Option<&Question> {
        match self {
            Self::Question(at) => definition.questions().get(at),
            Self::End => None,
        }
    }

    /// Whether the answers can be sent from here: no question can follow, whatever the answers.
    pub(super) fn is_last(self, definition: &Definition) -> bool {
        match self {
            Self::Question(at) => at + 1 == definition.questions().len(),
            Self::End => true,
        }
    }

    pub(super) fn is_first(self, definition: &Definition, answers: &TextMap<'_>) -> bool {
        self == Self::first(definition, answers)
    }

    /// The position of the step, and the number of steps on the longest path from here. Both
    /// depend only on answers before this step, so that the share grows with every step and does
    /// not change with the answer that is being given.
    pub(super) fn place(self, definition: &Definition, answers: &TextMap<'_>) -> (usize, usize) {
        let questions = definition.questions();
        let asked = |questions: &[Question]| {
            questions.iter().filter(|question| question.is_asked(answers)).count()
        };
        let Self::Question(at) = self else {
            let all = asked(questions);
            return (all, all);
        };
        let can_follow = |question: &&Question| {
            let condition = question.visible_if.as_ref();
            let is_decided = condition.is_none_or(|it| is_decided(it, &questions[..at]));
            !is_decided || question.is_asked(answers)
        };
        // The current question counts, even if an author's preview shows one that is not asked.
        let place = asked(&questions[..at]) + 1;
        (place, place + questions[at + 1..].iter().filter(can_follow).count())
    }
}

/// Whether a condition depends only on these questions.
fn is_decided(condition: &Condition, questions: &[Question]) -> bool {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().all(|part| is_decided(part, questions))
        }
        Condition::Not(part) => is_decided(part, questions),
        Condition::Answer { question, .. } => questions.iter().any(|it| it.id == *question),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;
    use sluice_flow::definition;
    use sluice_flow::submission::Texts;

    use super::Step::{End, Question};
    use super::*;

    fn survey() -> Definition {
        let question = |id: &str| json!({"id": id, "type": "nps", "prompt": "?"});
        let mut why = question("why");
        why["visibleIf"] = json!({"question": "nps", "lessThan": 7});
        definition::check(
            &json!({"title": "t", "questions": [question("nps"), why, question("more")]}),
        )
        .unwrap()
    }

    fn answers(nps: Option<&'static str>) -> TextMap<'static> {
        nps.map(|nps| (Cow::Borrowed("nps"), Texts::One(nps.into()))).into_iter().collect()
    }

    #[test]
    fn a_hidden_question_is_not_a_step() {
        let survey = survey();
        for (nps, steps, places) in [
            (Some("9"), vec![Question(0), Question(2), End], vec![(1, 3), (2, 2), (2, 2)]),
            (
                Some("3"),
                vec![Question(0), Question(1), Question(2), End],
                vec![(1, 3), (2, 3), (3, 3), (3, 3)],
            ),
            (None, vec![Question(0), Question(2), End], vec![(1, 3), (2, 2), (2, 2)]),
        ] {
            let answers = answers(nps);
            let mut step = Step::first(&survey, &answers);
            for (expected, place) in steps.iter().zip(&places) {
                assert_eq!(step, *expected, "{nps:?}");
                assert_eq!(step.place(&survey, &answers), *place);
                step = step.next(&survey, &answers);
            }
            for expected in steps.iter().rev().skip(1) {
                step = step.back(&survey, &answers);
                assert_eq!(step, *expected, "{nps:?} back");
            }
            assert_eq!(step.back(&survey, &answers), Question(0));
        }
    }

    /// Every path through a survey with nested conditions: the share of the path grows with each
    /// step, and the answer to the current question does not change it.
    #[test]
    fn progress_never_goes_back() {
        let yes = |id: &str| json!({"question": id, "equals": "yes"});
        let ask = |id: &str, visible_if: serde_json::Value| json!({"id": id, "type": "yesNo", "prompt": "?", "visibleIf": visible_if});
        let survey = definition::check(&json!({"title": "t", "questions": [
            ask("a", json!(null)), ask("b", yes("a")), ask("c", json!({"not": yes("a")})),
            ask("d", json!({"any": [yes("b"), yes("c")]})), ask("e", yes("a")),
            ask("f", json!({"all": [yes("d"), {"not": yes("e")}]})), ask("g", json!(null)),
        ]}))
        .unwrap();
        for path in 0_u32..1 << 7 {
            let mut given = TextMap::default();
            let mut step = Step::first(&survey, &given);
            let mut before = (0, 1);
            while let Question(at) = step {
                let place = step.place(&survey, &given);
                assert!(place.0 * before.1 > before.0 * place.1, "{path:b}: {before:?} {place:?}");
                let answer = if path >> at & 1 == 1 { "yes" } else { "no" };
                let id = survey.questions()[at].id.clone();
                given = given.into_iter().chain([(id.into(), Texts::One(answer.into()))]).collect();
                assert_eq!(step.place(&survey, &given), place, "{path:b}");
                before = place;
                step = step.next(&survey, &given);
            }
            assert!(before.0 <= before.1 && End.place(&survey, &given).0 == before.0);
        }
    }

    #[test]
    fn a_step_has_the_name_of_its_question_and_the_end_has_none() {
        let survey = survey();
        for (name, step) in [
            (None, Question(0)),
            (Some("nps"), Question(0)),
            (Some("why"), Question(0)),
            (Some("more"), Question(2)),
            (Some(""), End),
            (Some("nosuch"), Question(0)),
        ] {
            assert_eq!(Step::named(&survey, &answers(Some("9")), name), step, "{name:?}");
        }
        let empty = definition::check(&json!({"title": "t", "questions": []})).unwrap();
        assert_eq!(Step::named(&empty, &answers(None), Some("x")), End);
    }

    #[test]
    fn the_first_unanswered_question_is_shown_after_answers_were_kept() {
        let survey = survey();
        assert_eq!(Step::first_open(&survey, &answers(Some("9"))), Question(2));
        assert_eq!(Step::first_open(&survey, &answers(Some("1"))), Question(1));
    }
}
