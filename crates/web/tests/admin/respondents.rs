//! Respondents over HTTP: found, shown, exported, erased; and retention as a setting of an app.

use serde_json::{Value, json};

use crate::support::{Site, at, text};

fn admitted(identities: Value) -> Value {
    json!({"respondentAnalyticsAdmission": "admitted", "identities": identities})
}

fn ann() -> Value {
    json!([{"type": "userId", "value": "u-1"}, {"type": "traits.email", "value": "Ann@mail.example"}])
}

#[tokio::test]
async fn a_respondent_is_found_shown_and_exported_with_everything() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let first = site.store(&key, &version, admitted(ann())).await;
    site.clock.advance_millis(10);
    let second = site.store(&key, &version, admitted(json!([ann()[0]]))).await;
    site.store(&key, &version, json!({"identities": ann()})).await;
    let id = text(&site.get(&format!("/responses/{first}")).await.ok(200)["respondentId"]);

    let respondent = json!({
        "respondentId": id, "appId": app, "firstSeenAt": at(0), "lastSeenAt": at(10), "erasing": false,
        "identities": [
            {"type": "userId", "value": "u-1"}, {"type": "traits.email", "value": "ann@mail.example"}
        ],
    });
    for query in ["", "&type=userId&value=u-1", "&type=traits.email&value=ANN@mail.example"] {
        let list = site.get(&format!("/respondents?appId={app}{query}")).await.ok(200);
        assert_eq!(list, json!({"items": [respondent], "next": null}), "{query}");
    }
    let nobody = format!("/respondents?appId={app}&type=userId&value=U-1");
    assert_eq!(site.get(&nobody).await.ok(200)["items"], json!([]));

    let consent = |response: &str, millis| json!({"responseId": response, "flowId": flow, "flowVersionId": version, "givenAt": at(millis)});
    let consents = json!([consent(&first, 0), consent(&second, 10)]);
    let mut profile = respondent.clone();
    profile["flows"] = json!([{"flowId": flow, "responses": 2}]);
    profile["consents"] = consents.clone();
    let path = format!("/respondents/{id}");
    assert_eq!(site.get(&path).await.ok(200), profile);

    let whole = [&first, &second];
    let mut rows = Vec::new();
    for response in whole {
        rows.push(site.get(&format!("/responses/{response}")).await.ok(200));
    }
    let page = site.get(&format!("{path}/responses?limit=1")).await.ok(200);
    assert_eq!(page, json!({"items": [rows[0]], "next": first}));
    let page = site.get(&format!("{path}/responses?after={first}")).await.ok(200);
    assert_eq!(page, json!({"items": [rows[1]], "next": null}));
    let invited = site
        .post(&format!("/flows/{flow}/invitations"), json!({"identities": [ann()[1]]}))
        .await
        .ok(201);
    let whole = json!({
        "respondent": respondent, "consents": consents, "responses": rows, "invitations": [invited],
    });
    let by_value = format!("/respondents/export?appId={app}&type=userId&value=u-1");
    for path in [format!("{path}/export"), by_value] {
        assert_eq!(site.get(&path).await.ok(200), whole, "{path}");
    }
}

#[tokio::test]
async fn an_erasure_must_specify_what_happens_to_the_answers() {
    for (answers, kept) in [("keep", true), ("delete", false)] {
        let site = Site::start().await;
        let (app, key) = site.app().await;
        let flow = site.flow(&app).await;
        let version = site.publish(&flow).await;
        let response = site.store(&key, &version, admitted(ann())).await;
        let shown = site.get(&format!("/responses/{response}")).await.ok(200);
        let path = format!("/respondents/{}", text(&shown["respondentId"]));
        let message = "is required: answers=keep keeps";
        for query in ["", "?answers=", "?answers=all"] {
            site.delete(&format!("{path}{query}")).await.faults(&[("/answers", message)]);
        }
        assert_eq!(site.get(&path).await.status, 200, "nothing may be erased");
        let erased = site.delete(&format!("{path}?answers={answers}")).await.ok(200);
        let expected =
            json!({"respondentId": shown["respondentId"], "responses": 1, "invitations": 0});
        assert_eq!(erased, expected);
        site.get(&path).await.problem(404, "respondent_not_found");
        site.delete(&format!("{path}?answers=keep")).await.problem(404, "respondent_not_found");
        let left = site.get(&format!("/responses/{response}")).await;
        if kept {
            let mut expected = shown.clone();
            (expected["identities"], expected["respondentId"]) = (json!([]), Value::Null);
            assert_eq!(left.ok(200), expected);
        } else {
            left.problem(404, "response_not_found");
        }
        let log = site.get("/audit").await.ok(200).to_string();
        assert!(log.contains("respondent.erased") && !log.contains("u-1"), "{log}");
    }
}

