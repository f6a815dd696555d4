//! Starts an export: its content, the number of its rows, and its slot among the running ones.

use std::sync::Arc;

use sluice_store::{Order, ResponseQuery, Scope};

use super::chosen::ChosenColumns;
use super::columns::has_fixed;
use super::since::narrowed;
use super::span::LogSpan;
use super::{Export, ExportAs, ExportFormat, Progress, file_name, no_columns, pipe, too_many_rows};
use crate::admin::AdminResult;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::handle::FlowHandle;
use crate::question_history;
use crate::read_end::read_end;
use crate::response_table::counted;
use crate::responses::{Paging, ResponseFilter, response_query};

/// Rows of one page from the store.
const PAGE_ROWS: usize = 1_000;

impl FlowHandle {
    /// Starts an export of the responses that pass the filter, oldest first, and records it in the
    /// audit log.
    #[boxed]
    pub async fn export(
        &self,
        exported_as: ExportAs,
        filter: &ResponseFilter,
    ) -> AdminResult<Export> {
        self.begin_export(exported_as, filter, None).await
    }

    /// Starts an export of everything, or of one part of the log.
    pub(super) async fn begin_export(
        &self,
        ExportAs { format, values, columns, after }: ExportAs,
        whole: &ResponseFilter,
        span: Option<LogSpan>,
    ) -> AdminResult<Export> {
        let core = self.permit.core(Scope::Export)?;
        let slot = core.exports.take_slot(self.app_id())?;
        let paging = Paging { after, order: Order::Asc, limit: PAGE_ROWS };
        let now = core.now();
        let filter = match &span {
            Some(span) => narrowed(span, whole),
            None => {
                let end = read_end(&*core.store, self.app_id(), self.flow_id(), now).await?;
                let to = Some(whole.to.map_or(end, |to| to.min(end)));
                ResponseFilter { to, ..whole.clone() }
            }
        };
        let asked =
            question_history::read(&*core.store, &core.definitions, self.app_id(), self.flow_id())
                .await?;
        for (version, _) in &asked.unreadable {
            tracing::warn!(%version, "an export names the answers to a version by ids: its definition cannot be read");
        }
        let chosen = columns
            .map(|names| match format.has_columns {
                true => ChosenColumns::read(&names, &asked, has_fixed),
                false => Err(no_columns(format)),
            })
            .transpose()?;
        let query = response_query(core, self, &filter, paging, Some(&asked)).await?;
        let mut total = expected(core, format, &query).await?;
        match &span {
            None => {
                self.permit.record_export(AuditAction::ResponsesExported, self.flow_id()).await?
            }
            Some(span) if span.is_empty(&*core.store, &query).await? => total = Some(0),
            Some(_) => {
                // Late responses are not counted.
                total = None;
                self.record_export_since(core).await?;
            }
        }
        let next = span.as_ref().map(|span| span.until);
        let span = span.map(|span| span.read_with(&query, (whole.from, whole.to)));
        let progress = Arc::new(Progress { total, ..Progress::default() });
        let source = pipe::Source {
            store: Arc::clone(&core.store),
            exports: Arc::clone(&core.exports),
            query,
            span,
            asked,
            values,
            chosen,
            now,
        };
        let chunks = pipe::start(source, format, Arc::clone(&progress), slot);
        let file_name = file_name(&self.flow.name, "", now, format);
        Ok(Export { format, file_name, progress, next, chunks })
    }
}

/// The number of rows, if it is known or quickly counted. For a format with a limit, counts rows up
/// to that limit.
async fn expected(
    core: &Core,
    format: &ExportFormat,
    query: &ResponseQuery,
) -> AdminResult<Option<u64>> {
    let too_many = |rows: u64| format.rows_max.filter(|max| rows > *max);
    if query.after.is_none()
        && let Some(rows) = counted(core, query).await?
    {
        return match too_many(rows) {
            Some(max) => Err(too_many_rows(format, max)),
            None => Ok(Some(rows)),
        };
    }
    let mut query = query.clone();
    let mut rows = 0;
    loop {
        let part = core.store.count_responses(&query).await?;
        rows += part.responses;
        if let Some(max) = too_many(rows) {
            return Err(too_many_rows(format, max));
        }
        match part.next {
            None => return Ok(Some(rows)),
            next if format.rows_max.is_some() => query.after = next,
            Some(_) => return Ok(None),
        }
    }
}
