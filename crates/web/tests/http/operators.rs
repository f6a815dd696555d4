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
async fn hsts_is_sent_if_the_public_url_is_https_and_the_whole_host() {
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
    for (url, below, expected) in [
        ("http://feedback.example.com", "", None),
        ("https://feedback.example.com", "", Some("max-age=31536000")),
        ("https://example.com/feedback", "/feedback", None),
    ] {
        let options = Options { public_url: Some(url.to_owned()), ..Options::default() };
        let (store, clock) = (Arc::clone(&site.store), Arc::clone(&site.clock));
        let engine = Engine::start(store, clock, options).await.unwrap();
        site.router = App::new(engine, AppOptions::default());
        for path in &paths {
            let reply = site.get(&format!("{below}{path}"), &[]).await;
            let header = reply.header("strict-transport-security");
            assert_eq!(header.as_deref(), expected, "{url} {path}");
        }
    }
}

#[tokio::test]
async fn metrics_count_by_route_class_of_status_and_code() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    site.get(&site.path(&format!("flows/{flow}")), &[]).await;
    site.get("/api/v1/pk_unknown/flows/x", &[]).await;
    site.get("/api/admin/v1/apps", &[("authorization", "Bearer unknown")]).await;
    site.trpc("response.submit", &[], "{}").await;
    site.trpc("response.nosuch", &[], "{}").await;
    let metrics = site.get("/metrics", &[]).await.text();
    let duration = "sluice_http_request_duration_seconds_count";
    for line in [
        format!("{duration}{{route=\"/api/v1/{{apiKey}}/flows/{{flowId}}\",status=\"2xx\"}} 1"),
        format!("{duration}{{route=\"/api/v1/{{apiKey}}/flows/{{flowId}}\",status=\"4xx\"}} 1"),
        format!("{duration}{{route=\"/api/v1/{{apiKey}}/trpc/{{*procedure}}\",status=\"2xx\"}} 1"),
        format!("{duration}{{route=\"/api/v1/{{apiKey}}/trpc/{{*procedure}}\",status=\"4xx\"}} 1"),
        format!("{duration}{{route=\"/api/admin/v1/apps\",status=\"4xx\"}} 1"),
        "sluice_http_refusals_total{code=\"api_key_invalid\"} 1".to_owned(),
        "sluice_http_refusals_total{code=\"token_invalid\"} 1".to_owned(),
        "sluice_http_refusals_total{code=\"NOT_FOUND\"} 1".to_owned(),
        // Three fields are missing; the code counts once.
        "sluice_submission_issues_total{code=\"field_required\"} 1".to_owned(),
        "sluice_submission_issues_total{code=\"quota_full\"} 0".to_owned(),
        "sluice_ready 1".to_owned(),
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn metrics_have_the_format_that_the_client_asks_for() {
    let site = Site::start().await;
    let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    for (accept, media_type, counter, is_open) in [
        (Some(prometheus), "application/openmetrics-text", "sluice_submissions", true),
        (Some("text/plain;version=0.0.4"), "text/plain", "sluice_submissions_total", false),
        (Some("*/*"), "text/plain", "sluice_submissions_total", false),
        (None, "text/plain", "sluice_submissions_total", false),
    ] {
        let headers: Vec<_> = accept.map(|accept| ("accept", accept)).into_iter().collect();
        let reply = site.get("/metrics", &headers).await;
        assert!(reply.header("content-type").unwrap().starts_with(media_type), "{accept:?}");
        let text = reply.text();
        assert!(text.contains(&format!("# TYPE {counter} counter\n")), "{accept:?}: {text}");
        assert_eq!(text.ends_with("# EOF\n"), is_open, "{accept:?}");
        assert!(text.contains("\nprocess_open_fds "), "{accept:?}: {text}");
    }
}

#[tokio::test]
async fn metrics_show_that_a_server_is_not_ready() {
    let site = Site::start().await;
    assert!(site.get("/metrics", &[]).await.text().contains("\nsluice_ready 1\n"));
    site.engine.close().await;
    // The first answer is shared for a second.
    let not_ready = async {
        while !site.get("/metrics", &[]).await.text().contains("\nsluice_ready 0\n") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), not_ready).await.unwrap();
}
