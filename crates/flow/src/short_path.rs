//! Short paths of hosted pages: what an author may choose in place of a flow's id.
//!
//! A path is easy to read aloud and to type, so it has only lower-case letters, digits and hyphens.
//! An id has an underscore, so no path looks like one.

use std::ops::RangeInclusive;

/// The number of characters of a path.
pub const CHARS: RangeInclusive<usize> = 3..=64;
/// Paths of the pages themselves.
const RESERVED: [&str; 1] = ["assets"];

const FORM: &str = "must have 3 to 64 letters a to z, digits and hyphens, with a letter or digit \
                    at both ends and no two hyphens in a row";

/// The path in lower case, or why it is none.
pub fn check(text: &str) -> Result<String, &'static str> {
    let path = text.to_ascii_lowercase();
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let has_form = CHARS.contains(&path.len())
        && path.bytes().all(is_allowed)
        && path.split('-').all(|word| !word.is_empty());
    match path {
        path if !has_form => Err(if path.is_empty() { "must not be empty" } else { FORM }),
        path if RESERVED.contains(&path.as_str()) => Err("is used by Sluice itself"),
        path => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_letters_digits_and_single_hyphens() {
        let long = "x".repeat(64);
        for (text, path) in [
            ("my-survey", Some("my-survey")),
            ("My-Survey-2026", Some("my-survey-2026")),
            ("nps", Some("nps")),
            (&long, Some(long.as_str())),
            ("2026", Some("2026")),
            ("", None),
            ("ab", None),
            (&format!("{long}x"), None),
            ("-survey", None),
            ("survey-", None),
            ("my--survey", None),
            ("my survey", None),
            ("my_survey", None),
            ("my/survey", None),
            ("umfrage-ü", None),
            ("fl_01KA2VgdPrWYDVgYy3wLpB", None),
            ("assets", None),
            ("Assets", None),
        ] {
            assert_eq!(check(text).ok().as_deref(), path, "{text}");
        }
    }
}
