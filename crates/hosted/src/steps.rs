//! The steps of the form without a script, one page each.
//!
//! A step is the welcome screen, a page of questions that the answers lead to, or the end, where
//! only sending is left. A page is one question, or the visible questions of a section; it has the
//! index of its first question. The last page is shown together with the end if it is certain to be
//! the last: whether a later question is visible may depend on the answer.

use sluice_flow::definition::Definition;
use sluice_flow::route::Route;
use sluice_flow::submission::TextMap;

/// The name of the welcome screen in a form; no question has it.
pub(super) const WELCOME: &str = "*";

/// Where a respondent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Welcome,
    /// At the page that starts with this question.
    Question(usize),
    End,
}

impl Step {
    /// The first step. A flow without questions has only its end.
    pub(super) fn first(definition: &Definition, answers: &TextMap<'_>) -> Self {
        match definition.welcome() {
            Some(_) => Self::Welcome,
            None => Self::first_question(definition, answers),
        }
    }

    fn first_question(definition: &Definition, answers: &TextMap<'_>) -> Self {
        Self::after(definition, &definition.route(answers), 0)
    }

    /// The step with this name, if the answers lead to it; otherwise the first.
    pub(super) fn named(
        definition: &Definition,
        answers: &TextMap<'_>,
        name: Option<&str>,
    ) -> Self {
        let route = definition.route(answers);
        match (name.and_then(|name| definition.position(name)), name) {
            (Some(at), _) if route.is_visible(at) => Self::at(definition, &route, at),
            (_, Some("")) => Self::End,
            _ => Self::first(definition, answers),
        }
    }

    /// Its name in a form.
    pub(super) fn name(self, definition: &Definition) -> &str {
        match self {
            Self::Welcome => WELCOME,
            Self::Question(at) => definition.questions().get(at).map_or("", |it| it.id.as_str()),
            Self::End => "",
        }
    }

    /// The step after this one. `shown` are the questions of the page as it was sent: if an answer
    /// made another question of its section visible, the page is shown again.
    pub(super) fn next(
        self,
        definition: &Definition,
        answers: &TextMap<'_>,
        shown: &[&str],
    ) -> Self {
        let route = definition.route(answers);
        let Self::Question(at) = self else {
            return if self == Self::End { Self::End } else { Self::after(definition, &route, 0) };
        };
        let id = |at: usize| definition.questions()[at].id.as_str();
        let page = page(definition, &route, at);
        if page.len() > 1 && page.iter().any(|&at| !shown.contains(&id(at))) {
            return Self::at(definition, &route, at);
        }
        let end = definition.section_of(at).map_or(at + 1, |(_, section)| section.end);
        Self::after(definition, &route, end)
    }

    pub(super) fn back(self, definition: &Definition, answers: &TextMap<'_>) -> Self {
        let route = definition.route(answers);
        let end = match self {
            Self::Welcome => 0,
            Self::Question(at) => page(definition, &route, at).first().copied().unwrap_or(at),
            Self::End => definition.questions().len(),
        };
        let before = (0..end).rev().find(|&at| route.is_visible(at));
        before
            .map_or_else(|| Self::first(definition, answers), |at| Self::at(definition, &route, at))
    }

    /// The page of this question.
    pub(super) fn at(definition: &Definition, route: &Route<'_>, at: usize) -> Self {
        Self::Question(page(definition, route, at).first().copied().unwrap_or(at))
    }

    /// The page of the first question from this index on that the answers lead to.
    fn after(definition: &Definition, route: &Route<'_>, from: usize) -> Self {
        let next = (from..definition.questions().len()).find(|&at| route.is_visible(at));
        next.map_or(Self::End, Self::Question)
    }

    /// The first question without an answer, used when kept answers are reviewed.
    pub(super) fn first_open(definition: &Definition, answers: &TextMap<'_>) -> Self {
        let route = definition.route(answers);
        let open = definition.questions().iter().enumerate().position(|(at, question)| {
            route.is_visible(at)
                && question.question_type.is_answerable()
                && answers.get(&question.id).is_none()
        });
        open.map_or_else(
            || Self::first_question(definition, answers),
            |at| Self::at(definition, &route, at),
        )
    }

    /// The indexes of the questions of its page.
    pub(super) fn questions(self, definition: &Definition, answers: &TextMap<'_>) -> Vec<usize> {
        match self {
            Self::Question(at) => page(definition, &definition.route(answers), at),
            Self::Welcome | Self::End => Vec::new(),
        }
    }

