//! Publishing, rollback, retirement, and the state of a version at an instant.

use serde_json::{Value, json};
use sluice_engine::Receipt;
use sluice_flow::time::Timestamp;

use crate::support::{START, Site, at, definition, submission, text};

/// The code with which a submission to the version is refused, or "accepted".
async fn submit_outcome(site: &Site, key: &str, version: &str) -> String {
    match site.submit(key, &submission(version)).await {
        Receipt::Accepted(_) => "accepted".to_owned(),
        Receipt::Refused(issues) => text(&serde_json::to_value(&issues[0]).unwrap()["code"]),
    }
}

/// The statuses of the flow's versions, newest first.
async fn statuses(site: &Site, flow: &str) -> Vec<String> {
    let list = site.get(&format!("/flows/{flow}/versions")).await.ok(200);
    list["items"].as_array().unwrap().iter().map(|item| text(&item["status"])).collect()
}

async fn shown(site: &Site, version: &str) -> Value {
    site.get(&format!("/flow_versions/{version}")).await.ok(200)
}

#[tokio::test]
async fn a_version_is_read_with_its_definition_and_listed_without() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let unfinished = json!({"title": "Two", "later": [1]});
    let draft = site.put(&format!("/flows/{flow}/draft"), unfinished.clone()).await.ok(200);
    let list = site.get(&format!("/flows/{flow}/versions")).await.ok(200);
    let mut expected = list["items"][0].clone();
    assert_eq!(expected["flowVersionId"], version);
    assert!(expected.get("definition").is_none(), "{expected}");
    let whole = shown(&site, &version).await;
    assert_eq!(whole["definition"]["title"], "One");
    expected["definition"] = whole["definition"].clone();
    assert_eq!(whole, expected);
    let draft = text(&draft["flowVersionId"]);
    assert_eq!(
        shown(&site, &draft).await,
        json!({"flowVersionId": draft, "flowId": flow, "number": 0, "status": "draft",
               "publishedAt": null, "supersededAt": null, "graceEndsAt": null, "retiredAt": null,
               "definition": unfinished})
    );
    site.post(&format!("/flow_versions/{version}/retire"), Value::Null).await.ok(200);
    assert_eq!(shown(&site, &version).await["status"], "retired");
}

#[tokio::test]
async fn a_draft_is_published_edited_and_published_again() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let (path, draft_path) = (format!("/flows/{flow}"), format!("/flows/{flow}/draft"));
    let first = text(&site.get(&draft_path).await.ok(200)["flowVersionId"]);
    assert_eq!(submit_outcome(&site, &key, &first).await, "not_open_yet");

    let published = site.post(&format!("{path}/publish"), Value::Null).await.ok(200);
    let mut expected =
        json!({"flowVersionId": first, "number": 1, "publishedAt": at(0), "warnings": []});
    assert_eq!(published, expected, "a draft keeps its id when it is published");
    expected.as_object_mut().unwrap().remove("warnings");
    let shown = site.get(&path).await.ok(200);
    assert_eq!((&shown["draft"], &shown["published"]), (&Value::Null, &expected));
    site.get(&draft_path).await.problem(404, "draft_not_found");
    let nothing = site.post(&format!("{path}/publish"), Value::Null).await;
    nothing.problem(409, "nothing_to_publish");
    assert_eq!(submit_outcome(&site, &key, &first).await, "accepted");

    let second = text(&site.put(&draft_path, definition("Two")).await.ok(200)["flowVersionId"]);
    assert_ne!(first, second, "an edit after a publish opens a new draft");
    assert_eq!(site.get(&path).await.ok(200)["published"], expected);
    assert_eq!(submit_outcome(&site, &key, &second).await, "not_open_yet");
    site.clock.advance_millis(1000);
    assert_eq!(site.publish(&flow).await, second);
    assert_eq!(submit_outcome(&site, &key, &first).await, "accepted");
    assert_eq!(submit_outcome(&site, &key, &second).await, "accepted");

    let list = site.get(&format!("{path}/versions")).await.ok(200);
    let (newest, oldest) = (&list["items"][0], &list["items"][1]);
    assert_eq!(
        *oldest,
        json!({"flowVersionId": first, "flowId": flow, "number": 1, "status": "grace",
               "publishedAt": at(0), "supersededAt": at(1000), "graceEndsAt": at(86_401_000),
               "retiredAt": null})
    );
    assert_eq!(
        *newest,
        json!({"flowVersionId": second, "flowId": flow, "number": 2, "status": "open",
               "publishedAt": at(1000), "supersededAt": null, "graceEndsAt": null,
               "retiredAt": null})
    );
}

