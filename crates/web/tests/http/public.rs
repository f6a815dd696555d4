//! The two reads: errors, entity tags, compression and caching; and what every exchange of the
//! service has in common.

use crate::use_cases::UseCases as _;
use std::io::Read;

use axum::body::Body;
use http::Method;
use serde_json::json;

use crate::support::{Reply, START, Site, actor, request, survey};

#[tokio::test]
async fn an_unresolvable_flow_is_refused_with_a_reason() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let draft = site.flow(survey()).await;
    let other = site.other_app().await;
    let other_key = other.key.as_str();
    let (archived, _) = site.published().await;
    site.engine.archive_flow(&actor(), archived).await.unwrap();
    let key = site.key.as_str();
    for (key, id, code) in [
        (key, "fl_0000000000000000000001".to_owned(), "flow_not_found"),
        (key, "%FF".to_owned(), "flow_not_found"),
        (key, archived.to_string(), "flow_not_found"),
        (other_key, flow.to_string(), "flow_not_found"),
        (key, draft.to_string(), "flow_not_published"),
    ] {
        let reply = site.get(&format!("/api/v1/{key}/flows/{id}"), &[]).await;
        reply.assert_problem(404, code);
    }
}

/// RFC 3986, section 6.2.2.2: an escape of such a character does not change an address.
#[tokio::test]
async fn escapes_in_a_key_or_an_id_make_no_difference() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for (method, rest) in [
        (Method::GET, format!("flows/{flow}")),
        (Method::HEAD, format!("flows/{flow}")),
        (Method::GET, format!("flow_versions/{version}?payload=4")),
        (Method::GET, format!("flow_versions/{version}/schema?payload=4")),
        (Method::POST, format!("flows/{flow}")),
        (Method::GET, "nothing".to_owned()),
        (Method::POST, "visits".to_owned()),
        (Method::POST, "trpc/response.validate".to_owned()),
    ] {
        let path = site.path(&rest);
        let escaped = ["pk_", "fl_", "fv_"].iter().fold(path.clone(), |path, prefix| {
            let letter = &prefix[..1];
            path.replace(prefix, &format!("{letter}%{:02x}%5F", prefix.as_bytes()[1]))
        });
        assert_ne!(escaped, path);
        let send = async |path: &str| {
            let headers = [("content-type", "application/json"), ("origin", "https://a.example")];
            site.send(request(method.clone(), path, &headers, Body::from("{}"))).await
        };
        let (expected, reply) = (send(&path).await, send(&escaped).await);
        assert_eq!((reply.status, reply.text()), (expected.status, expected.text()), "{escaped}");
        assert_ne!(reply.status, 401, "{escaped}");
        let origin = "access-control-allow-origin";
        assert_eq!(reply.header(origin), expected.header(origin), "{escaped}");
    }
}

#[tokio::test]
async fn an_escaped_slash_separates_nothing() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for (path, status, code) in [
        (site.path(&format!("flows/x%2F{flow}")), 404, "flow_not_found"),
        (site.path(&format!("flows/{flow}%2Fx")), 404, "flow_not_found"),
        (site.path(&format!("flows%2F{flow}")), 404, "route_not_found"),
        (
            site.path(&format!("flow_versions/{version}%2Fschema?payload=4")),
            404,
            "flow_version_not_found",
        ),
        (format!("/api/v1/{}%2Fx/flows/{flow}", site.key), 401, "api_key_invalid"),
        (format!("/api/v1/{}%2Fflows/{flow}", site.key), 404, "route_not_found"),
    ] {
        site.get(&path, &[]).await.assert_problem(status, code);
    }
}

#[tokio::test]
async fn a_flow_whose_version_was_retired_has_no_current_version() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.engine.retire(&actor(), version).await.unwrap();
    let reply = site.get(&site.path(&format!("flows/{flow}")), &[]).await;
    reply.assert_problem(404, "flow_not_published");
    assert_eq!(reply.json()["detail"], "This flow has no published version at the moment.");
}

