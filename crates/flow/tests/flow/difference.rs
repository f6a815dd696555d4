//! The changes between two definitions: each kind of change and its text.

use serde_json::{Value, json};
use sluice_flow::definition::{ChangeKind, check, difference};

/// A survey; each case changes one part of it.
fn survey() -> Value {
    json!({
        "title": "Lunch", "description": "Two minutes.", "respondentAnalytics": "ask",
        "questions": [
            {"id": "taste", "type": "rating", "prompt": "How was it?", "lowLabel": "Bad"},
            {"id": "plan", "type": "singleChoice", "prompt": "Which plan?",
             "options": [{"id": "free", "label": "Free"}, {"id": "pro", "label": "Pro"}]},
            {"id": "why", "type": "longText", "prompt": "Why?", "visibleIf": {"question": "taste", "lessThan": 3}},
            {"id": "order", "type": "ranking", "prompt": "What matters?",
             "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]},
        ],
        "ending": {"title": "Thanks"},
        "translations": {"de": {"title": "Mittag", "questions": {"plan": {"prompt": "Welcher Tarif?", "options": {"free": "Frei"}}}}},
    })
}

/// Checks the texts of a change to the survey, and whether it breaks the results.
#[track_caller]
fn changed(change: impl FnOnce(&mut Value), expected: &[(ChangeKind, Option<&str>, &str, bool)]) {
    let (before, mut after) = (survey(), survey());
    change(&mut after);
    let (before, after) = (check(&before).unwrap(), check(&after).unwrap());
    let found = difference(&before, &after);
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.kind, it.question.as_deref(), it.text.as_str(), it.breaks.is_some()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn equal_definitions_have_no_changes() {
    changed(|_| {}, &[]);
    // An explicit default is the same as an omitted one.
    changed(|it| it["defaultLocale"] = json!("en"), &[]);
}

#[test]
fn changes_of_the_flow_are_reported() {
    use ChangeKind::{Ending, Flow};
    changed(
        |it| it["title"] = json!("Dinner"),
        &[(Flow, None, "The title now reads “Dinner”", false)],
    );
    changed(
        |it| it["description"] = json!(null),
        &[(Flow, None, "The description was removed", false)],
    );
    changed(
        |it| it["autoAdvance"] = json!(false),
        &[(Flow, None, "The page no longer advances automatically after a single choice", false)],
    );
    changed(|it| it["autoAdvance"] = json!(true), &[]);
    changed(
        |it| it["respondentAnalytics"] = json!("never"),
        &[(
            Flow,
            None,
            "Respondents are no longer asked whether their answers may be linked to them",
            false,
        )],
    );
    changed(
        |it| {
            it["ending"] =
                json!({"title": "Bye", "body": "See you.", "redirectUrl": "https://a.example/"})
        },
        &[
            (Ending, None, "The ending title now reads “Bye”", false),
            (Ending, None, "New ending text: “See you.”", false),
            (Ending, None, "The ending now redirects to “https://a.example/”", false),
        ],
    );
    changed(
        |it| it["defaultLocale"] = json!("fr"),
        &[(Flow, None, "The default language is now fr", false)],
    );
}

#[test]
fn added_removed_and_moved_questions_are_reported() {
    use ChangeKind::{Added, Moved, Removed};
    changed(
        |it| {
            let new = json!({"id": "again", "type": "yesNo", "prompt": "Once more?"});
            it["questions"].as_array_mut().unwrap().insert(1, new);
        },
        &[(Added, Some("again"), "New: “Once more?” (Yes or no)", false)],
    );
    changed(
        |it| drop(it["questions"].as_array_mut().unwrap().remove(3)),
        &[(Removed, Some("order"), "“What matters?” was removed", true)],
    );
    changed(
        |it| {
            let questions = it["questions"].as_array_mut().unwrap();
            let last = questions.remove(3);
            questions.insert(0, last);
        },
        &[(Moved, Some("order"), "“What matters?” now comes first", false)],
    );
    changed(
        |it| it["questions"].as_array_mut().unwrap().swap(2, 3),
        &[(Moved, Some("order"), "“What matters?” now comes after “Which plan?”", false)],
    );
}

#[test]
fn a_question_with_a_new_id_is_renamed_and_breaks_results() {
    use ChangeKind::Renamed;
    changed(
        |it| {
            it["questions"][0]["id"] = json!("score");
            it["questions"][2]["visibleIf"]["question"] = json!("score");
        },
        &[(Renamed, Some("score"), "“How was it?” has a new ID: score instead of taste", true)],
    );
}

#[test]
fn changes_of_a_question_are_reported() {
    use ChangeKind::{Logic, Required, Retyped, Reworded, Rule};
    let set = |at: usize, field: &'static str, value: Value| {
        move |it: &mut Value| it["questions"][at][field] = value
    };
    changed(
        set(0, "prompt", json!("How did it taste?")),
        // A condition that refers to it elsewhere has not changed.
        &[(Reworded, Some("taste"), "“How was it?” now reads “How did it taste?”", false)],
    );
    changed(
        set(0, "required", json!(true)),
        &[(Required, Some("taste"), "“How was it?” must now be answered", false)],
    );
    changed(
        set(0, "help", json!("Be honest.")),
        &[(Reworded, Some("taste"), "“How was it?”: help now reads “Be honest.”", false)],
    );
    changed(
        set(0, "max", json!(10)),
        &[(Rule, Some("taste"), "“How was it?”: maximum now 10", true)],
    );
    changed(
        set(0, "lowLabel", json!(null)),
        &[(Rule, Some("taste"), "“How was it?”: label of the low end no longer set", false)],
    );
    changed(
        set(2, "maxLength", json!(500)),
        &[(Rule, Some("why"), "“Why?”: maximum length now 500", false)],
    );
    changed(
        set(1, "allowOther", json!(true)),
        &[(Rule, Some("plan"), "“Which plan?”: “Other” with free text now on", false)],
    );
    changed(
        set(1, "type", json!("dropdown")),
        &[(Retyped, Some("plan"), "“Which plan?” is now Dropdown; it was Single choice", true)],
    );
    changed(
        set(2, "visibleIf", json!({"question": "plan", "equals": "pro"})),
        &[(
            Logic,
            Some("why"),
            "“Why?” is now shown if “Which plan?” is “Pro”; it was shown if “How was it?” is less than 3",
            false,
        )],
    );
    changed(
        set(2, "visibleIf", json!(null)),
        &[(Logic, Some("why"), "“Why?” is now always shown", false)],
    );
    changed(
        set(1, "visibleIf", json!({"question": "taste", "answered": true})),
        &[(
            Logic,
            Some("plan"),
            "“Which plan?” is now shown only if “How was it?” is answered",
            false,
        )],
    );
}

#[test]
fn changes_of_options_are_reported() {
    use ChangeKind::{Choices, Translation};
    let options =
        |it: &mut Value, at: usize, options: Value| it["questions"][at]["options"] = options;
    let free = json!({"id": "free", "label": "Free"});
    let pro = json!({"id": "pro", "label": "Pro"});
    changed(
        |it| options(it, 1, json!([free, pro, {"id": "max", "label": "Max"}])),
        &[(Choices, Some("plan"), "“Which plan?”: new option “Max”", false)],
    );
    changed(
        |it| options(it, 1, json!([free])),
        &[(Choices, Some("plan"), "“Which plan?”: option “Pro” was removed", true)],
    );
    changed(
        |it| options(it, 1, json!([free, {"id": "pro", "label": "Professional"}])),
        &[(Choices, Some("plan"), "“Which plan?”: option “Pro” now reads “Professional”", false)],
    );
    changed(
        |it| options(it, 1, json!([pro, free])),
        &[(Choices, Some("plan"), "“Which plan?”: options reordered", false)],
    );
    changed(
        |it| {
            options(it, 1, json!([{"id": "gratis", "label": "Free"}, pro]));
            it["translations"]["de"]["questions"]["plan"]["options"] = json!({"gratis": "Frei"});
        },
        &[
            (
                Choices,
                Some("plan"),
                "“Which plan?”: option “Free” has a new ID: gratis instead of free",
                true,
            ),
            (Translation, None, "de: 1 text new or changed", false),
            (Translation, None, "de: 1 text removed", false),
        ],
    );
    changed(
        |it| {
            options(
                it,
                3,
                json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]),
            )
        },
        &[(Choices, Some("order"), "“What matters?”: new option “C”", true)],
    );
}

