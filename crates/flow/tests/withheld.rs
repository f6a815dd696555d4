//! What is cut out of context and tags where the respondent did not agree to be known.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use serde_json::{Value, json};
use sluice_flow::identity::Claims;
use sluice_flow::submission::{parse, without_respondent};

const INVITATION: &str = "fa_034y0tSn8q8agXyZ012345";

/// The stored context and tags of a submission by user 7 with the address Ann@Mail.example.
fn stored(context: &Value, tags: &Value, claims: Option<&Claims>) -> (Value, Value) {
    let body = json!({
        "flowVersionId": "fv", "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only", "context": context,
        "metadata": {"tags": tags},
        "identities": [{"type": "userId", "value": "7"}, {"type": "userId", "value": "7"},
            {"type": "traits.email", "value": "Ann@Mail.example"},
            {"type": "traits.plan", "value": "pro"}],
    });
    let body = body.to_string();
    let mut submission = parse(body.as_bytes()).unwrap();
    submission.withhold(claims);
    let read = |json: Option<String>| json.map_or(Value::Null, |it| it.parse().unwrap());
    (read(submission.context_json()), read(submission.tags_json()))
}

#[test]
fn an_address_keeps_nothing_that_names_its_reader() {
    for (sent, kept) in [
        ("/pricing", "/pricing"),
        ("?a=1&b=2_3#x", "?a=1&b=2_3#x"),
        ("?utm_source=fab_mail&seats=70", "?utm_source=fab_mail&seats=70"),
        // What the page is told of its reader.
        ("?identities.userId=bob&a=1", "?identities.userId=&a=1"),
        ("?a=1&identities.traits.email=bob@x.org", "?a=1&identities.traits.email="),
        ("?identities.userId=a/b?c=d;e#part", "?identities.userId=#part"),
        ("?%69dentities.userId=bob", "?%69dentities.userId="),
        ("?flowAssignmentId=own-id-5&a=1", "?flowAssignmentId=&a=1"),
        ("?not.identities=1&xflowAssignmentId=2", "?not.identities=1&xflowAssignmentId=2"),
        // Invitations, wherever they stand.
        (&format!("/f/fl?x={INVITATION}&y=1"), "/f/fl?x=fa_&y=1"),
        (&format!("{INVITATION} and {INVITATION}5"), "fa_ and fa_5"),
        ("fa_tooshort", "fa_tooshort"),
        (&format!("?next=%2Ff%2Ffl%3Fi%3D{INVITATION}"), "?next="),
        ("?next=%2Ff%3FflowAssignmentId%3Dx", "?next="),
        ("?next=%252Ff%253Fidentities.userId%253Dx&a=1", "?next=&a=1"),
        ("?next=%2Ff%3Fa%3Db", "?next=%2Ff%3Fa%3Db"),
        // Who sent it.
        ("/users/7/edit", "/users//edit"),
        ("/users/77/edit?page=17", "/users/77/edit?page=17"),
        ("?mail=ann@mail.EXAMPLE&a=1", "?mail=&a=1"),
        ("?mail=ann%40mail.example", "?mail="),
        ("mailto:Ann@Mail.example", "mailto:"),
        ("?u=7", "?u="),
        // Ids with marks in them, escaped or not.
        ("?u=VXNlcjo3Nw==&a=1", "?u=&a=1"),
        ("?u=VXNlcjo3Nw%3D%3D", "?u="),
        ("/VXNlcjo3Nw==/x", "//x"),
        ("?next=%2FVXNlcjo3Nw%3D%3D%2Fx&a=1", "?next=&a=1"),
        ("?mail=ann%2Blist@x.org", "?mail=ann%2Blist@x.org"),
    ] {
        let page = json!({"page": {"path": sent, "referrer": sent}, "userAgent": sent});
        let expected = json!({"page": {"path": kept, "referrer": kept}, "userAgent": kept});
        let claims = Claims { user_id: "VXNlcjo3Nw==".into(), email: None };
        assert_eq!(stored(&page, &json!({}), Some(&claims)).0, expected, "{sent}");
    }
}

#[test]
fn a_tag_keeps_no_invitation_and_no_name_that_is_one_for_sure() {
    for (sent, kept) in [
        ("pro", "pro"),
        ("7", "7"),
        ("ann@mail.example", ""),
        ("by Ann@Mail.example!", "by !"),
        (INVITATION, "fa_"),
        ("100 %", "100 %"),
        ("bob@x.org", "bob@x.org"),
        ("a + b", "a + b"),
        ("seats=7", "seats=7"),
        ("https://x.example/?email=ann%40mail.example&a=1", "https://x.example/?email=&a=1"),
        ("/f/fl?identities.userId=u-7", "/f/fl?identities.userId="),
    ] {
        let tags = json!({"a": sent, "b": [sent, "x"]});
        let expected = json!({"a": kept, "b": [kept, "x"]});
        assert_eq!(stored(&json!({}), &tags, None).1, expected, "{sent}");
    }
}

#[test]
fn what_a_token_says_of_its_bearer_is_withheld_too() {
    let claims = Claims { user_id: "subject-1".into(), email: Some("s@x.org".into()) };
    let page = json!({"page": {"search": "?u=subject-1&m=S@x.org&v=subject-2"}});
    let (context, tags) = stored(&page, &json!({"who": "subject-1"}), Some(&claims));
    assert_eq!(context["page"]["search"], "?u=&m=&v=subject-2");
    assert_eq!(tags["who"], "");
}

#[test]
fn an_assignment_id_keeps_an_invitation_only_where_it_is_nothing_else() {
    for (sent, kept) in [
        (INVITATION.to_owned(), INVITATION),
        (format!("{INVITATION} "), "fa_ "),
        (format!("x-{INVITATION}"), "x-fa_"),
        ("own-id".to_owned(), "own-id"),
    ] {
        let body = json!({
            "flowVersionId": "fv", "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only", "flowAssignmentId": sent,
        });
        let body = body.to_string();
        let mut submission = parse(body.as_bytes()).unwrap();
        submission.withhold(None);
        assert_eq!(submission.flow_assignment_id.as_deref(), Some(kept));
    }
}

#[test]
fn a_user_id_with_a_space_is_found_where_the_space_is_escaped() {
    let claims = Claims { user_id: "ann lee".into(), email: None };
    let page = json!({"page": {"search": "?u=ann+lee&v=ann%20lee&w=ann"}});
    let (context, _) = stored(&page, &json!({"who": "ann+lee"}), Some(&claims));
    assert_eq!(context["page"]["search"], "?u=&v=&w=ann");
}

#[test]
fn a_stored_response_is_looked_through_by_the_same_rules() {
    let identities = r#"[{"type":"userId","value":"user-7"}]"#;
    let tags = r#"{"plan":"pro","who":"user-7"}"#;
    let context = r#"{"page":{"search":"?identities.userId=user-7&a=1"}}"#;
    let kept = without_respondent(Some(identities), Some(tags), Some(context));
    let expected = (
        Some(r#"{"plan":"pro","who":""}"#.to_owned()),
        Some(r#"{"page":{"search":"?identities.userId=&a=1"}}"#.to_owned()),
    );
    assert_eq!(kept, expected);
    assert_eq!(without_respondent(None, None, None), (None, None));
    assert_eq!(without_respondent(None, Some("broken"), Some(context)), (None, None));
}
