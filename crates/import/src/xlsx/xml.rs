//! A reader of XML: starts and ends of elements, and texts.
//!
//! It reads what spreadsheet programs write. Names are without their prefix; entities of a document
//! type are not expanded, so that a small file stays small.

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'x> {
    Start { name: &'x str, attributes: &'x str, is_empty: bool },
    End { name: &'x str },
    Text(String),
}

#[derive(Debug)]
pub(super) struct XmlReader<'x> {
    rest: &'x str,
}

impl<'x> XmlReader<'x> {
    pub(super) fn new(source: &'x str) -> Self {
        Self { rest: source.trim_start_matches('\u{feff}') }
    }

    /// The next event. An element without content has no end.
    pub(super) fn next(&mut self) -> Result<Option<Event<'x>>, String> {
        let damaged = || "is damaged: its XML is not complete".to_owned();
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            let Some(markup) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Ok(Some(Event::Text(decoded(text))));
            };
            let until = |mark: &str| markup.find(mark).map(|at| (at, at + mark.len()));
            if let Some(data) = markup.strip_prefix("![CDATA[") {
                let end = data.find("]]>").ok_or_else(damaged)?;
                self.rest = &data[end + 3..];
                return Ok(Some(Event::Text(data[..end].to_owned())));
            }
            let skipped = if markup.starts_with("!--") {
                Some("-->")
            } else if markup.starts_with('?') {
                Some("?>")
            } else if markup.starts_with('!') {
                Some(">")
            } else {
                None
            };
            if let Some(mark) = skipped {
                let (_, after) = until(mark).ok_or_else(damaged)?;
                self.rest = &markup[after..];
                continue;
            }
            let end = tag_end(markup).ok_or_else(damaged)?;
            let tag = &markup[..end];
            self.rest = &markup[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                return Ok(Some(Event::End { name: local(name.trim()) }));
            }
            let is_empty = tag.ends_with('/');
            let tag = tag.trim_end_matches('/');
            let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            return Ok(Some(Event::Start { name: local(name), attributes, is_empty }));
        }
    }
}

/// Where a tag ends; not at a `>` within quotes.
fn tag_end(markup: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in markup.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// The value of an attribute, by its name without a prefix.
pub(super) fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes.trim_start();
    while let Some((name, value)) = rest.split_once('=') {
        let value = value.trim_start();
        let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let (value, after) = value[1..].split_once(quote)?;
        if local(name.trim()) == wanted {
            return Some(decoded(value));
        }
        rest = after.trim_start();
    }
    None
}

fn decoded(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    let mut parts = text.split('&');
    result.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let found = part.split_once(';').and_then(|(name, rest)| Some((entity(name)?, rest)));
        match found {
            Some((character, rest)) => {
                result.push(character);
                result.push_str(rest);
            }
            None => {
                result.push('&');
                result.push_str(part);
            }
        }
    }
    result
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_ends_and_texts_are_read() {
        let source = "<?xml version=\"1.0\"?><!-- x --><a:b k='1 > 0' r:id=\"i&amp;j\"><c/>x &lt;&#65;<![CDATA[<&]]></a:b>";
        let mut reader = XmlReader::new(source);
        let mut events = Vec::new();
        while let Some(event) = reader.next().unwrap() {
            events.push(event);
        }
        let attributes = "k='1 > 0' r:id=\"i&amp;j\"";
        assert_eq!(
            events,
            [
                Event::Start { name: "b", attributes, is_empty: false },
                Event::Start { name: "c", attributes: "", is_empty: true },
                Event::Text("x <A".to_owned()),
                Event::Text("<&".to_owned()),
                Event::End { name: "b" },
            ]
        );
        assert_eq!(attribute(attributes, "id").as_deref(), Some("i&j"));
        assert_eq!(attribute(attributes, "k").as_deref(), Some("1 > 0"));
        assert_eq!(attribute(attributes, "x"), None);
        for broken in ["<a", "<!-- ", "<![CDATA[ x", "<?x"] {
            assert!(XmlReader::new(broken).next().is_err(), "{broken}");
        }
    }
}
