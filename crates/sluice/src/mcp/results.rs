//! Tools that read results: summaries and cross-tabulations.
//!
//! Their numbers are computed by the server, and their texts are those of authors. Only the names
//! and values of tags come from respondents.

use std::time::Duration;

use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Pair, pair};
use super::error::ToolError;
use super::filter::Filter;
use super::flows::{members, the_flow};
use super::page::Page;
use super::reply::{REPLY_BYTES_MAX, Reply};
use crate::client::field;

/// How often a result that is being computed is asked for. The server itself waits up to a second.
const TRIES_MAX: usize = 20;
const PAUSE: Duration = Duration::from_millis(500);
const VERSIONS_LISTED_MAX: usize = 20;
/// The most frequent values of each tag, if all tags are listed.
const TAG_VALUES_LISTED_MAX: usize = 10;
/// The part of a reply that is left to questions, in bytes; tags get the rest.
const QUESTIONS_BYTES_MAX: usize = REPLY_BYTES_MAX * 2 / 3;
const TAGS_BYTES_MAX: usize = REPLY_BYTES_MAX - QUESTIONS_BYTES_MAX;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct GetSummary {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// Which responses count; without it, all.
    #[serde(default)]
    filter: Filter,
    /// Only these questions, by id.
    #[serde(default)]
    questions: Option<Vec<String>>,
    /// Also how the answers and the number of responses changed over time.
    #[serde(default)]
    over_time: bool,
    /// All values of this tag, instead of the most frequent ones of every tag.
    #[serde(default)]
    tag: Option<String>,
    /// `nextQuestion` of the reply before, if not all questions fitted into it.
    #[serde(default)]
    after_question: Option<String>,
}

pub(super) async fn get_summary(api: &Api, args: GetSummary) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let query = args.filter.by_day()?;
    let Computed::Ready(summary) = computed(api, &format!("/flows/{id}/summary"), &query).await?
    else {
        return Ok(still_computing());
    };
    let mut reply =
        members(&summary, &["responses", "admitted", "partial", "asOf", "counting", "score"]);
    reply["flowId"] = json!(id);
    let versions = summary["versions"].as_array().into_iter().flatten();
    reply["versions"] = versions.take(VERSIONS_LISTED_MAX).cloned().collect();
    let days = summary["days"].as_array().map(Vec::as_slice).unwrap_or_default();
    reply["firstDay"] = days.first().map_or(Value::Null, |day| day["day"].clone());
    reply["lastDay"] = days.last().map_or(Value::Null, |day| day["day"].clone());
    if args.over_time {
        reply["days"] = json!(days);
        reply["step"] = summary["step"].clone();
    } else if let Some(score) = reply["score"].as_object_mut() {
        score.remove("overTime");
    }
    let (questions, next) = chosen_questions(&args, &summary["questions"])?;
    reply["questions"] = json!(questions);
    reply["nextQuestion"] = json!(next);
    Ok(Reply::with_untrusted(reply, tags(&summary["tags"], args.tag.as_deref())))
}

/// The questions that were asked for, from the one after the cursor, and the next cursor.
fn chosen_questions(
    args: &GetSummary,
    questions: &Value,
) -> Result<(Vec<Value>, Option<String>), ToolError> {
    let all = questions.as_array().map(Vec::as_slice).unwrap_or_default();
    let known = || {
        let ids: Vec<&str> = all.iter().map(|it| field(it, "id")).collect();
        ids.join(", ")
    };
    for id in args.questions.iter().flatten() {
        if !all.iter().any(|question| question["id"] == **id) {
            return Err(ToolError::new(format!(
                "No version has a question {id:?}. The questions are: {}.",
                known()
            )));
        }
    }
    let start = match &args.after_question {
        None => 0,
        Some(id) => {
            all.iter().rposition(|it| it["id"] == **id).map(|at| at + 1).ok_or_else(|| {
                ToolError::new(format!("afterQuestion must be one of: {}.", known()))
            })?
        }
    };
    let mut page = Page::new(usize::MAX, QUESTIONS_BYTES_MAX);
    let mut last: Option<String> = None;
    for question in &all[start..] {
        let is_wanted = |ids: &Vec<String>| ids.iter().any(|id| question["id"] == **id);
        if !args.questions.as_ref().is_none_or(is_wanted) {
            continue;
        }
        let mut shown = question.clone();
        if let Some(members) = shown.as_object_mut().filter(|_| !args.over_time) {
            members.remove("overTime");
        }
        if !page.push(shown) {
            return Ok((page.items, last));
        }
        last = question["id"].as_str().map(str::to_owned);
    }
    Ok((page.items, None))
}

