//! JSON Lines: one response per line, as the admin API's list returns it. With labels, its answers
//! are named by the texts of their questions.

use std::io;

use sluice_flow::submission::{Texts, each_entry};
use sluice_store::ResponseRow;

use super::ExportFailed;
use super::columns::{Columns, labelled};
use super::format::{ExportFormat, Followed, FormatWriter, LineFormat};
use super::outlet::Outlet;
use super::values_as::ValuesAs;
use crate::stored_response;

pub(super) static FORMAT: ExportFormat = ExportFormat {
    name: "jsonl",
    extension: "jsonl",
    media_type: "application/jsonl",
    label: "JSON Lines",
    summary: "one response per line, as the API returns it",
    values: "items as the API lists them; lists are arrays; with labels, answers are named by their questions",
    rows_max: None,
    has_columns: false,
    values_as: ValuesAs::Ids,
    has_codebook: false,
    followed: Some(Followed::Lines),
    count_rows: None,
    lines: Some(LineFormat { has_header: false, has_quotes: false }),
    new_writer: |columns| Ok(Box::new(Jsonl { columns })),
};

struct Jsonl {
    columns: Columns,
}

impl Jsonl {
    /// The answers of a response by the texts of their questions, in the same order.
    fn write_labelled(&self, row: &ResponseRow, out: &mut Vec<u8>) -> io::Result<()> {
        let labels = self.columns.labels(row.flow_version_id);
        let (mut written, mut next) = (Ok(()), b'{');
        let read = each_entry(&row.answers, |id, texts| {
            let at = self.columns.layout.position(&id);
            let name = at.map_or(&*id, |at| self.columns.name_at(at));
            let texts = match at.and_then(|at| labels.get(at)) {
                Some(Some(labels)) => &labelled(labels, &texts),
                _ => &texts,
            };
            if written.is_ok() {
                out.push(next);
                next = b',';
                written = write_entry(name, texts, out);
            }
        });
        read.and(written).map_err(|error| {
            io::Error::other(format!("{} cannot be read: {error}", row.response_id))
        })?;
        out.extend_from_slice(if next == b'{' { b"{}" } else { b"}" });
        Ok(())
    }
}

fn write_entry(name: &str, texts: &Texts<'_>, out: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *out, name)?;
    out.push(b':');
    serde_json::to_writer(out, texts)
}

impl FormatWriter for Jsonl {
    fn begin(&mut self, _: Option<u64>, _: &mut Vec<u8>) -> Result<(), ExportFailed> {
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        for row in rows {
            let written = match self.columns.values {
                ValuesAs::Ids => stored_response::write_json(row, out),
                ValuesAs::Labels => {
                    let answers = |out: &mut Vec<u8>| self.write_labelled(row, out);
                    stored_response::write_json_with(row, out, answers)
                }
            };
            written.map_err(|error| ExportFailed(error.to_string()))?;
            out.push(b'\n');
        }
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        Ok(())
    }
}
