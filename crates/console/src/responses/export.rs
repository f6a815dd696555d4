//! Exports all responses that match a query as a file, and reports its progress.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use http::HeaderMap;
use maud::{Markup, html};
use serde_json::json;
use sluice_engine::export::{ExportAs, ExportFormat, FORMATS, Progress, ValuesAs};
use sluice_engine::response_columns;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use sluice_http::download;

use super::query::{RECEIVED, ResponsesQuery};
use super::table::TableColumns;
use crate::Console;
use crate::origin;
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{PathParam, Query};
use crate::session::{BackgroundVisitor, Visitor};

/// The most downloads whose progress is tracked, per process.
const REMEMBERED_MAX: usize = 64;
/// The longest id that a page gives its download, in bytes.
const DOWNLOAD_ID_BYTES_MAX: usize = 64;

/// The named downloads of this process.
#[derive(Debug, Default)]
pub(in super::super) struct Downloads(Mutex<VecDeque<Download>>);

#[derive(Debug)]
struct Download {
    /// The user who started it; only they can see its progress.
    who: String,
    name: String,
    progress: Arc<Progress>,
}

impl Downloads {
    fn remember(&self, download: Download) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED_MAX {
            all.pop_front();
        }
        all.push_back(download);
    }

    fn find(&self, who: &str, name: &str) -> Option<Arc<Progress>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = all.iter().rev().filter(|it| it.who == who && it.name == name);
        own.next().map(|it| Arc::clone(&it.progress))
    }
}

pub(super) fn button() -> Markup {
    html! { a.button href="#export" data-opens="export" { "Export" } }
}

/// The dialog. Without a script it is open at the end of the page, and the button links to it.
pub(super) fn dialog(flow: FlowId, query: &ResponsesQuery, columns: &TableColumns<'_>) -> Markup {
    html! {
        dialog.export-dialog id="export" open aria-labelledby="export-title" {
            form.form method="get" action={ "/console/flows/" (flow) "/responses/export" } data-export {
                h2 id="export-title" { "Export responses" }
                p.muted {
                    @if query.is_filtered() { "Only responses that match the filters above, from all pages, oldest first." }
                    @else { "All responses to all versions, oldest first." }
                }
                @for (name, value) in query.filter_pairs() { input type="hidden" name=(name) value=(value); }
                fieldset {
                    legend.label { "Format" }
                    @for (at, format) in FORMATS.iter().enumerate() {
                        label.check {
                            input type="radio" name="format" value=(format.name) checked[at == 0];
                            span { (format.label) " " span.muted { (format.summary) } }
                        }
                    }
                }
                (values())
                (self::columns(columns))
                div data-progress hidden {
                    progress.bar aria-label="Export progress" {}
                    p.hint data-progress-words role="status" {}
                }
                p.hint {
                    a href={ "/console/flows/" (flow) "/responses/codebook" } download { "Download the codebook" }
                    ": the IDs and labels of all questions and options, by version (CSV)"
                }
                div.buttons {
                    button.button.primary type="submit" { "Download" }
                    button.button type="button" data-closes data-scripted hidden { "Close" }
                }
            }
        }
    }
}

/// All columns, or those of the table in its order.
fn columns(shown: &TableColumns<'_>) -> Markup {
    let without: Vec<_> =
        FORMATS.iter().filter(|it| !it.has_columns()).map(|it| it.label).collect();
    html! {
        fieldset {
            legend.label { "Columns" }
            label.check {
                input type="radio" name="columns" value="" checked;
                span { "All " span.muted { "everything that is stored" } }
            }
            label.check {
                input type="radio" name="columns" value=(response_columns::joined([RECEIVED].iter().chain(&shown.columns)));
                span {
                    "The columns of the table, in the same order"
                    @if !without.is_empty() { " " span.muted { "not in " (without.join(" and ")) } }
                }
            }
        }
    }
}

/// Ids or labels. The default depends on the format, which only a script could show.
fn values() -> Markup {
    let labelled = FORMATS.iter().filter(|format| format.values_as == ValuesAs::Labels);
    let labelled: Vec<&str> = labelled.map(|format| format.label).collect();
    let default = match labelled.is_empty() {
        true => "IDs".to_owned(),
        false => format!("labels in {}, IDs in other formats", labelled.join(" and ")),
    };
    html! {
        fieldset {
            legend.label { "Questions and options" }
            label.check {
                input type="radio" name="values" value="" checked;
                span { "Default " span.muted { (default) } }
            }
            label.check {
                input type="radio" name="values" value=(ValuesAs::Labels.as_str());
                span { "Labels " span.muted { "as respondents read them" } }
            }
            label.check {
                input type="radio" name="values" value=(ValuesAs::Ids.as_str());
                span { "IDs " span.muted { "the same in every version" } }
            }
        }
    }
}

/// The questions and options of every version, as a file.
pub(super) async fn codebook(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let flow = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    Ok(reply::sent_file(download::response(flow.codebook().await?)))
}

pub(super) async fn download(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
    headers: HeaderMap,
) -> Reply {
    // The audit log records it, and the number of concurrent exports is limited.
    if origin::is_sent_by_others(&headers) {
        return Err(Refused::ForeignOrigin);
    }
    let format = fields.get("format").and_then(ExportFormat::named).ok_or(Refused::NoSuchPage)?;
    let values = fields.get("values").and_then(ValuesAs::named).unwrap_or(format.values_as);
    let filter = ResponsesQuery::from_fields(&fields).filter();
    // A format without columns has everything.
    let columns = Some(fields.raw("columns"));
    let columns = columns.filter(|list| !list.is_empty() && format.has_columns());
    let columns = columns.map(response_columns::split);
    let exported_as = ExportAs { format, values, columns, after: None };
    let export = console
        .engine
        .flow(&visitor.actor, Scope::Export, flow)
        .await?
        .export(exported_as, &filter)
        .await?;
    if let Some(name) = fields.get("id").filter(|name| name.len() <= DOWNLOAD_ID_BYTES_MAX) {
        let (who, name) = (visitor.actor.name.clone(), name.to_owned());
        let progress = Arc::clone(&export.progress);
        console.downloads.remember(Download { who, name, progress });
    }
    Ok(reply::sent_file(download::response(export)))
}

pub(super) async fn progress(
    State(console): State<Arc<Console>>,
    BackgroundVisitor(visitor): BackgroundVisitor,
    Path(name): Path<String>,
) -> Reply {
    let progress = console.downloads.find(&visitor.actor.name, &name).ok_or(Refused::NoSuchPage)?;
    let reply_body = json!({
        "rows": progress.rows(), "total": progress.total, "ended": progress.has_ended(),
        // While it runs, the body stream holds a third reference, besides the list and this
        // function.
        "running": Arc::strong_count(&progress) > 2,
    });
    Ok(reply::json(Kind::Shown, &reply_body))
}
