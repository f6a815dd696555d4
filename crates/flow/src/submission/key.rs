//! The form of idempotency keys, in the field of a submission and in the header alike.

use std::borrow::Cow;

/// The longest idempotency key, in characters, without its quotes.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// The idempotency key that a text names: 1 to 255 printable ASCII characters, bare, or in quotes
/// with `\"` and `\\` escaped.
pub fn idempotency_key(text: &str) -> Option<Cow<'_, str>> {
    let key = match text.strip_prefix('"') {
        Some(rest) => Cow::Owned(unquoted(rest)?),
        None => Cow::Borrowed(text),
    };
    let is_printable = |byte| (0x20..0x7F).contains(&byte);
    let is_key =
        (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.len()) && key.bytes().all(is_printable);
    is_key.then_some(key)
}

/// The text before the closing quote, which must be the last character.
fn unquoted(rest: &str) -> Option<String> {
    let mut key = String::with_capacity(rest.len());
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return chars.next().is_none().then_some(key),
            '\\' => key.push(chars.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            plain => key.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_key_is_the_bare_key() {
        let longest = "k".repeat(IDEMPOTENCY_KEY_CHARS_MAX);
        let quoted = format!("\"{longest}\"");
        for (text, key) in [
            ("abc", "abc"),
            ("\"abc\"", "abc"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            (r#"a"b\c"#, r#"a"b\c"#),
            ("a b", "a b"),
            ("\" \"", " "),
            (&longest, &longest),
            (&quoted, &longest),
        ] {
            assert_eq!(idempotency_key(text).as_deref(), Some(key), "{text}");
        }
    }

    #[test]
    fn a_key_has_1_to_255_printable_ascii_characters() {
        let long = "k".repeat(IDEMPOTENCY_KEY_CHARS_MAX + 1);
        let quoted = format!("\"{long}\"");
        for text in [
            "",
            "\"",
            "\"\"",
            "\"open",
            "\"a\"b\"",
            r#""a\b""#,
            r#""a\"#,
            "tab\there",
            "é",
            "\"é\"",
            "\u{7f}",
            &long,
            &quoted,
        ] {
            assert_eq!(idempotency_key(text), None, "{text:?}");
        }
    }
}
