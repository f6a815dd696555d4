//! Input that is not readable JSON: a clear reason, whatever the bytes.

use sluice_flow::submission::{ParseError, parse};

const VALID: &str = r#"{"flowVersionId":"fv_1","flowVersionPayloadGeneration":"4","respondentAnalyticsAdmission":"admitted""#;

/// The reason why these bytes are malformed, or `None` if they are JSON.
fn reason(bytes: &[u8]) -> Option<String> {
    match parse(bytes) {
        Err(ParseError::Malformed(reason)) => Some(reason),
        Ok(_) | Err(ParseError::Refused(_)) => None,
    }
}

/// A valid submission with this field added verbatim.
fn plus(field: &str) -> Vec<u8> {
    format!("{VALID},{field}}}").into_bytes()
}

#[test]
fn empty_input_is_an_unexpected_end() {
    for bytes in ["", " \r\n\t", "\u{feff}"] {
        assert_eq!(reason(bytes.as_bytes()).as_deref(), Some("Unexpected end of JSON input"));
    }
}

#[test]
fn a_byte_order_mark_is_allowed_once_and_only_at_the_start() {
    let submission = String::from_utf8(plus("\"a\":1")).unwrap();
    assert!(parse(format!("\u{feff}{submission}").as_bytes()).is_ok());
    assert!(reason(format!("\u{feff}\u{feff}{submission}").as_bytes()).is_some());
    assert!(reason(format!("{submission}\u{feff}").as_bytes()).is_some());
}

#[test]
fn invalid_json_is_malformed_with_its_position() {
    for text in [
        "{",
        "{]",
        "{\"a\"",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1 2]",
        "nul",
        "undefined",
        "'x'",
        "{a:1}",
        "01",
        "1.",
        "+1",
        "NaN",
        "1e400",
        "-1e400",
        "\"\t\"",
        "\"\\x\"",
        "\"\u{0}\"",
        "// x",
        "{}{}",
        "null null",
        "{} x",
    ] {
        let reason = reason(text.as_bytes()).unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(reason.contains("line 1 column"), "{text}: {reason}");
    }
}

