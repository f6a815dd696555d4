//! The faults of a definition as a whole.

use serde_json::{Value, json};
use sluice_flow::definition::limits::{
    DESCRIPTION_CHARS_MAX, FAULTS_MAX, QUESTIONS_MAX, TITLE_CHARS_MAX,
};
use sluice_flow::definition::{RespondentAnalytics, SERVER_SET, check, check_new, json_schema};
use sluice_flow::question::QuestionType;

use crate::{accepted, asking, refused, with};

#[test]
fn only_title_and_questions_are_required() {
    accepted(&json!({"title": "T", "questions": []}));
    refused(&json!({}), &[("/title", "required"), ("/questions", "required")]);
    refused(&json!({"title": null, "questions": null}), &[("/title", ""), ("/questions", "")]);
    refused(&json!([]), &[("", "must be an object")]);
    refused(&json!("x"), &[("", "must be an object")]);
}

#[test]
fn null_and_an_empty_text_are_an_absent_optional_field() {
    let full = json!({
        "title": "T", "questions": [], "description": null, "defaultLocale": null,
        "respondentAnalytics": null, "ending": null, "translations": null,
    });
    let least = check(&json!({"title": "T", "questions": []})).unwrap();
    assert_eq!(check(&full).unwrap(), least);
    assert_eq!(check(&with("description", json!(""))).unwrap(), least);
    assert_eq!(least.default_locale(), "en");
    assert_eq!(least.respondent_analytics(), RespondentAnalytics::Never);
    assert_eq!(least.locales().collect::<Vec<_>>(), ["en"]);
}

#[test]
fn each_field_is_checked() {
    let long = |chars: usize| json!("ä".repeat(chars));
    accepted(&with("title", long(TITLE_CHARS_MAX)));
    accepted(&with("description", long(DESCRIPTION_CHARS_MAX)));
    accepted(&with("respondentAnalytics", json!("never")));
    for (name, value, words) in [
        ("title", json!(1), "must be a text"),
        ("title", json!(""), "must not be empty"),
        ("title", json!("  "), "must not be empty"),
        ("title", json!("a\0b"), "NUL"),
        ("title", long(TITLE_CHARS_MAX + 1), "at most 300 characters"),
        ("description", long(DESCRIPTION_CHARS_MAX + 1), "at most 5000 characters"),
        ("description", json!({}), "must be a text"),
        ("defaultLocale", json!("not a tag"), "BCP 47"),
        ("defaultLocale", json!(7), "BCP 47"),
        ("respondentAnalytics", json!("always"), "ask, never"),
        ("respondentAnalytics", json!(true), "ask, never"),
        ("questions", json!({}), "must be a list"),
        ("ending", json!("bye"), "must be an object"),
        ("translations", json!([]), "must be an object"),
    ] {
        refused(&with(name, value), &[(&format!("/{name}"), words)]);
    }
}

#[test]
fn an_ending_has_texts_and_a_web_address() {
    let ending = |value: Value| with("ending", value);
    accepted(&ending(json!({})));
    accepted(&ending(
        json!({"title": "Thanks", "body": "Bye", "redirectUrl": "https://a.example/b"}),
    ));
    refused(
        &ending(json!({"title": 1, "body": [], "redirectUrl": "javascript:alert(1)", "url": "x"})),
        &[
            ("/ending/title", "text"),
            ("/ending/body", "text"),
            ("/ending/redirectUrl", "http or https"),
            ("/ending/url", "title, body, redirectUrl"),
        ],
    );
    for url in ["https://a b.example", "https://a.example/\n", "ftp://a.example", "myapp://done"] {
        let draft = ending(json!({"redirectUrl": url}));
        refused(&draft, &[("/ending/redirectUrl", "such as https://www.example.com/thanks")]);
    }
}

