//! A server that enforces identity tokens accepts what the Rust snippet of the identity guide
//! signs.
//!
//! The snippet is compiled here, with the library it needs; another test checks that it equals the
//! guide's. The client tests run the snippets in other languages.

use crate::identity;
use crate::support;

use identity::{Secret, demo_app, enforce, resolve};
use serde_json::json;
use support::{Server, http, submission};

#[test]
fn the_compiled_snippet_equals_the_guides() {
    let guide = include_str!("../../../../docs/identity.md");
    let block = guide.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let (_, code) = include_str!("../support/sign.rs").split_once("\n\n").unwrap();
    assert_eq!(block, code);
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
