//! The settings pages: what they show, what they change, and secrets that are shown once.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_engine::people::NewUser;
use sluice_engine::rows::{IdentityVerification, Page, Role, Scope};
use sluice_engine::verify::{IdClaims, Presented};
use sluice_engine::{Duplicates, NewInvitation};
use sluice_web::admin;

use crate::shop::tokens::Signer;
use crate::support::{ORIGIN, PASSWORD, ROOT, START, Site, actor, definition};

#[tokio::test]
async fn every_page_of_settings_is_shown_to_an_owner() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(None, Role::Owner).await;
    for part in ["", "/keys", "/identity", "/respondents", "/people", "/audit"] {
        owner.get(&format!("/console/apps/{app}/settings{part}")).await.ok();
    }
    for part in ["apps", "users", "tokens", "audit", "account"] {
        owner.get(&format!("/console/settings/{part}")).await.ok();
    }
    assert_eq!(owner.get("/console/settings").await.to(), "/console/settings/apps");
}

#[tokio::test]
async fn an_app_is_set_up_and_faults_keep_what_was_typed() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let path = format!("/console/apps/{app}/settings");
    let form = [
        ("name", "Web shop"),
        ("graceWindowSeconds", "3600"),
        ("retentionDays", "90"),
        ("allowedOrigins", "https://a.example\r\nhttps://b.example"),
    ];
    assert_eq!(owner.post(&path, &form).await.to(), format!("{path}?done=saved"));
    let row = site.engine.get_app(&actor(), app).await.unwrap().row;
    assert_eq!((row.name.as_str(), row.grace_window_seconds), ("Web shop", Some(3600)));
    assert_eq!(row.retention_days, Some(90));
    assert_eq!(row.allowed_origins, ["https://a.example", "https://b.example"]);
    assert_eq!(row.hosted.as_deref(), Some(r#"{"spamProtection":false}"#));
    let shown = owner.get(&format!("{path}?done=saved")).await.ok();
    assert!(shown.contains("Saved.") && shown.contains("value=\"Web shop\""));
    // An hour is shown as such, and amounts have units.
    assert!(shown.contains("value=\"1\"") && shown.contains("value=\"hours\" selected"), "{shown}");
    let two_days = [("name", "Web shop"), ("graceWindowSeconds", "2"), ("graceUnit", "days")];
    owner.post(&path, &two_days).await.to();
    let row = site.engine.get_app(&actor(), app).await.unwrap().row;
    assert_eq!(row.grace_window_seconds, Some(172_800));
    let wrong = [("name", "Kept"), ("graceWindowSeconds", "soon"), ("allowedOrigins", "b.example")];
    let refused = owner.post(&path, &wrong).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("value=\"Kept\"") && refused.text.contains("value=\"soon\""));
    assert!(refused.text.contains("href=\"#graceWindowSeconds\""), "{}", refused.text);
    let wrong = [("name", "Web shop"), ("allowedOrigins", "b.example")];
    let refused = owner.post(&path, &wrong).await;
    assert!(refused.text.contains("href=\"#allowedOrigins\""), "{}", refused.text);
    assert_eq!(site.engine.get_app(&actor(), app).await.unwrap().row.name, "Web shop");
}

#[tokio::test]
async fn the_audit_log_names_the_flow_and_links_to_it() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, _) = site
        .flow(app, json!({"title": "Lunch & more", "description": "Hello", "questions": []}))
        .await;
    site.engine.put_draft(&actor(), flow, definition("More")).await.unwrap();
    let named = format!("<a href=\"/console/flows/{flow}\">“Lunch &amp; more”</a>");
    let (root, owner) = (site.root().await, site.signed_in(Some(app), Role::Owner).await);
    for (browser, path) in [
        (&owner, format!("/console/apps/{app}/settings/audit")),
        (&root, "/console/settings/audit".to_owned()),
    ] {
        let log = browser.get(&path).await.ok();
        for before in ["published version 1 of ", "edited the draft of ", "created the flow "] {
            assert!(log.contains(&format!("{before}{named}")), "{before}: {log}");
        }
    }
}

