//! JSON as a tree that borrows its texts from the input.
//!
//! It differs from a general JSON value in what it refuses to spend: nesting stops at
//! [`DEPTH_MAX`], top-level fields that nobody asked for are read past without being kept, and of an
//! overlong list only enough is kept to see that it is overlong. The value of a number is not kept,
//! since no field of a submission is one.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::text_map::last_of_each;

/// How many arrays and objects may stand inside one another, the outermost included.
pub(super) const DEPTH_MAX: usize = 16;
/// How many items of a list are kept: more than any rule allows.
pub(super) const ITEMS_KEPT_MAX: usize = 1001;
/// The room made for the pairs of an object at first: as many as most have.
const PAIRS_EXPECTED: usize = 8;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool,
    Number,
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(Object<'a>),
}

impl Node<'_> {
    /// The JSON type in words, for messages.
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

/// The pairs of an object, as they were sent.
#[derive(Debug)]
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Object<'a> {
    /// Takes a field out; nothing if it is absent or null. Of a repeated field the last counts.
    pub(super) fn take(&mut self, name: &str) -> Option<Node<'a>> {
        let (_, node) = self.0.iter_mut().rev().find(|(key, _)| key == name)?;
        match std::mem::replace(node, Node::Null) {
            Node::Null => None,
            node => Some(node),
        }
    }

    /// The pairs that are not null, ordered by key, each key once: the last of it counts.
    pub(super) fn into_pairs(mut self) -> Vec<(Cow<'a, str>, Node<'a>)> {
        last_of_each(&mut self.0);
        self.0.retain(|(_, node)| !matches!(node, Node::Null));
        self.0
    }
}

/// Reads one JSON text; if it is an object, only the fields with these names are kept of it.
pub(super) fn read<'a>(input: &'a [u8], fields: &[&str]) -> Result<Node<'a>, String> {
    let input = input.strip_prefix(BYTE_ORDER_MARK).unwrap_or(input);
    if input.trim_ascii().is_empty() {
        return Err("Unexpected end of JSON input".to_owned());
    }
    // Looked at once for the whole input, so that no text of it need be looked at again.
    let text = std::str::from_utf8(input)
        .map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reader = Reader { depth: 0, keep: Keep::Fields(fields) };
    let node = reader.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(node)
}

/// Reads one JSON text that was stored, and keeps all of it.
pub(super) fn read_all(text: &str) -> Option<Node<'_>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Reader { depth: 0, keep: Keep::All }.deserialize(&mut deserializer).ok()
}

/// Reads the value that stands inside `depth` arrays and objects.
#[derive(Clone, Copy)]
struct Reader<'f> {
    depth: usize,
    keep: Keep<'f>,
}

#[derive(Clone, Copy)]
enum Keep<'f> {
    Fields(&'f [&'f str]),
    All,
    Nothing,
}

/// A key, borrowed where it has no escape.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl Reader<'_> {
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

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Node<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
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
            let keep = if kept { inside.keep } else { Keep::Nothing };
            match list.next_element_seed(Reader { keep, ..inside })? {
                Some(item) if kept => items.push(item),
                Some(_) => {}
                None => return Ok(Node::List(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Node<'de>, A::Error> {
        let inside = self.enter()?;
        let mut pairs = Vec::with_capacity(if inside.keeps() { PAIRS_EXPECTED } else { 0 });
        while let Some(Key(key)) = object.next_key()? {
            let keep = match inside.keep {
                Keep::Fields(names) if names.contains(&key.as_ref()) => Keep::All,
                Keep::Fields(_) => Keep::Nothing,
                inherited => inherited,
            };
            let value = Reader { keep, ..inside };
            let node = object.next_value_seed(value)?;
            if value.keeps() {
                pairs.push((key, node));
            }
        }
        Ok(Node::Object(Object(pairs)))
    }
}
