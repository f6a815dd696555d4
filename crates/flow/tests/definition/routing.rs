//! Jumps, endings, scores, sections, the welcome screen and placeholders: each rule with its fault.

use serde_json::{Value, json};
use sluice_flow::definition::limits::FAULTS_MAX;
use sluice_flow::definition::{check, check_new};

use crate::{accepted, refused};

/// Three questions; the second has these jumps.
fn jumping(next: Value) -> Value {
    let question = |id: &str| json!({"id": id, "type": "nps", "prompt": "?"});
    let mut middle = question("b");
    middle["next"] = next;
    json!({
        "title": "T", "questions": [question("a"), middle, question("c")],
        "endings": [{"id": "bye", "title": "Bye"}],
    })
}

#[test]
fn a_jump_leads_to_a_later_question_or_to_an_ending() {
    let low = json!({"question": "b", "lessThan": 5});
    accepted(&jumping(json!([{"when": low, "to": "c"}, {"to": "end"}])));
    accepted(&jumping(json!([{"when": low, "to": "end:bye"}])));
    accepted(&jumping(json!([])));
    for (to, message) in [
        ("a", "must be a later question; this one comes earlier"),
        ("b", "must be a later question, not the question itself"),
        ("x", "must be the id of a later question, end, or end:"),
        ("", "must be the id of a later question, end, or end:"),
        ("end:x", "the definition has no ending with this id"),
        ("end:", "the definition has no ending with this id"),
    ] {
        refused(&jumping(json!([{"to": to}])), &[("/questions/1/next/0/to", message)]);
    }
    refused(&jumping(json!([{}])), &[("/questions/1/next/0/to", "to is required")]);
    refused(&jumping(json!({})), &[("/questions/1/next", "must be a list")]);
    let unreached = [("/questions/1/next/1", "never reached: the jump before it has no condition")];
    refused(&jumping(json!([{"to": "end"}, {"to": "c"}])), &unreached);
    let later = json!([{"when": {"question": "c", "answered": true}, "to": "c"}]);
    let at = "/questions/1/next/0/when/question";
    refused(&jumping(later), &[(at, "must be an earlier question; this one comes later")]);
}

#[test]
fn endings_have_unique_ids_and_may_ask_about_every_question() {
    let with = |endings: Value| {
        let mut draft = jumping(json!([]));
        draft["endings"] = endings;
        draft
    };
    accepted(&with(json!([{"id": "x", "when": {"question": "c", "lessThan": 3}}, {"id": "y"}])));
    refused(
        &with(json!([{"id": "x"}, {"id": "x"}, {"id": "1"}, {"title": "T"}])),
        &[
            ("/endings/1/id", "\"x\" is used twice"),
            ("/endings/2/id", "must start with a letter"),
            ("/endings/3/id", "id is required"),
        ],
    );
    let ending =
        json!({"id": "x", "when": {"question": "z", "answered": true}, "redirectUrl": "app://x"});
    refused(
        &with(json!([ending])),
        &[
            ("/endings/0/when/question", "must be the id of an earlier question"),
            ("/endings/0/redirectUrl", "must be an http or https address"),
        ],
    );
    let mut draft = with(json!([{"id": "x", "title": "T"}]));
    draft["translations"] = json!({"de": {"endings": {"x": {"title": "D", "body": "D"}, "y": {}}}});
    refused(
        &draft,
        &[
            ("/translations/de/endings/x/body", "the ending has no body to translate"),
            ("/translations/de/endings/y", "the definition has no ending with this id"),
        ],
    );
}

#[test]
fn a_condition_about_the_score_needs_an_earlier_score() {
    let draft = |score: Value, condition: Value| {
        let options = json!([{"id": "a", "label": "A", "score": score}]);
        json!({"title": "T", "questions": [
            {"id": "one", "type": "singleChoice", "prompt": "?", "options": options},
            {"id": "two", "type": "nps", "prompt": "?", "visibleIf": condition},
        ]})
    };
    let above = json!({"score": true, "greaterThan": 2.5});
    accepted(&draft(json!(3), above.clone()));
    let at = "/questions/1/visibleIf";
    refused(
        &draft(Value::Null, above.clone()),
        &[(&format!("{at}/score"), "no question before this place has a score")],
    );
    refused(
        &draft(json!(1), json!({"score": false, "lessThan": "x"})),
        &[
            (&format!("{at}/score"), "must be true"),
            (&format!("{at}/lessThan"), "must be a number"),
        ],
    );
    for wrong in [
        json!({"score": true, "in": [1]}),
        json!({"score": true}),
        json!({"score": true, "question": "one", "equals": 1}),
    ] {
        refused(
            &draft(json!(1), wrong),
            &[(at, "or score and one of equals, lessThan, greaterThan")],
        );
    }
    for score in [json!("3"), json!(0.125), json!(2_000_000)] {
        let at = "/questions/0/options/0/score";
        let faults = check(&draft(score, Value::Null)).unwrap_err();
        assert_eq!(faults[0].pointer, at);
        assert!(faults[0].message.contains("at most two decimal places"), "{faults:?}");
    }
    let scale = |score: &str| json!({"title": "T", "questions": [{"id": "q", "type": "rating", "prompt": "?", "score": score}]});
    accepted(&scale("value"));
    refused(&scale("double"), &[("/questions/0/score", "must be one of none, value")]);
    let row = json!([{"id": "a", "label": "A", "score": 1}]);
    let matrix = json!({"id": "q", "type": "matrix", "prompt": "?", "rows": row, "columns": [{"id": "c", "label": "C"}]});
    let draft = json!({"title": "T", "questions": [matrix]});
    refused(&draft, &[("/questions/0/rows/0/score", "unknown field")]);
}

