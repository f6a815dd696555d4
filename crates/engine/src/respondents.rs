//! Respondents: found, shown, exported whole, erased.
//!
//! A profile is made by the store, in the write of the first response that is linked to it. Somebody who was
//! invited may have none; they are exported and erased by what the invitations know of them. Nothing here
//! writes an identity: audit entries name a respondent by id alone, and somebody without one by their app.

use std::time::{Duration, Instant};

use serde_json::json;
use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::{IdentityType, Known};
use sluice_store::{
    Answers, At, AuditRow, Change, ConsentRow, Erasure, InvitationRow, Page, Person, Respondent,
    ResponseRow, Scope, Write,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::engine::Engine;
use crate::erasure::{ERASURE_CALL_MAX, ERASURE_PART_ROWS};
use crate::invitations::Invitation;

/// The consents that are shown with a profile; an export has them all.
pub const CONSENTS_SHOWN_MAX: usize = 1_000;
/// Rows that are read at a time for an export.
const EXPORT_ROWS: usize = 500;

/// Everything that is kept of one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RespondentExport {
    /// None where somebody was invited and never admitted to be known.
    pub respondent: Option<Respondent>,
    pub consents: Vec<ConsentRow>,
    /// Those linked to the respondent, and those given through their invitations that are linked to nobody.
    pub responses: Vec<ResponseRow>,
    pub invitations: Vec<Invitation>,
}

/// What an erasure took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Erased {
    /// None where somebody was only invited.
    pub respondent_id: Option<RespondentId>,
    /// Responses that were unlinked or deleted.
    pub responses: u64,
    /// Invitations that name nobody any more.
    pub invitations: u64,
    /// How many responses are left, if the erasure continues in the background.
    pub remaining: Option<u64>,
}

