//! Which routes the public listener serves if the administration has a separate one: those in the
//! table here, and no others. The routes are extracted from the source, so a new one is for the
//! administration unless it is added to the table.

use std::collections::BTreeSet;
use std::path::Path;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use sluice_web::App;
use tower::ServiceExt as _;

use crate::permissions::source::files;
use crate::support::{HOST, Site};

/// What respondents, their apps, readers of reports and load balancers need.
const PUBLIC: &[&str] = &[
    "/api/v1/{apiKey}/flows/{flowId}",
    "/api/v1/{apiKey}/flow_versions/{flowVersionId}",
    "/api/v1/{apiKey}/flow_versions/{flowVersionId}/schema",
    "/api/v1/{apiKey}/visits",
    "/api/v1/{apiKey}/trpc",
    "/api/v1/{apiKey}/trpc/",
    "/api/v1/{apiKey}/trpc/{*procedure}",
    "/f/{flowId}",
    "/f/{flowId}/done",
    "/f/{flowId}/opened",
    "/f/{flowId}/visit",
    "/f/{flowId}/test/{token}",
    "/f/{flowId}/{file}",
    "/f/assets/{file}",
    "/a/{assetId}",
    "/u/{mailId}",
    "/r/{secret}",
    "/console/assets/{version}/{*file}",
    "/livez",
    "/healthz",
    "/readyz",
];

/// The templates of all routes.
fn routes() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for name in ["api", "hosted", "console", "docs", "web"] {
        let files = files(&crates.join(name).join("src"));
        let texts: Vec<String> =
            files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        for text in &texts {
            for (at, call) in text.match_indices(".route(") {
                let path = text[at + call.len()..].split(',').next().unwrap().trim();
                // Flows have routes as well.
                let is_name = path.ends_with(|last: char| last.is_ascii_uppercase());
                if !path.starts_with('"') && !is_name {
                    continue;
                }
                found.insert(template(path, text, &texts));
            }
        }
    }
    // The rest has its routes in the document that it serves.
    let document = sluice_web::openapi::document();
    found.extend(document["paths"].as_object().unwrap().keys().cloned());
    found.extend(["/openapi.json".to_owned(), "/schemas/definition.json".to_owned()]);
    // Calls of one route.
    found.retain(|path| !path.contains("/trpc/response."));
    found
}

/// A string literal, or the value of a constant, here or in another file of the crate.
fn template(path: &str, here: &str, crate_texts: &[String]) -> String {
    if let Some(path) = path.strip_prefix('"') {
        return path.trim_end_matches('"').to_owned();
    }
    let constant = format!("const {}: &str = \"", path.rsplit("::").next().unwrap());
    let defines = |text: &&str| text.contains(&constant);
    let text = match path.rsplit_once("::") {
        None => Some(here),
        Some((module, _)) => {
            let header = format!("pub(super) {constant}");
            let others =
                crate_texts.iter().map(String::as_str).filter(|text| text.contains(&header));
            // Two modules may use one name; the module's own name is in its first lines.
            let mut others: Vec<&str> = others.collect();
            others
                .sort_by_key(|text| !text.lines().take(3).any(|line| line.contains(&module[..4])));
            others.first().copied()
        }
    };
    let text = text.filter(defines).unwrap_or_else(|| panic!("no constant {path}"));
    let (_, value) = text.split_once(&constant).unwrap();
    value.split('"').next().unwrap().to_owned()
}

/// Whether a request reaches the route of this template.
async fn reaches(site: &Site, app: &App, template: &str) -> bool {
    let mut path = String::new();
    for part in template.split('/').skip(1) {
        let filled = if part.starts_with("{*") { "x/y" } else { part };
        path.push('/');
        path.push_str(if filled.starts_with('{') { "x" } else { filled });
    }
    let before = counted(site, template);
    let request = Request::builder().uri(&path).header("host", HOST).body(Body::empty()).unwrap();
    let (head, body) = app.clone().oneshot(request).await.unwrap().into_parts();
    body.collect().await.unwrap();
    let is_reached = counted(site, template) > before;
    assert!(is_reached || head.status == 404, "{path}: {}", head.status);
    is_reached
}

/// The exchanges with this route so far.
fn counted(site: &Site, template: &str) -> u64 {
    let label = format!("route=\"{template}\"");
    let text = site.engine.health().metrics_text();
    let requests = text.lines().filter(|line| line.starts_with("sluice_http_requests_total"));
    let lines = requests.filter(|line| line.contains(&label));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn the_public_listener_has_the_routes_of_the_table_and_that_of_the_administration_has_all() {
    let site = Site::start().await;
    let public = site.router.public_part();
    let routes = routes();
    assert!(routes.len() > 150, "{routes:#?}");
    for path in PUBLIC {
        assert!(routes.contains(*path), "{path} is in the table, but is not a route");
    }
    let mut wrong = Vec::new();
    for path in &routes {
        let expected = PUBLIC.contains(&path.as_str());
        if reaches(&site, &public, path).await != expected {
            wrong.push(format!("{path}: on the public listener: {}", !expected));
        }
        if !reaches(&site, &site.router, path).await {
            wrong.push(format!("{path}: not on the listener of the administration"));
        }
    }
    assert!(
        wrong.is_empty(),
        "a route that respondents, their apps or readers of reports need is in the table PUBLIC and \
         in the public part of crates/web/src/app.rs:\n{}",
        wrong.join("\n")
    );
}
