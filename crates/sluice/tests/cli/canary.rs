//! No log line, at any level, no metric and no trace contains a key, a token, an answer or a
//! respondent's address.
//!
//! Unique words are sent in every field that can hold such a value, in requests that succeed, are
//! refused or cannot be parsed; then the whole log at trace level, all metrics and every byte of
//! the exported traces are searched for them.

use crate::cluster;
use crate::identity;
use crate::support;

use std::io::{Read as _, Write as _};

use cluster::Cluster;
use identity::{Secret, change, demo_app, enforce};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use support::{Server, client_builder, http};

const ANSWER: &str = "canary-answer-5gQ2";
const EMAIL: &str = "canary-5gQ2@mail.example";
const USER: &str = "canary-user-5gQ2";
const TAG: &str = "canary-tag-5gQ2";
const TAG_NAME: &str = "canary-tagname-5gQ2";
const QUESTION: &str = "canary-question-5gQ2";
const SEARCH: &str = "?canary-search-5gQ2";
const ASSIGNMENT: &str = "canary-assignment-5gQ2";
const IDEMPOTENCY_KEY: &str = "canary-idempotency-5gQ2";
const BEARER: &str = "canary-bearer-5gQ2";
const ADMIN_TOKEN: &str = "canary-admin-token-5gQ2-of-the-canary";
const PASSWORD: &str = "canary-password-5gQ2";
const REPORT_PASSWORD: &str = "5gQ2 lamp under the stairs";
const AGENT: &str = "canary-agent-5gQ2";
/// The address of a client behind a proxy; it has no room for the common part.
const ADDRESS: &str = "203.0.113.229";
/// A key set URL that nothing serves.
const KEY_SET: &str = "https://nobody.invalid/canary-5gQ2";
const API_KEY: &str = "pk_canary5gQ2canary5gQ2ca";
/// The common part of all canaries.
const CANARY: &str = "5gQ2";

#[tokio::test(flavor = "multi_thread")]
async fn no_log_line_at_trace_level_contains_a_secret_or_an_answer() {
    search_the_log(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_log_line_at_trace_level_contains_a_secret_or_an_answer_on_postgresql() {
    let cluster = Cluster::start(&[]);
    let database = cluster.create_database();
    // The server requires no password, but the URL contains one.
    let user = format!("{}:{PASSWORD}", cluster::USER);
    let log = search_the_log(Some(&cluster.url_with(&user, &database, "sslmode=disable"))).await;
    assert!(log.contains("sluice_store::postgres"), "the log has no lines of the store: {log}");
    assert_eq!(cluster.psql(&database, "SELECT count(*) FROM apps"), ["3"], "not over PostgreSQL");
}

/// Runs a server, uses it and stops it. Returns the log if it contains no secret.
async fn search_the_log(store: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    #[cfg(feature = "otlp")]
    let receiver = crate::otlp::Receiver::start().await;
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        #[cfg(feature = "otlp")]
        let command = command
            .args([format!("--otlp-endpoint=http://u:{PASSWORD}@{}", receiver.address)])
            .env("OTEL_EXPORTER_OTLP_HEADERS", format!("api-key={BEARER}"));
        let proxy = ["--trusted-proxies", "127.0.0.1"];
        command
            .args(["--log", "trace"])
            .args(proxy)
            .args(store.map(|store| format!("--store={store}")))
    });
    let mut secrets = vec![server.token().unwrap(), server.id("pk_")];
    submit_all(&server).await;
    malformed(&server);
    secrets.extend(administer(&server).await);
    secrets.extend(share(&server).await);
    secrets.extend(identify(&server).await);
    let metrics = metrics_in_both_formats(&server).await;
    let printed = server.banner();
    assert_eq!(server.stop(), Some(0));
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
    assert!(log.contains("TRACE"), "the trace level is not on: {log}");
    assert!(log.matches(": exchange ").count() > 20, "the requests are not logged: {log}");
    assert!(!printed.contains(CANARY), "{printed}");
    for line in log.lines().chain(metrics.lines()) {
        assert!(!line.contains(CANARY) && !line.contains(&USER.to_uppercase()), "{line}");
        assert!(!line.contains(ADDRESS), "{line}");
        for secret in &secrets {
            assert!(!line.contains(secret.as_str()), "{line}");
        }
    }
    #[cfg(feature = "otlp")]
    search_the_traces(&receiver, &secrets);
    log
}

