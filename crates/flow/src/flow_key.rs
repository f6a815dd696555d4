//! Keys of flows: the names by which flow files refer to them.
//!
//! A key is unique in its app and stays when everything else about the flow changes. An id has an
//! underscore and a key has none, so no key looks like an id.

/// The longest key, in characters.
pub const KEY_CHARS_MAX: usize = 64;

const FORM: &str = "must have 1 to 64 letters a to z, digits, hyphens and dots, with a letter or \
                    digit at both ends";

/// Why a text cannot be a key.
pub fn fault(key: &str) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = key.as_bytes();
    let is_sound = (1..=KEY_CHARS_MAX).contains(&bytes.len())
        && bytes.iter().all(|&byte| is_plain(byte) || matches!(byte, b'-' | b'.'))
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|&byte| is_plain(byte));
    (!is_sound).then_some(FORM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_lower_case_letters_digits_hyphens_and_dots() {
        let (long, longer) = ("k".repeat(64), "k".repeat(65));
        for key in ["a", "7", "product-feedback", "shop.checkout", "a--b", &long] {
            assert_eq!(fault(key), None, "{key}");
        }
        for key in ["", "-a", "a.", "Product", "fl_1", "a b", "grün", "a/b", &longer] {
            assert_eq!(fault(key), Some(FORM), "{key}");
        }
    }
}
