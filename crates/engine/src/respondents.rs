//! Respondents: found, shown, exported whole, erased.
//!
//! A profile is made by the store, in the write of the first response that is linked to it. Nothing here
//! writes an identity: audit entries name a respondent by id alone.

use serde_json::json;
use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::{IdentityType, Known};
use sluice_store::{
    Answers, At, Change, ConsentRow, Erasure, Page, Respondent, ResponseRow, Scope, Write,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::engine::Engine;

/// The consents that are shown with a profile; an export has them all.
pub const CONSENTS_SHOWN_MAX: usize = 1_000;
/// Responses that are erased in one transaction: others wait for it.
const ERASE_ROWS: usize = 200;
/// Rows that are read at a time for an export.
const EXPORT_ROWS: usize = 500;

/// Everything that is kept of one respondent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RespondentExport {
    pub respondent: Respondent,
    pub consents: Vec<ConsentRow>,
    pub responses: Vec<ResponseRow>,
}

impl Engine {
    /// The app's respondents in the order they were first seen.
    pub async fn list_respondents(
        &self,
        actor: &Actor,
        app: AppId,
        page: Page<RespondentId>,
    ) -> AdminResult<Vec<Respondent>> {
        self.app_for(actor, Scope::Read, app).await?;
        Ok(self.store.list_respondents(app, page).await?)
    }

    /// The respondent of the app who is known by this, if there is one.
    pub async fn find_respondent(
        &self,
        actor: &Actor,
        app: AppId,
        of: IdentityType,
        value: &str,
    ) -> AdminResult<Option<Respondent>> {
        self.app_for(actor, Scope::Read, app).await?;
        match self.store.find_respondent_by(app, &Known::new(of, value)).await? {
            Some(found) => Ok(self.store.find_respondent(found).await?),
            None => Ok(None),
        }
    }

    /// A profile with the first of its consents.
    pub async fn get_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
    ) -> AdminResult<(Respondent, Vec<ConsentRow>)> {
        let respondent = self.respondent_for(actor, Scope::Read, id).await?;
        let page = Page { after: None, limit: CONSENTS_SHOWN_MAX };
        let consents = self.store.list_consents(respondent.row.app_id, id, page).await?;
        Ok((respondent, consents))
    }

    /// The responses of a respondent over all flows, oldest first.
    pub async fn list_respondent_responses(
        &self,
        actor: &Actor,
        id: RespondentId,
        page: Page<ResponseId>,
    ) -> AdminResult<Vec<ResponseRow>> {
        let respondent = self.respondent_for(actor, Scope::Read, id).await?;
        Ok(self.store.list_responses_of(respondent.row.app_id, id, page).await?)
    }

    /// All that is kept of a respondent. That it was handed out is in the audit log.
    pub async fn export_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
    ) -> AdminResult<RespondentExport> {
        let respondent = self.respondent_for(actor, Scope::Export, id).await?;
        let app = respondent.row.app_id;
        let audit = self.audit(actor, Some(app), "respondent.exported", id, &json!({}));
        self.apply(At::Instance, Change::new(move || vec![Write::Audit(audit)])).await?;
        let (mut consents, mut responses) = (Vec::new(), Vec::new());
        loop {
            let after = consents.last().map(|row: &ConsentRow| row.response_id);
            let page = Page { after, limit: EXPORT_ROWS };
            let next = self.store.list_consents(app, id, page).await?;
            let is_last = next.len() < EXPORT_ROWS;
            consents.extend(next);
            if is_last {
                break;
            }
        }
        loop {
            let after = responses.last().map(|row: &ResponseRow| row.response_id);
            let page = Page { after, limit: EXPORT_ROWS };
            let next = self.store.list_responses_of(app, id, page).await?;
            let is_last = next.len() < EXPORT_ROWS;
            responses.extend(next);
            if is_last {
                break;
            }
        }
        Ok(RespondentExport { respondent, consents, responses })
    }

    /// Erases a respondent, and keeps or deletes the answers; says how many responses that concerned.
    ///
    /// It is done in parts, so that submissions need not wait long. One that is interrupted has erased
    /// some responses and kept the profile: asked for again, it goes on.
    pub async fn erase_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
        answers: Answers,
    ) -> AdminResult<u64> {
        let respondent = self.respondent_for(actor, Scope::Erase, id).await?;
        let app_id = respondent.row.app_id;
        let word = match answers {
            Answers::Keep => "keep",
            Answers::Delete => "delete",
        };
        let detail = json!({"answers": word});
        let audit = self.audit(actor, Some(app_id), "respondent.erased", id, &detail);
        let erasure = Erasure { app_id, respondent_id: id, answers, audit, limit: ERASE_ROWS };
        let mut responses = 0;
        loop {
            let removed = self.watched(self.store.erase(erasure.clone()).await)?;
            responses += removed.responses;
            if removed.done {
                return Ok(responses);
            }
        }
    }

    async fn respondent_for(
        &self,
        actor: &Actor,
        scope: Scope,
        id: RespondentId,
    ) -> AdminResult<Respondent> {
        let found = self.store.find_respondent(id).await?;
        let respondent = found.ok_or(AdminError::NotFound(Missing::Respondent))?;
        actor.need_in(scope, respondent.row.app_id, Missing::Respondent)?;
        Ok(respondent)
    }
}
