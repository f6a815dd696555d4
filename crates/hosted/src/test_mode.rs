//! The page of a test link: the hosted page of a draft or of the published version, whose answers
//! are stored as tests. Every page says so. Deliberately absent: counts of visits, invitations,
//! identities, and the states of a flow: a test is possible before it opens and after it closes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, Method};
use sluice_http::client::Peer;
use sluice_http::store_down;

use super::Hosted;
use super::page::Frame;
use super::parameters::Parameters;
use super::post;
use super::preview::shown;
use super::visit::{UNREAD, Visit, text};
use super::words::Words;

/// Shows the form, or handles one that was sent.
pub(super) async fn page(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let is_sent = request.method() == Method::POST;
    let (head, body) = request.into_parts();
    let address = head.uri.path().to_owned();
    let mut parts = address.split('/').skip(2);
    let (flow, token) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
    let tested = match hosted.engine.tested_flow(flow, token).await {
        Ok(Some(tested)) => tested,
        Ok(None) => return bare_page(&head.headers, |frame| frame.missing()),
        Err(error) => {
            store_down(&error, UNREAD);
            return bare_page(&head.headers, |frame| frame.failed());
        }
    };
    let visit = Visit::test(&hosted.engine, tested.flow.clone(), &address, head);
    if is_sent { post::test(&hosted, &visit, &tested, body, peer).await } else { shown(&visit) }
}

/// A page that shows nothing of a flow.
fn bare_page(request: &HeaderMap, page: impl Fn(Frame<'_>) -> Response) -> Response {
    let parameters = Parameters::default();
    let languages = parameters.languages(text(request, http::header::ACCEPT_LANGUAGE));
    let words = Words::for_reader(&languages);
    let language = words.language;
    let (parameters, flow, preview, public_path) = (&parameters, None, None, "");
    page(Frame { words, language, parameters, request, flow, preview, public_path })
}
