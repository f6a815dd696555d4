//! The master key: made at first start, needed for what it sealed, rotated under a running server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

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
    assert!(support::text(&rotated.stdout).contains("1 secrets are sealed"));
    let second = std::fs::read_to_string(&master).unwrap();
    assert_ne!(first, second);
    assert_eq!(second.lines().count(), 1, "the old key is forgotten");
    secret(&server, &app).await;
    assert_eq!(server.stop(), Some(0));
    for entry in std::fs::read_dir(&data).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!found, "a secret stands in the clear");
    }
    // With the first key again, both secrets are closed, and the server says what to do.
    std::fs::write(&master, &first).unwrap();
    let refused = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_complains(&refused, 1, &["2 signing secrets cannot be opened", "SLUICE_MASTER_KEY"]);
    let unsealed = run(folder.path(), &["key", "rotate"]);
    assert_complains(&unsealed, 1, &["cannot be opened", "--revoke-unreadable"]);
    std::fs::write(&master, &second).unwrap();
    let server = Server::start(folder.path());
    assert_eq!(server.stop(), Some(0));
}