/// The same for the traces of all of these requests.
#[cfg(feature = "otlp")]
fn search_the_traces(receiver: &crate::otlp::Receiver, secrets: &[String]) {
    let names: Vec<String> = receiver.spans().into_iter().map(|span| span.name).collect();
    assert!(names.len() > 50, "the requests are not traced: {names:?}");
    for name in ["commit", "queue wait", "store read", "key set"] {
        assert!(names.iter().any(|it| it == name), "no {name}: {names:?}");
    }
    let user = USER.to_uppercase();
    let known = [CANARY, ADDRESS, &user, "postgres://", "canary"];
    for secret in known.into_iter().chain(secrets.iter().map(String::as_str)) {
        assert!(!receiver.contains(secret), "{secret}");
    }
}

/// All metrics, which the requests before have changed.
async fn metrics_in_both_formats(server: &Server) -> String {
    let mut all = String::new();
    for accept in ["application/openmetrics-text", "text/plain"] {
        let request = http().get(format!("{}/metrics", server.base)).header("accept", accept);
        all.push_str(&request.send().await.unwrap().text().await.unwrap());
    }
    for counted in [
        "sluice_submission_issues_total{code=\"unknown_question\"} ",
        "sluice_http_refusals_total{code=\"api_key_invalid\"} ",
        "sluice_http_request_duration_seconds_count{route=\"/api/v1/{apiKey}/trpc/{*procedure}\"",
    ] {
        assert!(all.matches(counted).count() >= 2, "{counted} is not counted: {all}");
    }
    all
}

fn submission(version: &str) -> Value {
    json!({
        "flowVersionId": version, "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted",
        "answers": {"nps": "3", "why": ANSWER},
        "identities": [{"type": "userId", "value": USER}, {"type": "traits.email", "value": EMAIL}],
        "metadata": {"tags": {TAG_NAME: TAG, (USER.to_uppercase()): TAG}},
        "context": {"page": {"path": "/", "search": SEARCH}, "userAgent": ANSWER},
        "flowAssignmentId": ASSIGNMENT,
    })
}

/// Submissions that are accepted, replayed, refused and not evaluated, each with canaries
/// throughout.
async fn submit_all(server: &Server) {
    let (key, version, flow) = (server.id("pk_"), server.id("fv_"), server.id("fl_"));
    let http = http();
    let good = submission(&version);
    let changed = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let cases = [
        (key.as_str(), good.to_string(), 200),
        (key.as_str(), good.to_string(), 200),
        (key.as_str(), changed("/answers/why", json!(format!("{ANSWER}!"))).to_string(), 200),
        (key.as_str(), changed("/answers", json!({QUESTION: ANSWER})).to_string(), 200),
        (key.as_str(), changed("/answers", json!(ANSWER)).to_string(), 200),
        (key.as_str(), changed("/flowVersionId", json!(ANSWER)).to_string(), 200),
        (key.as_str(), changed("/identities/1/value", json!(USER)).to_string(), 200),
        (key.as_str(), changed("/identities/0/type", json!(EMAIL)).to_string(), 200),
        (key.as_str(), changed("/metadata/tags", json!({TAG_NAME: {TAG: TAG}})).to_string(), 200),
        (key.as_str(), format!("{{\"answers\":\"{ANSWER}"), 400),
        (key.as_str(), ANSWER.repeat(80_000), 413),
        (API_KEY, good.to_string(), 401),
    ];
    for (index, (key, body, status)) in cases.into_iter().enumerate() {
        let reply = post(&http, &server.submit_url(key)).body(body).send().await.unwrap();
        assert_eq!(reply.status(), status, "case {index}");
    }
    let long_key = IDEMPOTENCY_KEY.repeat(20);
    let request = http.post(server.submit_url(&key)).header("content-type", "application/json");
    let reply = request.header("idempotency-key", long_key).body(good.to_string());
    assert_eq!(reply.send().await.unwrap().status(), 400);
    for (path, status) in [
        (format!("{key}/flows/{flow}"), 200),
        (format!("{key}/flow_versions/{version}?payload=4"), 200),
        (format!("{API_KEY}/flows/{flow}"), 401),
        (format!("{API_KEY}/nosuch"), 404),
    ] {
        let request = http.get(format!("{}/api/v1/{path}", server.base)).bearer_auth(BEARER);
        assert_eq!(request.send().await.unwrap().status(), status, "{path}");
    }
}

