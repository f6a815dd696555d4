//! A form sent to a hosted page: the query on the first line, then the fields. `VERSION` stands for
//! the id of the version.
//!
//! The form is stored, shown again or refused, and is never a server error; nothing that was sent
//! becomes markup.

use http::Method;

use super::hosted_link::SCRIPTS;
use super::site::{check_page, filled, site};

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((query, fields)) = text.split_once('\n') else { return };
    let site = site();
    let fields = filled(fields.as_bytes(), "VERSION", &site.flow_version_id);
    let address = format!("/f/{}?{query}", site.flow_id);
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let Some(reply) = site.send(&Method::POST, &address, &headers, fields) else { return };
    match reply.status {
        303 => {
            let to = reply.headers["location"].to_str().expect("an ASCII address");
            assert!(to.starts_with("/f/") || to.starts_with("https://example.com"), "{to}");
        }
        200 | 400 | 401 | 404 | 409 | 410 | 413 | 422 => check_page(&reply, SCRIPTS),
        status => panic!("{status}: {}", reply.text),
    }
}
