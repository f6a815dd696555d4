//! Reports: results of a flow that anyone with the link can read.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::rows::Scope;
use sluice_engine::{Engine, Secret};
use sluice_flow::id::{FlowId, ReportId};
use sluice_flow::time::Timestamp;
use sluice_http::query;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, NoBody, PathParam, Query};
use super::schema::{self, given};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(create, list))
        .routes(routes!(get, update, revoke))
        .routes(routes!(replace_link))
}

/// A new report.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({
    "title": "Product feedback, November", "questions": ["nps", "why"],
    "filters": "period=30d&tag.plan=pro", "showTexts": false,
    "password": null, "expiresAt": "2027-01-01T00:00:00.000Z"
}))]
struct NewReport {
    /// 1 to 200 characters.
    title: String,
    /// The ids of the questions to show; no other is shown.
    questions: Vec<String>,
    /// The filters, as in the address of the results page in the console: `period` (`7d`, `30d` or
    /// `90d`) or `from` and `to`, `version`, `admission`, one `tag.NAME`, `answer.QUESTION` with
    /// its operators, and `compare` (`version`, `period` or `tag.NAME`).
    #[serde(default)]
    filters: String,
    /// Whether readers see free-text answers and their most frequent words. E-mail addresses,
    /// telephone numbers and URLs are never shown.
    #[serde(default)]
    show_texts: bool,
    /// Readers must enter it, 10 to 200 characters; without it, or null, the link is enough.
    #[serde(default)]
    #[schema(required = false)]
    password: Option<String>,
    /// When the link ends; without it, or null, never.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime, required = false)]
    expires_at: Option<Timestamp>,
}

/// Changes to a report; absent fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"expiresAt": "2027-02-01T00:00:00.000Z"}))]
struct ReportPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    title: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    questions: Option<Vec<String>>,
    /// Replaces all filters.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    filters: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    show_texts: Option<bool>,
    /// A new password; null for none. Readers who have entered the old one are asked again.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, required = false)]
    password: Option<Option<String>>,
    /// Null for no expiry.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = DateTime, required = false)]
    expires_at: Option<Option<Timestamp>>,
}

/// A report, without its link.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "reportId": "rep_01KA2VgdPrWYDVgYy3wLpF", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "title": "Product feedback, November", "questions": ["nps", "why"],
    "filters": "period=30d&tag.plan=pro", "showTexts": false, "hasPassword": false,
    "state": "active", "createdBy": "us_01KA2VgdPrWYDVgYy3wLpG",
    "createdAt": "2026-11-15T02:00:00.000Z", "expiresAt": "2027-01-01T00:00:00.000Z",
    "revokedAt": null
}))]
struct Report {
    #[schema(value_type = String)]
    report_id: ReportId,
    #[schema(value_type = String)]
    flow_id: FlowId,
    title: String,
    questions: Vec<String>,
    filters: String,
    show_texts: bool,
    has_password: bool,
    #[schema(schema_with = schema::report_state)]
    state: &'static str,
    /// The user or token that created it.
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    expires_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    revoked_at: Option<Timestamp>,
}

/// A report with its new link.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "reportId": "rep_01KA2VgdPrWYDVgYy3wLpF", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "title": "Product feedback, November", "questions": ["nps", "why"],
    "filters": "period=30d&tag.plan=pro", "showTexts": false, "hasPassword": false,
    "state": "active", "createdBy": "us_01KA2VgdPrWYDVgYy3wLpG",
    "createdAt": "2026-11-15T02:00:00.000Z", "expiresAt": null, "revokedAt": null,
    "link": "https://feedback.example.com/r/…"
}))]
struct ReportWithLink {
    #[serde(flatten)]
    report: Report,
    /// The link: shown now and never again.
    link: String,
}

impl From<sluice_engine::Report> for Report {
    fn from(report: sluice_engine::Report) -> Self {
        Self {
            report_id: report.report_id,
            flow_id: report.flow_id,
            title: report.title,
            questions: report.questions,
            filters: query::text(&report.filters),
            show_texts: report.shows_texts,
            has_password: report.has_password,
            state: report.state.as_str(),
            created_by: report.created_by,
            created_at: report.created_at,
            expires_at: report.expires_at,
            revoked_at: report.revoked_at,
        }
    }
}

impl ReportWithLink {
    fn new((report, link): (sluice_engine::Report, Secret)) -> Self {
        Self { report: report.into(), link: link.0 }
    }
}

