//! Judging answers: what each type accepts and refuses, and when `required` applies.

use std::borrow::Cow;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Kind};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::issue::{Code, Issue};
use sluice_flow::judge::{canonicalise, judge};
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::submission::{TextMap, Texts};
use sluice_flow::time::Timestamp;

/// The issues of these answers to these questions.
fn issues(questions: &Value, answers: &Value) -> Vec<Issue> {
    judge(&snapshot(questions), &texts(answers))
}

fn texts(answers: &Value) -> TextMap<'static> {
    let text = |value: &Value| Cow::Owned(value.as_str().unwrap().to_owned());
    let texts = |value: &Value| match value.as_array() {
        Some(items) => Texts::Many(items.iter().map(text).collect()),
        None => Texts::One(text(value)),
    };
    let answers = answers.as_object().unwrap().iter();
    answers.map(|(id, value)| (Cow::Owned(id.clone()), texts(value))).collect()
}

fn snapshot(questions: &Value) -> Snapshot {
    let draft = json!({"title": "T", "questions": questions});
    let meta = VersionMeta {
        flow_version_id: "fv_0000000000000000000001".parse::<FlowVersionId>().unwrap(),
        flow_id: "fl_0000000000000000000002".parse::<FlowId>().unwrap(),
        kind: Kind::Form,
        number: 1,
        published_at: Timestamp::from_millis(0),
    };
    Snapshot::new(meta, definition::check(&draft).unwrap())
}

/// Checks each answer to one question against the expected codes, all at the question.
fn check(type_name: &str, fields: Value, cases: &[(Value, &[Code])]) {
    let mut question = json!({"id": "q", "type": type_name, "prompt": "?"});
    for (name, value) in fields.as_object().unwrap() {
        question[name] = value.clone();
    }
    for (answer, expected) in cases {
        let issues = issues(&json!([question]), &json!({"q": answer}));
        let codes: Vec<Code> = issues.iter().map(|issue| issue.code).collect();
        assert_eq!(codes, *expected, "{question} answered {answer}: {issues:?}");
        for issue in issues {
            assert_eq!(serde_json::to_value(&issue.path).unwrap(), json!(["answers", "q"]));
            assert!(issue.message.starts_with("Question \"q\" "), "{issue:?}");
        }
    }
}

const GOOD: &[Code] = &[];
const KIND: &[Code] = &[Code::WrongAnswerKind];
const FORMAT: &[Code] = &[Code::InvalidFormat];
const RANGE: &[Code] = &[Code::OutOfRange];
const OPTION: &[Code] = &[Code::UnknownOption];
const SELECTION: &[Code] = &[Code::InvalidSelection];

fn options() -> Value {
    json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "3", "label": "C"}])
}

#[test]
fn text_length_is_counted_in_characters() {
    for name in ["shortText", "longText"] {
        check(
            name,
            json!({}),
            &[
                (json!("x"), GOOD),
                (json!(" "), GOOD),
                (json!(["x"]), GOOD),
                (json!(["x", "y"]), KIND),
            ],
        );
        let bounds = json!({"minLength": 2, "maxLength": 4});
        let cases = [
            (json!("ä"), RANGE),
            (json!("ää"), GOOD),
            (json!("漢字漢字"), GOOD),
            (json!("abcde"), RANGE),
        ];
        check(name, bounds, &cases);
    }
}

#[test]
fn a_format_and_a_length_are_checked_together() {
    for (name, good, bad) in [
        ("email", "ada@example.com", "ada"),
        ("url", "https://example.com/", "example.com"),
        ("phone", "+49 30 123-4567", "call"),
    ] {
        check(
            name,
            json!({}),
            &[
                (json!(good), GOOD),
                (json!(bad), FORMAT),
                (json!([good]), GOOD),
                (json!([good, good]), KIND),
            ],
        );
        let both: &[Code] = &[Code::OutOfRange, Code::InvalidFormat];
        check(name, json!({"minLength": 12}), &[(json!(good), GOOD), (json!(bad), both)]);
        check(name, json!({"maxLength": 12}), &[(json!(good), RANGE)]);
    }
}

#[test]
fn a_number_is_decimal_and_within_its_bounds() {
    check(
        "number",
        json!({}),
        &[
            (json!("0"), GOOD),
            (json!("-12.50"), GOOD),
            (json!("1e3"), FORMAT),
            (json!("NaN"), FORMAT),
            (json!("twelve"), FORMAT),
            (json!(["1"]), GOOD),
            (json!(["1", "1"]), KIND),
        ],
    );
    check(
        "number",
        json!({"min": 0.1, "max": 10}),
        &[
            (json!("0.1"), GOOD),
            (json!("10.000"), GOOD),
            (json!("0.09999999999999999999999"), RANGE),
            (json!("10.00000000000000000000001"), RANGE),
            (json!("-1"), RANGE),
        ],
    );
    let both: &[Code] = &[Code::InvalidFormat, Code::OutOfRange];
    check(
        "number",
        json!({"integer": true, "max": 5}),
        &[(json!("5"), GOOD), (json!("4.5"), FORMAT), (json!("5.5"), both)],
    );
}

