//! The console at `/console`: where authors write flows and read what came back.
//!
//! Pages are made on the server and work without a script; a little script makes them quicker to
//! use. A handler takes a request, calls use cases of the engine, and wraps what comes back; it
//! holds no rule, and who may do what is the engine's to decide. Reading order: [`session`] (who is
//! signed in), [`sidebar`] and [`frame`] (what stands around a page), [`parts`] (the components),
//! then one module an area. Deliberately absent: the admin API. The console is a transport beside
//! it, not a client of it, so that a page needs one exchange and no token.

mod assets;
mod attempts;
mod chart;
mod confirm;
mod editor;
mod flows;
mod frame;
mod oidc;
mod origin;
mod parts;
mod reply;
mod request;
mod responses;
mod results;
mod session;
mod settings;
mod share;
mod sidebar;
mod sign_in;
mod steps;
mod welcome;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, Method};
use sluice_engine::Engine;
use sluice_engine::rows::Page;
use sluice_http::Network;
use sluice_http::client::Proxies;
use sluice_http::preview::Preview;
use tokio::sync::watch;

use self::attempts::Attempts;
use self::oidc::Provider;
use self::reply::{Answer, Refused};
use self::request::Query;
use self::session::Visitor;

pub use self::oidc::OidcOptions;
pub use self::reply::failed;

/// What an operator can set of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleOptions {
    /// Attempts to sign in from one address within a minute; 0 is without limit.
    pub sign_ins_per_minute: u32,
    /// The provider by which people may sign in as well.
    pub oidc: Option<OidcOptions>,
    /// Where browsers reach this server, if the operator has said so: writes come from there.
    pub public_url: Option<String>,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self { sign_ins_per_minute: 30, oidc: None, public_url: None }
    }
}

/// What the pages need.
pub struct Console {
    engine: Arc<Engine>,
    attempts: Attempts,
    provider: Option<Provider>,
    /// Where pages of ours come from, if that is known.
    origin: Option<String>,
    /// The hosted pages of what is not published yet.
    previews: Arc<dyn Preview>,
    downloads: responses::Downloads,
    /// Whether the server stops: streams that have no end of their own end then.
    stopping: watch::Sender<bool>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

impl Console {
    pub fn new(
        engine: Arc<Engine>,
        options: ConsoleOptions,
        trusted_proxies: Vec<Network>,
        previews: Arc<dyn Preview>,
    ) -> Self {
        let attempts = Attempts::new(options.sign_ins_per_minute, Proxies(trusted_proxies));
        let (downloads, stopping) = (responses::Downloads::default(), watch::Sender::new(false));
        let provider = options.oidc.map(Provider::new);
        let origin = options.public_url.as_deref().and_then(origin::origin_of);
        Self { engine, attempts, provider, origin, previews, downloads, stopping }
    }

    /// Ends every stream, so that connections can.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

pub fn router(console: Arc<Console>) -> Router {
    Router::new()
        .route("/", get(async || reply::see_other("/console")))
        .route("/console", get(home))
        .route("/console/assets/{version}/{*file}", get(asset))
        .merge(sign_in::routes())
        .merge(confirm::routes())
        .merge(welcome::routes())
        .merge(oidc::routes())
        .merge(flows::routes())
        .merge(editor::routes())
        .merge(share::routes())
        .merge(responses::routes())
        .merge(results::routes())
        .merge(settings::routes())
        .route("/console/{*rest}", get(no_such_page).post(no_such_page))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&console), origin::same_origin))
        .with_state(console)
}

/// To the first app that the visitor may see.
async fn home(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Answer {
    let page = Page { after: None, limit: 1 };
    let apps = console.engine.list_apps(&visitor.actor, page).await?;
    let place = match apps.first() {
        Some(app) => format!("/console/apps/{}", app.row.app_id),
        None => "/console/settings/apps".to_owned(),
    };
    // Only a word for a sentence of ours comes along.
    let done = query.get("done").filter(|word| word.bytes().all(|it| it.is_ascii_lowercase()));
    Ok(reply::see_other(&done.map_or(place.clone(), |word| format!("{place}?done={word}"))))
}

async fn asset(Path((version, name)): Path<(String, String)>, request: HeaderMap) -> Answer {
    // Under any other version it would be kept for ever by those who ask for what another node
    // serves.
    let found = assets::file(&name).filter(|_| version == assets::version());
    let (content_type, served) = found.ok_or(Refused::NoSuchPage)?;
    Ok(reply::file(content_type, served, &request))
}

/// An address that only takes forms has no page to show. A browser asks for one all the same where
/// a form came back with its faults and the person then confirmed who they are, or loads the
/// address again: that leads to the start page.
async fn wrong_method(method: Method) -> Answer {
    match method {
        Method::GET | Method::HEAD => Ok(reply::see_other("/console")),
        _ => Err(Refused::WrongMethod),
    }
}

/// Only those who are signed in learn which pages there are.
async fn no_such_page(_: Visitor) -> Result<Response, Refused> {
    Err(Refused::NoSuchPage)
}
