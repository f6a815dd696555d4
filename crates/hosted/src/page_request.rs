//! A request to a page, with what every page needs: the flow, the parameters, the reader's
//! language, and who the visitor is by their token. A visitor who may not continue gets a page with
//! the reason.

use std::sync::Arc;

use axum::response::Response;
use http::header::{ACCEPT_LANGUAGE, HOST, REFERER};
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use sluice_engine::rows::IdentityVerification;
use sluice_engine::{Engine, HostedFlow, HostedVersion, StoreError};
use sluice_flow::definition::{Definition, RespondentAnalytics, Wording};
use sluice_flow::identity::Bearer;
use sluice_flow::invitation::InvitationState;
use sluice_flow::lifecycle::FlowStatus;
use sluice_flow::submission::TextMap;
use sluice_http::access::{AccessCheck, AccessDenied};
use sluice_http::{path_segment, query, store_down};

use super::page::{Frame, PreviewContext};
use super::parameters::Parameters;
use super::texts::FlowTexts;
use super::words::Words;

/// The header that identifies a request of the script.
pub(super) const SLUICE_SCRIPT: HeaderName = HeaderName::from_static("sluice-script");

/// The log message if the store is down.
pub(super) const UNREAD: &str = "cannot read a hosted page";

/// A request whose flow was found.
pub(super) struct PageRequest {
    pub(super) flow: HostedFlow,
    pub(super) parameters: Parameters,
    pub(super) languages: Vec<String>,
    pub(super) bearer: Option<Arc<Bearer>>,
    /// Whether the script sent the request: then the reply is for the script, not for a browser
    /// that navigates.
    pub(super) is_scripted: bool,
    pub(super) headers: HeaderMap,
    pub(super) preview: Option<PreviewContext>,
    /// The path of the public URL.
    pub(super) public_path: Box<str>,
    /// Whether the address has an invitation of this flow ([`PageRequest::find_invitation`]).
    is_invited: bool,
}

/// Why a request was refused.
pub(super) enum PageRefused {
    /// Nothing to show, or not now.
    Page(Response),
    /// The caller has not proven who they are; the flow is known, but nothing of it may be shown.
    Token(Box<PageRequest>, Response),
}

impl PageRefused {
    pub(super) fn page(self) -> Response {
        match self {
            Self::Page(response) | Self::Token(_, response) => response,
        }
    }
}

impl PageRequest {
    pub(super) async fn resolve(engine: &Engine, head: Parts) -> Result<Self, PageRefused> {
        let query = head.uri.query();
        let accepted = text(&head.headers, ACCEPT_LANGUAGE).map(str::to_owned);
        let flow_id = path_segment::decoded(head.uri.path().split('/').nth(2).unwrap_or_default());
        let found = engine.links().flow(&flow_id).await;
        let flow = match found {
            Ok(Ok(flow)) => flow,
            outcome => {
                let parameters = Parameters::read(query, false);
                let languages = parameters.languages(accepted.as_deref());
                let words = Words::for_reader(&languages);
                let frame = Frame {
                    words,
                    language: words.language,
                    parameters: &parameters,
                    request: &head.headers,
                    flow: None,
                    preview: None,
                    public_path: "",
                };
                return Err(PageRefused::Page(match outcome {
                    Err(error) => {
                        store_down(&error, UNREAD);
                        frame.failed()
                    }
                    Ok(_) => frame.missing(),
                }));
            }
        };
        let takes_identities = flow.app().identity_verification == IdentityVerification::Off;
        let parameters = Parameters::read(query, takes_identities);
        let languages = parameters.languages(accepted.as_deref());
        let entry = AccessCheck::run_for_app(engine, Arc::clone(flow.app()), &head.headers).await;
        let bearer = entry.bearer().cloned();
        let is_scripted = head.headers.contains_key(SLUICE_SCRIPT);
        let headers = head.headers;
        let page_request = Self {
            flow,
            parameters,
            languages,
            bearer,
            is_scripted,
            headers,
            preview: None,
            public_path: engine.addresses().path().into(),
            is_invited: false,
        };
        match entry.app() {
            Ok(_) => Ok(page_request),
            Err(denied) => {
                let response = page_request.denied(denied);
                Err(PageRefused::Token(Box::new(page_request), response))
            }
        }
    }

    /// An author's preview of a flow. Only the address sets the language: the language of the
    /// author's browser is not what they want to preview.
    pub(super) fn preview(engine: &Engine, flow: HostedFlow, address: &str, head: Parts) -> Self {
        let query = head.uri.query();
        let parameters = Parameters::read(query, false);
        let languages = parameters.languages(None);
        let mark = if parameters.query.is_empty() { "" } else { "?" };
        let address = format!("{address}{mark}{}", parameters.query);
        let question = query::first(query, "question").unwrap_or_default().into_owned();
        let preview = Some(PreviewContext { address, question, is_test: false });
        let is_scripted = head.headers.contains_key(SLUICE_SCRIPT);
        let headers = head.headers;
        Self {
            flow,
            parameters,
            languages,
            bearer: None,
            is_scripted,
            headers,
            preview,
            public_path: engine.addresses().path().into(),
            is_invited: false,
        }
    }

    /// The page of a test link at this address, in the language of its reader.
    pub(super) fn test(engine: &Engine, flow: HostedFlow, address: &str, head: Parts) -> Self {
        let accepted = text(&head.headers, ACCEPT_LANGUAGE).map(str::to_owned);
        let mut page_request = Self::preview(engine, flow, address, head);
        page_request.languages = page_request.parameters.languages(accepted.as_deref());
        if let Some(preview) = &mut page_request.preview {
            preview.is_test = true;
        }
        page_request
    }

