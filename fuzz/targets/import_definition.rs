//! A file of another tool; the first byte selects the format.
//!
//! The result is a definition that could be published, every property that was not mapped is an
//! entry of the report, and the same file always becomes the same.

use sluice_flow::definition;
use sluice_import::{FORMATS, import};

pub(super) fn run(data: &[u8]) {
    let Some((&selector, file)) = data.split_first() else { return };
    let format = &FORMATS[usize::from(selector) % FORMATS.len()];
    match import(format, file) {
        Ok(imported) => {
            let json = imported.definition.to_json();
            assert_eq!(definition::check_new(&json).as_ref(), Ok(&imported.definition));
            for entry in &imported.report.entries {
                assert!(!entry.element.is_empty(), "an entry without an element: {entry:?}");
            }
            let again = import(format, file).expect("the same file is read again");
            assert_eq!(again.definition, imported.definition);
            assert_eq!(again.report.entries, imported.report.entries);
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
}
