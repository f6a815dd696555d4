//! Stored responses: listing, reading and deleting them.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::json;
use sluice_flow::answer_filter::{AnswerFilter, split_name};
use sluice_flow::definition::Fault;
use sluice_flow::event::EventType;
use sluice_flow::folding::folded;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::pointer::escaped;
use sluice_flow::question::{QuestionType, Shape};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use sluice_store::{Order, ResponsePage, ResponseQuery, ResponseRow, Scope, Search, Write};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::closing;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::faultless;
use crate::handle::{FlowHandle, Permit};
use crate::question_history::{self, QuestionHistory};

/// The maximum number of rows to scan for one page.
const SCAN_ROWS_MAX: usize = 200_000;
/// The maximum number of filters by tag, and by answer, in one request.
const VALUES_MAX: usize = 20;
/// The maximum length of a search text, in characters.
const SEARCH_CHARS_MAX: usize = 200;

/// A filter for the responses of a flow; all conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseFilter {
    pub version: Option<FlowVersionId>,
    /// Received at or after.
    pub from: Option<Timestamp>,
    /// Received before.
    pub to: Option<Timestamp>,
    pub admission: Option<Admission>,
    /// Each tag has this value, or contains it in its list.
    pub tags: Vec<(String, String)>,
    /// Names and values as in a query: `use` and `api`, or `nps[lt]` and `7`. See
    /// [`AnswerFilter`].
    pub answers: Vec<(String, String)>,
    /// Each word occurs in a text of the response.
    pub search: Option<String>,
}

/// A part of a list of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    pub after: Option<ResponseId>,
    pub order: Order,
    pub limit: usize,
}

impl ResponseFilter {
    /// All limits that the filter exceeds.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (name, values) in [("/tag", &self.tags), ("/answer", &self.answers)] {
            if values.len() > VALUES_MAX {
                faults.push(Fault::new(name, format!("at most {VALUES_MAX} may be given")));
            }
        }
        let search = self.search.as_deref().unwrap_or_default();
        if search.chars().count() > SEARCH_CHARS_MAX {
            faults.push(Fault::new("/search", format!("at most {SEARCH_CHARS_MAX} characters")));
        }
        faults
    }

    /// Checks the limits, and reads the filters by answers; each fault points to its parameter.
    /// `types_of` are the types of a question in the versions that ask it.
    pub(crate) fn checked_answers<'q>(
        &self,
        types_of: impl Fn(&str) -> Vec<&'q QuestionType>,
    ) -> AdminResult<Vec<AnswerFilter>> {
        faultless(self.faults())?;
        let (mut filters, mut faults) = (Vec::with_capacity(self.answers.len()), Vec::new());
        for (name, value) in &self.answers {
            let (question, _) = split_name(name);
            match AnswerFilter::read(name, value, &types_of(question)) {
                Ok(filter) => filters.push(filter),
                Err(message) => {
                    faults.push(Fault::new(format!("/answer.{}", escaped(name)), message));
                }
            }
        }
        faultless(faults)?;
        Ok(filters)
    }

    /// The store's query.
    pub(crate) fn query(
        &self,
        app_id: AppId,
        flow_id: FlowId,
        paging: Paging,
        answers: Vec<AnswerFilter>,
        search: Option<Search>,
    ) -> ResponseQuery {
        ResponseQuery {
            app_id,
            flow_id,
            version: self.version,
            from: self.from,
            to: self.to,
            admission: self.admission,
            tags: self.tags.clone(),
            answers,
            search,
            after: paging.after,
            order: paging.order,
            limit: paging.limit,
            scan_limit: SCAN_ROWS_MAX,
            for_counts: false,
        }
    }
}

impl FlowHandle {
    /// The questions of the flow, over all its versions that can be read.
    #[boxed]
    pub async fn asked(&self) -> AdminResult<QuestionHistory> {
        let core = self.permit.core(Scope::Read)?;
        question_history::read(&*core.store, &core.definitions, self.app_id(), self.flow_id()).await
    }

