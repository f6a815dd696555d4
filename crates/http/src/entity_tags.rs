//! Entity tags in `If-Match` and `If-None-Match` (RFC 9110, section 13).

use http::{HeaderMap, HeaderName};

/// The tags of one of these headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityTags {
    /// `*`: any state, if there is one.
    Any,
    List(Vec<EntityTag>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTag {
    is_weak: bool,
    /// With its quotes.
    opaque: String,
}

/// The header is neither `*` nor a list of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTags;

impl EntityTags {
    /// Parses a header, which may be sent in several lines. `None` if there is none.
    pub fn parse(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Self>, InvalidTags> {
        let mut lines = Vec::new();
        for line in headers.get_all(name) {
            lines.push(std::str::from_utf8(line.as_bytes()).map_err(|_| InvalidTags)?);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let text = lines.join(",");
        if text.trim() == "*" {
            return Ok(Some(Self::Any));
        }
        let tags = tags(&text)?;
        if tags.is_empty() { Err(InvalidTags) } else { Ok(Some(Self::List(tags))) }
    }

    /// Whether the state with this strong tag, quotes included, is meant, as `If-Match` compares: a
    /// weak tag never matches. `None` is no state. `part` is what is compared of each tag.
    pub fn match_strongly(&self, current: Option<&str>, part: fn(&str) -> &str) -> bool {
        self.matches(current, |tag, current| !tag.is_weak && part(&tag.opaque) == part(current))
    }

    /// The same, as `If-None-Match` compares: weak tags match, too.
    pub fn match_weakly(&self, current: Option<&str>) -> bool {
        self.matches(current, |tag, current| tag.opaque == current)
    }

    fn matches(&self, current: Option<&str>, same: impl Fn(&EntityTag, &str) -> bool) -> bool {
        match (self, current) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::List(tags), Some(current)) => tags.iter().any(|tag| same(tag, current)),
        }
    }
}

/// A list of tags; commas may be inside them, and elements may be empty.
fn tags(text: &str) -> Result<Vec<EntityTag>, InvalidTags> {
    let mut tags = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return Ok(tags);
        }
        let (is_weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let content = quoted.strip_prefix('"').ok_or(InvalidTags)?;
        let end = content.find('"').ok_or(InvalidTags)?;
        let (content, after) = (&content[..end], &content[end + 1..]);
        if content.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(InvalidTags);
        }
        tags.push(EntityTag { is_weak, opaque: format!("\"{content}\"") });
        rest = after.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            return Err(InvalidTags);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::IF_MATCH;

    use super::*;

    fn parse(lines: &[&str]) -> Result<Option<EntityTags>, InvalidTags> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IF_MATCH, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        EntityTags::parse(&headers, &IF_MATCH)
    }

    fn whole(tag: &str) -> &str {
        tag
    }

    #[test]
    fn tags_match_strongly_or_weakly() {
        for (lines, strongly, weakly) in [
            (&[r#""a""#][..], true, true),
            (&[r#"W/"a""#], false, true),
            (&[r#""b", "a""#], true, true),
            (&[r#""b""#, r#""a""#], true, true),
            (&[r#" ,, "b"  ,	"a" , "#], true, true),
            (&[r#""b" , W/"c""#], false, false),
            (&["*"], true, true),
            (&[" * "], true, true),
            (&[r#""A""#], false, false),
            (&[r#""""#], false, false),
        ] {
            let tags = parse(lines).unwrap().unwrap();
            assert_eq!(tags.match_strongly(Some(r#""a""#), whole), strongly, "{lines:?}");
            assert_eq!(tags.match_weakly(Some(r#""a""#)), weakly, "{lines:?}");
            assert!(!tags.match_strongly(None, whole), "{lines:?}: nothing is there");
            assert!(!tags.match_weakly(None), "{lines:?}: nothing is there");
        }
    }

    #[test]
    fn a_comma_may_be_inside_a_tag() {
        let tags = parse(&[r#""a,b", "c""#]).unwrap().unwrap();
        for (tag, matches) in [(r#""a,b""#, true), (r#""c""#, true), (r#""a""#, false)] {
            assert_eq!(tags.match_strongly(Some(tag), whole), matches, "{tag}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(parse(&[]), Ok(None));
        for line in [
            "",
            ",",
            "a",
            r#""a"#,
            r#"a""#,
            r#""a" "b""#,
            r#"w/"a""#,
            r#"*, "a""#,
            r#""a b""#,
            r#""b,"a""#,
            "W/",
        ] {
            assert_eq!(parse(&[line]), Err(InvalidTags), "{line:?}");
        }
        assert_eq!(parse(&["*", r#""a""#]), Err(InvalidTags));
    }
}
