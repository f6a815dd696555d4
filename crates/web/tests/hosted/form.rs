//! Every question type, answered with form fields; steps, logic, and faults shown with the form.

use serde_json::{Value, json};
use sluice_flow::question::{Input, QuestionType};
use sluice_flow::{definition, example};

use crate::browser::{Browser, READ, answers, one, path, published, stored};
use crate::support::Site;

type Fields = &'static [(&'static str, &'static str)];

/// A question of each type, the fields that answer it, and the answer as defined by the API. Types
/// that are not written out below use the example answer of the type.
fn every_type() -> Vec<(Value, Fields, Value)> {
    let mut written = written_out();
    let of = |name: &str, (question, _, _): &(Value, Fields, Value)| question["type"] == name;
    let one = |name: &&str| {
        let at = written.iter().position(|it| of(name, it));
        at.map_or_else(|| made_up(name), |at| written.swap_remove(at))
    };
    QuestionType::NAMES.iter().map(one).collect()
}

/// A minimal question of a type, answered with its example answer.
fn made_up(name: &str) -> (Value, Fields, Value) {
    let blank = QuestionType::blank(name).unwrap();
    let mut question = json!({"id": name, "type": name, "prompt": format!("A {name}?")});
    for field in blank.choice_fields() {
        question[field] = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    }
    let draft = definition::check(&json!({"title": "t", "questions": [question]})).unwrap();
    let answer = example::answers(&draft).remove(name).unwrap_or_default();
    let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let texts: Vec<&str> = match &answer {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let field = |(at, text): (usize, &&str)| match blank.input() {
        Input::Order { .. } => {
            (leaked(format!("rank.{name}.{text}")), leaked((at + 1).to_string()))
        }
        Input::Grid { .. } => {
            let (row, column) = text.split_once(':').unwrap();
            (leaked(format!("matrix.{name}.{row}")), leaked(column.to_owned()))
        }
        _ => (leaked(format!("answers.{name}")), leaked((*text).to_owned())),
    };
    let fields: Vec<(&'static str, &'static str)> = texts.iter().enumerate().map(field).collect();
    (question, fields.leak(), answer)
}

fn written_out() -> Vec<(Value, Fields, Value)> {
    let options =
        json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]);
    let q = |kind: &str, more: Value| {
        let mut question = json!({"id": kind, "type": kind, "prompt": format!("A {kind}?")});
        for (name, value) in more.as_object().unwrap() {
            question[name] = value.clone();
        }
        question
    };
    let with_other = json!({"options": options, "allowOther": true});
    vec![
        (q("shortText", json!({})), &[("answers.shortText", " hello ")], json!("hello")),
        (q("longText", json!({})), &[("answers.longText", "one\r\ntwo")], json!("one\ntwo")),
        (q("email", json!({})), &[("answers.email", "ada@example.com ")], json!("ada@example.com")),
        (
            q("url", json!({})),
            &[("answers.url", "https://example.com/a")],
            json!("https://example.com/a"),
        ),
        (q("phone", json!({})), &[("answers.phone", "+49 30 1234")], json!("+49 30 1234")),
        (q("number", json!({"min": 0, "max": 20})), &[("answers.number", "12.5")], json!("12.5")),
        (
            q("date", json!({"min": "2026-01-01"})),
            &[("answers.date", "2026-11-15")],
            json!("2026-11-15"),
        ),
        (
            q("singleChoice", with_other.clone()),
            &[("answers.singleChoice", "other:"), ("other.singleChoice", "mine")],
            json!("other:mine"),
        ),
        (q("dropdown", with_other.clone()), &[("answers.dropdown", "b")], json!("b")),
        (
            q("multipleChoice", with_other),
            &[("answers.multipleChoice", "a"), ("answers.multipleChoice", "c")],
            json!(["a", "c"]),
        ),
        (
            q("ranking", json!({"options": options})),
            &[("rank.ranking.a", "3"), ("rank.ranking.b", "1"), ("rank.ranking.c", "2")],
            json!(["b", "c", "a"]),
        ),
        (
            q("matrix", json!({"rows": options, "columns": options})),
            &[("matrix.matrix.a", "b"), ("matrix.matrix.c", "a")],
            json!(["a:b", "c:a"]),
        ),
        (q("rating", json!({"max": 7, "shape": "emoji"})), &[("answers.rating", "6")], json!("6")),
        (q("nps", json!({"lowLabel": "no"})), &[("answers.nps", "10")], json!("10")),
        (q("yesNo", json!({})), &[("answers.yesNo", "no")], json!("no")),
        (
            q("consent", json!({"required": true})),
            &[("answers.consent", "accepted")],
            json!("accepted"),
        ),
        (q("statement", json!({})), &[], Value::Null),
    ]
}

