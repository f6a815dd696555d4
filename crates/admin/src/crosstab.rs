//! The answers to two questions together.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::rows::Scope;
use sluice_engine::summary::crosstab;
use sluice_engine::summary::significance::{self, P_MAX};
use sluice_engine::{Engine, Results, SummaryFilter};
use sluice_flow::crosstab::CrosstabSide;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::submission::Admission;
use sluice_flow::time::{Day, Timestamp};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{FilterParams, FilteredQuery, PathParam};
use super::schema;
use super::summary::Computing;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get))
}

/// Which questions, and which responses.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CrosstabQuery {
    /// The id of a question; of a matrix, `QUESTION:ROW`.
    #[param(example = "plan")]
    rows: String,
    /// The id of another question, or `QUESTION:ROW`.
    #[param(example = "nps")]
    columns: String,
    /// Only responses received on this day (UTC) or later.
    #[param(value_type = Option<String>, format = Date)]
    from: Option<Day>,
    /// Only those received on this day or before.
    #[param(value_type = Option<String>, format = Date)]
    to: Option<Day>,
    /// Only those to this `flowVersionId`.
    #[param(value_type = Option<String>)]
    version: Option<FlowVersionId>,
    /// Only those with this decision of the respondent.
    #[param(schema_with = schema::admission, required = false)]
    admission: Option<Admission>,
}

/// How often the answers to two questions occur together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "rows": {"id": "plan", "row": null, "type": "singleChoice", "prompt": "Which plan?", "several": false,
        "groups": [{"id": "free", "label": "Free", "responses": 60}, {"id": "pro", "label": "Pro", "responses": 40}]},
    "columns": {"id": "again", "row": null, "type": "yesNo", "prompt": "Would you come again?", "several": false,
        "groups": [{"id": "yes", "label": "Yes", "responses": 70}, {"id": "no", "label": "No", "responses": 30}]},
    "cells": [[36, 24], [34, 6]], "both": 100, "onlyRows": 4, "onlyColumns": 0, "neither": 1, "counted": 100, "partial": false,
    "significance": {"outcome": "unlikelyChance", "chiSquare": 7.14, "degrees": 1, "p": 0.0075},
    "asOf": "2026-11-15T02:00:00.000Z"
}))]
struct Crosstab {
    rows: Side,
    columns: Side,
    /// The responses in each row's group, by the groups of `columns`.
    cells: Vec<Vec<u64>>,
    /// Responses that answer both questions. With the next three, these are all responses.
    both: u64,
    only_rows: u64,
    only_columns: u64,
    neither: u64,
    /// The responses in the groups and cells: those that answer both questions. If one of them is a
    /// text, those without a text are a group, too.
    counted: u64,
    /// There are so many different answers that some are in no cell.
    partial: bool,
    significance: Significance,
    /// When reading began: all responses that were stored by then are counted.
    #[schema(value_type = String, format = DateTime)]
    as_of: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
struct Side {
    id: String,
    /// The row of a matrix.
    #[schema(required = true)]
    row: Option<MatrixRow>,
    r#type: &'static str,
    prompt: String,
    /// A response may be in several groups.
    several: bool,
    groups: Vec<Group>,
}

#[derive(Debug, Serialize, ToSchema)]
struct MatrixRow {
    id: String,
    label: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct Group {
    id: String,
    label: String,
    responses: u64,
}

/// Whether differences between the groups could be chance: a chi-square test of independence.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Significance {
    /// `notTested` if a response may be in several groups, the table is partial or there is nothing
    /// to compare, `tooFew` if there are too few answers, `couldBeChance`, or `unlikelyChance` if
    /// `p` is below 0.05.
    #[schema(value_type = String)]
    outcome: &'static str,
    #[schema(required = true)]
    chi_square: Option<f64>,
    #[schema(required = true)]
    degrees: Option<u32>,
    #[schema(required = true)]
    p: Option<f64>,
}

impl Crosstab {
    fn from_crosstab(table: crosstab::Crosstab) -> Self {
        Self {
            rows: Side::from_question(table.rows),
            columns: Side::from_question(table.columns),
            cells: table.cells,
            both: table.both,
            only_rows: table.only_rows,
            only_columns: table.only_columns,
            neither: table.neither,
            counted: table.counted,
            partial: table.partial,
            significance: Significance::from_test(table.significance),
            as_of: table.as_of,
        }
    }
}

impl Side {
    fn from_question(question: crosstab::CrosstabQuestion) -> Self {
        let group = |it: crosstab::CrosstabGroup| Group {
            id: it.id,
            label: it.label,
            responses: it.responses,
        };
        Self {
            id: question.id,
            row: question.row.map(|(id, label)| MatrixRow { id, label }),
            r#type: question.question_type,
            prompt: question.prompt,
            several: question.several,
            groups: question.groups.into_iter().map(group).collect(),
        }
    }
}

impl Significance {
    fn from_test(test: significance::Significance) -> Self {
        let untested = |outcome| Self { outcome, chi_square: None, degrees: None, p: None };
        match test {
            significance::Significance::NotTested => untested("notTested"),
            significance::Significance::TooFew => untested("tooFew"),
            significance::Significance::Tested { chi_square, degrees, p } => Self {
                outcome: if p < P_MAX { "unlikelyChance" } else { "couldBeChance" },
                chi_square: Some(chi_square),
                degrees: Some(degrees),
                p: Some(p),
            },
        }
    }
}

/// Cross-tabulate two questions
///
/// How often their answers occur together, over all versions that ask both. The groups are the
/// options, the points of a rating, promoters, passives and detractors, the option that is ranked
/// first, ranges of numbers and months, or whether a text was answered. The filters are those of
/// the summary. The responses are read in the background: until that has ended, the reply is 202
/// with the progress.
#[utoipa::path(
    get, path = "/flows/{flowId}/crosstab", operation_id = "getCrosstab", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(CrosstabQuery, FilterParams),
    responses(
        (status = 200, description = "The table", body = Crosstab),
        (status = 202, description = "It is being computed", body = Computing),
        (status = 409, description = "`too_many_answers`: choose fewer days; `too_many_computations`: several are under way", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    FilteredQuery { query, tags, answers }: FilteredQuery<CrosstabQuery>,
) -> Reply {
    let CrosstabQuery { rows, columns, from, to, version, admission } = query;
    let versions = version.into_iter().collect();
    let filter = SummaryFilter { from, to, versions, tags, admission, answers };
    let (rows, columns) = (CrosstabSide::parse(&rows), CrosstabSide::parse(&columns));
    let flow = engine.flow(&actor, Scope::Read, flow).await?;
    match flow.crosstab(&rows, &columns, &filter).await? {
        Results::Ready(table) => reply::ok(Crosstab::from_crosstab(table)),
        Results::Computing(progress) => reply::computing(Computing::from_progress(progress)),
    }
}