#[tokio::test]
async fn a_draft_with_faults_is_not_published_and_every_fault_has_its_pointer() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let wrong = json!({"questions": [
        {"id": "a", "type": "nps", "prompt": "?"},
        {"id": "a", "type": "guess", "prompt": "?"}
    ]});
    let saved = site.put(&format!("/flows/{flow}/draft"), wrong).await.ok(200);
    let problem = site.post(&format!("/flows/{flow}/publish"), Value::Null).await;
    let problem = problem.problem(422, "invalid");
    assert_eq!(problem["errors"], saved["faults"]);
    let pointers: Vec<String> =
        problem["errors"].as_array().unwrap().iter().map(|error| text(&error["pointer"])).collect();
    for pointer in ["/title", "/questions/1/type"] {
        assert!(pointers.iter().any(|found| found == pointer), "{pointer}: {pointers:?}");
    }
    assert_eq!(site.get(&format!("/flows/{flow}")).await.ok(200)["published"], Value::Null);
}

#[tokio::test]
async fn a_rollback_is_a_new_version_with_the_old_definition_and_leaves_the_draft() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let first = site.publish(&flow).await;
    let draft_path = format!("/flows/{flow}/draft");
    site.put(&draft_path, definition("Two")).await.ok(200);
    let second = site.publish(&flow).await;
    let draft = site.put(&draft_path, definition("Three")).await.ok(200);
    site.clock.advance_millis(7);

    let again = site.post(&format!("/flow_versions/{first}/republish"), Value::Null).await.ok(200);
    let third = text(&again["flowVersionId"]);
    assert_eq!(
        again,
        json!({"flowVersionId": third, "number": 3, "publishedAt": at(7), "warnings": []})
    );
    assert!(third != first && third != second);
    assert_eq!(site.get(&draft_path).await.ok(200), draft);
    let list = site.get(&format!("/flows/{flow}/versions")).await.ok(200);
    assert_eq!(shown(&site, &third).await["definition"], shown(&site, &first).await["definition"]);
    assert_eq!(list["items"][1]["supersededAt"], at(7));
    assert_eq!(submit_outcome(&site, &key, &third).await, "accepted");
    let unpublished = text(&draft["flowVersionId"]);
    for verb in ["republish", "retire"] {
        let refused = site.post(&format!("/flow_versions/{unpublished}/{verb}"), Value::Null).await;
        refused.problem(409, "flow_version_not_published");
    }
}

#[tokio::test]
async fn a_retired_version_is_unavailable_at_once() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    site.clock.advance_millis(3);
    let path = format!("/flow_versions/{version}/retire");
    let retired = site.post(&path, Value::Null).await.ok(200);
    assert_eq!((&retired["status"], &retired["retiredAt"]), (&json!("retired"), &json!(at(3))));
    assert_eq!(retired["flowVersionId"], version);
    assert_eq!(submit_outcome(&site, &key, &version).await, "flow_version_not_found");
    site.clock.advance_millis(3);
    assert_eq!(
        site.post(&path, Value::Null).await.ok(200),
        retired,
        "retiring twice must have no effect"
    );
    assert_eq!(site.get(&format!("/flows/{flow}")).await.ok(200)["published"], Value::Null);
    assert_eq!(statuses(&site, &flow).await, ["retired"]);
    let again = site.post(&format!("/flow_versions/{version}/republish"), Value::Null).await;
    assert_eq!(again.ok(200)["number"], 2);
    assert_eq!(statuses(&site, &flow).await, ["open", "retired"]);
}

