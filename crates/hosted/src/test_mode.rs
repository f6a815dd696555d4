//! The page of a test link: the hosted page of a draft or of the published version, whose answers
//! are stored as tests. Every page says so. Deliberately absent: counts of visits, invitations,
//! identities, and the states of a flow: a test is possible before it opens and after it closes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::Method;
use sluice_http::client::Peer;
use sluice_http::{path_segment, store_down};

use super::Hosted;
use super::limited;
use super::page_request::{PageRequest, UNREAD, bare_page};
use super::post;
use super::preview::shown;

/// Shows the form, or handles one that was sent.
pub(super) async fn page(State(hosted): State<Arc<Hosted>>, request: Request) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let is_sent = request.method() == Method::POST;
    let (head, body) = request.into_parts();
    let sender = match hosted.admit(peer, &head.headers) {
        Ok(sender) => sender,
        Err(limited) => return limited::page(&head.headers, &limited),
    };
    let address = head.uri.path().to_owned();
    let mut parts = address.split('/').skip(2).map(path_segment::decoded);
    let (flow, token) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
    let tested = match hosted.engine.links().tested_flow(&flow, &token).await {
        Ok(Some(tested)) => tested,
        Ok(None) => return bare_page(&head.headers, |frame| frame.missing()),
        Err(error) => {
            store_down(&error, UNREAD);
            return bare_page(&head.headers, |frame| frame.failed());
        }
    };
    let page_request = PageRequest::test(&hosted.engine, tested.flow.clone(), &address, head);
    let from = (peer, sender);
    if is_sent {
        post::test(&hosted, &page_request, &tested, body, from).await
    } else {
        shown(&page_request)
    }
}
