//! An e-mail as bytes: headers, then the same content as plain text and as HTML.
//!
//! Values in headers are encoded so that none can begin another header: texts as base64
//! (RFC 2047), addresses after their form was checked, ids from hexadecimal digits. Both bodies are
//! base64 in short lines, so no server has a reason to change them.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sluice_engine::mail::OutgoingMail;

use super::Sender;

/// The most bytes of text in one encoded word, and of base64 in one line.
const WORD_BYTES: usize = 42;
const LINE_CHARS: usize = 76;

pub(super) fn encode(mail: &OutgoingMail, sender: &Sender) -> Vec<u8> {
    let mut out = String::with_capacity(2 * (mail.text.len() + mail.html.len()) + 1_000);
    let boundary = format!("=_{}", mail.message_id);
    let from = match &sender.name {
        Some(name) => format!("{} <{}>", encoded_words(name), sender.address),
        None => sender.address.clone(),
    };
    let mut header = |name: &str, value: &str| {
        let _infallible = write!(out, "{name}: {value}\r\n");
    };
    header("Date", &date(mail.date.as_millis()));
    header("From", &from);
    header("To", &format!("<{}>", mail.to));
    header("Message-ID", &format!("<{}@{}>", mail.message_id, sender.domain()));
    header("Subject", &encoded_words(&mail.subject));
    header("Auto-Submitted", "auto-generated");
    if let Some(url) = &mail.unsubscribe {
        header("List-Unsubscribe", &format!("<{url}>"));
        header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
    }
    header("MIME-Version", "1.0");
    header("Content-Type", &format!("multipart/alternative; boundary=\"{boundary}\""));
    out.push_str("\r\n");
    for (kind, body) in [("plain", &mail.text), ("html", &mail.html)] {
        let _infallible = write!(
            out,
            "--{boundary}\r\nContent-Type: text/{kind}; charset=utf-8\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n"
        );
        lines(&mut out, body);
    }
    let _infallible = write!(out, "--{boundary}--\r\n");
    out.into_bytes()
}

/// A text in a header, as encoded words on separate lines.
fn encoded_words(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    if text.len() <= WORD_BYTES && !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let (mut words, mut word) = (Vec::new(), String::new());
    for letter in text.chars() {
        if word.len() + letter.len_utf8() > WORD_BYTES {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    words.push(word);
    let encoded = words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
    encoded.collect::<Vec<_>>().join("\r\n ")
}

fn lines(out: &mut String, body: &str) {
    let encoded = STANDARD.encode(body.replace("\r\n", "\n").replace('\n', "\r\n"));
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE_CHARS));
        out.push_str(line);
        out.push_str("\r\n");
        rest = after;
    }
}

/// As in RFC 5322; the form of HTTP has the same parts.
fn date(millis: i64) -> String {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    httpdate::fmt_http_date(UNIX_EPOCH + since).replace("GMT", "+0000")
}

#[cfg(test)]
mod tests {
    use sluice_flow::time::Timestamp;

    use super::*;

    fn encoded(subject: &str, name: &str) -> String {
        let mail = OutgoingMail {
            to: "ada@mail.example".into(),
            message_id: "00ff".into(),
            date: Timestamp::from_millis(1_763_172_000_000),
            subject: subject.into(),
            text: "Hallo, Welt: über\n".repeat(20),
            html: "<p>über</p>".into(),
            unsubscribe: Some("https://a.example/u/ml_1".into()),
        };
        let sender = Sender { name: Some(name.into()), address: "mail@acme.example".into() };
        String::from_utf8(encode(&mail, &sender)).unwrap()
    }

    #[test]
    fn no_value_begins_another_header_or_a_long_line() {
        let evil = "Hi\r\nBcc: all@mail.example\r\n\r\nbody \u{1F600}".repeat(5);
        let message = encoded(&evil, &evil);
        let head = message.split("\r\n\r\n").next().unwrap();
        let names: Vec<&str> = head
            .split("\r\n")
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_once(": ").map(|(name, _)| name))
            .collect();
        let expected = [
            "Date",
            "From",
            "To",
            "Message-ID",
            "Subject",
            "Auto-Submitted",
            "List-Unsubscribe",
            "List-Unsubscribe-Post",
            "MIME-Version",
            "Content-Type",
        ];
        assert_eq!(names, expected);
        assert!(message.split("\r\n").all(|line| line.len() <= 78), "{message}");
        assert!(message.is_ascii() && !message.replace("\r\n", "").contains(['\r', '\n']));
        assert!(head.contains("Date: Sat, 15 Nov 2025 02:00:00 +0000"), "{head}");
        assert!(head.contains("Message-ID: <00ff@acme.example>"));
    }

    #[test]
    fn plain_texts_stay_readable_and_others_are_split_between_letters() {
        assert!(encoded("Five questions", "Acme").contains("Subject: Five questions\r\n"));
        let long = "ü€😀".repeat(40);
        let joined: String = encoded_words(&long)
            .split("\r\n ")
            .map(|word| {
                let inner = word.strip_prefix("=?utf-8?B?").unwrap().strip_suffix("?=").unwrap();
                String::from_utf8(STANDARD.decode(inner).unwrap()).unwrap()
            })
            .collect();
        assert_eq!(joined, long);
    }
}
