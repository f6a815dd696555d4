//! Finds removals of responses in the audit log.

use std::collections::BTreeSet;

use sluice_flow::id::{AppId, AuditId};
use sluice_flow::time::Timestamp;
use sluice_store::{AuditQuery, Store, StoreResult};

use crate::audit_action::AuditAction;

/// Entries of one page, and the most pages that are read.
const PAGE_ROWS: usize = 200;
const PAGES_MAX: usize = 10;

/// The entries about removals in an app since a time; `None` if there are too many entries to tell.
pub(super) async fn since(
    store: &dyn Store,
    app: AppId,
    since: Timestamp,
) -> StoreResult<Option<BTreeSet<AuditId>>> {
    let mut removals = BTreeSet::new();
    let mut query = AuditQuery { app_id: Some(app), after: None, limit: PAGE_ROWS };
    for _ in 0..PAGES_MAX {
        let rows = store.list_audit(&query).await?;
        let is_last = rows.len() < PAGE_ROWS;
        query.after = rows.last().map(|row| row.audit_id);
        for row in rows {
            if row.audit_id.made_at() < since {
                return Ok(Some(removals));
            }
            if is_removal(&row.action) {
                removals.insert(row.audit_id);
            }
        }
        if is_last {
            return Ok(Some(removals));
        }
    }
    Ok(None)
}

fn is_removal(action: &str) -> bool {
    matches!(
        AuditAction::from_name(action),
        Some(
            AuditAction::ResponseDeleted
                | AuditAction::RespondentErased
                | AuditAction::InviteeErased
                | AuditAction::RetentionEnforced
        )
    )
}
