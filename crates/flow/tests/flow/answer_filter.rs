//! Filters by an answer: which operators fit a question, which answers pass, and that comparisons
//! agree with numbers, with dates and with one another.

use proptest::prelude::*;
use serde_json::json;
use sluice_flow::answer_filter::{AnswerFilter, Operator, joined_name, split_name};
use sluice_flow::definition::{self, Definition};
use sluice_flow::question::QuestionType;
use sluice_flow::submission::Texts;

fn definition() -> Definition {
    let options = json!([{"id": "api", "label": "API"}, {"id": "web", "label": "Web"}]);
    let questions = json!([
        {"id": "nps", "type": "nps", "prompt": "?"},
        {"id": "rating", "type": "rating", "prompt": "?", "max": 5},
        {"id": "number", "type": "number", "prompt": "?"},
        {"id": "date", "type": "date", "prompt": "?"},
        {"id": "text", "type": "longText", "prompt": "?"},
        {"id": "mail", "type": "email", "prompt": "?"},
        {"id": "yes", "type": "yesNo", "prompt": "?"},
        {"id": "one", "type": "singleChoice", "prompt": "?", "options": options},
        {"id": "use", "type": "multipleChoice", "prompt": "?", "options": options, "allowOther": true},
        {"id": "rank", "type": "ranking", "prompt": "?", "options": options},
        {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
        {"id": "note", "type": "statement", "prompt": "?"},
    ]);
    definition::check(&json!({"title": "T", "questions": questions})).unwrap()
}

fn read(name: &str, value: &str) -> Result<AnswerFilter, String> {
    let definition = definition();
    let (question, _) = split_name(name);
    let types: Vec<&QuestionType> =
        definition.question(question).map(|it| &it.question_type).into_iter().collect();
    AnswerFilter::read(name, value, &types)
}

fn texts(answer: &[&str]) -> Texts<'static> {
    Texts::Many(answer.iter().map(|text| (*text).to_owned().into()).collect())
}

fn passes(name: &str, value: &str, answer: Option<&[&str]>) -> bool {
    read(name, value).unwrap().holds(answer.map(texts).as_ref())
}

#[test]
fn an_answer_passes_by_its_value() {
    for (name, value, answer, expected) in [
        ("nps", "7", &["7"][..], true),
        ("nps", "7", &["8"], false),
        ("nps[ne]", "7", &["8"], true),
        ("nps[ne]", "7", &["7"], false),
        ("nps[lt]", "7", &["6"], true),
        ("nps[lt]", "7", &["7"], false),
        ("nps[lt]", "10", &["9"], true),
        ("nps[lte]", "7", &["7"], true),
        ("nps[lte]", "7", &["8"], false),
        ("nps[gt]", "9", &["10"], true),
        ("nps[gt]", "9", &["9"], false),
        ("nps[gte]", "9", &["9"], true),
        ("number[gt]", "-1.5", &["-1.25"], true),
        ("number[lte]", "7", &["7.0"], true),
        ("number[lt]", "7", &["seven"], false),
        ("date[lt]", "2026-11-15", &["2026-11-14"], true),
        ("date[lt]", "2026-11-15", &["2026-11-15"], false),
        ("date[gte]", "2026-11-15", &["2026-11-15"], true),
        ("date[lt]", "2026-11-15", &["14 Nov"], false),
        ("text[contains]", "STRASSE", &["In der Straße"], true),
        ("text[contains]", "a b", &["ab"], false),
        ("text[contains]", "other", &["other: x"], true),
        ("use", "api", &["web", "api"], true),
        ("use", "other", &["web", "other:fax"], true),
        ("use[ne]", "api", &["web", "api"], false),
        ("use[ne]", "api", &["web"], true),
        ("use[ne]", "other", &["other:fax"], false),
        ("use[contains]", "FAX", &["api", "other:by fax"], true),
        ("use[contains]", "api", &["api"], false),
        ("use[contains]", "other", &["other:fax"], false),
        ("grid", "api:web", &["api:web"], true),
        ("rank", "api", &["api", "web"], true),
        ("nps[answered]", "true", &["7"], true),
        ("nps[answered]", "false", &["7"], false),
        ("nps[answered]", "true", &[""], false),
        ("nps[answered]", "false", &[""], true),
        ("use[answered]", "false", &[], true),
        ("nps[ne]", "7", &[""], false),
    ] {
        assert_eq!(passes(name, value, Some(answer)), expected, "{name}={value} {answer:?}");
    }
}

#[test]
fn without_an_answer_only_not_answered_passes() {
    for (name, value, expected) in [
        ("nps", "7", false),
        ("nps[ne]", "7", false),
        ("nps[lt]", "7", false),
        ("nps[gte]", "0", false),
        ("text[contains]", "a", false),
        ("nps[answered]", "true", false),
        ("nps[answered]", "false", true),
    ] {
        assert_eq!(passes(name, value, None), expected, "{name}={value}");
    }
}

