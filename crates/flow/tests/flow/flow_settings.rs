//! The settings in a flow file: what is wrong with them, and what they change, in words.

use serde_json::{Value, json};
use sluice_flow::definition::{Definition, check};
use sluice_flow::flow_settings::{FlowSettings, difference, patch};

fn survey() -> Definition {
    check(&json!({"title": "Lunch", "questions": [
        {"id": "taste", "type": "rating", "prompt": "How was it?"},
        {"id": "again", "type": "yesNo", "prompt": "Again?"},
    ]}))
    .unwrap()
}

#[track_caller]
fn settings(value: &Value) -> FlowSettings {
    FlowSettings::read(value, "/flow", Some(&survey())).unwrap()
}

/// A flow as the admin API returns it.
fn flow() -> Value {
    json!({
        "flowId": "fl_1", "key": "lunch", "name": "Lunch", "kind": "survey", "labels": ["food", "Q4"],
        "liveWindow": {"startsAt": null, "endsAt": "2026-12-24T00:00:00.000Z"},
        "graceWindowSeconds": 60, "closeAfter": 100, "published": null,
        "quotas": [{"id": "fans", "when": {"question": "again", "equals": "yes"}, "limit": 10}],
    })
}

/// Checks what settings in a file change about the flow, and the change that is sent.
#[track_caller]
fn changes(file: Value, texts: &[&str], sent: Value) {
    let (before, after) = (FlowSettings::from_flow(&flow()).unwrap(), settings(&file));
    assert_eq!(difference(&before, &after, Some(&survey())), texts, "{file}");
    assert_eq!(Value::Object(patch(&before, &after)), sent, "{file}");
}

#[test]
fn settings_that_a_file_does_not_name_stay() {
    changes(json!({"key": "lunch"}), &[], json!({}));
    changes(flow_part(), &[], json!({}));
    // Times are compared, not their texts.
    changes(json!({"liveWindow": {"endsAt": "2026-12-24T01:00:00+01:00"}}), &[], json!({}));
}

fn flow_part() -> Value {
    let Value::Object(mut part) = flow() else { unreachable!() };
    part.retain(|name, _| !matches!(name.as_str(), "flowId" | "published"));
    part.into()
}

#[test]
fn each_changed_setting_is_a_sentence() {
    changes(
        json!({"key": "dinner"}),
        &["The key is now dinner; it was lunch"],
        json!({"key": "dinner"}),
    );
    changes(json!({"name": "Dinner"}), &["The name is now “Dinner”"], json!({"name": "Dinner"}));
    changes(
        json!({"labels": ["Q4", " team  a "]}),
        &["New label “team a”", "The label “food” was removed"],
        json!({"labels": ["Q4", "team a"]}),
    );
    changes(
        json!({"labels": ["Q4", "food"]}),
        &["Labels reordered"],
        json!({"labels": ["Q4", "food"]}),
    );
    let removed = ["The label “food” was removed", "The label “Q4” was removed"];
    changes(json!({"labels": null}), &removed, json!({"labels": []}));
    changes(
        json!({"liveWindow": {"startsAt": "2026-12-01T00:00:00Z"}}),
        &["It now opens at 2026-12-01T00:00:00.000Z", "It no longer closes at a time"],
        json!({"liveWindow": {"startsAt": "2026-12-01T00:00:00.000Z", "endsAt": null}}),
    );
    changes(
        json!({"liveWindow": {"endsAt": "2026-12-25T00:00:00Z"}}),
        &["It now closes at 2026-12-25T00:00:00.000Z instead of 2026-12-24T00:00:00.000Z"],
        json!({"liveWindow": {"startsAt": null, "endsAt": "2026-12-25T00:00:00.000Z"}}),
    );
    changes(
        json!({"graceWindowSeconds": 1}),
        &["The grace window is now 1 second"],
        json!({"graceWindowSeconds": 1}),
    );
    changes(
        json!({"graceWindowSeconds": null}),
        &["The grace window is now that of the app"],
        json!({"graceWindowSeconds": null}),
    );
    changes(
        json!({"closeAfter": 200}),
        &["It now closes after 200 responses"],
        json!({"closeAfter": 200}),
    );
    changes(
        json!({"closeAfter": null}),
        &["It no longer closes after a number of responses"],
        json!({"closeAfter": null}),
    );
}

