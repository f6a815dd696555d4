//! Limits of the public API: calls by app and by address, bytes by day. The rate is one call per
//! hour, so no bucket refills during a test.

use crate::use_cases::UseCases as _;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use sluice_engine::bucket::Quota;
use sluice_engine::{AppPatch, LimitsPatch, Rates};
use sluice_web::Limits;

use crate::support::{Reply, Site, actor, request, submission};

const HOUR: Duration = Duration::from_secs(3600);
const SINGLE: (&str, &[(&str, &str)]) = ("response.submit", &[]);
const ARRAY: (&str, &[(&str, &str)]) = ("response.submit,response.submit?batch=1", &[]);
const LINES_11: (&str, &[(&str, &str)]) =
    ("response.submit,response.submit?batch=1", &[("trpc-accept", "application/jsonl")]);
const LINES_10: (&str, &[(&str, &str)]) =
    ("response.submit,response.submit?batch=1", &[("trpc-batch-mode", "stream")]);

pub(crate) fn burst(calls: u32) -> Quota {
    Quota::with_period(HOUR).unwrap().allow_burst(NonZeroU32::new(calls).unwrap())
}

/// A site with this number of calls per app.
async fn limited_by_app(calls: u32) -> Site {
    let rates = Rates { calls: Some(burst(calls)), bytes_per_day: None };
    Site::with_rates(Limits::default(), rates).await
}

/// A site with this number of calls per address, called from this peer.
async fn limited_by_address(calls: u32, peer: &str) -> Site {
    let limits = Limits { calls_per_address: Some(burst(calls)), ..Limits::default() };
    let mut site = Site::with_limits(limits).await;
    site.router = site.router.for_peer(peer.parse::<IpAddr>().unwrap());
    site
}

/// Sends a request in one framing; every call is the same submission.
async fn send(site: &Site, framing: (&str, &[(&str, &str)]), input: &Value) -> Reply {
    site.trpc(framing.0, framing.1, &body_of(framing, input)).await
}

/// The same with a content length, as over a real connection.
async fn send_sized(site: &Site, framing: (&str, &[(&str, &str)]), input: &Value) -> Reply {
    let body = body_of(framing, input);
    let length = body.len().to_string();
    let mut headers = framing.1.to_vec();
    headers.push(("content-length", &length));
    site.trpc(framing.0, &headers, &body).await
}

fn body_of(framing: (&str, &[(&str, &str)]), input: &Value) -> String {
    let is_batch = framing.0.contains("batch=1");
    if is_batch { json!({"0": input, "1": input}).to_string() } else { input.to_string() }
}

#[track_caller]
fn assert_limited(reply: &Reply, policy: &str, quota: u64, reason: &str) {
    assert_eq!(reply.status, 429, "{}", reply.text());
    let json = reply.json();
    // In a batch of tRPC 10, and in one that a quota refused call by call, each call has the error.
    for item in [json.get("0"), json.get("1"), json.get(0), json.get(1)].into_iter().flatten() {
        assert_error(item, reason);
    }
    if json.get("error").is_some() {
        assert_error(&json, reason);
    }
    assert_headers(reply, policy, quota);
}

#[track_caller]
fn assert_error(item: &Value, reason: &str) {
    let error = &item["error"];
    assert_eq!(error["code"], -32029, "{item}");
    assert_eq!(error["data"]["code"], "TOO_MANY_REQUESTS");
    assert_eq!(error["data"]["httpStatus"], 429);
    assert_eq!(error["data"]["reason"], reason);
}

#[track_caller]
fn assert_headers(reply: &Reply, policy: &str, quota: u64) {
    let wait = reply.header("retry-after").unwrap();
    assert!(wait.parse::<u64>().unwrap() >= 1, "{wait}");
    let named = reply.header("ratelimit-policy").unwrap();
    assert!(named.starts_with(&format!("\"{policy}\";q={quota};w=")), "{named}");
    assert_eq!(reply.header("ratelimit").unwrap(), format!("\"{policy}\";r=0;t={wait}"));
    let exposed = reply.header("access-control-expose-headers").unwrap();
    for name in ["RateLimit", "RateLimit-Policy", "Retry-After"] {
        assert!(exposed.split(", ").any(|it| it == name), "{exposed}");
    }
    assert!(reply.header("access-control-allow-origin").is_some());
}

