//! Sends an export as a file: the body, and the headers that name the file for a browser.

use axum::Extension;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_engine::export::Export;

use crate::server::Interruptible;

/// How many responses the file will hold, if that was known at the start.
pub const X_TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// Where the next export of new responses starts.
pub const X_NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

/// An export as a reply. If reading fails, the body is cut off, so that no client takes a partial
/// file for a complete one. The same happens if the server stops: an export may take as long as its
/// reader.
pub fn response(export: Export) -> Response {
    let mut headers = headers(export.format.media_type, &export.file_name);
    if let Some(total) = export.progress.total {
        headers.insert(X_TOTAL_COUNT, total.into());
    }
    let next = export.next.map(|next| HeaderValue::from_str(&next.to_string()));
    headers.extend(next.and_then(Result::ok).map(|next| (X_NEXT_CURSOR, next)));
    let chunks = stream::unfold(export.chunks, async |mut chunks| {
        chunks.recv().await.map(|chunk| (chunk, chunks))
    });
    (headers, Extension(Interruptible), Body::from_stream(chunks)).into_response()
}

fn headers(media_type: &'static str, file_name: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let disposition = format!("attachment; filename=\"{file_name}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    headers
}
