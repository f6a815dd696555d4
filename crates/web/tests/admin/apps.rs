//! Apps and their keys.

use serde_json::{Value, json};

use crate::support::{Site, at, text};

#[tokio::test]
async fn an_app_is_created_with_one_key_and_read_back() {
    let site = Site::start().await;
    let app = site.post("/apps", json!({"name": "Acme"})).await.ok(201);
    let (id, key) = (text(&app["appId"]), text(&app["apiKeys"][0]));
    assert!(id.starts_with("app_") && key.starts_with("pk_") && key.len() == 25);
    let expected = json!({
        "appId": id, "name": "Acme", "apiKeys": [key], "identityVerification": "off",
        "allowedOrigins": [], "graceWindowSeconds": null, "retentionDays": null,
        "tokenLifetimeSeconds": null,
        "hosted": {
            "accentColor": null, "background": null, "font": null, "corners": null,
            "theme": null, "logo": null, "darkLogo": null, "nextText": null, "backText": null,
            "sendText": null, "spamProtection": true
        },
        "limits": {"callsPerSecond": null, "bytesPerDay": null}, "createdAt": at(0)
    });
    assert_eq!(app, expected);
    assert_eq!(site.get(&format!("/apps/{id}")).await.ok(200), expected);
    assert_eq!(site.get("/apps").await.ok(200), json!({"items": [expected], "next": null}));
}

#[tokio::test]
async fn a_patch_changes_only_named_settings_and_null_resets() {
    let site = Site::start().await;
    let (id, _) = site.app().await;
    let path = format!("/apps/{id}");
    let origins = json!(["https://a.example", "http://localhost:3000"]);
    let all = json!({"name": "New", "allowedOrigins": origins, "graceWindowSeconds": 0});
    let app = site.patch(&path, all).await.ok(200);
    assert_eq!(app["name"], "New");
    assert_eq!(app["allowedOrigins"], origins);
    assert_eq!(app["graceWindowSeconds"], 0);
    let app = site.patch(&path, json!({})).await.ok(200);
    assert_eq!((&app["name"], &app["graceWindowSeconds"]), (&json!("New"), &json!(0)));
    let app = site.patch(&path, json!({"graceWindowSeconds": null})).await.ok(200);
    assert_eq!((&app["name"], &app["graceWindowSeconds"]), (&json!("New"), &Value::Null));
    let app = site.patch(&path, json!({"identityVerification": "off"})).await.ok(200);
    assert_eq!(app["identityVerification"], "off");
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_fraction_of_zero_or_an_exponent() {
    let site = Site::start().await;
    let (id, _) = site.app().await;
    let patch: Value = serde_json::from_str(
        r#"{"graceWindowSeconds": 60.0, "retentionDays": 1e2, "tokenLifetimeSeconds": 600.0,
            "limits": {"callsPerSecond": 1e1, "bytesPerDay": 1e9}}"#,
    )
    .unwrap();
    let app = site.patch(&format!("/apps/{id}"), patch).await.ok(200);
    let read = ["graceWindowSeconds", "retentionDays", "tokenLifetimeSeconds"].map(|it| &app[it]);
    assert_eq!(read, [&json!(60), &json!(100), &json!(600)]);
    assert_eq!(app["limits"], json!({"callsPerSecond": 10, "bytesPerDay": 1_000_000_000}));
    let flow = site.flow(&id).await;
    let patch = json!({"graceWindowSeconds": 60.0, "closeAfter": 200.0});
    let flow = site.patch(&format!("/flows/{flow}"), patch).await.ok(200);
    assert_eq!((&flow["graceWindowSeconds"], &flow["closeAfter"]), (&json!(60), &json!(200)));
}

