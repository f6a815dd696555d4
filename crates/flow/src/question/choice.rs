//! Options to choose from, shared by several types.
//!
//! With `allowOther` a respondent may answer with free text as `other:<text>`. In conditions,
//! `other` then matches any such answer, so no option may have that id.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Problems;
use super::image::{self, Image};
use crate::definition::limits::{ID_CHARS_MAX, LABEL_CHARS_MAX, OTHER_CHARS_MAX, SCORE_MAX};
use crate::definition::reader::{ObjectReader, text_schema};
use crate::issue::Code;
use crate::score::Score;

/// The prefix of a free-text answer.
pub const OTHER_PREFIX: &str = "other:";
/// The name of such an answer in conditions.
pub const OTHER: &str = "other";

/// How many ids a message lists before it only gives the number of the rest.
const LISTED_MAX: usize = 20;

/// One option, row or column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Choice {
    pub id: String,
    pub label: String,
    /// What choosing it adds to the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// Whether it keeps its place when options are shown in random order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
}

impl Choice {
    /// The alternative text of its image.
    pub(crate) fn alt(&self) -> Option<&str> {
        self.image.as_ref()?.alt.as_deref()
    }
}

/// The order in which options are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionOrder {
    #[default]
    Listed,
    Random,
}

impl OptionOrder {
    /// The author-facing names.
    pub(super) const NAMES: &[(&str, &str)] =
        &[("listed", "As listed"), ("random", "Random for each visit")];

    pub(super) fn read(reader: &mut ObjectReader<'_>) -> Self {
        let words = [("listed", Self::Listed), ("random", Self::Random)];
        reader.choice("optionOrder", &words).unwrap_or_default()
    }

    pub(crate) fn is_listed(&self) -> bool {
        *self == Self::Listed
    }

    /// The options in the order in which they are shown. The same seed gives the same order.
    pub fn arrange(self, options: &[Choice], seed: u64) -> Vec<&Choice> {
        let mut arranged: Vec<&Choice> = options.iter().collect();
        if self == Self::Random {
            let movable: Vec<usize> = (0..options.len()).filter(|&at| !options[at].fixed).collect();
            let mut state = seed;
            // Fisher and Yates, over the places of the options that move.
            for last in (1..movable.len()).rev() {
                let other = (next_random(&mut state) % (last as u64 + 1)) as usize;
                arranged.swap(movable[last], movable[other]);
            }
        }
        arranged
    }
}

/// SplitMix64.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Which optional fields a choice may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ChoiceFields {
    pub score: bool,
    pub fixed: bool,
    pub image: bool,
}

impl ChoiceFields {
    /// Rows and columns.
    pub(super) const NONE: Self = Self { score: false, fixed: false, image: false };
    /// Options that are put in order.
    pub(super) const ORDERED: Self = Self { score: false, fixed: true, image: false };
    /// Options that are chosen from a list of texts.
    pub(super) const CHOSEN: Self = Self { score: true, fixed: true, image: false };
    /// Options that are chosen, and may have images.
    pub(super) const PICTURED: Self = Self { image: true, ..Self::CHOSEN };
}

/// Options, optionally with a free-text answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Options {
    pub options: Vec<Choice>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_other: bool,
    #[serde(skip_serializing_if = "OptionOrder::is_listed")]
    pub option_order: OptionOrder,
}

impl Options {
    pub(super) fn read(
        reader: &mut ObjectReader<'_>,
        allowed: RangeInclusive<usize>,
        fields: ChoiceFields,
    ) -> Self {
        let options = read_choices(reader, "options", allowed, fields);
        let allow_other = reader.flag("allowOther");
        if allow_other && has(&options, OTHER) {
            reader.fault("options", "must not hold the id other where allowOther is on");
        }
        Self { options, allow_other, option_order: OptionOrder::read(reader) }
    }

    /// Judges one choice: an option's id, or `other:<text>`. Returns whether it was valid.
    pub(super) fn judge(&self, chosen: &str, problems: &mut Problems<'_>) -> bool {
        let (code, rule) = match chosen.strip_prefix(OTHER_PREFIX) {
            None if has(&self.options, chosen) => return true,
            Some(text) if self.allow_other => {
                if text.trim().is_empty() {
                    (Code::InvalidFormat, "takes other: only with a text after it".to_owned())
                } else if text.chars().count() > OTHER_CHARS_MAX {
                    let rule = format!("takes at most {OTHER_CHARS_MAX} characters after other:");
                    (Code::OutOfRange, rule)
                } else {
                    return true;
                }
            }
            _ => {
                let other = if self.allow_other { ", or other: and a text" } else { "" };
                let rule = format!("takes only its options: {}{other}", listed(&self.options));
                (Code::UnknownOption, rule)
            }
        };
        problems.add(code, rule);
        false
    }
}

