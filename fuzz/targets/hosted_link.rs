//! The address of a hosted page: languages on the first line, the query on the second.
//!
//! The page is never a server error, nothing in the query becomes markup, and the same address
//! shows the same page with another key for its form.

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
    let show = || site.send(&Method::GET, &address, &headers, Vec::new());
    let Some(reply) = show() else { return };
    assert!([200, 400, 401, 404, 414].contains(&reply.status), "{}: {}", reply.status, reply.text);
    check_page(&reply, SCRIPTS);
    let again = show().expect("the same request");
    assert_eq!(again.status, reply.status, "another status for the same address");
    assert_eq!(without_key(&again.text), without_key(&reply.text), "another page");
}

/// What is before and after the key of the form, which is new on each page.
fn without_key(page: &str) -> (&str, &str) {
    let Some((before, rest)) = page.split_once("name=\"key\" value=\"") else { return (page, "") };
    (before, rest.split_once('"').map_or("", |(_, after)| after))
}