#[tokio::test]
async fn a_wrong_patch_is_refused_with_every_fault_and_changes_nothing() {
    let site = Site::start().await;
    let (id, _) = site.app().await;
    let path = format!("/apps/{id}");
    let whole = "must be a whole number from 0 to 31622400";
    for (patch, faults) in [
        (json!({"name": ""}), [("/name", "must be a text of 1 to 200")]),
        (json!({"name": null}), [("/name", "must be a string, not null")]),
        (json!({"nmae": "x"}), [("/nmae", "is not known here; known are name, identity")]),
        (json!({"appId": "x"}), [("/appId", "is not known here")]),
        (json!({"identityVerification": "on"}), [("/identityVerification", "must be one of off,")]),
        (json!({"allowedOrigins": ["*"]}), [("/allowedOrigins/0", "must be an origin such as")]),
        (json!({"allowedOrigins": "x"}), [("/allowedOrigins", "must be an array, not a string")]),
        (
            json!({"allowedOrigins": ["https://a.example", 5]}),
            [("/allowedOrigins/1", "must be a string")],
        ),
        (json!({"graceWindowSeconds": -1}), [("/graceWindowSeconds", whole)]),
        (json!({"hosted": {"accentColor": "red"}}), [("/hosted/accentColor", "must be a colour")]),
        (
            json!({"hosted": {"logo": "https://x"}}),
            [("/hosted/logo", "must be a picture as data:")],
        ),
        (json!({"hosted": {"color": "red"}}), [("/hosted/color", "is not known here")]),
        (json!({"hosted": {"spamProtection": null}}), [("/hosted/spamProtection", "must be")]),
        (json!({"graceWindowSeconds": 4_294_967_296_u64}), [("/graceWindowSeconds", whole)]),
        (json!({"graceWindowSeconds": 1.5}), [("/graceWindowSeconds", whole)]),
        (
            json!({"graceWindowSeconds": 4_294_967_295_u64}),
            [("/graceWindowSeconds", "must be 0 to 31622400")],
        ),
    ] {
        site.patch(&path, patch).await.faults(&faults);
    }
    let two = json!({"name": 5, "graceWindowSeconds": "x"});
    let faults = [("/graceWindowSeconds", whole), ("/name", "must be a string, not a number")];
    site.patch(&path, two).await.faults(&faults);
    assert_eq!(site.get(&path).await.ok(200)["name"], "Acme");
}

#[tokio::test]
async fn settings_for_retention_and_identity_need_more_than_write() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}");
    for (patch, scopes, allowed) in [
        (json!({"name": "New"}), &["write"][..], true),
        (json!({"retentionDays": 1}), &["write"], false),
        (json!({"retentionDays": null}), &["write"], false),
        (json!({"retentionDays": 1}), &["erase"], false),
        (json!({"retentionDays": 1}), &["write", "erase"], true),
        (json!({"identityVerification": "observe"}), &["write", "erase"], false),
        (json!({"tokenLifetimeSeconds": 60}), &["write"], false),
        (json!({"identityVerification": "observe", "retentionDays": 2}), &["admin"], true),
        (json!({"limits": {"callsPerSecond": 5}}), &["write", "erase"], false),
        (json!({"limits": null}), &["write"], false),
        (json!({"limits": {"callsPerSecond": 5}}), &["admin"], true),
    ] {
        let token = site.token(scopes, None).await;
        let reply = site.call(&token, "PATCH", &path, &patch).await;
        let expected = if allowed { 200 } else { 403 };
        assert_eq!(reply.status, expected, "{patch} with {scopes:?}");
    }
}

#[tokio::test]
async fn an_admin_of_one_app_cannot_set_its_limits() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}");
    let own = site.token(&["admin"], Some(&app)).await;
    for limits in [json!({"callsPerSecond": 5}), json!({"bytesPerDay": 5}), json!({}), Value::Null]
    {
        let reply = site.call(&own, "PATCH", &path, &json!({"limits": limits})).await;
        assert_eq!(reply.status, 403, "{limits}");
    }
    assert_eq!(site.call(&own, "PATCH", &path, &json!({"name": "New"})).await.status, 200);
    let limits = json!({"callsPerSecond": null, "bytesPerDay": null});
    assert_eq!(site.get(&path).await.ok(200)["limits"], limits);
}

#[tokio::test]
async fn limits_of_an_app_are_set_one_by_one_and_null_resets_to_the_servers() {
    let site = Site::start().await;
    let (id, _) = site.app().await;
    let path = format!("/apps/{id}");
    let most = json!({"callsPerSecond": 100_000_000, "bytesPerDay": 1_125_899_906_842_624_u64});
    for (patch, limits) in [
        (json!({"callsPerSecond": 100}), json!({"callsPerSecond": 100, "bytesPerDay": null})),
        (json!({"bytesPerDay": 1}), json!({"callsPerSecond": 100, "bytesPerDay": 1})),
        (json!({"callsPerSecond": null}), json!({"callsPerSecond": null, "bytesPerDay": 1})),
        (most.clone(), most),
        (Value::Null, json!({"callsPerSecond": null, "bytesPerDay": null})),
    ] {
        let app = site.patch(&path, json!({"limits": patch})).await.ok(200);
        assert_eq!(app["limits"], limits, "{patch}");
        assert_eq!(site.get(&path).await.ok(200)["limits"], limits, "{patch}");
    }
    for wrong in [
        json!({"callsPerSecond": 0, "bytesPerDay": 0}),
        json!({"callsPerSecond": 100_000_001, "bytesPerDay": 1_125_899_906_842_625_u64}),
    ] {
        site.patch(&path, json!({"limits": wrong})).await.faults(&[
            ("/limits/callsPerSecond", "must be 1 to 100000000 calls a second"),
            ("/limits/bytesPerDay", "must be 1 to 1125899906842624 bytes a day"),
        ]);
    }
}