#[test]
fn a_section_holds_questions_that_follow_one_another() {
    let with = |sections: Value| {
        let mut draft = jumping(json!([]));
        draft["sections"] = sections;
        draft
    };
    accepted(&with(
        json!([{"id": "s", "title": "S", "questions": ["a", "b"]}, {"id": "t", "questions": ["c"]}]),
    ));
    refused(
        &with(json!([
            {"id": "s", "questions": ["a", "c"]}, {"id": "s", "questions": ["c", "x"]}, {"id": "t", "questions": []},
        ])),
        &[
            ("/sections/0/questions/1", "must be the question that follows the one before it"),
            ("/sections/1/id", "\"s\" is used twice"),
            ("/sections/1/questions/0", "c is in a section already"),
            ("/sections/1/questions/1", "must be the id of a question"),
            ("/sections/2/questions", "must hold 1 to"),
        ],
    );
    let mut draft = with(json!([{"id": "s", "questions": ["a"]}]));
    draft["welcome"] = json!({"title": "Hello"});
    let german = json!({"welcome": {"title": "Hallo", "body": "x"}, "sections": {"s": {"title": "x"}, "t": {}}});
    draft["translations"] = json!({"de": german});
    refused(
        &draft,
        &[
            ("/translations/de/welcome/body", "the welcome screen has no body to translate"),
            ("/translations/de/sections/s/title", "the section has no title to translate"),
            ("/translations/de/sections/t", "the definition has no section with this id"),
        ],
    );
}

