//! Finds flows of an app: by their name, title, questions and labels, or because they close soon.
//!
//! Both read the newest flows in pages, up to a limit that the result reports; a search over
//! several apps has one limit for all of them. Deliberately absent: an index. An app has tens of
//! flows, rarely thousands.

use sluice_flow::folding::folded;
use sluice_flow::id::FlowId;
use sluice_store::{FlowState, Page, Scope};

use crate::admin::AdminResult;
use crate::boxed;
use crate::definitions::stored_json;
use crate::handle::AppHandle;

/// Flows that are read at once.
const PAGE_FLOWS: usize = 500;
/// Flows that a search reads in all.
pub const SEARCHED_FLOWS_MAX: usize = 2_000;
/// The flows that are searched for those that close soon.
const CLOSING_FLOWS_MAX: usize = 200;

/// A flow that matches a search.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFlow {
    pub state: FlowState,
    /// The question that matches, if neither the name, the title nor a label does.
    pub question: Option<String>,
}

/// The flows that match a search, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundFlows {
    pub flows: Vec<FoundFlow>,
    /// Whether more flows match, or older ones were not searched.
    pub has_more: bool,
}

impl AppHandle {
    /// The first `limit` active flows, or archived ones, that have all words in one of their texts;
    /// with a label, only flows that have it. Reads at most `budget` flows and reduces it by them.
    #[boxed]
    pub async fn search_flows(
        &self,
        text: &str,
        label: Option<&str>,
        archived: bool,
        limit: usize,
        budget: &mut usize,
    ) -> AdminResult<FoundFlows> {
        self.permit.core(Scope::Read)?;
        let text = folded(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut found = FoundFlows::default();
        let mut after: Option<FlowId> = None;
        while *budget > 0 {
            let page_flows = PAGE_FLOWS.min(*budget);
            let page = Page { after, limit: page_flows };
            let label = label.map(str::to_owned);
            let page = self.newest_flows_labelled(label, archived, page).await?;
            *budget -= page.len();
            after = page.last().map(|state| state.flow.flow_id);
            let is_last = page.len() < page_flows;
            found.flows.extend(page.into_iter().filter_map(|state| matching(state, &words)));
            if found.flows.len() > limit || is_last {
                found.has_more = found.flows.len() > limit;
                found.flows.truncate(limit);
                return Ok(found);
            }
        }
        found.has_more = true;
        Ok(found)
    }

    /// The published flows whose live window ends within these milliseconds, the earliest end
    /// first.
    #[boxed]
    pub async fn closing_flows(&self, within_millis: i64) -> AdminResult<Vec<FlowState>> {
        let now = self.permit.core(Scope::Read)?.now().as_millis();
        let page = Page { after: None, limit: CLOSING_FLOWS_MAX };
        let flows = self.newest_flows(false, page).await?;
        let end = |state: &FlowState| state.flow.live.ends_at.map(|end| end.as_millis() - now);
        let is_soon = |left: i64| left > 0 && left <= within_millis;
        let mut closing: Vec<FlowState> = flows
            .into_iter()
            .filter(|state| state.current.is_some() && end(state).is_some_and(is_soon))
            .collect();
        closing.sort_by_key(end);
        Ok(closing)
    }
}

fn matching(state: FlowState, words: &[&str]) -> Option<FoundFlow> {
    let has_all = |text: &str| {
        let text = folded(text);
        words.iter().all(|word| text.contains(word))
    };
    let is_named = has_all(&state.flow.name) || state.flow.labels.iter().any(|it| has_all(it));
    let mut question = None;
    let found = is_named
        || state.draft.iter().chain(&state.current).any(|version| {
            let definition = stored_json(version).unwrap_or_default();
            if definition["title"].as_str().is_some_and(has_all) {
                return true;
            }
            let questions = definition["questions"].as_array().into_iter().flatten();
            let mut prompts = questions.filter_map(|question| question["prompt"].as_str());
            question = prompts.find(|prompt| has_all(prompt)).map(str::to_owned);
            question.is_some()
        });
    found.then_some(FoundFlow { state, question })
}
