//! `next`: where a respondent goes after a question, if not to the next one.
//!
//! Jumps only lead forward, so that every way through a flow ends. A question that a jump passes
//! over is not visible ([`crate::route`]).

use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::definition::limits::JUMPS_MAX;
use crate::definition::reader::ObjectReader;
use crate::logic::{self, Condition, Earlier};

/// The target that ends the flow.
const END: &str = "end";
const END_PREFIX: &str = "end:";

/// A jump. The first whose condition holds is taken; one without a condition always is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Jump {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    pub to: Target,
}

/// Where a jump leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A later question, by its id.
    Question(String),
    /// The end, with the ending that the answers lead to.
    End,
    /// This ending, by its id.
    Ending(String),
}

impl Target {
    /// Its text in a definition.
    fn text(&self) -> String {
        match self {
            Self::Question(id) => id.clone(),
            Self::End => END.to_owned(),
            Self::Ending(id) => format!("{END_PREFIX}{id}"),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// Reads the jumps of question `own`, which `earlier` contains.
pub(super) fn read(
    reader: &mut ObjectReader<'_>,
    own: Option<&str>,
    earlier: &Earlier<'_>,
    endings: &HashSet<&str>,
) -> Vec<Jump> {
    let Some(items) = reader.optional_list("next", JUMPS_MAX) else { return Vec::new() };
    let mut jumps: Vec<Jump> = Vec::with_capacity(items.len());
    for (pointer, item) in items {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        if jumps.last().is_some_and(|before| before.when.is_none()) {
            let message = "is never reached: the jump before it has no condition";
            reader.faults.add(reader.pointer.clone(), message);
        }
        let when = reader
            .field("when")
            .map(|when| logic::read(when, &reader.at("when"), None, earlier, reader.faults));
        let to = reader.needed("to").and_then(|to| {
            let target = read_target(to, own, earlier, endings);
            target.map_err(|message| reader.fault("to", message)).ok()
        });
        // A condition that could not be read is a fault already.
        if let Some(to) = to {
            jumps.push(Jump { when: when.flatten(), to });
        }
        reader.close();
    }
    jumps
}

fn read_target(
    value: &Value,
    own: Option<&str>,
    earlier: &Earlier<'_>,
    endings: &HashSet<&str>,
) -> Result<Target, &'static str> {
    let text = value.as_str().unwrap_or_default();
    if text == END {
        return Ok(Target::End);
    }
    if let Some(id) = text.strip_prefix(END_PREFIX) {
        let known = endings.contains(id).then(|| Target::Ending(id.to_owned()));
        return known.ok_or("the definition has no ending with this id");
    }
    if own == Some(text) {
        Err("must be a later question, not the question itself")
    } else if earlier.has(text) {
        Err("must be a later question; this one comes earlier")
    } else if earlier.is_known(text) {
        Ok(Target::Question(text.to_owned()))
    } else {
        Err("must be the id of a later question, end, or end: and the id of an ending")
    }
}

/// The JSON Schema of `next`.
pub(crate) fn schema() -> Value {
    json!({
        "type": "array",
        "maxItems": JUMPS_MAX,
        "items": {
            "type": "object",
            "properties": {
                "when": {"anyOf": [{"$ref": "#/$defs/condition"}, {"type": "null"}]},
                "to": {
                    "type": "string",
                    "description": "A later question, `end`, or `end:` and the id of an ending.",
                },
            },
            "required": ["to"],
            "additionalProperties": false,
        },
    })
}
