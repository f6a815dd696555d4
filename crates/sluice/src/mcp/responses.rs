//! Tools that read what respondents sent. All of it goes into the untrusted part of the reply.

use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sluice_flow::id::ResponseId;

use super::api::{Api, Pair, pair};
use super::error::ToolError;
use super::filter::Filter;
use super::flows::the_flow;
use super::page::{Page, within};
use super::reply::{REPLY_BYTES_MAX, Reply};
use crate::client::field;

const ITEMS_DEFAULT: usize = 20;
const ITEMS_MAX: usize = 100;
/// Pages of the API that one call reads: filters may leave little of each.
const SCAN_PAGES_MAX: usize = 5;
/// Characters of each text in a list of responses; `list_text_answers` has whole texts.
const TEXT_CHARS_MAX: usize = 1_000;
/// The same in a response with very many long texts.
const TEXT_CHARS_MIN: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListTextAnswers {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// Id of the question.
    question: String,
    /// Only from these responses; without it, from all.
    #[serde(default)]
    filter: Filter,
    /// Only from responses whose texts contain all of these words, ignoring case.
    #[serde(default)]
    search: Option<String>,
    /// Oldest first; newest first without it.
    #[serde(default)]
    oldest_first: bool,
    /// Number of answers, 1 to 100; 20 without it. Fewer come if they are long.
    #[serde(default)]
    limit: Option<u32>,
    /// `next` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

pub(super) async fn list_text_answers(
    api: &Api,
    args: ListTextAnswers,
) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let mut query = args.filter.by_instant()?;
    query.push((format!("answer.{}[answered]", args.question), "true".to_owned()));
    query.extend(args.search.map(|search| pair("search", search)));
    query.push(pair("order", order(args.oldest_first)));
    let shown = |response: &Value| {
        json!({"responseId": response["responseId"], "receivedAt": response["receivedAt"],
               "answer": response["answers"][&args.question]})
    };
    let limit = within(args.limit, ITEMS_DEFAULT, ITEMS_MAX);
    let (items, next) = scan(api, id, &query, cursor(args.after)?, limit, shown).await?;
    let reply =
        json!({"flowId": id, "question": args.question, "answers": items.len(), "next": next});
    Ok(Reply::with_untrusted(reply, items))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListResponses {
    /// Id (fl_…) or key of the flow.
    flow: String,
    /// Only these responses; without it, all.
    #[serde(default)]
    filter: Filter,
    /// Only responses whose texts contain all of these words, ignoring case.
    #[serde(default)]
    search: Option<String>,
    /// Oldest first; newest first without it.
    #[serde(default)]
    oldest_first: bool,
    /// Also the identities and the respondent of responses that respondents agreed to be linked
    /// to. Ask the user first: this is personal data.
    #[serde(default)]
    identities: bool,
    /// Also the language, page and browser.
    #[serde(default)]
    context: bool,
    /// Number of responses, 1 to 100; 20 without it. Fewer come if they are long.
    #[serde(default)]
    limit: Option<u32>,
    /// `next` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

pub(super) async fn list_responses(api: &Api, args: ListResponses) -> Result<Reply, ToolError> {
    let flow = the_flow(api, &args.flow).await?;
    let id = field(&flow, "flowId");
    let mut query = args.filter.by_instant()?;
    query.extend(args.search.map(|search| pair("search", search)));
    query.push(pair("order", order(args.oldest_first)));
    let (identities, context) = (args.identities, args.context);
    let shown = |response: &Value| fitting(response, identities, context);
    let limit = within(args.limit, ITEMS_DEFAULT, ITEMS_MAX);
    let (items, next) = scan(api, id, &query, cursor(args.after)?, limit, shown).await?;
    let reply = json!({"flowId": id, "responses": items.len(), "next": next});
    Ok(Reply::with_untrusted(reply, items))
}

/// A response whose texts are cut, so that it fits into a reply.
fn fitting(response: &Value, identities: bool, context: bool) -> Value {
    let mut names = vec!["responseId", "flowVersionId", "receivedAt", "score"];
    names.extend(["respondentAnalyticsAdmission", "answers", "metadata"]);
    if identities {
        names.extend(["identities", "respondentId"]);
    }
    if context {
        names.push("context");
    }
    let shown = |chars: usize| {
        let members = names.iter().map(|name| ((*name).to_owned(), cut(&response[*name], chars)));
        Value::Object(members.collect::<Map<_, _>>())
    };
    let whole = shown(TEXT_CHARS_MAX);
    if whole.to_string().len() <= REPLY_BYTES_MAX { whole } else { shown(TEXT_CHARS_MIN) }
}

/// Cuts every text in a value.
fn cut(value: &Value, chars: usize) -> Value {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if count <= chars {
                return value.clone();
            }
            let start: String = text.chars().take(chars).collect();
            json!(format!("{start}… ({} more characters)", count - chars))
        }
        Value::Array(items) => items.iter().map(|item| cut(item, chars)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, it)| (name.clone(), cut(it, chars)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

fn order(oldest_first: bool) -> &'static str {
    if oldest_first { "asc" } else { "desc" }
}

fn cursor(after: Option<String>) -> Result<Option<String>, ToolError> {
    let id = after.map(|after| after.parse::<ResponseId>()).transpose();
    let id = id.map_err(|_| ToolError::new("after must be `next` of the previous page"))?;
    Ok(id.map(|id| id.to_string()))
}

/// Responses of a flow, until the page is full: as `shown`, and the cursor of the next page.
async fn scan(
    api: &Api,
    flow: &str,
    query: &[Pair],
    mut after: Option<String>,
    limit: usize,
    shown: impl Fn(&Value) -> Value,
) -> Result<(Vec<Value>, Option<String>), ToolError> {
    let mut page = Page::new(limit, REPLY_BYTES_MAX);
    for _ in 0..SCAN_PAGES_MAX {
        let mut asked = query.to_vec();
        // One more than wanted, to know whether there are more.
        asked.push(pair("limit", limit - page.items.len() + 1));
        asked.extend(after.as_ref().map(|after| pair("after", after)));
        let read = api.get(&format!("/flows/{flow}/responses"), &asked).await?;
        for response in read["items"].as_array().into_iter().flatten() {
            if !page.push(shown(response)) {
                return Ok((page.items, after));
            }
            after = response["responseId"].as_str().map(str::to_owned);
        }
        match read["next"].as_str() {
            None => return Ok((page.items, None)),
            Some(next) => after = Some(next.to_owned()),
        }
    }
    Ok((page.items, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_and_context_come_only_on_demand() {
        let response = json!({
            "responseId": "rs_1", "answers": {"why": "good"}, "metadata": {"tags": {"plan": "pro"}},
            "identities": [{"type": "userId", "value": "canary"}], "respondentId": "canary",
            "context": {"userAgent": "canary"},
        });
        let plain = fitting(&response, false, false).to_string();
        assert!(plain.contains("good") && plain.contains("pro") && !plain.contains("canary"));
        let all = fitting(&response, true, true);
        assert_eq!(all["identities"], response["identities"]);
        assert_eq!(all["context"], response["context"]);
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let response = json!({"answers": {"why": "ä".repeat(1_200), "grid": ["x", "y"]}});
        let shown = fitting(&response, false, false);
        let text = shown["answers"]["why"].as_str().unwrap();
        assert!(text.ends_with("ä… (200 more characters)"), "{text}");
        assert_eq!(shown["answers"]["grid"], json!(["x", "y"]));
        let many: Map<String, Value> =
            (0..300).map(|at| (format!("q{at}"), json!("ö".repeat(5_000)))).collect();
        let shown = fitting(&json!({"answers": many}), false, false).to_string();
        assert!(shown.len() < 2 * REPLY_BYTES_MAX, "{}", shown.len());
    }

    #[test]
    fn a_cursor_is_the_id_of_a_response() {
        assert_eq!(cursor(None).unwrap(), None);
        assert!(cursor(Some("rs_0000000000000000000000".to_owned())).unwrap().is_some());
        assert!(cursor(Some("../../tokens".to_owned())).is_err());
    }
}
