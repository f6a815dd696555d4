//! Parses a reported visit: JSON from the hosted page's script, or from an integrator's client.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Visit, VisitFault, VisitStep};
use crate::definition::limits::{ID_CHARS_MAX, QUESTIONS_MAX};

/// The longest report: every step of the longest flow fits.
pub const BODY_BYTES_MAX: usize = 128 * 1024;
/// The most steps of one report: opened, started, finished, and two of every question.
pub const STEPS_MAX: usize = 3 + 2 * QUESTIONS_MAX;

/// The number is part of a message.
const _: () = assert!(STEPS_MAX == 603);

const STEP_NAMES: &str = "must be opened, started, seen, passed or finished";

impl Visit {
    /// Unknown fields are ignored.
    pub fn parse(body: &[u8]) -> Result<Self, VisitFault> {
        let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
            return Err(VisitFault::in_body("", "must be a JSON object"));
        };
        let Some(Value::String(flow_version_id)) = body.get("flowVersionId") else {
            return Err(VisitFault::in_body("flowVersionId", "must be the id of a version"));
        };
        let items = match body.get("steps") {
            Some(Value::Array(items)) if (1..=STEPS_MAX).contains(&items.len()) => items,
            _ => return Err(VisitFault::in_body("steps", "must be a list of 1 to 603 steps")),
        };
        let steps = items.iter().enumerate().map(|(at, item)| step(at, item));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        let mut known = BTreeSet::new();
        for (at, step) in steps.iter().enumerate() {
            if !known.insert((name(step), step.question())) {
                return Err(VisitFault::in_step(at, "", "must not repeat an earlier step"));
            }
        }
        Ok(Self { flow_version_id: flow_version_id.clone(), steps })
    }
}

fn name(step: &VisitStep) -> &'static str {
    match step {
        VisitStep::Opened => "opened",
        VisitStep::Started => "started",
        VisitStep::Seen(_) => "seen",
        VisitStep::Passed(_) => "passed",
        VisitStep::Finished { .. } => "finished",
    }
}

fn step(at: usize, item: &Value) -> Result<VisitStep, VisitFault> {
    let Value::Object(fields) = item else {
        return Err(VisitFault::in_step(at, "", "must be an object such as {\"step\":\"opened\"}"));
    };
    let Some(Value::String(name)) = fields.get("step") else {
        return Err(VisitFault::in_step(at, "step", STEP_NAMES));
    };
    Ok(match name.as_str() {
        "opened" => VisitStep::Opened,
        "started" => VisitStep::Started,
        "seen" => VisitStep::Seen(question(at, fields)?),
        "passed" => VisitStep::Passed(question(at, fields)?),
        "finished" => VisitStep::Finished { seconds: seconds(at, fields)? },
        _ => return Err(VisitFault::in_step(at, "step", STEP_NAMES)),
    })
}

fn question(at: usize, fields: &Map<String, Value>) -> Result<String, VisitFault> {
    match fields.get("question") {
        Some(Value::String(id)) if !id.is_empty() && id.len() <= ID_CHARS_MAX => Ok(id.clone()),
        _ => Err(VisitFault::in_step(at, "question", "must be the id of a question")),
    }
}

/// Whole seconds; a fraction is cut off.
fn seconds(at: usize, fields: &Map<String, Value>) -> Result<Option<u32>, VisitFault> {
    match fields.get("seconds") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64().filter(|seconds| *seconds >= 0.0) {
            // The conversion saturates.
            Some(seconds) => Ok(Some(seconds as u32)),
            None => Err(VisitFault::in_step(at, "seconds", "must be a number, 0 or more")),
        },
    }
}
