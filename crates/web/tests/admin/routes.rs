//! Every admin route of the OpenAPI document: its token, its scope, its app.

use serde_json::{Value, json};
use sluice_web::{admin, openapi};

use crate::assets::send;
use crate::png::png;
use crate::support::{ROOT, Reply, Site, definition, text};
use crate::webhooks::sent;

/// One documented operation of the admin API, with its documented scope.
pub(crate) struct Route {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) scope: String,
}

fn routes() -> Vec<Route> {
    let document = serde_json::to_value(openapi::document()).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let mut routes = Vec::new();
    for (path, item) in paths {
        let Some(path) = path.strip_prefix(admin::BASE) else { continue };
        for (method, operation) in item.as_object().unwrap() {
            let scope = text(&operation["security"][0]["adminToken"][0]);
            routes.push(Route { method: method.to_uppercase(), path: path.to_owned(), scope });
        }
    }
    assert_eq!(routes.len(), 89, "a route was added or removed: check that these tests cover it");
    routes
}

/// Real ids of one app, to insert into paths.
pub(crate) struct Things {
    app: String,
    key: String,
    kid: String,
    flow: String,
    version: String,
    response: String,
    respondent: String,
    token: String,
    invitation: String,
    user: String,
    report: String,
    asset: String,
    endpoint: String,
    delivery: String,
}

impl Things {
    pub(crate) async fn make(site: &Site) -> Self {
        let (app, key) = site.app().await;
        let flow = site.flow(&app).await;
        let version = site.publish(&flow).await;
        let admitted = json!({
            "respondentAnalyticsAdmission": "admitted",
            "identities": [{"type": "userId", "value": "u-1"}],
        });
        let response = site.store(&key, &version, admitted).await;
        let stored = site.get(&format!("/responses/{response}")).await.ok(200);
        let respondent = text(&stored["respondentId"]);
        site.put(&format!("/flows/{flow}/draft"), definition("Two")).await.ok(200);
        let new = json!({"name": "Own", "scopes": ["read"], "appId": app});
        let token = text(&site.post("/tokens", new).await.ok(201)["tokenId"]);
        let url = json!({"type": "jwks", "url": "https://id.example/keys", "kid": "one"});
        let made = site.post(&format!("/apps/{app}/identity-keys"), url).await.ok(201);
        let kid = text(&made["kid"]);
        let new = json!({"identities": [{"type": "userId", "value": "7"}]});
        let invitation = site.post(&format!("/flows/{flow}/invitations"), new).await.ok(201);
        let invitation = text(&invitation["flowAssignmentId"]);
        let email = format!("{}@mail.example", app.to_lowercase());
        let new = json!({"email": email, "name": "Ann", "role": "viewer", "instance": true});
        let user = text(&site.post("/users", new).await.ok(201)["userId"]);
        let new = json!({"title": "Results", "questions": ["nps"]});
        let report = site.post(&format!("/flows/{flow}/reports"), new).await.ok(201);
        let report = text(&report["reportId"]);
        let asset = send(site, ROOT, &app, "image/png", png(2, 2, [1; 3])).await.ok(201);
        let asset = text(&asset["assetId"]);
        let new = json!({"url": "https://hooks.example/"});
        let endpoint = site.post(&format!("/apps/{app}/webhooks"), new).await.ok(201);
        let endpoint = text(&endpoint["webhookId"]);
        let delivery = sent(site, &app, &endpoint, &flow).await;
        Self {
            app,
            key,
            kid,
            flow,
            version,
            response,
            respondent,
            token,
            invitation,
            user,
            report,
            asset,
            endpoint,
            delivery,
        }
    }

