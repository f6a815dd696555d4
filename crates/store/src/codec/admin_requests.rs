//! The reader of requests with an idempotency key.

use super::cells::ReadCells;
use crate::AdminRequestRow;

/// The reply is last because it is long: the columns before it are read without loading it.
pub(crate) const ADMIN_REQUEST: &str =
    "request_id, holder, fingerprint, claim, claimed_at, applied_at, expires_at, reply";

pub(crate) fn admin_request<C: ReadCells>(cells: &mut C) -> Result<AdminRequestRow, C::Error> {
    Ok(AdminRequestRow {
        request_id: cells.uuid()?,
        holder: cells.text()?,
        fingerprint: cells.hash()?,
        claim: cells.uuid()?,
        claimed_at: cells.time()?,
        applied_at: cells.optional_time()?,
        expires_at: cells.time()?,
        reply: cells.optional_bytes()?,
    })
}
