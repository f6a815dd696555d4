//! The context of a submission: cut, repaired or dropped, and never refused.

use serde_json::{Value, json};
use sluice_flow::submission::{
    Admission, Context, Identity, Page, ParseError, Submission, TextMap, Texts, parse,
};

fn submission(context: &Value) -> String {
    let submission = json!({
        "flowVersionId": "fv_1", "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted", "context": context,
    });
    submission.to_string()
}

/// The stored context of a submission with this context.
fn stored_context(context: &Value) -> Value {
    let body = submission(context);
    let submission = parse(body.as_bytes()).unwrap();
    submission.context_json().map_or(Value::Null, |json| json.parse().unwrap())
}

#[test]
fn context_never_causes_a_refusal() {
    for (sent, stored) in [
        (json!({"more": 1, "locale": null}), json!(null)),
        (json!("x"), json!(null)),
        (json!([{"locale": "de"}]), json!(null)),
        (json!(7), json!(null)),
        (json!({"page": "/", "locale": "de"}), json!({"locale": "de"})),
        (json!({"page": {"path": 1, "referrer": [], "search": {}}}), json!(null)),
        (json!({"page": {"path": "/a", "referrer": 1}}), json!({"page": {"path": "/a"}})),
        (json!({"locale": 1, "userAgent": false}), json!(null)),
        (json!({"page": {"path": "/\0a\0"}}), json!({"page": {"path": "/a"}})),
        (
            json!({"userAgent": "\0UA", "locale": "d\0e"}),
            json!({"locale": "de", "userAgent": "UA"}),
        ),
        (json!({"userAgent": "x".repeat(512) + "\0"}), json!({"userAgent": "x".repeat(512)})),
    ] {
        assert_eq!(stored_context(&json!(sent)), stored, "{sent}");
    }
}

#[test]
fn a_search_gets_its_question_mark() {
    for (sent, stored) in
        [("", ""), ("?", "?"), ("?a=b", "?a=b"), ("a=b", "?a=b"), ("\0a=b", "?a=b"), ("#?", "?#?")]
    {
        let context = stored_context(&json!({"page": {"search": sent}}));
        assert_eq!(context["page"]["search"], stored, "{sent}");
    }
    let longest = stored_context(&json!({"page": {"search": "é".repeat(5_000)}}));
    assert_eq!(longest["page"]["search"], format!("?{}", "é".repeat(2047)));
}

#[test]
fn a_locale_is_repaired_to_a_language_tag_or_dropped() {
    for (sent, stored) in [
        ("en", Some("en")),
        ("de_at", Some("de-AT")),
        ("zh-hant-TW", Some("zh-Hant-TW")),
        ("en_US.UTF-8", Some("en-US")),
        ("de_DE@euro", Some("de-DE")),
        ("ca_ES.UTF-8@valencia", Some("ca-ES")),
        ("", None),
        ("C", None),
        ("C.UTF-8", None),
        (".UTF-8", None),
        ("i-klingon", Some("i-klingon")),
        ("zh_YUE_hk", Some("zh-yue-HK")),
        ("x-Private", Some("x-private")),
        ("not_a tag!", None),
        ("english language", None),
        ("de-", None),
        (&"x".repeat(100_000), None),
    ] {
        let context = stored_context(&json!({"locale": sent}));
        assert_eq!(context["locale"].as_str(), stored, "{sent}");
    }
}

#[test]
fn long_browser_fields_are_cut_at_a_character_boundary() {
    let kept = |count: usize| -> (String, String) {
        let text =
            format!("?{}", "é\"".repeat(count))[..].chars().take(count + 9).collect::<String>();
        (text.clone(), text.chars().take(count).collect())
    };
    let ((page, page_cut), (agent, agent_cut)) = (kept(2048), kept(512));
    let plain = "x".repeat(2049);
    let body = submission(&json!({
        "page": {"path": plain, "referrer": page_cut, "search": page}, "userAgent": agent
    }));
    let context = parse(body.as_bytes()).unwrap().context;
    let found = context.page.unwrap();
    assert_eq!(found.path.as_deref(), Some(&plain[..2048]));
    assert_eq!(found.referrer.as_deref(), Some(page_cut.as_str()));
    assert_eq!(found.search.as_deref(), Some(page_cut.as_str()));
    assert_eq!(context.user_agent.as_deref(), Some(agent_cut.as_str()));
}

fn parts() -> Submission<'static> {
    Submission {
        flow_version_id: "fv_1".into(),
        admission: Admission::Admitted,
        answers: [("a".into(), Texts::One("x".into()))].into_iter().collect(),
        identities: vec![Identity { kind: "userId".into(), value: "u-1".into() }],
        tags: [("plan".into(), Texts::Many(vec!["pro".into()]))].into_iter().collect(),
        context: Context {
            locale: Some("en_us.UTF-8".into()),
            page: Some(Page {
                path: Some("/\0a".into()),
                referrer: None,
                search: Some("q".into()),
            }),
            user_agent: Some("x".repeat(600).into()),
        },
        flow_assignment_id: Some("mine".into()),
        idempotency_key: None,
    }
}

