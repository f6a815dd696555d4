//! The page of a flow before it is published, for its author: the same form, the same script, the
//! same rules.
//!
//! The console calls it through a trait in a crate that both use
//! ([`sluice_http::preview::Preview`]), since transports do not import each other. The engine has
//! already checked who may see it; forms sent from it are judged but not stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Method;
use sluice_flow::submission::TextMap;
use sluice_http::preview::Preview;
use sluice_http::query;

use super::Hosted;
use super::form::Form;
use super::page_request::PageRequest;
use super::post;
use super::reply::Kind;
use super::states::{ReachedEnding, StoredConfirmation};
use super::steps::Step;
use super::texts::FlowTexts;
use super::view::{Extent, FormView};

/// Renders the pages of unpublished flows.
#[derive(Debug)]
pub struct Previews(pub Arc<Hosted>);

impl Preview for Previews {
    fn page(
        &self,
        previewed: sluice_engine::Preview,
        address: String,
        request: Request,
    ) -> BoxFuture<'static, Response> {
        let hosted = Arc::clone(&self.0);
        Box::pin(async move {
            let is_sent = request.method() == Method::POST;
            let (head, body) = request.into_parts();
            let ending = query::first(head.uri.query(), "ending").map(|id| id.to_string());
            let page_request = PageRequest::preview(&hosted.engine, previewed.flow, &address, head);
            match (is_sent, ending) {
                (true, _) => post::preview(&hosted, &page_request, body).await,
                (false, Some(ending)) => ended(&page_request, &ending),
                (false, None) => shown(&page_request),
            }
        })
    }
}

/// The page after the last question, while the author edits it: the ending with this id, or the
/// last resort.
fn ended(page_request: &PageRequest, id: &str) -> Response {
    let Some(definition) = PageRequest::definition(&page_request.flow.current) else {
        return page_request.bare_frame().missing();
    };
    let wording = page_request.wording(definition);
    let address = page_request.address();
    let done = StoredConfirmation { address: Some(&address), ..StoredConfirmation::default() };
    let frame = page_request.frame(&wording);
    let answers = TextMap::default();
    let reached = ReachedEnding {
        texts: FlowTexts::new(wording, frame.words, &page_request.parameters, &answers),
        named: definition.endings().iter().find(|ending| ending.id == id),
    };
    frame.stored(Some(reached), done)
}

/// The form, at the question that the author has selected.
pub(super) fn shown(page_request: &PageRequest) -> Response {
    let Some(definition) = PageRequest::definition(&page_request.flow.current) else {
        return page_request.bare_frame().missing();
    };
    let wanted = page_request.preview.as_ref().map(|preview| preview.question.as_str());
    let at =
        definition.questions().iter().position(|question| Some(question.id.as_str()) == wanted);
    let (form, answers) = (Form::default(), TextMap::default());
    let first = Step::first(definition, &answers);
    let step = at.map_or(first, Step::Question);
    let wording = page_request.wording(definition);
    let view = FormView {
        frame: page_request.frame(&wording),
        version: &page_request.flow.current,
        wording,
        form: &form,
        answers: &answers,
        step,
        page: step.questions(definition, &answers),
        // With only the first question outside the template, the questions stay in order.
        extent: if step == first && !page_request.is_scripted {
            Extent::First
        } else {
            Extent::All
        },
        key: page_request.flow.new_form_key(),
        referrer: None,
        errors: BTreeMap::new(),
        notice: None,
        opened: None,
        visits: None,
        furthest: None,
        asks_to_link: page_request.asks_to_link(definition),
    };
    view.page(Kind::Shown)
}