/// The filters in a text such as `period=30d&tag.plan=pro`.
fn filters(text: &str) -> Vec<(String, String)> {
    let pairs = query::pairs(text.trim_start_matches('?'));
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// Share a report
///
/// Anyone with the link can read the results of the chosen questions, with these filters, until
/// the report expires or is revoked. It shows the current results whenever it is opened. The link
/// is in the reply, once; only a hash of its secret is stored.
#[utoipa::path(
    post, path = "/flows/{flowId}/reports", operation_id = "createReport", tag = "Reports",
    security(("adminToken" = ["export"])),
    request_body = NewReport,
    responses(
        (status = 201, description = "The report with its link", body = ReportWithLink),
        (status = 409, description = "`too_many_reports`: revoke one first", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Body(new): Body<NewReport>,
) -> Reply {
    let new = sluice_engine::NewReport {
        title: new.title,
        questions: new.questions,
        filters: filters(&new.filters),
        shows_texts: new.show_texts,
        password: new.password,
        expires_at: new.expires_at,
    };
    let made = engine.flow(&actor, Scope::Export, flow).await?.create_report(&new).await?;
    reply::created(ReportWithLink::new(made))
}

/// List the reports of a flow
///
/// Newest first, expired and revoked ones included: at most 100. Never their links.
#[utoipa::path(
    get, path = "/flows/{flowId}/reports", operation_id = "listReports", tag = "Reports",
    security(("adminToken" = ["read"])),
    params(PageQuery<ReportId>),
    responses(
        (status = 200, description = "A page of reports", body = List<Report>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query<PageQuery<ReportId>>,
) -> Reply {
    let reports = engine.flow(&actor, Scope::Read, flow).await?.list_reports().await?;
    let reports = reports.into_iter().map(Report::from).collect();
    let is_passed = |it: &Report| query.after.is_some_and(|after| it.report_id >= after);
    reply::ok(List::from_whole(reports, query.limit, is_passed, |it| it.report_id.to_string()))
}

/// Read a report
#[utoipa::path(
    get, path = "/flows/{flowId}/reports/{reportId}", operation_id = "getReport", tag = "Reports",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The report", body = Report),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
) -> Reply {
    reply::ok(Report::from(engine.flow(&actor, Scope::Read, flow).await?.get_report(report).await?))
}

/// Change a report
///
/// Its link stays the same.
#[utoipa::path(
    patch, path = "/flows/{flowId}/reports/{reportId}", operation_id = "updateReport", tag = "Reports",
    security(("adminToken" = ["export"])),
    request_body = ReportPatch,
    responses(
        (status = 200, description = "The changed report", body = Report),
        (status = 409, description = "`report_revoked`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn update(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
    Body(patch): Body<ReportPatch>,
) -> Reply {
    let patch = sluice_engine::ReportPatch {
        title: patch.title,
        questions: patch.questions,
        filters: patch.filters.as_deref().map(filters),
        shows_texts: patch.show_texts,
        password: patch.password,
        expires_at: patch.expires_at,
    };
    let flow = engine.flow(&actor, Scope::Export, flow).await?;
    reply::ok(Report::from(flow.change_report(report, &patch).await?))
}

/// Replace the link of a report
///
/// The previous link ends at once. The new one is in the reply, once.
#[utoipa::path(
    post, path = "/flows/{flowId}/reports/{reportId}/link", operation_id = "replaceReportLink", tag = "Reports",
    security(("adminToken" = ["export"])),
    responses(
        (status = 201, description = "The report with its new link", body = ReportWithLink),
        (status = 409, description = "`report_revoked`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn replace_link(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
    _: NoBody,
) -> Reply {
    let flow = engine.flow(&actor, Scope::Export, flow).await?;
    reply::created(ReportWithLink::new(flow.replace_report_link(report).await?))
}

/// Revoke a report
///
/// Its link ends at once, also for readers who have entered its password. Revoking it again changes
/// nothing.
#[utoipa::path(
    delete, path = "/flows/{flowId}/reports/{reportId}", operation_id = "revokeReport", tag = "Reports",
    security(("adminToken" = ["export"])),
    responses(
        (status = 204, description = "Revoked"),
        CommonErrors,
    ),
)]
async fn revoke(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
) -> Reply {
    engine.flow(&actor, Scope::Export, flow).await?.revoke_report(report).await?;
    reply::done()
}