#[test]
fn quotas_are_compared_by_their_ids() {
    let fans = json!({"id": "fans", "when": {"question": "again", "equals": "yes"}, "limit": 10});
    let critics =
        json!({"id": "critics", "when": {"question": "taste", "lessThan": 3}, "limit": 1});
    let quotas = |list: Value| json!({"quotas": list});
    changes(
        quotas(json!([fans, critics])),
        &["New quota critics: at most 1 response if “How was it?” is less than 3"],
        quotas(json!([fans, critics])),
    );
    let more = json!({"id": "fans", "when": {"question": "again", "equals": "no"}, "limit": 20});
    changes(
        quotas(json!([more])),
        &[
            "Quota fans: at most 20 responses instead of 10",
            "Quota fans now counts responses if “Again?” is no",
        ],
        quotas(json!([more])),
    );
    changes(quotas(json!([])), &["The quota fans was removed"], quotas(json!([])));
}

#[test]
fn a_file_written_from_a_flow_changes_nothing() {
    let of_flow = FlowSettings::from_flow(&flow()).unwrap();
    assert_eq!(of_flow.to_file(), {
        let mut file = flow_part();
        file["liveWindow"] = json!({"startsAt": null, "endsAt": "2026-12-24T00:00:00.000Z"});
        file
    });
    changes(of_flow.to_file(), &[], json!({}));
    let bare = json!({"key": "a", "name": "A", "kind": "form", "labels": [], "closeAfter": null,
        "liveWindow": {"startsAt": null, "endsAt": null}, "graceWindowSeconds": null, "quotas": []});
    let file = FlowSettings::from_flow(&bare).unwrap().to_file();
    assert_eq!(file, json!({"key": "a", "name": "A", "kind": "form"}));
}

#[test]
fn every_fault_of_the_settings_has_its_pointer() {
    for (file, expected) in [
        (json!([]), &["/flow: must be an object"][..]),
        (
            json!({"key": "My Key", "name": " ", "kind": "poll", "labels": "x", "nmae": "y"}),
            &[
                "/flow/key: must have 1 to 64 letters a to z, digits, hyphens and dots, with a letter or digit at both ends",
                "/flow/name: must be a text of 1 to 200 characters, not only spaces",
                "/flow/kind: must be one of survey, form, message",
                "/flow/labels: must be a list of texts",
                "/flow/nmae: unknown field; did you mean name?",
            ],
        ),
        (
            json!({"key": 1, "labels": ["a,b"], "liveWindow": {"startsAt": "soon", "end": 1}}),
            &[
                "/flow/key: must be a text",
                "/flow/labels/0: must not contain commas or control characters",
                "/flow/liveWindow/startsAt: must be a time such as 2026-12-01T08:00:00Z, or null",
                "/flow/liveWindow/end: unknown field; allowed are startsAt, endsAt",
            ],
        ),
        (
            json!({"liveWindow": {"startsAt": "2026-12-02T00:00:00Z", "endsAt": "2026-12-01T00:00:00Z"},
                "graceWindowSeconds": -1, "closeAfter": 0}),
            &[
                "/flow/liveWindow/endsAt: must be after startsAt",
                "/flow/graceWindowSeconds: must be a whole number from 0 to 31622400",
                "/flow/closeAfter: must be a whole number from 1 to 1000000000",
            ],
        ),
    ] {
        let faults = FlowSettings::read(&file, "/flow", Some(&survey())).unwrap_err();
        let shown: Vec<_> =
            faults.iter().map(|it| format!("{}: {}", it.pointer, it.message)).collect();
        assert_eq!(shown, expected, "{file}");
    }
    let unknown =
        json!({"quotas": [{"id": "a", "when": {"question": "gone", "equals": "x"}, "limit": 5}]});
    let faults = FlowSettings::read(&unknown, "/flow", Some(&survey())).unwrap_err();
    assert_eq!(faults[0].pointer, "/flow/quotas/0/when/question", "{faults:?}");
}
