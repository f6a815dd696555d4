//! JSON Lines: one response per line, as the admin API's list returns it. With labels, its answers
//! are named by the texts of their questions.

use serde_json::json;
use sluice_flow::submission::each_entry;
use sluice_store::ResponseRow;

use super::ExportFailed;
use super::columns::{Columns, labelled};
use super::format::{ExportFormat, FormatWriter, LineFormat, ValuesAs};
use super::outlet::Outlet;
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
    lines: Some(LineFormat { has_header: false, has_quotes: false }),
    new_writer: |columns| Ok(Box::new(Jsonl { columns })),
};

struct Jsonl {
    columns: Columns,
}

impl Jsonl {
    /// The answers of a response by the texts of their questions, in the same order.
    fn labelled_answers(&self, row: &ResponseRow) -> serde_json::Result<String> {
        let labels = self.columns.labels(row.flow_version_id);
        let mut json = String::from("{");
        each_entry(&row.answers, |id, texts| {
            let at = self.columns.layout.position(&id);
            let name = at.map_or(&*id, |at| self.columns.name_at(at));
            let texts = match at.and_then(|at| labels.get(at)) {
                Some(Some(labels)) => &labelled(labels, &texts),
                _ => &texts,
            };
            if json.len() > 1 {
                json.push(',');
            }
            json.push_str(&json!(name).to_string());
            json.push(':');
            json.push_str(&json!(texts).to_string());
        })?;
        json.push('}');
        Ok(json)
    }
}

impl FormatWriter for Jsonl {
    fn begin(&mut self, _: &mut Vec<u8>) -> Result<(), ExportFailed> {
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        for row in rows {
            let written = match self.columns.values {
                ValuesAs::Ids => stored_response::write_json(row, out),
                ValuesAs::Labels => {
                    let answers = self.labelled_answers(row).map_err(|error| {
                        ExportFailed(format!("{} cannot be read: {error}", row.response_id))
                    })?;
                    stored_response::write_json(&ResponseRow { answers, ..row.clone() }, out)
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
