//! Reads an input into a tree of [`Node`]s: by [`quick`] in the usual form, by a general parser in
//! any other.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::node::{DEPTH_MAX, ITEMS_KEPT_MAX, JSON, META, Node, Object, PAIRS_EXPECTED};
use super::{quick, surrogates};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One parsed input.
pub(super) struct ParsedInput<'a> {
    /// The submission itself.
    pub(super) submission: Node<'a>,
    /// The `meta` of a superjson envelope, null if it has none; `None` for a plain input.
    pub(super) meta: Option<Node<'a>>,
}

/// Parses one input, plain or in a superjson envelope; of a submission that is an object, only the
/// fields with these names are kept.
pub(super) fn read<'a>(input: &'a [u8], fields: &[&str]) -> Result<ParsedInput<'a>, String> {
    let input = input.strip_prefix(BYTE_ORDER_MARK).unwrap_or(input);
    if input.trim_ascii().is_empty() {
        return Err("Unexpected end of JSON input".to_owned());
    }
    // Validated once for the whole input, so that single texts need no validation.
    let text = std::str::from_utf8(input)
        .map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let node = match read_text(text, fields) {
        Ok(node) => node,
        Err(error) => match surrogates::replace_lone(text) {
            Some(repaired) => {
                read_text(&repaired, fields).map_err(|error| error.to_string())?.into_owned()
            }
            None => return Err(error.to_string()),
        },
    };
    Ok(match node {
        Node::Object(mut envelope) if envelope.0.iter().any(|(key, _)| key == JSON) => {
            ParsedInput {
                submission: envelope.take(JSON).unwrap_or(Node::Null),
                meta: Some(envelope.take(META).unwrap_or(Node::Null)),
            }
        }
        submission => ParsedInput { submission, meta: None },
    })
}

fn read_text<'a>(text: &'a str, fields: &[&str]) -> serde_json::Result<Node<'a>> {
    match quick::read(text, fields) {
        Some(node) => Ok(node),
        None => read_any(text, fields),
    }
}

fn read_any<'a>(text: &'a str, fields: &[&str]) -> serde_json::Result<Node<'a>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let node = NodeReader { depth: 0, keep: Keep::Input(fields) }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(node)
}

/// Whether an input may be a superjson envelope, judged by its first key alone: every key of an
/// envelope is `json` or `meta`.
pub(super) fn may_be_envelope(input: &[u8]) -> bool {
    let input = input.strip_prefix(BYTE_ORDER_MARK).unwrap_or(input).trim_ascii_start();
    let Some(fields) = input.strip_prefix(b"{") else { return false };
    let Some(key) = fields.trim_ascii_start().strip_prefix(b"\"") else { return false };
    // A key with an escape may be either.
    [JSON, META].iter().any(|name| key.starts_with(name.as_bytes()))
        || key.iter().take_while(|byte| **byte != b'"').any(|byte| *byte == b'\\')
}

/// Reads a value nested inside `depth` arrays and objects.
#[derive(Clone, Copy)]
struct NodeReader<'f> {
    depth: usize,
    keep: Keep<'f>,
}

#[derive(Clone, Copy)]
enum Keep<'f> {
    /// What [`Keep::Fields`] keeps, or a whole envelope.
    Input(&'f [&'f str]),
    Fields(&'f [&'f str]),
    All,
    Nothing,
}

