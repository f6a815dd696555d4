//! Exports of what is new since an earlier one, for pipelines: each response once, none missed.
//!
//! A response takes its place in the log of its app: at its own id, or, if it was stored behind
//! readers, at the event that announces it again ([`sluice_store::LATE`]). An export reads the part
//! of the log from one instant to another, which no write that is still to come can enter; the next
//! one starts where it ended. Which part a response belongs to depends only on what is stored, so a
//! client may repeat a part. If the clock was set back, a part before the clock is repeated, and
//! nothing is missed.

use sluice_flow::id::ResponseId;
use sluice_flow::time::{HOUR_MILLIS, Timestamp};
use sluice_store::{AuditQuery, LogEntry, LogQuery, Order, Scope};

use super::span::LogSpan;
use super::{Export, ExportAs};
use crate::admin::AdminResult;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::events::{AHEAD_SECONDS, BACK_SECONDS, PAGE_BYTES_MAX, position_at};
use crate::handle::FlowHandle;
use crate::responses::ResponseFilter;

/// Events of one page while late responses are searched.
const PAGE_EVENTS: usize = 1_000;
/// Exports of new responses by one actor within this time share one entry in the audit log.
const ONE_ENTRY_MILLIS: i64 = HOUR_MILLIS;
/// The number of the app's latest audit entries that are searched for such an entry.
const AUDIT_ENTRIES_SEARCHED: usize = 20;

impl FlowHandle {
    /// Starts an export of the responses that are new since an instant, oldest first;
    /// [`Export::next`] is the instant for the next one. A filter by time limits the part.
    #[boxed]
    pub async fn export_since(
        &self,
        exported_as: ExportAs,
        filter: &ResponseFilter,
        since: Timestamp,
    ) -> AdminResult<Export> {
        let core = self.permit.core(Scope::Export)?;
        let span = self.span(core, since, filter.to).await?;
        self.begin_export(exported_as, filter, Some(span)).await
    }

    /// The part of the log from an instant on that can be read now, not beyond `to`.
    async fn span(
        &self,
        core: &Core,
        since: Timestamp,
        to: Option<Timestamp>,
    ) -> AdminResult<LogSpan> {
        let now = core.now();
        let since = if since > now.plus_seconds(AHEAD_SECONDS) {
            now.plus_seconds(-BACK_SECONDS)
        } else {
            since.max(Timestamp::from_millis(0))
        };
        let mut query = LogQuery {
            app_id: self.app_id(),
            flow_id: Some(self.flow_id()),
            responses: false,
            after: position_at(since),
            before: None,
            order: Order::Asc,
            now,
            limit: PAGE_EVENTS,
            bytes_max: PAGE_BYTES_MAX,
        };
        let mut announced: Vec<(Timestamp, ResponseId)> = Vec::new();
        loop {
            let page = core.store.read_log(&query).await?;
            announced.extend(page.entries.iter().filter_map(|entry| match entry {
                LogEntry::Event(row) => Some((row.event_id.made_at(), row.late_response()?)),
                LogEntry::Response(_) => None,
            }));
            query.after = page.next;
            if !page.has_more {
                break;
            }
        }
        let until = query.after.made_at();
        let until = to.map_or(until, |to| until.min(to)).max(since);
        announced.retain(|(at, response)| *at < until && response.made_at() < since);
        let late = announced.into_iter().map(|(_, response)| response).collect();
        Ok(LogSpan { since, until, late })
    }

    /// Records an export of new responses, unless the last entry about it is recent: a pipeline
    /// asks every few seconds.
    pub(super) async fn record_export_since(&self, core: &Core) -> AdminResult<()> {
        let action = AuditAction::ResponsesExported;
        let app_id = Some(self.app_id());
        let query = AuditQuery { app_id, after: None, limit: AUDIT_ENTRIES_SEARCHED };
        let subject = self.flow_id().to_string();
        let recent = core.store.list_audit(&query).await?.into_iter().any(|row| {
            let age = core.now().as_millis() - row.audit_id.made_at().as_millis();
            row.action == action.as_str()
                && row.subject == subject
                && row.actor == self.permit.actor().name
                && age < ONE_ENTRY_MILLIS
        });
        if recent { Ok(()) } else { self.permit.record_export(action, self.flow_id()).await }
    }
}

/// The filter for the responses of a part at their own ids.
pub(super) fn narrowed(span: &LogSpan, filter: &ResponseFilter) -> ResponseFilter {
    let from = filter.from.map_or(span.since, |from| from.max(span.since));
    ResponseFilter { from: Some(from), to: Some(span.until), ..filter.clone() }
}
