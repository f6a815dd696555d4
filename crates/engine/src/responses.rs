//! Stored responses: listed, read, deleted.

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::question::Shape;
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use sluice_store::{
    Change, Order, ResponsePage, ResponseQuery, ResponseRow, Scope, Search, StoreError, Write,
    folded,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::apps::CONFLICT_RETRIES;
use crate::engine::Engine;

/// Rows that are looked at for one page, at the most.
const LOOK_ROWS_MAX: usize = 200_000;
/// Filters by tag or answer in one request, each.
const VALUES_MAX: usize = 20;
/// What may be searched for, in characters.
const SEARCH_CHARS_MAX: usize = 200;

/// Which responses of a flow: those for which all of this holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseFilter {
    pub version: Option<FlowVersionId>,
    /// Received at or after.
    pub from: Option<Timestamp>,
    /// Received before.
    pub to: Option<Timestamp>,
    pub admission: Option<Admission>,
    /// Each tag has this value, or holds it in its list.
    pub tags: Vec<(String, String)>,
    /// Each question was answered with this value, or with a list that holds it; `other` stands for any text
    /// of one's own.
    pub answers: Vec<(String, String)>,
    /// Each word occurs in a text of the response.
    pub search: Option<String>,
}

/// Which part of a list of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    pub after: Option<ResponseId>,
    pub order: Order,
    pub limit: usize,
}

impl ResponseFilter {
    /// Every way in which it asks for too much.
    fn faults(&self) -> Vec<Fault> {
        let fault = |pointer: &str, message: String| Fault { pointer: pointer.into(), message };
        let mut faults = Vec::new();
        for (name, values) in [("/tag", &self.tags), ("/answer", &self.answers)] {
            if values.len() > VALUES_MAX {
                faults.push(fault(name, format!("at most {VALUES_MAX} may be given")));
            }
        }
        let search = self.search.as_deref().unwrap_or_default();
        if search.chars().count() > SEARCH_CHARS_MAX {
            faults.push(fault("/search", format!("at most {SEARCH_CHARS_MAX} characters")));
        }
        faults
    }
}

impl Engine {
    /// A page of the responses. Where few pass the filter it may be short, or empty, and still go on.
    pub async fn list_responses(
        &self,
        actor: &Actor,
        flow: FlowId,
        filter: &ResponseFilter,
        paging: Paging,
    ) -> AdminResult<ResponsePage> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let query = self.response_query(state.flow.app_id, flow, filter, paging).await?;
        Ok(self.store.list_responses(&query).await?)
    }

    /// What to ask of the store, once the filter is found to be in order.
    pub(crate) async fn response_query(
        &self,
        app_id: AppId,
        flow_id: FlowId,
        filter: &ResponseFilter,
        paging: Paging,
    ) -> AdminResult<ResponseQuery> {
        let faults = filter.faults();
        if !faults.is_empty() {
            return Err(AdminError::Invalid(faults));
        }
        let text = folded(filter.search.as_deref().unwrap_or_default());
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let search = match words.is_empty() {
            true => None,
            false => {
                let asked = self.asked(app_id, flow_id).await?.questions;
                let texts = asked.into_iter().filter(|it| it.shape == Shape::Text);
                Some(Search { words, questions: texts.map(|it| it.id).collect() })
            }
        };
        Ok(ResponseQuery {
            app_id,
            flow_id,
            version: filter.version,
            from: filter.from,
            to: filter.to,
            admission: filter.admission,
            tags: filter.tags.clone(),
            answers: filter.answers.clone(),
            search,
            after: paging.after,
            order: paging.order,
            limit: paging.limit,
            look: LOOK_ROWS_MAX,
        })
    }

    pub async fn get_response(&self, actor: &Actor, id: ResponseId) -> AdminResult<ResponseRow> {
        self.response_for(actor, Scope::Read, id).await
    }

    pub async fn delete_response(&self, actor: &Actor, id: ResponseId) -> AdminResult<()> {
        for _ in 0..CONFLICT_RETRIES {
            let row = self.response_for(actor, Scope::Erase, id).await?;
            let app = self.app_for(actor, Scope::Erase, row.app_id).await?;
            let detail = json!({"flowId": row.flow_id});
            let audit = self.audit(actor, Some(row.app_id), "response.deleted", id, &detail);
            let rows = vec![Write::DeleteResponse(id), Write::Audit(audit)];
            match self.change_quietly(row.app_id, app.revision, Change::new(move || rows)).await {
                Err(AdminError::Store(StoreError::Conflict)) => {}
                done => return done,
            }
        }
        Err(StoreError::Conflict.into())
    }

    async fn response_for(
        &self,
        actor: &Actor,
        scope: Scope,
        id: ResponseId,
    ) -> AdminResult<ResponseRow> {
        let found = self.store.find_response(id).await?;
        let row = found.ok_or(AdminError::NotFound(Missing::Response))?;
        actor.need_in(scope, row.app_id, Missing::Response)?;
        Ok(row)
    }
}