#[tokio::test]
async fn an_editor_changes_the_name_but_not_the_retention() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    let path = format!("/console/apps/{app}/settings");
    let shown = editor.get(&path).await.ok();
    assert!(!shown.contains("name=\"retentionDays\""));
    let form = [("name", "Web shop"), ("spamProtection", "yes")];
    assert_eq!(editor.post(&path, &form).await.status, 303);
    let form = [("name", "Web shop"), ("spamProtection", "yes"), ("retentionDays", "1")];
    assert_eq!(editor.post(&path, &form).await.status, 403);
    assert_eq!(site.engine.get_app(&actor(), app).await.unwrap().row.retention_days, None);
}

#[tokio::test]
async fn an_owner_of_one_app_reads_its_limits_and_an_admin_of_the_server_sets_them() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let path = format!("/console/apps/{app}/settings");
    let admin = site.signed_in(None, Role::Owner).await;
    assert!(admin.get(&path).await.ok().contains("name=\"callsPerSecond\""));
    let form = [("spamProtection", "yes"), ("callsPerSecond", "7")];
    assert_eq!(admin.post(&path, &form).await.status, 303);
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let shown = owner.get(&path).await.ok();
    assert!(!shown.contains("name=\"callsPerSecond\"") && !shown.contains("name=\"bytesPerDay\""));
    assert!(shown.contains("Calls per second: 7."), "{shown}");
    let form = [("spamProtection", "yes"), ("callsPerSecond", "8")];
    assert_eq!(owner.post(&path, &form).await.status, 403);
    assert_eq!(
        owner.post(&path, &[("name", "Web shop"), ("spamProtection", "yes")]).await.status,
        303
    );
    let limits = site.engine.get_app(&actor(), app).await.unwrap().row.limits;
    assert_eq!(limits.calls_per_second, Some(7));
}

#[tokio::test]
async fn keys_are_created_and_revoked() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let path = format!("/console/apps/{app}/settings/keys");
    assert_eq!(owner.post(&path, &[]).await.status, 303);
    let keys = site.engine.get_app(&actor(), app).await.unwrap().api_keys;
    assert_eq!(keys.len(), 2);
    let shown = owner.get(&path).await.ok();
    assert!(keys.iter().all(|key| shown.contains(key.as_str())));
    owner.post(&format!("{path}/{}/revoke", keys[0]), &[]).await.to();
    let left = site.engine.get_app(&actor(), app).await.unwrap().api_keys;
    assert_eq!(left, [keys[1].clone()]);
}

#[tokio::test]
async fn verification_is_set_up_with_a_secret_that_is_shown_once() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let path = format!("/console/apps/{app}/settings/identity");
    let early = owner.post(&path, &[("mode", "enforce")]).await;
    assert_eq!(early.status, 422, "without a key every request would be refused");
    let made = owner.post(&format!("{path}/keys"), &[("type", "hs256")]).await.ok();
    let secret = made.split("id=\"secret\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
    assert!(secret.len() > 20, "{secret}");
    assert!(!owner.get(&path).await.ok().contains(&secret));
    owner.post(&path, &[("mode", "enforce")]).await.to();
    let row = site.engine.get_app(&actor(), app).await.unwrap().row;
    assert_eq!(row.identity_verification, IdentityVerification::Enforce);
    let wrong = owner.post(&format!("{path}/keys"), &[("type", "jwks"), ("url", "ftp://x")]).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("value=\"ftp://x\""));
    let keys = site.engine.list_identity_keys(&actor(), app).await.unwrap();
    owner.post(&format!("{path}/revoke"), &[("kid", &keys[0].kid)]).await.to();
    let keys = site.engine.list_identity_keys(&actor(), app).await.unwrap();
    assert!(keys.iter().all(|key| key.revoked_at.is_some()));
}

