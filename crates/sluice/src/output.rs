//! The output of commands: results on stdout, everything else on stderr.
//!
//! All output goes through here because `println!` panics when the reader has closed the pipe
//! (`sluice … | head`).

use std::io::{self, Write};

pub(crate) use sluice_flow::phrase::counted;

use crate::failure::Failure;

/// Prints a result. Returns an error if the reader has closed the pipe, so that callers can stop.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Prints a line of a result; ignores a closed pipe.
pub(crate) fn line(text: impl std::fmt::Display) {
    let _gone = print(&format!("{text}\n"));
}

/// Prints a message that is not a result, on stderr.
pub(crate) fn note(text: impl std::fmt::Display) {
    let _gone = writeln!(io::stderr().lock(), "{text}");
}

pub(crate) fn print_failure(failure: &Failure) {
    note(format_args!("sluice: {failure}"));
}

/// Makes untrusted text safe to show on one line of a terminal: quotes it if needed, and escapes
/// control characters and bidirectional marks.
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
    fn untrusted_text_cannot_leave_its_line() {
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