    /// A page of the responses. If few pass the filter, it may be short or empty although more
    /// follow.
    #[boxed]
    pub async fn list_responses(
        &self,
        filter: &ResponseFilter,
        paging: Paging,
    ) -> AdminResult<ResponsePage> {
        let core = self.permit.core(Scope::Read)?;
        let query = response_query(core, self, filter, paging, None).await?;
        Ok(core.store.list_responses(&query).await?)
    }

    /// The same for a caller that has already read the question history.
    #[boxed]
    pub async fn list_responses_to(
        &self,
        asked: &QuestionHistory,
        filter: &ResponseFilter,
        paging: Paging,
    ) -> AdminResult<ResponsePage> {
        let core = self.permit.core(Scope::Read)?;
        let query = response_query(core, self, filter, paging, Some(asked)).await?;
        Ok(core.store.list_responses(&query).await?)
    }
}

/// Checks the filter and returns the store's query. Reads the question history only for a search or
/// a filter by an answer, and only if it is not given.
pub(crate) async fn response_query(
    core: &Core,
    flow: &FlowHandle,
    filter: &ResponseFilter,
    paging: Paging,
    asked: Option<&QuestionHistory>,
) -> AdminResult<ResponseQuery> {
    let (app_id, flow_id) = (flow.app_id(), flow.flow_id());
    let text = folded(filter.search.as_deref().unwrap_or_default());
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let mut read = None;
    let asked = match asked {
        None if !words.is_empty() || !filter.answers.is_empty() => &*read.insert(
            question_history::read(&*core.store, &core.definitions, app_id, flow_id).await?,
        ),
        None => &QuestionHistory::default(),
        Some(asked) => asked,
    };
    let answers = filter.checked_answers(|question| asked.types_of(question).collect())?;
    let search = (!words.is_empty()).then(|| Search { words, questions: text_questions(asked) });
    Ok(filter.query(app_id, flow_id, paging, answers, search))
}

/// The ids of the questions with text answers.
fn text_questions(asked: &QuestionHistory) -> Vec<String> {
    let texts = asked.questions.iter().filter(|it| it.shape == Shape::Text);
    texts.map(|it| it.id.clone()).collect()
}

/// A response, with proof of permission.
#[derive(Clone)]
pub struct ResponseHandle {
    permit: Permit,
    row: ResponseRow,
}

impl Deref for ResponseHandle {
    type Target = ResponseRow;

    fn deref(&self) -> &ResponseRow {
        &self.row
    }
}

impl std::fmt::Debug for ResponseHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ResponseHandle").field(&self.row.response_id).finish()
    }
}

impl ResponseHandle {
    pub(crate) async fn open(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        id: ResponseId,
    ) -> AdminResult<Self> {
        let row = read_response(core, id).await?;
        let permit = Permit::new(core, actor, scope, row.app_id, Missing::Response)?;
        Ok(Self { permit, row })
    }

    pub fn into_row(self) -> ResponseRow {
        self.row
    }

    #[boxed]
    pub async fn delete(&self) -> AdminResult<()> {
        let core = self.permit.core(Scope::Erase)?;
        let id = self.row.response_id;
        retry_on_conflict(|_| async move {
            let expected = self.permit.current_revision().await?;
            // Another call may have deleted it in the meantime. One that does so from now on
            // changes the revision; otherwise its place under a limit would be released twice.
            read_response(core, id).await?;
            let detail = json!({"flowId": self.row.flow_id});
            let audit = self.permit.audit(AuditAction::ResponseDeleted, id, &detail);
            let (app, flow) = (self.row.app_id, self.row.flow_id);
            let data = json!({"responseId": id});
            let event = core.event(app, Some(flow), EventType::ResponseDeleted, data);
            let mut rows = vec![Write::DeleteResponse(id), event, Write::Audit(audit)];
            let release = closing::release(core, &self.row).await?;
            if release.is_empty() {
                return self.permit.change_quietly(Scope::Erase, expected, rows).await;
            }
            // The public API may show that the flow is open again.
            rows.extend(release);
            self.permit.change(Scope::Erase, expected, rows).await
        })
        .await
    }
}

async fn read_response(core: &Core, id: ResponseId) -> AdminResult<ResponseRow> {
    core.store.find_response(id).await?.ok_or(AdminError::NotFound(Missing::Response))
}
