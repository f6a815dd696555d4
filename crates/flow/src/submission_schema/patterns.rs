//! Regular expressions that mean the same in ECMAScript (with the flag `u`), Python, and engines
//! without look-around.

use serde_json::{Value, json};

/// White space by Unicode, for a character class.
pub(super) const SPACE: &str = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\
    \u{2029}\u{202f}\u{205f}\u{3000}";
/// Control characters by Unicode, for a character class.
pub(super) const CONTROL: &str = "\u{0}-\u{1f}\u{7f}-\u{9f}";

/// A text that matches as a whole.
pub(super) fn whole(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{pattern}$"), "not": {"pattern": "\n"}})
}

/// A text that does not match as a whole; an empty text is no answer. The caller makes sure that it
/// has no line feed.
pub(super) fn not_whole(pattern: &str) -> Value {
    json!({"type": "string", "minLength": 1, "not": {"pattern": format!("^{pattern}$")}})
}

/// A text without NUL characters, which are refused everywhere.
pub(super) fn text(chars_min: u32, chars_max: u32) -> Value {
    json!({
        "type": "string", "minLength": chars_min, "maxLength": chars_max,
        "not": {"pattern": "\u{0}"},
    })
}

/// A day that exists in the calendar, from 0001-01-01 to 9999-12-31.
pub(super) fn date() -> Value {
    let leap = "(?:0[48]|[2468][048]|[13579][26])";
    let long = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
    let short = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let february = "02-(?:0[1-9]|1[0-9]|2[0-8])";
    let day =
        format!("(?:[0-9]{{4}}-(?:{long}|{short}|{february})|(?:[0-9]{{2}}{leap}|{leap}00)-02-29)");
    json!({"allOf": [whole(&day), {"not": {"pattern": "^0000"}}]})
}

/// A day before this one.
pub(super) fn before(date: &str) -> Value {
    earlier_or_later(date, |digit| (digit > b'0').then(|| (b'0', digit - 1)))
}

/// A day after this one.
pub(super) fn after(date: &str) -> Value {
    earlier_or_later(date, |digit| (digit < b'9').then(|| (digit + 1, b'9')))
}

/// Dates sort as texts: they differ first in a digit of this range.
fn earlier_or_later(date: &str, range: impl Fn(u8) -> Option<(u8, u8)>) -> Value {
    let digits = date.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
    let starts: Vec<String> = digits
        .filter_map(|(at, digit)| {
            let (low, high) = range(digit)?;
            Some(format!("{}[{}-{}]", &date[..at], char::from(low), char::from(high)))
        })
        .collect();
    if starts.is_empty() {
        return Value::Bool(false);
    }
    json!({"type": "string", "pattern": format!("^(?:{})", starts.join("|"))})
}

/// An e-mail address. Of characters beyond ASCII, everything is accepted, and lengths are counted
/// in characters instead of bytes.
pub(super) fn email() -> Value {
    const LOCAL: &str = r#"[^\x00-\x20"(),.:;<>@\[\\\]\x7F]"#;
    const LETTER: &str = r"[^\x00-\x2F\x3A-\x40\x5B-\x60\x7B-\x7F]";
    const LETTER_OR_HYPHEN: &str = r"[^\x00-\x2C\x2E\x2F\x3A-\x40\x5B-\x60\x7B-\x7F]";
    let label = format!("{LETTER}(?:{LETTER_OR_HYPHEN}{{0,61}}{LETTER})?");
    let address = format!(r"{LOCAL}+(?:\.{LOCAL}+)*@{label}(?:\.{label})+");
    json!({
        "allOf": [whole(&address), {"pattern": "^[^@]{1,64}@"}],
        "maxLength": crate::email::EMAIL_BYTES_MAX,
    })
}

/// The start and the characters of a web address; its host is not parsed.
pub(super) fn url(chars_max: usize) -> Value {
    let mut address = whole(&format!("[Hh][Tt][Tt][Pp][Ss]?://[^{SPACE}{CONTROL}]*"));
    address["maxLength"] = chars_max.into();
    address
}

/// A telephone number: three digits, and the usual signs.
pub(super) fn phone() -> Value {
    let digits = json!({"pattern": "[0-9][^0-9]*[0-9][^0-9]*[0-9]"});
    json!({"allOf": [whole("[0-9 +().-]{0,32}"), digits]})
}
