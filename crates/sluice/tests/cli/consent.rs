//! With `collection_only`, the respondent's identity is stored nowhere: not in database files, the
//! database's log, the server's log at trace level, lists and exports of the admin API, audit log
//! or metrics.
//!
//! Unique words are sent in the identities, in the token and in the headers, and the client calls
//! from an address that no other client uses. The same words sent with `admitted` must be found,
//! which proves that the search works.

use crate::cluster;
use crate::identity;
use crate::support;

use std::net::IpAddr;
use std::path::Path;

use cluster::Cluster;
use identity::{Secret, change, demo_app};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use support::Server;

const USER: &str = "canary-user-8Kd3";
const EMAIL: &str = "canary-8kd3@mail.example";
const TRAIT: &str = "canary-trait-8Kd3";
const DEVICE: &str = "canary-device-8Kd3";
/// Too short to search files for; it is sent inside a phrase that is found if the id is kept in it.
const SHORT: &str = "u42";
const SHORT_PHRASE: &str = "canary-phrase u42";
/// The identity that a submission claims, contrary to its token.
const OTHER: &str = "canary-other-8Kd3";
const BEARER: &str = "canary-bearer-8Kd3";
const FORWARDED: &str = "198.51.100.213";
const ADDRESS: &str = "127.93.71.57";
const ANSWER: &str = "found-answer-8Kd3";
/// What an admitted submission leaves behind, and what no submission may leave behind.
const KEPT: [&str; 5] = [USER, EMAIL, TRAIT, DEVICE, SHORT_PHRASE];
const NEVER_KEPT: [&str; 4] = [OTHER, BEARER, FORWARDED, ADDRESS];

#[tokio::test(flavor = "multi_thread")]
async fn collection_only_stores_no_identity() {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), None, &[folder.path()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn collection_only_stores_no_identity_on_postgresql() {
    // The log of the database has every statement, with its parameters.
    let cluster = Cluster::start(&["log_statement=all"]);
    let database = cluster.create_database();
    let folder = tempfile::tempdir().unwrap();
    let searched = [folder.path(), cluster.folder()];
    check(folder.path(), Some(&cluster.url(&database)), &searched).await;
    assert_eq!(cluster.psql(&database, "SELECT count(*) FROM responses"), ["6"]);
    let log = std::fs::read_to_string(cluster.folder().join("log")).unwrap();
    assert!(log.contains("parameters: $1"), "statement parameters are not in the log");
    assert!(log.contains(USER), "the identity of an admitted submission is not in the log");
}

/// The tokens of one respondent, and the values that would reveal that they were sent.
struct Tokens {
    good: String,
    expired: String,
    forged: String,
    traces: Vec<String>,
}

impl Tokens {
    fn new(secret: &Secret) -> Self {
        let person = json!({"sub": USER, "email": EMAIL, "name": TRAIT});
        let good = secret.token_with(&person);
        let mut past = person.clone();
        (past["iat"], past["exp"]) = (json!(1_000_000_000), json!(1_000_000_300));
        let expired = secret.token_with(&past);
        let forged = Secret { text: "x".to_owned(), ..secret.clone() }.token_with(&person);
        // Claims and signature; the header is the same for every token.
        let parts = |token: &String| token.split('.').skip(1).map(str::to_owned).collect();
        let traces = [&good, &expired, &forged].into_iter().flat_map(|it| -> Vec<_> { parts(it) });
        let traces = traces.collect();
        Self { good, expired, forged, traces }
    }
}

struct Caller<'s> {
    server: &'s Server,
    http: Client,
    admin: String,
    app: String,
}

