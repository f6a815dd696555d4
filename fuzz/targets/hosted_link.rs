//! The address of a hosted page: languages on the first line, the query on the second.
//!
//! The page is never a server error, nothing in the query becomes markup, and the same address
//! shows the same page.

use http::Method;

use super::site::{check_page, site};

/// The scripts of a page: its own, and the data for it.
pub(super) const SCRIPTS: usize = 3;

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((languages, query)) = text.split_once('\n') else { return };
    let site = site();
    let address = format!("/f/{}?{query}", site.flow_id);
    let headers = [("accept-language", languages)];
    let Some(reply) = site.send(&Method::GET, &address, &headers, Vec::new()) else { return };
    assert!([200, 400, 401, 404, 414].contains(&reply.status), "{}: {}", reply.status, reply.text);
    check_page(&reply, SCRIPTS);
}
