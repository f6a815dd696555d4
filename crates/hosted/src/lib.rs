//! Hosted flows: `/f/{flowId}`, a page where respondents answer a flow, with or without JavaScript.
//!
//! A page is one form of one version. GET shows it and writes nothing, since mail scanners follow
//! links; POST handles one step or submits the form. Reading order: [`page_request`] (the request
//! and its flow), [`view`] and [`question`] (the form), [`form`] and [`steps`] (the fields that
//! were sent, and the next step), [`texts`] (an author's texts), [`post`] (handling a sent form),
//! [`states`] (every page except the form), [`page`] (the frame and the policy around all of it),
//! [`visits`] (counting visits). Deliberately absent: cookies, a session, any other origin, and a
//! second format for the script: it sends the same form and gets the same page.

mod assets;
mod design;
mod form;
mod images;
mod limited;
mod linkage;
mod page;
mod page_request;
mod parameters;
mod parsed_form;
mod post;
mod preview;
mod question;
mod reply;
mod rules;
mod states;
mod steps;
mod test_mode;
mod texts;
mod unsubscribe;
mod view;
mod visits;
mod words;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post as posted};
use http::HeaderMap;
use http::request::Parts;
use sluice_engine::{Engine, HostedVersion};
use sluice_flow::definition::NamedEnding;
use sluice_flow::id::FlowVersionId;
use sluice_flow::submission::TextMap;
use sluice_http::client::{Peer, Proxies, SendLimiter};
use sluice_http::exchange::Failure;
use sluice_http::rate::AddressLimit;
use sluice_http::{Limits, Network, body, path_segment, query, store_down};

use self::assets::{EMBED, EMBED_NAME, SCRIPT};
use self::form::Form;
use self::linkage::Linkage;
use self::page::Frame;
use self::page_request::{PageRefused, PageRequest, UNREAD};
use self::parameters::Parameters;
use self::reply::Kind;
use self::states::{ReachedEnding, StoredConfirmation};
use self::steps::Step;
use self::texts::FlowTexts;
use self::view::{Extent, FormView};
use self::words::Words;

/// The route templates.
const PAGE: &str = "/f/{flowId}";
const DONE: &str = "/f/{flowId}/done";
const OPENED: &str = "/f/{flowId}/opened";
const VISIT: &str = "/f/{flowId}/visit";
const TEST: &str = "/f/{flowId}/test/{token}";
const LOGO: &str = "/f/{flowId}/{file}";
const SCRIPT_FILE: &str = "/f/assets/{file}";

/// Operator settings for hosted pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedOptions {
    /// Forms sent from one address per minute; 0 means no limit.
    pub sends_per_minute: u32,
    /// Trusted proxies, whose `X-Forwarded-For` is used.
    pub trusted_proxies: Vec<Network>,
}

impl Default for HostedOptions {
    fn default() -> Self {
        Self { sends_per_minute: 60, trusted_proxies: Vec::new() }
    }
}

/// The largest report that an invitation was opened, in bytes: it has one id.
const OPENED_BYTES_MAX: usize = 1024;
/// A non-ASCII byte is sent as `%XX`.
const FORM_BYTES_PER_BYTE: usize = 3;

/// The state of the pages: the engine, limits, and rate limits by sender.
pub struct Hosted {
    engine: Arc<Engine>,
    limits: Limits,
    senders: SendLimiter,
    proxies: Proxies,
    addresses: Arc<AddressLimit>,
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted").finish_non_exhaustive()
    }
}

impl Hosted {
    pub fn new(
        engine: Arc<Engine>,
        limits: Limits,
        options: HostedOptions,
        addresses: Arc<AddressLimit>,
    ) -> Self {
        let senders = SendLimiter::new(options.sends_per_minute);
        Self { engine, limits, senders, proxies: Proxies(options.trusted_proxies), addresses }
    }

    /// URL encoding makes a form larger than a submission of the same answers, so its limit is
    /// larger.
    fn form_limits(&self) -> Limits {
        let body_bytes_max = self.limits.body_bytes_max.saturating_mul(FORM_BYTES_PER_BYTE);
        Limits { body_bytes_max, ..self.limits }
    }
}

pub use self::preview::Previews;

pub fn router(hosted: Arc<Hosted>) -> Router {
    Router::new()
        .route(PAGE, get(show).post(answer))
        .route(DONE, get(done))
        .route(OPENED, posted(opened))
        .route(VISIT, get(seen).post(visited))
        .route(TEST, get(test_mode::page).post(test_mode::page))
        .route(LOGO, get(logo))
        .route(SCRIPT_FILE, get(script))
        .route(images::IMAGE, get(images::image))
        .route(unsubscribe::PAGE, get(unsubscribe::show).post(unsubscribe::confirm))
        .with_state(hosted)
}

