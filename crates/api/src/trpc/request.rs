//! Parses a request: which calls it makes, and the framing of the reply.
//!
//! These checks concern the whole request; each failure is one error object without a path, even
//! for a batch. Their order is that of the reference server, since clients show the first failure.

use std::borrow::Cow;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use percent_encoding::percent_decode_str;
use sluice_http::query;

use super::envelope::{Code, Fault};

/// The most calls in one batch.
pub const CALLS_MAX: usize = 100;

const TRPC_ACCEPT: HeaderName = HeaderName::from_static("trpc-accept");
const TRPC_BATCH_MODE: HeaderName = HeaderName::from_static("trpc-batch-mode");
const JSON_LINES: &str = "application/jsonl";

/// The framing of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// One call, one envelope.
    Single,
    /// A batch, answered when all its calls are done.
    Array,
    /// A batch, each call answered as it completes: lines of version 11.
    Lines11,
    /// The same in the lines of version 10.
    Lines10,
}

/// The calls of a request, by the paths of their procedures, and the framing of the reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallPlan {
    pub(super) paths: Vec<String>,
    pub(super) framing: Framing,
}

impl CallPlan {
    pub(super) fn read(head: &Parts, raw_path: &str) -> Result<Self, Fault> {
        let is_batch = is_batch(head);
        let framing = framing(&head.headers, is_batch);
        let path = procedure_path(raw_path)?;
        if head.method != Method::GET {
            check_media_type(&head.headers)?;
        }
        let paths: Vec<String> =
            if is_batch { path.split(',').map(str::to_owned).collect() } else { vec![path] };
        if paths.len() > CALLS_MAX {
            let message = format!("A batch may have at most {CALLS_MAX} calls.");
            return Err(Fault::new(Code::BadRequest, message));
        }
        if framing == Framing::Lines11 && !is_batch {
            let message = "Streaming requests must be batched (you can do a batch of 1)";
            return Err(Fault::new(Code::BadRequest, message));
        }
        Ok(Self { paths, framing })
    }
}

/// Whether the body has an input for each of several calls.
pub(super) fn is_batch(head: &Parts) -> bool {
    query::first(head.uri.query(), "batch").as_deref() == Some("1")
}

/// Version 11 asks for lines by `trpc-accept` or `Accept`, version 10 by `trpc-batch-mode`; the
/// newer wins if both are sent.
fn framing(headers: &HeaderMap, is_batch: bool) -> Framing {
    let names_lines = |value: &str| value.split(',').any(|token| token.trim() == JSON_LINES);
    let accepts_lines = match headers.get(TRPC_ACCEPT) {
        Some(value) => value == JSON_LINES,
        None => headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).any(names_lines),
    };
    let is_mode_stream = || headers.get(TRPC_BATCH_MODE).is_some_and(|mode| mode == "stream");
    match is_batch {
        _ if accepts_lines => Framing::Lines11,
        true if is_mode_stream() => Framing::Lines10,
        true => Framing::Array,
        false => Framing::Single,
    }
}

/// The path below the transport's base, decoded, without trailing slashes.
fn procedure_path(raw: &str) -> Result<String, Fault> {
    let resolved = without_dot_segments(raw);
    let raw = resolved.trim_end_matches('/');
    let invalid =
        || Fault::new(Code::BadRequest, format!("Invalid URL-encoding in path \"{raw}\""));
    if !raw.contains('%') {
        return Ok(raw.to_owned());
    }
    if !escapes_are_whole(raw) {
        return Err(invalid());
    }
    let decoded = percent_decode_str(raw).decode_utf8().map_err(|_| invalid())?;
    Ok(decoded.into_owned())
}

fn escapes_are_whole(raw: &str) -> bool {
    raw.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Resolves `.` and `..`, as every URL parser does before it sends a path; a client that does not
/// is handled the same way. No path leads above the transport's base.
fn without_dot_segments(raw: &str) -> Cow<'_, str> {
    if !raw.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Cow::Borrowed(raw);
    }
    let mut kept = Vec::new();
    for segment in raw.split('/') {
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            segment => kept.push(segment),
        }
    }
    Cow::Owned(kept.join("/"))
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Fault> {
    let unsupported = |message| Err(Fault::new(Code::UnsupportedMediaType, message));
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return unsupported("Missing content-type header".to_owned());
    };
    let raw = String::from_utf8_lossy(value.as_bytes());
    let media_type = raw.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        // The reference server also leaves the quote open, and this text is compared with it.
        return unsupported(format!("Unsupported content-type \"{raw}"));
    }
    match headers.get(CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            unsupported(format!(
                "Unsupported content-encoding \"{coding}\": send the body uncompressed"
            ))
        }
        _ => Ok(()),
    }
}
