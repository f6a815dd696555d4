//! Invitations over HTTP: one, a file of them, listed and counted by state, revoked.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_web::admin;

use crate::support::{ROOT, Reply, Site, at, text};

/// A site with a published flow: the site, the key, the flow, the version.
async fn shop() -> (Site, String, String, String) {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    (site, key, flow, version)
}

async fn send_file(site: &Site, flow: &str, query: &str, file: &str, accept: &str) -> Reply {
    let request = Request::post(format!("{}/flows/{flow}/invitations{query}", admin::BASE))
        .header("authorization", format!("Bearer {ROOT}"))
        .header("content-type", "text/csv; charset=utf-8")
        .header("accept", accept);
    site.raw(request.body(Body::from(file.to_owned())).unwrap()).await
}

async fn counts(site: &Site, flow: &str) -> Value {
    site.get(&format!("/flows/{flow}/invitations?limit=1")).await.ok(200)["counts"].take()
}

#[tokio::test]
async fn an_invitation_is_created_with_its_personal_link_and_read_back() {
    let (site, key, flow, version) = shop().await;
    let path = format!("/flows/{flow}/invitations");
    let identities = json!([
        {"type": "userId", "value": "7"}, {"type": "traits.email", "value": "Ada@mail.example"}
    ]);
    let new = json!({"identities": identities, "expiresAt": at(1_000)});
    let made = site.post(&path, new.clone()).await.ok(201);
    let id = text(&made["flowAssignmentId"]);
    assert!(id.starts_with("fa_") && id.len() == 25, "{id}");
    let expected = json!({
        "flowAssignmentId": id, "flowId": flow, "identities": identities, "state": "sent",
        "link": format!("https://ask.example/f/{flow}?flowAssignmentId={id}"),
        "createdAt": at(0), "expiresAt": at(1_000), "openedAt": null, "completedAt": null,
        "revokedAt": null, "responseId": null, "email": null
    });
    assert_eq!(made, expected);
    assert_eq!(site.get(&format!("/invitations/{id}")).await.ok(200), expected);
    site.post(&path, new).await.faults(&[("/identities", "has an open invitation")]);

    let more = json!({"respondentAnalyticsAdmission": "admitted", "flowAssignmentId": id});
    let response = site.store(&key, &version, more).await;
    let used = site.get(&format!("/invitations/{id}")).await.ok(200);
    assert_eq!((&used["state"], &used["responseId"]), (&json!("completed"), &json!(response)));
    site.delete(&format!("/invitations/{id}")).await.problem(409, "invitation_used");
}

#[tokio::test]
async fn a_wrong_invitation_is_refused_with_every_fault() {
    let (site, _, flow, _) = shop().await;
    let path = format!("/flows/{flow}/invitations");
    for (body, faults) in [
        (json!({"identities": []}), vec![("/identities", "must have a userId")]),
        (json!({}), vec![("/identities", "is required")]),
        (
            json!({"identities": [{"type": "traits.plan", "value": "x"}], "expiresAt": at(1)}),
            vec![("/identities/0/type", "must be \"userId\" or \"traits.email\"")],
        ),
        (
            json!({"identities": [{"type": "traits.email", "value": "nobody"}], "expiresAt": at(0)}),
            vec![
                ("/identities", "the traits.email must be an e-mail address"),
                ("/expiresAt", "must be in the future"),
            ],
        ),
        (
            json!({"identities": [{"type": "userId", "value": "7"}], "expires": at(1)}),
            vec![("/expires", "is not known here")],
        ),
    ] {
        site.post(&path, body).await.faults(&faults);
    }
    assert_eq!(counts(&site, &flow).await["sent"], 0);
    site.delete(&format!("/flows/{flow}")).await;
    let new = json!({"identities": [{"type": "userId", "value": "7"}]});
    site.post(&path, new).await.problem(409, "flow_archived");
}