/// The page for a server error, on any route.
pub fn failed(_: Failure) -> Response {
    let (words, parameters, request) =
        (Words::for_language("en"), Parameters::default(), HeaderMap::new());
    let language = words.language;
    let (flow, preview, public_path) = (None, None, "");
    let parameters = &parameters;
    Frame { words, language, parameters, request: &request, flow, preview, public_path }.failed()
}

/// Where a request comes from, and its head.
fn head_of(request: Request) -> (Option<IpAddr>, Parts) {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    (peer, request.into_parts().0)
}

/// The form.
async fn show(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let (peer, head) = head_of(request);
    if let Err(limited) = hosted.admit(peer, &head.headers) {
        return limited::page(&head.headers, &limited);
    }
    let mut page_request = match PageRequest::resolve(&hosted.engine, head).await {
        Ok(page_request) => page_request,
        Err(barred) => return barred.page(),
    };
    if let Some(response) = page_request.closed_page() {
        return response;
    }
    let invitation = match page_request.find_invitation().await {
        Ok(invitation) => invitation,
        Err(error) => {
            store_down(&error, UNREAD);
            return page_request.bare_frame().failed();
        }
    };
    let Some(definition) = PageRequest::definition(&page_request.flow.current) else {
        return page_request.bare_frame().missing();
    };
    let wording = page_request.wording(definition);
    let frame = page_request.frame(&wording);
    if let Some(over) = invitation.and_then(|state| frame.invitation(state)) {
        return over;
    }
    let (form, answers) = (Form::default(), TextMap::default());
    let step = Step::first(definition, &answers);
    let view = FormView {
        frame,
        version: &page_request.flow.current,
        wording,
        form: &form,
        answers: &answers,
        step,
        page: step.questions(definition, &answers),
        extent: if page_request.is_scripted { Extent::All } else { Extent::First },
        key: page_request.flow.new_form_key(),
        referrer: page_request.referrer(),
        errors: BTreeMap::new(),
        notice: None,
        opened: invitation.and_then(|_| opened_address(&page_request)),
        visits: visits::address(&page_request),
        furthest: None,
        asks_to_link: page_request.asks_to_link(definition),
    };
    view.page(Kind::Shown)
}

async fn answer(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let (head, body) = request.into_parts();
    post::answer(&hosted, head, body, peer).await
}

/// The ending. The browser is redirected here after storing, so that a reload sends nothing.
async fn done(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let (peer, head) = head_of(request);
    if let Err(limited) = hosted.admit(peer, &head.headers) {
        return limited::page(&head.headers, &limited);
    }
    let query = head.uri.query().unwrap_or_default().to_owned();
    let linkage = Linkage::in_address(&query);
    let page_request = match PageRequest::resolve(&hosted.engine, head).await {
        Ok(page_request) => page_request,
        Err(PageRefused::Page(response)) => return response,
        // The message is true in any case, and reveals nothing of the flow.
        Err(PageRefused::Token(page_request, _)) => {
            return page_request
                .bare_frame()
                .stored(None, StoredConfirmation { linkage, ..StoredConfirmation::default() });
        }
    };
    let version = query::first(Some(&query), "version").unwrap_or_default();
    let version = match page_request.flow.version(&version).await {
        Ok(version) => version,
        Err(error) => {
            store_down(&error, UNREAD);
            None
        }
    };
    let wording =
        version.as_ref().and_then(PageRequest::definition).map(|it| page_request.wording(it));
    let frame = wording
        .as_ref()
        .map_or_else(|| page_request.bare_frame(), |wording| page_request.frame(wording));
    let version = version.as_ref().map(HostedVersion::id);
    // The address has the ending, but no answers: texts show their fallbacks.
    let answers = TextMap::default();
    let id = query::first(Some(&query), "ending").unwrap_or_default();
    let reached = wording.map(|wording| ReachedEnding {
        texts: FlowTexts::new(wording, frame.words, &page_request.parameters, &answers),
        named: wording.definition().endings().iter().find(|ending| ending.id == id),
    });
    frame.stored(reached, StoredConfirmation { version, linkage, ..StoredConfirmation::default() })
}

