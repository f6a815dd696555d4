//! What is withheld of a submission without consent, over HTTP.

use serde_json::{Value, json};
use sluice_engine::rows::{IdentityVerification, Order};
use sluice_engine::{Paging, ResponseFilter};

use crate::identity::Verified;
use crate::support::{actor, submission};
use crate::use_cases::UseCases as _;

#[tokio::test]
async fn a_token_that_has_expired_is_withheld_like_a_valid_one() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Observe).await;
    let mut claims = it.claims();
    claims["sub"] = json!("u-alice-77");
    let token = format!("Bearer {}", signer.token(Some(&kid), &claims));
    let mut body = submission(it.version);
    body["respondentAnalyticsAdmission"] = json!("collection_only");
    body["metadata"]["tags"] = json!({"greeting": "hello u-alice-77"});
    body["idempotencyKey"] = json!("once");
    let send = async |body: &Value| {
        let headers = [("authorization", token.as_str())];
        it.site.trpc("response.submit", &headers, &body.to_string()).await.json()
    };
    let first = send(&body).await;
    it.site.clock.advance_millis(2 * 60 * 60 * 1000);
    assert_eq!(send(&body).await, first, "the retry is the same submission");
    body["idempotencyKey"] = json!("twice");
    assert_eq!(send(&body).await["result"]["data"]["success"], true);
    let newest = Paging { after: None, order: Order::Desc, limit: 10 };
    let all = ResponseFilter::default();
    let page = it.site.engine.list_responses(&actor(), it.flow, &all, newest).await.unwrap();
    assert_eq!(page.rows.len(), 2);
    for row in &page.rows {
        let tags = row.tags.as_deref().unwrap_or_default();
        assert!(tags.contains("hello") && !tags.contains("u-alice-77"), "{tags}");
    }
}
