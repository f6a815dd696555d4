//! The audit log: every change leaves one entry that names its actor.

use serde_json::{Value, json};

use crate::support::{Site, at, definition, text};

#[tokio::test]
async fn every_change_leaves_an_entry_with_its_actor() {
    let site = Site::start().await;
    let made = site.post("/tokens", json!({"name": "Boss", "scopes": ["admin"]})).await.ok(201);
    let (boss, boss_id) = (text(&made["token"]), text(&made["tokenId"]));
    let send = async |method: &str, path: String, body: Value| {
        let reply = site.call(&boss, method, &path, &body).await;
        assert!(reply.status < 300, "{method} {path}: {}", reply.text);
        reply.json
    };
    let app = send("POST", "/apps".into(), json!({"name": "Acme"})).await;
    let (id, key) = (text(&app["appId"]), text(&app["apiKeys"][0]));
    send("PATCH", format!("/apps/{id}"), json!({"name": "New"})).await;
    let new_key = text(&send("POST", format!("/apps/{id}/keys"), Value::Null).await["apiKey"]);
    send("DELETE", format!("/apps/{id}/keys/{new_key}"), Value::Null).await;
    let new = json!({"name": "F", "kind": "survey", "definition": definition("One")});
    let flow = text(&send("POST", format!("/apps/{id}/flows"), new).await["flowId"]);
    send("PATCH", format!("/flows/{flow}"), json!({"graceWindowSeconds": 1})).await;
    let draft = send("PUT", format!("/flows/{flow}/draft"), definition("Two")).await;
    let version = text(&draft["flowVersionId"]);
    send("POST", format!("/flows/{flow}/publish"), Value::Null).await;
    let response = site.store(&key, &version, json!({})).await;
    send("POST", format!("/flow_versions/{version}/republish"), Value::Null).await;
    send("POST", format!("/flow_versions/{version}/retire"), Value::Null).await;
    send("DELETE", format!("/responses/{response}"), Value::Null).await;
    send("DELETE", format!("/flows/{flow}"), Value::Null).await;
    let new = json!({"name": "Mini", "scopes": ["read"], "appId": id});
    let mini = text(&send("POST", "/tokens".into(), new).await["tokenId"]);
    send("DELETE", format!("/tokens/{mini}"), Value::Null).await;

    let log = site.get("/audit").await.ok(200);
    let entries: Vec<&Value> = log["items"].as_array().unwrap().iter().rev().collect();
    let recorded: Vec<(String, String)> =
        entries.iter().map(|entry| (text(&entry["action"]), text(&entry["subject"]))).collect();
    let expected = [
        ("token.created", &boss_id),
        ("app.created", &id),
        ("app.updated", &id),
        ("key.created", &new_key),
        ("key.revoked", &new_key),
        ("flow.created", &flow),
        ("flow.updated", &flow),
        ("draft.saved", &version),
        ("flow.published", &flow),
        ("flow.republished", &flow),
        ("flow_version.retired", &version),
        ("response.deleted", &response),
        ("flow.archived", &flow),
        ("token.created", &mini),
        ("token.revoked", &mini),
    ];
    let expected = expected.map(|(action, subject)| (action.to_owned(), subject.clone()));
    assert_eq!(recorded, expected);
    assert_eq!(entries[0]["actor"], "environment");
    assert!(entries[1..].iter().all(|entry| entry["actor"] == boss_id.as_str()));
    assert!(entries[1..].iter().all(|entry| entry["appId"] == id.as_str()));
    assert!(entries.iter().all(|entry| entry["at"] == at(0)));
    assert_eq!(entries[2]["detail"], json!({"name": "New"}));
    assert_eq!(entries[8]["detail"], json!({"number": 1, "flowVersionId": version}));
    let of_app = site.get(&format!("/audit?appId={id}")).await.ok(200);
    assert_eq!(of_app["items"].as_array().unwrap().len(), entries.len() - 1);
}

#[tokio::test]
async fn a_refused_or_empty_change_leaves_no_entry() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let before = site.get("/audit").await.ok(200);
    site.patch(&format!("/apps/{app}"), json!({"name": ""})).await.problem(422, "invalid");
    site.get(&format!("/flows/{flow}")).await.ok(200);
    let reader = site.call("nobody", "DELETE", &format!("/flows/{flow}"), &Value::Null).await;
    reader.problem(401, "token_invalid");
    assert_eq!(site.get("/audit").await.ok(200), before);
}
