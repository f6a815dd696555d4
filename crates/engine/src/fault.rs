//! Faults of a request, each with its JSON Pointer, and the rules that several use cases share.

use serde_json::Value;
use sluice_flow::definition::Fault;
use sluice_flow::flow_settings::name_fault;
use sluice_flow::lifecycle::GRACE_MAX_SECONDS;

use crate::admin::{AdminError, AdminResult};

/// Refuses a request with all its faults, if it has any.
pub(crate) fn faultless(faults: impl IntoIterator<Item = Fault>) -> AdminResult<()> {
    let faults: Vec<Fault> = faults.into_iter().collect();
    if faults.is_empty() { Ok(()) } else { Err(AdminError::Invalid(faults)) }
}

pub(crate) fn name_faults(pointer: &str, name: &str) -> Option<Fault> {
    name_fault(name).map(|why| Fault::new(pointer, why))
}

pub(crate) fn grace_faults(pointer: &str, seconds: Option<u32>) -> Option<Fault> {
    seconds.filter(|&seconds| seconds > GRACE_MAX_SECONDS).map(|_| {
        let message = format!("must be 0 to {GRACE_MAX_SECONDS} seconds, or null for the default");
        Fault::new(pointer, message)
    })
}

pub(crate) fn object_fault(pointer: &str, definition: &Value) -> Option<Fault> {
    (!definition.is_object()).then(|| Fault::new(pointer, "must be a JSON object"))
}
