//! Any text as a flow file in YAML.
//!
//! What was read is written as YAML, and read again as the same value. JSON is YAML, so a JSON text
//! means the same to both readers, if YAML accepts it.

use serde_json::Value;

use crate::{yaml, yaml_writer};

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match yaml::parse(text) {
        Ok(value) => {
            let written = yaml_writer::to_yaml(&value);
            assert_eq!(yaml::parse(&written).as_ref(), Ok(&value), "written as {written:?}");
            super::definition::check(&value);
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    if let Ok(json) = serde_json::from_str::<Value>(text) {
        let written = yaml_writer::to_yaml(&json);
        assert_eq!(yaml::parse(&written).as_ref(), Ok(&json), "written as {written:?}");
    }
}
