//! A filter by an answer: its name and its value on two lines, then the answers of a response.
//!
//! A name is split and joined as the same, and the operators agree with each other: an answer
//! passes exactly one of `is` and `is not`, and `less` implies `at most` and excludes `at least`.

use std::sync::OnceLock;

use serde_json::Value;
use sluice_flow::answer_filter::{AnswerFilter, Operator, joined_name, split_name};
use sluice_flow::definition::{self, Definition};
use sluice_flow::question::QuestionType;

fn survey() -> &'static Definition {
    static SURVEY: OnceLock<Definition> = OnceLock::new();
    SURVEY.get_or_init(|| {
        let draft: Value =
            serde_json::from_str(include_str!("../seeds/definition/every-type.json")).expect("JSON");
        definition::check(&draft).expect("the survey is valid")
    })
}

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((name, rest)) = text.split_once('\n') else { return };
    let (value, answers) = rest.split_once('\n').unwrap_or((rest, "{}"));
    let (question, operator) = split_name(name);
    if let Some(operator) = Operator::named(operator) {
        let joined = joined_name(question, operator);
        assert_eq!(split_name(&joined), (question, operator.as_str()), "{name}");
    }
    let questions: Vec<&QuestionType> = match survey().question(question) {
        Some(question) => vec![&question.question_type],
        None => survey().questions().iter().map(|it| &it.question_type).collect(),
    };
    if let Err(reason) = AnswerFilter::read(name, value, &questions) {
        assert!(!reason.is_empty());
    }
    let passes = |operator: Operator| -> Option<bool> {
        let filter = AnswerFilter::read(&joined_name(question, operator), value, &questions).ok()?;
        Some(filter.holds_in(answers))
    };
    let answered = |value: &str| {
        let name = joined_name(question, Operator::Answered);
        AnswerFilter::read(&name, value, &questions).is_ok_and(|filter| filter.holds_in(answers))
    };
    let is_answered = answered("true");
    assert!(!(is_answered && answered("false")), "answered and not answered");
    if let (Some(is), Some(is_not)) = (passes(Operator::Is), passes(Operator::IsNot)) {
        assert!(!is || !is_not, "is and is not");
        assert!(is || is_not || !is_answered, "neither is nor is not");
    }
    let [less, at_most, greater, at_least] =
        [Operator::Less, Operator::AtMost, Operator::Greater, Operator::AtLeast].map(passes);
    for (strict, loose, opposite) in [(less, at_most, at_least), (greater, at_least, at_most)] {
        if strict == Some(true) {
            assert_eq!((loose, opposite), (Some(true), Some(false)), "{name} {value} {answers}");
        }
    }
}