#[tokio::test]
async fn calls_are_limited_by_app_in_every_framing() {
    for (framing, calls) in [(SINGLE, 1), (ARRAY, 2), (LINES_11, 2), (LINES_10, 2)] {
        let site = limited_by_app(4).await;
        let (_, version) = site.published().await;
        let input = submission(version);
        for _ in 0..4 / calls {
            assert_eq!(send(&site, framing, &input).await.status, 200, "{framing:?}");
        }
        assert_limited(&send(&site, framing, &input).await, "app", 4, "rate_limited");
        let counted = site.engine.health().metrics_text();
        assert!(counted.contains("sluice_limited_requests_total{reason=\"app\"} 1"), "{counted}");
        assert!(counted.contains("sluice_submissions_total{outcome=\"stored\"} 4"), "{counted}");
    }
}

#[tokio::test]
async fn a_batch_over_the_limit_is_refused_completely_and_uses_nothing() {
    let site = limited_by_app(3).await;
    let (_, version) = site.published().await;
    let input = submission(version);
    assert_eq!(send(&site, ARRAY, &input).await.status, 200);
    assert_limited(&send(&site, ARRAY, &input).await, "app", 3, "rate_limited");
    assert_eq!(send(&site, SINGLE, &input).await.status, 200);
    assert_limited(&send(&site, SINGLE, &input).await, "app", 3, "rate_limited");
}

#[tokio::test]
async fn reads_share_the_limit_of_their_app_and_another_app_has_its_own() {
    let site = limited_by_app(2).await;
    let (flow, version) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    assert_eq!(site.get(&path, &[]).await.status, 200);
    assert_eq!(send(&site, SINGLE, &submission(version)).await.status, 200);
    let refused = site.get(&path, &[]).await;
    refused.assert_problem(429, "rate_limited");
    assert_headers(&refused, "app", 2);
    let snapshot = site.path(&format!("flow_versions/{version}?payload=4"));
    site.get(&snapshot, &[]).await.assert_problem(429, "rate_limited");
    let other = site.other_app().await;
    let (flow, _) = other.published().await;
    assert_eq!(other.get(&other.path(&format!("flows/{flow}")), &[]).await.status, 200);
}

#[tokio::test]
async fn a_change_of_an_app_does_not_refill_its_bucket() {
    let site = limited_by_app(1).await;
    let (flow, version) = site.published().await;
    assert_eq!(send(&site, SINGLE, &submission(version)).await.status, 200);
    let version = site.publish_again(flow).await;
    let refused = send(&site, SINGLE, &submission(version)).await;
    assert_limited(&refused, "app", 1, "rate_limited");
}

#[tokio::test]
async fn calls_are_limited_by_address_in_every_framing() {
    for (framing, calls) in [(SINGLE, 1), (ARRAY, 2), (LINES_11, 2), (LINES_10, 2)] {
        let site = limited_by_address(4, "203.0.113.7").await;
        let (flow, version) = site.published().await;
        let input = submission(version);
        for _ in 0..4 / calls {
            assert_eq!(send(&site, framing, &input).await.status, 200, "{framing:?}");
        }
        assert_limited(&send(&site, framing, &input).await, "address", 4, "rate_limited");
        let refused = site.get(&site.path(&format!("flows/{flow}")), &[]).await;
        refused.assert_problem(429, "rate_limited");
        assert_headers(&refused, "address", 4);
        let counted = site.engine.health().metrics_text();
        assert!(
            counted.contains("sluice_limited_requests_total{reason=\"address\"} 2"),
            "{counted}"
        );
    }
}

