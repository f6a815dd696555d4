//! Parameters in the address of a page, as they appear in the stored response.

use serde_json::{Value, json};

use crate::browser::{Browser, READ, one, published, stored};
use crate::support::Site;

fn nps() -> Value {
    let mut flow = one(json!({"id": "nps", "type": "nps", "prompt": "How?"}));
    flow["respondentAnalytics"] = json!("ask");
    flow
}

/// Answers a form at this address; returns what is stored besides the answers.
async fn answered(query: &str, fields: &[(&str, &str)]) -> (Value, Value, Value, String) {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let headers = [("user-agent", "Test/1.0"), ("referer", "https://shop.example/cart?x=1")];
    let mut browser = Browser::open_with(&site, &format!("/f/{flow}{query}"), &headers).await;
    let html = browser.html();
    site.at(READ);
    let mut all = vec![("answers.nps", "9")];
    all.extend_from_slice(fields);
    browser.press("send", &all).await;
    assert_eq!(browser.page.status, 303, "{query}: {}", browser.html());
    let rows = stored(&site, flow).await;
    let parsed =
        |text: &Option<String>| text.as_deref().map_or(Value::Null, |it| it.parse().unwrap());
    (parsed(&rows[0].tags), parsed(&rows[0].identities), parsed(&rows[0].context), html)
}

#[tokio::test]
async fn tags_of_the_address_are_stored_by_the_rules() {
    let long = "x".repeat(501);
    for (query, tags, named) in [
        (
            "?metadata.tags.plan=pro&tags.seats=7".to_owned(),
            json!({"plan": "pro", "seats": "7"}),
            None,
        ),
        ("?tags.a=1&tags.a=2&metadata.tags.a=3".to_owned(), json!({"a": ["1", "2", "3"]}), None),
        ("?tags.a=b%20c+d&utm_source=mail".to_owned(), json!({"a": "b c d"}), None),
        (format!("?tags.good=1&tags.bad={long}"), json!({"good": "1"}), Some("tags.bad")),
        ("?answers.nps=1&tags.good=1".to_owned(), json!({"good": "1"}), Some("answers.nps")),
        (
            "?context.locale=%21&tags.good=1".to_owned(),
            json!({"good": "1"}),
            Some("context.locale"),
        ),
    ] {
        let (stored, _, _, html) = answered(&query, &[]).await;
        assert_eq!(stored, tags, "{query}");
        let notice = "Part of the link could not be used";
        assert_eq!(html.contains(notice), named.is_some(), "{query}");
        assert!(named.is_none_or(|name| html.contains(name)), "{query}: {html}");
    }
}

#[tokio::test]
async fn the_page_the_referrer_and_the_browser_are_its_context() {
    let (_, _, context, _) = answered("?tags.a=1", &[]).await;
    let path = context["page"]["path"].as_str().unwrap();
    assert!(path.starts_with("/f/fl_") && path.len() == 3 + 25, "{path}");
    assert_eq!(context["page"]["referrer"], "https://shop.example/cart?x=1");
    assert_eq!(context["page"]["search"], "?tags.a=1");
    assert_eq!((&context["userAgent"], &context["locale"]), (&json!("Test/1.0"), &json!("en")));
    let (_, _, context, _) =
        answered("?context.page.path=/pricing&context.locale=de_at", &[]).await;
    assert_eq!(context["page"]["path"], "/pricing");
    assert_eq!(context["locale"], "de-AT");
}

#[tokio::test]
async fn identities_of_the_address_are_stored_only_with_consent() {
    let query = "?identities.userId=user-4711&identities.traits.email=ada%40example.com&tags.a=1";
    let (_, identities, context, _) = answered(query, &[("analytics", "admitted")]).await;
    assert_eq!(
        identities,
        json!([
            {"type": "userId", "value": "user-4711"}, {"type": "traits.email", "value": "ada@example.com"},
        ])
    );
    assert!(context.to_string().contains("tags.a=1"));
    let (_, identities, context, _) = answered(query, &[]).await;
    assert_eq!(identities, Value::Null);
    let context = context.to_string();
    assert!(!context.contains("user-4711") && !context.contains("example.com"), "{context}");
}
