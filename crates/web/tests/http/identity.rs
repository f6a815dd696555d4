//! Identity verification over HTTP: modes, keys, matching, counts; and every route is covered.

use crate::use_cases::UseCases as _;
use std::sync::Arc;

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::rows::{IdentityKeyKind, IdentityVerification};
use sluice_engine::{AppPatch, NewIdentityKey};
use sluice_flow::id::{FlowId, FlowVersionId};

use crate::support::tokens::Signer;
use crate::support::{START, Site, actor, request, submission};

/// A site whose app has identity keys and a published survey.
pub(crate) struct Verified {
    pub(crate) site: Site,
    pub(crate) flow: FlowId,
    pub(crate) version: FlowVersionId,
}

impl Verified {
    pub(crate) async fn start() -> Self {
        let site = Site::start().await;
        let (flow, version) = site.published().await;
        Self { site, flow, version }
    }

    pub(crate) async fn mode(&self, mode: IdentityVerification) {
        let patch = AppPatch { identity_verification: Some(mode), ..AppPatch::default() };
        self.site.engine.update_app(&actor(), self.site.app, &patch).await.unwrap();
    }

    /// A secret created by the server: its kid and a signer.
    pub(crate) async fn secret(&self) -> (String, Signer) {
        let new = new_key(IdentityKeyKind::Hs256);
        let made = self.site.engine.create_identity_key(&actor(), self.site.app, &new).await;
        let (row, secret) = made.unwrap();
        (row.kid, Signer::Secret(secret.unwrap().0.into_bytes()))
    }

    pub(crate) async fn key(&self, new: &NewIdentityKey) -> String {
        let made = self.site.engine.create_identity_key(&actor(), self.site.app, new).await;
        made.unwrap().0.kid
    }

    pub(crate) fn claims(&self) -> Value {
        let now = START / 1000;
        json!({"sub": "u-7", "email": "Ann@example.com", "aud": self.site.app,
               "iat": now, "exp": now + 300})
    }

    /// The status and the code of a read with this header.
    pub(crate) async fn read(&self, authorization: Option<&str>) -> (u16, String) {
        let headers: Vec<_> = authorization.map(|it| ("authorization", it)).into_iter().collect();
        let path = self.site.path(&format!("flows/{}", self.flow));
        let reply = self.site.get(&path, &headers).await;
        let code = reply.json()["code"].as_str().unwrap_or_default().to_owned();
        (reply.status, code)
    }

    pub(crate) async fn submit(&self, token: Option<&str>, body: &Value) -> Value {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        self.site.trpc("response.submit", &headers, &body.to_string()).await.json()
    }

    pub(crate) fn admitted(&self, identities: Value) -> Value {
        let mut body = submission(self.version);
        body["respondentAnalyticsAdmission"] = json!("admitted");
        body["identities"] = identities;
        body
    }

    /// The last response: its identities, and whether they are verified.
    async fn last(&self) -> (Value, bool) {
        let newest = sluice_engine::Paging {
            after: None,
            order: sluice_engine::rows::Order::Desc,
            limit: 1,
        };
        let all = sluice_engine::ResponseFilter::default();
        let engine = &self.site.engine;
        let page = engine.list_responses(&actor(), self.flow, &all, newest).await.unwrap();
        let row = &page.rows[0];
        let identities = row.identities.as_deref().map_or(Value::Null, |it| it.parse().unwrap());
        (identities, row.identity_verified)
    }
}

pub(crate) fn new_key(kind: IdentityKeyKind) -> NewIdentityKey {
    NewIdentityKey { kind, pem: None, jwk: None, url: None, kid: None, issuer: None }
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test]
async fn off_ignores_tokens_observe_accepts_everyone_enforce_requires_a_valid_token() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    let good = bearer(&signer.token(Some(&kid), &it.claims()));
    let bad = bearer("not.a.token");
    for (mode, expected) in [
        (IdentityVerification::Off, [200, 200, 200]),
        (IdentityVerification::Observe, [200, 200, 200]),
        (IdentityVerification::Enforce, [401, 401, 200]),
    ] {
        it.mode(mode).await;
        for (header, status) in [None, Some(bad.as_str()), Some(&good)].into_iter().zip(expected) {
            assert_eq!(it.read(header).await.0, status, "{mode:?} {header:?}");
        }
    }
    it.site
        .get(&it.site.path(&format!("flows/{}", it.flow)), &[])
        .await
        .assert_problem(401, "token_missing");
    let refused = it.submit(None, &submission(it.version)).await;
    assert_eq!(refused["error"]["data"]["code"], "UNAUTHORIZED");
    assert_eq!(refused["error"]["data"]["httpStatus"], 401);
    assert_eq!(refused["error"]["data"]["reason"], "token_missing");
}