#[tokio::test]
async fn an_unavailable_version_is_refused_with_a_reason() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let draft = site.flow(survey()).await;
    let draft = site.engine.get_draft(&actor(), draft).await.unwrap().flow_version_id;
    let (_, retired) = site.published().await;
    site.engine.retire(&actor(), retired).await.unwrap();
    for (rest, status, code) in [
        (format!("{version}"), 400, "payload_generation_required"),
        (format!("{version}?payload=3"), 400, "payload_generation_unsupported"),
        (format!("{version}?payload="), 400, "payload_generation_unsupported"),
        (format!("{version}?payload=3&payload=4"), 400, "payload_generation_unsupported"),
        ("fv_0000000000000000000001?payload=4".to_owned(), 404, "flow_version_not_found"),
        (format!("{flow}?payload=4"), 404, "flow_version_not_found"),
        (format!("{draft}?payload=4"), 404, "flow_version_not_found"),
        (format!("{retired}?payload=4"), 404, "flow_version_not_found"),
    ] {
        let reply = site.get(&site.path(&format!("flow_versions/{rest}")), &[]).await;
        reply.assert_problem(status, code);
        if status == 400 {
            assert!(reply.json()["detail"].as_str().unwrap().contains("payload=4"), "{rest}");
        }
    }
    let first_counts = site.path(&format!("flow_versions/{version}?payload=4&payload=3"));
    assert_eq!(site.get(&first_counts, &[]).await.status, 200);
}

#[tokio::test]
async fn a_superseded_version_is_served_until_it_is_retired() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.publish_again(flow).await;
    site.at(1_000_000);
    let path = site.path(&format!("flow_versions/{old}?payload=4"));
    assert_eq!(site.get(&path, &[]).await.status, 200);
    site.engine.retire(&actor(), old).await.unwrap();
    site.get(&path, &[]).await.assert_problem(404, "flow_version_not_found");
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    assert_eq!(site.get(&path, &[]).await.status, 200);
    let key = site.key.parse().unwrap();
    site.engine.revoke_key(&actor(), site.app, &key).await.unwrap();
    site.get(&path, &[]).await.assert_problem(401, "api_key_invalid");
}

#[tokio::test]
async fn a_matching_entity_tag_is_answered_304() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
        let path = site.path(&path);
        let full = site.get(&path, &[]).await;
        let etag = full.header("etag").unwrap();
        assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag} must be strong");
        for held in [etag.clone(), format!("\"x\", W/{etag}"), "*".to_owned()] {
            let reply = site.get(&path, &[("if-none-match", &held)]).await;
            assert_eq!((reply.status, reply.body.len()), (304, 0), "{held}");
            for name in ["etag", "cache-control", "vary"] {
                assert_eq!(reply.header(name), full.header(name), "{name}");
            }
            assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
        }
        let reply = site.get(&path, &[("if-none-match", "\"other\"")]).await;
        assert_eq!((reply.status, reply.body), (200, full.body));
    }
}

#[tokio::test]
async fn a_publish_changes_the_entity_tag_of_its_flow() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let path = site.path(&format!("flows/{flow}"));
    let etag = site.get(&path, &[]).await.header("etag").unwrap();
    site.publish_again(flow).await;
    assert_eq!(site.get(&path, &[("if-none-match", &etag)]).await.status, 200);
}

#[tokio::test]
async fn a_snapshot_is_compressed_if_the_client_accepts_it() {
    let site = Site::start().await;
    let mut definition = survey();
    definition["description"] = json!("All that we want to know. ".repeat(50));
    let flow = site.flow(definition).await;
    let version = site.publish(flow).await;
    let path = site.path(&format!("flow_versions/{version}?payload=4"));
    let plain = site.get(&path, &[]).await;
    assert_eq!(plain.header("content-encoding"), None);

    let gzip = site.get(&path, &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(gzip.header("content-encoding").as_deref(), Some("gzip"));
    assert!(gzip.body.len() < plain.body.len());
    assert_eq!(unzipped(&gzip), plain.body);
    let (etag, gzip_etag) = (plain.header("etag").unwrap(), gzip.header("etag").unwrap());
    assert_ne!(etag, gzip_etag, "another representation has another strong tag");
    for reply in [&plain, &gzip] {
        assert_eq!(reply.header("vary").as_deref(), Some("Accept-Encoding"));
    }

    let held = [("accept-encoding", "gzip"), ("if-none-match", gzip_etag.as_str())];
    assert_eq!(site.get(&path, &held).await.status, 304);
    let refused = [("accept-encoding", "gzip;q=0, *")];
    assert_eq!(site.get(&path, &refused).await.header("content-encoding"), None);
}

fn unzipped(reply: &Reply) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(reply.body.as_ref()).read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_snapshot_is_cached_as_immutable_and_a_flow_until_its_next_change() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let path = site.path(&format!("flow_versions/{version}?payload=4"));
    let snapshot = site.get(&path, &[]).await;
    let for_ever = "public, max-age=31536000, immutable";
    assert_eq!(snapshot.header("cache-control").as_deref(), Some(for_ever));

    let path = site.path(&format!("flows/{flow}"));
    let edges = (Some(START + 10_000), Some(START + 20_000));
    site.live_window(flow, edges.0, edges.1).await;
    for (at, status, freshness) in [
        (0, "scheduled", "public, max-age=5"),
        (5_000, "scheduled", "public, max-age=5"),
        (5_001, "scheduled", "public, max-age=4"),
        (9_000, "scheduled", "public, max-age=1"),
        (9_001, "scheduled", "no-cache"),
        (9_999, "scheduled", "no-cache"),
        (10_000, "open", "public, max-age=5"),
        (17_500, "open", "public, max-age=2"),
        (19_999, "open", "no-cache"),
        (20_000, "closed", "public, max-age=5"),
    ] {
        site.at(at);
        let reply = site.get(&path, &[]).await;
        assert_eq!(reply.json()["status"], status, "{at}");
        assert_eq!(reply.header("cache-control").as_deref(), Some(freshness), "{at}");
    }
}