impl Engine {
    /// The app's respondents in the order of the days they were first seen.
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
        let app = self.app_of_respondent(actor, Scope::Read, id).await?;
        Ok(self.store.list_responses_of(app, id, page).await?)
    }

    /// All that is kept of a respondent. That it was handed out is in the audit log.
    pub async fn export_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
    ) -> AdminResult<RespondentExport> {
        let respondent = self.respondent_for(actor, Scope::Export, id).await?;
        let app = respondent.row.app_id;
        self.note_export(actor, app, "respondent.exported", id).await?;
        let invitations = self.invitations_of(app, &respondent.identities).await?;
        let mut responses = self.given_through(&invitations, Some(id)).await?;
        let mut consents: Vec<ConsentRow> = Vec::new();
        loop {
            let page =
                Page { after: consents.last().map(|row| row.response_id), limit: EXPORT_ROWS };
            let next = self.store.list_consents(app, id, page).await?;
            let is_last = next.len() < EXPORT_ROWS;
            consents.extend(next);
            if is_last {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = Page { after, limit: EXPORT_ROWS };
            let next = self.store.list_responses_of(app, id, page).await?;
            after = next.last().map(|row| row.response_id);
            let is_last = next.len() < EXPORT_ROWS;
            responses.extend(next);
            if is_last {
                break;
            }
        }
        responses.sort_by_key(|row| row.response_id);
        responses.dedup_by_key(|row| row.response_id);
        let invitations = self.as_shown(actor, invitations);
        Ok(RespondentExport { respondent: Some(respondent), consents, responses, invitations })
    }

    /// The same for whoever is known by this, a respondent or somebody who was only invited.
    pub async fn export_known(
        &self,
        actor: &Actor,
        app: AppId,
        known: &Known,
    ) -> AdminResult<RespondentExport> {
        self.app_for(actor, Scope::Export, app).await?;
        if let Some(id) = self.store.find_respondent_by(app, known).await? {
            return self.export_respondent(actor, id).await;
        }
        let invitations = self.invitations_of(app, std::slice::from_ref(known)).await?;
        if invitations.is_empty() {
            return Err(AdminError::NotFound(Missing::Respondent));
        }
        self.note_export(actor, app, "invitee.exported", app).await?;
        let responses = self.given_through(&invitations, None).await?;
        let invitations = self.as_shown(actor, invitations);
        Ok(RespondentExport { respondent: None, consents: Vec::new(), responses, invitations })
    }

    pub(crate) async fn note_export(
        &self,
        actor: &Actor,
        app: AppId,
        action: &str,
        subject: impl ToString,
    ) -> AdminResult<()> {
        let audit = self.audit(actor, Some(app), action, subject, &json!({}));
        Ok(self.apply(At::Instance, Change::new(move || vec![Write::Audit(audit)])).await?)
    }

    async fn invitations_of(&self, app: AppId, known: &[Known]) -> AdminResult<Vec<InvitationRow>> {
        let mut all: Vec<InvitationRow> = Vec::new();
        loop {
            let page = Page { after: all.last().map(|row| row.assignment_id), limit: EXPORT_ROWS };
            let next = self.store.list_invitations_of(app, known, page).await?;
            let is_last = next.len() < EXPORT_ROWS;
            all.extend(next);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The responses that completed these invitations, but for those of somebody else.
    async fn given_through(
        &self,
        invitations: &[InvitationRow],
        whose: Option<RespondentId>,
    ) -> AdminResult<Vec<ResponseRow>> {
        let mut given = Vec::new();
        for id in invitations.iter().filter_map(|row| row.response_id) {
            let row = self.store.find_response(id).await?;
            given.extend(row.filter(|row| row.respondent_id.is_none_or(|it| Some(it) == whose)));
        }
        given.sort_by_key(|row: &ResponseRow| row.response_id);
        Ok(given)
    }

    fn as_shown(&self, actor: &Actor, rows: Vec<InvitationRow>) -> Vec<Invitation> {
        let now = self.now();
        let shown = |row: InvitationRow| {
            let may_answer = actor.may(Scope::Write, row.app_id);
            self.shown(row, now, may_answer)
        };
        rows.into_iter().map(shown).collect()
    }

    /// Erases a respondent, and keeps or deletes the answers. If that takes long it continues in the background.
    pub async fn erase_respondent(
        &self,
        actor: &Actor,
        id: RespondentId,
        answers: Answers,
    ) -> AdminResult<Erased> {
        self.erase_respondent_within(actor, id, answers, ERASURE_CALL_MAX).await
    }

    /// The same, for at most this time and the part that is under way then.
    pub async fn erase_respondent_within(
        &self,
        actor: &Actor,
        id: RespondentId,
        answers: Answers,
        time: Duration,
    ) -> AdminResult<Erased> {
        let app = self.app_of_respondent(actor, Scope::Erase, id).await?;
        let audit = self.audit(actor, Some(app), "respondent.erased", id, &detail(answers));
        let erased = self.erase(app, Person::Respondent(id), answers, audit, Some(time)).await?;
        Ok(Erased { respondent_id: Some(id), ..erased })
    }

    /// Erases whoever is known by this, a respondent or somebody who was only invited.
    pub async fn erase_known(
        &self,
        actor: &Actor,
        app: AppId,
        known: Known,
        answers: Answers,
    ) -> AdminResult<Erased> {
        self.app_for(actor, Scope::Erase, app).await?;
        if let Some(id) = self.store.find_respondent_by(app, &known).await? {
            return self.erase_respondent(actor, id, answers).await;
        }
        let audit = self.audit(actor, Some(app), "invitee.erased", app, &detail(answers));
        let erased = self.erase(app, Person::Invitee(known.clone()), answers, audit, None).await?;
        // Whoever answered meanwhile has a profile now, and is erased with it.
        if let Some(id) = self.store.find_respondent_by(app, &known).await? {
            let more = self.erase_respondent(actor, id, answers).await?;
            return Ok(Erased {
                responses: erased.responses + more.responses,
                invitations: erased.invitations + more.invitations,
                ..more
            });
        }
        match erased == Erased::default() {
            true => Err(AdminError::NotFound(Missing::Respondent)),
            false => Ok(erased),
        }
    }

    /// It is done in parts, so that submissions need not wait long. What is left of a respondent after the time is erased
    /// in the background; an invitee is erased to the end.
    async fn erase(
        &self,
        app_id: AppId,
        person: Person,
        answers: Answers,
        audit: AuditRow,
        time: Option<Duration>,
    ) -> AdminResult<Erased> {
        let begun = Instant::now();
        let erasure = Erasure { app_id, person, answers, audit, limit: ERASURE_PART_ROWS };
        let mut erased = Erased::default();
        loop {
            let removed = self.watched(self.erasures.part(&erasure).await)?;
            erased.responses += removed.responses;
            erased.invitations += removed.invitations;
            if removed.done {
                return Ok(erased);
            }
            if time.is_some_and(|time| begun.elapsed() >= time) {
                break;
            }
        }
        self.erasures.left.notify_one();
        if let Person::Respondent(id) = erasure.person {
            let left = self.store.find_respondent(id).await?;
            erased.remaining = left.map(|it| it.flows.iter().map(|(_, count)| count).sum());
        }
        Ok(erased)
    }

    async fn respondent_for(
        &self,
        actor: &Actor,
        scope: Scope,
        id: RespondentId,
    ) -> AdminResult<Respondent> {
        self.app_of_respondent(actor, scope, id).await?;
        let found = self.store.find_respondent(id).await?;
        found.ok_or(AdminError::NotFound(Missing::Respondent))
    }

    async fn app_of_respondent(
        &self,
        actor: &Actor,
        scope: Scope,
        id: RespondentId,
    ) -> AdminResult<AppId> {
        let found = self.store.find_app_of_respondent(id).await?;
        let app = found.ok_or(AdminError::NotFound(Missing::Respondent))?;
        actor.need_in(scope, app, Missing::Respondent)?;
        Ok(app)
    }
}

/// What the audit log says of an erasure.
pub(crate) fn detail(answers: Answers) -> serde_json::Value {
    let word = match answers {
        Answers::Keep => "keep",
        Answers::Delete => "delete",
    };
    json!({"answers": word})
}
