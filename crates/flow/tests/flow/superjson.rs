//! Submissions in a superjson envelope: what is read, and what is refused.

use serde_json::{Value, json};
use sluice_flow::submission::{ParseError, is_superjson, parse};

fn submission(fields: Value) -> Value {
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

fn envelope(fields: Value, meta: Value) -> Vec<u8> {
    json!({"json": submission(fields), "meta": meta}).to_string().into_bytes()
}

/// The code, path and message of each issue.
fn issues(input: &[u8]) -> Vec<(&'static str, Value, String)> {
    match parse(input) {
        Ok(_) => Vec::new(),
        Err(ParseError::Refused(issues)) => issues
            .into_iter()
            .map(|issue| (issue.code.as_str(), json!(issue.path), issue.message.into_owned()))
            .collect(),
        Err(ParseError::Malformed(reason)) => panic!("malformed: {reason}"),
    }
}

#[test]
fn an_envelope_has_json_and_optionally_meta_and_no_other_key() {
    for input in [
        r#"{"json":{}}"#,
        r#"{"json":null}"#,
        r#"{"meta":{},"json":{}}"#,
        r#"{"\u006ason":{}}"#,
        "\u{feff} { \"json\" : 1 }",
        r#"{"json":1,"json":"\ud83d"}"#,
    ] {
        assert!(is_superjson(input.as_bytes()), "{input}");
    }
    for input in [
        "",
        "[]",
        "{}",
        r#"{"meta":{}}"#,
        r#"{"json":{},"flowVersionId":"fv_1"}"#,
        r#"{"json":{},"x":1}"#,
        r#"{"flowVersionId":"fv_1","json":{}}"#,
        r#"{"jsons":{}}"#,
        r#"[{"json":{}}]"#,
        r#"{"json":"#,
        r#"{"json":{}} x"#,
    ] {
        assert!(!is_superjson(input.as_bytes()), "{input}");
    }
}

#[test]
fn a_submission_is_the_same_with_and_without_an_envelope() {
    let fields = json!({"answers": {"a": "1", "b": ["2"]}, "unknown": {"json": 1}});
    let bytes = envelope(fields.clone(), Value::Null);
    let plain = submission(fields.clone()).to_string();
    assert_eq!(parse(&bytes).unwrap(), parse(plain.as_bytes()).unwrap());
    // In a plain submission the two keys are unknown fields like any other.
    let mut with_keys = submission(fields);
    with_keys["json"] = json!({"flowVersionId": 7});
    with_keys["meta"] = json!({"values": ["map"]});
    let bytes = with_keys.to_string();
    assert_eq!(parse(bytes.as_bytes()).unwrap(), parse(plain.as_bytes()).unwrap());
    let json_first = format!("{{\"json\":{{\"answers\":5}},{}", &plain[1..]);
    assert_eq!(parse(json_first.as_bytes()).unwrap(), parse(plain.as_bytes()).unwrap());
}

#[test]
fn an_envelope_does_not_count_as_a_nesting_level() {
    let nested = |levels: usize| {
        let plain = format!(r#"{{"answers":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        [plain.clone(), format!(r#"{{"json":{plain}}}"#)]
    };
    for input in nested(15) {
        assert!(matches!(parse(input.as_bytes()), Err(ParseError::Refused(_))), "{input}");
    }
    for input in nested(16) {
        assert!(matches!(parse(input.as_bytes()), Err(ParseError::Malformed(_))), "{input}");
    }
}

#[test]
fn undefined_means_absent() {
    let fields = json!({"metadata": null, "answers": {"a": "1", "b": null}});
    let meta = json!({"values": {"metadata": ["undefined"], "answers.b": ["undefined"]}, "v": 1});
    let bytes = envelope(fields, meta);
    let parsed = parse(&bytes).unwrap();
    assert_eq!(parsed.answers_json(), r#"{"a":"1"}"#);

    let nothing = br#"{"json":null,"meta":{"values":["undefined"],"v":1}}"#;
    let found = issues(nothing);
    assert_eq!(found.len(), 1);
    assert!(found[0].2.contains("nothing was sent"), "{found:?}");
}

#[test]
fn an_unsupported_type_is_refused_by_name() {
    let date = "1970-01-01T00:00:00.000Z";
    for (fields, values, path, name) in [
        (
            json!({"answers": {"a": date}}),
            json!({"answers.a": ["Date"]}),
            json!(["answers", "a"]),
            "Date",
        ),
        (
            json!({"answers": {"a": ["x"]}}),
            json!({"answers.a": ["set", {"0": ["undefined"]}]}),
            json!(["answers", "a"]),
            "set",
        ),
        (
            json!({"answers": {"a": ["x"]}}),
            json!({"answers.a.0": ["bigint"]}),
            json!(["answers", "a", 0]),
            "bigint",
        ),
        (
            json!({"metadata": {"tags": {"x.y": "1"}}}),
            json!({"metadata.tags.x\\.y": ["number"]}),
            json!(["metadata", "tags", "x.y"]),
            "number",
        ),
        (
            json!({"answers": {"a": "1"}}),
            json!({"answers.a": [["custom", "Money"]]}),
            json!(["answers", "a"]),
            "custom",
        ),
        (json!({}), json!(["map"]), json!([]), "map"),
    ] {
        let found = issues(&envelope(fields, json!({"values": values, "v": 1})));
        assert_eq!(found.len(), 1, "{found:?}");
        let (code, at, message) = &found[0];
        assert_eq!((*code, at), ("invalid_type", &path));
        assert!(message.contains(&format!("is a superjson \"{name}\"")), "{message}");
    }
}

#[test]
fn types_in_unknown_fields_and_the_context_are_ignored() {
    let fields = json!({"sentAt": "x", "context": {"page": {"referrer": "https://example.com/"}}});
    let values = json!({"sentAt": ["Date"], "context.page.referrer": ["URL"]});
    let bytes = envelope(fields, json!({"values": values, "v": 1}));
    let referrer = parse(&bytes).unwrap().context.page.unwrap().referrer.unwrap();
    assert_eq!(referrer, "https://example.com/");
}

#[test]
fn a_deduplicated_object_is_copied_to_every_path() {
    // As superjson writes it with `dedupe`: null in all places but the first.
    let fields = json!({"answers": {"a": ["1"], "b": null, "c.d": null}, "metadata": null});
    let equal = json!({"answers.a": ["answers.b", "answers.c\\.d", "nowhere.at.all"]});
    let bytes = envelope(fields.clone(), json!({"referentialEqualities": equal, "v": 1}));
    let whole = r#"{"a":["1"],"b":["1"],"c.d":["1"]}"#;
    assert_eq!(parse(&bytes).unwrap().answers_json(), whole);
    let bytes = envelope(fields, json!({"referentialEqualities": [["metadata"], equal], "v": 1}));
    assert_eq!(parse(&bytes).unwrap().answers_json(), whole);
    // Without it, each place already has a copy.
    let fields = json!({"answers": {"a": ["1"], "b": ["2"]}});
    let meta = json!({"referentialEqualities": {"answers.a": ["answers.b"]}, "v": 1});
    let bytes = envelope(fields, meta);
    assert_eq!(parse(&bytes).unwrap().answers_json(), r#"{"a":["1"],"b":["2"]}"#);
}

#[test]
fn an_answer_that_refers_to_an_unknown_field_is_not_lost() {
    let fields = json!({"draft": {"choice": ["a", "b"]}, "answers": {"q": null}});
    let refers = |to: &str| json!({"referentialEqualities": {to: ["answers.q"]}, "v": 1});
    let bytes = envelope(fields.clone(), refers("draft.choice"));
    assert_eq!(parse(&bytes).unwrap().answers_json(), r#"{"q":["a","b"]}"#);
    let found = issues(&envelope(fields, refers("draft.missing")));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, &found[0].1), ("invalid_value", &json!(["answers", "q"])));
}

#[test]
fn meta_cannot_inflate_a_small_input() {
    let mut answers = json!({"a": ["x".repeat(16_000)]});
    let others: Vec<String> = (0..200).map(|count| format!("answers.b{count}")).collect();
    for count in 0..200 {
        answers[format!("b{count}")] = Value::Null;
    }
    let meta = json!({"referentialEqualities": {"answers.a": others}, "v": 1});
    let found = issues(&envelope(json!({"answers": answers}), meta));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "too_long");

    let values: serde_json::Map<String, Value> =
        (0..1000).map(|count| (format!("answers.q{count}"), json!(["Date"]))).collect();
    assert_eq!(issues(&envelope(json!({}), json!({"values": values, "v": 1}))).len(), 20);
    let dots = ".".repeat(10_000);
    let found =
        issues(&envelope(json!({}), json!({"values": {format!("answers{dots}"): ["Date"]}})));
    assert!(found[0].1.as_array().unwrap().len() <= 17);
}

#[test]
fn a_meta_of_another_shape_is_ignored() {
    for meta in [
        r#"null"#,
        r#"7"#,
        r#"[]"#,
        r#"{"values":1}"#,
        r#"{"values":[]}"#,
        r#"{"values":[[]]}"#,
        r#"{"values":{"":[]}}"#,
        r#"{"values":{"answers.\\":["undefined"]}}"#,
        r#"{"referentialEqualities":[]}"#,
        r#"{"referentialEqualities":{"":[""],"answers.a":["answers.a",7]}}"#,
    ] {
        let meta: Value = serde_json::from_str(meta).unwrap();
        assert_eq!(issues(&envelope(json!({"answers": {"a": null}}), meta.clone())), [], "{meta}");
    }
}