    fn denied(&self, denied: AccessDenied) -> Response {
        let frame = self.bare_frame();
        match denied {
            AccessDenied::Token(refused) => frame.token(refused),
            AccessDenied::UnknownKey | AccessDenied::StoreDown => frame.failed(),
        }
    }

    /// The frame of a page that shows nothing of the flow.
    pub(super) fn bare_frame(&self) -> Frame<'_> {
        let words = Words::for_reader(&self.languages);
        self.frame_in(words, words.language)
    }

    pub(super) fn frame<'f>(&'f self, wording: &Wording<'f>) -> Frame<'f> {
        self.frame_in(Words::for_language(wording.locale()), wording.locale())
    }

    fn frame_in<'f>(&'f self, words: &'static Words, language: &'f str) -> Frame<'f> {
        Frame {
            words,
            language,
            parameters: &self.parameters,
            request: &self.headers,
            flow: Some(&self.flow),
            preview: self.preview.as_ref(),
            public_path: &self.public_path,
        }
    }

    pub(super) fn wording<'d>(&self, definition: &'d Definition) -> Wording<'d> {
        definition.wording(&self.languages)
    }

    /// Whether it is known who answers: by their token, by an invitation, or by the address.
    pub(super) fn knows_respondent(&self) -> bool {
        self.bearer.as_ref().is_some_and(|bearer| bearer.proven().is_some())
            || self.is_invited
            || self.parameters.has_identities()
    }

    /// Reads the invitation in the address. Any other id there is the sender's own and says nothing
    /// about the respondent.
    pub(super) async fn find_invitation(&mut self) -> Result<Option<InvitationState>, StoreError> {
        let Some(assignment) = &self.parameters.assignment else { return Ok(None) };
        let state = self.flow.invitation_state(assignment).await?;
        self.is_invited = state.is_some();
        Ok(state)
    }

    /// The same if a version that may be shown asks its respondents to be linked.
    pub(super) async fn find_invitee(
        &mut self,
        version: Option<&HostedVersion>,
    ) -> Result<(), StoreError> {
        let asks = |version: &HostedVersion| {
            Self::definition(version)
                .is_some_and(|it| it.respondent_analytics() == RespondentAnalytics::Ask)
        };
        let asks = version.is_some_and(asks) || asks(&self.flow.current);
        if asks && !self.knows_respondent() {
            self.find_invitation().await?;
        }
        Ok(())
    }

    /// Whether respondents are asked to be linked to their answers: if the flow requests it and the
    /// respondent is known. An author sees the question in the preview.
    pub(super) fn asks_to_link(&self, definition: &Definition) -> bool {
        definition.respondent_analytics() == RespondentAnalytics::Ask
            && (self.preview.is_some() || self.knows_respondent())
    }

    /// The definition of a version. Versions with a page are published, and so have one.
    pub(super) fn definition(version: &HostedVersion) -> Option<&Definition> {
        version.snapshot().map(|snapshot| snapshot.definition())
    }

    /// The page of a flow that does not accept answers now; none if it does.
    pub(super) fn closed_page(&self) -> Option<Response> {
        let definition = Self::definition(&self.flow.current)?;
        let wording = self.wording(definition);
        let (frame, live) = (self.frame(&wording), self.flow.live);
        let answers = TextMap::default();
        let texts = FlowTexts::new(wording, frame.words, &self.parameters, &answers);
        let title = || texts.plain(wording.title());
        match self.flow.status {
            FlowStatus::Open => None,
            FlowStatus::Scheduled => Some(frame.scheduled(&title(), live.starts_at)),
            FlowStatus::Closed => Some(frame.closed(&title(), live.ends_at)),
        }
    }

    /// The page that the reader came from. One of our own pages may have an identity in its
    /// address, so its query is removed.
    pub(super) fn referrer(&self) -> Option<String> {
        let referrer = text(&self.headers, REFERER)?;
        let host = text(&self.headers, HOST).unwrap_or_default();
        let is_own = referrer.split('/').nth(2) == Some(host);
        let kept = if is_own { referrer.split('?').next().unwrap_or_default() } else { referrer };
        Some(kept.to_owned())
    }

    /// The query of the page, with its question mark. The intake removes identities from it if the
    /// respondent does not agree to be linked.
    pub(super) fn search(&self) -> String {
        match self.parameters.query.as_str() {
            "" => String::new(),
            query => format!("?{query}"),
        }
    }

    /// The address of a new form of this flow, with the same parameters.
    pub(super) fn address(&self) -> String {
        match &self.preview {
            Some(preview) => preview.address.clone(),
            None => format!("/f/{}{}", self.flow.flow_id, self.search()),
        }
    }
}

/// A page that shows nothing of a flow.
pub(super) fn bare_page(request: &HeaderMap, page: impl Fn(Frame<'_>) -> Response) -> Response {
    let parameters = Parameters::default();
    let languages = parameters.languages(text(request, ACCEPT_LANGUAGE));
    let words = Words::for_reader(&languages);
    let language = words.language;
    let (parameters, flow, preview, public_path) = (&parameters, None, None, "");
    page(Frame { words, language, parameters, request, flow, preview, public_path })
}

/// The value of a header, if it is text.
pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
