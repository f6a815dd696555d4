//! Flows and drafts.

use serde_json::{Value, json};

use crate::support::{Site, at, definition, text};

#[tokio::test]
async fn a_flow_is_created_as_a_draft_and_read_back() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let new = json!({"name": "Feedback", "kind": "form", "definition": definition("One")});
    let flow = site.post(&format!("/apps/{app}/flows"), new).await.ok(201);
    let (id, version) = (text(&flow["flowId"]), text(&flow["draft"]["flowVersionId"]));
    assert!(id.starts_with("fl_") && version.starts_with("fv_"));
    let expected = json!({
        "flowId": id, "appId": app, "name": "Feedback", "kind": "form", "key": null, "labels": [],
        "draft": {"flowVersionId": version}, "draftTag": flow["draftTag"], "published": null,
        "liveWindow": {"startsAt": null, "endsAt": null}, "graceWindowSeconds": null,
        "closeAfter": null, "quotas": [], "counted": null, "createdAt": at(0), "archivedAt": null,
        "design": {
            "accentColor": null, "background": null, "font": null, "corners": null,
            "theme": null, "logo": null, "darkLogo": null, "nextText": null, "backText": null,
            "sendText": null
        }
    });
    assert_eq!(flow, expected);
    assert_eq!(site.get(&format!("/flows/{id}")).await.ok(200), expected);
    let listed = site.get(&format!("/apps/{app}/flows")).await.ok(200);
    assert_eq!(listed, json!({"items": [expected], "next": null}));
}

#[tokio::test]
async fn a_flow_without_a_definition_starts_with_a_draft_that_cannot_be_published_yet() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let new = json!({"name": "Later", "kind": "message"});
    let flow = text(&site.post(&format!("/apps/{app}/flows"), new).await.ok(201)["flowId"]);
    let draft = site.get(&format!("/flows/{flow}/draft")).await.ok(200);
    assert_eq!(draft["definition"], json!({"title": "Later", "questions": []}));
}

#[tokio::test]
async fn a_wrong_new_flow_is_refused_with_every_fault() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}/flows");
    let kinds = ("/kind", "must be one of survey, form, message");
    for (body, faults) in [
        (json!({"kind": "survey"}), vec![("/name", "is required")]),
        (json!({"name": "x"}), vec![("/kind", "is required")]),
        (json!({"name": "x", "kind": "quiz"}), vec![kinds]),
        (json!({"name": 1, "kind": 1}), vec![kinds, ("/name", "must be a string")]),
        (json!({"name": "x", "kind": "form", "title": 1}), vec![("/title", "is not known here")]),
        (
            json!({"name": "", "kind": "form", "definition": []}),
            vec![("/name", "must be a text"), ("/definition", "must be a JSON object")],
        ),
        (
            json!({"kind": "quiz", "definition": []}),
            vec![kinds, ("/name", "is required"), ("/definition", "must be a JSON object")],
        ),
        (
            json!({"name": "x", "kind": "form", "definition": null}),
            vec![("/definition", "must be a JSON object")],
        ),
    ] {
        site.post(&path, body).await.faults(&faults);
    }
    assert_eq!(site.get(&path).await.ok(200)["items"], json!([]));
}

#[tokio::test]
async fn a_window_is_replaced_completely_and_null_opens_it() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}");
    let window = |starts_at: Option<&str>, ends_at: Option<&str>| json!({"startsAt": starts_at, "endsAt": ends_at});
    let (noon, night) = ("2026-12-01T12:00:00.000Z", "2026-12-01T20:00:00.000Z");
    for (patch, expected) in [
        (json!({"startsAt": noon, "endsAt": night}), window(Some(noon), Some(night))),
        (json!({"startsAt": noon}), window(Some(noon), None)),
        (json!({"endsAt": "2026-12-01T21:00:00+01:00"}), window(None, Some(night))),
        (json!({"startsAt": null, "endsAt": null}), window(None, None)),
        (json!({}), window(None, None)),
        (json!({"endsAt": "9999-12-31T23:59:59Z"}), window(None, Some("9999-12-31T23:59:59.000Z"))),
    ] {
        let changed = site.patch(&path, json!({"liveWindow": patch})).await.ok(200);
        assert_eq!(changed["liveWindow"], expected);
    }
    let changed = site.patch(&path, json!({"name": "New", "graceWindowSeconds": 60})).await.ok(200);
    assert_eq!((&changed["name"], &changed["graceWindowSeconds"]), (&json!("New"), &json!(60)));
    let changed = site.patch(&path, json!({"graceWindowSeconds": null})).await.ok(200);
    assert_eq!((&changed["name"], &changed["graceWindowSeconds"]), (&json!("New"), &Value::Null));
}