#[tokio::test]
async fn windows_take_effect_at_once_without_a_publish() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let window = json!({"liveWindow": {"startsAt": at(1000), "endsAt": at(2000)}});
    site.patch(&format!("/flows/{flow}"), window).await.ok(200);
    for (millis, status, verdict) in [
        (0, "scheduled", "not_open_yet"),
        (999, "scheduled", "not_open_yet"),
        (1000, "open", "accepted"),
        (1999, "open", "accepted"),
        (2000, "closed", "no_longer_accepting"),
    ] {
        site.clock.set(Timestamp::from_millis(START + millis));
        assert_eq!(statuses(&site, &flow).await, [status], "at {millis}");
        assert_eq!(submit_outcome(&site, &key, &version).await, verdict, "at {millis}");
    }
    site.patch(&format!("/flows/{flow}"), json!({"liveWindow": {}})).await.ok(200);
    assert_eq!(statuses(&site, &flow).await, ["open"]);
    assert_eq!(submit_outcome(&site, &key, &version).await, "accepted");
}

#[tokio::test]
async fn the_grace_window_is_the_flows_else_the_apps_and_fixed_at_the_publish() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    site.patch(&format!("/apps/{app}"), json!({"graceWindowSeconds": 10})).await.ok(200);
    let mut versions = vec![site.publish(&flow).await];
    for (patch, ends_at) in [
        (json!({}), at(10_000)),
        (json!({"graceWindowSeconds": 5}), at(5000)),
        (json!({"graceWindowSeconds": 0}), at(0)),
    ] {
        site.patch(&format!("/flows/{flow}"), patch).await.ok(200);
        site.put(&format!("/flows/{flow}/draft"), definition("Next")).await.ok(200);
        versions.push(site.publish(&flow).await);
        let list = site.get(&format!("/flows/{flow}/versions")).await.ok(200);
        assert_eq!(list["items"][1]["graceEndsAt"], ends_at);
    }
    // The newest publish, without a grace window, has ended all of them.
    assert_eq!(statuses(&site, &flow).await, ["open", "closed", "closed", "closed"]);
    let list = site.get(&format!("/flows/{flow}/versions")).await.ok(200);
    assert_eq!(list["items"][3]["graceEndsAt"], at(0));
    for version in &versions[..3] {
        assert_eq!(submit_outcome(&site, &key, version).await, "no_longer_accepting");
    }
}

#[tokio::test]
async fn an_unknown_flow_or_version_is_not_found() {
    let site = Site::start().await;
    for flow in ["x", "fl_0000000000000000000000"] {
        for (method, rest, body) in [
            ("GET", "", Value::Null),
            ("PATCH", "", json!({})),
            ("DELETE", "", Value::Null),
            ("GET", "/draft", Value::Null),
            ("PUT", "/draft", json!({})),
            ("POST", "/publish", Value::Null),
            ("GET", "/versions", Value::Null),
            ("GET", "/responses", Value::Null),
        ] {
            let path = format!("/flows/{flow}{rest}");
            let reply = site.call(crate::support::ROOT, method, &path, &body).await;
            reply.problem(404, "flow_not_found");
        }
    }
    for version in ["x", "fv_0000000000000000000000"] {
        let reply = site.get(&format!("/flow_versions/{version}")).await;
        reply.problem(404, "flow_version_not_found");
        for verb in ["retire", "republish"] {
            let reply = site.post(&format!("/flow_versions/{version}/{verb}"), Value::Null).await;
            reply.problem(404, "flow_version_not_found");
        }
    }
}

#[tokio::test]
async fn a_published_version_has_a_schema_and_a_draft_has_none() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let draft = text(&site.get(&format!("/flows/{flow}/draft")).await.ok(200)["flowVersionId"]);
    let path = format!("/flow_versions/{draft}/schema");
    let refused = site.get(&format!("{path}?payload=4")).await;
    assert_eq!(
        (refused.status, text(&refused.json["code"])),
        (409, "flow_version_not_published".into())
    );
    let version = site.publish(&flow).await;
    assert_eq!(version, draft);
    for query in ["", "?payload=3", "?payload=4&x=1"] {
        assert_eq!(site.get(&format!("{path}{query}")).await.status, 422, "{query}");
    }
    let schema = site.get(&format!("{path}?payload=4")).await;
    assert_eq!(schema.headers["content-type"], "application/schema+json");
    assert_eq!(schema.ok(200)["properties"]["flowVersionId"]["const"], version);
    site.post(&format!("/flow_versions/{version}/retire"), Value::Null).await.ok(200);
    assert_eq!(site.get(&format!("{path}?payload=4")).await.status, 200, "retired");
}
