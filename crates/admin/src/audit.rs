//! The audit log: who changed what, and when.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sluice_engine::rows::AuditRow;
use sluice_engine::{AdminResult, Engine};
use sluice_flow::id::{AppId, AuditId};
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{Limit, List, cursor, limit_schema};
use super::reply::{self, CommonErrors, Problem, QueryErrors, Reply};
use super::request::Query;
use super::schema::stored;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(list))
}

/// Which entries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the previous page.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = Option<String>)]
    after: Option<AuditId>,
    /// Only those of this app.
    #[param(value_type = Option<String>)]
    app_id: Option<AppId>,
}

/// One change, and who made it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "auditId": "au_01KA2VgdPrWYDVgYy3wLpF", "at": "2026-11-15T02:00:00.000Z",
    "appId": "app_01KA2VgdPrWYDVgYy3wLpA", "actor": "tk_01KA2VgdPrWYDVgYy3wLpE",
    "action": "flow.published", "subject": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "detail": {"number": 2, "flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC"}
}))]
struct AuditEntry {
    #[schema(value_type = String)]
    audit_id: AuditId,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Null for entries of the whole instance.
    #[schema(value_type = Option<String>, required = true)]
    app_id: Option<AppId>,
    /// The `tokenId`, or a name for anything but a stored token, such as `environment`.
    actor: String,
    /// A name such as `flow.published`.
    action: String,
    /// The id of what was changed.
    subject: String,
    /// Details of the change.
    #[schema(value_type = Object)]
    detail: Box<RawValue>,
}

impl AuditEntry {
    fn from_row(row: AuditRow) -> AdminResult<Self> {
        Ok(Self {
            audit_id: row.audit_id,
            at: row.audit_id.made_at(),
            app_id: row.app_id,
            actor: row.actor,
            action: row.action,
            subject: row.subject,
            detail: stored(row.detail)?,
        })
    }
}

/// Read the audit log
///
/// Newest first. A token bound to one app sees that app's entries only.
#[utoipa::path(
    get, path = "/audit", operation_id = "listAudit", tag = "Audit",
    security(("adminToken" = ["admin"])),
    params(AuditQuery),
    responses(
        (status = 200, description = "A page of entries", body = List<AuditEntry>),
        (status = 404, description = "`app_not_found`: the token is bound to another app", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<AuditQuery>,
) -> Reply {
    let rows = engine.list_audit(&actor, query.app_id, query.after, query.limit.and_one()).await?;
    let entries = rows.into_iter().map(AuditEntry::from_row).collect::<AdminResult<Vec<_>>>()?;
    reply::ok(List::new(entries, query.limit, |entry: &AuditEntry| entry.audit_id.to_string()))
}
