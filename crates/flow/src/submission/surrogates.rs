//! Escapes of lone surrogates.
//!
//! JavaScript strings are sequences of UTF-16 units, so `"😀".slice(0, 1)` is half of a surrogate
//! pair. It is sent as `"\ud83d"`, which is valid JSON but not valid Unicode. Each such half is
//! replaced by U+FFFD, as every UTF-8 encoder does. This runs only for input that cannot be parsed
//! otherwise.

const HIGH: std::ops::RangeInclusive<u16> = 0xD800..=0xDBFF;
const LOW: std::ops::RangeInclusive<u16> = 0xDC00..=0xDFFF;
/// `\uXXXX`
const ESCAPE_BYTES: usize = 6;

/// The JSON text with every escaped lone surrogate replaced; `None` if there is none. All other
/// bytes keep their positions, so that the position in an error stays right.
pub(super) fn replace_lone(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        match (escape(json, at), escape(json, at + ESCAPE_BYTES)) {
            (Some(high), Some(low)) if HIGH.contains(&high) && LOW.contains(&low) => {
                at += 2 * ESCAPE_BYTES;
            }
            (Some(unit), _) if HIGH.contains(&unit) || LOW.contains(&unit) => {
                repaired.push_str(&json[copied..at]);
                repaired.push_str("\\ufffd");
                at += ESCAPE_BYTES;
                copied = at;
            }
            (Some(_), _) => at += ESCAPE_BYTES,
            // The character after the backslash is part of the escape.
            (None, _) => at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    (copied > 0).then(|| {
        repaired.push_str(&json[copied..]);
        repaired
    })
}

/// The UTF-16 unit whose escape begins here.
fn escape(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix("\\u")?;
    // The number parser would also accept a sign.
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, repaired) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uD83D""#, r#""\ufffd""#),
            (r#""\ude00""#, r#""\ufffd""#),
            (r#""\uDE00x""#, r#""\ufffdx""#),
            (r#""a\ud83db\ud83d""#, r#""a\ufffdb\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\ude00\ude00""#, r#""\ud83d\ude00\ufffd""#),
            (r#""\ud83d\n""#, r#""\ufffd\n""#),
            (r#""\ud83d\u0041""#, r#""\ufffd\u0041""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
        ] {
            assert_eq!(replace_lone(json).as_deref(), Some(repaired), "{json}");
        }
        for json in [
            "",
            r#""plain""#,
            r#""\ud83d\ude00""#,
            r#""\uD83D\uDe00""#,
            r#""\\ud83d""#,
            r#""\\\\ud83d""#,
            r#""\u00e9""#,
            r#""\ud83""#,
            r#""\u+d83""#,
            "\"\\😀ud83d\"",
            "\"\\",
            r#""\u"#,
        ] {
            assert_eq!(replace_lone(json), None, "{json}");
        }
    }

    proptest::proptest! {
        /// Any UTF-16 units are decoded like the standard library's lossy decoding.
        #[test]
        fn any_units_are_decoded_as_lossy_utf16(units: Vec<u16>) {
            let json: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{json}\"");
            let json = replace_lone(&json).unwrap_or(json);
            let text: String = serde_json::from_str(&json).unwrap();
            proptest::prop_assert_eq!(text, String::from_utf16_lossy(&units));
        }
    }
}
