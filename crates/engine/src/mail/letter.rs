//! One e-mail, as plain text and as HTML with the same content.
//!
//! The HTML has inline styles, no images and nothing that is fetched. Every text is escaped; the
//! author's texts have the subset of Markdown that pages have.

use std::fmt::Write as _;

use sluice_flow::locale;
use sluice_flow::markdown::{self, Block, Inline};
use sluice_flow::time::Timestamp;

use super::OutgoingMail;
use super::words::Words;

const PAGE: &str = "margin:0;padding:24px;background:#f4f5f5;color:#1d2426;\
     font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif";
const CARD: &str = "max-width:560px;margin:0 auto;padding:24px;background:#ffffff;\
     border:1px solid #d9dede;border-radius:8px";
const BUTTON: &str = "display:inline-block;padding:10px 18px;background:#0f6b73;color:#ffffff;\
     text-decoration:none;border-radius:6px;font-weight:600";
const SMALL: &str = "max-width:560px;margin:16px auto 0;color:#566164;font-size:13px";
const QUOTE: &str = "margin:0 0 12px;padding:0 0 0 12px;border-left:3px solid #d9dede;\
     white-space:pre-wrap";

/// A piece of an e-mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LetterPart {
    /// Plain text of one paragraph.
    Text(String),
    /// An author's text.
    Markdown(String),
    /// A button; in plain text its address.
    Button {
        label: String,
        url: String,
    },
    /// A link with its label.
    Link {
        label: String,
        url: String,
    },
    Heading(String),
    /// A label, and another person's text, shown as it is.
    Quote {
        label: String,
        text: String,
    },
}

/// An e-mail without its recipient.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub(super) words: &'static Words,
    pub(super) subject: String,
    pub(super) parts: Vec<LetterPart>,
    pub(super) footer: Vec<LetterPart>,
}

impl Letter {
    pub(super) fn to_mail(
        &self,
        to: String,
        message_id: String,
        date: Timestamp,
        unsubscribe: Option<String>,
    ) -> OutgoingMail {
        OutgoingMail {
            to,
            message_id,
            date,
            subject: one_line(&self.subject),
            text: self.text(),
            html: self.html(),
            unsubscribe,
        }
    }

    fn text(&self) -> String {
        let texts =
            |parts: &[LetterPart]| parts.iter().map(text_of).collect::<Vec<_>>().join("\n\n");
        let mut text = texts(&self.parts);
        if !self.footer.is_empty() {
            let _infallible = write!(text, "\n\n-- \n{}", texts(&self.footer));
        }
        text.push('\n');
        text
    }

    fn html(&self) -> String {
        let language = self.words.language;
        let direction = if locale::is_right_to_left(language) { "rtl" } else { "ltr" };
        let content: String = self.parts.iter().map(html_of).collect();
        let footer: String = self.footer.iter().map(html_of).collect();
        format!(
            "<!doctype html><html lang=\"{language}\" dir=\"{direction}\"><head>\
             <meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>{}</title></head><body style=\"{PAGE}\"><div style=\"{CARD}\">{content}</div>\
             <div style=\"{SMALL}\">{footer}</div></body></html>",
            escaped(&one_line(&self.subject))
        )
    }
}

/// A text without line breaks and other control characters, so that no header can start another
/// one.
pub(super) fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text_of(part: &LetterPart) -> String {
    match part {
        LetterPart::Text(text) | LetterPart::Markdown(text) | LetterPart::Heading(text) => {
            text.trim().to_owned()
        }
        LetterPart::Button { label, url } | LetterPart::Link { label, url } => {
            format!("{label}:\n{url}")
        }
        LetterPart::Quote { label, text } => {
            let lines: Vec<_> = text.lines().map(|line| format!("> {line}")).collect();
            format!("{label}\n{}", lines.join("\n"))
        }
    }
}

fn html_of(part: &LetterPart) -> String {
    match part {
        LetterPart::Text(text) => format!("<p>{}</p>", escaped(text)),
        LetterPart::Heading(text) => {
            format!("<h2 style=\"font-size:18px;margin:24px 0 8px\">{}</h2>", escaped(text))
        }
        LetterPart::Markdown(text) => markdown::blocks(text).iter().map(block).collect(),
        LetterPart::Button { label, url } => format!(
            "<p style=\"margin:24px 0\"><a style=\"{BUTTON}\" href=\"{}\">{}</a></p>",
            escaped(url),
            escaped(label)
        ),
        LetterPart::Link { label, url } => format!("<p>{}</p>", anchor(url, &escaped(label))),
        LetterPart::Quote { label, text } => format!(
            "<p style=\"margin:12px 0 4px;color:#566164;font-size:14px\">{}</p>\
             <p style=\"{QUOTE}\" dir=\"auto\">{}</p>",
            escaped(label),
            escaped(text)
        ),
    }
}

fn block(block: &Block<'_>) -> String {
    match block {
        Block::Paragraph(parts) => format!("<p dir=\"auto\">{}</p>", inline(parts)),
        Block::List { is_ordered, items } => {
            let name = if *is_ordered { "ol" } else { "ul" };
            let items = items.iter().map(|item| format!("<li>{}</li>", inline(item)));
            format!("<{name} dir=\"auto\">{}</{name}>", items.collect::<String>())
        }
    }
}

fn inline(parts: &[Inline<'_>]) -> String {
    let one = |part: &Inline<'_>| match part {
        Inline::Text(text) => escaped(text).replace('\n', "<br>"),
        // Nothing was answered yet.
        Inline::Placeholder(placeholder) => escaped(placeholder.fallback),
        Inline::Emphasis(parts) => format!("<em>{}</em>", inline(parts)),
        Inline::Strong(parts) => format!("<strong>{}</strong>", inline(parts)),
        Inline::Link { address, label } => anchor(address, &inline(label)),
    };
    parts.iter().map(one).collect()
}

fn anchor(url: &str, label: &str) -> String {
    format!("<a style=\"color:#0f6b73\" href=\"{}\">{label}</a>", escaped(url))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_escaped_and_the_subject_is_one_line() {
        let evil = "<script>alert(1)</script>\" onclick='x' & {{answer:q|none}}";
        let parts = vec![
            LetterPart::Text(evil.into()),
            LetterPart::Markdown(format!("{evil} **bold** [site](https://a.example/?a=1&b=\"2\")")),
            LetterPart::Heading(evil.into()),
            LetterPart::Quote { label: evil.into(), text: format!("{evil}\nsecond") },
            LetterPart::Button { label: evil.into(), url: "https://a.example/?a=1&b=2".into() },
            LetterPart::Link { label: evil.into(), url: "https://a.example/".into() },
        ];
        let subject = "Hi\r\nBcc: all@mail.example\n\n\u{85}there\u{2028}".to_owned();
        let footer = vec![LetterPart::Text(evil.into())];
        let letter = Letter { words: Words::english(), subject, parts, footer };
        let mail =
            letter.to_mail("a@b.example".into(), "1".into(), Timestamp::from_millis(0), None);
        assert_eq!(mail.subject, "Hi Bcc: all@mail.example there");
        assert!(!mail.html.contains("<script"), "{}", mail.html);
        assert!(!mail.html.contains("onclick='"), "{}", mail.html);
        assert!(mail.html.contains("<strong>bold</strong>"));
        assert!(mail.html.contains("href=\"https://a.example/?a=1&amp;b=2\""));
        assert!(mail.text.contains("> second"));
        for remote in ["<img", "src=", "url(", "<link", "@import"] {
            assert!(!mail.html.contains(remote), "{remote}");
        }
    }
}
