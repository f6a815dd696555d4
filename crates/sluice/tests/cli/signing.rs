//! The Rust snippets of the guides: a server that enforces identity tokens accepts what that of the
//! identity guide signs, and that of the guide to events verifies what a server sends.
//!
//! The snippets are compiled here, with the libraries they need; another test checks that they
//! equal the guides'. The client tests run the snippets in other languages.

use crate::identity;
use crate::support;
#[path = "../support/verify.rs"]
#[expect(unreachable_pub, reason = "the snippet is exactly the guide's")]
mod verify;

use std::time::{SystemTime, UNIX_EPOCH};

use identity::{Secret, demo_app, enforce, resolve};
use serde_json::json;
use support::{Server, http, submission};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

#[test]
fn the_compiled_snippets_equal_the_guides() {
    let identity = include_str!("../../../../docs/identity.md");
    let events = include_str!("../../../../docs/events.md");
    for (guide, file) in [
        (identity, include_str!("../support/sign.rs")),
        (events, include_str!("../support/verify.rs")),
    ] {
        let block = guide.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
        let (_, code) = file.split_once("\n\n").unwrap();
        assert_eq!(block, code);
    }
}

/// The first request that a receiver gets: its headers by name, and its body.
async fn first_request(listener: TcpListener) -> (Vec<(String, String)>, Vec<u8>) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(' ').unwrap();
        headers.push((name.trim_end_matches(':').to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").unwrap().1.parse();
    let mut body = vec![0; length.unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    (headers, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_snippet_verifies_a_webhook_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let allow = ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http"];
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |it| it.args(allow));
    let admin = server.token().unwrap();
    let app = demo_app(&server, &admin).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = format!("http://{}/", listener.local_addr().unwrap());
    let url = format!("{}/api/admin/v1/apps/{app}/webhooks", server.base);
    let new = server.http.post(url).bearer_auth(&admin).json(&json!({"url": hook}));
    let endpoint: serde_json::Value =
        serde_json::from_slice(&new.send().await.unwrap().bytes().await.unwrap()).unwrap();
    let secret = endpoint["secret"].as_str().unwrap();
    let submit = server.http.post(server.submit_url(&server.id("pk_")));
    let submitted = submit.json(&submission(&server.id("fv_"), "signed")).send().await.unwrap();
    assert_eq!(submitted.status(), 200);
    let (headers, body) = first_request(listener).await;
    let header = |name: &str| &*headers.iter().find(|(it, _)| it == name).unwrap().1;
    let (id, sent) = (header("webhook-id"), header("webhook-timestamp"));
    let signature = header("webhook-signature");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let two = format!("v1,AAAA {signature}");
    assert!(verify::verify(secret, id, sent, signature, &body, now));
    assert!(verify::verify(secret, id, sent, &two, &body, now), "during a rotation");
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    assert!(!verify::verify(other, id, sent, signature, &body, now), "another secret");
    assert!(!verify::verify(secret, id, sent, signature, &body[1..], now), "another body");
    assert!(!verify::verify(secret, "evt_1", sent, signature, &body, now), "another id");
    assert!(!verify::verify(secret, id, sent, signature, &body, now + 1_000), "too old");
    assert!(!verify::verify(secret, id, "soon", signature, &body, now), "no time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_signed_by_the_rust_snippet_is_accepted_and_stored_as_proven() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let (admin, key, flow) = (server.token().unwrap(), server.id("pk_"), server.id("fl_"));
    let app = demo_app(&server, &admin).await;
    let secret = Secret::make(&server, &admin, &app).await;
    // Two keys, so that the token must name its key.
    Secret::make(&server, &admin, &app).await;
    enforce(&server, &admin, &app).await;
    let token = secret.token("user of Rust");
    assert_eq!(resolve(&server, &key, &flow, &token).await, 200);
    let other = Secret { app: "ap_other".to_owned(), ..secret }.token("user of Rust");
    assert_eq!(resolve(&server, &key, &flow, &other).await, 401);
    let mut body = submission(&server.id("fv_"), "signed");
    body["respondentAnalyticsAdmission"] = json!("admitted");
    let request = http().post(server.submit_url(&key)).bearer_auth(&token).json(&body);
    let reply = request.send().await.unwrap();
    assert_eq!(reply.status(), 200);
    let (_, list) = server.admin(&admin, &format!("/flows/{flow}/responses")).await;
    assert_eq!(list["items"][0]["identityVerified"], true, "{list}");
    let proven = json!([{"type": "userId", "value": "user of Rust", "verified": true}]);
    assert_eq!(list["items"][0]["identities"], proven);
    assert_eq!(server.stop(), Some(0));
}