#[tokio::test]
async fn a_file_is_imported_completely_or_not_at_all() {
    let (site, _, flow, _) = shop().await;
    let file = "email,userId\nada@mail.example,1\nnobody,2\n,\nADA@mail.example,3\n";
    send_file(&site, &flow, "", file, "*/*").await.faults(&[
        ("/3/email", "must be an e-mail address"),
        ("/4", "must have a userId"),
        ("/5", "is invited on an earlier line"),
    ]);
    send_file(&site, &flow, "", "mail\na@b.example\n", "*/*")
        .await
        .faults(&[("/1/1", "is not known")]);
    assert_eq!(counts(&site, &flow).await["sent"], 0);

    let file = "email,userId\nada@mail.example,1\n\"bob, jr\"@mail.example,2\n";
    let file = file.replace("\"bob, jr\"", "bob");
    let checked = send_file(&site, &flow, "?checkOnly=true", &file, "text/csv").await;
    assert_eq!(checked.ok(200), json!({"created": 2, "skipped": 0}));
    assert_eq!(counts(&site, &flow).await["sent"], 0, "a check must create nothing");
    let made = send_file(&site, &flow, "", &file, "text/csv").await;
    assert_eq!(made.status, 201);
    assert_eq!(made.headers["content-type"], "text/csv; charset=utf-8");
    let lines: Vec<&str> = made.text.lines().collect();
    assert_eq!(lines[0], "userId,email,expiresAt,flowAssignmentId,link");
    assert!(lines[1].starts_with("1,ada@mail.example,,fa_"), "{}", lines[1]);
    assert!(lines[2].starts_with("2,bob@mail.example,,fa_"), "{}", lines[2]);
    let id = lines[2].split(',').nth(3).unwrap();
    assert!(lines[2].ends_with(&format!("https://ask.example/f/{flow}?flowAssignmentId={id}")));

    let more = "userId\n1\n4\n";
    send_file(&site, &flow, "", more, "*/*").await.faults(&[("/2", "has an open invitation")]);
    let skipped = send_file(&site, &flow, "?duplicates=skip", more, "*/*").await;
    assert_eq!(skipped.ok(201), json!({"created": 1, "skipped": 1}));
    let allowed = send_file(&site, &flow, "?duplicates=allow", more, "*/*").await;
    assert_eq!(allowed.ok(201), json!({"created": 2, "skipped": 0}));
    assert_eq!(counts(&site, &flow).await["sent"], 5);
    // One person as JSON who is left out: nothing was created.
    let ada = json!({"identities": [{"type": "traits.email", "value": "ada@mail.example"}]});
    let skipped = site.post(&format!("/flows/{flow}/invitations?duplicates=skip"), ada).await;
    assert_eq!(skipped.ok(200), json!({"created": 0, "skipped": 1}));
}

#[tokio::test]
async fn a_long_file_is_accepted_and_a_longer_one_refused() {
    const PEOPLE: usize = 3_000;
    let (site, _, flow, _) = shop().await;
    let mut file = "userId\n".to_owned();
    (0..PEOPLE).for_each(|number| file.push_str(&format!("user {number}\n")));
    let made = send_file(&site, &flow, "", &file, "*/*").await;
    assert_eq!(made.ok(201)["created"], PEOPLE);
    assert_eq!(counts(&site, &flow).await["sent"], PEOPLE);
    let long = "x".repeat(16 * 1024 * 1024 + 1);
    let refused = send_file(&site, &flow, "", &long, "*/*").await.problem(413, "payload_too_large");
    assert!(text(&refused["detail"]).contains("16777216"), "{refused}");
}