#[test]
fn changes_of_languages_are_reported() {
    use ChangeKind::Translation;
    changed(
        |it| it["translations"]["fr"] = json!({"title": "Midi"}),
        &[(Translation, None, "New language fr: 1 text", false)],
    );
    changed(
        |it| it["translations"] = json!(null),
        &[(Translation, None, "The language de was removed", false)],
    );
    changed(
        |it| {
            it["translations"]["de"]["questions"]["plan"]["options"] =
                json!({"free": "Gratis", "pro": "Profi"})
        },
        &[(Translation, None, "de: 2 texts new or changed", false)],
    );
}

#[test]
fn changes_of_jumps_and_endings_are_reported() {
    use ChangeKind::{Ending, Logic};
    changed(
        |it| {
            it["questions"][1]["next"] = json!([
                {"when": {"question": "plan", "equals": "pro"}, "to": "order"}, {"to": "end"},
            ]);
        },
        &[(
            Logic,
            Some("plan"),
            "After “Which plan?”: go to “What matters?” if “Which plan?” is “Pro”; go to the end",
            false,
        )],
    );
    let endings = json!([
        {"id": "low", "when": {"question": "taste", "lessThan": 3}, "title": "Sorry"}, {"id": "bye"},
    ]);
    changed(
        |it| it["endings"] = endings.clone(),
        &[
            (Ending, None, "New ending low: shown if “How was it?” is less than 3", false),
            (Ending, None, "New ending bye: shown only after a jump to it", false),
        ],
    );
    let mut before = survey();
    before["endings"] = endings;
    before["questions"][1]["next"] = json!([{"to": "end:bye"}]);
    let mut after = survey();
    after["endings"] = json!([{"id": "low", "title": "Oh"}]);
    let found = difference(&check(&before).unwrap(), &check(&after).unwrap());
    let texts: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "“Which plan?” no longer jumps",
            "The ending low title now reads “Oh”",
            "The ending low is now shown only after a jump to it; it was shown if “How was it?” is less than 3",
            "The ending bye was removed",
        ]
    );
}

#[test]
fn changes_of_scores_and_of_the_order_of_options_are_reported() {
    use ChangeKind::{Choices, Rule};
    changed(
        |it| {
            it["questions"][0]["score"] = json!("value");
            it["questions"][1]["options"][1]["score"] = json!(2.5);
            it["questions"][1]["options"][0]["fixed"] = json!(true);
            it["questions"][1]["optionOrder"] = json!("random");
        },
        &[
            (Rule, Some("taste"), "“How was it?”: score now “value”", true),
            (Choices, Some("plan"), "“Which plan?”: option “Free” now keeps its place", false),
            (Choices, Some("plan"), "“Which plan?”: option “Pro” is now scored 2.5", true),
            (Rule, Some("plan"), "“Which plan?”: order of options now “random”", false),
        ],
    );
}

#[test]
fn changes_of_the_welcome_screen_and_of_sections_are_reported() {
    use ChangeKind::Flow;
    changed(
        |it| {
            it["welcome"] = json!({"title": "Hi"});
            it["sections"] = json!([{"id": "s", "title": "You", "questions": ["taste", "plan"]}]);
        },
        &[
            (Flow, None, "New welcome screen", false),
            (Flow, None, "New section: “How was it?”, “Which plan?”", false),
        ],
    );
}