#[test]
fn a_date_is_a_day_within_its_bounds() {
    check(
        "date",
        json!({"min": "2024-02-29", "max": "2024-12-31"}),
        &[
            (json!("2024-02-29"), GOOD),
            (json!("2024-12-31"), GOOD),
            (json!("2024-02-28"), RANGE),
            (json!("2025-01-01"), RANGE),
            (json!("2024-02-30"), FORMAT),
            (json!("29.02.2024"), FORMAT),
            (json!(["2024-02-29"]), GOOD),
            (json!(["2024-02-29", "2024-02-29"]), KIND),
        ],
    );
}

#[test]
fn a_single_choice_is_an_option_or_other_if_allowed() {
    for name in ["singleChoice", "dropdown"] {
        check(
            name,
            json!({"options": options()}),
            &[
                (json!("a"), GOOD),
                (json!("3"), GOOD),
                (json!("A"), OPTION),
                (json!("other:mine"), OPTION),
                (json!(["a"]), GOOD),
                (json!(["a", "a"]), KIND),
            ],
        );
        check(
            name,
            json!({"options": options(), "allowOther": true}),
            &[
                (json!("other:mine"), GOOD),
                (json!("other: : "), GOOD),
                (json!("other:"), FORMAT),
                (json!("other:  "), FORMAT),
                (json!("other"), OPTION),
                (json!(format!("other:{}", "x".repeat(1000))), GOOD),
                (json!(format!("other:{}", "x".repeat(1001))), RANGE),
            ],
        );
    }
}

#[test]
fn several_options_are_chosen_once_each_within_the_limits() {
    let range_and_option: &[Code] = &[Code::UnknownOption, Code::OutOfRange];
    let fields = json!({"options": options(), "minSelected": 2, "maxSelected": 2});
    check(
        "multipleChoice",
        fields,
        &[
            (json!(["a", "b"]), GOOD),
            (json!(["a"]), RANGE),
            (json!("a"), RANGE),
            (json!(["a", "b", "3"]), RANGE),
            (json!(["a", "z"]), OPTION),
            (json!(["y", "z", "x"]), range_and_option),
            (json!(["a", "a"]), SELECTION),
            (json!(["", "a"]), OPTION),
        ],
    );
    check(
        "multipleChoice",
        json!({"options": options(), "allowOther": true}),
        &[
            (json!("a"), GOOD),
            (json!("other:mine"), GOOD),
            (json!(["other:mine", "3", "b", "a"]), GOOD),
            (json!(["other:mine", "other:yours"]), SELECTION),
            (json!(["other:"]), FORMAT),
        ],
    );
}

#[test]
fn a_ranking_names_every_option_once() {
    check(
        "ranking",
        json!({"options": options()}),
        &[
            (json!(["3", "a", "b"]), GOOD),
            (json!(["a", "b"]), SELECTION),
            (json!("a"), SELECTION),
            (json!(["a", "b", "b"]), SELECTION),
            (json!(["a", "b", "3", "a"]), SELECTION),
            (json!(["a", "b", "z"]), OPTION),
        ],
    );
}

#[test]
fn a_matrix_takes_one_column_per_row() {
    let fields = json!({"rows": options(), "columns": options()});
    check(
        "matrix",
        fields.clone(),
        &[
            (json!(["a:b", "b:b", "3:a"]), GOOD),
            (json!("a:3"), GOOD),
            (json!(["a:b", "a:3"]), SELECTION),
            (json!(["a:z"]), OPTION),
            (json!(["z:a"]), OPTION),
            (json!(["a:b:3"]), OPTION),
            (json!(["a"]), FORMAT),
        ],
    );
    let mut required = fields;
    required["required"] = json!(true);
    let missing: &[Code] = &[Code::AnswerRequired];
    check(
        "matrix",
        required,
        &[
            (json!(["a:b", "b:b", "3:a"]), GOOD),
            (json!(["a:b", "b:b"]), missing),
            (json!([]), missing),
        ],
    );
}

