//! The results of a flow.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::rows::Scope;
use sluice_engine::summary::{self, AskedUntil, Step};
use sluice_engine::{Engine, ReadProgress, Results, SummaryFilter};
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

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get))
}

/// Which responses are counted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SummaryQuery {
    /// Only those received on this day (UTC) or later.
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

/// The results of a flow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "responses": 3, "admitted": 1, "step": "day", "days": [{"day": "2026-11-15", "responses": 3}],
    "versions": [{"flowVersionId": "fv_01KA2VgdPrWYDVgYy3wLpC", "number": 1,
        "publishedAt": "2026-11-15T02:00:00.000Z", "responses": 3}],
    "tags": [{"name": "plan", "values": [{"value": "pro", "responses": 2}], "others": 0}],
    "questions": [{"id": "again", "type": "yesNo", "prompt": "Would you come again?",
        "askedUntil": null, "wordedBefore": [], "answered": 2, "of": 3,
        "distribution": {"kind": "options", "other": 0, "several": false, "options": [
            {"id": "yes", "label": "Yes", "count": 2, "stillOffered": true},
            {"id": "no", "label": "No", "count": 0, "stillOffered": true}]},
        "overTime": [{"day": "2026-11-15", "answered": 2, "mean": null, "nps": null, "parts": [2, 0]}]}],
    "score": null, "partial": false, "counting": null, "asOf": null
}))]
struct Summary {
    responses: u64,
    /// Responses whose respondents agreed to be linked to them.
    admitted: u64,
    /// What an entry of `days` and `overTime` covers: `day`, or `week` (named by its Monday) if
    /// there are more than 200 days.
    #[schema(schema_with = schema::step)]
    step: &'static str,
    /// From the first day with a response to the last one, without gaps.
    days: Vec<DayCount>,
    /// All published versions, newest first, each with its responses, even if the query selects one
    /// version.
    versions: Vec<VersionCount>,
    /// The tags of the selected versions and days, even if the query selects a tag.
    tags: Vec<TagCount>,
    /// In the order of the newest version; questions that it no longer asks come last.
    questions: Vec<QuestionSummary>,
    /// The score of the responses to versions with scores; null if the selected versions have none.
    #[schema(required = true)]
    score: Option<ScoreSummary>,
    /// The query selects a tag, and some responses with it may be missing: on some day its value
    /// was not counted separately (see `others` of `tags`).
    partial: bool,
    /// Responses that are older than the counts, or were moved here, are being counted; null if
    /// there are none.
    #[schema(required = true)]
    counting: Option<Counting>,
    /// If the summary was computed from the responses: when reading began. All responses that were
    /// stored by then are counted. Null if it comes from counts, which are always current.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    as_of: Option<Timestamp>,
}

/// A result that is being computed from the responses.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"progress": {"read": 250_000, "of": 1_000_000}}))]
pub(super) struct Computing {
    progress: Progress,
}

/// How far it is, approximately: the responses that were read, of those in the period.
#[derive(Debug, Serialize, ToSchema)]
struct Progress {
    read: u64,
    of: u64,
}