#[tokio::test]
async fn guessing_keys_is_limited_by_address() {
    let mut site = limited_by_address(4, "2001:db8::1").await;
    for (number, path) in
        ["flows/x", "trpc/response.submit", "flow_versions/x", "nothing"].into_iter().enumerate()
    {
        let reply = site.get(&format!("/api/v1/pk_{number:022}/{path}"), &[]).await;
        assert!(matches!(reply.status, 401 | 404 | 405), "{path}: {}", reply.text());
    }
    for path in ["flows/x", "flow_versions/x", "nothing", "trpc/response.submit"] {
        let reply = site.get(&format!("/api/v1/pk_{:022}/{path}", 9), &[]).await;
        assert_eq!(reply.status, 429, "{path}: {}", reply.text());
    }
    let asks = [("origin", "https://a.example"), ("access-control-request-method", "POST")];
    for path in ["flows/x", "trpc/response.submit"] {
        let path = format!("/api/v1/pk_{:022}/{path}", 8);
        let preflight = request(Method::OPTIONS, &path, &asks, axum::body::Body::empty());
        assert_eq!(site.send(preflight).await.status, 429, "{path}");
    }
    // An address in the same network, then one in another.
    site.router = site.router.for_peer("2001:db8::2".parse().unwrap());
    assert_eq!(site.get("/api/v1/pk_x/flows/x", &[]).await.status, 429);
    site.router = site.router.for_peer("2001:db8:0:1::1".parse().unwrap());
    assert_eq!(site.get("/api/v1/pk_x/flows/x", &[]).await.status, 401);
}

#[tokio::test]
async fn a_loopback_peer_is_not_limited_by_address() {
    let site = limited_by_address(1, "127.0.0.1").await;
    let (flow, _) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    for _ in 0..3 {
        assert_eq!(site.get(&path, &[("x-forwarded-for", "198.51.100.1")]).await.status, 200);
    }
}

#[tokio::test]
async fn over_its_daily_bytes_an_app_is_refused_until_midnight_utc() {
    let rates = Rates { calls: None, bytes_per_day: Some(1) };
    let site = Site::with_rates(Limits::default(), rates).await;
    let (flow, version) = site.published().await;
    let input = submission(version);
    // A refused submission stores nothing and uses no quota.
    assert_eq!(site.submit(&json!({})).await.data()["success"], false);
    site.submit(&input).await.assert_accepted();
    for framing in [SINGLE, ARRAY] {
        let refused = send(&site, framing, &input).await;
        assert_limited(&refused, "bytes", 1, "daily_quota_reached");
        // The test clock is at two o'clock.
        assert_eq!(refused.header("retry-after").unwrap(), (22 * 3600).to_string());
        let policy = refused.header("ratelimit-policy").unwrap();
        assert_eq!(policy, "\"bytes\";q=1;w=86400;qu=\"content-bytes\"");
    }
    // A stream has already begun, so each of its calls has the error.
    for framing in [LINES_11, LINES_10] {
        let refused = send(&site, framing, &input).await;
        assert_eq!(refused.status, 200);
        assert_eq!(refused.text().matches("daily_quota_reached").count(), 2, "{}", refused.text());
    }
    // A request that would be refused for another reason gets that reason.
    assert_eq!(site.submit(&json!({})).await.data()["success"], false);
    assert_eq!(site.get(&site.path(&format!("flows/{flow}")), &[]).await.status, 200);
    let counted = site.engine.health().metrics_text();
    assert!(counted.contains("sluice_limited_requests_total{reason=\"bytes\"} 7"), "{counted}");
    site.at(22 * 3600 * 1000);
    site.submit(&input).await.assert_accepted();
}

#[tokio::test]
async fn the_limits_of_an_app_override_those_of_the_instance() {
    let site = limited_by_app(1).await;
    let (_, version) = site.published().await;
    let input = submission(version);
    let set = async |limits: Option<LimitsPatch>| {
        let patch = AppPatch { limits: Some(limits), ..AppPatch::default() };
        site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
    };
    assert_eq!(send(&site, SINGLE, &input).await.status, 200);
    assert_eq!(send(&site, SINGLE, &input).await.status, 429);
    set(Some(LimitsPatch { calls_per_second: Some(Some(1_000_000)), bytes_per_day: None })).await;
    assert_eq!(send(&site, SINGLE, &input).await.status, 200);
    set(Some(LimitsPatch { calls_per_second: None, bytes_per_day: Some(Some(1)) })).await;
    assert_eq!(send(&site, SINGLE, &input).await.status, 200);
    let refused = send(&site, SINGLE, &input).await;
    assert_limited(&refused, "bytes", 1, "daily_quota_reached");
    set(None).await;
    assert_eq!(send(&site, SINGLE, &input).await.status, 200);
    assert_limited(&send(&site, SINGLE, &input).await, "app", 1, "rate_limited");
}