#[tokio::test]
async fn a_respondent_is_found_exported_and_erased_after_a_confirmation() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (_, version) = site.flow(app, definition("Feedback")).await;
    let admitted = json!({
        "respondentAnalyticsAdmission": "admitted", "answers": {"why": "Because."},
        "identities": [{"type": "userId", "value": "7"}, {"type": "traits.email", "value": "ann@mail.example"}]
    });
    let response = site.respond(app, version, admitted).await;
    let id = site.engine.get_response(&actor(), response).await.unwrap().respondent_id.unwrap();
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let path = format!("/console/apps/{app}/settings/respondents");
    for find in ["", "?find=7", "?find=ANN@mail.example"] {
        assert!(owner.get(&format!("{path}{find}")).await.ok().contains(&id.to_string()), "{find}");
    }
    assert!(owner.get(&format!("{path}?find=8")).await.ok().contains("No respondent found"));
    let one = format!("{path}/{id}");
    assert!(owner.get(&one).await.ok().contains("ann@mail.example"));
    let file = owner.post(&format!("{one}/export"), &[]).await;
    let kept = format!("attachment; filename=\"{id}.json\"");
    assert_eq!(file.headers["content-disposition"], kept.as_str());
    let whole: Value = serde_json::from_str(&file.ok()).unwrap();
    assert_eq!(whole["responses"][0]["answers"], json!({"why": "Because."}));
    assert_eq!(whole["respondent"]["identities"][0]["value"], "7");
    let unsure = owner.post(&format!("{one}/erase"), &[("answers", "delete")]).await;
    assert_eq!(unsure.status, 422);
    let form = [("answers", "delete"), ("sure", "yes")];
    assert_eq!(
        owner.post(&format!("{one}/erase"), &form).await.to(),
        format!("{path}?done=erased")
    );
    assert_eq!(owner.get(&one).await.status, 404);
    assert!(owner.get(&path).await.ok().contains("No respondents yet"));
}

#[tokio::test]
async fn the_file_about_a_respondent_is_the_same_as_that_of_the_admin_api() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, version) = site.flow(app, definition("Feedback")).await;
    let invited = |kind: &str, value: &str| {
        NewInvitation::from_identities(vec![(kind.to_owned(), value.to_owned())], None).unwrap()
    };
    let new = [invited("traits.email", "Ann@mail.example"), invited("userId", "7")];
    let made = site.engine.invite(&actor(), flow, &new, Duplicates::Refuse, false).await.unwrap();
    let admitted = json!({
        "respondentAnalyticsAdmission": "admitted", "answers": {"why": "Because."},
        "identities": [{"type": "userId", "value": "7"}, {"type": "traits.email", "value": "ann@mail.example"}],
        "flowAssignmentId": made[0].id()
    });
    let response = site.respond(app, version, admitted).await;
    let id = site.engine.get_response(&actor(), response).await.unwrap().respondent_id.unwrap();
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let path = format!("/console/apps/{app}/settings/respondents/{id}/export");
    let file: Value = serde_json::from_str(&owner.post(&path, &[]).await.ok()).unwrap();
    let request = Request::get(format!("{}/respondents/{id}/export", admin::BASE))
        .header("authorization", format!("Bearer {ROOT}"));
    let reply = site.raw(request.body(Body::empty()).unwrap()).await.ok();
    assert_eq!(file, serde_json::from_str::<Value>(&reply).unwrap());
    assert_eq!(file["responses"][0]["responseId"], json!(response));
    let invitations = file["invitations"].as_array().unwrap().iter();
    let mut states: Vec<_> = invitations.map(|it| it["state"].as_str().unwrap()).collect();
    states.sort_unstable();
    assert_eq!(states, ["completed", "sent"]);
}

#[tokio::test]
async fn a_user_is_added_to_an_app_and_signs_in() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let path = format!("/console/apps/{app}/settings/people");
    let wrong = owner.post(&path, &[("email", "bob"), ("role", "editor")]).await;
    assert_eq!(wrong.status, 422);
    let form = [("email", "bob@mail.example"), ("name", "Bob"), ("role", "editor")];
    // Only owners of the instance create users.
    let unknown = owner.post(&path, &form).await;
    assert_eq!(unknown.status, 422);
    assert!(unknown.text.contains("ask an owner of the instance"));
    let added = site.root().await.post(&path, &form).await.ok();
    let start = format!("{ORIGIN}/console/welcome#");
    let code = added.split(&start).nth(1).unwrap().split('<').next().unwrap().to_owned();
    let bob = site.browser();
    bob.post("/console/welcome", &[("code", &code), ("password", PASSWORD)]).await.to();
    bob.get(&format!("/console/apps/{app}")).await.ok();
    assert_eq!(bob.get(&path).await.status, 403);
    let users = site.engine.list_users(&actor(), Page { after: None, limit: 9 }).await.unwrap();
    let id = users.iter().find(|user| user.email == "bob@mail.example").unwrap().user_id;
    let form = [("userId", &*id.to_string()), ("role", "none")];
    owner.post(&format!("{path}/role"), &form).await.to();
    assert_eq!(bob.get(&format!("/console/apps/{app}")).await.status, 404);
    assert!(bob.get("/console/settings/apps").await.ok().contains("No role in any app"));
}

