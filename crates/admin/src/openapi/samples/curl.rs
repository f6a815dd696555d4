//! A call as a command to paste into a shell.

use std::fmt::Write as _;

use super::call::{Body, Call, Reply};
use crate::reference::example;

/// A body up to this length is on one line.
const LINE_CHARS_MAX: usize = 72;

pub(super) fn sample(call: &Call) -> String {
    let mut command = String::from("curl");
    let implied = if matches!(call.body, Body::None) { "get" } else { "post" };
    if !call.has_method(implied) {
        let _ = write!(command, " -X {}", call.method.to_uppercase());
    }
    let url = call.url();
    let _ =
        if call.query.is_empty() { write!(command, " {url}") } else { write!(command, " '{url}'") };
    if call.is_admin {
        command.push_str(" \\\n  -H \"Authorization: Bearer $SLUICE_TOKEN\"");
    }
    if let Some(content_type) = call.content_type() {
        let _ = write!(command, " \\\n  -H 'Content-Type: {content_type}'");
    }
    match &call.body {
        Body::None => {}
        Body::Json(body) => {
            let line = body.to_string();
            let text = if line.len() <= LINE_CHARS_MAX { line } else { example::pretty(body) };
            let _ = write!(command, " \\\n  -d '{}'", text.replace('\'', "'\\''"));
        }
        Body::File(name, _) => {
            let _ = write!(command, " \\\n  --data-binary @{name}");
        }
    }
    if let Reply::File(name) = &call.reply {
        let _ = write!(command, " \\\n  -o {name}");
    }
    command.push('\n');
    command
}
