//! Each shape rule of a submission over HTTP: what it accepts, and with which code and field it
//! refuses. The rules are tested in full where they are written; this checks that the transport
//! applies all of them.

use serde_json::{Value, json};

use crate::support::{Reply, Site, submission};

/// The expected outcome of a changed submission: accepted, or refused with a code at a path.
enum Expected {
    Accepted,
    Refused(&'static str, Value),
}

use Expected::{Accepted, Refused};

async fn check(site: &Site, good: &Value, rows: Vec<(&str, Value, Expected)>) {
    for (pointer, value, expected) in rows {
        let mut changed = good.clone();
        set(&mut changed, pointer, value.clone());
        let reply = site.submit(&changed).await;
        let what = format!("{pointer} = {}", abridged(&value));
        match expected {
            Accepted => assert_eq!(reply.data()["success"], true, "{what}: {}", reply.text()),
            Refused(code, path) => assert_issue(&reply, code, &path, &what),
        }
    }
}

fn assert_issue(reply: &Reply, code: &str, path: &Value, what: &str) {
    let data = reply.data();
    assert_eq!(data["success"], false, "{what}");
    let issues = data["errors"]["issues"].as_array().unwrap();
    let found = issues.iter().find(|issue| issue["code"] == code && issue["path"] == *path);
    let found = found.unwrap_or_else(|| panic!("{what}: no {code} at {path} in {data}"));
    let message = found["message"].as_str().unwrap();
    if let Some(name) = path.as_array().unwrap().iter().rev().find_map(Value::as_str) {
        let shown: String = name.chars().take(64).collect();
        assert!(message.contains(&shown), "{what}: \"{message}\" does not name {name}");
    }
    let messages: Vec<&Value> = issues.iter().map(|issue| &issue["message"]).collect();
    let form_errors: Vec<&Value> =
        data["errors"]["formErrors"].as_array().unwrap().iter().collect();
    assert_eq!(form_errors, messages, "{what}: formErrors are the messages, in order");
}

/// Sets the value at a pointer, creating objects on the way.
fn set(target: &mut Value, pointer: &str, value: Value) {
    let mut place = target;
    for key in pointer.split('/').filter(|key| !key.is_empty()) {
        place = &mut place[key];
    }
    *place = value;
}

fn abridged(value: &Value) -> String {
    value.to_string().chars().take(80).collect()
}

fn text(chars: usize) -> Value {
    json!("x".repeat(chars))
}

fn map(entries: usize) -> Value {
    (0..entries).map(|i| (format!("k{i}"), json!("v"))).collect::<serde_json::Map<_, _>>().into()
}

async fn site() -> (Site, Value) {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let good = submission(version);
    (site, good)
}

#[tokio::test]
async fn the_whole_is_an_object_with_unknown_fields_ignored_and_depth_limited() {
    let (site, good) = site().await;
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let rows = vec![
        ("/unknown", json!({"a": [1, true, null]}), Accepted),
        ("/unknown", nested(15), Accepted),
        ("", json!([]), Refused("invalid_type", json!([]))),
        ("", json!("text"), Refused("invalid_type", json!([]))),
        ("", json!(null), Refused("invalid_type", json!([]))),
    ];
    check(&site, &good, rows).await;
    let mut deep = good.clone();
    deep["unknown"] = nested(16);
    assert_eq!(site.submit(&deep).await.status, 400, "depth 17");
    let twice = good.to_string().replacen('{', "{\"answers\":{\"nps\":\"99\"},", 1);
    site.trpc("response.submit", &[], &twice).await.assert_accepted();
}

#[tokio::test]
async fn a_nul_character_is_refused_except_in_the_context() {
    let (site, good) = site().await;
    let nul = json!("a\u{0}b");
    let rows = ["/answers/why", "/metadata/tags/plan", "/flowAssignmentId"].map(|pointer| {
        let path: Vec<&str> = pointer.split('/').skip(1).collect();
        (pointer, nul.clone(), Refused("nul_character", json!(path)))
    });
    check(&site, &good, rows.into()).await;
    check(&site, &good, vec![("/context/userAgent", nul, Accepted)]).await;
}

#[tokio::test]
async fn the_three_required_fields() {
    let (site, good) = site().await;
    let at = |field: &str| json!([field]);
    let mut rows = Vec::new();
    for field in ["flowVersionId", "flowVersionPayloadGeneration", "respondentAnalyticsAdmission"] {
        rows.push((field, json!(null), Refused("field_required", at(field))));
        rows.push((field, json!(4), Refused("invalid_type", at(field))));
    }
    rows.extend([
        (
            "flowVersionPayloadGeneration",
            json!("5"),
            Refused("payload_generation_mismatch", at("flowVersionPayloadGeneration")),
        ),
        ("flowVersionPayloadGeneration", json!("4"), Accepted),
        ("respondentAnalyticsAdmission", json!("admitted"), Accepted),
        (
            "respondentAnalyticsAdmission",
            json!("Admitted"),
            Refused("invalid_value", at("respondentAnalyticsAdmission")),
        ),
    ]);
    check(&site, &good, rows).await;
}

#[tokio::test]
async fn answers_are_texts_or_lists_of_texts_within_limits() {
    let (site, good) = site().await;
    let rows = vec![
        ("/answers", json!(null), Refused("answer_required", json!(["answers", "nps"]))),
        ("/answers", json!([]), Refused("invalid_type", json!(["answers"]))),
        ("/answers/use", json!(["api", "ui"]), Accepted),
        ("/answers/use", json!("api"), Accepted),
        ("/answers/nps", json!(["7"]), Accepted),
        (
            "/answers/nps",
            json!(["7", "8"]),
            Refused("wrong_answer_kind", json!(["answers", "nps"])),
        ),
        ("/answers/nps", json!(7), Refused("invalid_type", json!(["answers", "nps"]))),
        ("/answers/nps", json!({"a": "b"}), Refused("invalid_type", json!(["answers", "nps"]))),
        ("/answers/nps", json!([["7"]]), Refused("invalid_type", json!(["answers", "nps", 0]))),
        ("/answers/why", json!(null), Accepted),
        ("/answers/why", json!("😀".repeat(2_000)), Accepted),
        ("/answers/why", text(16 * 1024 + 1), Refused("too_long", json!(["answers", "why"]))),
        ("/answers", map(300), Refused("unknown_question", json!(["answers", "k0"]))),
        ("/answers", map(301), Refused("too_long", json!(["answers"]))),
    ];
    check(&site, &good, rows).await;
}

#[tokio::test]
async fn identities_are_at_most_ten_with_one_user_id() {
    let (site, good) = site().await;
    let identity = |kind: &str, value: Value| json!({"type": kind, "value": value});
    let user = |value: &str| identity("userId", json!(value));
    let traits = |n: usize| -> Value {
        (0..n).map(|i| identity(&format!("traits.t{i}"), json!("v"))).collect()
    };
    let value_at = |i: usize| json!(["identities", i, "value"]);
    let rows = vec![
        ("/identities", json!(null), Accepted),
        ("/identities", json!([]), Accepted),
        ("/identities", json!([user("u"), user("u")]), Accepted),
        ("/identities", json!([identity("userId", text(255))]), Accepted),
        ("/identities", json!([identity("traits.email", json!("a@b.example"))]), Accepted),
        ("/identities", json!([identity("traits.plan", json!("pro"))]), Accepted),
        ("/identities", traits(10), Accepted),
        ("/identities", json!({}), Refused("invalid_type", json!(["identities"]))),
        ("/identities", json!(["u"]), Refused("invalid_type", json!(["identities", 0]))),
        ("/identities", traits(11), Refused("too_long", json!(["identities"]))),
        ("/identities", json!([identity("userId", text(256))]), Refused("too_long", value_at(0))),
        (
            "/identities",
            json!([identity("traits.email", json!("nobody"))]),
            Refused("invalid_value", value_at(0)),
        ),
        (
            "/identities",
            json!([identity("anonymousId", json!("1")), identity("phone", json!("2"))]),
            Accepted,
        ),
        (
            "/identities",
            json!([identity("phone number", json!("1"))]),
            Refused("invalid_value", json!(["identities", 0, "type"])),
        ),
        (
            "/identities",
            json!([user("a"), user("b")]),
            Refused("duplicate_user_id", json!(["identities", 1])),
        ),
    ];
    check(&site, &good, rows).await;
}

#[tokio::test]
async fn tags_are_a_flat_map_within_limits() {
    let (site, good) = site().await;
    let long_name = "n".repeat(65);
    let at = |name: &str| json!(["metadata", "tags", name]);
    let rows = vec![
        ("/metadata", json!(null), Accepted),
        ("/metadata", json!({}), Accepted),
        ("/metadata/tags", json!({"plan": "pro", "list": ["a", "b"], "none": null}), Accepted),
        ("/metadata/tags", map(50), Accepted),
        ("/metadata/tags", json!({"n".repeat(64): text(500)}), Accepted),
        ("/metadata", json!("x"), Refused("invalid_type", json!(["metadata"]))),
        ("/metadata/tags", json!([]), Refused("invalid_type", json!(["metadata", "tags"]))),
        ("/metadata/tags", map(51), Refused("too_long", json!(["metadata", "tags"]))),
        ("/metadata/tags/plan", json!({"a": "b"}), Refused("nested_tag", at("plan"))),
        ("/metadata/tags/plan", json!(1), Refused("invalid_type", at("plan"))),
        ("/metadata/tags/plan", text(501), Refused("too_long", at("plan"))),
        ("/metadata/tags", json!({long_name.clone(): "v"}), Refused("too_long", at(&long_name))),
    ];
    check(&site, &good, rows).await;
}

#[tokio::test]
async fn an_invalid_context_never_refuses_a_submission() {
    let (site, good) = site().await;
    let rows = vec![
        ("/context", json!(null), Accepted),
        ("/context", json!({}), Accepted),
        ("/context/page/path", text(5_000), Accepted),
        ("/context/page/referrer", text(5_000), Accepted),
        ("/context/page/search", json!(format!("?{}", "q".repeat(5_000))), Accepted),
        ("/context/page/search", json!(""), Accepted),
        ("/context/userAgent", text(5_000), Accepted),
        ("/context/locale", json!("de_ch"), Accepted),
        ("/context", json!([]), Accepted),
        ("/context/page/path", json!(1), Accepted),
        ("/context/page/search", json!("q=1"), Accepted),
        ("/context/locale", json!("not a tag"), Accepted),
        ("/context/userAgent", json!(1), Accepted),
    ];
    check(&site, &good, rows).await;
}

#[tokio::test]
async fn a_flow_assignment_id_is_an_optional_text() {
    let (site, good) = site().await;
    let at = json!(["flowAssignmentId"]);
    let rows = vec![
        ("/flowAssignmentId", json!(null), Accepted),
        ("/flowAssignmentId", text(255), Accepted),
        ("/flowAssignmentId", text(256), Refused("too_long", at.clone())),
        ("/flowAssignmentId", json!(1), Refused("invalid_type", at)),
    ];
    check(&site, &good, rows).await;
}

#[tokio::test]
async fn all_issues_of_a_stage_are_reported_together_and_later_stages_wait() {
    let (site, good) = site().await;
    let mut bad = good.clone();
    bad["flowVersionId"] = json!(1);
    bad["respondentAnalyticsAdmission"] = json!("maybe");
    bad["metadata"] = json!({"tags": {"a": {}}});
    bad["answers"]["nps"] = json!("99");
    let data = site.submit(&bad).await.data();
    let codes: Vec<_> = data["errors"]["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(codes, ["invalid_type", "invalid_value", "nested_tag"]);
}