pub(crate) fn has(choices: &[Choice], id: &str) -> bool {
    choices.iter().any(|choice| choice.id == id)
}

/// The ids as a list, abbreviated if there are many.
pub(crate) fn listed(choices: &[Choice]) -> String {
    let ids: Vec<&str> = choices.iter().take(LISTED_MAX).map(|choice| choice.id.as_str()).collect();
    match choices.len().saturating_sub(LISTED_MAX) {
        0 => ids.join(", "),
        more => format!("{} and {more} more", ids.join(", ")),
    }
}

/// Ids of options, rows and columns: like question ids, but may start with a digit.
fn is_choice_id(id: &str) -> bool {
    id.len() <= ID_CHARS_MAX
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Reads a list of options, rows or columns.
pub(super) fn read_choices(
    reader: &mut ObjectReader<'_>,
    name: &'static str,
    allowed: RangeInclusive<usize>,
    fields: ChoiceFields,
) -> Vec<Choice> {
    let mut ids = HashSet::new();
    let mut choices = Vec::new();
    for (pointer, item) in reader.list(name, allowed) {
        let Some(mut reader) = ObjectReader::open(item, pointer, reader.faults) else { continue };
        let id = reader.needed("id").map(|id| id.as_str().filter(|id| is_choice_id(id)));
        let label = reader.needed_text("label", LABEL_CHARS_MAX).unwrap_or_default();
        let score = if fields.score { read_score(&mut reader) } else { None };
        let fixed = fields.fixed && reader.flag("fixed");
        let image = if fields.image { image::read(&mut reader) } else { None };
        match id {
            None => {}
            Some(None) => reader.fault("id", "must be 1 to 64 letters, digits, _ and -"),
            Some(Some(id)) if !ids.insert(id) => {
                reader.fault("id", format!("{id:?} is used twice"))
            }
            Some(Some(id)) => {
                choices.push(Choice { id: id.to_owned(), label, score, fixed, image })
            }
        }
        reader.close();
    }
    choices
}

fn read_score(reader: &mut ObjectReader<'_>) -> Option<Score> {
    let score = Score::from_json(reader.field("score")?);
    if score.is_none() {
        reader.fault("score", Score::RULE);
    }
    score
}

pub(super) fn choices_schema(allowed: RangeInclusive<usize>, fields: ChoiceFields) -> Value {
    let optional = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
    let id = format!("^[A-Za-z0-9][A-Za-z0-9_-]{{0,{}}}$", ID_CHARS_MAX - 1);
    let mut properties = json!({
        "id": {"type": "string", "pattern": id},
        "label": text_schema(LABEL_CHARS_MAX),
    });
    if fields.score {
        let score =
            json!({"type": "number", "minimum": -i64::from(SCORE_MAX), "maximum": SCORE_MAX});
        properties["score"] = optional(score);
    }
    if fields.fixed {
        properties["fixed"] = optional(json!({"type": "boolean"}));
    }
    if fields.image {
        properties["image"] = optional(image::schema());
    }
    json!({
        "type": "array",
        "minItems": allowed.start(),
        "maxItems": allowed.end(),
        "items": {
            "type": "object",
            "properties": properties,
            "required": ["id", "label"],
            "additionalProperties": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_order_keeps_fixed_options_in_their_places() {
        let option = |id: u32| Choice {
            id: id.to_string(),
            label: id.to_string(),
            score: None,
            fixed: matches!(id, 0 | 5),
            image: None,
        };
        let options: Vec<Choice> = (0..8).map(option).collect();
        let ids = |order: OptionOrder, seed| -> Vec<String> {
            order.arrange(&options, seed).into_iter().map(|option| option.id.clone()).collect()
        };
        let listed = ids(OptionOrder::Listed, 7);
        let mut first = std::collections::HashMap::new();
        for seed in 0..6_000 {
            let order = ids(OptionOrder::Random, seed);
            assert_eq!((order[0].as_str(), order[5].as_str()), ("0", "5"));
            assert_eq!(order, ids(OptionOrder::Random, seed));
            let mut sorted = order.clone();
            sorted.sort();
            assert_eq!(sorted, listed);
            *first.entry(order[1].clone()).or_insert(0) += 1;
        }
        // Each of the six movable options comes first about equally often.
        assert_eq!(first.len(), 6);
        assert!(first.values().all(|count| (850..1150).contains(count)), "{first:?}");
    }
}