#[test]
fn invalid_numbers_and_texts_are_malformed_even_in_unknown_fields() {
    for field in [
        r#""x":1e400"#,
        r#""x":"\ud83""#,
        r#""x":"\ud83d\u00g0""#,
        r#""x":"\ud83d\q""#,
        r#""x":{"y":[tru]}"#,
    ] {
        assert!(reason(&plus(field)).is_some(), "{field}");
    }
    for field in [r#""x":1e308"#, r#""x":"\ud83d\ude00""#, r#""x":123456789012345678901234567890"#]
    {
        assert!(parse(&plus(field)).is_ok(), "{field}");
    }
}

#[test]
fn invalid_utf_8_is_malformed() {
    for (before, bad) in [
        (r#""answers":{"a":""#, &b"\xff"[..]),
        (r#""x":""#, b"\xc3"),
        (r#""x":""#, b"\xed\xa0\x80"),
        (r#""x":""#, b"\xc0\x80"),
    ] {
        let mut bytes = format!("{VALID},{before}").into_bytes();
        bytes.extend(bad);
        bytes.extend(b"\"}");
        assert!(reason(&bytes).is_some(), "{bad:?}");
    }
}

#[test]
fn sixteen_levels_are_read_and_seventeen_are_malformed() {
    let nested =
        |open: &str, close: &str, depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert_eq!(reason(nested(open, close, 16).as_bytes()), None);
        let reason = reason(nested(open, close, 17).as_bytes()).unwrap();
        assert!(reason.contains("16 levels"), "{reason}");
    }
    // The submission's own object is the first level, and an ignored field counts too.
    for name in ["unknown", "metadata"] {
        let field = |depth| plus(&format!("\"{name}\":{{\"a\":{}}}", nested("[", "]", depth)));
        assert_eq!(reason(&field(14)), None, "{name}");
        assert!(reason(&field(15)).is_some(), "{name}");
    }
}

#[test]
fn hostile_sizes_are_read_or_refused_without_harm() {
    for open in ["[", "{\"a\":", "{\"answers\":["] {
        assert!(reason(open.repeat(100_000).as_bytes()).unwrap().contains("16 levels"));
    }
    let many: Vec<String> = (0..10_000).map(|n| format!("\"k{n}\":\"v\"")).collect();
    assert!(parse(&plus(&many.join(","))).is_ok());
    let answers = format!("\"answers\":{{{}}}", many.join(","));
    let Err(ParseError::Refused(issues)) = parse(&plus(&answers)) else { panic!("accepted") };
    assert_eq!(issues.len(), 1);
    let flat = format!("\"answers\":{{\"a\":[{}1]}}", "1,".repeat(100_000));
    let Err(ParseError::Refused(issues)) = parse(&plus(&flat)) else { panic!("accepted") };
    assert_eq!(issues.len(), 1);
}

#[test]
fn the_last_of_repeated_keys_wins_at_every_level() {
    let bytes = plus(
        r#""flowVersionId":"fv_2","answers":1,"answers":{"a":7,"b":"1","\u0061":"2","b":"3"},"context":{"locale":"?","locale":"de"}"#,
    );
    let submission = parse(&bytes).unwrap();
    assert_eq!(submission.flow_version_id, "fv_2");
    assert_eq!(submission.answers_json(), r#"{"a":"2","b":"3"}"#);
    assert_eq!(submission.context.locale.as_deref(), Some("de"));

    let repeated = vec!["\"a\":\"1\""; 301].join(",");
    assert!(parse(&plus(&format!("\"answers\":{{{repeated}}}"))).is_ok());
    let nulled = plus(r#""flowVersionId":null"#);
    let Err(ParseError::Refused(issues)) = parse(&nulled) else { panic!("accepted") };
    assert_eq!(issues[0].code.as_str(), "field_required");
}

#[test]
fn a_lone_surrogate_becomes_the_replacement_character() {
    let whole = plus(
        r#""x":"\ude00","answers":{"a":"b\ud83d","l":["\uD83D"]},"metadata":{"tags":{"t\udc00":"\ud83d\u0041"}},
           "context":{"page":{"path":"/\ud83d"}},"idempotencyKey":null"#,
    );
    let submission = parse(&whole).unwrap();
    assert_eq!(submission.answers_json(), "{\"a\":\"b\u{fffd}\",\"l\":[\"\u{fffd}\"]}");
    assert_eq!(submission.tags_json().unwrap(), "{\"t\u{fffd}\":\"\u{fffd}A\"}");
    assert_eq!(submission.context.page.unwrap().path.unwrap(), "/\u{fffd}");

    let untouched = plus(r#""x":"\ud800","answers":{"a":"\ud83d\ude00","b":"\\ud83d"}"#);
    let answers = parse(&untouched).unwrap().answers_json();
    assert_eq!(answers, "{\"a\":\"😀\",\"b\":\"\\\\ud83d\"}");
}

#[test]
fn an_error_next_to_a_lone_surrogate_has_its_position() {
    let reason = reason(br#"{"a":"\ud83d",}"#).unwrap();
    assert!(reason.ends_with("line 1 column 15"), "{reason}");
}

#[test]
fn an_idempotency_key_has_1_to_255_printable_ascii_characters() {
    let parsed = |key: &str| parse(&plus(&format!("\"idempotencyKey\":{key}"))).map(|_| ());
    let long = "k ~!".repeat(63) + "end";
    assert_eq!(parsed(&format!("\"{long}\"")), Ok(()));
    assert_eq!(parsed("null"), Ok(()));
    assert_eq!(parsed(&format!(r#""\"{long}\"""#)), Ok(()));
    let longer = format!("\"{long}x\"");
    for (key, code) in [
        ("\"\"", "invalid_value"),
        ("\"é\"", "invalid_value"),
        ("\"a\\tb\"", "invalid_value"),
        (r#""\"open""#, "invalid_value"),
        (r#""\"\"""#, "invalid_value"),
        ("\"\\u007f\"", "invalid_value"),
        (longer.as_str(), "invalid_value"),
        ("7", "invalid_type"),
    ] {
        let Err(ParseError::Refused(issues)) = parsed(key) else { panic!("{key} is accepted") };
        assert_eq!(issues.len(), 1, "{key}");
        assert_eq!(
            (issues[0].code.as_str(), &issues[0].path),
            (code, &vec!["idempotencyKey".into()])
        );
    }
}