#[tokio::test]
async fn head_is_answered_like_get_without_a_body() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    for path in [format!("flows/{flow}"), format!("flow_versions/{version}?payload=4")] {
        let path = site.path(&path);
        let get = site.get(&path, &[]).await;
        let head = site.send(request(Method::HEAD, &path, &[], Body::empty())).await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("etag"), get.header("etag"));
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string()));
    }
}

#[tokio::test]
async fn an_unknown_path_is_a_404_and_a_wrong_method_a_405_with_allow() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    for path in ["/api/v1", "/api/v2/x/flows/y", "/api/v1/x/flows", "/nope"] {
        site.get(path, &[]).await.assert_problem(404, "route_not_found");
    }
    for path in [site.path(&format!("flows/{flow}")), "/healthz".to_owned()] {
        let reply = site.send(request(Method::POST, &path, &[], Body::empty())).await;
        reply.assert_problem(405, "method_not_allowed");
        let allow = reply.header("allow").unwrap();
        assert!(allow.contains("GET") && allow.contains("HEAD"), "{allow}");
    }
}

#[tokio::test]
async fn every_reply_has_a_request_id_and_the_security_headers() {
    let site = Site::start().await;
    for path in ["/healthz", "/nope", &site.path("flows/x"), &site.path("trpc/nope")] {
        let reply = site.get(path, &[("x-request-id", "trace-1")]).await;
        assert_eq!(reply.header("x-request-id").as_deref(), Some("trace-1"), "{path}");
        assert_eq!(reply.header("x-content-type-options").as_deref(), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy").as_deref(), Some("no-referrer"));
        let made = site.get(path, &[("x-request-id", "not sane!")]).await;
        assert_ne!(made.header("x-request-id").unwrap(), "not sane!");
    }
}

#[tokio::test]
async fn operators_can_read_liveness_readiness_and_metrics() {
    let site = Site::start().await;
    assert_eq!(site.get("/healthz", &[]).await.status, 200);
    assert_eq!(site.get("/readyz", &[]).await.status, 200);
    let (flow, _) = site.published().await;
    site.get(&site.path(&format!("flows/{flow}")), &[]).await;
    site.trpc("response.submit", &[], "{}").await;
    let metrics = site.get("/metrics", &[]).await.text();
    for line in [
        r#"sluice_http_requests_total{route="/api/v1/{apiKey}/flows/{flowId}",status="200"} 1"#,
        r#"sluice_http_requests_total{route="/api/v1/{apiKey}/trpc/{*procedure}",status="200"} 1"#,
        r#"sluice_submissions_total{outcome="refused"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains(&site.key));
}

#[tokio::test]
async fn without_its_store_the_service_is_alive_and_answers_503_with_retry_after() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    site.engine.close().await;
    for alive in ["/livez", "/healthz"] {
        assert_eq!(site.get(alive, &[]).await.status, 200);
    }
    let not_ready = site.get("/readyz", &[]).await;
    not_ready.assert_problem(503, "not_ready");
    let down = site.get(&site.path(&format!("flows/{flow}")), &[]).await;
    down.assert_problem(503, "store_unavailable");
    for reply in [not_ready, down] {
        assert_eq!(reply.header("retry-after").as_deref(), Some("2"));
    }
    let reply = site.trpc("response.submit", &[], "{}").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json()["error"]["data"]["code"], "SERVICE_UNAVAILABLE");
    assert_eq!(reply.json()["error"]["code"], -32603);
    assert_eq!(reply.header("retry-after").as_deref(), Some("2"));
}
