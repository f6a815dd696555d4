//! An author's editable draft, checked. (stub)
use serde::{Deserialize, Serialize};
/// What a flow is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind { Survey, Form, Message }
/// One thing wrong with a draft: where (JSON Pointer), and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault { pub pointer: String, pub message: String }
/// A draft that keeps every rule; only [`check`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition { }
impl Definition {
    /// The canonical JSON of the definition: what is stored when it is published.
    pub fn to_json(&self) -> serde_json::Value { todo!() }
    pub fn title(&self) -> &str { todo!() }
}
/// Checks a draft; gives every fault at once.
pub fn check(_draft: &serde_json::Value) -> Result<Definition, Vec<Fault>> { todo!() }
/// The JSON Schema (2020-12) of a definition.
pub fn json_schema() -> &'static serde_json::Value { todo!() }
