//! Language tags: whether a text is one, and how it is written.
//!
//! Only the spelling is made canonical (`de_at` becomes `de-AT`); no alias is replaced, so that what
//! is stored is still the tag that was sent. What a tag means for a page is not decided here.

use icu_locale::Locale;

/// The longest language tag that is read, in bytes; no tag in use comes near it.
pub const LOCALE_BYTES_MAX: usize = 64;

/// The tag in canonical case, with `_` read as `-`; nothing if it is not a BCP 47 language tag.
pub fn canonical(tag: &str) -> Option<String> {
    if tag.len() > LOCALE_BYTES_MAX {
        return None;
    }
    if is_plain(tag.as_bytes()) {
        return Some(tag.to_owned());
    }
    let hyphenated = tag.replace('_', "-");
    Locale::normalize(&hyphenated).ok().map(|tag| tag.into_owned())
}

/// Whether the tag is like `de` or `de-AT`: what most browsers send, and canonical as it is.
fn is_plain(tag: &[u8]) -> bool {
    let is_language = |part: &[u8]| part.len() == 2 && part.iter().all(u8::is_ascii_lowercase);
    let is_region = |part: &[u8]| part.len() == 2 && part.iter().all(u8::is_ascii_uppercase);
    match tag {
        [language @ .., b'-', first, second] => {
            is_language(language) && is_region(&[*first, *second])
        }
        language => is_language(language),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_tag_is_written_in_canonical_case() {
        for (sent, canonical_form) in [
            ("en", "en"),
            ("en-US", "en-US"),
            ("EN", "en"),
            ("en_us", "en-US"),
            ("de-at", "de-AT"),
            ("zh_hant_tw", "zh-Hant-TW"),
            ("sr-LATN", "sr-Latn"),
            ("es-419", "es-419"),
            ("gsw", "gsw"),
            ("de-CH-1996", "de-CH-1996"),
            ("en-U-HC-H12", "en-u-hc-h12"),
        ] {
            assert_eq!(canonical(sent).as_deref(), Some(canonical_form), "{sent}");
        }
    }

    #[test]
    fn a_text_that_is_no_language_tag_is_refused() {
        let too_long = format!("en-x-{}", "abcdefgh-".repeat(7)) + "a";
        for sent in [
            "", "e", "-", "en-", "-US", "en--US", "english!", "de AT", "en-US\0", "日本", &too_long,
        ] {
            assert_eq!(canonical(sent), None, "{sent:?}");
        }
    }

    #[test]
    fn a_tag_may_have_64_bytes() {
        let tag = format!("en-x-{}", "abcdefgh-".repeat(6)) + "abcde";
        assert_eq!(tag.len(), LOCALE_BYTES_MAX);
        assert_eq!(canonical(&tag), Some(tag));
    }
}