#[tokio::test]
async fn a_missing_app_or_an_invalid_expiry_is_refused() {
    let site = Site::start().await;
    let root = site.root().await;
    for place in ["", "app_nonsense", "ALL"] {
        let form =
            [("email", "b@mail.example"), ("name", "B"), ("role", "owner"), ("appId", place)];
        assert_eq!(root.post("/console/settings/users", &form).await.status, 422, "{place}");
        let form = [("name", "ci"), ("scope", "read"), ("appId", place)];
        assert_eq!(root.post("/console/settings/tokens", &form).await.status, 422, "{place}");
    }
    for days in ["30d", "1.5", "-1"] {
        let form = [("name", "ci"), ("scope", "read"), ("appId", "all"), ("days", days)];
        assert_eq!(root.post("/console/settings/tokens", &form).await.status, 422, "{days}");
    }
}

#[tokio::test]
async fn users_and_tokens_of_the_instance_are_managed() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let root = site.root().await;
    let form =
        [("email", "bob@mail.example"), ("name", "Bob"), ("role", "owner"), ("appId", "all")];
    assert!(root.post("/console/settings/users", &form).await.ok().contains("/console/welcome#"));
    let taken = root.post("/console/settings/users", &form).await;
    assert_eq!(taken.status, 422);
    assert!(taken.text.contains("href=\"#email\""));
    let users = site.engine.list_users(&actor(), Page { after: None, limit: 9 }).await.unwrap();
    let one = format!("/console/settings/users/{}", users[0].user_id);
    assert_eq!(root.post(&format!("{one}/state"), &[("disabled", "yes")]).await.status, 409);
    let form = [("appId", &*app.to_string()), ("role", "viewer")];
    root.post(&format!("{one}/role"), &form).await.to();
    root.post(&format!("{one}/name"), &[("name", "Robert")]).await.to();
    assert!(root.post(&format!("{one}/reset"), &[]).await.ok().contains("/console/welcome#"));
    let shown = root.get(&one).await.ok();
    assert!(shown.contains("Robert") && !shown.contains("/console/welcome#"));
    let form =
        [("name", "ci"), ("scope", "read"), ("scope", "write"), ("appId", "all"), ("days", "7")];
    let made = root.post("/console/settings/tokens", &form).await.ok();
    assert!(made.contains("sluice_"));
    let tokens = site.engine.list_tokens(&actor()).await.unwrap();
    assert_eq!(tokens[0].scopes, [Scope::Read, Scope::Write]);
    assert!(tokens[0].expires_at.is_some());
    assert!(!root.get("/console/settings/tokens").await.ok().contains("sluice_"));
    let wrong = root.post("/console/settings/tokens", &[("name", "x")]).await;
    assert_eq!(wrong.status, 422);
    root.post(&format!("/console/settings/tokens/{}/revoke", tokens[0].token_id), &[]).await.to();
    assert!(site.engine.list_tokens(&actor()).await.unwrap()[0].revoked_at.is_some());
    let log = root.get("/console/settings/audit").await.ok();
    for expected in
        ["created the admin token “ci”", "added bob@mail.example as owner", "Environment token"]
    {
        assert!(log.contains(expected), "{expected}");
    }
}

#[tokio::test]
async fn changing_a_password_needs_the_old_one_and_ends_other_sessions() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    site.user("ann@mail.example", Some(app), Role::Viewer).await;
    let sign_in = async || {
        let browser = site.browser();
        let form = [("email", "ann@mail.example"), ("password", PASSWORD)];
        browser.post("/console/sign-in", &form).await.to();
        browser
    };
    let (here, elsewhere) = (sign_in().await, sign_in().await);
    let path = "/console/settings/account";
    let wrong = here.post(path, &[("old", "wrong"), ("password", "another horse battery")]).await;
    assert_eq!(wrong.status, 422);
    let form = [("old", PASSWORD), ("password", "another horse battery")];
    assert_eq!(here.post(path, &form).await.to(), format!("{path}?done=password"));
    here.get(path).await.ok();
    assert!(elsewhere.get(path).await.to().starts_with("/console/sign-in"));
    let token = site.root().await;
    assert_eq!(token.post(path, &form).await.status, 404, "a token has no password");
}