/// A `;` would end a directive in the content security policy of the hosted page.
#[test]
fn a_redirect_host_unsafe_in_a_header_is_refused_at_publish_but_readable() {
    let ending = |ending: Value| json!({"title": "T", "questions": [], "description": "Read", "ending": ending});
    let to = |url: &str| ending(json!({"redirectUrl": url}));
    for url in ["https://a.example;sandbox/", "https://a.example,b/", "https://a'b/"] {
        accepted(&to(url));
        let faults = check_new(&to(url)).unwrap_err();
        assert_eq!(faults.len(), 1, "{url}: {faults:?}");
        assert_eq!(faults[0].pointer, "/ending/redirectUrl");
        assert!(faults[0].message.contains("https://www.example.com/thanks"), "{faults:?}");
    }
    assert!(check_new(&to("https://a.example/x;y?a=b;c")).is_ok());
    let faulty = ending(json!({"redirectUrl": "https://a;b/", "title": 1}));
    assert_eq!(check_new(&faulty).unwrap_err().len(), 2);
}

#[test]
fn a_flow_that_shows_nothing_is_not_published() {
    let empty = json!({"title": "T", "questions": []});
    accepted(&empty);
    let faults = check_new(&empty).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].pointer, "/questions");
    assert!(faults[0].message.contains("add a question"), "{faults:?}");
    let blank = json!({"title": "T", "questions": [], "description": "  "});
    assert!(check_new(&blank).unwrap_err().iter().any(|it| it.pointer == "/questions"));
    assert!(check_new(&json!({"title": "T", "questions": [], "description": "Read"})).is_ok());
    assert!(check_new(&asking("nps", json!({}))).is_ok());
}

#[test]
fn setting_a_server_field_is_a_fault() {
    for name in SERVER_SET {
        refused(&with(name, json!("x")), &[(&format!("/{name}"), "set by the server")]);
        accepted(&with(name, Value::Null));
    }
}

#[test]
fn an_unknown_field_is_a_fault_that_suggests_the_nearest() {
    refused(&with("titel", json!("x")), &[("/titel", "did you mean title?")]);
    refused(
        &with("default_locale", json!("x")),
        &[("/default_locale", "did you mean defaultLocale?")],
    );
    refused(&with("a/b~c", json!(1)), &[("/a~1b~0c", "unknown field; allowed are title")]);
    refused(
        &asking("nps", json!({"promt": "?"})),
        &[("/questions/0/promt", "did you mean prompt?")],
    );
    refused(
        &asking("nps", json!({"maxLength": 3})),
        &[("/questions/0/maxLength", "unknown field")],
    );
}

#[test]
fn all_faults_are_reported_up_to_a_limit() {
    refused(
        &json!({"questions": [{"id": "1"}, 5], "ending": {"x": 1}, "y": 2}),
        &[
            ("/title", ""),
            ("/questions/0/id", ""),
            ("/questions/0/prompt", ""),
            ("/questions/0/type", ""),
            ("/questions/1", "must be an object"),
            ("/ending/x", ""),
            ("/y", ""),
        ],
    );
    let questions: Vec<Value> = (0..QUESTIONS_MAX).map(|_| json!({})).collect();
    assert_eq!(check(&with("questions", json!(questions))).unwrap_err().len(), FAULTS_MAX);
}

#[test]
fn the_number_of_questions_is_limited() {
    let questions = |count: usize| -> Vec<Value> {
        (0..count).map(|at| json!({"id": format!("q{at}"), "type": "nps", "prompt": "?"})).collect()
    };
    accepted(&with("questions", json!(questions(QUESTIONS_MAX))));
    let many = with("questions", json!(questions(QUESTIONS_MAX + 1)));
    refused(&many, &[("/questions", "0 to 300 items, but holds 301")]);
}

#[test]
fn the_schema_names_every_field_and_every_type() {
    let schema = json_schema();
    let message = check(&with("zzzzzzzz", json!(1))).unwrap_err().remove(0).message;
    let mut allowed: Vec<&str> =
        message.trim_start_matches("unknown field; allowed are ").split(", ").collect();
    let mut described: Vec<&str> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    allowed.sort_unstable();
    described.sort_unstable();
    assert_eq!(allowed, described);
    let forms = schema["$defs"]["question"]["oneOf"].as_array().unwrap().iter();
    let types: Vec<_> = forms.map(|form| form["properties"]["type"]["const"].clone()).collect();
    assert_eq!(json!(types), json!(QuestionType::NAMES));
}