#[tokio::test]
async fn an_invitee_without_a_profile_is_exported_and_erased_by_address() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let invited = site
        .post(&format!("/flows/{flow}/invitations"), json!({"identities": [ann()[1]]}))
        .await
        .ok(201);
    let id = text(&invited["flowAssignmentId"]);
    let mut sent = admitted(json!([]));
    sent["flowAssignmentId"] = json!(id);
    let response = site.store(&key, &version, sent).await;
    let invited = site.get(&format!("/invitations/{id}")).await.ok(200);
    let given = site.get(&format!("/responses/{response}")).await.ok(200);
    let who = format!("appId={app}&type=traits.email&value=ANN@mail.example");
    let export = site.get(&format!("/respondents/export?{who}")).await.ok(200);
    let expected = json!({
        "respondent": null, "consents": [], "responses": [given], "invitations": [invited],
    });
    assert_eq!(export, expected);
    let message = "is required: answers=keep keeps";
    site.delete(&format!("/respondents?{who}")).await.faults(&[("/answers", message)]);
    let erase = format!("/respondents?{who}&answers=delete");
    let erased = site.delete(&erase).await.ok(200);
    assert_eq!(erased, json!({"respondentId": null, "responses": 1, "invitations": 1}));
    site.get(&format!("/responses/{response}")).await.problem(404, "response_not_found");
    assert_eq!(site.get(&format!("/invitations/{id}")).await.ok(200)["identities"], json!([]));
    site.delete(&erase).await.problem(404, "respondent_not_found");
    site.get(&format!("/respondents/export?{who}")).await.problem(404, "respondent_not_found");
    let nowhere = "/respondents?appId=app_0000000000000000000000&type=userId&value=u&answers=keep";
    site.delete(nowhere).await.problem(404, "app_not_found");
}

#[tokio::test]
async fn a_search_needs_a_type_and_a_value() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let list = |query: &str| format!("/respondents?appId={app}{query}");
    let together = "is required: type and value go together";
    site.get(&list("&type=userId")).await.faults(&[("/value", together)]);
    site.get(&list("&value=u-1")).await.faults(&[("/type", together)]);
    assert_eq!(site.get(&list("&type=plan&value=x")).await.status, 422);
    assert_eq!(site.get("/respondents").await.status, 422);
    let unknown = "/respondents?appId=app_0000000000000000000000";
    site.get(unknown).await.problem(404, "app_not_found");
}

#[tokio::test]
async fn retention_is_a_setting_of_the_app() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}");
    let changed = site.patch(&path, json!({"retentionDays": 30})).await.ok(200);
    assert_eq!(changed["retentionDays"], 30);
    assert_eq!(site.patch(&path, json!({"name": "x"})).await.ok(200)["retentionDays"], 30);
    for days in [json!(0), json!(36_526)] {
        let fault =
            [("/retentionDays", "must be 1 to 36525 days, or null to keep responses permanently")];
        site.patch(&path, json!({"retentionDays": days})).await.faults(&fault);
    }
    assert_eq!(site.patch(&path, json!({"retentionDays": "x"})).await.status, 422);
    let changed = site.patch(&path, json!({"retentionDays": null})).await.ok(200);
    assert_eq!(changed["retentionDays"], Value::Null);
}
