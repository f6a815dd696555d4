//! The page at `/u/…`, where the recipient of an e-mail unsubscribes.
//!
//! GET shows a button and changes nothing, since mail scanners follow links. POST unsubscribes:
//! from the button, or from the mail program itself (RFC 8058), which sends no more than
//! `List-Unsubscribe=One-Click`. The address is the proof; it is in the e-mail only.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use http::request::Parts;
use maud::html;
use sluice_engine::mail::Unsubscription;
use sluice_flow::phrase::fill;
use sluice_http::client::Peer;
use sluice_http::{path_segment, store_down};

use super::page::{Frame, PageData};
use super::page_request::{UNREAD, text};
use super::parameters::Parameters;
use super::reply::Kind;
use super::words::Words;
use super::{Hosted, limited};

pub(super) const PAGE: &str = "/u/{mailId}";

pub(super) async fn show(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let (head, found) = match read(&hosted, request).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    match found.is_done {
        true => unsubscribed(&head.headers, &found),
        false => asked(&head.headers, &found),
    }
}

pub(super) async fn confirm(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let (head, found) = match read(&hosted, request).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    match found.confirm().await {
        Ok(()) => unsubscribed(&head.headers, &found),
        Err(error) => {
            store_down(&error, UNREAD);
            framed(&head.headers, None, |frame| frame.failed())
        }
    }
}

/// The recipient, within the limits of other public calls.
async fn read(hosted: &Hosted, request: Request) -> Result<(Parts, Unsubscription), Response> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let (head, _) = request.into_parts();
    let limited = |by| limited::page(&head.headers, &by);
    hosted.addresses.admit_read(&hosted.engine, peer, &head.headers).map_err(limited)?;
    let id = head.uri.path().rsplit('/').next().unwrap_or_default();
    let found = hosted.engine.links().unsubscription(&path_segment::decoded(id)).await;
    match found {
        Ok(Some(found)) => Ok((head, found)),
        Ok(None) => Err(framed(&head.headers, None, |frame| frame.missing())),
        Err(error) => {
            store_down(&error, UNREAD);
            Err(framed(&head.headers, None, |frame| frame.failed()))
        }
    }
}

fn asked(request: &HeaderMap, found: &Unsubscription) -> Response {
    framed(request, found.language.as_deref(), |frame| {
        let texts = &frame.words.state;
        let content = html! {
            h1 { (texts.unsubscribe.title) }
            p.lead dir="auto" { (fill(texts.unsubscribe.text, &[("name", &found.name)])) }
            form method="post" action="" {
                button.button.primary type="submit" { (texts.unsubscribe_button) }
            }
        };
        let data = PageData { state: "unsubscribe", ..PageData::default() };
        frame.page(Kind::Shown, texts.unsubscribe.title, &data, content)
    })
}

fn unsubscribed(request: &HeaderMap, found: &Unsubscription) -> Response {
    framed(request, found.language.as_deref(), |frame| {
        let texts = frame.words.state.unsubscribed;
        let content = html! {
            h1 { (texts.title) }
            p.lead dir="auto" { (fill(texts.text, &[("name", &found.name)])) }
        };
        let data = PageData { state: "unsubscribed", ..PageData::default() };
        frame.page(Kind::Shown, texts.title, &data, content)
    })
}

/// A page in the language of the e-mail, or else of the reader.
fn framed(
    request: &HeaderMap,
    language: Option<&str>,
    page: impl Fn(Frame<'_>) -> Response,
) -> Response {
    let parameters = Parameters::default();
    let languages = parameters.languages(text(request, http::header::ACCEPT_LANGUAGE));
    let words = match language {
        Some(language) => Words::for_language(language),
        None => Words::for_reader(&languages),
    };
    let language = words.language;
    let (parameters, flow, preview, public_path) = (&parameters, None, None, "");
    page(Frame { words, language, parameters, request, flow, preview, public_path })
}