    /// Whether the answers can be sent from here: no question can follow, whatever the answers.
    pub(super) fn is_last(self, definition: &Definition, answers: &TextMap<'_>) -> bool {
        let all = definition.questions().len();
        match self {
            Self::Welcome => all == 0,
            Self::Question(at) => {
                let page = page(definition, &definition.route(answers), at);
                page.first().is_some_and(|first| first + page.len() == all)
            }
            Self::End => true,
        }
    }

    pub(super) fn is_first(self, definition: &Definition, answers: &TextMap<'_>) -> bool {
        self == Self::first(definition, answers)
    }

    /// The position of its first question, and the number of questions on the longest way from
    /// here. The welcome screen does not count.
    pub(super) fn place(self, definition: &Definition, answers: &TextMap<'_>) -> (usize, usize) {
        match self {
            Self::Welcome => (0, definition.place_of(0, answers).1),
            Self::Question(at) => definition.place_of(at, answers),
            Self::End => {
                let route = definition.route(answers);
                let all = (0..definition.questions().len()).filter(|&at| route.is_visible(at));
                let all = all.count();
                (all, all)
            }
        }
    }
}

/// The visible questions of the page with this question; that question alone if it is not in a
/// section.
fn page(definition: &Definition, route: &Route<'_>, at: usize) -> Vec<usize> {
    match definition.section_of(at) {
        Some((_, section)) => {
            section.filter(|&each| each == at || route.is_visible(each)).collect()
        }
        None => vec![at],
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};
    use sluice_flow::definition;
    use sluice_flow::submission::Texts;

    use super::Step::{End, Question, Welcome};
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
                step = step.next(&survey, &answers, &[]);
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
        let mut draft = json!({"title": "t", "questions": [
            ask("a", json!(null)), ask("b", yes("a")), ask("c", json!({"not": yes("a")})),
            ask("d", json!({"any": [yes("b"), yes("c")]})), ask("e", yes("a")),
            ask("f", json!({"all": [yes("d"), {"not": yes("e")}]})), ask("g", json!(null)),
        ]});
        for (jumping, to) in [("a", "d"), ("b", "f"), ("c", "e"), ("e", "end")] {
            let questions = draft["questions"].as_array_mut().unwrap();
            let from = questions.iter_mut().find(|it| it["id"] == jumping).unwrap();
            from["next"] = json!([{"when": yes(jumping), "to": to}]);
        }
        let survey = definition::check(&draft).unwrap();
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
                step = step.next(&survey, &given, &[]);
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

    fn with(more: Value) -> Definition {
        let mut draft = survey().to_json();
        for (name, value) in more.as_object().unwrap() {
            draft[name] = value.clone();
        }
        definition::check(&draft).unwrap()
    }

    #[test]
    fn the_welcome_screen_comes_before_the_first_question() {
        let survey = with(json!({"welcome": {"title": "Hello"}}));
        let none = answers(None);
        assert_eq!(Step::first(&survey, &none), Welcome);
        assert_eq!(Step::named(&survey, &none, Some(WELCOME)), Welcome);
        assert_eq!(Welcome.next(&survey, &none, &[]), Question(0));
        assert_eq!(Question(0).back(&survey, &none), Welcome);
        assert_eq!(Welcome.place(&survey, &none), (0, 3));
    }

    #[test]
    fn the_questions_of_a_section_share_a_step() {
        let survey = with(json!({"sections": [{"id": "s", "questions": ["nps", "why"]}]}));
        let (low, high) = (answers(Some("3")), answers(Some("9")));
        assert_eq!(Question(0).questions(&survey, &low), [0, 1]);
        assert_eq!(Question(0).questions(&survey, &high), [0]);
        // The answer made "why" visible: the page is shown again, with both.
        assert_eq!(Question(0).next(&survey, &low, &["nps"]), Question(0));
        assert_eq!(Question(0).next(&survey, &low, &["nps", "why"]), Question(2));
        assert_eq!(Question(0).next(&survey, &high, &["nps"]), Question(2));
        assert_eq!(Question(2).back(&survey, &low), Question(0));
        assert_eq!(Question(0).place(&survey, &low), (1, 3));
    }

    #[test]
    fn a_section_is_last_only_if_all_its_questions_are_shown() {
        let survey = with(json!({"sections": [{"id": "s", "questions": ["nps", "why", "more"]}]}));
        assert!(Question(0).is_last(&survey, &answers(Some("3"))));
        assert!(!Question(0).is_last(&survey, &answers(Some("9"))));
        assert_eq!(Question(0).next(&survey, &answers(Some("9")), &["nps", "more"]), End);
    }
}