#[test]
fn a_submission_built_from_parts_follows_the_same_rules() {
    let built = parts().checked().unwrap();
    let body = json!({
        "flowVersionId": "fv_1", "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted", "answers": {"a": "x"},
        "identities": [{"type": "userId", "value": "u-1"}], "metadata": {"tags": {"plan": ["pro"]}},
        "context": {"locale": "en_us.UTF-8", "page": {"path": "/\0a", "search": "q"},
            "userAgent": "x".repeat(600)},
        "flowAssignmentId": "mine",
    });
    assert_eq!(built, parse(body.to_string().as_bytes()).unwrap());

    let many: TextMap<'_> =
        (0..51).map(|n| (format!("t{n}").into(), Texts::One("x".into()))).collect();
    let user = |value: &'static str| Identity { kind: "userId".into(), value: value.into() };
    let wrong = Submission {
        answers: [("a".into(), Texts::One("x".repeat(16_385).into()))].into_iter().collect(),
        identities: vec![user("u"), user("v")],
        tags: many,
        flow_assignment_id: Some("x".repeat(256).into()),
        ..parts()
    };
    let codes: Vec<&str> =
        wrong.checked().unwrap_err().iter().map(|issue| issue.code.as_str()).collect();
    assert_eq!(codes, ["too_long", "duplicate_user_id", "too_long", "too_long"]);
}

/// The same content as bytes, for a submission built from parts.
fn bytes(parts: &Submission<'_>) -> String {
    let identities: Vec<Value> = parts
        .identities
        .iter()
        .map(|identity| json!({"type": identity.kind, "value": identity.value}))
        .collect();
    let body = json!({
        "flowVersionId": parts.flow_version_id, "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted", "answers": parts.answers,
        "identities": identities, "metadata": {"tags": parts.tags}, "context": parts.context,
        "flowAssignmentId": parts.flow_assignment_id,
    });
    body.to_string()
}

#[test]
fn parts_and_bytes_are_refused_with_the_same_issues() {
    let one = |text: &str| Texts::One(text.to_owned().into());
    let many = |count: usize, text: &str| Texts::Many(vec![text.to_owned().into(); count]);
    let map = |name: &str, texts: Texts<'static>| -> TextMap<'static> {
        [(name.to_owned().into(), texts)].into_iter().collect()
    };
    let crowd = |count: usize| -> TextMap<'static> {
        (0..count).map(|n| (format!("n{n}").into(), Texts::One("x".into()))).collect()
    };
    let identity = |kind: &str, value: &str| Identity {
        kind: kind.to_owned().into(),
        value: value.to_owned().into(),
    };
    let (long, nul) = ("é".repeat(16_385), "a\0b");
    let answers = [
        map("a", one(nul)),
        map(nul, one("x")),
        map("a", many(2, nul)),
        map("a", many(1_001, "x")),
        map("a", many(1_000, "é")),
        map("a", one(&long)),
        map("a", many(2, &long[..16_400])),
        crowd(301),
        TextMap::default(),
    ];
    let tags = [
        map("", one("x")),
        map(&long[..130], one("x")),
        map(nul, one(nul)),
        map("t", many(51, "x")),
        map("t", Texts::Many(vec!["x".into(), long.clone().into()])),
        crowd(51),
    ];
    let identities = [
        vec![identity("", "x"), identity("a b", nul), identity(nul, nul)],
        vec![identity("userId", ""), identity("traits.email", "nobody")],
        vec![identity("userId", "u"), identity("userId", "u"), identity("userId", "v")],
        (0..11).map(|n| identity("other", &n.to_string())).collect(),
        vec![identity("other", "x"); 101],
    ];
    let ids = [nul.to_owned(), "x".repeat(256), "é".repeat(255)];
    let cases = (answers.into_iter().map(|answers| Submission { answers, ..parts() }))
        .chain(tags.into_iter().map(|tags| Submission { tags, ..parts() }))
        .chain(identities.into_iter().map(|identities| Submission { identities, ..parts() }))
        .chain(ids.map(|id| Submission { flow_assignment_id: Some(id.into()), ..parts() }));
    let mut refused = 0;
    for case in cases {
        let body = bytes(&case);
        let parsed = match parse(body.as_bytes()) {
            Ok(submission) => Ok(submission),
            Err(ParseError::Refused(issues)) => Err(issues),
            Err(ParseError::Malformed(why)) => panic!("{why}"),
        };
        refused += usize::from(parsed.is_err());
        assert_eq!(case.checked(), parsed, "{body}");
    }
    assert_eq!(refused, 20);
}
