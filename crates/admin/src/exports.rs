//! All responses of a flow as a file.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Deserializer};
use sluice_engine::export::{ExportAs, ExportFormat, ValuesAs};
use sluice_engine::rows::Scope;
use sluice_engine::{Engine, ResponseFilter, response_columns};
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{FilterParams, FilteredQuery, PathParam};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(export)).routes(routes!(codebook))
}

/// Which responses, and in which format.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    #[param(schema_with = schema::export_format, required = true)]
    #[serde(deserialize_with = "format")]
    format: &'static ExportFormat,
    #[param(schema_with = schema::export_values, required = false)]
    #[serde(default, deserialize_with = "values")]
    values: Option<ValuesAs>,
    /// Only these columns, in this order, separated by commas: names as in the file with IDs, but
    /// `answer.QUESTION` for a question, and `tags` for all tags that are not named. `,` and `\` in
    /// a name are escaped with `\`. Without it, all columns.
    #[serde(default, deserialize_with = "columns")]
    #[param(value_type = Option<String>)]
    columns: Option<Vec<String>>,
    /// Only what is new: the cursor that the previous export returned in `X-Next-Cursor`, a time
    /// (RFC 3339; any early time to begin). Or a `responseId`: only those with a later ID.
    #[param(value_type = Option<String>)]
    after: Option<After>,
    /// Only those to this `flowVersionId`.
    #[param(value_type = Option<String>)]
    version: Option<FlowVersionId>,
    /// Only those received at this time or later (RFC 3339; encode `+` as `%2B`).
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Only those received before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
    /// Only those with this decision of the respondent.
    #[param(schema_with = schema::admission, required = false)]
    admission: Option<Admission>,
    /// Only those whose texts contain all of these words, ignoring case.
    search: Option<String>,
}

/// Where an export starts.
#[derive(Debug)]
enum After {
    Cursor(Timestamp),
    Response(ResponseId),
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let response = text.parse().map(Self::Response).ok();
        response.or_else(|| text.parse().map(Self::Cursor).ok()).ok_or_else(|| {
            serde::de::Error::custom("must be the cursor of an export, or a responseId")
        })
    }
}

fn format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static ExportFormat, D::Error> {
    let name = String::deserialize(deserializer)?;
    ExportFormat::named(&name).ok_or_else(|| {
        let names = ExportFormat::names().join(", ");
        serde::de::Error::custom(format!("must be one of {names}"))
    })
}

fn values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ValuesAs>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let error = || serde::de::Error::custom("must be ids or labels");
    ValuesAs::named(&name).ok_or_else(error).map(Some)
}

fn columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    String::deserialize(deserializer).map(|list| Some(response_columns::split(&list)))
}

/// Export the responses of a flow
///
/// Over all its versions, oldest first, streamed as it is generated. The filters are those of the
/// list. `X-Total-Count` is the number of responses, if it is known. A reply that is cut off is
/// incomplete: request it again. The audit log records the export.
///
/// With a cursor in `after` the file has only the responses that became readable since, each in
/// exactly one export of a chain: `X-Next-Cursor` is the cursor for the next one, and so is the
/// last line of JSON Lines, `{"next":"…"}`. With `to` a part ends there at the latest.
/// `X-Total-Count: 0` means that there is nothing new.
#[utoipa::path(
    get, path = "/flows/{flowId}/export", operation_id = "exportResponses", tag = "Responses",
    security(("adminToken" = ["export"])),
    params(ExportQuery, FilterParams),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>,
            headers(("X-Next-Cursor" = String, description = "With a cursor in `after`: the next cursor"))),
        (status = 409, description = "`too_many_exports`: several are under way", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn export(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    FilteredQuery { query, tags, answers }: FilteredQuery<ExportQuery>,
) -> Reply {
    let values = query.values.unwrap_or(query.format.values_as);
    let (after, since) = match query.after {
        None => (None, None),
        Some(After::Response(id)) => (Some(id), None),
        Some(After::Cursor(since)) => (None, Some(since)),
    };
    let exported_as = ExportAs { format: query.format, values, columns: query.columns, after };
    let filter = ResponseFilter {
        version: query.version,
        from: query.from,
        to: query.to,
        admission: query.admission,
        tags,
        answers,
        search: query.search,
    };
    let flow = engine.flow(&actor, Scope::Export, flow).await?;
    reply::file(match since {
        Some(since) => flow.export_since(exported_as, &filter, since).await?,
        None => flow.export(exported_as, &filter).await?,
    })
}

/// Read the codebook of a flow
///
/// A CSV file with every question and option of every published version: their ids, and their texts
/// in the flow's own language. It explains an export with ids.
#[utoipa::path(
    get, path = "/flows/{flowId}/export/codebook", operation_id = "getCodebook", tag = "Responses",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The file", content_type = "text/csv", body = String),
        (status = 409, description = "`too_many_exports`: several are under way", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn codebook(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    reply::file(engine.flow(&actor, Scope::Read, flow).await?.codebook().await?)
}