#[tokio::test]
async fn enforcing_without_a_key_is_refused() {
    let it = Verified::start().await;
    let enforce = AppPatch {
        identity_verification: Some(IdentityVerification::Enforce),
        ..AppPatch::default()
    };
    let refused = it.site.engine.update_app(&actor(), it.site.app, &enforce).await;
    assert!(matches!(refused, Err(sluice_engine::AdminError::Invalid(_))), "{refused:?}");
    let (kid, _) = it.secret().await;
    it.site.engine.revoke_identity_key(&actor(), it.site.app, &kid).await.unwrap();
    assert!(it.site.engine.update_app(&actor(), it.site.app, &enforce).await.is_err());
    it.secret().await;
    it.site.engine.update_app(&actor(), it.site.app, &enforce).await.unwrap();
}

#[tokio::test]
async fn every_kind_of_key_is_accepted_as_pem_and_as_jwk() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let it = Verified::start().await;
        let mut pem = new_key(IdentityKeyKind::PublicKey);
        pem.pem = Some(signer.pem());
        let by_pem = it.key(&pem).await;
        it.mode(IdentityVerification::Enforce).await;
        // A single key needs no kid.
        for kid in [None, Some(by_pem.as_str())] {
            let token = bearer(&signer.token(kid, &it.claims()));
            assert_eq!(it.read(Some(&token)).await.0, 200, "{} {kid:?}", signer.algorithm());
        }
        let mut jwk = new_key(IdentityKeyKind::PublicKey);
        jwk.jwk = Some(signer.jwk("own-kid"));
        assert_eq!(it.key(&jwk).await, "own-kid");
        for (kid, status) in [(Some("own-kid"), 200), (Some(by_pem.as_str()), 200), (None, 401)] {
            let token = bearer(&signer.token(kid, &it.claims()));
            assert_eq!(it.read(Some(&token)).await.0, status, "{} {kid:?}", signer.algorithm());
        }
    }
}

#[tokio::test]
async fn keys_are_rotated_and_a_revoked_one_is_refused_at_once() {
    let it = Verified::start().await;
    let (old, old_signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let (new, new_signer) = it.secret().await;
    let old_token = bearer(&old_signer.token(Some(&old), &it.claims()));
    let new_token = bearer(&new_signer.token(Some(&new), &it.claims()));
    assert_eq!(it.read(Some(&old_token)).await.0, 200);
    assert_eq!(it.read(Some(&new_token)).await.0, 200);
    it.site.engine.revoke_identity_key(&actor(), it.site.app, &old).await.unwrap();
    assert_eq!(it.read(Some(&old_token)).await, (401, "token_invalid".to_owned()));
    assert_eq!(it.read(Some(&new_token)).await.0, 200);
}

#[tokio::test]
async fn an_app_has_secrets_or_public_keys_never_both() {
    let it = Verified::start().await;
    it.secret().await;
    let mut public = new_key(IdentityKeyKind::PublicKey);
    public.pem = Some(Signer::ed25519().pem());
    let mixed = it.site.engine.create_identity_key(&actor(), it.site.app, &public).await;
    assert!(
        matches!(
            mixed,
            Err(sluice_engine::AdminError::Conflict { code: "identity_keys_mixed", .. })
        ),
        "{mixed:?}"
    );
}

#[tokio::test]
async fn identities_must_be_those_of_the_token_and_user_id_is_filled_from_it() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let token = signer.token(Some(&kid), &it.claims());
    let user = |value: &str| json!({"type": "userId", "value": value});
    let email = |value: &str| json!({"type": "traits.email", "value": value});
    for (sent, stored) in [
        (json!([]), json!([user("u-7")])),
        (json!([user("u-7")]), json!([user("u-7")])),
        (json!([email("ann@EXAMPLE.com")]), json!([user("u-7"), email("ann@EXAMPLE.com")])),
    ] {
        let reply = it.submit(Some(&token), &it.admitted(sent)).await;
        assert_eq!(reply["result"]["data"]["success"], true, "{reply}");
        assert_eq!(it.last().await, (stored, true));
    }
    for (sent, index) in
        [(json!([user("u-8")]), 0), (json!([user("u-7"), email("bob@example.com")]), 1)]
    {
        let reply = it.submit(Some(&token), &it.admitted(sent)).await;
        let issues = &reply["result"]["data"]["errors"]["issues"];
        assert_eq!(issues[0]["code"], "identity_mismatch", "{reply}");
        assert_eq!(issues[0]["path"], json!(["identities", index, "value"]));
    }
    // With `collection_only` no identity is stored, whatever the token contains.
    let reply = it.submit(Some(&token), &submission(it.version)).await;
    assert_eq!(reply["result"]["data"]["success"], true, "{reply}");
    assert_eq!(it.last().await, (Value::Null, false));
}

