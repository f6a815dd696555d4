//! Settings of operators: access to metrics, and HSTS.

use std::sync::Arc;

use sluice_engine::{Engine, Options};
use sluice_web::{App, AppOptions, Limits, MetricsAccess, MetricsSite, MetricsToken};
use tokio::net::TcpListener;

use crate::support::Site;

const TOKEN: &str = "a-token-for-prometheus";

async fn site_with(metrics: MetricsAccess) -> Site {
    let mut site = Site::start().await;
    let options = AppOptions { metrics, ..AppOptions::default() };
    site.router = App::new(Arc::clone(&site.engine), options);
    site
}

#[tokio::test]
async fn metrics_with_a_token_require_it() {
    let site = site_with(MetricsAccess::Token(MetricsToken::new(TOKEN))).await;
    for (authorization, is_read) in [
        ("Bearer a-token-for-prometheus", true),
        ("bearer a-token-for-prometheus", true),
        ("Bearer a-token-for-prometheu", false),
        ("Bearer", false),
        ("Basic a-token-for-prometheus", false),
        ("a-token-for-prometheus", false),
    ] {
        let reply = site.get("/metrics", &[("authorization", authorization)]).await;
        match is_read {
            true => assert!(reply.text().contains("sluice_submissions_total"), "{authorization}"),
            false => reply.assert_problem(401, "metrics_token_invalid"),
        }
    }
    let reply = site.get("/metrics", &[]).await;
    reply.assert_problem(401, "metrics_token_invalid");
    assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"));
    assert_eq!(site.get("/healthz", &[]).await.status, 200, "health needs no token");
}

#[tokio::test]
async fn a_separate_metrics_listener_serves_only_metrics_and_is_the_only_one() {
    let site = site_with(MetricsAccess::Disabled).await;
    site.get("/metrics", &[]).await.assert_problem(404, "route_not_found");

    let limits = Limits::default();
    let metrics =
        MetricsSite::new(Arc::clone(&site.engine), Some(MetricsToken::new(TOKEN)), limits);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        sluice_web::serve(listener, Arc::new(metrics), &limits, &[], std::future::pending()).await
    });
    let client = sluice_web::client_builder().build().unwrap();
    for (path, token, status) in [
        ("/metrics", TOKEN, 200),
        ("/metrics", "wrong", 401),
        ("/healthz", TOKEN, 404),
        ("/console", TOKEN, 404),
        ("/api/admin/v1/apps", TOKEN, 404),
    ] {
        let reply = client.get(format!("{base}{path}")).bearer_auth(token).send().await.unwrap();
        assert_eq!(reply.status().as_u16(), status, "{path}");
    }
    server.abort();
}

#[tokio::test]
async fn hsts_is_sent_if_the_public_url_is_https() {
    let mut site = Site::start().await;
    let (flow, _) = site.published().await;
    let paths = [
        site.path(&format!("flows/{flow}")),
        site.path("trpc/response.submit"),
        format!("/f/{flow}"),
        "/console/sign-in".to_owned(),
        "/healthz".to_owned(),
        "/nosuch".to_owned(),
    ];
    for (url, expected) in [
        ("http://feedback.example.com", None),
        ("https://feedback.example.com", Some("max-age=31536000")),
    ] {
        let options = Options { public_url: Some(url.to_owned()), ..Options::default() };
        let (store, clock) = (Arc::clone(&site.store), Arc::clone(&site.clock));
        let engine = Engine::start(store, clock, options).await.unwrap();
        site.router = App::new(engine, AppOptions::default());
        for path in &paths {
            let reply = site.get(path, &[]).await;
            let header = reply.header("strict-transport-security");
            assert_eq!(header.as_deref(), expected, "{url} {path}");
        }
    }
}
