//! The limits by address, on the pages of respondents: calls before a flow is looked up, bytes
//! before a form is read.

use std::net::IpAddr;

use axum::body::Body;
use axum::response::Response;
use http::HeaderMap;
use sluice_engine::Limited;
use sluice_http::body::{self, BodyError};
use sluice_http::rate::{self, Sender};
use sluice_http::reply::Refusal;

use super::Hosted;
use super::form::Form;
use super::page_request::{PageRequest, SLUICE_SCRIPT, bare_page};

/// The largest form that is read although its address has sent too many bytes, so that it can be
/// shown again as it was filled in.
const SHOWN_AGAIN_BYTES_MAX: u64 = 64 * 1024;

/// A form that was read.
pub(super) struct ReadForm {
    pub(super) form: Form,
    /// Set if its address has sent too many bytes: it is not handled, only shown again.
    pub(super) limited: Option<Limited>,
}

/// Why a form was not read.
enum Unread {
    Body(BodyError),
    Limited(Limited),
}

impl From<BodyError> for Unread {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl Hosted {
    /// Counts one more call of an address, and returns who sent it.
    pub(super) fn admit(
        &self,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Result<Sender, Limited> {
        let sender = self.addresses.sender(peer, headers);
        self.addresses.admit_calls(&self.engine, sender, 1)?;
        Ok(sender)
    }

    /// The fields of a form, or the page for one that is not read.
    pub(super) async fn read_form(
        &self,
        page_request: &PageRequest,
        sender: Sender,
        body: Body,
    ) -> Result<ReadForm, Response> {
        let (limits, headers) = (self.form_limits(), &page_request.headers);
        let admit = |bytes| self.addresses.admit_bytes(&self.engine, sender, bytes);
        let announced =
            body::announced(headers).map(|bytes| bytes.min(limits.body_bytes_max as u64));
        let limited = announced.and_then(|bytes| admit(bytes).err());
        if let Some(limited) = &limited
            && announced.is_some_and(|bytes| bytes > SHOWN_AGAIN_BYTES_MAX)
        {
            return Err(page(headers, limited));
        }
        let admit = |bytes| match announced {
            Some(_) => Ok(()),
            None => admit(bytes).map_err(Unread::Limited),
        };
        match body::read_counted(headers, body, &limits, sender, admit).await {
            Ok(body) => {
                Ok(ReadForm { form: Form::parse(&String::from_utf8_lossy(&body)), limited })
            }
            Err(Unread::Limited(limited)) => Err(page(headers, &limited)),
            Err(Unread::Body(BodyError::TooLarge)) => Err(page_request.bare_frame().too_large()),
            Err(Unread::Body(_)) => Err(page_request.bare_frame().failed()),
        }
    }
}

/// The page of an address over its limit. The script gets none: it would replace the form and the
/// answers in it.
pub(super) fn page(headers: &HeaderMap, limited: &Limited) -> Response {
    if headers.contains_key(SLUICE_SCRIPT) {
        return Refusal::RateLimited(*limited).reply();
    }
    let seconds = limited.retry_after_seconds;
    let mut response = bare_page(headers, |frame| frame.limited(seconds));
    rate::mark(response.headers_mut(), limited);
    response
}
