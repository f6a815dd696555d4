//! Walls, over all routes: they are read out of the console's source, so that a new one cannot be forgotten.
//!
//! Every GET and POST is sent by whoever is signed out, by a viewer, by people and tokens of another app, and from
//! another site. What a route takes in its path is filled with real ids.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use axum::body::Body;
use serde_json::json;
use sluice_engine::rows::{IdentityKeyKind, Page, Role, Scope};
use sluice_engine::{Duplicates, NewIdentityKey, NewInvitation};
use sluice_flow::id::AppId;
use sluice_flow::invitation::Invitee;
use sluice_store::Record;

use crate::support::{Browser, ORIGIN, Site, actor, definition};

/// Who may come without being signed in.
const OPEN: &[&str] = &[
    "/",
    "/console/assets/{version}/{*file}",
    "/console/sign-in",
    "/console/welcome",
    "/console/sign-out",
    "/console/oidc",
    "/console/oidc/callback",
];
/// What everybody who is signed in may send, for it is their own.
const OWN: &[&str] = &["/console/settings/account", "/console/{*rest}"];
/// What takes a form of whoever may read, judges it and stores nothing: looks at pages beforehand.
const LOOKS: &[&str] =
    &["/console/apps/{appId}/templates/{template}", "/console/flows/{flowId}/preview"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Route {
    method: &'static str,
    path: String,
}

/// Every route of the console.
fn routes() -> Vec<Route> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
    let mut found = Vec::new();
    for file in files(&source) {
        let text = std::fs::read_to_string(&file).unwrap();
        found.extend(routes_in(&text, &file));
    }
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = here.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    rust.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

fn routes_in(text: &str, file: &Path) -> Vec<Route> {
    let mut found = Vec::new();
    for (at, call) in text.match_indices(".route(") {
        let arguments = balanced(&text[at + call.len()..]);
        let (path, methods) = arguments.split_once(',').unwrap();
        let path = literal(text, path.trim())
            .unwrap_or_else(|| panic!("{}: the path of .route({path} …", file.display()));
        let before = found.len();
        for (word, method) in
            [("get(", "GET"), ("post(", "POST"), ("put(", "PUT"), ("delete(", "DELETE")]
        {
            let names = methods.match_indices(word).any(|(at, _)| {
                let before = methods[..at].chars().next_back();
                before.is_none_or(|letter| letter == '.' || letter.is_whitespace())
            });
            if names {
                found.push(Route { method, path: path.clone() });
            }
        }
        assert!(found.len() > before, "{}: the methods of {path}", file.display());
    }
    found
}

/// What stands before the closing bracket.
fn balanced(text: &str) -> &str {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// A text, or the constant of the same file.
fn literal(text: &str, path: &str) -> Option<String> {
    if let Some(path) = path.strip_prefix('"') {
        return Some(path.trim_end_matches('"').to_owned());
    }
    let constant = format!("const {path}: &str =");
    let (_, value) = text.split_once(&constant)?;
    Some(value.trim_start().strip_prefix('"')?.split('"').next()?.to_owned())
}

#[test]
fn routes_are_read_as_they_are_written() {
    let text = r#"const PAGE: &str = "/a/{x}"; Router::new().route(PAGE, get(show).post(sent))
        .route("/b", post(budget(get_one))).route("/c", get(async || reply::see_other("/")))"#;
    let found = routes_in(text, Path::new("x"));
    let told: Vec<_> = found.iter().map(|it| format!("{} {}", it.method, it.path)).collect();
    assert_eq!(told, ["GET /a/{x}", "POST /a/{x}", "POST /b", "GET /c"]);
}

/// An app with one of everything, and what paths name it by.
struct Shop {
    app: AppId,
    ids: BTreeMap<&'static str, String>,
}

impl Shop {
    async fn open(site: &Site, name: &str) -> Self {
        let app = site.app(name).await;
        let (flow, version) = site.flow(app, definition(name)).await;
        let admitted = json!({
            "respondentAnalyticsAdmission": "admitted", "answers": {"nps": "9"},
            "identities": [{"type": "userId", "value": "7"}]
        });
        let response = site.respond(app, version, admitted).await;
        let row = site.engine.get_response(&actor(), response).await.unwrap();
        let key = site.engine.get_app(&actor(), app).await.unwrap().api_keys[0].to_string();
        let invitee = Invitee { user_id: Some("8".into()), email: None };
        let invited = [NewInvitation { invitee, expires_at: None, line: None }];
        let invited = site.engine.invite(&actor(), flow, &invited, Duplicates::Refuse, false).await;
        let invitation = invited.unwrap()[0].row.assignment_id.to_string();
        let hs256 = NewIdentityKey {
            kind: IdentityKeyKind::Hs256,
            pem: None,
            jwk: None,
            url: None,
            kid: None,
            issuer: None,
        };
        let (identity_key, _) =
            site.engine.create_identity_key(&actor(), app, &hs256).await.unwrap();
        let ids = BTreeMap::from([
            ("appId", app.to_string()),
            ("flowId", flow.to_string()),
            ("flowVersionId", version.to_string()),
            ("responseId", response.to_string()),
            ("respondentId", row.respondent_id.unwrap().to_string()),
            ("apiKey", key),
            ("flowAssignmentId", invitation),
            ("kid", identity_key.kid),
        ]);
        Self { app, ids }
    }

    /// The route with real ids. What is of no app is made up.
    fn address(&self, route: &Route, of_instance: &BTreeMap<&'static str, String>) -> String {
        let parts = route.path.split('/').map(|part| {
            let Some(name) = part.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
                return part.to_owned();
            };
            let known = self.ids.get(name).or_else(|| of_instance.get(name)).cloned();
            known.unwrap_or_else(|| "nps".to_owned())
        });
        parts.collect::<Vec<_>>().join("/")
    }
}

struct World {
    site: Site,
    own: Shop,
    other: Shop,
    of_instance: BTreeMap<&'static str, String>,
}

impl World {
    async fn new() -> Self {
        let site = Site::start().await;
        let (own, other) = (Shop::open(&site, "Own").await, Shop::open(&site, "Other").await);
        site.token(&[Scope::Read], None).await;
        let token = site.engine.list_tokens(&actor()).await.unwrap()[0].token_id.to_string();
        let user = site.user("owner@mail.example", None, Role::Owner).await.to_string();
        let of_instance = BTreeMap::from([("tokenId", token), ("userId", user)]);
        Self { site, own, other, of_instance }
    }

    /// Everything that is stored, apart from sign-ins.
    async fn stored(&self) -> Vec<Record> {
        let all = self.site.store.read_out(None, 100_000).await.unwrap();
        let is_session = |record: &Record| match record {
            Record::Audit(row) => row.action.starts_with("session."),
            _ => false,
        };
        all.into_iter().filter(|record| !is_session(record)).collect()
    }

    async fn send(&self, browser: &Browser<'_>, route: &Route, shop: &Shop) -> u16 {
        let address = shop.address(route, &self.of_instance);
        let reply = match route.method {
            "GET" => browser.get(&address).await,
            method => {
                let request = browser.request(method, &address).header("origin", ORIGIN);
                browser.send(request.body(Body::empty()).unwrap()).await
            }
        };
        if reply.status == 303 && reply.to().starts_with("/console/sign-in") {
            401
        } else {
            reply.status
        }
    }
}

fn is_open(route: &Route) -> bool {
    OPEN.contains(&route.path.as_str())
}

fn names_an_app(route: &Route) -> bool {
    route.path.contains('{')
        && !["{tokenId}", "{userId}", "{*rest}", "{*file}"].iter().any(|it| route.path.contains(it))
        || route.path.contains("{appId}")
}

#[tokio::test]
async fn whoever_is_signed_out_comes_to_the_sign_in_page_from_everywhere() {
    let world = World::new().await;
    let before = world.stored().await;
    let mut wrong = Vec::new();
    for route in routes().iter().filter(|route| !is_open(route)) {
        let status = world.send(&world.site.browser(), route, &world.own).await;
        if status != 401 {
            wrong.push((status, route.clone()));
        }
    }
    assert!(wrong.is_empty(), "not led to the sign-in page: {wrong:#?}");
    assert!(world.stored().await == before, "something was written");
}

#[tokio::test]
async fn a_viewer_writes_nothing_anywhere() {
    let world = World::new().await;
    let everywhere = world.site.signed_in(None, Role::Viewer).await;
    let of_app = world.site.signed_in(Some(world.own.app), Role::Viewer).await;
    let token = world.site.token(&[Scope::Read], None).await;
    let by_token = world.site.with_token(&token).await;
    let before = world.stored().await;
    let mut wrong = Vec::new();
    for route in routes().iter().filter(|it| it.method != "GET" && !is_open(it)) {
        if OWN.contains(&route.path.as_str()) {
            continue;
        }
        for (who, browser) in [("viewer", &everywhere), ("of app", &of_app), ("token", &by_token)] {
            let status = world.send(browser, route, &world.own).await;
            if status != 403 && !LOOKS.contains(&route.path.as_str()) {
                wrong.push((status, who, route.clone()));
            }
        }
    }
    assert!(wrong.is_empty(), "not refused: {wrong:#?}");
    assert!(world.stored().await == before, "something was written");
}

#[tokio::test]
async fn nobody_finds_anything_of_another_app() {
    let world = World::new().await;
    let owner = world.site.signed_in(Some(world.own.app), Role::Owner).await;
    let token = world.site.token(&[Scope::Admin], Some(world.own.app)).await;
    let by_token = world.site.with_token(&token).await;
    let before = world.stored().await;
    let mut wrong = Vec::new();
    for route in routes().iter().filter(|route| !is_open(route)) {
        if OWN.contains(&route.path.as_str()) {
            continue;
        }
        for (who, browser) in [("owner", &owner), ("token", &by_token)] {
            let status = world.send(browser, route, &world.other).await;
            let expected = match (names_an_app(route), route.method) {
                (true, _) => status == 404,
                // A page about the instance is refused, or shows what is theirs alone.
                (false, "GET") => matches!(status, 200 | 303 | 403),
                (false, _) => status == 403,
            };
            if !expected {
                wrong.push((status, who, route.clone()));
            }
        }
    }
    assert!(wrong.is_empty(), "found, or told apart from what is not there: {wrong:#?}");
    assert!(world.stored().await == before, "something was written");
}

#[tokio::test]
async fn no_page_of_the_instance_names_an_app_of_others() {
    let world = World::new().await;
    let owner = world.site.signed_in(Some(world.own.app), Role::Owner).await;
    for route in routes().iter().filter(|it| it.method == "GET" && !it.path.contains('{')) {
        let reply = owner.get(&route.path).await;
        assert!(!reply.text.contains(&world.other.app.to_string()), "{route:?}");
    }
}

#[tokio::test]
async fn a_write_from_another_site_is_refused_everywhere() {
    let world = World::new().await;
    let root = world.site.root().await;
    let before = world.stored().await;
    for route in routes().iter().filter(|route| route.method != "GET") {
        let address = world.own.address(route, &world.of_instance);
        let from = |origin: Option<&str>, site: &str| {
            let request = http::Request::builder().method(route.method).uri(&address);
            let request = request.header("host", crate::support::HOST);
            let request = request.header("cookie", format!("__Host-sluice={}", root.session()));
            let request = match origin {
                Some(origin) => request.header("origin", origin),
                None => request,
            };
            let request =
                if site.is_empty() { request } else { request.header("sec-fetch-site", site) };
            request.body(Body::empty()).unwrap()
        };
        for (origin, site) in [
            (Some("https://evil.example"), ""),
            (Some("https://evil.example"), "cross-site"),
            (Some("https://sub.ask.example"), "same-site"),
            (Some("null"), ""),
            (Some(ORIGIN), "cross-site"),
            (None, ""),
            (None, "none"),
        ] {
            let reply = world.site.raw(from(origin, site)).await;
            assert_eq!(reply.status, 403, "{route:?} {origin:?} {site}");
            assert!(reply.text.contains("Not sent from here"), "{route:?} {origin:?}");
        }
    }
    assert!(world.stored().await == before, "something was written");
    assert_eq!(
        world.site.engine.list_apps(&actor(), Page { after: None, limit: 9 }).await.unwrap().len(),
        2
    );
}