#[tokio::test]
async fn the_members_of_an_app_are_paged() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    for number in 0..103 {
        let (email, name) = (format!("p{number:03}@mail.example"), format!("Person {number:03}"));
        let new = NewUser { email, name, role: Role::Viewer, app_id: Some(app) };
        site.engine.create_user(&actor(), new).await.unwrap();
        site.clock.advance_millis(1);
    }
    let root = site.root().await;
    let path = format!("/console/apps/{app}/settings/people");
    let first = root.get(&path).await.ok();
    assert!(first.contains("Person 099") && !first.contains("Person 100"));
    let next = first.split(&format!("{path}?after=")).nth(1).unwrap().split('"').next().unwrap();
    let last = root.get(&format!("{path}?after={next}")).await.ok();
    assert!(!last.contains("Person 099") && last.contains("Person 100"));
    assert!(last.contains("Person 102") && !last.contains("Next page"));
}

#[tokio::test]
async fn an_invalid_role_removes_no_role() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let user = site.user("ann@mail.example", Some(app), Role::Editor).await;
    let root = site.root().await;
    let (id, place) = (user.to_string(), app.to_string());
    let of_app = format!("/console/apps/{app}/settings/people/role");
    let of_user = format!("/console/settings/users/{user}/role");
    let roles = async || site.engine.get_user(&actor(), user).await.unwrap().grants.len();
    for wrong in ["", "king"] {
        assert_eq!(root.post(&of_app, &[("userId", &id), ("role", wrong)]).await.status, 422);
        assert_eq!(root.post(&of_user, &[("appId", &place), ("role", wrong)]).await.status, 422);
        assert_eq!(roles().await, 1);
    }
    root.post(&of_user, &[("appId", &place), ("role", "none")]).await.to();
    assert_eq!(roles().await, 0);
}

#[tokio::test]
async fn an_answer_that_contradicts_its_token_is_counted_once() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (_, version) = site.flow(app, definition("Feedback")).await;
    let root = site.root().await;
    let path = format!("/console/apps/{app}/settings/identity");
    let made = root.post(&format!("{path}/keys"), &[("type", "hs256")]).await.ok();
    let secret = made.split("id=\"secret\">").nth(1).unwrap().split('<').next().unwrap();
    let signer = Signer::Secret(secret.as_bytes().to_vec());
    root.post(&path, &[("mode", "observe")]).await.to();
    let kid = site.engine.list_identity_keys(&actor(), app).await.unwrap()[0].kid.clone();
    let now = START / 1000;
    let claims = json!({"sub": "7", "aud": app, "iat": now, "exp": now + 300});
    let token = signer.token(Some(&kid), &claims);
    let key = site.engine.get_app(&actor(), app).await.unwrap().api_keys[0].to_string();
    let view = site.engine.app_by_key(&key).await.unwrap().unwrap();
    for user in ["7", "8", "9"] {
        let proven = site.engine.identify(&view, Presented::Token(&token)).await.unwrap();
        let body = json!({
            "flowVersionId": version, "flowVersionPayloadGeneration": "4", "answers": {},
            "respondentAnalyticsAdmission": "admitted",
            "identities": [{"type": "userId", "value": user}]
        });
        let body = body.to_string();
        site.engine.submit_as(&view, Some(body.as_bytes()), None, proven.as_ref()).await.unwrap();
    }
    let page = root.get(&path).await.ok();
    assert!(page.contains("2 of 3 requests so far would be refused"), "{page}");
    for (word, count) in [("Verified", 1), ("Mismatch", 2)] {
        let row = format!("<th scope=\"row\">{word}</th><td class=\"number\">{count}</td>");
        assert!(page.contains(&row), "{row}: {page}");
    }
}

#[tokio::test]
async fn the_page_of_a_user_shows_that_the_provider_removed_their_password() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let user = site.user("ann@mail.example", Some(app), Role::Viewer).await;
    let root = site.root().await;
    let path = format!("/console/settings/users/{user}");
    let ended = "The first such sign-in removed their password and links";
    let works = "The current password works until then.";
    let page = root.get(&path).await.ok();
    assert!(!page.contains(ended) && page.contains(works), "{page}");
    let claims = IdClaims {
        issuer: "https://id.example".into(),
        subject: "42".into(),
        verified_email: Some("ann@mail.example".into()),
        authenticated_at: None,
    };
    site.engine.accounts().sign_in_with_subject(&claims, None).await.unwrap();
    let page = root.get(&path).await.ok();
    assert!(page.contains(ended) && !page.contains(works), "{page}");
}
