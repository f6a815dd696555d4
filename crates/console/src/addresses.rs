//! Addresses of the console's pages: queries, pages that it redirects to, and the page to return to
//! afterwards.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are not escaped in the query of an address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b',');

/// A name or a value in the query of an address.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// The query of an address, without its question mark.
pub(super) fn query(pairs: &[(String, String)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

pub(super) const SIGN_IN: &str = "/console/sign-in";
pub(super) const FORGOTTEN: &str = "/console/forgotten";
pub(super) const CONFIRM: &str = "/console/confirm";

/// Only a path within the console, so that no link can redirect to another site.
pub(super) fn local(back: &str) -> Option<&str> {
    let inside =
        back == "/console" || back.starts_with("/console/") || back.starts_with("/console?");
    (inside && back.is_ascii() && !back.contains(['\\', '\r', '\n'])).then_some(back)
}

/// The address of a page that afterwards returns to a page of the console.
pub(super) fn returning(page: &str, back: &str) -> String {
    match local(back) {
        Some(back) => format!("{page}?to={}", utf8_percent_encode(back, NON_ALPHANUMERIC)),
        None => page.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_only_pages_of_the_console_are_redirected_to() {
        for (back, there) in [
            ("/console", true),
            ("/console/flows/fl_1/edit?x=y", true),
            ("/console?x", true),
            ("/consoles", false),
            ("//evil.example/console", false),
            ("https://evil.example/console", false),
            ("/console/\\evil", false),
            ("/console/\r\nset-cookie: a", false),
            ("", false),
        ] {
            assert_eq!(local(back).is_some(), there, "{back}");
        }
    }
}