#[tokio::test]
async fn each_identity_records_whether_it_was_verified() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Observe).await;
    let good = signer.token(Some(&kid), &it.claims());
    let identity = |kind: &str, value: &str| json!({"type": kind, "value": value});
    let user = identity("userId", "u-7");
    let (own, other) =
        (identity("traits.email", "ann@example.com"), identity("traits.email", "bob@example.com"));
    let device = identity("anonymousId", "d-1");
    for (token, sent, verified, user_id_verified) in [
        (Some(&good), json!([user, own, device]), vec![true, true, false], true),
        (Some(&good), json!([user, other]), vec![true, false], true),
        (Some(&good), json!([other]), vec![false], false),
        (None, json!([user, own]), vec![false, false], false),
    ] {
        let body = it.admitted(sent.clone());
        let reply = it.submit(token.map(String::as_str), &body).await;
        let id = reply["result"]["data"]["responseId"].as_str().unwrap().parse().unwrap();
        let row = it.site.engine.get_response(&actor(), id).await.unwrap();
        assert_eq!(row.identity_verified, user_id_verified, "{sent}");
        let shown: Value = row.identities_with_proof().parse().unwrap();
        let expected: Vec<Value> = sent
            .as_array()
            .unwrap()
            .iter()
            .zip(verified)
            .map(|(identity, verified)| {
                let mut identity = identity.clone();
                identity["verified"] = json!(verified);
                identity
            })
            .collect();
        assert_eq!(shown, json!(expected), "{sent}");
    }
}

#[tokio::test]
async fn observing_counts_a_mismatch_and_stores_the_response_as_unverified() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Observe).await;
    let token = signer.token(Some(&kid), &it.claims());
    let other = json!([{"type": "userId", "value": "u-8"}]);
    for (token, verified) in [(Some(token.as_str()), false), (None, false), (Some("x"), false)] {
        let reply = it.submit(token, &it.admitted(other.clone())).await;
        assert_eq!(reply["result"]["data"]["success"], true, "{reply}");
        assert_eq!(it.last().await, (other.clone(), verified));
    }
    it.submit(Some(&token), &it.admitted(json!([]))).await;
    assert_eq!(it.last().await, (json!([{"type": "userId", "value": "u-7"}]), true));
    let report = it.site.engine.verification_report(&actor(), it.site.app).await.unwrap();
    let of = |word: &str| {
        let all = sluice_engine::verify::TokenOutcome::ALL;
        report.counts.get(all.into_iter().find(|checked| checked.as_str() == word).unwrap())
    };
    let words = ["verified", "missing", "mismatch", "malformed", "expired"];
    assert_eq!(words.map(of), [2, 1, 1, 1, 0]);
    let metrics = it.site.engine.metrics().render();
    for line in [
        r#"identity_token_checks_total{mode="observe",outcome="verified",reason=""} 2"#,
        r#"identity_token_checks_total{mode="observe",outcome="invalid",reason="malformed"} 1"#,
        r#"identity_token_checks_total{mode="observe",outcome="mismatch",reason=""} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn a_retry_is_the_same_submission_when_its_token_has_expired_since() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Observe).await;
    let token = bearer(&signer.token(Some(&kid), &it.claims()));
    let email = json!([{"type": "traits.email", "value": "ann@example.com"}]);
    for (key, identities) in [("one", json!([])), ("two", email)] {
        let body = it.admitted(identities).to_string();
        let first = [("authorization", token.as_str()), ("idempotency-key", key)];
        let first = it.site.trpc("response.submit", &first, &body).await.json();
        assert!(it.last().await.1, "the response must be stored as verified");
        for again in [
            &[("idempotency-key", key)][..],
            &[("idempotency-key", key), ("authorization", "Bearer x")],
        ] {
            let again = it.site.trpc("response.submit", again, &body).await.json();
            assert_eq!(again, first);
        }
    }
}

