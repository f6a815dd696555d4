//! The shape rules of a submission, each with what it accepts and refuses at its edge.
//!
//! A case is a submission with some fields replaced, and the expected codes and paths. The limits
//! are written as in the contract, not by the names in the code.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use sluice_flow::issue::Issue;
use sluice_flow::payload::Generation;
use sluice_flow::submission::{ParseError, Submission, Texts, absent, parse};

/// A valid submission with these fields set; null removes a field.
fn with(fields: Value) -> Value {
    let mut submission = json!({
        "flowVersionId": "fv_1",
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted",
    });
    for (name, value) in fields.as_object().into_iter().flatten() {
        submission[name] = value.clone();
    }
    submission
}

fn issues(fields: Value) -> Vec<Issue> {
    match parse(with(fields).to_string().as_bytes()) {
        Ok(_) => Vec::new(),
        Err(ParseError::Refused(issues)) => issues,
        Err(ParseError::Malformed(reason)) => panic!("malformed: {reason}"),
    }
}

/// Checks for exactly these issues, and that every message names its field.
fn check(fields: Value, expected: &[(&str, Value)]) {
    let shown: String = fields.to_string().chars().take(120).collect();
    let found = issues(fields);
    let codes: Vec<_> =
        found.iter().map(|issue| (issue.code.as_str(), json!(issue.path))).collect();
    assert_eq!(codes, expected, "{shown}");
    for issue in &found {
        let path = json!(issue.path);
        let first = path[0].as_str().unwrap_or("A submission");
        assert!(issue.message.starts_with(first), "{:?} does not name {first}", issue.message);
    }
}

fn accepts(fields: Value) {
    check(fields, &[]);
}

fn refuses(fields: Value, code: &str, path: Value) {
    check(fields, &[(code, path)]);
}

/// An object with this many entries, all with this value.
fn entries(count: usize, value: &Value) -> Value {
    Value::Object((0..count).map(|n| (format!("k{n}"), value.clone())).collect::<Map<_, _>>())
}

fn user(value: &str) -> Value {
    json!({"type": "userId", "value": value})
}

fn email(value: &str) -> Value {
    json!({"type": "traits.email", "value": value})
}

#[test]
fn the_three_required_fields_are_required_and_all_reported_at_once() {
    accepts(json!({}));
    let none = json!({
        "flowVersionId": null, "flowVersionPayloadGeneration": null, "respondentAnalyticsAdmission": null
    });
    let expected = [
        ("field_required", json!(["flowVersionId"])),
        ("field_required", json!(["flowVersionPayloadGeneration"])),
        ("field_required", json!(["respondentAnalyticsAdmission"])),
    ];
    check(none, &expected);
    let Err(ParseError::Refused(found)) = parse(b"{}") else { panic!("accepted") };
    assert_eq!(found.len(), 3);
}

#[test]
fn flow_version_id_is_a_string() {
    accepts(json!({"flowVersionId": ""}));
    for wrong in [json!(7), json!(true), json!(["fv_1"]), json!({"id": "fv_1"})] {
        refuses(json!({"flowVersionId": wrong}), "invalid_type", json!(["flowVersionId"]));
    }
    refuses(json!({"flowVersionId": "fv\0"}), "nul_character", json!(["flowVersionId"]));
}

#[test]
fn the_payload_generation_must_be_served() {
    let path = json!(["flowVersionPayloadGeneration"]);
    let next = Generation::LATEST.as_str().parse::<u32>().unwrap() + 1;
    for other in ["3", next.to_string().as_str(), "", "04", "4 "] {
        refuses(
            json!({"flowVersionPayloadGeneration": other}),
            "payload_generation_mismatch",
            path.clone(),
        );
    }
    refuses(json!({"flowVersionPayloadGeneration": 4}), "invalid_type", path);
    let message = &issues(json!({"flowVersionPayloadGeneration": "3"}))[0].message;
    assert!(message.contains("\"3\"") && message.contains("\"4\""), "{message}");
}