/// Records that an invitation was opened, as reported by the script. The reply does not reveal
/// whether the invitation exists.
async fn opened(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let (head, body) = request.into_parts();
    let sender = match hosted.admit(peer, &head.headers) {
        Ok(sender) => sender,
        Err(limited) => return limited::page(&head.headers, &limited),
    };
    let page_request = match PageRequest::resolve(&hosted.engine, head).await {
        Ok(page_request) => page_request,
        Err(barred) => return barred.page(),
    };
    let body_bytes_max = hosted.limits.body_bytes_max.min(OPENED_BYTES_MAX);
    let limits = Limits { body_bytes_max, ..hosted.limits };
    let form =
        body::read_from(sender, &page_request.headers, body, &limits).await.unwrap_or_default();
    let form = Form::parse(&String::from_utf8_lossy(&form));
    let assignment = form.get("flowAssignmentId").or(page_request.parameters.assignment.as_deref());
    if let Some(assignment) = assignment
        && let Err(error) = page_request.flow.mark_opened(assignment).await
    {
        store_down(&error, UNREAD);
    }
    reply::no_content()
}

/// The image of a page without script.
async fn seen(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let (peer, head) = head_of(request);
    match counted_visit(&hosted, peer, head.clone()).await {
        Ok(page_request) => visits::shown_without_script(&page_request, &head).await,
        Err(refused) => refused,
    }
}

/// The steps of a visit, as reported by the script.
async fn visited(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let (head, body) = request.into_parts();
    match counted_visit(&hosted, peer, head).await {
        Ok(page_request) => {
            let sender = hosted.addresses.sender(peer, &page_request.headers);
            visits::report(&hosted, &page_request, sender, body).await
        }
        Err(refused) => refused,
    }
}

/// A request whose visit may be counted now, within the limits of other public calls.
async fn counted_visit(
    hosted: &Hosted,
    peer: Option<IpAddr>,
    head: Parts,
) -> Result<PageRequest, Response> {
    let limited = |limited| sluice_http::reply::Refusal::RateLimited(limited).reply();
    let (engine, addresses) = (&hosted.engine, &hosted.addresses);
    addresses.admit_read(engine, peer, &head.headers).map_err(limited)?;
    let page_request = PageRequest::resolve(engine, head).await.map_err(PageRefused::page)?;
    engine.admit_calls(page_request.flow.app(), 1).map_err(limited)?;
    Ok(page_request)
}

async fn script(request: Request) -> Response {
    const TYPE: &str = "text/javascript; charset=utf-8";
    let (_, head) = head_of(request);
    match &*path_segment::decoded(head.uri.path().rsplit('/').next().unwrap_or_default()) {
        name if name == SCRIPT.name => {
            sluice_http::reply::file(TYPE, &SCRIPT.served, &head.headers)
        }
        EMBED_NAME => reply::for_an_hour(sluice_http::reply::file(TYPE, &EMBED, &head.headers)),
        _ => sluice_http::reply::Refusal::RouteNotFound.reply(),
    }
}

/// A logo of the flow or its app. It reveals no question, and browsers request it without a token.
async fn logo(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let (peer, head) = head_of(request);
    if let Err(limited) = hosted.admit(peer, &head.headers) {
        return sluice_http::reply::Refusal::RateLimited(limited).reply();
    }
    let mut parts = head.uri.path().split('/').skip(2).map(path_segment::decoded);
    let (flow, file) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let found = hosted.engine.links().flow(&flow).await;
    let flow = match &found {
        Ok(Ok(flow)) => Some(flow),
        Ok(Err(_)) => None,
        Err(error) => {
            store_down(error, UNREAD);
            return sluice_http::reply::Refusal::StoreDown.reply();
        }
    };
    let name = file.strip_prefix("logo-");
    let mut logos = flow.iter().flat_map(|flow| flow.branding().logos());
    match logos.find(|logo| name == Some(&logo.name)) {
        Some(logo) => sluice_http::reply::file(logo.media_type, &logo.served, &head.headers),
        None => sluice_http::reply::Refusal::RouteNotFound.reply(),
    }
}

/// The address of the ending of a stored response.
fn done_address(
    page_request: &PageRequest,
    version: FlowVersionId,
    linkage: Linkage,
    ending: Option<&NamedEnding>,
) -> String {
    let mut address = format!("/f/{}/done?version={version}", page_request.flow.flow_id);
    address.push_str(linkage.parameters());
    if let Some(ending) = ending {
        address.push_str(&format!("&ending={}", ending.id));
    }
    for (name, value) in query::pairs(&page_request.parameters.query) {
        if matches!(&*name, "embed" | "theme" | "context.locale") {
            let value =
                percent_encoding::utf8_percent_encode(&value, percent_encoding::NON_ALPHANUMERIC);
            address.push_str(&format!("&{name}={value}"));
        }
    }
    address
}

/// The address where the script reports that an invitation was opened.
fn opened_address(page_request: &PageRequest) -> Option<String> {
    let assignment = page_request.parameters.assignment.as_deref()?;
    let assignment =
        percent_encoding::utf8_percent_encode(assignment, percent_encoding::NON_ALPHANUMERIC);
    Some(format!("/f/{}/opened?flowAssignmentId={assignment}", page_request.flow.flow_id))
}
