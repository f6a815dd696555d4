//! The pages without a form: every state in which there is nothing to answer.
//!
//! Each says what happened and what to do next. None reveals anything about the flow before the
//! caller may see it.

use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::verify::TokenRefused;
use sluice_flow::definition::NamedEnding;
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::invitation::InvitationState;
use sluice_flow::piping::is_piped;
use sluice_flow::time::Timestamp;

use super::linkage::Linkage;
use super::page::{Frame, PageData, time};
use super::reply::Kind;
use super::texts::FlowTexts;
use super::words::TitledText;

/// Seconds after which a failed page may be retried.
const AGAIN_SECONDS: u32 = 2;

impl Frame<'_> {
    /// Nothing is published here, or no longer.
    pub(super) fn missing(&self) -> Response {
        self.message_page(Kind::Missing, "missing", self.words.state.missing, html! {})
    }

    /// The service is unavailable.
    pub(super) fn failed(&self) -> Response {
        let again = html! { a.button.primary href="" { (self.words.state.try_again) } };
        self.message_page(Kind::Away(AGAIN_SECONDS), "failed", self.words.state.failed, again)
    }

    /// Too many requests come from the address.
    pub(super) fn limited(&self, seconds: u64) -> Response {
        let state = &self.words.state;
        let TitledText { title, text } = state.limited;
        let content = html! {
            h1 { (title) }
            p.lead { (self.words.with_wait(text, seconds)) }
            a.button.primary href="" { (state.try_again) }
        };
        let data = PageData { state: "limited", ..PageData::default() };
        self.page(Kind::Limited(seconds), title, &data, content)
    }

    pub(super) fn too_large(&self) -> Response {
        self.message_page(Kind::TooLarge, "failed", self.words.state.too_large, html! {})
    }

    /// The caller must prove who they are; the script handles that.
    pub(super) fn token(&self, refused: TokenRefused) -> Response {
        let state = &self.words.state;
        let titled = match refused {
            TokenRefused::Missing => state.token_missing,
            TokenRefused::Invalid | TokenRefused::Expired => state.token_refused,
            TokenRefused::Unavailable => return self.failed(),
        };
        let without_script = html! { div { noscript { p.detail { (state.token_needs_script) } } } };
        self.message_page(Kind::Unproven, "token", titled, without_script)
    }

    pub(super) fn scheduled(&self, title: &str, starts: Option<Timestamp>) -> Response {
        self.dated("scheduled", title, self.words.state.scheduled, starts)
    }

    pub(super) fn closed(&self, title: &str, ended: Option<Timestamp>) -> Response {
        self.dated("closed", title, self.words.state.closed, ended)
    }

    /// The form was sent before, with different answers.
    pub(super) fn answered(&self, address: &str) -> Response {
        let new_form = html! { a.button.primary href=(address) { (self.words.state.new_form) } };
        self.message_page(Kind::Answered, "answered", self.words.state.answered, new_form)
    }

    /// The page for an invitation that no longer accepts an answer; none if it does.
    pub(super) fn invitation(&self, invitation: InvitationState) -> Option<Response> {
        let state = &self.words.state;
        let (name, titled) = match invitation {
            InvitationState::Sent | InvitationState::Opened => return None,
            InvitationState::Completed => ("invitation-used", state.invitation_used),
            InvitationState::Expired => ("invitation-expired", state.invitation_expired),
            InvitationState::Revoked => ("invitation-revoked", state.invitation_revoked),
        };
        Some(self.message_page(Kind::Over, name, titled, html! {}))
    }

    fn message_page(
        &self,
        kind: Kind,
        state: &'static str,
        titled: TitledText,
        more: Markup,
    ) -> Response {
        let content = html! { h1 { (titled.title) } p.lead { (titled.text) } (more) };
        self.page(kind, titled.title, &PageData { state, ..PageData::default() }, content)
    }

    /// A state with the name of the flow and the time at which it changed, or will change.
    fn dated(
        &self,
        state: &'static str,
        title: &str,
        titled: TitledText,
        at: Option<Timestamp>,
    ) -> Response {
        let (before, after) = titled.text.split_once("{time}").unwrap_or((titled.text, ""));
        let content = html! {
            h1 { (titled.title) }
            @if let Some(at) = at { p.lead { (before) (time(at)) (after) } }
            p.detail dir="auto" { (title) }
        };
        self.page(Kind::Shown, titled.title, &PageData { state, ..PageData::default() }, content)
    }
}

/// What was stored, for the page that confirms it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoredConfirmation<'d> {
    pub(super) version: Option<FlowVersionId>,
    pub(super) response: Option<ResponseId>,
    pub(super) linkage: Linkage,
    pub(super) address: Option<&'d str>,
}

/// The ending that the answers lead to.
#[derive(Clone, Copy)]
pub(super) struct ReachedEnding<'d> {
    pub(super) texts: FlowTexts<'d>,
    /// `None` is the last resort.
    pub(super) named: Option<&'d NamedEnding>,
}

impl<'d> ReachedEnding<'d> {
    pub(super) fn redirect(self) -> Option<&'d str> {
        let last_resort = self.texts.wording.definition().ending();
        let ending = self.named.map_or(last_resort, |named| &named.ending);
        ending.redirect_url.as_deref()
    }

    /// The author's other endings may be about anything, so only the usual one has a tick.
    fn is_ticked(self) -> bool {
        self.named.is_none()
    }

    fn asks_anything(self) -> bool {
        self.texts.wording.definition().asks_anything()
    }

    /// Whether its texts depend on the answers.
    pub(super) fn is_piped(self) -> bool {
        let (title, body) = self.texts.wording.ending(self.named);
        title.into_iter().chain(body).any(is_piped)
    }
}

impl Frame<'_> {
    /// The ending: the author's, or the default one.
    pub(super) fn stored(
        &self,
        reached: Option<ReachedEnding<'_>>,
        done: StoredConfirmation<'_>,
    ) -> Response {
        let state = &self.words.state;
        let (title, body) = reached.map_or((None, None), |it| it.texts.wording.ending(it.named));
        let texts = reached.map(|it| it.texts);
        let heading = match texts.zip(title) {
            Some((texts, title)) => texts.inline(title),
            None => html! { (state.stored.title) },
        };
        let title = texts.zip(title).map(|(texts, title)| texts.plain(title));
        let title = title.as_deref().unwrap_or(state.stored.title);
        let redirect = reached.and_then(|it| it.redirect());
        let linked = match done.linkage {
            Linkage::Linked => state.linked,
            Linkage::Anonymous => state.anonymous,
            Linkage::Unlinked => state.unlinked,
        };
        let content = html! {
            @if reached.is_none_or(ReachedEnding::is_ticked) { div.tick {} }
            h1 dir="auto" { (heading) }
            @if let Some((texts, body)) = texts.zip(body) { (texts.blocks("lead", None, body)) }
            @if let Some(preview) = self.preview {
                @if !preview.is_test { p.detail.preview { (state.preview) } }
                a.button href=(preview.address) { (state.new_form) }
            } @else if reached.is_none_or(ReachedEnding::asks_anything) {
                p.detail { (state.stored.text) " " (linked) }
            }
            @if let Some(url) = redirect { a.button.primary href=(url) { (state.go_on) } }
        };
        let data = PageData {
            state: "stored",
            version: done.version,
            response: done.response,
            redirect,
            done: done.address,
            ..PageData::default()
        };
        self.page(Kind::Shown, title, &data, content)
    }
}