    pub(crate) fn path(&self, route: &Route) -> String {
        // Required query parameters.
        let query = match (route.method.as_str(), route.path.as_str()) {
            ("GET", "/respondents") => "?appId={appId}",
            ("DELETE", "/respondents") => "?appId={appId}&type=userId&value=u-1&answers=keep",
            (_, "/respondents/export") => "?appId={appId}&type=userId&value=u-1",
            ("DELETE", "/respondents/{respondentId}") => "?answers=keep",
            (_, "/flows/{flowId}/export") => "?format=csv",
            (_, "/flow_versions/{flowVersionId}/schema") => "?payload=4",
            (_, "/flows/{flowId}/crosstab") => "?rows=nps&columns=why",
            _ => "",
        };
        let path = format!("{}{query}", route.path)
            .replace("{appId}", &self.app)
            .replace("{apiKey}", &self.key)
            .replace("{kid}", &self.kid)
            .replace("{flowId}", &self.flow)
            .replace("{flowVersionId}", &self.version)
            .replace("{responseId}", &self.response)
            .replace("{respondentId}", &self.respondent)
            .replace("{tokenId}", &self.token)
            .replace("{userId}", &self.user)
            .replace("{flowAssignmentId}", &self.invitation)
            .replace("{reportId}", &self.report)
            .replace("{assetId}", &self.asset)
            .replace("{webhookId}", &self.endpoint)
            .replace("{deliveryId}", &self.delivery);
        assert!(!path.contains('{'), "{path}");
        path
    }
}

/// A body that the operation accepts.
pub(crate) fn body(route: &Route) -> Value {
    match (route.method.as_str(), route.path.as_str()) {
        ("POST", "/apps") => json!({"name": "x"}),
        ("POST", "/apps/{appId}/identity-keys") => {
            json!({"type": "jwks", "url": "https://id.example/more"})
        }
        ("POST", "/apps/{appId}/flows") => json!({"name": "x", "kind": "form"}),
        ("POST", "/flows/{flowId}/invitations") => {
            json!({"identities": [{"type": "traits.email", "value": "ada@mail.example"}]})
        }
        ("POST", "/flows/{flowId}/reports") => json!({"title": "x", "questions": ["nps"]}),
        ("PATCH", "/flows/{flowId}/reports/{reportId}") => json!({"title": "x"}),
        ("POST", "/tokens") => json!({"name": "x", "scopes": ["read"]}),
        ("POST", "/users") => {
            json!({"email": "bob@mail.example", "name": "Bob", "role": "owner", "instance": true})
        }
        ("PUT", "/users/{userId}/role") => json!({"instance": true, "role": "editor"}),
        ("PUT", "/flows/{flowId}/invitation-email") => json!({"reminders": 1}),
        ("POST", "/mail-test") => json!({"address": "ann@mail.example"}),
        ("POST", "/outbound/resume") => json!({"waiting": "send"}),
        ("PUT", "/flows/{flowId}/short-path") => json!({"path": "my-survey"}),
        ("POST", "/apps/{appId}/webhooks") => json!({"url": "https://more.example/"}),
        ("PATCH", "/apps/{appId}/webhooks/{webhookId}") => json!({"description": "x"}),
        ("POST", "/apps/{appId}/webhooks/{webhookId}/secret") => {
            json!({"keepPreviousSeconds": 60})
        }
        ("POST", "/apps/{appId}/webhooks/{webhookId}/replay") => {
            json!({"after": "evt_0000000000000000000000"})
        }
        ("POST", "/apps/{appId}/webhooks/{webhookId}/redeliver") => {
            json!({"since": "2026-11-15T00:00:00.000Z"})
        }
        ("PUT", _) => definition("Three"),
        ("PATCH", _) => json!({"name": "x"}),
        _ => Value::Null,
    }
}

/// A misspelled parameter must not be ignored, least of all by a request that changes something.
#[tokio::test]
async fn every_operation_refuses_unknown_query_parameters_and_changes_nothing() {
    let site = Site::start().await;
    let things = Things::make(&site).await;
    let before = site.get("/audit").await.ok(200);
    for route in routes() {
        let mut path = things.path(&route);
        path.push_str(if path.contains('?') { "&unknown=1" } else { "?unknown=1" });
        let reply = site.call(ROOT, &route.method, &path, &body(&route)).await;
        reply.faults(&[("/unknown", "is not known here")]);
        if route.method == "GET" {
            let head = site.call(ROOT, "HEAD", &path, &Value::Null).await;
            assert_eq!(head.status, 422, "HEAD {path}");
        }
    }
    assert_eq!(site.get("/audit").await.ok(200), before, "nothing may change");
}