#[test]
fn a_rating_is_a_whole_number_on_the_scale() {
    check("rating", json!({}), &[(json!("1"), GOOD), (json!("5"), GOOD), (json!("6"), RANGE)]);
    check(
        "rating",
        json!({"max": 10}),
        &[
            (json!("10"), GOOD),
            (json!("0"), RANGE),
            (json!("11"), RANGE),
            (json!("99999999999999999999"), RANGE),
            (json!("-1"), FORMAT),
            (json!("2.0"), FORMAT),
            (json!("05"), FORMAT),
            (json!("five"), FORMAT),
            (json!(["5"]), GOOD),
            (json!(["5", "5"]), KIND),
        ],
    );
    check(
        "nps",
        json!({}),
        &[
            (json!("0"), GOOD),
            (json!("10"), GOOD),
            (json!("11"), RANGE),
            (json!("00"), FORMAT),
            (json!(["0"]), GOOD),
            (json!(["0", "0"]), KIND),
        ],
    );
}

#[test]
fn fixed_answers_and_statements_are_checked() {
    check(
        "yesNo",
        json!({}),
        &[
            (json!("yes"), GOOD),
            (json!("no"), GOOD),
            (json!("Yes"), OPTION),
            (json!(["yes"]), GOOD),
            (json!(["yes", "yes"]), KIND),
        ],
    );
    check(
        "consent",
        json!({}),
        &[
            (json!("accepted"), GOOD),
            (json!("yes"), OPTION),
            (json!(["accepted"]), GOOD),
            (json!(["accepted", "accepted"]), KIND),
        ],
    );
    check("statement", json!({}), &[(json!("x"), &[Code::NotAnswerable]), (json!(""), GOOD)]);
}

#[test]
fn an_empty_text_or_list_is_no_answer() {
    let missing: &[Code] = &[Code::AnswerRequired];
    for name in ["shortText", "number", "date", "nps", "yesNo", "consent"] {
        for answer in [json!(""), json!([]), json!([""])] {
            check(name, json!({}), &[(answer.clone(), GOOD)]);
            check(name, json!({"required": true}), &[(answer, missing)]);
        }
    }
}

/// A required question that is shown if the condition holds.
fn required_if(condition: Value) -> Value {
    json!([
        {"id": "nps", "type": "nps", "prompt": "?"},
        {"id": "use", "type": "multipleChoice", "prompt": "?", "allowOther": true,
         "options": options()},
        {"id": "day", "type": "date", "prompt": "?"},
        {"id": "one", "type": "singleChoice", "prompt": "?", "options": options(), "allowOther": true},
        {"id": "why", "type": "yesNo", "prompt": "?", "required": true, "visibleIf": condition},
    ])
}

#[test]
fn required_applies_only_if_the_condition_holds() {
    let nps = |test: &str, value: Value| json!({"question": "nps", test: value});
    let table = [
        (nps("lessThan", json!(7)), json!({"nps": "6"}), true),
        (nps("lessThan", json!(7)), json!({"nps": "7"}), false),
        (nps("lessThan", json!(7)), json!({"nps": "10"}), false),
        (nps("greaterThan", json!(6.5)), json!({"nps": "7"}), true),
        (nps("greaterThan", json!(6.5)), json!({}), false),
        (nps("equals", json!(7)), json!({"nps": "7"}), true),
        (nps("in", json!([1, 2])), json!({"nps": "2"}), true),
        (nps("in", json!([1, 2])), json!({"nps": "3"}), false),
        (nps("notIn", json!([1, 2])), json!({"nps": "3"}), true),
        (nps("notIn", json!([1, 2])), json!({"nps": "2"}), false),
        (nps("notIn", json!([1, 2])), json!({}), false),
        (nps("answered", json!(true)), json!({"nps": "3"}), true),
        (nps("answered", json!(true)), json!({"nps": ""}), false),
        (nps("answered", json!(false)), json!({"nps": []}), true),
        (json!({"not": nps("equals", json!(1))}), json!({}), true),
        (json!({"question": "use", "includes": "b"}), json!({"use": ["a", "b"]}), true),
        (json!({"question": "use", "includes": "b"}), json!({"use": "b"}), true),
        (json!({"question": "use", "includes": "b"}), json!({"use": ["a"]}), false),
        (json!({"question": "use", "includes": "other"}), json!({"use": ["a", "other:x"]}), true),
        (json!({"question": "one", "equals": "other"}), json!({"one": "other:x"}), true),
        (json!({"question": "one", "equals": "other"}), json!({"one": "a"}), false),
        (json!({"question": "day", "lessThan": "2024-03-01"}), json!({"day": "2024-02-29"}), true),
        (
            json!({"question": "day", "greaterThan": "2024-03-01"}),
            json!({"day": "2024-02-29"}),
            false,
        ),
        (
            json!({"all": [nps("equals", json!(1)), {"question": "one", "equals": "a"}]}),
            json!({"nps": "1"}),
            false,
        ),
        (
            json!({"any": [nps("equals", json!(1)), {"question": "one", "equals": "a"}]}),
            json!({"nps": "1"}),
            true,
        ),
    ];
    for (condition, answers, bites) in table {
        let issues = issues(&required_if(condition.clone()), &answers);
        let codes: Vec<Code> = issues.iter().map(|issue| issue.code).collect();
        let expected = if bites { vec![Code::AnswerRequired] } else { vec![] };
        assert_eq!(codes, expected, "{condition} with {answers}");
    }
}