#[tokio::test]
async fn a_retry_gets_its_first_response_id_even_if_the_daily_bytes_are_used_up() {
    let rates = Rates { calls: None, bytes_per_day: Some(1) };
    let site = Site::with_rates(Limits::default(), rates).await;
    let (_, version) = site.published().await;
    let mut input = submission(version);
    input["idempotencyKey"] = json!("once");
    let first = site.submit(&input).await.assert_accepted();
    let again = site.submit(&input).await;
    assert_eq!(again.assert_accepted(), first);
    assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
    let by_header = submission(version);
    let refused = site.trpc(SINGLE.0, &[("idempotency-key", "new")], &by_header.to_string()).await;
    assert_limited(&refused, "bytes", 1, "daily_quota_reached");
    input["answers"]["nps"] = json!("1");
    let reused = site.submit(&input).await.data();
    assert_eq!(reused["errors"]["issues"][0]["code"], "idempotency_key_reused");
}

/// A site with this number of bytes per address, called from this peer.
async fn limited_by_address_bytes(bytes: u32, peer: &str) -> Site {
    let limits = Limits { bytes_per_address: Some(burst(bytes)), ..Limits::default() };
    let mut site = Site::with_limits(limits).await;
    site.router = site.router.for_peer(peer.parse::<IpAddr>().unwrap());
    site
}

#[tokio::test]
async fn bytes_are_limited_by_address_with_and_without_a_content_length() {
    for framing in [SINGLE, ARRAY] {
        let site = limited_by_address_bytes(1_000, "203.0.113.7").await;
        let (flow, version) = site.published().await;
        let mut input = submission(version);
        let missing = 600 - body_of(framing, &input).len();
        let each = missing / if framing == SINGLE { 1 } else { 2 };
        input["answers"]["why"] = json!(format!("It works.{}", "x".repeat(each)));
        assert_eq!(send_sized(&site, framing, &input).await.status, 200);
        let refused = send_sized(&site, framing, &input).await;
        assert_limited(&refused, "address-bytes", 1_000, "rate_limited");
        assert!(refused.header("ratelimit-policy").unwrap().ends_with(";qu=\"content-bytes\""));
        let unannounced = send(&site, framing, &input).await;
        assert_limited(&unannounced, "address-bytes", 1_000, "rate_limited");
        assert_eq!(site.get(&site.path(&format!("flows/{flow}")), &[]).await.status, 200);
        let counted = site.engine.health().metrics_text();
        let stored = if framing == SINGLE { 1 } else { 2 };
        for line in [
            "sluice_limited_requests_total{reason=\"address-bytes\"} 2".to_owned(),
            format!("sluice_submissions_total{{outcome=\"stored\"}} {stored}"),
        ] {
            assert!(counted.contains(&line), "{line}: {counted}");
        }
    }
}

#[tokio::test]
async fn an_unknown_key_and_a_body_that_is_too_large_use_the_bytes_of_their_address() {
    let site = limited_by_address_bytes(1_500_000, "203.0.113.7").await;
    let json = ("content-type", "application/json");
    let call = |path: String, length: &'static str| {
        let headers = [json, ("content-length", length)];
        request(Method::POST, &path, &headers, axum::body::Body::from("{}"))
    };
    let unknown = format!("/api/v1/pk_{:022}/trpc/response.submit", 0);
    assert_eq!(site.send(call(unknown.clone(), "400000")).await.status, 401);
    // At most the largest allowed body counts, since no more would be read.
    assert_eq!(site.send(call(unknown.clone(), "999999999999")).await.status, 401);
    assert_eq!(site.send(call(unknown, "400000")).await.status, 429);
}