/// A key, borrowed if it has no escape.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl NodeReader<'_> {
    fn enter<E: Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            return Err(E::custom(format_args!("nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn keeps(self) -> bool {
        !matches!(self.keep, Keep::Nothing)
    }
}

impl<'de> DeserializeSeed<'de> for NodeReader<'_> {
    type Value = Node<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeReader<'_> {
    type Value = Node<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node<'de>, E> {
        Ok(Node::Bool)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node<'de>, E> {
        Ok(Node::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node<'de>, E> {
        Ok(Node::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node<'de>, E> {
        Ok(Node::Number)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node<'de>, E> {
        Ok(if self.keeps() { Node::Text(Cow::Owned(text.to_owned())) } else { Node::Null })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node<'de>, A::Error> {
        let inside = self.enter()?;
        let mut items = Vec::new();
        loop {
            let kept = inside.keeps() && items.len() < ITEMS_KEPT_MAX;
            let keep = match inside.keep {
                Keep::Input(names) if kept => Keep::Fields(names),
                keep if kept => keep,
                _ => Keep::Nothing,
            };
            match list.next_element_seed(NodeReader { keep, ..inside })? {
                Some(item) if kept => items.push(item),
                Some(_) => {}
                None => return Ok(Node::List(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Node<'de>, A::Error> {
        let mut inside = self.enter()?;
        let mut pairs = Vec::with_capacity(if inside.keeps() { PAIRS_EXPECTED } else { 0 });
        while let Some(Key(key)) = object.next_key()? {
            if let Keep::Input(names) = inside.keep
                && ![JSON, META].contains(&key.as_ref())
            {
                // Any other key makes it a plain input, in which these two are unknown fields.
                pairs.clear();
                inside.keep = Keep::Fields(names);
            }
            let value = match inside.keep {
                // A submission may be nested as deeply in an envelope as without one. All of it is
                // kept, since `meta` may refer to an unknown field.
                Keep::Input(_) if key == JSON => NodeReader { keep: Keep::All, ..self },
                Keep::Input(_) => NodeReader { keep: Keep::All, ..inside },
                Keep::Fields(names) if names.contains(&key.as_ref()) => {
                    NodeReader { keep: Keep::All, ..inside }
                }
                Keep::Fields(_) => NodeReader { keep: Keep::Nothing, ..inside },
                Keep::All | Keep::Nothing => inside,
            };
            let node = object.next_value_seed(value)?;
            if value.keeps() {
                pairs.push((key, node));
            }
        }
        Ok(Node::Object(Object(pairs)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::rules::FIELDS;
    use super::*;

    /// Whether a text is read here; if so, the general parser reads the same.
    fn is_quick(text: &str) -> bool {
        let quick = quick::read(text, FIELDS);
        if let Some(node) = &quick {
            assert_eq!(read_any(text, FIELDS).ok().as_ref(), Some(node), "{text}");
        }
        quick.is_some()
    }

    #[test]
    fn what_clients_send_is_read_quickly() {
        for text in [
            r#"{}"#,
            r#" { "flowVersionId" : "fv" , "unknown" : { "a" : [ null , true ] } } "#,
            r#"{"answers":{"nps":"9","why":"grün, \"sagt\" er\n","use":["api","exports"]}}"#,
            r#"{"answers":{"a":"\\","b":"0123456789\u00e9"},"unknown":"\\","json":null}"#,
            r#"{"answers":{"":[]},"metadata":{"tags":{}},"context":null,"identities":[{},false]}"#,
        ] {
            assert!(is_quick(text), "{text}");
        }
    }

    #[test]
    fn everything_unusual_is_left_to_the_general_parser() {
        let deep = format!("{{\"answers\":{}{}}}", "[".repeat(16), "]".repeat(16));
        let long = format!("{{\"answers\":[{}null]}}", "null,".repeat(ITEMS_KEPT_MAX));
        for text in [
            "",
            "{",
            "[]",
            "null",
            "7",
            "{}x",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1}",
            "{\"a\":nul}",
            "{\"a\":nullx}",
            "{\"a\":[}",
            "{\"a\":[,]}",
            "{\"a\":[\"b\",]}",
            "{\"a\":\"b\",}",
            "{\"json\":{}}",
            "{\"meta\":{},\"json\":{}}",
            "{\"a\\n\":null}",
            "{\"a\":\"\n\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\ud83d\"}",
            "{\"a\":\"\\\"}",
            "{\"a\":\"\\",
            "{\"a\":\"b",
            &deep,
            &long,
        ] {
            assert!(!is_quick(text), "{text}");
        }
    }

    /// JSON of few characters, so that all of its parts meet.
    fn json() -> impl Strategy<Value = String> {
        let text = "[a\"\\\\\u{e9}\u{1}u0d8,:\\[\\]{} ]{0,12}";
        let text = text.prop_map(|text: String| serde_json::Value::from(text).to_string());
        let leaf = prop_oneof![4 => text, 1 => "null|true|false|-1.5e3|0"];
        let value = leaf.prop_recursive(4, 24, 4, |inner| {
            let key = "answers|context|json|meta|a|\\\\u0061";
            let pair = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\" :{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|it| format!("[{}]", it.join(", "))),
                prop::collection::vec(pair, 0..4).prop_map(|it| format!("{{{}}}", it.join(","))),
            ]
        });
        prop::collection::vec(("answers|context|json|b", value), 0..4).prop_map(|pairs| {
            let pair = |(key, value): &(String, String)| format!("\"{key}\":{value}");
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
        })
    }

    proptest! {
        #[test]
        fn the_general_parser_reads_the_same(
            text in json(),
            cut in any::<prop::sample::Index>(),
            put in "[a\"\\\\,:\\[\\]{} 1]?",
        ) {
            is_quick(&text);
            // The same, with a character replaced.
            let mut characters: Vec<char> = text.chars().collect();
            let at = cut.index(characters.len());
            characters.splice(at..=at, put.chars());
            is_quick(&characters.into_iter().collect::<String>());
        }
    }
}
