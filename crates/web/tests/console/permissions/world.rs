//! Apps with one resource of each kind, visitors of every kind, and their requests.

use crate::use_cases::UseCases as _;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::json;
use sluice_engine::people::NewUser;
use sluice_engine::rows::{IdentityKeyKind, Role, Scope};
use sluice_engine::{Duplicates, NewIdentityKey, NewInvitation, NewReport, NewToken};
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::invitation::Invitee;
use sluice_store::{AuditQuery, Record};
use tower::ServiceExt as _;

use super::line::{Line, Place, Who};
use crate::hooks::hook;
use crate::png::png;
use crate::support::{Browser, ORIGIN, Site, actor, definition};

/// One resource of each kind, by the names used in paths and forms.
pub(super) struct Fixture {
    pub(super) app: AppId,
    pub(super) ids: BTreeMap<&'static str, String>,
}

/// A reply.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: u16,
    /// The redirect target.
    pub(super) to: String,
}

pub(super) struct World {
    pub(super) site: Site,
    pub(super) own: Fixture,
    pub(super) other: Fixture,
    /// Makes the names of users and apps unique.
    made: AtomicUsize,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::below("").await
    }

    /// The same below this path of its host.
    pub(super) async fn below(path: &'static str) -> Self {
        let (site, _) = Site::with_mail_below(path).await;
        let (own, other) = (site.app("Own").await, site.app("Other").await);
        let own = Fixture::open(&site, own, "Own").await;
        let other = Fixture::open(&site, other, "Other").await;
        Self { site, own, other, made: AtomicUsize::new(0) }
    }

    /// Another app with one resource of each kind.
    pub(super) async fn fixture(&self) -> Fixture {
        let name = format!("Shop {}", self.made.fetch_add(1, Ordering::Relaxed));
        let app = self.site.app(&name).await;
        Fixture::open(&self.site, app, &name).await
    }

    /// A browser of this kind of visitor; `own` is the app of the request.
    pub(super) async fn visitor(&self, who: Who, own: AppId) -> Browser<'_> {
        let app_of = |place| match place {
            Place::Own => Some(own),
            Place::Other => Some(self.other.app),
            Place::All => None,
        };
        match who {
            Who::SignedOut => self.site.browser(),
            Who::User(place, role) => self.user(app_of(place), role).await,
            Who::Token(place, scope) => {
                let token = self.site.token(&[scope], app_of(place)).await;
                self.site.with_token(&token).await
            }
        }
    }

    async fn user(&self, app_id: Option<AppId>, role: Role) -> Browser<'_> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let email = format!("visitor-{number}@mail.example");
        self.site.with_session(&self.site.user_with_session(&email, app_id, role).await.1)
    }

    /// Sends the request of the line, with the ids of the fixture.
    pub(super) async fn ask(
        &self,
        browser: &Browser<'_>,
        line: &Line,
        fixture: &Fixture,
    ) -> Outcome {
        let address = fixture.filled(&format!("{}{}", line.path, line.query));
        let request = browser.request(line.method, &address);
        let request = match line.method {
            "GET" => request.body(Body::empty()),
            _ => request.header("origin", ORIGIN).body(Body::from(fixture.filled(line.body))),
        };
        self.send(request.unwrap()).await
    }

    /// The whole reply; of a stream that has no end, only its head.
    pub(super) async fn reply(
        &self,
        request: http::Request<Body>,
    ) -> (http::response::Parts, String) {
        let (head, body) = self.site.router.clone().oneshot(request).await.unwrap().into_parts();
        if head.headers.get("content-type").is_some_and(|it| it == "text/event-stream") {
            return (head, String::new());
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        (head, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first part of a body that has no end, from when it names an event.
    pub(super) async fn first_part(&self, request: http::Request<Body>) -> String {
        let mut body = self.site.router.clone().oneshot(request).await.unwrap().into_body();
        let mut text = String::new();
        while !text.contains("event:") {
            let frame = body.frame().await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
        }
        text
    }

    pub(super) async fn send(&self, request: http::Request<Body>) -> Outcome {
        let (head, body) = self.site.router.clone().oneshot(request).await.unwrap().into_parts();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let (kind, to) = (header("content-type"), header("location").unwrap_or_default());
        // The stream of live events has no end.
        if kind != Some("text/event-stream") {
            body.collect().await.unwrap();
        }
        Outcome { status: head.status.as_u16(), to: to.to_owned() }
    }

    /// All stored records, except sign-ins.
    pub(super) async fn stored(&self) -> Vec<Record> {
        let all = self.site.store.export_records(None, 100_000).await.unwrap();
        let is_session = |record: &Record| match record {
            Record::Audit(row) => row.action.starts_with("session."),
            _ => false,
        };
        all.into_iter().filter(|record| !is_session(record)).collect()
    }

    /// The latest change in the audit log, and the number of changes to users, which include those
    /// of their views.
    pub(super) async fn last_change(&self) -> String {
        let query = AuditQuery { app_id: None, after: None, limit: 20 };
        let rows = self.site.store.list_audit(&query).await.unwrap();
        let mut changes = rows.iter().filter(|row| !row.action.starts_with("session."));
        let revision = self.site.store.people_revision().await.unwrap();
        format!("{} {revision}", changes.next().unwrap().audit_id)
    }
}

/// The id of a report, and the secret of its link.
async fn share(site: &Site, flow: FlowId) -> (String, String) {
    let (title, questions) = ("Results".to_owned(), vec!["nps".to_owned()]);
    let new = NewReport { title, questions, ..NewReport::default() };
    let opened = site.engine.flow(&actor(), Scope::Export, flow).await.unwrap();
    let (report, link) = opened.create_report(&new).await.unwrap();
    (report.report_id.to_string(), link.0.rsplit('/').next().unwrap().to_owned())
}

/// The id of an image.
async fn image(site: &Site, app: AppId) -> String {
    let app = site.engine.app(&actor(), Scope::Write, app).await.unwrap();
    app.upload_asset(png(9, 9, [1; 3]).into()).await.unwrap().asset.asset_id.to_string()
}

/// The id of a key for identity tokens.
async fn identity_key(site: &Site, app: AppId) -> String {
    let hs256 = NewIdentityKey {
        kind: IdentityKeyKind::Hs256,
        pem: None,
        jwk: None,
        url: None,
        kid: None,
        issuer: None,
    };
    site.engine.create_identity_key(&actor(), app, &hs256).await.unwrap().0.kid
}

impl Fixture {
    pub(super) async fn open(site: &Site, app: AppId, name: &str) -> Self {
        let engine = &site.engine;
        let (flow, version) = site.flow(app, definition(name)).await;
        let admitted = json!({
            "respondentAnalyticsAdmission": "admitted", "answers": {"nps": "9"},
            "identities": [{"type": "userId", "value": name}]
        });
        let response = site.respond(app, version, admitted).await;
        let row = engine.get_response(&actor(), response).await.unwrap();
        // Publishes another version and changes the draft.
        engine.put_draft(&actor(), flow, definition("Two")).await.unwrap();
        engine.publish(&actor(), flow).await.unwrap();
        engine.put_draft(&actor(), flow, definition("Three")).await.unwrap();
        let tag = engine.editing(&actor(), flow).await.unwrap().tag;
        let key = engine.get_app(&actor(), app).await.unwrap().api_keys[0].to_string();
        let invitee = Invitee { user_id: Some("8".into()), email: None };
        let invited = [NewInvitation { invitee, expires_at: None, line: None }];
        let invited = engine.invite(&actor(), flow, &invited, Duplicates::Refuse, false).await;
        let new = NewToken {
            name: name.to_owned(),
            scopes: vec![Scope::Read],
            app_id: None,
            expires_at: None,
        };
        let token = engine.create_token(&actor(), new).await.unwrap().0.token_id;
        // A user who is not a member of this app and has not set a password yet.
        let email = format!("somebody-{}@mail.example", flow.to_string().to_lowercase());
        let (name, role) = ("Somebody".to_owned(), Role::Viewer);
        let new = NewUser { email: email.clone(), name, role, app_id: None };
        let (user, link) = engine.create_user(&actor(), new).await.unwrap();
        let sign_in = site.browser().get("/console/sign-in").await.ok();
        let asset = sign_in.split("/console/assets/").nth(1).unwrap();
        let (asset_version, file) = asset.split('"').next().unwrap().split_once('/').unwrap();
        let (report, secret) = share(site, flow).await;
        let (endpoint, delivery) = hook(site, app, response).await;
        let ids = BTreeMap::from([
            ("assetId", image(site, app).await),
            ("reportId", report),
            ("webhookId", endpoint.to_string()),
            ("deliveryId", delivery.to_string()),
            ("secret", secret),
            ("appId", app.to_string()),
            ("flowId", flow.to_string()),
            ("shortPath", flow.to_string().replace('_', "-")),
            ("flowVersionId", version.to_string()),
            ("responseId", response.to_string()),
            ("respondentId", row.respondent_id.unwrap().to_string()),
            ("apiKey", key),
            ("flowAssignmentId", invited.unwrap()[0].row.assignment_id.to_string()),
            ("kid", identity_key(site, app).await),
            ("tokenId", token.to_string()),
            ("userId", user.user_id.to_string()),
            ("email", email),
            ("link", link.0),
            ("tag", tag),
            ("template", "announcement".to_owned()),
            ("file", "responses.svg".to_owned()),
            ("id", "walls".to_owned()),
            ("version", asset_version.to_owned()),
            ("*file", file.to_owned()),
            ("*rest", "no/such/page".to_owned()),
        ]);
        Self { app, ids }
    }

    /// Replaces the names in braces with ids.
    pub(super) fn filled(&self, text: &str) -> String {
        let names = self.ids.iter();
        names.fold(text.to_owned(), |text, (name, id)| text.replace(&format!("{{{name}}}"), id))
    }
}
