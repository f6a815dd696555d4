//! What the commands say: results on stdout, everything else on stderr.
//!
//! Writing goes through here because `println!` panics when the reader has gone (`sluice … |
//! head`).

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints a result. The error is for whoever would go on printing to a reader that has gone.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Prints a line of a result; a reader that has gone does not care.
pub(crate) fn line(text: impl std::fmt::Display) {
    let _gone = print(&format!("{text}\n"));
}

/// Says something that is no result.
pub(crate) fn note(text: impl std::fmt::Display) {
    let _gone = writeln!(io::stderr().lock(), "{text}");
}

pub(crate) fn complain(failure: &Failure) {
    note(format_args!("sluice: {failure}"));
}

/// A text from elsewhere that is safe to show on one line of a terminal: quoted where it has to be,
/// with control characters and the marks that reorder text written out.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/@+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if is_unsafe(c) => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_elsewhere_cannot_break_out_of_its_line() {
        for (text, shown) in [
            ("yes", "yes"),
            ("", "\"\""),
            ("two words", "\"two words\""),
            ("a\nb", "\"a\\nb\""),
            ("\u{1b}[31mred", "\"\\u{1b}[31mred\""),
            ("say \"hi\"", "\"say \\\"hi\\\"\""),
            ("\u{202e}abc", "\"\\u{202e}abc\""),
            ("größer", "größer"),
        ] {
            assert_eq!(quoted(text), shown, "{text:?}");
        }
    }
}
