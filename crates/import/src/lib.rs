//! Converts the definitions and responses of other tools to those of Sluice.
//!
//! Everything here is pure, as in [`sluice_flow`]: bytes in, a definition and a report out. A
//! format is one file in [`formats`] and one line of its table. It reads its file into a
//! [`draft::Draft`], which has what the formats share: questions under the names of the source,
//! texts with recalled answers, conditions. [`assemble`] turns a draft into a definition that
//! passes every rule of `sluice_flow`, and reports each change.
//!
//! Nothing is dropped silently: every element of the source is an entry of the [`report::Report`],
//! and [`fields::Fields`] lists every property that a format did not read.
//!
//! [`responses`] reads the rows of CSV and JSON Lines files, and maps them to submissions.
//!
//! Deliberately absent: files, the network, and images, which must be uploaded to an app first.

mod assemble;
mod condition;
mod draft;
mod expression;
mod fields;
mod formats;
mod ids;
mod marks;
mod markup;
mod repair;
mod report;
mod resolve;
pub mod responses;
mod text;
mod xlsx;

use serde_json::Value;
use sluice_flow::definition::Definition;

pub use self::formats::{FORMATS, Format};
pub use self::report::{Entry, Outcome, Report};

/// The largest file that is read. Larger than any real definition.
pub const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A definition made from a file of another tool, and the outcome of each of its elements.
#[derive(Debug, Clone)]
pub struct Imported {
    pub definition: Definition,
    pub report: Report,
}

/// Reads a file in one of [`FORMATS`]. The error is one sentence about why it cannot be read at
/// all.
pub fn import(format: &Format, bytes: &[u8]) -> Result<Imported, String> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("is larger than {} MiB", FILE_BYTES_MAX / (1024 * 1024)));
    }
    match format.mistaken(bytes) {
        Some(reason) => Err(reason),
        None => assemble::assemble((format.read)(bytes)?),
    }
}

/// Reads JSON, with or without a byte-order mark.
fn json(bytes: &[u8]) -> Result<Value, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| format!("is not JSON: {error}"))
}
