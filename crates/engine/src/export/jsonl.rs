//! JSON Lines: one response per line, as the admin API's list returns it.

use sluice_store::ResponseRow;

use super::ExportFailed;
use super::format::{ExportFormat, FormatWriter, LineFormat};
use super::outlet::Outlet;
use crate::stored_response;

pub(super) static FORMAT: ExportFormat = ExportFormat {
    name: "jsonl",
    extension: "jsonl",
    media_type: "application/jsonl",
    label: "JSON Lines",
    summary: "one response per line, as the API returns it",
    values: "items as the API lists them; lists are arrays",
    rows_max: None,
    has_columns: false,
    has_headings: false,
    lines: Some(LineFormat { has_header: false, has_quotes: false }),
    new_writer: |_| Ok(Box::new(Jsonl)),
};

struct Jsonl;

impl FormatWriter for Jsonl {
    fn begin(&mut self, _: &mut Vec<u8>) -> Result<(), ExportFailed> {
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        for row in rows {
            let written = stored_response::write_json(row, out);
            written.map_err(|error| ExportFailed(error.to_string()))?;
            out.push(b'\n');
        }
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        Ok(())
    }
}
