//! JSON as a tree that borrows its texts from the input.
//!
//! Unlike a general JSON value it bounds its cost: nesting stops at [`DEPTH_MAX`], unknown
//! top-level fields are skipped, and of an overlong list only enough items are kept to detect that
//! it is overlong. Values of numbers are not kept, since no field of a submission is a number.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::surrogates;
use crate::text_map::last_of_each;

/// The maximum nesting depth of arrays and objects, including the outermost.
pub(super) const DEPTH_MAX: usize = 16;
/// How many items of a list are kept: more than any rule allows.
pub(super) const ITEMS_KEPT_MAX: usize = 1001;
/// The initial capacity for the pairs of an object: enough for most.
const PAIRS_EXPECTED: usize = 8;

/// The keys of a superjson envelope.
const JSON: &str = "json";
const META: &str = "meta";

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One parsed input.
pub(super) struct ParsedInput<'a> {
    /// The submission itself.
    pub(super) submission: Node<'a>,
    /// The `meta` of a superjson envelope, null if it has none; `None` for a plain input.
    pub(super) meta: Option<Node<'a>>,
}

#[derive(Debug, Clone)]
pub(super) enum Node<'a> {
    Null,
    Bool,
    Number,
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(Object<'a>),
}

impl Node<'_> {
    /// The JSON type as text, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl<'a> Node<'a> {
    /// The same with owned texts, for an input that had to be repaired.
    fn into_owned(self) -> Node<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Node::Null,
            Self::Bool => Node::Bool,
            Self::Number => Node::Number,
            Self::Text(text) => Node::Text(owned(text)),
            Self::List(items) => Node::List(items.into_iter().map(Node::into_owned).collect()),
            Self::Object(Object(pairs)) => {
                let pair = |(key, node): (_, Node<'_>)| (owned(key), node.into_owned());
                Node::Object(Object(pairs.into_iter().map(pair).collect()))
            }
        }
    }

    /// The value of a field, or the item with this index. An object larger than any rule allows has
    /// no children here, so that no lookup is slow.
    pub(super) fn child_mut(&mut self, step: &str) -> Option<&mut Node<'a>> {
        match self {
            Self::List(items) => items.get_mut(step.parse::<usize>().ok()?),
            Self::Object(Object(pairs)) if pairs.len() < ITEMS_KEPT_MAX => {
                let pair = pairs.iter_mut().rev().find(|(key, _)| key == step);
                pair.map(|(_, node)| node)
            }
            _ => None,
        }
    }
}

/// The pairs of an object, as they were sent.
#[derive(Debug, Clone)]
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Object<'a> {
    /// Takes a field out; `None` if it is absent or null. If a field is repeated, the last one
    /// wins.
    pub(super) fn take(&mut self, name: &str) -> Option<Node<'a>> {
        let (_, node) = self.0.iter_mut().rev().find(|(key, _)| key == name)?;
        match std::mem::replace(node, Node::Null) {
            Node::Null => None,
            node => Some(node),
        }
    }

    pub(super) fn pairs(&self) -> &[(Cow<'a, str>, Node<'a>)] {
        &self.0
    }

    /// The pairs that are not null, sorted by key; if a key is repeated, the last one wins.
    pub(super) fn into_pairs(mut self) -> Vec<(Cow<'a, str>, Node<'a>)> {
        last_of_each(&mut self.0);
        self.0.retain(|(_, node)| !matches!(node, Node::Null));
        self.0
    }
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