/// The message for a grace window out of range.
const GRACE: &str = "must be a whole number from 0 to 31622400, or null for the default";

#[tokio::test]
async fn a_wrong_flow_patch_is_refused() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let noon = "2026-12-01T12:00:00.000Z";
    for (patch, fault) in [
        (json!({"name": ""}), ("/name", "must be a text")),
        (json!({"kind": "form"}), ("/kind", "is not known here; known are name, liveWindow,")),
        (json!({"liveWindow": null}), ("/liveWindow", "must be an object, not null")),
        (json!({"liveWindow": {"start": noon}}), ("/liveWindow/start", "is not known here")),
        (
            json!({"liveWindow": {"startsAt": "soon"}}),
            ("/liveWindow/startsAt", "must be an RFC 3339"),
        ),
        (
            json!({"liveWindow": {"endsAt": "9999-12-31T23:59:59-01:00"}}),
            ("/liveWindow/endsAt", "must be a time from 0001-01-01T00:00:00.000Z to 9999-12-31"),
        ),
        (json!({"liveWindow": {"startsAt": 5}}), ("/liveWindow/startsAt", "must be a string")),
        (
            json!({"liveWindow": {"startsAt": noon, "endsAt": noon}}),
            ("/liveWindow/endsAt", "must be after"),
        ),
        (
            json!({"graceWindowSeconds": 31_622_401}),
            ("/graceWindowSeconds", "must be 0 to 31622400"),
        ),
        (json!({"graceWindowSeconds": u64::MAX}), ("/graceWindowSeconds", GRACE)),
        (json!({"graceWindowSeconds": -1}), ("/graceWindowSeconds", GRACE)),
        (json!({"graceWindowSeconds": 0.5}), ("/graceWindowSeconds", GRACE)),
        (json!({"graceWindowSeconds": "60"}), ("/graceWindowSeconds", GRACE)),
    ] {
        site.patch(&format!("/flows/{flow}"), patch).await.faults(&[fault]);
    }
}

#[tokio::test]
async fn an_archived_flow_is_readable_and_read_only() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let response = site.store(&key, &version, json!({})).await;
    site.clock.advance_millis(5);
    for _ in 0..2 {
        assert_eq!(site.delete(&format!("/flows/{flow}")).await.status, 204);
        site.clock.advance_millis(5);
    }
    let archived = site.get(&format!("/flows/{flow}")).await.ok(200);
    assert_eq!(archived["archivedAt"], at(5));
    let versions = site.get(&format!("/flows/{flow}/versions")).await.ok(200);
    assert_eq!(versions["items"][0]["status"], "retired");
    let responses = site.get(&format!("/flows/{flow}/responses")).await.ok(200);
    assert_eq!(responses["items"][0]["responseId"], response);
    for (method, path, body) in [
        ("PATCH", format!("/flows/{flow}"), json!({"name": "x"})),
        ("PUT", format!("/flows/{flow}/draft"), definition("Two")),
        ("POST", format!("/flows/{flow}/publish"), Value::Null),
        ("POST", format!("/flow_versions/{version}/republish"), Value::Null),
        ("POST", format!("/flow_versions/{version}/retire"), Value::Null),
    ] {
        site.call(crate::support::ROOT, method, &path, &body).await.problem(409, "flow_archived");
    }
}

#[tokio::test]
async fn a_draft_is_stored_as_sent_with_its_faults() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}/draft");
    let before = site.get(&path).await.ok(200);
    assert_eq!(before["definition"], definition("One"));
    assert_eq!(before["faults"], json!([]));
    let unfinished =
        json!({"title": "Two", "questions": [{"id": "a", "type": "guess"}], "x": null});
    let saved = site.put(&path, unfinished.clone()).await.ok(200);
    assert_eq!(saved["flowVersionId"], before["flowVersionId"]);
    assert_eq!(saved["definition"], unfinished);
    let faults = saved["faults"].as_array().unwrap();
    assert!(faults.iter().any(|fault| fault["pointer"] == "/questions/0/type"), "{faults:?}");
    assert_eq!(site.get(&path).await.ok(200), saved);
    site.put(&path, json!([])).await.faults(&[("", "must be a JSON object")]);
}
