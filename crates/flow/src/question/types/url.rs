//! `url`: a web address.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::{Format, Input};

use crate::counts::count_method::CountMethod;
use crate::definition::limits::URL_CHARS_MAX;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::question::text::Length;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Url {
    pub length: Length,
}

impl Rules for Url {
    const ICON: &str =
        "M9 15 15 9M11 6l1-1a4.2 4.2 0 0 1 6 6l-1 1M13 18l-1 1a4.2 4.2 0 0 1-6-6l1-1";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { length: Length::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let Some(text) = one(answer, problems) else { return };
        self.length.judge(text, problems);
        if !is_url(text) {
            problems.add(
                Code::InvalidFormat,
                "takes a web address that starts with http:// or https://",
            );
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Line { format: Format::Url, length: self.length }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Presence
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Text
    }

    fn text_chars_max(&self) -> u32 {
        self.length.at_most(URL_CHARS_MAX as u32)
    }

    fn fields() -> Vec<Field> {
        Length::fields()
    }
}

/// Whether a text is an absolute http or https address with a host.
pub(crate) fn is_url(text: &str) -> bool {
    // The parser drops white space and control characters; an address with any is invalid.
    let plain = !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    // The parser also accepts `https:example.com`, which a browser resolves against the current
    // page.
    let is_absolute = text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    plain
        && is_absolute
        && text.chars().count() <= URL_CHARS_MAX
        && ::url::Url::parse(text).is_ok_and(|url| url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_or_https_with_a_host() {
        let long = format!("https://example.com/{}", "a".repeat(URL_CHARS_MAX));
        for (text, accepted) in [
            ("https://example.com", true),
            ("http://example.com:8080/a?b=c#d", true),
            ("HTTPS://münchen.example/straße", true),
            ("https://127.0.0.1/", true),
            ("", false),
            ("example.com", false),
            ("//example.com", false),
            ("https://", false),
            ("https:example.com", false),
            ("https:/example.com", false),
            ("ftp://example.com", false),
            ("javascript:alert(1)", false),
            ("mailto:ada@example.com", false),
            (" https://example.com", false),
            ("https://exa mple.com", false),
            ("https://example.com/\n", false),
            (&long, false),
        ] {
            assert_eq!(is_url(text), accepted, "{text:?}");
        }
    }
}
