//! Request extractors: ids from the path, the fields of a form.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use sluice_engine::{AdminError, AdminResult};
use sluice_flow::definition::Fault;
use sluice_http::path_segment::{self, PathId};
use sluice_http::{query, upload};

use super::reply::Refused;

/// The largest form, in bytes: a definition of 1 MiB.
const FORM_BYTES_MAX: usize = 1024 * 1024;
/// The largest form of a visitor who is not signed in.
const SMALL_FORM_BYTES_MAX: usize = 8 * 1024;
/// The most fields of any form.
const FIELDS_MAX: usize = 2_000;

/// The id in the path, under the name of its kind.
pub(super) struct PathParam<T>(pub(super) T);

impl<T: PathId, S: Send + Sync> FromRequestParts<S> for PathParam<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(path_segment::in_path(parts).await?))
    }
}

/// The faults of a change, apart from other errors.
pub(super) fn faults_of<T>(changed: AdminResult<T>) -> AdminResult<Result<T, Vec<Fault>>> {
    match changed {
        Ok(changed) => Ok(Ok(changed)),
        Err(AdminError::Invalid(faults)) => Ok(Err(faults)),
        Err(error) => Err(error),
    }
}

/// Query parameters or form fields, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(pub(super) Vec<(String, String)>);

impl Fields {
    pub(super) fn parse(text: &str) -> Self {
        let pairs = query::pairs(text);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The first value with this name, trimmed; none if it is empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        values.map(|(_, value)| value.trim()).find(|value| !value.is_empty())
    }

    /// The first value as typed.
    pub(super) fn raw(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub(super) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}

/// The query parameters.
#[derive(Debug, Clone, Default)]
pub(super) struct Query(pub(super) Fields);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(Fields::parse(parts.uri.query().unwrap_or_default())))
    }
}

/// The fields of a sent form.
#[derive(Debug, Clone, Default)]
pub(super) struct Form(pub(super) Fields);

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        fields(&read_whole(request).await?).map(Self)
    }
}

/// The fields of a form that visitors can send without signing in.
#[derive(Debug, Clone, Default)]
pub(super) struct SmallForm(pub(super) Fields);

impl<S: Send + Sync> FromRequest<S> for SmallForm {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        fields(&read_up_to(SMALL_FORM_BYTES_MAX, request).await?).map(Self)
    }
}

fn fields(bytes: &[u8]) -> Result<Fields, Refused> {
    let text = std::str::from_utf8(bytes).map_err(|_| Refused::Unreadable)?;
    if text.bytes().filter(|&byte| byte == b'&').count() >= FIELDS_MAX {
        return Err(Refused::TooLarge);
    }
    Ok(Fields::parse(text))
}

/// The whole body of a request, within the limit of a form.
pub(super) async fn read_whole(request: Request) -> Result<bytes::Bytes, Refused> {
    read_up_to(FORM_BYTES_MAX, request).await
}

/// The whole body of a request, within this limit.
pub(super) async fn read_up_to(
    body_bytes_max: usize,
    request: Request,
) -> Result<bytes::Bytes, Refused> {
    let (head, body) = request.into_parts();
    Ok(upload::read(&head, body, body_bytes_max).await?)
}

/// The first language of the browser.
pub(super) fn language(headers: &HeaderMap) -> Option<&str> {
    let accepted = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    accepted.split([',', ';']).next().map(str::trim).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_trimmed_or_as_typed() {
        let fields = Fields::parse("a=+x+&a=y&b=&c=1");
        assert_eq!(fields.get("a"), Some("x"));
        assert_eq!(fields.raw("a"), " x ");
        assert_eq!(fields.all("a").collect::<Vec<_>>(), [" x ", "y"]);
        assert_eq!((fields.get("b"), fields.has("b"), fields.has("d")), (None, true, false));
    }
}