#[tokio::test]
async fn invitations_are_listed_by_state_page_by_page_and_counted() {
    let (site, key, flow, version) = shop().await;
    let file = format!("userId,expiresAt\n1,\n2,\n3,{0}\n4,\n5,{0}\n", at(1_000));
    let made = send_file(&site, &flow, "", &file, "text/csv").await;
    let ids: Vec<String> =
        made.text.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().to_owned()).collect();
    site.store(&key, &version, json!({"flowAssignmentId": ids[0]})).await;
    assert_eq!(site.delete(&format!("/invitations/{}", ids[1])).await.status, 204);
    assert_eq!(site.delete(&format!("/invitations/{}", ids[1])).await.status, 204);
    let page = site.engine.links().flow(&flow).await.unwrap().unwrap();
    page.mark_opened(&ids[3]).await.unwrap();
    site.store(&key, &version, json!({"flowAssignmentId": ids[4]})).await;
    let expected = json!({"sent": 1, "opened": 1, "completed": 2, "expired": 0, "revoked": 1});
    assert_eq!(counts(&site, &flow).await, expected);
    site.clock.advance_millis(1_000);
    let expected = json!({"sent": 0, "opened": 1, "completed": 2, "expired": 1, "revoked": 1});
    assert_eq!(counts(&site, &flow).await, expected);
    for (state, of) in [
        ("sent", vec![]),
        ("opened", vec![3]),
        ("completed", vec![0, 4]),
        ("expired", vec![2]),
        ("revoked", vec![1]),
    ] {
        let path = format!("/flows/{flow}/invitations?state={state}");
        let list = site.get(&path).await.ok(200);
        let items = list["items"].as_array().unwrap();
        let found: Vec<String> = items.iter().map(|it| text(&it["flowAssignmentId"])).collect();
        assert_eq!(found, of.iter().map(|&it| ids[it].clone()).collect::<Vec<_>>(), "{state}");
        assert!(items.iter().all(|item| item["state"] == state));
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("/flows/{flow}/invitations?limit=2{after}")).await.ok(200);
        assert_eq!(page["counts"].is_object(), after.is_empty(), "counted on the first page");
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|it| text(&it["flowAssignmentId"])),
        );
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ids);
    site.get(&format!("/flows/{flow}/invitations?state=open&after=x"))
        .await
        .faults(&[("/after", "must be the value of \"next\""), ("/state", "must be one of")]);
    for id in ["x", "fa_0000000000000000000000"] {
        site.get(&format!("/invitations/{id}")).await.problem(404, "invitation_not_found");
        site.delete(&format!("/invitations/{id}")).await.problem(404, "invitation_not_found");
    }
}

/// No entry of the audit log names an invitee.
#[tokio::test]
async fn the_audit_log_has_counts_but_no_names() {
    let (site, _, flow, _) = shop().await;
    let made = send_file(&site, &flow, "", "email\ncanary@mail.example\n", "text/csv").await;
    let id = made.text.lines().nth(1).unwrap().split(',').nth(3).unwrap().to_owned();
    site.delete(&format!("/invitations/{id}")).await;
    let audit = site.get("/audit").await.ok(200);
    let entry = |index: usize| {
        (text(&audit["items"][index]["action"]), text(&audit["items"][index]["subject"]))
    };
    assert_eq!(entry(0), ("invitation.revoked".to_owned(), id));
    assert_eq!(entry(1), ("invitations.created".to_owned(), flow));
    assert_eq!(audit["items"][1]["detail"], json!({"count": 1}));
    assert!(!audit.to_string().contains("canary"), "{audit}");
}

#[tokio::test]
async fn a_link_is_shown_only_to_tokens_that_may_answer_for_people() {
    let (site, key, flow, version) = shop().await;
    let list = format!("/flows/{flow}/invitations");
    let mut ids = Vec::new();
    for user in ["7", "8", "9"] {
        let new = json!({"identities": [{"type": "userId", "value": user}]});
        ids.push(text(&site.post(&list, new).await.ok(201)["flowAssignmentId"]));
    }
    let more = json!({"respondentAnalyticsAdmission": "admitted", "flowAssignmentId": ids[0]});
    site.store(&key, &version, more).await;
    let app = text(&site.get(&format!("/flows/{flow}")).await.ok(200)["appId"]);
    let person = format!("/respondents/export?appId={app}&type=userId&value=8");
    for (scopes, may) in [
        (&["read"][..], false),
        (&["read", "export", "erase"], false),
        (&["write"], true),
        (&["write", "export"], true),
        (&["admin"], true),
    ] {
        let token = site.token(scopes, Some(&app)).await;
        let call = async |path: &str| site.call(&token, "GET", path, &Value::Null).await;
        let mut pages = String::new();
        let mut next = Some(list.clone() + "?limit=1");
        while let Some(path) = next.take() {
            let page = call(&path).await;
            pages.push_str(&page.text);
            let page = page.ok(200);
            let cursor = page["next"].as_str();
            next = cursor.map(|cursor| format!("{list}?limit=1&after={cursor}"));
        }
        pages.push_str(&call(&format!("/invitations/{}", ids[1])).await.text);
        if scopes.contains(&"export") {
            pages.push_str(&call(&person).await.text);
        }
        assert!(pages.contains(&ids[0]), "a used link may be shown: {scopes:?}");
        for id in &ids[1..] {
            assert_eq!(pages.contains(id.as_str()), may, "{scopes:?}: {pages}");
        }
        for user in ["7", "8", "9"] {
            assert!(pages.contains(&format!("{{\"type\":\"userId\",\"value\":\"{user}\"}}")));
        }
    }
}