async fn check(folder: &Path, store: Option<&str>, searched: &[&Path]) {
    let server = Server::start_with(folder, "127.0.0.1:0", |command| {
        command.args(["--log", "trace"]).args(store.map(|store| format!("--store={store}")))
    });
    let source: IpAddr = ADDRESS.parse().unwrap();
    let http = support::client_builder().no_proxy().local_address(source).build().unwrap();
    let admin = server.token().unwrap();
    let app = demo_app(&server, &admin).await;
    let secret = Secret::make(&server, &admin, &app).await;
    let tokens = Tokens::new(&secret);
    let caller = Caller { server: &server, http, admin, app };
    caller.submit_all(&tokens).await;

    let traces: Vec<&str> = [
        &KEPT as &[&str],
        &NEVER_KEPT,
        &tokens.traces.iter().map(String::as_str).collect::<Vec<_>>(),
    ]
    .concat();
    let mut shown = caller.shown().await;
    assert!(shown[0].contains(ANSWER), "{}", shown[0]);
    let people = caller.read(&format!("/respondents?appId={}", caller.app)).await;
    assert_eq!(people["items"], json!([]));
    let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
    assert!(log.contains(": exchange "), "the requests are not logged: {log}");
    shown.push(log);
    for trace in &traces {
        for shown in &shown {
            let trace = trace.to_lowercase();
            assert!(!shown.to_lowercase().contains(&trace), "{trace} in {shown}");
        }
    }
    assert_eq!(holding(searched, &traces), Vec::<String>::new());
    assert_ne!(holding(searched, &[ANSWER]), Vec::<String>::new(), "the search finds nothing");

    // The same, admitted: the values that may be stored are found, and the others are not.
    let admitted = submission(&server.id("fv_"), "admitted", "admitted");
    let stored = caller.submit(&tokens.good, &admitted, "key-admitted").await;
    assert_eq!(stored["result"]["data"]["success"], true, "{stored}");
    let found = holding(searched, &traces);
    for (at, trace) in traces.iter().enumerate() {
        let is_found = found.iter().any(|it| it.starts_with(trace));
        assert_eq!(is_found, at < KEPT.len(), "{trace}");
    }
    caller.assert_export_has_the_admitted_alone().await;
    let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
    assert!(traces.iter().all(|trace| !log.contains(trace)), "{log}");
    assert_eq!(server.stop(), Some(0));
}

impl Caller<'_> {
    /// Submissions in every mode that are stored, replayed and refused, and reads: each contains
    /// the respondent's identity throughout, none is admitted. Five of them are stored.
    async fn submit_all(&self, tokens: &Tokens) {
        let version = self.server.id("fv_");
        let body = |why: &str| submission(&version, "collection_only", why);
        let stored = |reply: &Value| reply["result"]["data"]["success"] == true;
        for mode in ["off", "observe", "enforce"] {
            let patch = json!({"identityVerification": mode});
            let path = format!("/apps/{}", self.app);
            change(self.server, &self.admin, Method::PATCH, &path, Some(&patch)).await;
            // A first submission, its retry, and another body with the same key.
            for (why, is_stored) in [(ANSWER, true), (ANSWER, true), ("other", false)] {
                let reply = self.submit(&tokens.good, &body(why), &format!("key-{mode}")).await;
                assert_eq!(stored(&reply), is_stored, "{mode}: {reply}");
            }
            if mode == "observe" {
                let mut contrary = body("contrary");
                contrary["identities"][0]["value"] = json!(OTHER);
                let reply = self.submit(&tokens.good, &contrary, "key-contrary").await;
                assert!(stored(&reply), "{reply}");
            }
        }
        let mut nameless = body("nameless");
        // The token names the respondent; only this names the device.
        nameless["identities"] = json!([
            {"type": "anonymousId", "value": DEVICE}, {"type": "traits.number", "value": SHORT},
        ]);
        assert!(stored(&self.submit(&tokens.good, &nameless, "key-nameless").await));
        let misshapen =
            json!({"flowVersionId": version, "identities": [{"type": USER, "value": EMAIL}]});
        let mut contrary = body("contrary");
        contrary["identities"][0]["value"] = json!(OTHER);
        for (token, body, message) in [
            (tokens.good.as_str(), &misshapen, "\"success\":false"),
            (&tokens.good, &contrary, "identity_mismatch"),
            (&tokens.expired, &nameless, "token_expired"),
            (&tokens.forged, &nameless, "token_invalid"),
            (BEARER, &nameless, "token_invalid"),
        ] {
            let reply = self.submit(token, body, "key-refused").await.to_string();
            assert!(reply.contains(message), "{message}: {reply}");
        }
        let (key, flow) = (self.server.id("pk_"), self.server.id("fl_"));
        for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
            for (token, status) in [(&tokens.good, 200), (&tokens.forged, 401)] {
                let url = format!("{}/api/v1/{key}/{path}", self.server.base);
                let request = self.http.get(url).header("x-forwarded-for", FORWARDED);
                assert_eq!(request.bearer_auth(token).send().await.unwrap().status(), status);
            }
        }
    }

    async fn submit(&self, token: &str, body: &Value, key: &str) -> Value {
        let url = self.server.submit_url(&self.server.id("pk_"));
        let request = self.http.post(url).header("content-type", "application/json");
        let request = request.header("idempotency-key", key).header("x-forwarded-for", FORWARDED);
        let request = request.header("forwarded", format!("for={FORWARDED}")).bearer_auth(token);
        let reply = request.body(body.to_string()).send().await.unwrap();
        serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap()
    }

    async fn read(&self, path: &str) -> Value {
        let (status, read) = self.server.admin(&self.admin, path).await;
        assert_eq!(status, 200, "{path}: {read}");
        read
    }

    /// What administrators and operators can read: responses, as a list and one by one, the audit
    /// log, the outcome of the token checks, the metrics.
    async fn shown(&self) -> Vec<String> {
        let list = self.read(&format!("/flows/{}/responses", self.server.id("fl_"))).await;
        let mut shown = vec![list.to_string()];
        for item in list["items"].as_array().unwrap() {
            let one = format!("/responses/{}", item["responseId"].as_str().unwrap());
            shown.push(self.read(&one).await.to_string());
        }
        assert_eq!(shown.len(), 6, "{list}");
        shown.push(self.read("/audit").await.to_string());
        let checks = format!("/apps/{}/identity-verification", self.app);
        shown.push(self.read(&checks).await.to_string());
        let metrics = self.http.get(format!("{}/metrics", self.server.base)).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        assert!(metrics.contains("outcome=\"stored\"} 5"), "{metrics}");
        shown.push(metrics);
        shown
    }

    /// The export of the respondent contains what was admitted, and nothing from before.
    async fn assert_export_has_the_admitted_alone(&self) {
        let people = self.read(&format!("/respondents?appId={}", self.app)).await;
        let id = people["items"][0]["respondentId"].as_str().unwrap();
        let export = self.read(&format!("/respondents/{id}/export")).await;
        assert_eq!(export["responses"].as_array().map(Vec::len), Some(1), "{export}");
        let export = export.to_string();
        assert!(KEPT.iter().all(|trace| export.contains(trace)), "{export}");
        for trace in NEVER_KEPT.iter().chain(&[ANSWER]) {
            assert!(!export.contains(trace), "{trace} in {export}");
        }
    }
}