#[test]
fn an_answer_to_a_hidden_question_is_judged_like_any_other() {
    let questions = required_if(json!({"question": "nps", "equals": 1}));
    assert!(issues(&questions, &json!({"nps": "5", "why": "yes"})).is_empty());
    let found = issues(&questions, &json!({"nps": "5", "why": "perhaps"}));
    assert_eq!(found[0].code, Code::UnknownOption);
}

#[test]
fn all_issues_are_reported_in_question_order() {
    let questions = required_if(json!({"not": {"question": "nps", "equals": 1}}));
    let answers = json!({"aaa": "x", "zzz": "", "use": "q", "nps": "11"});
    let found = issues(&questions, &answers);
    let reported: Vec<Value> = found.iter().map(|issue| json!([issue.code, issue.path])).collect();
    assert_eq!(
        json!(reported),
        json!([
            ["out_of_range", ["answers", "nps"]],
            ["unknown_option", ["answers", "use"]],
            ["answer_required", ["answers", "why"]],
            ["unknown_question", ["answers", "aaa"]],
            ["unknown_question", ["answers", "zzz"]],
        ])
    );
    let messages: Vec<&str> = found.iter().map(|issue| issue.message.as_ref()).collect();
    assert_eq!(messages[0], "Question \"nps\" takes a whole number from 0 to 10.");
    assert_eq!(
        messages[1],
        "Question \"use\" takes only its options: a, b, 3, or other: and a text."
    );
    assert_eq!(messages[2], "Question \"why\" must be answered.");
    assert_eq!(messages[3], "This version has no question \"aaa\".");
}

#[test]
fn an_answer_is_stored_as_a_list_if_its_question_takes_several_and_as_a_text_otherwise() {
    let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    let questions = json!([
        {"id": "some", "type": "multipleChoice", "prompt": "?", "options": options},
        {"id": "order", "type": "ranking", "prompt": "?", "options": options},
        {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
        {"id": "one", "type": "singleChoice", "prompt": "?", "options": options},
        {"id": "nps", "type": "nps", "prompt": "?"},
        {"id": "text", "type": "longText", "prompt": "?"},
        {"id": "note", "type": "statement", "prompt": "!"},
    ]);
    let snapshot = snapshot(&questions);
    let several = ["some", "order", "grid"];
    for id in ["some", "order", "grid", "one", "nps", "text", "note", "unknown"] {
        for (sent, text, list) in [
            (json!("a"), json!("a"), json!(["a"])),
            (json!(["a"]), json!("a"), json!(["a"])),
            (json!(["a", "b"]), json!(["a", "b"]), json!(["a", "b"])),
            (json!(""), json!(""), json!([])),
            (json!([]), json!(""), json!([])),
            (json!([""]), json!(""), json!([])),
        ] {
            let mut answers = texts(&json!({id: sent, "zz": "other"}));
            canonicalise(snapshot.definition(), &mut answers);
            let stored = match id {
                "unknown" => sent.clone(),
                id if several.contains(&id) => list,
                _ => text,
            };
            let stored = json!({id: stored, "zz": "other"});
            assert_eq!(serde_json::to_value(&answers).unwrap(), stored, "{id} {sent}");
        }
    }
}

#[test]
fn a_one_element_list_of_an_empty_text_is_no_answer() {
    let required = json!([{"id": "q", "type": "shortText", "prompt": "?", "required": true}]);
    for absent in [json!(""), json!([]), json!([""])] {
        let codes: Vec<Code> =
            issues(&required, &json!({"q": absent})).iter().map(|issue| issue.code).collect();
        assert_eq!(codes, [Code::AnswerRequired], "{absent}");
    }
}

#[test]
fn a_maximum_length_counts_characters_in_any_script() {
    for letter in ["x", "ü", "字", "😀"] {
        let of = |count: usize| json!(letter.repeat(count));
        check("longText", json!({"maxLength": 10_000}), &[(of(10_000), GOOD), (of(10_001), RANGE)]);
        check("longText", json!({"maxLength": 16_384}), &[(of(16_384), GOOD)]);
        check("longText", json!({}), &[(of(4_000), GOOD), (of(4_001), RANGE)]);
        check("shortText", json!({}), &[(of(16_384), GOOD)]);
    }
}
