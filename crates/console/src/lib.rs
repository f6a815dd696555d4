//! The console at `/console`, where authors edit flows and read the results.
//!
//! Pages are rendered on the server and work without a script; small scripts make them quicker to
//! use. A handler parses a request, calls use cases of the engine, and wraps the result; it
//! contains no rules, and the engine decides who may do what. Reading order: [`session`] (who is
//! signed in), [`sidebar`] and [`frame`] (the frame around a page), [`parts`] (the components),
//! then one module per area. Deliberately absent: the admin API. The console is a transport next to
//! it, not a client of it, so that a page needs one exchange and no token.

mod addresses;
mod answer_filters;
mod assets;
mod attempts;
mod chart;
mod computing;
mod confirm;
mod design;
mod document;
mod editor;
mod flow_header;
mod flows;
mod forgotten;
mod frame;
mod held;
mod oidc;
mod origin;
mod parts;
mod reply;
mod request;
mod responses;
mod results;
mod search;
mod session;
mod settings;
mod share;
mod sidebar;
mod sign_in;
mod steps;
mod toasts;
mod unpublished;
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
use sluice_http::client::Proxies;
use sluice_http::preview::Preview;
use sluice_http::{Mount, Network};
use tokio::sync::watch;

use self::attempts::Attempts;
use self::oidc::Provider;
use self::reply::{Refused, Reply};
use self::request::Query;
use self::session::Visitor;

pub use self::oidc::OidcOptions;
pub use self::reply::failed;

/// The route of style and scripts.
const ASSET: &str = "/console/assets/{version}/{*file}";

/// Operator settings of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleOptions {
    /// Attempts to sign in from one address per minute; 0 means no limit.
    pub sign_ins_per_minute: u32,
    /// An OpenID provider that users can also sign in with.
    pub oidc: Option<OidcOptions>,
    /// The public URL of this server, if configured: writes must come from there.
    pub public_url: Option<String>,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self { sign_ins_per_minute: 30, oidc: None, public_url: None }
    }
}

/// The state of the pages.
pub struct Console {
    engine: Arc<Engine>,
    attempts: Attempts,
    provider: Option<Provider>,
    /// The origin of our pages, if known.
    origin: Option<String>,
    /// That of reports, which readers also open at the public address.
    report_origin: Option<String>,
    /// The hosted pages of unpublished flows.
    previews: Arc<dyn Preview>,
    downloads: responses::Downloads,
    /// Where the service is below its host, for addresses in JSON.
    mount: Mount,
    /// Whether the server is stopping: endless streams end then.
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
        let report_origin =
            origin.as_ref().and_then(|_| origin::origin_of(engine.addresses().public_url));
        let mount = Mount::new(engine.addresses().path());
        Self {
            engine,
            attempts,
            provider,
            origin,
            report_origin,
            previews,
            downloads,
            mount,
            stopping,
        }
    }

    /// Ends every stream, so that connections can close.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// The part that readers of reports need: their pages, with style and scripts.
pub fn report_router(console: Arc<Console>) -> Router {
    Router::new()
        .route(ASSET, get(asset))
        .merge(results::report_routes())
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&console), origin::same_origin))
        .with_state(console)
}

/// Everything, including reports.
pub fn router(console: Arc<Console>) -> Router {
    Router::new()
        .route("/", get(async || reply::see_other("/console")))
        .route("/console", get(home))
        .route(ASSET, get(asset))
        .route("/console/search", get(search::find))
        .merge(sign_in::routes())
        .merge(forgotten::routes())
        .merge(confirm::routes())
        .merge(welcome::routes())
        .merge(oidc::routes())
        .merge(flows::routes())
        .merge(editor::routes())
        .merge(design::routes())
        .merge(share::routes())
        .merge(responses::routes())
        .merge(results::routes())
        .merge(results::report_routes())
        .merge(settings::routes())
        .route("/console/{*rest}", get(no_such_page).post(no_such_page))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&console), origin::same_origin))
        .with_state(console)
}

/// Redirects to the first app that the visitor may see.
async fn home(State(console): State<Arc<Console>>, visitor: Visitor, Query(query): Query) -> Reply {
    let page = Page { after: None, limit: 1 };
    let apps = console.engine.list_apps(&visitor.actor, page).await?;
    let place = match apps.first() {
        Some(app) => format!("/console/apps/{}", app.row.app_id),
        None => "/console/settings/apps".to_owned(),
    };
    // Only a lower-case word is passed on, which selects one of our messages.
    let done = query.get("done").filter(|word| word.bytes().all(|it| it.is_ascii_lowercase()));
    Ok(reply::see_other(&done.map_or(place.clone(), |word| format!("{place}?done={word}"))))
}

async fn asset(Path((version, name)): Path<(String, String)>, request: HeaderMap) -> Reply {
    // Files are served only under the current version: otherwise a client that asks for another
    // node's version would cache the wrong file permanently.
    let found = assets::file(&name).filter(|_| version == assets::version());
    let (content_type, served) = found.ok_or(Refused::NoSuchPage)?;
    Ok(sluice_http::reply::file(content_type, served, &request))
}

/// Redirects a GET for an address that only accepts forms to the start page. Browsers send one if a
/// form came back with faults and the user then confirmed their identity, or reloads the address.
async fn wrong_method(method: Method) -> Reply {
    match method {
        Method::GET | Method::HEAD => Ok(reply::see_other("/console")),
        _ => Err(Refused::WrongMethod),
    }
}

/// Requires a sign-in, so that others cannot find out which pages exist.
async fn no_such_page(_: Visitor) -> Result<Response, Refused> {
    Err(Refused::NoSuchPage)
}