#[tokio::test]
async fn the_app_sets_the_maximum_lifetime_of_a_token() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    for (allowed, lifetime, status) in
        [(None, 3600, 200), (None, 3601, 401), (Some(60), 61, 401), (Some(86_400), 86_400, 200)]
    {
        let patch = AppPatch { token_lifetime_seconds: Some(allowed), ..AppPatch::default() };
        it.site.engine.update_app(&actor(), it.site.app, &patch).await.unwrap();
        let mut claims = it.claims();
        claims["exp"] = json!(START / 1000 + lifetime);
        let token = bearer(&signer.token(Some(&kid), &claims));
        assert_eq!(it.read(Some(&token)).await.0, status, "{allowed:?} {lifetime}");
    }
    for wrong in [0, 86_401] {
        let patch = AppPatch { token_lifetime_seconds: Some(Some(wrong)), ..AppPatch::default() };
        assert!(it.site.engine.update_app(&actor(), it.site.app, &patch).await.is_err());
    }
}

#[tokio::test]
async fn a_key_set_is_fetched_and_a_failed_fetch_is_503() {
    let signer = Signer::p256();
    let set = json!({"keys": [signer.jwk("one")]}).to_string();
    let router = axum::Router::new().route("/keys", axum::routing::get(async move || set));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let publisher = tokio::spawn(async { axum::serve(listener, router).await });
    let it = Verified::start().await;
    let mut key = new_key(IdentityKeyKind::Jwks);
    key.url = Some(format!("http://{address}/keys"));
    key.issuer = Some("https://id.example".to_owned());
    it.key(&key).await;
    it.mode(IdentityVerification::Enforce).await;
    let mut claims = it.claims();
    let wrong = bearer(&signer.token(Some("one"), &claims));
    assert_eq!(it.read(Some(&wrong)).await, (401, "token_invalid".to_owned()), "no issuer");
    claims["iss"] = json!("https://id.example");
    for (kid, status) in [(Some("one"), 200), (None, 200), (Some("two"), 401)] {
        let token = bearer(&signer.token(kid, &claims));
        assert_eq!(it.read(Some(&token)).await.0, status, "{kid:?}");
    }
    publisher.abort();
    let away = Verified::start().await;
    key.url = Some(format!("http://{address}/gone"));
    away.key(&key).await;
    away.mode(IdentityVerification::Enforce).await;
    claims["aud"] = json!(away.site.app);
    let token = signer.token(Some("one"), &claims);
    let path = away.site.path(&format!("flows/{}", away.flow));
    let reply = away.site.get(&path, &[("authorization", &bearer(&token))]).await;
    reply.assert_problem(503, "identity_keys_unavailable");
    assert!(reply.header("retry-after").is_some());
    let reply = away.submit(Some(&token), &submission(away.version)).await;
    assert_eq!(reply["error"]["data"]["httpStatus"], 503);
}

