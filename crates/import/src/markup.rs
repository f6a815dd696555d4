//! Formatting: HTML and plain text of the source into the Markdown of Sluice, or into plain text.

use crate::marks::NextMark;

/// What a character reference stands for.
const ENTITIES: [(&str, &str); 12] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("copy", "©"),
    ("laquo", "«"),
    ("raquo", "»"),
];

/// The longest character reference, and the longest tag, that is recognised.
const ENTITY_BYTES_MAX: usize = 10;
const TAG_BYTES_MAX: usize = 4_096;

/// Escapes what Sluice would read as formatting.
pub(crate) fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            result.push('\n');
        }
        let mut rest = line;
        let indent = line.len() - line.trim_start().len();
        // A line that looks like an item of a list: a character without width hides its mark.
        let digits = line[indent..].bytes().take_while(u8::is_ascii_digit).count();
        let is_item = line[indent..].starts_with("- ")
            || (1..=3).contains(&digits) && line[indent + digits..].starts_with(". ");
        if is_item {
            let mark = indent + digits + 1;
            result.push_str(&line[..mark]);
            result.push('\u{a0}');
            rest = &line[mark + 1..];
        }
        for character in rest.chars() {
            if matches!(character, '*' | '_' | '[' | '\\') {
                result.push('\\');
            }
            result.push(character);
        }
    }
    hide_placeholders(&result)
}

/// Braces that Sluice would read as a placeholder, as plain text.
pub(crate) fn hide_placeholders(text: &str) -> String {
    text.replace("{{", "\\{{")
}

/// HTML as the Markdown of Sluice: links, emphasis, lists and paragraphs; other tags are removed.
pub(crate) fn html_to_markdown(html: &str) -> String {
    convert(html, true)
}

/// HTML without its tags.
pub(crate) fn html_to_plain(html: &str) -> String {
    convert(html, false)
}

fn convert(html: &str, formatted: bool) -> String {
    let mut writer = Writer { text: String::new(), formatted, links: Vec::new(), hidden: 0 };
    let (mut start, mut closing) = (0, NextMark::new(">"));
    while let Some(at) = html[start..].find('<') {
        writer.write_text(&html[start..start + at]);
        let from = start + at + 1;
        let inner = &html[from..];
        let is_tag = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        let end = closing.after(html, from).filter(|end| is_tag && end - from <= TAG_BYTES_MAX);
        match end {
            Some(end) => {
                writer.tag(&html[from..end]);
                start = end + 1;
            }
            None => {
                writer.write_text("<");
                start = from;
            }
        }
    }
    writer.write_text(&html[start..]);
    tidied(&writer.text)
}

struct Writer {
    text: String,
    formatted: bool,
    /// The addresses of the open links; none for a link that Sluice does not have.
    links: Vec<Option<String>>,
    /// How many open elements have no text for readers.
    hidden: usize,
}

impl Writer {
    fn write_text(&mut self, html: &str) {
        if self.hidden == 0 {
            let words = decoded(html);
            let words = if self.formatted { escaped(&words) } else { words };
            self.text.push_str(&words);
        }
    }

    fn tag(&mut self, inner: &str) {
        let is_end = inner.starts_with('/');
        let name: String = inner
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        let mark = |writer: &mut Self, mark: &str| {
            if writer.formatted {
                writer.text.push_str(mark);
            }
        };
        match name.as_str() {
            "script" | "style" if !is_end => self.hidden += 1,
            "script" | "style" => self.hidden = self.hidden.saturating_sub(1),
            "b" | "strong" => mark(self, "**"),
            "i" | "em" => mark(self, "*"),
            "br" => self.text.push('\n'),
            "li" if !is_end => self.text.push_str("\n- "),
            "p" | "div" | "ul" | "ol" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "tr" => {
                self.text.push_str("\n\n");
            }
            "a" if !is_end => {
                let address = attribute(inner, "href").filter(|it| is_link(it) && self.formatted);
                if address.is_some() {
                    self.text.push('[');
                }
                self.links.push(address);
            }
            "a" => {
                if let Some(Some(address)) = self.links.pop() {
                    self.text.push_str(&format!("]({address})"));
                }
            }
            _ => {}
        }
    }
}

fn is_link(address: &str) -> bool {
    let known = ["http://", "https://", "mailto:"].iter().any(|it| address.starts_with(it));
    known && !address.contains(['(', ')', ' ', '\n'])
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.to_ascii_lowercase().find(&format!("{name}="))?;
    let value = &tag[at + name.len() + 1..];
    let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next()?,
        None => value.split_whitespace().next()?,
    };
    Some(decoded(value))
}

fn decoded(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(ENTITY_BYTES_MAX).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((entity(&rest[1..end])?, end)));
        match found {
            Some((meaning, end)) => {
                text.push_str(&meaning);
                rest = &rest[end + 1..];
            }
            None => {
                text.push('&');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

fn entity(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).map(String::from);
    }
    ENTITIES.iter().find(|(it, _)| *it == name).map(|(_, meaning)| (*meaning).to_owned())
}

/// Without spaces at line ends, and with at most one empty line in a row.
fn tidied(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_are_never_closed_stay_text_and_are_searched_for_once() {
        let many = "<a ".repeat(400_000);
        assert_eq!(html_to_plain(&many), many.trim_end());
        let closed = format!("{}b>", "<".repeat(400_000));
        assert_eq!(html_to_plain(&closed), "<".repeat(399_999));
        let far = format!("<a {}>b</a>", "x".repeat(TAG_BYTES_MAX));
        assert_eq!(html_to_plain(&far), far.trim_end_matches("</a>"));
    }

    #[test]
    fn html_becomes_markdown_or_plain_text() {
        for (html, markdown, plain) in [
            ("plain", "plain", "plain"),
            ("a < b & c", "a < b & c", "a < b & c"),
            ("<p>One</p><p>Two</p>", "One\n\nTwo", "One\n\nTwo"),
            ("a<br/>b", "a\nb", "a\nb"),
            ("<b>x</b> <em>y</em>", "**x** *y*", "x y"),
            ("<a href=\"https://a.example\">it</a>", "[it](https://a.example)", "it"),
            ("<a href='javascript:x'>it</a>", "it", "it"),
            ("<ul><li>a</li><li>b</li></ul>", "- a\n- b", "- a\n- b"),
            ("5 * 3 &lt; 20&nbsp;&#8364;", "5 \\* 3 < 20 €", "5 * 3 < 20 €"),
            ("<script>x</script>y", "y", "y"),
            ("{{score}}", "\\{{score}}", "{{score}}"),
        ] {
            assert_eq!(html_to_markdown(html), markdown, "{html}");
            assert_eq!(html_to_plain(html), plain, "{html}");
        }
        assert_eq!(escaped("- no list\n1. nor here"), "-\u{a0}no list\n1.\u{a0}nor here");
    }
}