#[test]
fn the_admission_is_one_of_two_values() {
    let path = json!(["respondentAnalyticsAdmission"]);
    accepts(json!({"respondentAnalyticsAdmission": "collection_only"}));
    accepts(json!({"respondentAnalyticsAdmission": "admitted"}));
    for other in ["Admitted", "", "collectionOnly"] {
        refuses(json!({"respondentAnalyticsAdmission": other}), "invalid_value", path.clone());
    }
    refuses(json!({"respondentAnalyticsAdmission": true}), "invalid_type", path);
    let message = &issues(json!({"respondentAnalyticsAdmission": "maybe"}))[0].message;
    for word in ["\"maybe\"", "\"collection_only\"", "\"admitted\""] {
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn only_a_value_that_may_be_a_text_is_to_be_written_in_quotes() {
    let quotes = "Write it in quotes.";
    for (fields, end) in [
        (json!({"flowVersionId": 1}), quotes),
        (json!({"flowVersionPayloadGeneration": 4}), quotes),
        (json!({"answers": {"a": 9}}), quotes),
        (json!({"metadata": {"tags": {"beta": true}}}), quotes),
        (json!({"answers": 9}), "such as {\"name\": \"value\"}."),
        (json!({"metadata": {"tags": true}}), "such as {\"name\": \"value\"}."),
        (json!({"metadata": 1}), "it must be an object."),
        (json!({"identities": 1}), "it must be an array of objects with type and value."),
    ] {
        let message = &issues(fields)[0].message;
        assert!(message.ends_with(end), "{message}");
    }
}

#[test]
fn answers_are_texts_or_lists_of_texts() {
    accepts(json!({"answers": {}}));
    accepts(json!({"answers": {"a": "", "b": [], "c": ["x", "y"], "d": null}}));
    for wrong in [json!("a"), json!([]), json!(1)] {
        refuses(json!({"answers": wrong}), "invalid_type", json!(["answers"]));
    }
    for wrong in [json!(9), json!(false), json!({"x": "y"})] {
        refuses(json!({"answers": {"a": wrong}}), "invalid_type", json!(["answers", "a"]));
    }
    for wrong in [json!(9), json!(null), json!([]), json!({})] {
        refuses(
            json!({"answers": {"a": ["x", wrong, 3]}}),
            "invalid_type",
            json!(["answers", "a", 1]),
        );
    }
    let two_wrong = json!({"answers": {"a": 1, "b": "fine", "c": 2}});
    let expected =
        [("invalid_type", json!(["answers", "a"])), ("invalid_type", json!(["answers", "c"]))];
    check(two_wrong, &expected);
}

#[test]
fn answers_have_at_most_300_keys() {
    accepts(json!({"answers": entries(300, &json!("x"))}));
    refuses(json!({"answers": entries(301, &json!("x"))}), "too_long", json!(["answers"]));
    refuses(json!({"answers": entries(10_000, &json!(1))}), "too_long", json!(["answers"]));
}

#[test]
fn one_answer_has_at_most_16384_characters_in_any_script() {
    let half = 8 * 1024;
    for letter in ["x", "é", "字", "😀"] {
        let of = |count: usize| letter.repeat(count);
        accepts(json!({"answers": {"a": of(2 * half), "b": [of(half), of(half)]}}));
        for over in [json!(of(2 * half + 1)), json!([of(half), of(half), "z"])] {
            refuses(json!({"answers": {"a": over}}), "too_long", json!(["answers", "a"]));
        }
    }
    let message = &issues(json!({"answers": {"a": "é".repeat(16_385)}}))[0].message;
    assert!(message.contains("has 16385 characters; at most 16384"), "{message}");
}

#[test]
fn one_answer_has_at_most_1000_items() {
    accepts(json!({"answers": {"a": vec!["x"; 1000]}}));
    for count in [1001, 1002, 50_000] {
        refuses(json!({"answers": {"a": vec!["x"; count]}}), "too_long", json!(["answers", "a"]));
    }
}

#[test]
fn a_nul_character_is_refused_in_every_stored_field() {
    for (fields, path) in [
        (json!({"answers": {"a": "x\0"}}), json!(["answers", "a"])),
        (json!({"answers": {"a": ["x", "\0"]}}), json!(["answers", "a", 1])),
        (json!({"answers": {"a\0": "x"}}), json!(["answers", "a\0"])),
        (json!({"identities": [user("\0")]}), json!(["identities", 0, "value"])),
        (
            json!({"identities": [{"type": "traits.\0", "value": "x"}]}),
            json!(["identities", 0, "type"]),
        ),
        (json!({"metadata": {"tags": {"a": "\0"}}}), json!(["metadata", "tags", "a"])),
        (json!({"metadata": {"tags": {"a": ["\0"]}}}), json!(["metadata", "tags", "a", 0])),
        (json!({"metadata": {"tags": {"\0": "a"}}}), json!(["metadata", "tags", "\0"])),
        (json!({"flowAssignmentId": "\0"}), json!(["flowAssignmentId"])),
    ] {
        refuses(fields, "nul_character", path);
    }
    accepts(json!({"unknown": "\0", "\0": 1, "metadata": {"\0": "\0"}}));
}

#[test]
fn identities_are_objects_of_type_and_value() {
    accepts(json!({"identities": []}));
    accepts(json!({"identities": [user("u1"), email("ada@example.com")]}));
    accepts(json!({"identities": [{"type": "traits.plan", "value": "", "more": 1}]}));
    refuses(json!({"identities": {}}), "invalid_type", json!(["identities"]));
    for wrong in [json!("userId"), json!(null), json!(["userId", "u1"])] {
        refuses(json!({"identities": [wrong]}), "invalid_type", json!(["identities", 0]));
    }
    let several = json!({"identities": [user("u1"), {"type": 1, "value": null}, {}]});
    let expected = [
        ("invalid_type", json!(["identities", 1, "type"])),
        ("field_required", json!(["identities", 1, "value"])),
        ("field_required", json!(["identities", 2, "type"])),
        ("field_required", json!(["identities", 2, "value"])),
    ];
    check(several, &expected);
}

#[test]
fn an_identity_type_has_1_to_64_plain_characters() {
    let of_type = |kind: &str| json!({"identities": [{"type": kind, "value": "a@example.com"}]});
    let longest = "x".repeat(64);
    for kind in ["anonymousId", "userid", "email", "traits", "traits.", "a_B.c-9", &longest] {
        accepts(of_type(kind));
    }
    let overlong = "x".repeat(65);
    for kind in ["", "é", "user id", "traits/x", &overlong] {
        refuses(of_type(kind), "invalid_value", json!(["identities", 0, "type"]));
    }
    let message = &issues(of_type("e mail"))[0].message;
    for word in ["\"e mail\"", "\"userId\"", "\"traits.email\""] {
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn an_identity_value_must_fit_its_type() {
    let path = json!(["identities", 0, "value"]);
    let of = |kind: &str, value: &str| json!({"identities": [{"type": kind, "value": value}]});
    accepts(of("userId", "x"));
    accepts(of("userId", &"é".repeat(255)));
    refuses(of("userId", ""), "invalid_value", path.clone());
    refuses(of("userId", &"x".repeat(256)), "too_long", path.clone());

    let domain = ["x".repeat(63), "y".repeat(63), "z".repeat(57)].join(".") + ".com";
    let longest = format!("{}@{domain}", "a".repeat(64));
    assert_eq!(longest.len(), 254);
    accepts(of("traits.email", &longest));
    accepts(of("traits.email", "ada+news@mail.example.co.uk"));
    refuses(of("traits.email", &format!("{longest}m")), "too_long", path.clone());
    for value in ["", "ada", "ada@", "@example.com", "a b@example.com", "a@b@example.com"] {
        refuses(of("traits.email", value), "invalid_value", path.clone());
    }

    accepts(of("traits.plan", &"é".repeat(500)));
    refuses(of("traits.plan", &"x".repeat(501)), "too_long", path);
    let message = &issues(of("traits.email", "secret-address"))[0].message;
    assert!(!message.contains("secret-address"), "{message}");
}

#[test]
fn exact_repeats_of_an_identity_are_merged_and_a_second_user_id_is_refused() {
    let repeated = with(json!({"identities": [user("u1"), email("a@example.com"), user("u1")]}));
    let bytes = repeated.to_string();
    let merged = parse(bytes.as_bytes()).unwrap();
    let values: Vec<_> = merged.identities.iter().map(|identity| identity.value.as_ref()).collect();
    assert_eq!(values, ["u1", "a@example.com"]);

    refuses(
        json!({"identities": [user("u1"), user("u1"), user("u2")]}),
        "duplicate_user_id",
        json!(["identities", 2]),
    );
    accepts(json!({"identities": [email("a@example.com"), email("b@example.com")]}));
}

#[test]
fn a_submission_has_at_most_10_identities_once_repeats_are_merged() {
    let emails = |count: usize| -> Vec<Value> {
        (0..count).map(|n| email(&format!("a{n}@example.com"))).collect()
    };
    accepts(json!({"identities": emails(10)}));
    refuses(json!({"identities": emails(11)}), "too_long", json!(["identities"]));
    accepts(json!({"identities": vec![user("u1"); 100]}));
    refuses(json!({"identities": vec![user("u1"); 101]}), "too_long", json!(["identities"]));
}

#[test]
fn tags_are_a_flat_map_of_texts_or_lists_of_texts() {
    let tags = |tags: Value| json!({"metadata": {"tags": tags}});
    accepts(json!({"metadata": {}}));
    accepts(json!({"metadata": {"tags": null, "other": {"deep": [1]}}}));
    accepts(tags(json!({"plan": "pro", "langs": ["de", "en"], "none": null, "empty": ""})));
    refuses(json!({"metadata": "x"}), "invalid_type", json!(["metadata"]));
    refuses(tags(json!([])), "invalid_type", json!(["metadata", "tags"]));
    let path = json!(["metadata", "tags", "plan"]);
    refuses(tags(json!({"plan": {"name": "pro"}})), "nested_tag", path.clone());
    for item in [json!({}), json!(["x"])] {
        refuses(
            tags(json!({"plan": ["x", item]})),
            "nested_tag",
            json!(["metadata", "tags", "plan", 1]),
        );
    }
    for wrong in [json!(3), json!(true)] {
        let found = issues(tags(json!({"plan": wrong})));
        assert!(found[0].message.contains("metadata.tags.plan"), "{}", found[0].message);
        assert!(found[0].message.contains("quotes"), "{}", found[0].message);
        refuses(tags(json!({"plan": wrong})), "invalid_type", path.clone());
    }
}

#[test]
fn tags_are_limited_in_number_name_and_value() {
    let tags = |tags: Value| json!({"metadata": {"tags": tags}});
    let at = |name: &str| json!(["metadata", "tags", name]);
    accepts(tags(entries(50, &json!("x"))));
    refuses(tags(entries(51, &json!("x"))), "too_long", json!(["metadata", "tags"]));

    accepts(tags(json!({("é".repeat(64)): "x"})));
    refuses(tags(json!({("x".repeat(65)): "x"})), "too_long", at(&"x".repeat(65)));
    refuses(tags(json!({"": "x"})), "invalid_value", at(""));

    accepts(tags(json!({"a": "é".repeat(500), "b": ["é".repeat(500), "x".repeat(500)]})));
    refuses(tags(json!({"a": "x".repeat(501)})), "too_long", at("a"));
    refuses(
        tags(json!({"a": ["x", "x".repeat(501)]})),
        "too_long",
        json!(["metadata", "tags", "a", 1]),
    );
    accepts(tags(json!({"a": vec!["x"; 50]})));
    refuses(tags(json!({"a": vec!["x"; 51]})), "too_long", at("a"));
}

#[test]
fn the_assignment_id_is_an_optional_text_of_at_most_255_characters() {
    accepts(json!({"flowAssignmentId": null}));
    accepts(json!({"flowAssignmentId": "é".repeat(255)}));
    refuses(json!({"flowAssignmentId": "x".repeat(256)}), "too_long", json!(["flowAssignmentId"]));
    refuses(json!({"flowAssignmentId": 5}), "invalid_type", json!(["flowAssignmentId"]));
}

#[test]
fn null_means_absent_for_every_optional_field() {
    let nulls = json!({
        "answers": null, "identities": null, "metadata": null, "context": null, "flowAssignmentId": null
    });
    let (nulls, bare) = (with(nulls).to_string(), with(json!({})).to_string());
    let submission = parse(nulls.as_bytes()).unwrap();
    assert_eq!(submission, parse(bare.as_bytes()).unwrap());
    assert_eq!(submission.flow_assignment_id, None);
}

#[test]
fn issues_of_all_fields_are_reported_at_once_in_the_order_of_the_fields() {
    let expected = [
        ("invalid_type", json!(["flowVersionId"])),
        ("payload_generation_mismatch", json!(["flowVersionPayloadGeneration"])),
        ("invalid_value", json!(["respondentAnalyticsAdmission"])),
        ("invalid_type", json!(["answers", "a"])),
        ("field_required", json!(["identities", 0, "type"])),
        ("field_required", json!(["identities", 0, "value"])),
        ("nested_tag", json!(["metadata", "tags", "t"])),
        ("invalid_type", json!(["flowAssignmentId"])),
    ];
    let fields = json!({
        "flowVersionId": 1, "flowVersionPayloadGeneration": "0", "respondentAnalyticsAdmission": "x",
        "answers": {"a": 1}, "identities": [{}], "metadata": {"tags": {"t": {}}},
        "context": {"locale": "?"}, "flowAssignmentId": 1
    });
    check(fields, &expected);
}

#[test]
fn a_message_stays_short_whatever_was_sent() {
    let long = "x".repeat(100_000);
    for fields in [
        json!({"answers": {(long.clone()): 1}}),
        json!({"flowVersionPayloadGeneration": long}),
        json!({"metadata": {"tags": {(long.clone()): {}}}}),
        json!({"identities": [{"type": long, "value": "x"}]}),
    ] {
        for issue in issues(fields) {
            assert!(issue.message.len() < 300, "{}", issue.message);
        }
    }
}

#[test]
fn a_submission_must_be_an_object() {
    for whole in ["null", "true", "7", "\"x\"", "[]", "[{\"flowVersionId\":\"fv_1\"}]", " null\n"] {
        let Err(ParseError::Refused(found)) = parse(whole.as_bytes()) else { panic!("{whole}") };
        assert_eq!(found.len(), 1, "{whole}");
        assert_eq!((found[0].code.as_str(), found[0].path.len()), ("invalid_type", 0), "{whole}");
    }
    assert_eq!((absent().code.as_str(), absent().path.len()), ("invalid_type", 0));
}

#[test]
fn a_text_without_escapes_is_borrowed_from_the_input() {
    let bytes = with(json!({"answers": {"a": "plain", "b": "a \"quote\""}})).to_string();
    let Submission { answers, flow_version_id, .. } = parse(bytes.as_bytes()).unwrap();
    assert!(matches!(flow_version_id, Cow::Borrowed("fv_1")));
    assert!(matches!(answers.get("a"), Some(Texts::One(Cow::Borrowed("plain")))));
    assert!(
        matches!(answers.get("b"), Some(Texts::One(Cow::Owned(text))) if text == "a \"quote\"")
    );
}

#[test]
fn the_parts_are_stored_as_compact_json_in_a_fixed_order() {
    let bytes = r#"{"flowVersionId":"fv_1","flowVersionPayloadGeneration":"4",
        "respondentAnalyticsAdmission":"admitted","answers":{"b":["y","x"],"a":"gr\u00fcn \"1\""},
        "identities":[{"value":"u1","type":"userId"}],"metadata":{"tags":{"z":"1","p":["2"]}},
        "context":{"userAgent":"UA","page":{"search":"?q","path":"/"},"locale":"de"}}"#;
    let submission = parse(bytes.as_bytes()).unwrap();
    assert_eq!(submission.answers_json(), r#"{"a":"grün \"1\"","b":["y","x"]}"#);
    let identities = r#"[{"type":"userId","value":"u1"}]"#;
    assert_eq!(submission.identities_json().as_deref(), Some(identities));
    assert_eq!(submission.tags_json().as_deref(), Some(r#"{"p":["2"],"z":"1"}"#));
    let context = r#"{"locale":"de","page":{"path":"/","search":"?q"},"userAgent":"UA"}"#;
    assert_eq!(submission.context_json().as_deref(), Some(context));

    let bytes = with(json!({"context": {"page": {}}})).to_string();
    let bare = parse(bytes.as_bytes()).unwrap();
    assert_eq!(bare.answers_json(), "{}");
    assert_eq!((bare.identities_json(), bare.tags_json(), bare.context_json()), (None, None, None));
}