/// One line per tag.
fn tags(tags: &Value, only: Option<&str>) -> Vec<Value> {
    let mut page = Page::new(usize::MAX, TAGS_BYTES_MAX);
    for tag in tags.as_array().into_iter().flatten() {
        if only.is_some_and(|only| tag["name"] != *only) {
            continue;
        }
        let values = tag["values"].as_array().map(Vec::as_slice).unwrap_or_default();
        let listed = if only.is_some() { values.len() } else { TAG_VALUES_LISTED_MAX };
        let shown = json!({
            "tag": tag["name"],
            "values": values.iter().take(listed).collect::<Vec<_>>(),
            "moreValues": values.len().saturating_sub(listed),
            "others": tag["others"],
        });
        if !page.push(shown) {
            break;
        }
    }
    page.items
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CrossTabulate {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// Id of the question whose groups are the rows; one row of a matrix as `grid:speed`.
    rows: String,
    /// Id of the question whose groups are the columns.
    columns: String,
    /// Which responses count; without it, all.
    #[serde(default)]
    filter: Filter,
}

pub(super) async fn cross_tabulate(api: &Api, args: CrossTabulate) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let mut query = vec![pair("rows", &args.rows), pair("columns", &args.columns)];
    query.extend(args.filter.by_day()?);
    let path = format!("/flows/{id}/crosstab");
    match computed(api, &path, &query).await? {
        Computed::Ready(table) => Ok(Reply::new(shortened(table))),
        Computed::Later => Ok(still_computing()),
    }
}

/// A table of a bounded size: its last rows are left out, and counted.
fn shortened(mut table: Value) -> Value {
    let size_of = |value: &Value| value.to_string().len();
    let fixed = size_of(&table["columns"]);
    let mut bytes = fixed;
    let rows = table["rows"]["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    let cells = table["cells"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fitting = rows.iter().zip(cells).take_while(|(row, cells)| {
        bytes += size_of(row) + cells.to_string().len();
        bytes <= REPLY_BYTES_MAX
    });
    let kept = fitting.count().max(1);
    let left_out = rows.len().saturating_sub(kept);
    for list in ["/rows/groups", "/cells"] {
        if let Some(list) = table.pointer_mut(list).and_then(Value::as_array_mut) {
            list.truncate(kept);
        }
    }
    table["rowsLeftOut"] = json!(left_out);
    table
}

/// A result that counts cannot answer is computed in the background.
enum Computed {
    Ready(Value),
    Later,
}

async fn computed(api: &Api, path: &str, query: &[Pair]) -> Result<Computed, ToolError> {
    for _ in 0..TRIES_MAX {
        let reply = api.get(path, query).await?;
        if reply.get("progress").is_none() {
            return Ok(Computed::Ready(reply));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(Computed::Later)
}

fn still_computing() -> Reply {
    Reply::new(
        json!({"note": "The server is still reading the responses. Call again soon, with the same arguments."}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(given: Value) -> GetSummary {
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn questions_come_in_pages_until_all_are_shown() {
        let text = "x".repeat(QUESTIONS_BYTES_MAX / 3);
        let questions: Vec<Value> = (0..7)
            .map(|at| json!({"id": format!("q{at}"), "prompt": text, "overTime": [1]}))
            .collect();
        let questions = json!(questions);
        let (mut seen, mut after, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let args = summary(json!({"flow": "f", "afterQuestion": after}));
            let (page, next) = chosen_questions(&args, &questions).unwrap();
            assert!(json!(page).to_string().len() <= QUESTIONS_BYTES_MAX + 10);
            assert!(page.iter().all(|it| it.get("overTime").is_none()));
            seen.extend(page.iter().map(|it| field(it, "id").to_owned()));
            pages += 1;
            match next {
                Some(next) => after = json!(next),
                None => break,
            }
        }
        assert_eq!(seen, ["q0", "q1", "q2", "q3", "q4", "q5", "q6"]);
        assert_eq!(pages, 4);
    }

    #[test]
    fn an_unknown_question_lists_the_known_ones() {
        let args = summary(json!({"flow": "f", "questions": ["npx"]}));
        let error = chosen_questions(&args, &json!([{"id": "nps"}, {"id": "why"}])).unwrap_err();
        assert!(error.to_string().contains("nps, why"), "{error}");
    }

    #[test]
    fn every_tag_shows_its_frequent_values_and_one_tag_shows_all() {
        let values: Vec<Value> = (0..50).map(|at| json!({"value": at, "responses": 1})).collect();
        let all = json!([{"name": "plan", "values": values, "others": 0}, {"name": "site", "values": []}]);
        let shown = tags(&all, None);
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0]["moreValues"], 40);
        let shown = tags(&all, Some("plan"));
        assert_eq!(shown[0]["values"].as_array().unwrap().len(), 50);
        assert_eq!(shown.len(), 1);
    }

    #[test]
    fn a_huge_table_loses_its_last_rows() {
        let group = |at: usize| json!({"id": format!("o{at}"), "label": "l".repeat(500)});
        let groups: Vec<Value> = (0..200).map(group).collect();
        let cells = vec![vec![1; 3]; 200];
        let table =
            json!({"rows": {"groups": groups}, "columns": {"groups": [1, 2, 3]}, "cells": cells});
        let short = shortened(table);
        let kept = short["rows"]["groups"].as_array().unwrap().len();
        assert_eq!(short["cells"].as_array().unwrap().len(), kept);
        assert_eq!(short["rowsLeftOut"], 200 - kept);
        assert!(kept > 50 && short.to_string().len() < REPLY_BYTES_MAX + 1_000);
    }
}