impl Computing {
    pub(super) fn from_progress(ReadProgress { read, of }: ReadProgress) -> Self {
        Self { progress: Progress { read, of } }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct DayCount {
    #[schema(value_type = String, format = Date)]
    day: Day,
    responses: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct VersionCount {
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    number: u32,
    #[schema(value_type = String, format = DateTime)]
    published_at: Timestamp,
    responses: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct TagCount {
    name: String,
    /// The most frequent first.
    values: Vec<ValueCount>,
    /// Responses whose value is not counted separately: a day has too many values, or the value is
    /// too long.
    others: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct ValueCount {
    value: String,
    responses: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Counting {
    /// Responses received up to this time are counted; null if none are yet.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    counted_until: Option<Timestamp>,
}

/// One question over the versions that ask it. If its type or scale changes, it is listed as a
/// separate question.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct QuestionSummary {
    id: String,
    r#type: &'static str,
    /// As worded in the newest version that asks it.
    prompt: String,
    /// The number of the last version that asked it; null if the newest version asks it.
    #[schema(required = true)]
    asked_until: Option<u32>,
    /// Other wordings, the newest first.
    worded_before: Vec<Wording>,
    answered: u64,
    /// Responses to versions that ask it.
    of: u64,
    distribution: Distribution,
    /// The days, or weeks, on which it was answered.
    over_time: Vec<DayPicture>,
}

/// The sum of the scores of the answers, over the versions that have scores.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ScoreSummary {
    /// Responses to versions with scores.
    responses: u64,
    /// Of the kind `numbers`.
    distribution: Distribution,
    /// The days, or weeks, with such responses.
    over_time: Vec<DayPicture>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Wording {
    /// The number of the last version that had it.
    version: u32,
    prompt: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct DayPicture {
    #[schema(value_type = String, format = Date)]
    day: Day,
    answered: u64,
    /// Of a scale or of numbers.
    #[schema(required = true)]
    mean: Option<f64>,
    #[schema(required = true)]
    nps: Option<f64>,
    /// For options, each in order and then the others; for a scale, each point; otherwise empty.
    parts: Vec<u64>,
}

/// How the answers to a question are distributed, by its kind.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Distribution {
    /// `points` are from 0 to 10; `score` is from -100 to 100.
    Nps {
        points: Vec<u64>,
        promoters: u64,
        passives: u64,
        detractors: u64,
        score: Option<f64>,
    },
    /// `points` are from 1 to `max`.
    Scale {
        points: Vec<u64>,
        mean: Option<f64>,
        max: u8,
    },
    /// Choices, yes or no, and consent. `other` counts free-text answers.
    Options {
        options: Vec<OptionCount>,
        other: u64,
        several: bool,
    },
    Ranking {
        options: Vec<RankCount>,
    },
    /// `cells` by row and then by column.
    Matrix {
        rows: Vec<Labelled>,
        columns: Vec<Labelled>,
        cells: Vec<Vec<u64>>,
    },
    /// The mean is exact; the rest is grouped by two significant digits, except for whole numbers
    /// below a thousand.
    Numbers {
        bins: Vec<Bin>,
        mean: Option<f64>,
        median: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
    },
    /// By `YYYY-MM`, or by `YYYY` outside of the years 1900 to 2099.
    Dates {
        months: Vec<MonthCount>,
    },
    /// Only whether it was answered.
    Text {},
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OptionCount {
    id: String,
    label: String,
    count: u64,
    /// In the newest version that asks the question.
    still_offered: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RankCount {
    id: String,
    label: String,
    /// How often it came first, second, …
    places: Vec<u64>,
    /// Counted from 1.
    #[schema(required = true)]
    mean_place: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Labelled {
    id: String,
    label: String,
}

/// A range of numbers, with `from` and without `to`; below zero with `to` and without `from`. If
/// both ends are equal, it is that number.
#[derive(Debug, Serialize, ToSchema)]
struct Bin {
    from: f64,
    to: f64,
    count: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct MonthCount {
    month: String,
    count: u64,
}

impl Summary {
    fn from_summary(summary: summary::Summary) -> Self {
        let tag = |tag: summary::TagCount| {
            let value = |(value, responses)| ValueCount { value, responses };
            let values = tag.values.into_iter().map(value).collect();
            TagCount { name: tag.name, values, others: tag.others }
        };
        let version = |it: summary::VersionCount| VersionCount {
            flow_version_id: it.flow_version_id,
            number: it.number,
            published_at: it.published_at,
            responses: it.responses,
        };
        let day = |it: summary::DayCount| DayCount { day: it.day, responses: it.responses };
        Self {
            responses: summary.responses,
            admitted: summary.admitted,
            step: match summary.step {
                Step::Day => "day",
                Step::Week => "week",
            },
            days: summary.days.into_iter().map(day).collect(),
            versions: summary.versions.into_iter().map(version).collect(),
            tags: summary.tags.into_iter().map(tag).collect(),
            questions: summary.questions.into_iter().map(QuestionSummary::from_summary).collect(),
            score: summary.score.map(|score| {
                let QuestionSummary { answered, distribution, over_time, .. } =
                    QuestionSummary::from_summary(score);
                ScoreSummary { responses: answered, distribution, over_time }
            }),
            partial: summary.partial,
            counting: summary.counting.map(|it| Counting { counted_until: it.counted_until }),
            as_of: summary.as_of,
        }
    }
}

impl QuestionSummary {
    fn from_summary(question: summary::QuestionSummary) -> Self {
        let wording = |(version, prompt)| Wording { version, prompt };
        let day = |it: summary::DayValues| DayPicture {
            day: it.day,
            answered: it.answered,
            mean: it.mean,
            nps: it.nps,
            parts: it.parts,
        };
        Self {
            id: question.id,
            r#type: question.question_type,
            prompt: question.prompt,
            asked_until: match question.asked {
                AskedUntil::Now => None,
                AskedUntil::Version(number) => Some(number),
            },
            worded_before: question.worded_before.into_iter().map(wording).collect(),
            answered: question.answered,
            of: question.of,
            distribution: Distribution::from_summary(question.distribution),
            over_time: question.over_time.into_iter().map(day).collect(),
        }
    }
}

impl Distribution {
    fn from_summary(distribution: summary::Distribution) -> Self {
        let labelled = |labels: Vec<(String, String)>| {
            labels.into_iter().map(|(id, label)| Labelled { id, label }).collect()
        };
        match distribution {
            summary::Distribution::Nps { points, promoters, passives, detractors, score } => {
                Self::Nps { points: points.to_vec(), promoters, passives, detractors, score }
            }
            summary::Distribution::Scale { points, mean, max } => Self::Scale {
                points: points.into_iter().map(|(_, count)| count).collect(),
                mean,
                max,
            },
            summary::Distribution::Options { options, other, several } => {
                Self::Options { options: options.into_iter().map(option).collect(), other, several }
            }
            summary::Distribution::Ranking { options } => {
                Self::Ranking { options: options.into_iter().map(rank).collect() }
            }
            summary::Distribution::Matrix { rows, columns, cells } => {
                Self::Matrix { rows: labelled(rows), columns: labelled(columns), cells }
            }
            summary::Distribution::Numbers { bins, mean, median, min, max, values: _ } => {
                let bin = |it: summary::Bin| Bin { from: it.from, to: it.to, count: it.count };
                let bins = bins.into_iter().map(bin).collect();
                Self::Numbers { bins, mean, median, min, max }
            }
            summary::Distribution::Dates { months } => {
                let month = |(month, count)| MonthCount { month, count };
                Self::Dates { months: months.into_iter().map(month).collect() }
            }
            summary::Distribution::Text => Self::Text {},
        }
    }
}

fn option(option: summary::OptionCount) -> OptionCount {
    let summary::OptionCount { id, label, count, still_offered } = option;
    OptionCount { id, label, count, still_offered }
}

fn rank(rank: summary::RankCount) -> RankCount {
    let summary::RankCount { id, label, places, mean_place } = rank;
    RankCount { id, label, places, mean_place }
}

/// Summarise the responses of a flow
///
/// Counts and distributions by question, over all versions: questions that were edited or removed
/// keep their history. Without filters, or with days, a version and one `tag.NAME=value`, the
/// summary comes from counts that every write updates: it is exact and takes the same time for any
/// number of responses.
///
/// With several tags, `admission` or `answer.QUESTION=value` (and the operators of the list of
/// responses), the responses are read in the background. Until that has ended the reply is 202 with
/// the progress; ask again after `Retry-After`. The result is kept for a minute, and `asOf` is the
/// time when reading began.
#[utoipa::path(
    get, path = "/flows/{flowId}/summary", operation_id = "getSummary", tag = "Responses",
    security(("adminToken" = ["read"])),
    params(SummaryQuery, FilterParams),
    responses(
        (status = 200, description = "The summary", body = Summary),
        (status = 202, description = "It is being computed", body = Computing),
        (status = 409, description = "`too_many_answers`: choose fewer days; `too_many_computations`: several are under way", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    FilteredQuery { query, tags, answers }: FilteredQuery<SummaryQuery>,
) -> Reply {
    let SummaryQuery { from, to, version, admission } = query;
    let versions = version.into_iter().collect();
    let filter = SummaryFilter { from, to, versions, tags, admission, answers };
    match engine.flow(&actor, Scope::Read, flow).await?.summary(&filter).await? {
        Results::Ready(summary) => reply::ok(Summary::from_summary(summary)),
        Results::Computing(progress) => reply::computing(Computing::from_progress(progress)),
    }
}
