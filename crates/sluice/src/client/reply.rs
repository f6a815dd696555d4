//! Reads the JSON of replies.

use serde_json::Value;
use sluice_flow::definition::Fault;

/// The faults that a reply lists, if any.
pub(crate) fn faults_of(reply: &Value) -> Vec<Fault> {
    reply.get("faults").or_else(|| reply.get("errors")).map(faults_in).unwrap_or_default()
}

/// The faults or warnings in a list.
pub(crate) fn faults_in(list: &Value) -> Vec<Fault> {
    let fault = |item: &Value| {
        let text = |name: &str| item[name].as_str().map(str::to_owned);
        Some(Fault::new(text("pointer")?, text("message")?))
    };
    list.as_array().into_iter().flatten().filter_map(fault).collect()
}

/// A text field of a reply, shown unchanged; a dash if it is absent.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or("-")
}