#[tokio::test]
async fn a_new_app_needs_a_name_and_nothing_else() {
    let site = Site::start().await;
    let long = "x".repeat(201);
    for (body, fault) in [
        (json!({}), ("/name", "is required")),
        (json!({"name": "  "}), ("/name", "must be a text of 1 to 200")),
        (json!({"name": long}), ("/name", "must be a text of 1 to 200")),
        (json!({"name": "x", "appId": "app_1"}), ("/appId", "is not known here; known are name")),
        (json!(["x"]), ("", "must be an object, not an array")),
    ] {
        site.post("/apps", body).await.faults(&[fault]);
    }
    site.post("/apps", json!({"name": "x".repeat(200)})).await.ok(201);
}

#[tokio::test]
async fn keys_are_rotated_and_a_revoked_one_is_gone() {
    let site = Site::start().await;
    let (app, old) = site.app().await;
    site.clock.advance_millis(1);
    let made = site.post(&format!("/apps/{app}/keys"), Value::Null).await.ok(201);
    let new = text(&made["apiKey"]);
    assert_eq!(made, json!({"apiKey": new}));
    let keys = async || site.get(&format!("/apps/{app}")).await.ok(200)["apiKeys"].clone();
    assert_eq!(keys().await, json!([old, new]));
    for _ in 0..2 {
        let gone = site.delete(&format!("/apps/{app}/keys/{old}")).await;
        assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    }
    assert_eq!(keys().await, json!([new]));
    assert!(site.engine.app_by_key(&old).await.unwrap().is_none());
    assert!(site.engine.app_by_key(&new).await.unwrap().is_some());
}

#[tokio::test]
async fn an_unknown_or_malformed_id_is_not_found() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let (other, _) = site.app().await;
    let unknown = "app_0000000000000000000000";
    for (path, code) in [
        (format!("/apps/{unknown}"), "app_not_found"),
        ("/apps/x".to_owned(), "app_not_found"),
        ("/apps/%FF".to_owned(), "app_not_found"),
        ("/apps/fl_0000000000000000000000".to_owned(), "app_not_found"),
        (format!("/apps/{unknown}/flows"), "app_not_found"),
    ] {
        site.get(&path).await.problem(404, code);
    }
    site.patch(&format!("/apps/{unknown}"), json!({})).await.problem(404, "app_not_found");
    for key in ["x", "pk_0000000000000000000000"] {
        let gone = site.delete(&format!("/apps/{app}/keys/{key}")).await;
        gone.problem(404, "api_key_not_found");
    }
    let elsewhere = site.delete(&format!("/apps/{other}/keys/{key}")).await;
    elsewhere.problem(404, "api_key_not_found");
}

#[tokio::test]
async fn absent_branding_settings_stay_and_null_resets() {
    let site = Site::start().await;
    let (id, _) = site.app().await;
    let path = format!("/apps/{id}");
    let svg = "data:image/svg+xml;base64,PHN2Zy8+";
    let of = |color: Value, logo: Value, spam: bool| {
        json!({
            "accentColor": color, "background": null, "font": null, "corners": null,
            "theme": null, "logo": logo, "darkLogo": null, "nextText": null, "backText": null,
            "sendText": null, "spamProtection": spam
        })
    };
    for (patch, hosted) in [
        (json!({"accentColor": "#FC0"}), of(json!("#ffcc00"), Value::Null, true)),
        (json!({"background": "none"}), of(json!("#ffcc00"), Value::Null, true)),
        (json!({"logo": svg, "spamProtection": false}), of(json!("#ffcc00"), json!(svg), false)),
        (json!({"accentColor": null}), of(Value::Null, json!(svg), false)),
        (json!({}), of(Value::Null, json!(svg), false)),
        (Value::Null, of(Value::Null, Value::Null, true)),
    ] {
        let app = site.patch(&path, json!({"hosted": patch})).await.ok(200);
        assert_eq!(app["hosted"], hosted, "{patch}");
        assert_eq!(site.get(&path).await.ok(200)["hosted"], hosted);
    }
    let trail = site.get("/audit").await.ok(200).to_string();
    assert!(trail.contains("image/svg+xml, 6 bytes") && !trail.contains("PHN2Zy8"), "{trail}");
}
