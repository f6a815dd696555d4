//! What an export format is.
//!
//! Each format describes itself in its own file with one [`ExportFormat`]; [`FORMATS`] lists them.
//! The admin API, the OpenAPI document, the console, the command line and docs/exports.md read that
//! table, and nothing else in the project lists the formats.

use std::fs::File;

use sluice_store::ResponseRow;

use super::columns::Columns;
use super::outlet::Outlet;
use super::values_as::ValuesAs;
use super::{ExportFailed, FORMATS};

/// A file format for exports.
#[derive(Debug)]
pub struct ExportFormat {
    /// Its name in requests and on the command line.
    pub name: &'static str,
    /// The file name extension, without a dot.
    pub extension: &'static str,
    pub media_type: &'static str,
    /// Its name in the console.
    pub label: &'static str,
    /// When to choose it: a phrase for the console and the command line's help.
    pub summary: &'static str,
    /// What values and lists look like in it: a phrase for docs/exports.md, in Markdown.
    pub values: &'static str,
    /// The most responses that a file can hold, if the format has a limit.
    pub(crate) rows_max: Option<u64>,
    /// Whether it has columns. They include one for each tag name, and collecting tag names may
    /// take a scan of every response.
    pub(crate) has_columns: bool,
    /// What questions and options are called in it, unless the caller decides.
    pub values_as: ValuesAs,
    /// Whether the file lists the questions and options of every version.
    pub has_codebook: bool,
    /// How a folder of new responses grows in it; none if it cannot.
    pub followed: Option<Followed>,
    /// Reads the number of responses in a complete file, if the file has it.
    pub(super) count_rows: Option<fn(&File) -> Option<u64>>,
    /// How a client can count the responses in it while it arrives.
    pub lines: Option<LineFormat>,
    pub(super) new_writer: fn(Columns) -> Result<Box<dyn FormatWriter>, ExportFailed>,
}

/// How a folder of new responses grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// Lines are appended to a file. What the server sends ends with a line that says where the
    /// next part starts.
    Lines,
    /// Each part is one more file.
    Files,
}

/// A format in which every response is a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFormat {
    /// Whether the first line is a header.
    pub has_header: bool,
    /// Whether a line break between double quotes does not end a line.
    pub has_quotes: bool,
}

/// Turns rows into the bytes of a file.
pub(super) trait FormatWriter: Send {
    /// Writes what precedes the first row. `rows` is their number, if known.
    fn begin(&mut self, rows: Option<u64>, out: &mut Vec<u8>) -> Result<(), ExportFailed>;
    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed>;
    /// Writes what follows the last row; or the whole file, if the format can only be written at
    /// the end.
    fn end(self: Box<Self>, outlet: &mut Outlet<'_>) -> Result<(), ExportFailed>;
}

impl ExportFormat {
    /// Whether a caller can choose its columns.
    pub fn has_columns(&self) -> bool {
        self.has_columns
    }

    /// The number of responses in a complete file of this format, if the file has it.
    pub fn rows_in(&self, file: &File) -> Option<u64> {
        self.count_rows.and_then(|count| count(file))
    }

    /// The format with this name, if this build can write it.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }

    /// The names of all formats that this build can write.
    pub fn names() -> Vec<&'static str> {
        FORMATS.iter().map(|format| format.name).collect()
    }
}

impl PartialEq for ExportFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ExportFormat {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_found_by_its_name() {
        for format in FORMATS {
            assert_eq!(ExportFormat::named(format.name), Some(*format));
        }
        assert_eq!(ExportFormat::named("CSV"), None);
    }

    #[test]
    fn every_format_describes_itself_and_no_two_share_a_name() {
        for (at, format) in FORMATS.iter().enumerate() {
            let texts =
                [format.name, format.extension, format.label, format.summary, format.values];
            assert!(
                texts.iter().all(|text| !text.is_empty() && !text.contains('\n')),
                "{format:?}"
            );
            assert!(format.name.bytes().all(|byte| byte.is_ascii_lowercase()), "{format:?}");
            assert!(format.media_type.contains('/'), "{format:?}");
            assert!(!FORMATS[..at].contains(format), "{format:?}");
        }
    }
}
