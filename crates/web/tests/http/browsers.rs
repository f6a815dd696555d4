//! Replies to browsers on other origins.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Method;
use sluice_engine::AppPatch;

use crate::support::{Site, actor, request};

const LISTED: &str = "https://app.example";

async fn site_with_origins(origins: &[&str]) -> Site {
    let site = Site::start().await;
    let allowed_origins = Some(origins.iter().map(|&origin| origin.to_owned()).collect());
    let patch = AppPatch { allowed_origins, ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
    site
}

#[tokio::test]
async fn an_app_without_origins_is_open_to_all_without_credentials() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let flow = format!("flows/{flow}");
    for path in [&flow, "flows/unknown", "trpc/response.submit", "trpc/nope", "nosuch", "a/b"] {
        let reply = site.get(&site.path(path), &[("origin", "https://any.example")]).await;
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"), "{path}");
        assert_eq!(reply.header("access-control-allow-credentials"), None);
        let exposed = reply.header("access-control-expose-headers").unwrap();
        assert_eq!(
            exposed,
            "ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, x-request-id"
        );
    }
}

#[tokio::test]
async fn a_listed_origin_is_echoed_and_an_unlisted_one_gets_no_permission() {
    let site = site_with_origins(&[LISTED, "http://localhost:3000"]).await;
    let (flow, _) = site.published().await;
    for path in [&format!("flows/{flow}"), "flows/unknown", "trpc/response.submit", "nosuch"] {
        let path = site.path(path);
        let plain = site.get(&path, &[]).await;
        for (origin, allowed) in [
            (LISTED, Some(LISTED)),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("https://app.example.evil", None),
            ("https://APP.example", None),
            ("null", None),
        ] {
            let reply = site.get(&path, &[("origin", origin)]).await;
            assert_eq!(reply.status, plain.status, "{path}");
            let header = reply.header("access-control-allow-origin");
            assert_eq!(header.as_deref(), allowed, "{origin} {path}");
            assert!(reply.header("vary").unwrap().contains("Origin"));
        }
        assert!(plain.header("vary").unwrap().contains("Origin"));
    }
}

#[tokio::test]
async fn a_preflight_is_answered_204_on_every_public_path_and_for_unknown_keys() {
    let site = Site::start().await;
    let unknown = "/api/v1/pk_0000000000000000000000/trpc/response.submit";
    for path in [
        &site.path("flows/any"),
        &site.path("flow_versions/any?payload=4"),
        &site.path("trpc/response.submit,response.submit?batch=1"),
        &site.path("nosuch"),
        unknown,
    ] {
        let headers = [
            ("origin", LISTED),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type,trpc-accept"),
        ];
        let reply = site.send(request(Method::OPTIONS, path, &headers, Body::empty())).await;
        assert_eq!((reply.status, reply.body.len()), (204, 0), "{path}");
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
        assert_eq!(reply.header("access-control-max-age").as_deref(), Some("86400"));
        let methods = reply.header("access-control-allow-methods").unwrap();
        let allowed = reply.header("access-control-allow-headers").unwrap();
        for name in ["GET", "POST"] {
            assert!(methods.contains(name), "{methods}");
        }
        assert_eq!(allowed, "content-type,trpc-accept");
    }
}

#[tokio::test]
async fn a_preflight_echoes_only_listed_origins() {
    let site = site_with_origins(&[LISTED]).await;
    for (origin, allowed) in [(LISTED, Some(LISTED)), ("https://other.example", None)] {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        let path = site.path("trpc/response.submit");
        let reply = site.send(request(Method::OPTIONS, &path, &headers, Body::empty())).await;
        assert_eq!(reply.status, 204);
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), allowed);
        let vary = reply.header("vary");
        assert_eq!(vary.as_deref(), Some("Origin, Access-Control-Request-Headers"));
    }
}

#[tokio::test]
async fn a_preflight_allows_the_headers_that_it_asks_for() {
    let site = Site::start().await;
    let long = ["x-a"; 300].join(",");
    for (asked, expected) in [
        (Some("traceparent, sentry-trace,baggage"), Some("traceparent, sentry-trace,baggage")),
        (Some("x-trpc-source"), Some("x-trpc-source")),
        (None, None),
        (Some("no name"), None),
        (Some("x-a;x-b"), None),
        (Some(""), None),
        (Some(&long), None),
    ] {
        let mut headers = vec![("origin", LISTED), ("access-control-request-method", "POST")];
        headers.extend(asked.map(|asked| ("access-control-request-headers", asked)));
        let path = site.path("trpc/response.submit");
        let reply = site.send(request(Method::OPTIONS, &path, &headers, Body::empty())).await;
        let allowed = reply.header("access-control-allow-headers").unwrap();
        match expected {
            Some(expected) => assert_eq!(allowed, expected),
            // The list of headers that the service reads.
            None => assert!(allowed.contains("idempotency-key") && !allowed.contains("x-a")),
        }
        assert!(reply.header("vary").unwrap().contains("Access-Control-Request-Headers"));
    }
}

#[tokio::test]
async fn wildcards_and_native_schemes_are_allowed_to_read_replies() {
    let site = site_with_origins(&["https://*.Example.com/", "capacitor://localhost"]).await;
    let (flow, _) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    for (origin, is_allowed) in [
        ("https://shop.example.com", true),
        ("https://a.b.example.com", true),
        ("capacitor://localhost", true),
        ("https://example.com", false),
        ("http://shop.example.com", false),
        ("https://shop.example.com.evil", false),
        ("ionic://localhost", false),
    ] {
        let reply = site.get(&path, &[("origin", origin)]).await;
        let allowed = reply.header("access-control-allow-origin");
        assert_eq!(allowed.as_deref(), is_allowed.then_some(origin), "{origin}");
    }
}