#[test]
fn a_filter_that_does_not_fit_is_refused_with_what_is_possible() {
    let numeric = "=, [ne]=, [lt]=, [lte]=, [gt]=, [gte]=, [answered]=";
    for (name, value, message) in [
        ("what", "7", "no version of this flow asks this question"),
        ("nps[above]", "7", &format!("has an unknown operator; possible are {numeric}")),
        ("nps[]", "7", &format!("has an unknown operator; possible are {numeric}")),
        ("nps[LT]", "7", &format!("has an unknown operator; possible are {numeric}")),
        ("nps[contains]", "7", &format!("does not fit a nps question; possible are {numeric}")),
        ("nps[lt]", "seven", "must be a number such as 7 or -0.5"),
        ("nps[lt]", "", "must be a number such as 7 or -0.5"),
        ("date[lt]", "7", "must be a date as YYYY-MM-DD"),
        ("date[lt]", "2026-02-30", "must be a date as YYYY-MM-DD"),
        (
            "text[lt]",
            "7",
            "does not fit a longText question; possible are =, [ne]=, [contains]=, [answered]=",
        ),
        (
            "one[contains]",
            "a",
            "does not fit a singleChoice question; possible are =, [ne]=, [answered]=",
        ),
        ("yes[gt]", "a", "does not fit a yesNo question; possible are =, [ne]=, [answered]="),
        ("grid[lt]", "1", "does not fit a matrix question; possible are =, [ne]=, [answered]="),
        ("note", "1", "a statement takes no answer"),
        ("text[contains]", "", "must be a text of 1 to 200 characters"),
        ("text[contains]", &"x".repeat(201), "must be a text of 1 to 200 characters"),
        ("nps[answered]", "yes", "must be true or false"),
    ] {
        assert_eq!(read(name, value).unwrap_err(), message, "{name}={value}");
    }
}

#[test]
fn a_question_that_changed_its_type_takes_the_operators_of_both() {
    let definition = definition();
    let of = |id| &definition.question(id).unwrap().question_type;
    let both = [of("text"), of("nps")];
    for name in ["nps[lt]", "nps[contains]"] {
        assert!(AnswerFilter::read(name, "7", &both).is_ok(), "{name}");
    }
    let less = AnswerFilter::read("nps[lt]", "7", &both).unwrap();
    assert!(less.holds(Some(&texts(&["6"]))) && !less.holds(Some(&texts(&["much"]))));
    assert!(AnswerFilter::read("nps[lt]", "2026-11-15", &both).is_err());
    assert!(AnswerFilter::read("nps[lt]", "2026-11-15", &[of("date"), of("nps")]).is_ok());
}

#[test]
fn a_name_is_split_and_joined() {
    for operator in Operator::ALL {
        let name = joined_name("nps", *operator);
        assert_eq!(split_name(&name), ("nps", operator.as_str()));
        assert_eq!(Operator::named(operator.as_str()), Some(*operator));
    }
    assert_eq!(split_name("nps[lt"), ("nps[lt", ""));
}

proptest! {
    #[test]
    fn comparisons_agree_with_numbers(answer in -1_000_i64..1_000, bound in -1_000_i64..1_000) {
        let (answered, bound_text) = (answer.to_string(), bound.to_string());
        let answered = [answered.as_str()];
        let passes = |operator| passes(&format!("number[{operator}]"), &bound_text, Some(&answered));
        prop_assert_eq!(passes("lt"), answer < bound);
        prop_assert_eq!(passes("lte"), answer <= bound);
        prop_assert_eq!(passes("gt"), answer > bound);
        prop_assert_eq!(passes("gte"), answer >= bound);
        prop_assert_eq!(passes("ne"), answer != bound);
    }

    #[test]
    fn an_answered_question_passes_exactly_one_of_opposites(
        mark in 0_u8..=10, bound in 0_u8..=10
    ) {
        let (mark, bound) = (mark.to_string(), bound.to_string());
        let mark = [mark.as_str()];
        for (one, other) in [("nps[lt]", "nps[gte]"), ("nps[lte]", "nps[gt]"), ("nps", "nps[ne]")] {
            prop_assert_ne!(passes(one, &bound, Some(&mark)), passes(other, &bound, Some(&mark)));
        }
    }

    #[test]
    fn a_text_contains_every_part_of_itself_in_any_case(text in "[a-zA-ZäÖß ]{1,40}", at in 0_usize..40) {
        let part: String = text.chars().skip(at % text.chars().count()).take(5).collect();
        prop_assert!(passes("text[contains]", &part.to_uppercase(), Some(&[&text])));
    }
}