fn all_types() -> (Value, Value) {
    let every = every_type();
    let questions: Vec<Value> = every.iter().map(|(question, _, _)| question.clone()).collect();
    let answered = every.iter().filter(|(_, _, answer)| !answer.is_null());
    let answers: serde_json::Map<String, Value> = answered
        .map(|(question, _, answer)| (question["id"].as_str().unwrap().to_owned(), answer.clone()))
        .collect();
    (json!({"title": "All", "questions": questions}), answers.into())
}

#[test]
fn a_type_that_is_not_written_out_uses_its_example() {
    let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    for (name, fields, answer) in [
        ("nps", vec![("answers.nps", "9")], json!("9")),
        ("ranking", vec![("rank.ranking.a", "1"), ("rank.ranking.b", "2")], json!(["a", "b"])),
        ("matrix", vec![("matrix.matrix.a", "b"), ("matrix.matrix.b", "b")], json!(["a:b", "b:b"])),
        ("statement", vec![], Value::Null),
    ] {
        let made = made_up(name);
        assert_eq!((made.1, &made.2), (&fields[..], &answer), "{name}");
        let wanted = if name == "ranking" { options.clone() } else { Value::Null };
        assert_eq!(made.0.get("options").cloned().unwrap_or_default(), wanted, "{name}");
    }
}

#[tokio::test]
async fn every_type_is_answered_step_by_step_without_a_script() {
    let site = Site::start().await;
    let (definition, expected) = all_types();
    let flow = published(&site, definition).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    assert_eq!(browser.page.status, 200);
    site.at(READ);
    let every = every_type();
    let types: Vec<&str> =
        every.iter().map(|(question, _, _)| question["type"].as_str().unwrap()).collect();
    assert_eq!(types, QuestionType::NAMES, "a type is missing here");
    let count = every.len();
    for (at, (question, fields, _)) in every.iter().enumerate() {
        let id = question["id"].as_str().unwrap();
        assert_eq!(browser.state(), "asking");
        assert_eq!(browser.hidden("step"), id, "{}", browser.html());
        assert!(browser.html().contains(&format!("Question {} of {count}", at + 1)));
        let is_last = at + 1 == every.len();
        browser.press(if is_last { "send" } else { "next" }, fields).await;
    }
    assert_eq!(browser.page.status, 303, "{}", browser.html());
    assert_eq!(answers(&site, flow).await, expected);
}

#[tokio::test]
async fn every_type_is_answered_at_once_by_the_script() {
    let site = Site::start().await;
    let (definition, expected) = all_types();
    let flow = published(&site, definition).await;
    let mut browser = Browser::open_with(&site, &path(flow), &[("sluice-script", "1")]).await;
    let html = browser.html();
    assert!(html.contains("data-whole") && !html.contains("<template"));
    for name in QuestionType::NAMES {
        assert!(html.contains(&format!("data-type=\"{name}\"")), "{name}");
    }
    site.at(READ);
    let fields: Vec<(&str, &str)> =
        every_type().iter().flat_map(|(_, fields, _)| fields.iter().copied()).collect();
    browser.press("send", &fields).await;
    assert_eq!((browser.page.status, browser.state().as_str()), (200, "stored"));
    let rows = stored(&site, flow).await;
    assert!(browser.html().contains(&format!("data-response=\"{}\"", rows[0].response_id)));
    assert!(browser.html().contains(&format!("data-done=\"/f/{flow}/done?")));
    assert_eq!(answers(&site, flow).await, expected);
}

#[tokio::test]
async fn the_first_page_contains_the_other_questions_for_the_script() {
    let site = Site::start().await;
    let mut definition = all_types().0;
    definition["respondentAnalytics"] = json!("ask");
    let flow = published(&site, definition).await;
    let known = format!("{}?identities.userId=u-1", path(flow));
    let html = Browser::open(&site, &known).await.html();
    let (before, rest) = html.split_once("<template>").unwrap();
    assert!(html.contains("data-whole"));
    assert_eq!(before.matches("<section").count(), 1);
    // All other questions, and the consent box.
    assert_eq!(rest.matches("<section").count(), QuestionType::NAMES.len());
}

fn with_logic() -> Value {
    json!({
        "title": "Logic", "respondentAnalytics": "never",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How?", "required": true},
            {"id": "why", "type": "longText", "prompt": "Why?", "required": true,
             "visibleIf": {"question": "nps", "lessThan": 7}},
        ],
    })
}