fn submission(version: &str, admission: &str, why: &str) -> Value {
    json!({
        "flowVersionId": version, "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": admission,
        "answers": {"nps": "3", "why": why},
        "identities": [
            {"type": "userId", "value": USER}, {"type": "traits.email", "value": EMAIL},
            {"type": "traits.name", "value": TRAIT}, {"type": "anonymousId", "value": DEVICE},
            {"type": "traits.number", "value": SHORT},
        ],
        "context": {
            "page": {
                "path": format!("/of/{USER}"),
                "search": format!("?identities.userId={USER}&mail={EMAIL}"),
                "referrer": format!("https://shop.example/{}?d={DEVICE}", USER.to_uppercase()),
            },
            "userAgent": format!("App/1 ({}; {SHORT_PHRASE})", DEVICE.to_uppercase()),
        },
        "metadata": {"tags": {
            "who": USER, "WHO": USER.to_uppercase(), "mail": ["x", EMAIL.to_uppercase()],
            "device": DEVICE.to_uppercase(), "plan": "pro",
            "short": SHORT_PHRASE, "shorts": ["x", SHORT_PHRASE.to_uppercase()],
            (SHORT_PHRASE): "in a name",
            (USER): "in a name", (EMAIL.to_uppercase()): "in a name",
            (format!("of {}", DEVICE.to_lowercase())): "in a name",
        }},
    })
}

/// The files below these folders that contain one of the words in any letter case, each with the
/// word.
fn holding(folders: &[&Path], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(holding(&[&path], words));
                continue;
            }
            // Bytes that are not text are replaced, which leaves the words unchanged.
            let bytes = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            let held = words.iter().filter(|word| text.contains(&word.to_lowercase()));
            found.extend(held.map(|word| format!("{word} in {}", path.display())));
        }
    }
    found
}
