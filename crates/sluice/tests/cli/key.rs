//! The master key: created at the first start, required by the secrets it sealed, rotated under a
//! running server.

use crate::support;

use reqwest::header::{COOKIE, SET_COOKIE};
use ring::hmac;
use serde_json::{Value, json};
use support::{Server, assert_complains, http, run};

async fn secret(server: &Server, app: &str) -> Value {
    let url = format!("{}/api/admin/v1/apps/{app}/identity-keys", server.base);
    let body = json!({"type": "hs256"}).to_string();
    let request = http().post(url).bearer_auth(server.token().unwrap());
    let reply = request.header("content-type", "application/json").body(body).send().await.unwrap();
    assert_eq!(reply.status(), 201);
    serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap()
}

async fn app(server: &Server) -> String {
    let (_, list) = server.admin(&server.token().unwrap(), "/apps").await;
    list["items"][0]["appId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_sealed_rotated_and_closed_without_their_key() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let data = folder.path().join("sluice-data");
    let master = data.join("master.key");
    let first = std::fs::read_to_string(&master).unwrap();
    let app = app(&server).await;
    let made = secret(&server, &app).await;
    let text = made["secret"].as_str().unwrap();
    // Rotated under the running server, which then seals with the new key.
    let rotated = run(folder.path(), &["key", "rotate"]);
    assert_eq!(rotated.status.code(), Some(0), "{}", support::text(&rotated.stderr));
    assert!(support::text(&rotated.stdout).contains("1 secret is sealed"));
    let second = std::fs::read_to_string(&master).unwrap();
    assert_ne!(first, second);
    assert_eq!(second.lines().count(), 1, "the old key must be removed");
    secret(&server, &app).await;
    assert_eq!(server.stop(), Some(0));
    for entry in std::fs::read_dir(&data).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!found, "a secret is stored in plain text");
    }
    // With the first key again, both secrets are closed, and the server prints what to do.
    std::fs::write(&master, &first).unwrap();
    let refused = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_complains(&refused, 1, &["2 sealed secrets cannot be opened", "SLUICE_MASTER_KEY"]);
    let unsealed = run(folder.path(), &["key", "rotate"]);
    assert_complains(&unsealed, 1, &["cannot be opened", "--revoke-unreadable"]);
    std::fs::write(&master, &second).unwrap();
    let server = Server::start(folder.path());
    assert_eq!(server.stop(), Some(0));
}

/// A browser session in the console.
struct Browser {
    http: reqwest::Client,
    cookie: String,
}

impl Browser {
    fn new() -> Self {
        let http = support::client_builder().redirect(reqwest::redirect::Policy::none());
        Self { http: http.build().unwrap(), cookie: String::new() }
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> (u16, String) {
        let request = request.header(COOKIE, &self.cookie).header("sec-fetch-site", "same-origin");
        let reply = request.send().await.unwrap();
        if let Some(set) = reply.headers().get(SET_COOKIE) {
            set.to_str().unwrap().split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        (reply.status().as_u16(), reply.text().await.unwrap())
    }

    async fn get(&mut self, server: &Server, path: &str) -> (u16, String) {
        let request = self.http.get(format!("{}{path}", server.base));
        self.send(request).await
    }

    async fn post(&mut self, server: &Server, path: &str, form: String) -> (u16, String) {
        let request = self.http.post(format!("{}{path}", server.base));
        self.send(request.header("origin", &server.base).body(form)).await
    }
}

/// The value of an input on a page.
fn value(page: &str, name: &str) -> String {
    let after = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

/// The code that an authenticator app shows in a step of 30 seconds (RFC 6238).
fn code(secret: &str, step: u64) -> String {
    let letters = secret.bytes().map(|it| if it < b'A' { it - b'2' + 26 } else { it - b'A' });
    let bits: Vec<u8> = letters.flat_map(|it| (0..5).rev().map(move |at| it >> at & 1)).collect();
    let key: Vec<u8> =
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit)).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let at = usize::from(tag.as_ref()[19] & 15);
    let number = u32::from_be_bytes(*tag.as_ref()[at..].first_chunk().unwrap()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

/// The current step, or the one after the last one used: a code works once, and one step early.
fn step_after(last: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    (now.as_secs() / 30).max(last + 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_reseals_second_factors_and_their_codes_still_work() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let new =
        json!({"email": "ann@mail.example", "name": "Ann", "role": "owner", "instance": true});
    let request = http().post(format!("{}/api/admin/v1/users", server.base));
    let request = request.bearer_auth(server.token().unwrap());
    let made = request.header("content-type", "application/json").body(new.to_string());
    let made: Value =
        serde_json::from_slice(&made.send().await.unwrap().bytes().await.unwrap()).unwrap();
    let link = made["link"].as_str().unwrap().split('#').nth(1).unwrap();
    let (mut browser, page) = (Browser::new(), "/console/settings/account/second-factor");
    let form = format!("code={link}&password=correct+horse+battery");
    assert_eq!(browser.post(&server, "/console/welcome", form).await.0, 303);
    let secret = value(&browser.get(&server, page).await.1, "secret");
    let used = step_after(0);
    let form = format!("secret={secret}&code={}", code(&secret, used));
    let (status, shown) = browser.post(&server, page, form).await;
    assert_eq!(status, 200, "{shown}");

    let rotated = run(folder.path(), &["key", "rotate"]);
    assert_eq!(rotated.status.code(), Some(0), "{}", support::text(&rotated.stderr));
    assert!(support::text(&rotated.stdout).contains("1 secret is sealed"));
    assert_eq!(server.stop(), Some(0));
    // The server has only the new key now.
    let server = Server::start(folder.path());
    let mut browser = Browser::new();
    let form = "email=ann@mail.example&password=correct+horse+battery".to_owned();
    let ticket = value(&browser.post(&server, "/console/sign-in", form).await.1, "ticket");
    let mut with = async |code: &str| {
        let form = format!("ticket={ticket}&code={code}");
        browser.post(&server, "/console/sign-in/code", form).await.0
    };
    assert_eq!(with(&code(&secret, used)).await, 422, "a code that was used before the rotation");
    assert_eq!(with(&code(&secret, step_after(used))).await, 303);
    assert_eq!(server.stop(), Some(0));
}
