//! Imports as a whole: every sample definition with its expected result, and any input at all.
//!
//! The samples are in `tests/fixtures`, a folder per format: a simple one, one with logic, one with
//! every type, and a broken one. `UPDATE_GOLDEN=1` writes the expected results again.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]
#![expect(clippy::disallowed_methods, reason = "tests read their samples")]

mod any_input;
mod conditions;
mod golden;
mod responses;
