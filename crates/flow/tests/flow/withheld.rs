//! What is cut out of context and tags if the respondent did not agree to be linked.

use serde_json::{Map, Value, json};
use sluice_flow::identity::Claims;
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::submission::{Unlinked, parse, without_respondent};

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
fn an_address_keeps_nothing_that_identifies_its_visitor() {
    for (sent, kept) in [
        ("/pricing", "/pricing"),
        ("?a=1&b=2_3#x", "?a=1&b=2_3#x"),
        ("?utm_source=fab_mail&seats=70", "?utm_source=fab_mail&seats=70"),
        // What the page knows about its reader.
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
fn a_tag_keeps_no_invitation_and_no_identity() {
    for (sent, kept) in [
        ("basic", "basic"),
        ("promo", "promo"),
        ("PRO", ""),
        ("7", ""),
        ("17", "17"),
        ("ann@mail.example", ""),
        ("by Ann@Mail.example!", "by !"),
        (INVITATION, "fa_"),
        ("100 %", "100 %"),
        ("bob@x.org", "bob@x.org"),
        ("a + b", "a + b"),
        ("seats=7", "seats="),
        ("seats=70", "seats=70"),
        ("https://x.example/?email=ann%40mail.example&a=1", "https://x.example/?email=&a=1"),
        ("/f/fl?identities.userId=u-7", "/f/fl?identities.userId="),
    ] {
        let tags = json!({"a": sent, "b": [sent, "x"]});
        let expected = json!({"a": kept, "b": [kept, "x"]});
        assert_eq!(stored(&json!({}), &tags, None).1, expected, "{sent}");
    }
}

#[test]
fn identities_of_the_token_are_withheld_too() {
    let claims = Claims { user_id: "subject-1".into(), email: Some("s@x.org".into()) };
    let page = json!({"page": {"search": "?u=subject-1&m=S@x.org&v=subject-2"}});
    let (context, tags) = stored(&page, &json!({"who": "subject-1"}), Some(&claims));
    assert_eq!(context["page"]["search"], "?u=&m=&v=subject-2");
    assert_eq!(tags["who"], "");
}

#[test]
fn an_assignment_id_is_kept_only_if_it_is_just_an_invitation_id() {
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
fn a_user_id_with_an_escaped_space_is_found() {
    let claims = Claims { user_id: "ann lee".into(), email: None };
    let page = json!({"page": {"search": "?u=ann+lee&v=ann%20lee&w=ann"}});
    let (context, _) = stored(&page, &json!({"who": "ann+lee"}), Some(&claims));
    assert_eq!(context["page"]["search"], "?u=&v=&w=ann");
}

#[test]
fn a_stored_response_is_searched_by_the_same_rules() {
    let identities = r#"[{"type":"userId","value":"user-7"}]"#;
    let tags = r#"{"plan":"pro","who":"user-7"}"#;
    let context = r#"{"page":{"search":"?identities.userId=user-7&a=1"}}"#;
    let kept = |tags, context| Unlinked { tags, context, unreadable: Vec::new() };
    let found = without_respondent(Some(identities), &[], Some(tags), Some(context));
    let expected = kept(
        Some(r#"{"plan":"pro","who":""}"#.to_owned()),
        Some(r#"{"page":{"search":"?identities.userId=&a=1"}}"#.to_owned()),
    );
    assert_eq!(found, expected);
    assert_eq!(without_respondent(None, &[], None, None), kept(None, None));
    let profile = [ProfileIdentity::new(IdentityType::UserId, "user-7")];
    assert_eq!(without_respondent(None, &profile, Some(tags), Some(context)), expected);
}

#[test]
fn unreadable_stored_json_is_dropped_and_reported() {
    let identities = Some(r#"[{"type":"userId","value":"user-7"}]"#);
    let tags = Some(r#"{"who":"user-7"}"#);
    let context = Some(r#"{"locale":"de"}"#);
    let cut = Some(r#"{"who":""}"#.to_owned());
    let whole = context.map(str::to_owned);
    for (identities, tags, context, kept) in [
        (identities, Some("broken"), context, (None, whole.clone(), vec!["tags"])),
        (identities, tags, Some("[]"), (cut, None, vec!["context"])),
        (Some("{"), tags, context, (None, None, vec!["identities"])),
    ] {
        let found = without_respondent(identities, &[], tags, context);
        assert_eq!((found.tags, found.context, found.unreadable), kept);
    }
}

#[test]
fn a_tag_with_an_identity_in_its_name_is_dropped() {
    let claims = Claims { user_id: "subject-1".into(), email: None };
    let tags = json!({
        "plan": "basic", "seats_77": "1", "seats_7": "1", "Pro": "2", "by ANN@mail.example": "x", "Subject-1": ["y"],
        "u%73er=subject%2D1": "z", (INVITATION): "w",
    });
    let kept = json!({"plan": "basic", "seats_77": "1"});
    assert_eq!(stored(&json!({}), &tags, Some(&claims)).1, kept);
}

#[test]
fn letter_case_is_ignored_in_any_script() {
    for (name, sent, kept) in [
        ("User-Seven", "by USER-SEVEN and user-seven", "by  and "),
        ("ÄNNE-7", "Änne-7 ÄNNE-7 änne-7", "  "),
        ("straße-9", "STRASSE-9", ""),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", ""),
        ("Марія", "МАРІЯ!", "!"),
        ("kelvin", "\u{212a}elvin", ""),
        ("abab", "xabaABABby", "xy"),
    ] {
        let claims = Claims { user_id: name.into(), email: None };
        let page = json!({"page": {"path": sent}, "locale": "de"});
        let (context, tags) = stored(&page, &json!({"a": sent, "b": [sent]}), Some(&claims));
        let expected = json!({"a": kept, "b": [kept]});
        assert_eq!(tags, expected, "{name}");
        assert_eq!(context["page"]["path"], kept, "{name}");
        assert_eq!(context["locale"], "de");
        let found = tags.to_string().to_lowercase();
        assert!(!found.contains(&name.to_lowercase()), "{name}: {found}");
    }
}

#[test]
fn identities_of_every_type_are_withheld() {
    let body = json!({
        "flowVersionId": "fv", "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "identities": [{"type": "anonymousId", "value": "Anon-55"}, {"type": "x", "value": ""}],
        "metadata": {"tags": {"device": "ANON-55", "anon-55": "1", "plan": "pro"}},
        "context": {"locale": "en-x-anon-55", "page": {"search": "?d=anon%2D55"}},
    });
    let body = body.to_string();
    let mut submission = parse(body.as_bytes()).unwrap();
    submission.withhold(None);
    assert_eq!(submission.tags_json().as_deref(), Some(r#"{"device":"","plan":"pro"}"#));
    assert_eq!(submission.context_json().as_deref(), Some(r#"{"page":{"search":"?d="}}"#));
}

#[test]
fn a_short_value_is_withheld_as_a_whole_word() {
    for (name, sent, kept) in [
        ("u42", "U42", ""),
        ("u42", "user u42", "user "),
        ("u42", "user:U42,u43", "user:,u43"),
        ("u42", "u42x xu42 u421", "u42x xu42 u421"),
        ("u42", "u42äu42 über-u42", "u42äu42 über-"),
        ("u42", "user%20u%342", ""),
        ("bob", "Bob's team, bobby", "'s team, bobby"),
        ("ß", "SS MASSE ß", " MASSE "),
        ("7", "7 of 17, 2027-07-7", " of 17, 2027-07-"),
    ] {
        let body = json!({
            "flowVersionId": "fv", "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only", "flowAssignmentId": sent,
            "identities": [{"type": "userId", "value": name}],
            "metadata": {"tags": {"a": sent, "b": [sent, "x"], (format!("by {name}")): "x"}},
            "context": {"page": {"path": sent, "referrer": sent}, "userAgent": sent},
        });
        let body = body.to_string();
        let mut submission = parse(body.as_bytes()).unwrap();
        submission.withhold(None);
        let read = |json: Option<String>| json.map(|it| it.parse::<Value>().unwrap());
        let tags = json!({"a": kept, "b": [kept, "x"]});
        assert_eq!(read(submission.tags_json()), Some(tags), "{sent}");
        let page = json!({"path": kept, "referrer": kept});
        let context = json!({"page": page, "userAgent": kept});
        assert_eq!(read(submission.context_json()), Some(context), "{sent}");
        assert_eq!(submission.flow_assignment_id.as_deref(), Some(kept));
    }
}

#[test]
fn a_short_value_is_erased_from_answers_that_are_kept() {
    let identities = r#"[{"type":"userId","value":"u42"}]"#;
    let tags = r#"{"U42":"x","plan":"pro","who":["user u42","u421"]}"#;
    let context = r#"{"page":{"path":"/users/U42"},"userAgent":"App (u42)"}"#;
    let found = without_respondent(Some(identities), &[], Some(tags), Some(context));
    assert_eq!(found.tags.as_deref(), Some(r#"{"plan":"pro","who":["user ","u421"]}"#));
    let context = r#"{"page":{"path":"/users/"},"userAgent":"App ()"}"#;
    assert_eq!(found.context.as_deref(), Some(context));
}

/// Ten names that nearly repeat in a megabyte of tags: over a billion comparisons if done naively.
#[test]
fn nearly_repeating_values_are_searched_in_linear_time() {
    let nearly = "a".repeat(500);
    let tags: Map<_, _> =
        (0..50).map(|tag| (format!("t{tag}"), json!(vec![nearly.as_str(); 40]))).collect();
    let name = |number| format!("{}b{number}", "a".repeat(250));
    let identities: Vec<_> =
        (0..10).map(|it| json!({"type": format!("x{it}"), "value": name(it)})).collect();
    let body = json!({
        "flowVersionId": "fv", "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "identities": identities, "metadata": {"tags": tags},
    });
    let body = body.to_string();
    let mut submission = parse(body.as_bytes()).unwrap();
    submission.withhold(None);
    let kept: Value = submission.tags_json().unwrap().parse().unwrap();
    assert_eq!(kept, Value::Object(tags));
}