/// Checks the faults of publishing a draft whose second question has this prompt.
#[track_caller]
fn publishing(change: impl FnOnce(&mut Value), expected: &[(&str, &str)]) {
    let mut draft = json!({
        "title": "T", "welcome": {"body": "W"}, "questions": [
            {"id": "name", "type": "shortText", "prompt": "Name?"},
            {"id": "say", "type": "statement", "prompt": "Hm"},
            {"id": "plan", "type": "singleChoice", "prompt": "Plan?", "options": [{"id": "a", "label": "A", "score": 1}]},
        ],
        "sections": [{"id": "s", "title": "S", "questions": ["say", "plan"]}],
        "ending": {"title": "E"}, "endings": [{"id": "x", "body": "B"}],
        "translations": {"de": {"questions": {"plan": {"prompt": "P", "options": {"a": "A"}}}}},
    });
    change(&mut draft);
    // Older versions may have any text, so that only publishing refuses it.
    check(&draft).unwrap();
    let faults = check_new(&draft).err().unwrap_or_default();
    let found: Vec<(&str, &str)> =
        faults.iter().map(|it| (it.pointer.as_str(), it.message.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_placeholder_names_an_earlier_question() {
    publishing(|_| {}, &[]);
    publishing(
        |it| {
            it["questions"][1]["help"] = json!("{{answer:name|you}}");
            it["questions"][2]["options"][0]["label"] =
                json!("{{ answer:name }} {{tag:plan|free}}");
            it["sections"][0]["title"] = json!("{{answer:name}}");
            it["ending"]["title"] = json!("{{answer:plan}} {{score}}");
            it["endings"][0]["body"] = json!("{{score}} {{answer:name}}");
            it["translations"]["de"]["questions"]["plan"]["prompt"] = json!("{{answer:name}}");
            it["title"] = json!("{{tag:plan}} {{other}}");
        },
        &[],
    );
    let later = "the answer to name is not known here: it is asked later";
    publishing(
        |it| {
            it["title"] = json!("{{answer:name}}");
            it["welcome"]["body"] = json!("{{answer:name}} {{tag:}}");
            it["questions"][0]["prompt"] = json!("{{answer:name}}");
        },
        &[
            ("/questions/0/prompt", later),
            ("/title", later),
            ("/welcome/body", later),
            ("/welcome/body", "a placeholder needs the name of a tag"),
        ],
    );
    publishing(
        |it| {
            it["questions"][2]["prompt"] = json!("{{answer:nobody|x}} {{answer:say}} {{score}}");
            it["translations"]["de"]["questions"]["plan"]["options"]["a"] =
                json!("{{answer:plan}}");
        },
        &[
            ("/questions/2/prompt", "there is no question nobody whose answer could be shown here"),
            ("/questions/2/prompt", "say takes no answer that could be shown here"),
            ("/questions/2/prompt", "no question before this text has a score"),
            (
                "/translations/de/questions/plan/options/a",
                "the answer to plan is not known here: it is asked later",
            ),
        ],
    );
}

#[test]
fn faults_of_placeholders_are_listed_with_all_other_faults() {
    let check = |draft: Value, expected: &[(&str, &str)]| {
        let faults = check_new(&draft).unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|it| (it.pointer.as_str(), it.message.as_str())).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((pointer, message), (at, part)) in found.iter().zip(expected) {
            assert!(pointer == at && message.contains(part), "{found:?}");
        }
    };
    check(
        json!({
            "title": "T",
            "questions": [
                {
                    "id": "a", "type": "shortText", "prompt": "{{answer:b|x}}",
                    "visibleIf": {"question": "b", "answered": true}, "next": [{"to": "zz"}],
                },
                {"id": "b", "type": "shortText", "prompt": "B"},
            ],
            "endings": [{"id": "e", "title": "{{answer:zz}} {{answer:zz}}"}],
        }),
        &[
            ("/questions/0/visibleIf/question", "must be an earlier question"),
            ("/questions/0/next/0/to", "must be the id of a later question"),
            ("/endings/0/title", "there is no question zz"),
            ("/questions/0/prompt", "the answer to b is not known here"),
        ],
    );
    // Pointers are those of the draft, also after questions that could not be read, and what is
    // unknown because of another fault is no fault.
    check(
        json!({
            "questions": [
                {"id": "odd", "type": "shortTex", "prompt": "{{answer:later}}"},
                "no question",
                {"id": "later", "type": "statement", "prompt": "{{score}} {{answer:odd}}"},
                {"type": "shortText", "prompt": "{{answer:later}}"},
            ],
            "sections": [{"id": "s", "title": "{{answer:odd}}", "questions": ["gone"]}],
            "translations": {
                "de_de": {"questions": {"odd": {"prompt": "{{answer:odd}}"}}},
                "en": {"sections": {"s": {"title": "{{tag:}}"}}},
            },
        }),
        &[
            ("/title", "required"),
            ("/questions/0/type", "unknown type; did you mean shortText?"),
            ("/questions/1", "must be an object"),
            ("/questions/3/id", "required"),
            ("/sections/0/questions/0", "must be the id of a question"),
            ("/translations/de_de/questions/odd", ""),
            ("/translations/en", "the default language"),
            ("/questions/0/prompt", "the answer to later is not known here"),
            ("/questions/3/prompt", "later takes no answer"),
            ("/translations/de_de/questions/odd/prompt", "the answer to odd is not known here"),
            ("/translations/en/sections/s/title", "the name of a tag"),
        ],
    );
    check(json!([]), &[("", "must be an object")]);
}

#[test]
fn the_text_of_an_option_is_checked_whatever_its_id() {
    let options = json!([{"id": "to", "label": "A"}, {"id": "when", "label": "B"}]);
    let translated = json!({"to": "{{answer:zz}}", "when": "{{answer:q}}"});
    let draft = json!({
        "title": "T",
        "questions": [{"id": "q", "type": "singleChoice", "prompt": "?", "options": options}],
        "translations": {"de": {"questions": {"q": {"options": translated}}}},
    });
    let faults = check_new(&draft).unwrap_err();
    let found: Vec<_> = faults.iter().map(|it| it.pointer.as_str()).collect();
    let at = |id: &str| format!("/translations/de/questions/q/options/{id}");
    assert_eq!(found, [at("to"), at("when")]);
}

#[test]
fn at_most_500_faults_are_reported() {
    let question = json!({"id": "a", "type": "shortText", "prompt": "{{answer:b}} {{answer:c}}"});
    let draft = json!({"title": "T", "questions": vec![question; 299]});
    assert_eq!(check_new(&draft).unwrap_err().len(), FAULTS_MAX);
}
