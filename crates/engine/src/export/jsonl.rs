//! JSON Lines: one response a line, as the admin API's list shows it.
//!
//! What is JSON in the store goes out as it is, without being read.

use std::io::Write as _;

use sluice_store::ResponseRow;

use super::ExportFailed;
use super::pipe::{Outlet, Sheet};

pub(super) struct Jsonl;

impl Sheet for Jsonl {
    fn begin(&mut self, _: &mut Vec<u8>) -> Result<(), ExportFailed> {
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        for row in rows {
            line(row, out).map_err(|error| ExportFailed(error.to_string()))?;
        }
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        Ok(())
    }
}

fn line(row: &ResponseRow, out: &mut Vec<u8>) -> std::io::Result<()> {
    let ResponseRow { response_id, flow_id, flow_version_id, .. } = row;
    write!(out, "{{\"responseId\":\"{response_id}\",\"flowId\":\"{flow_id}\",")?;
    write!(out, "\"flowVersionId\":\"{flow_version_id}\",")?;
    write!(out, "\"receivedAt\":\"{}\",", response_id.made_at())?;
    let admission = row.admission.as_str();
    write!(out, "\"respondentAnalyticsAdmission\":\"{admission}\",\"answers\":")?;
    stored(&row.answers, out);
    out.extend_from_slice(b",\"identities\":");
    match row.identities {
        Some(_) => stored(&row.identities_with_proof(), out),
        None => out.extend_from_slice(b"[]"),
    }
    write!(out, ",\"identityVerified\":{}", row.identity_verified)?;
    match row.respondent_id {
        Some(id) => write!(out, ",\"respondentId\":\"{id}\"")?,
        None => out.extend_from_slice(b",\"respondentId\":null"),
    }
    out.extend_from_slice(b",\"metadata\":{\"tags\":");
    stored(row.tags.as_deref().unwrap_or("{}"), out);
    out.extend_from_slice(b"},\"context\":");
    stored(row.context.as_deref().unwrap_or("{}"), out);
    out.extend_from_slice(b",\"flowAssignmentId\":");
    serde_json::to_writer(&mut *out, &row.flow_assignment_id)?;
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// JSON as it is stored. A line feed in it can only stand between its parts, where a space does as well.
fn stored(json: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    if json.contains(['\n', '\r']) {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}