#[tokio::test]
async fn steps_follow_the_answers_and_back_keeps_them() {
    let site = Site::start().await;
    let flow = published(&site, with_logic()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    site.at(READ);
    browser.press("next", &[("answers.nps", "3")]).await;
    assert_eq!(browser.hidden("step"), "why");
    browser.press("back", &[("answers.why", "Slow.")]).await;
    assert_eq!(browser.hidden("step"), "nps");
    assert!(browser.html().contains("value=\"3\" checked"), "{}", browser.html());
    assert_eq!(browser.hidden("answers.why"), "Slow.");
    // With another answer no question follows: the form can be sent, and the hidden answer is not.
    browser.press("next", &[("answers.nps", "9")]).await;
    assert_eq!(browser.hidden("step"), "");
    assert!(browser.html().contains("value=\"send\""));
    browser.press("send", &[]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(answers(&site, flow).await, json!({"nps": "9"}));
}

#[tokio::test]
async fn faults_are_shown_beside_their_question_and_nothing_is_lost() {
    let site = Site::start().await;
    let flow = published(&site, with_logic()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    site.at(READ);
    browser.press("next", &[]).await;
    assert_eq!(browser.page.status, 422);
    let html = browser.html();
    let error = "<p class=\"error\" id=\"e-nps\">Answer this question.</p>";
    assert!(html.contains(error), "{html}");
    // The text is in the page once, and in the texts for the script; the first field is focused.
    assert_eq!(html.matches("Answer this question.").count(), 2, "{html}");
    assert_eq!(html.matches(" autofocus").count(), 1, "{html}");
    assert!(html.contains("name=\"answers.nps\" value=\"0\" autofocus"), "{html}");
    browser.press("next", &[("answers.nps", "2")]).await;
    browser.press("send", &[]).await;
    assert_eq!((browser.page.status, browser.hidden("step").as_str()), (422, "why"));
    assert_eq!(browser.hidden("answers.nps"), "2");
    assert!(stored(&site, flow).await.is_empty());
    browser.press("send", &[("answers.why", "Slow.")]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(answers(&site, flow).await, json!({"nps": "2", "why": "Slow."}));
}

/// A question's type and rules, an invalid answer, and the sentence that explains what to do.
type Broken = (&'static str, Value, [(&'static str, &'static str); 1], &'static str);

fn broken_rules() -> Vec<Broken> {
    let options =
        json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]);
    vec![
        (
            "email",
            json!({}),
            [("answers.q", "no")],
            "Enter an e-mail address such as name@example.com.",
        ),
        (
            "url",
            json!({}),
            [("answers.q", "no")],
            "Enter a web address that starts with http:// or https://.",
        ),
        ("phone", json!({}), [("answers.q", "no")], "Enter a telephone number"),
        (
            "number",
            json!({"min": 1, "max": 500}),
            [("answers.q", "900")],
            "Enter a number: from 1 to 500.",
        ),
        ("number", json!({"integer": true}), [("answers.q", "1.5")], "Enter a whole number."),
        (
            "date",
            json!({"min": "2026-01-01"}),
            [("answers.q", "2025-01-01")],
            "Enter a date: at least 2026-01-01.",
        ),
        (
            "shortText",
            json!({"maxLength": 3}),
            [("answers.q", "four")],
            "Write at most 3 characters.",
        ),
        (
            "multipleChoice",
            json!({"options": options, "minSelected": 2}),
            [("answers.q", "a")],
            "Choose at least 2.",
        ),
        (
            "singleChoice",
            json!({"options": options, "allowOther": true}),
            [("answers.q", "other:")],
            "Write your own answer or choose another option.",
        ),
        (
            "singleChoice",
            json!({"options": options}),
            [("answers.q", "zzz")],
            "Choose from the options.",
        ),
        (
            "ranking",
            json!({"options": options}),
            [("rank.q.a", "1")],
            "Give every option a different position.",
        ),
        (
            "matrix",
            json!({"rows": options, "columns": options, "required": true}),
            [("matrix.q.a", "a")],
            "Choose an answer in every row.",
        ),
    ]
}

#[tokio::test]
async fn each_rule_has_a_sentence_that_explains_what_to_do() {
    let site = Site::start().await;
    for (kind, more, fields, sentence) in broken_rules() {
        let mut question = json!({"id": "q", "type": kind, "prompt": "?"});
        for (name, value) in more.as_object().unwrap() {
            question[name] = value.clone();
        }
        let flow = published(&site, one(question)).await;
        site.at(0);
        let mut browser = Browser::open(&site, &path(flow)).await;
        site.at(READ);
        browser.press("send", &fields).await;
        assert_eq!(browser.page.status, 422, "{kind}: {}", browser.html());
        let error = format!("id=\"e-q\">{sentence}");
        assert!(browser.html().contains(&error), "{kind}: {}", browser.html());
        assert!(stored(&site, flow).await.is_empty());
    }
}

#[tokio::test]
async fn a_flow_without_questions_can_be_sent() {
    let site = Site::start().await;
    let flow =
        published(&site, json!({"title": "News", "description": "Read this.", "questions": []}))
            .await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    assert!(browser.html().contains("Read this.") && browser.html().contains("value=\"send\""));
    site.at(READ);
    browser.press("send", &[]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(answers(&site, flow).await, json!({}));
}

#[tokio::test]
async fn user_supplied_text_is_always_escaped() {
    let site = Site::start().await;
    let bad = "<script>alert(1)</script>\"'&";
    let options = json!([{"id": "a", "label": bad}, {"id": "b", "label": bad}]);
    let q = |kind: &str, more: Value| {
        let mut question = json!({"id": kind, "type": kind, "prompt": bad, "help": bad});
        for (name, value) in more.as_object().unwrap() {
            question[name] = value.clone();
        }
        question
    };
    let flow = published(&site, json!({
        "title": bad, "description": bad, "ending": {"title": bad, "body": bad},
        "questions": [
            q("singleChoice", json!({"options": options, "allowOther": true})),
            q("dropdown", json!({"options": options})), q("ranking", json!({"options": options})),
            q("matrix", json!({"rows": options, "columns": options})),
            q("nps", json!({"lowLabel": bad, "highLabel": bad})), q("longText", json!({})),
            q("shortText", json!({"visibleIf": {"question": "longText", "equals": bad}})),
        ],
    }))
    .await;
    let query = "tags.%3Cscript%3E%00=1&x=%22%3E%3Cscript%3E";
    let at = format!("/f/{flow}?{query}&\"><script>x");
    let at = at.replace('"', "%22").replace('<', "%3C").replace('>', "%3E");
    let headers = [("sluice-script", "1"), ("referer", "https://a.example/\"><script>x")];
    let mut browser = Browser::open_with(&site, &at, &headers).await;
    let mut pages = vec![browser.html()];
    site.at(READ);
    browser
        .press(
            "send",
            &[("answers.longText", bad), ("other.singleChoice", bad), ("answers.dropdown", bad)],
        )
        .await;
    pages.push(browser.html());
    browser.press("send", &[("answers.longText", bad), ("answers.singleChoice", "a")]).await;
    assert_eq!(browser.state(), "stored", "{}", browser.html());
    pages.push(browser.html());
    for page in pages {
        // The only script of the page is a separate file.
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    }
}

#[tokio::test]
async fn texts_use_the_language_of_the_address_or_the_browser() {
    let site = Site::start().await;
    let flow = published(&site, json!({
        "title": "Feedback", "questions": [{"id": "q", "type": "nps", "prompt": "How likely?"}],
        "ending": {"title": "Thanks"},
        "translations": {
            "de": {"title": "Rückmeldung", "questions": {"q": {"prompt": "Wie wahrscheinlich?"}}, "ending": {"title": "Danke schön"}},
            "ar": {"title": "ملاحظات"},
        },
    }))
    .await;
    for (query, accepted, lang, dir, title, button) in [
        ("", "", "en", "ltr", "Feedback", "Send"),
        ("", "de-AT,de;q=0.9", "de", "ltr", "Rückmeldung", "Absenden"),
        ("", "fr, de;q=0.5", "de", "ltr", "Rückmeldung", "Absenden"),
        ("?context.locale=ar", "de", "ar", "rtl", "ملاحظات", "إرسال"),
        ("?context.locale=fr", "", "en", "ltr", "Feedback", "Send"),
    ] {
        let at = format!("/f/{flow}{query}");
        let html = Browser::open_with(&site, &at, &[("accept-language", accepted)]).await.html();
        let root = format!("<html lang=\"{lang}\" dir=\"{dir}\"");
        for part in
            [&root[..], &format!("<h1 dir=\"auto\">{title}</h1>"), &format!(">{button}</button>")]
        {
            assert!(html.contains(part), "{query} {accepted}: {part}\n{html}");
        }
    }
    let mut browser = Browser::open_with(&site, &path(flow), &[("accept-language", "de")]).await;
    assert!(browser.html().contains("Wie wahrscheinlich?"));
    site.at(READ);
    browser.press("send", &[("answers.q", "9")]).await;
    let address = browser.page.header("location").unwrap();
    let done = site.get(&address, &[("accept-language", "de")]).await;
    assert!(done.text().contains("Danke schön") && done.text().contains("Sie sind anonym"));
    let context: Value =
        serde_json::from_str(stored(&site, flow).await[0].context.as_deref().unwrap()).unwrap();
    assert_eq!(context["locale"], "de");
}