fn post(http: &Client, url: &str) -> RequestBuilder {
    http.post(url)
        .header("content-type", "application/json")
        .header("idempotency-key", IDEMPOTENCY_KEY)
        .header("x-forwarded-for", ADDRESS)
        .header("user-agent", AGENT)
        .header("cookie", format!("session={BEARER}"))
        .header("referer", format!("https://{BEARER}.example/"))
        .bearer_auth(BEARER)
}

/// Requests that are not HTTP, and one that breaks off in its body.
fn malformed(server: &Server) {
    let address = server.base.strip_prefix("http://").unwrap();
    let key = server.id("pk_");
    for bytes in [
        format!("GET /api/v1/{API_KEY}/flows/x HTTP/9.9\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {BEARER}\u{1}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nhost: x\r\n{BEARER}\r\n\r\n"),
        format!(
            "POST /api/v1/{key}/trpc/response.submit HTTP/1.1\r\nhost: x\r\n\
             content-type: application/json\r\ncontent-length: 999\r\n\r\n{{\"answers\":\"{ANSWER}"
        ),
    ] {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Whether such a request gets a reply does not matter here.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

/// Sends valid and invalid requests to the admin API. Returns the secrets that they created.
async fn administer(server: &Server) -> Vec<String> {
    let http = http();
    let token = server.token().unwrap();
    let flow = server.id("fl_");
    let url = |path: &str| format!("{}/api/admin/v1{path}", server.base);
    let reply = http.get(url("/apps")).bearer_auth(ADMIN_TOKEN).send().await.unwrap();
    assert_eq!(reply.status(), 401);
    let listed = format!("/flows/{flow}/responses?tag.{TAG_NAME}={TAG}");
    let (status, list) = server.admin(&token, &listed).await;
    assert_eq!((status, list["items"].as_array().unwrap().len()), (200, 1), "{list}");
    let response = list["items"][0]["responseId"].as_str().unwrap();
    assert_eq!(list["items"][0]["answers"]["why"], ANSWER);
    let made = |path: &str, body: String| {
        let request = http.post(url(path)).bearer_auth(&token);
        request.header("content-type", "application/json").body(body).send()
    };
    let app = made("/apps", json!({"name": "Other"}).to_string()).await.unwrap();
    let app: Value = serde_json::from_slice(&app.bytes().await.unwrap()).unwrap();
    let new = json!({"name": "Other", "scopes": ["read"]}).to_string();
    let other = made("/tokens", new).await.unwrap();
    let other: Value = serde_json::from_slice(&other.bytes().await.unwrap()).unwrap();
    let unknown = json!({"name": "x", TAG_NAME: TAG}).to_string();
    assert_eq!(made("/apps", unknown).await.unwrap().status(), 422);
    assert_eq!(made("/apps", format!("{{\"{TAG}")).await.unwrap().status(), 400);
    let people = format!("/flows/{flow}/invitations");
    let identities = json!([
        {"type": "userId", "value": USER}, {"type": "traits.email", "value": EMAIL}
    ]);
    let one = json!({"identities": identities}).to_string();
    let invited = made(&people, one.clone()).await.unwrap();
    assert_eq!(invited.status(), 201);
    let invited: Value = serde_json::from_slice(&invited.bytes().await.unwrap()).unwrap();
    assert_eq!(made(&people, one).await.unwrap().status(), 422, "invited already");
    for (file, status) in
        [(format!("userId\n{USER}\n{USER}\n"), 422), (format!("email\n!{EMAIL}\n"), 201)]
    {
        let request =
            http.post(url(&people)).bearer_auth(&token).header("content-type", "text/csv");
        assert_eq!(request.body(file).send().await.unwrap().status(), status);
    }
    let key = app["apiKeys"][0].as_str().unwrap();
    let revoked = format!("/apps/{}/keys/{key}", app["appId"].as_str().unwrap());
    for path in [&format!("/responses/{response}"), &revoked] {
        let reply = http.delete(url(path)).bearer_auth(&token).send().await.unwrap();
        assert_eq!(reply.status(), 204, "{path}");
    }
    let invitation = invited["flowAssignmentId"].as_str().unwrap();
    vec![key.to_owned(), other["token"].as_str().unwrap().to_owned(), invitation.to_owned()]
}

/// Makes a report with a password and opens it. Returns the secret of its link, and the cookie.
async fn share(server: &Server) -> Vec<String> {
    let admin = server.token().unwrap();
    let http = client_builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let reports = format!("/flows/{}/reports", server.id("fl_"));
    let new = json!({"title": TAG, "questions": ["why"], "password": REPORT_PASSWORD});
    let made = change(server, &admin, Method::POST, &reports, Some(&new)).await;
    let secret = made["link"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let url = format!("{}/r/{secret}", server.base);
    assert_eq!(http.get(&url).send().await.unwrap().status(), 200);
    let mut cookies = Vec::new();
    for (password, status) in [(PASSWORD, 422), (REPORT_PASSWORD, 303)] {
        let request = http.post(&url).header("origin", &server.base);
        let body = format!("password={}", password.replace(' ', "+"));
        let reply = request.body(body).send().await.unwrap();
        assert_eq!(reply.status(), status, "{password}");
        let set = reply.headers().get("set-cookie").map(|it| it.to_str().unwrap().to_owned());
        cookies
            .extend(set.and_then(|it| Some(it.split(';').next()?.split('=').nth(1)?.to_owned())));
    }
    let cookie = format!("__Secure-report={}", cookies[0]);
    let shown = http.get(&url).header("cookie", cookie).send().await.unwrap();
    assert!(shown.text().await.unwrap().contains(TAG));
    cookies.into_iter().chain([secret]).collect()
}

/// Sends requests with tokens of every kind, signed with the server's keys and with a key set that
/// cannot be fetched. Returns the secrets that they created.
async fn identify(server: &Server) -> Vec<String> {
    let http = http();
    let admin = server.token().unwrap();
    let app = demo_app(server, &admin).await;
    let secret = Secret::make(server, &admin, &app).await;
    let person = json!({"sub": USER, "email": EMAIL});
    let mut past = person.clone();
    (past["iat"], past["exp"]) = (json!(1_000_000_000), json!(1_000_000_300));
    let mut nobody = person.clone();
    nobody["sub"] = json!({"of": USER});
    let forged = Secret { text: "x".to_owned(), ..secret.clone() };
    let unknown = Secret { kid: TAG.to_owned(), ..secret.clone() };
    let good = secret.token_with(&person);
    let tokens = [
        (good.clone(), 200),
        (secret.token_with(&past), 401),
        (secret.token_with(&nobody), 401),
        (forged.token_with(&person), 401),
        (unknown.token_with(&person), 401),
        (BEARER.to_owned(), 401),
    ];
    enforce(server, &admin, &app).await;
    let (key, body) = (server.id("pk_"), submission(&server.id("fv_")));
    let mut contrary = body.clone();
    contrary["identities"][0]["value"] = json!(BEARER);
    for (token, status) in &tokens {
        for body in [&body, &contrary] {
            let sent =
                http.post(server.submit_url(&key)).bearer_auth(token).json(body).send().await;
            assert_eq!(sent.unwrap().status(), *status, "{token}");
        }
    }
    let other = change(server, &admin, Method::POST, "/apps", Some(&json!({"name": "Set"}))).await;
    let (app, key) = (other["appId"].as_str().unwrap(), other["apiKeys"][0].as_str().unwrap());
    let keys = format!("/apps/{app}/identity-keys");
    let set = json!({"type": "jwks", "url": KEY_SET, "issuer": TAG});
    change(server, &admin, Method::POST, &keys, Some(&set)).await;
    enforce(server, &admin, app).await;
    let url = format!("{}/api/v1/{key}/flows/x", server.base);
    assert_eq!(http.get(url).bearer_auth(&good).send().await.unwrap().status(), 503);
    let parts = tokens.iter().flat_map(|(token, _)| token.split('.').skip(1));
    parts.map(str::to_owned).chain([secret.text, key.to_owned()]).collect()
}