/// Calls the operation with a body that it accepts.
async fn call(site: &Site, token: &str, things: &Things, route: &Route) -> Reply {
    match (route.method.as_str(), route.path.as_str()) {
        ("POST", "/apps/{appId}/assets") => {
            send(site, token, &things.app, "image/png", png(3, 3, [1; 3])).await
        }
        (method, _) => site.call(token, method, &things.path(route), &body(route)).await,
    }
}

#[tokio::test]
async fn no_route_answers_without_a_token() {
    let site = Site::start().await;
    let things = Things::make(&site).await;
    for route in routes() {
        let path = format!("{}{}", admin::BASE, things.path(&route));
        let request = http::Request::builder().method(route.method.as_str()).uri(path);
        let reply = site.raw(request.body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(reply.headers["www-authenticate"], "Bearer", "{}", route.path);
        reply.problem(401, "token_missing");
    }
}

#[tokio::test]
async fn every_documented_route_exists_and_accepts_its_body() {
    let site = Site::start().await;
    let read = Things::make(&site).await;
    for route in routes() {
        // A change may remove what it names.
        let changed = if route.method == "GET" { None } else { Some(Things::make(&site).await) };
        let things = changed.as_ref().unwrap_or(&read);
        let path = things.path(&route);
        let token = site.token(&[&route.scope], None).await;
        let reply = call(&site, &token, things, &route).await;
        assert!((200..300).contains(&reply.status), "{} {path}: {}", route.method, reply.text);
    }
}

/// `admin` includes every scope, `write` includes `read`; every other pair is refused.
#[tokio::test]
async fn a_token_without_the_scope_is_refused() {
    let site = Site::start().await;
    let things = Things::make(&site).await;
    for held in ["read", "write", "export", "erase"] {
        let token = site.token(&[held], None).await;
        for route in routes() {
            let enough = held == route.scope || (held == "write" && route.scope == "read");
            if enough {
                continue;
            }
            let path = things.path(&route);
            let reply = call(&site, &token, &things, &route).await;
            let problem = reply.problem(403, "insufficient_scope");
            let wanted = format!("This token lacks the scope \"{}\".", route.scope);
            assert_eq!(problem["detail"], wanted, "{held}: {} {path}", route.method);
        }
    }
    let untouched = site.get(&format!("/responses/{}", things.response)).await;
    assert_eq!(untouched.status, 200);
}

/// Nothing can be learned about another app: existing and missing resources get the same answer.
#[tokio::test]
async fn a_token_of_another_app_finds_nothing() {
    let site = Site::start().await;
    let things = Things::make(&site).await;
    let (other, _) = site.app().await;
    let token = site.token(&["admin"], Some(&other)).await;
    let audit = site.get("/audit").await.ok(200);
    let unknown = Things {
        app: "app_0000000000000000000000".to_owned(),
        key: "pk_0000000000000000000000".to_owned(),
        kid: "no-such-kid".to_owned(),
        flow: "fl_0000000000000000000000".to_owned(),
        version: "fv_0000000000000000000000".to_owned(),
        response: "rs_0000000000000000000000".to_owned(),
        respondent: "rp_0000000000000000000000".to_owned(),
        token: "tk_0000000000000000000000".to_owned(),
        invitation: "fa_0000000000000000000000".to_owned(),
        user: "us_0000000000000000000000".to_owned(),
        report: "rep_0000000000000000000000".to_owned(),
        asset: "as_0000000000000000000000".to_owned(),
        endpoint: "ep_0000000000000000000000".to_owned(),
        delivery: "dl_0000000000000000000000".to_owned(),
    };
    let names_a_thing = |route: &&Route| things.path(route) != route.path;
    for route in routes().iter().filter(names_a_thing) {
        let path = things.path(route);
        let there = call(&site, &token, &things, route).await;
        let absent = call(&site, &token, &unknown, route).await;
        assert_eq!((there.status, &there.json), (absent.status, &absent.json), "{path}");
        // Tokens and users belong to the instance: a token bound to an app is refused before the
        // resource is looked up.
        let of_instance = ["/tokens", "/users"].iter().any(|it| route.path.starts_with(it));
        let expected = if of_instance { 403 } else { 404 };
        assert_eq!(there.status, expected, "{} {path}: {}", route.method, there.text);
    }
    assert_eq!(site.get("/audit").await.ok(200), audit, "nothing may change");
}