/// The templates of all routes below a key, extracted from the source of the routers, so that a new
/// one is included.
fn templates() -> Vec<String> {
    fn find_in(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                find_in(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let literals = line.split('"').skip(1).step_by(2);
                let routes = literals.filter(|it| it.starts_with("/api/v1/{"));
                found.extend(routes.map(str::to_owned));
            }
        }
    }
    let mut found = Vec::new();
    find_in(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/src"), &mut found);
    let document = serde_json::to_value(sluice_web::openapi::document()).unwrap();
    let documented = document["paths"].as_object().unwrap().keys();
    found.extend(documented.filter(|path| path.starts_with("/api/v1/")).cloned());
    found.sort();
    found.dedup();
    found
}

#[tokio::test]
async fn with_enforcement_only_a_preflight_is_answered_without_a_token() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let mut expired = it.claims();
    expired["iat"] = json!(START / 1000 - 1000);
    expired["exp"] = json!(START / 1000 - 500);
    let expired = bearer(&signer.token(Some(&kid), &expired));
    let templates = templates();
    assert!(templates.len() >= 5, "the routers' text is not found: {templates:?}");
    let mut paths: Vec<String> = templates
        .iter()
        .map(|template| {
            let path = template
                .replace("{apiKey}", &it.site.key)
                .replace("{flowId}", &it.flow.to_string())
                .replace("{flowVersionId}", &it.version.to_string())
                .replace("{*procedure}", "response.submit");
            assert!(!path.contains('{'), "{template} has an unknown parameter");
            path
        })
        .collect();
    // Other calls are refused before the token is checked: `the_first_failing_check_is_reported`.
    paths.retain(|path| !path.contains("/trpc") || path.contains("/trpc/response."));
    for more in ["trpc/response.submit,response.submit?batch=1", "nosuch", "flows"] {
        paths.push(it.site.path(more));
    }
    paths.push(it.site.path(&format!("flow_versions/{}?payload=4", it.version)));
    for path in &paths {
        let methods: &[_] = match path.contains("/trpc") {
            true => &["POST"],
            false => &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        };
        for method in methods {
            let method: Method = method.parse().unwrap();
            for (authorization, code) in [
                (None, "token_missing"),
                (Some("Bearer x"), "token_invalid"),
                (Some(&expired[..]), "token_expired"),
            ] {
                let mut headers = vec![("content-type", "application/json")];
                headers.extend(authorization.map(|it| ("authorization", it)));
                let body = Body::from(submission(it.version).to_string());
                let reply = it.site.send(request(method.clone(), path, &headers, body)).await;
                assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
                assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"), "{path}");
                let is_told = method == Method::HEAD || reply.text().contains(code);
                assert!(is_told, "{method} {path}: {}", reply.text());
            }
        }
        let headers = [("origin", "https://a.example"), ("access-control-request-method", "POST")];
        let preflight = request(Method::OPTIONS, path, &headers, Body::empty());
        assert_eq!(it.site.send(preflight).await.status, 204, "{path}");
    }
    // A token in the address does not count.
    let good = signer.token(Some(&kid), &it.claims());
    for name in ["access_token", "token", "authorization"] {
        let path = it.site.path(&format!("flows/{}?{name}={good}", it.flow));
        it.site.get(&path, &[]).await.assert_problem(401, "token_missing");
    }
}

#[tokio::test]
async fn a_batch_is_verified_as_a_whole() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let token = bearer(&signer.token(Some(&kid), &it.claims()));
    let body = json!({"0": it.admitted(json!([])), "1": it.admitted(json!([]))}).to_string();
    let rest = "response.submit,response.submit?batch=1";
    let reply = it.site.trpc(rest, &[("authorization", &token)], &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()[1]["result"]["data"]["success"], true);
    let refused = it.site.trpc(rest, &[], &body).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.json()[1]["error"]["data"]["reason"], "token_missing");
}

#[tokio::test]
async fn a_read_with_a_token_is_private() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let token = bearer(&signer.token(Some(&kid), &it.claims()));
    for path in [format!("flows/{}", it.flow), format!("flow_versions/{}?payload=4", it.version)] {
        let reply = it.site.get(&it.site.path(&path), &[("authorization", &token)]).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(reply.header("cache-control").unwrap().starts_with("private"), "{path}");
    }
    drop(Arc::clone(&it.site.engine));
}