#[tokio::test]
async fn a_body_without_a_length_that_breaks_off_uses_the_bytes_of_its_address() {
    let site = limited_by_address_bytes(1_000, "203.0.113.7").await;
    let (_, version) = site.published().await;
    let pieces = [Ok(vec![b' '; 900]), Err(std::io::Error::other("the client is gone"))];
    let body = axum::body::Body::from_stream(futures_util::stream::iter(pieces));
    let json = [("content-type", "application/json")];
    let path = site.path("trpc/response.submit");
    assert_eq!(site.send(request(Method::POST, &path, &json, body)).await.status, 400);
    let refused = send(&site, SINGLE, &submission(version)).await;
    assert_limited(&refused, "address-bytes", 1_000, "rate_limited");
}

#[tokio::test]
async fn a_loopback_peer_is_not_limited_by_bytes() {
    let site = limited_by_address_bytes(1, "127.0.0.1").await;
    let (_, version) = site.published().await;
    for _ in 0..2 {
        assert_eq!(send_sized(&site, SINGLE, &submission(version)).await.status, 200);
    }
}

#[tokio::test]
async fn a_call_in_superjson_that_a_limit_refuses_is_answered_in_superjson() {
    for by_app in [true, false] {
        let site = if by_app {
            limited_by_app(1).await
        } else {
            limited_by_address(1, "203.0.113.7").await
        };
        let (_, version) = site.published().await;
        let input = json!({"json": submission(version)});
        assert_eq!(send_sized(&site, SINGLE, &input).await.status, 200);
        for framing in [SINGLE, ARRAY, LINES_11] {
            let refused = send_sized(&site, framing, &input).await;
            assert_eq!(refused.status, 429);
            let error = &refused.json()["error"]["json"];
            assert_eq!(error["data"]["reason"], "rate_limited", "{}", refused.text());
        }
        // Its client reads no other format, whatever the status.
        let refused = send_sized(&site, LINES_10, &input).await;
        assert_eq!(refused.status, 429);
        for call in ["0", "1"] {
            let error = &refused.json()[call]["error"]["json"];
            assert_eq!(error["data"]["reason"], "rate_limited", "{}", refused.text());
        }
        let plain = send_sized(&site, SINGLE, &submission(version)).await;
        assert_eq!(plain.json()["error"]["data"]["reason"], "rate_limited");
    }
}

#[tokio::test]
async fn a_large_body_is_not_read_before_a_refusal() {
    let site = limited_by_app(1).await;
    let (_, version) = site.published().await;
    let mut input = submission(version);
    assert_eq!(send_sized(&site, SINGLE, &input).await.status, 200);
    input["answers"]["why"] = json!("x".repeat(65_536));
    for refused in [
        send_sized(&site, SINGLE, &json!({"json": input})).await,
        send_sized(&site, LINES_10, &input).await,
        // Without an announced size.
        send(&site, SINGLE, &submission(version)).await,
    ] {
        assert_limited(&refused, "app", 1, "rate_limited");
        assert_eq!(refused.header("connection").as_deref(), Some("close"));
    }
    let small = send_sized(&site, SINGLE, &submission(version)).await;
    assert_limited(&small, "app", 1, "rate_limited");
    assert_eq!(small.header("connection"), None, "a small body is read");
}

#[tokio::test]
async fn a_preflight_counts_as_one_call_however_many_follow_it() {
    let site = limited_by_address(3, "203.0.113.7").await;
    let (_, version) = site.published().await;
    let asks = [("origin", "https://a.example"), ("access-control-request-method", "POST")];
    let path = site.path(&format!("trpc/{}", ARRAY.0));
    let preflight = request(Method::OPTIONS, &path, &asks, axum::body::Body::empty());
    assert_eq!(site.send(preflight).await.status, 204);
    assert_eq!(send(&site, ARRAY, &submission(version)).await.status, 200);
    assert_eq!(send(&site, SINGLE, &submission(version)).await.status, 429);
}
