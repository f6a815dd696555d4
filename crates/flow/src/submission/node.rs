//! JSON as a tree that borrows its texts from the input.
//!
//! Unlike a general JSON value it bounds its cost: nesting stops at [`DEPTH_MAX`], unknown
//! top-level fields are skipped, and of an overlong list only enough items are kept to detect that
//! it is overlong. Values of numbers are not kept, since no field of a submission is a number.

use std::borrow::Cow;

use crate::text_map::last_of_each;

/// The maximum nesting depth of arrays and objects, including the outermost.
pub(super) const DEPTH_MAX: usize = 16;
/// How many items of a list are kept: more than any rule allows.
pub(super) const ITEMS_KEPT_MAX: usize = 1001;
/// The initial capacity for the pairs of an object: enough for most.
pub(super) const PAIRS_EXPECTED: usize = 8;

/// The keys of a superjson envelope.
pub(super) const JSON: &str = "json";
pub(super) const META: &str = "meta";

#[derive(Debug, Clone, PartialEq)]
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
    pub(super) fn into_owned(self) -> Node<'static> {
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
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object<'a>(pub(super) Vec<(Cow<'a, str>, Node<'a>)>);

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
