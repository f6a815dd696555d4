//! Respondents: finding, showing, exporting and erasing them.
//!
//! The store creates a profile in the write of the first response that is linked to it. An invitee
//! may have none; they are exported and erased by the identities in their invitations. Nothing here
//! writes an identity: audit entries name a respondent only by id, and an invitee without a profile
//! by their app.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::{AppId, RespondentId, ResponseId};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_store::{
    AnswersOnErasure, AuditRow, ConsentRow, Erasure, ErasureTarget, InvitationRow, Page,
    Respondent, ResponseRow, Scope,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::erasure::{ERASURE_CALL_MAX, ERASURE_PART_ROWS, detail};
use crate::handle::{AppHandle, Permit};
use crate::invitations::Invitation;

/// The maximum number of consents shown with a profile; an export has all of them.
const CONSENTS_SHOWN_MAX: usize = 1_000;
/// The number of rows to read at a time for an export.
const EXPORT_ROWS: usize = 500;

/// All data stored about one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RespondentExport {
    /// `None` for an invitee without linked responses.
    pub respondent: Option<Respondent>,
    pub consents: Vec<ConsentRow>,
    /// Those linked to the respondent, and those given through their invitations that are linked to
    /// no respondent.
    pub responses: Vec<ResponseRow>,
    pub invitations: Vec<Invitation>,
}

/// The result of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Erased {
    /// `None` for an invitee without a profile.
    pub respondent_id: Option<RespondentId>,
    /// Responses that were unlinked or deleted.
    pub responses: u64,
    /// Invitations from which the identities were removed.
    pub invitations: u64,
    /// The number of responses left, if the erasure continues in the background.
    pub remaining: Option<u64>,
}

impl AppHandle {
    /// The app's respondents, ordered by the day they were first seen.
    #[boxed]
    pub async fn list_respondents(&self, page: Page<RespondentId>) -> AdminResult<Vec<Respondent>> {
        let core = self.permit.core(Scope::Read)?;
        Ok(core.store.list_respondents(self.app_id(), page).await?)
    }

    /// The respondent of the app with this identity, if there is one.
    #[boxed]
    pub async fn find_respondent(
        &self,
        of: IdentityType,
        value: &str,
    ) -> AdminResult<Option<Respondent>> {
        let core = self.permit.core(Scope::Read)?;
        match core.store.find_respondent_by(self.app_id(), &ProfileIdentity::new(of, value)).await?
        {
            Some(found) => Ok(core.store.find_respondent(found).await?),
            None => Ok(None),
        }
    }

    /// All data stored about the person with this identity: a respondent, or an invitee without a
    /// profile.
    #[boxed]
    pub async fn export_known(&self, known: &ProfileIdentity) -> AdminResult<RespondentExport> {
        let core = self.permit.core(Scope::Export)?;
        let app = self.app_id();
        if let Some(id) = core.store.find_respondent_by(app, known).await? {
            return RespondentHandle { permit: self.permit.clone(), id }.export().await;
        }
        let invitations = invitations_of(core, app, std::slice::from_ref(known)).await?;
        if invitations.is_empty() {
            return Err(AdminError::NotFound(Missing::Respondent));
        }
        self.permit.record_export(AuditAction::InviteeExported, app).await?;
        let responses = given_through(core, app, &invitations, None).await?;
        must_be_intact(core, &responses)?;
        let invitations = shown(&self.permit, core, invitations).await?;
        Ok(RespondentExport { respondent: None, consents: Vec::new(), responses, invitations })
    }

    /// Erases the person with this identity: a respondent, or an invitee without a profile.
    #[boxed]
    pub async fn erase_known(
        &self,
        known: ProfileIdentity,
        answers: AnswersOnErasure,
    ) -> AdminResult<Erased> {
        let core = self.permit.core(Scope::Erase)?;
        let app = self.app_id();
        let respondent = |id| RespondentHandle { permit: self.permit.clone(), id };
        if let Some(id) = core.store.find_respondent_by(app, &known).await? {
            return respondent(id).erase(answers).await;
        }
        let audit = self.permit.audit(AuditAction::InviteeErased, app, &detail(answers));
        let target = ErasureTarget::Invitee(known.clone());
        let erased = erase(core, app, target, answers, audit, None).await?;
        // An invitee who answered in the meantime has a profile now, and is erased with it.
        if let Some(id) = core.store.find_respondent_by(app, &known).await? {
            let more = respondent(id).erase(answers).await?;
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
}

/// A respondent by id, with proof of permission. The profile is not read: counting a respondent's
/// responses costs more than most operations on one.
#[derive(Clone)]
pub struct RespondentHandle {
    permit: Permit,
    id: RespondentId,
}

impl std::fmt::Debug for RespondentHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RespondentHandle").field(&self.id).finish()
    }
}

impl RespondentHandle {
    pub(crate) async fn open(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        id: RespondentId,
    ) -> AdminResult<Self> {
        let found = core.store.find_app_of_respondent(id).await?;
        let app = found.ok_or(AdminError::NotFound(Missing::Respondent))?;
        Ok(Self { permit: Permit::new(core, actor, scope, app, Missing::Respondent)?, id })
    }

    /// The profile with its first consents.
    #[boxed]
    pub async fn profile(&self) -> AdminResult<(Respondent, Vec<ConsentRow>)> {
        let core = self.permit.core(Scope::Read)?;
        let respondent = self.read(core).await?;
        let page = Page { after: None, limit: CONSENTS_SHOWN_MAX };
        let consents = core.store.list_consents(self.permit.app_id(), self.id, page).await?;
        Ok((respondent, consents))
    }

    /// The respondent's responses over all flows, oldest first.
    #[boxed]
    pub async fn list_responses(&self, page: Page<ResponseId>) -> AdminResult<Vec<ResponseRow>> {
        let core = self.permit.core(Scope::Read)?;
        Ok(core.store.list_responses_of(self.permit.app_id(), self.id, page).await?)
    }

    /// All data stored about the respondent. The audit log records the export.
    #[boxed]
    pub async fn export(&self) -> AdminResult<RespondentExport> {
        let core = self.permit.core(Scope::Export)?;
        let (app, id) = (self.permit.app_id(), self.id);
        let respondent = self.read(core).await?;
        self.permit.record_export(AuditAction::RespondentExported, id).await?;
        let invitations = invitations_of(core, app, &respondent.identities).await?;
        let mut responses = given_through(core, app, &invitations, Some(id)).await?;
        let mut consents: Vec<ConsentRow> = Vec::new();
        loop {
            let page =
                Page { after: consents.last().map(|row| row.response_id), limit: EXPORT_ROWS };
            let next = core.store.list_consents(app, id, page).await?;
            let is_last = next.len() < EXPORT_ROWS;
            consents.extend(next);
            if is_last {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = Page { after, limit: EXPORT_ROWS };
            let next = core.store.list_responses_of(app, id, page).await?;
            after = next.last().map(|row| row.response_id);
            let is_last = next.len() < EXPORT_ROWS;
            responses.extend(next);
            if is_last {
                break;
            }
        }
        responses.sort_by_key(|row| row.response_id);
        responses.dedup_by_key(|row| row.response_id);
        must_be_intact(core, &responses)?;
        let invitations = shown(&self.permit, core, invitations).await?;
        Ok(RespondentExport { respondent: Some(respondent), consents, responses, invitations })
    }

    /// Erases the respondent, and keeps or deletes the answers. If that takes long, it continues in
    /// the background.
    #[boxed]
    pub async fn erase(&self, answers: AnswersOnErasure) -> AdminResult<Erased> {
        self.erase_within(answers, ERASURE_CALL_MAX).await
    }

    /// The same, but stops after the part during which this time has passed.
    #[boxed]
    pub async fn erase_within(
        &self,
        answers: AnswersOnErasure,
        time: Duration,
    ) -> AdminResult<Erased> {
        let core = self.permit.core(Scope::Erase)?;
        let (app, id) = (self.permit.app_id(), self.id);
        let audit = self.permit.audit(AuditAction::RespondentErased, id, &detail(answers));
        let target = ErasureTarget::Respondent(id);
        let erased = erase(core, app, target, answers, audit, Some(time)).await?;
        Ok(Erased { respondent_id: Some(id), ..erased })
    }

    async fn read(&self, core: &Core) -> AdminResult<Respondent> {
        let found = core.store.find_respondent(self.id).await?;
        found.ok_or(AdminError::NotFound(Missing::Respondent))
    }
}

async fn invitations_of(
    core: &Core,
    app: AppId,
    known: &[ProfileIdentity],
) -> AdminResult<Vec<InvitationRow>> {
    let mut all: Vec<InvitationRow> = Vec::new();
    loop {
        let page = Page { after: all.last().map(|row| row.assignment_id), limit: EXPORT_ROWS };
        let next = core.store.list_invitations_of(app, known, page).await?;
        let is_last = next.len() < EXPORT_ROWS;
        all.extend(next);
        if is_last {
            return Ok(all);
        }
    }
}

/// The responses given through these invitations, except those of other respondents.
async fn given_through(
    core: &Core,
    app: AppId,
    invitations: &[InvitationRow],
    whose: Option<RespondentId>,
) -> AdminResult<Vec<ResponseRow>> {
    let ids: Vec<ResponseId> = invitations.iter().filter_map(|row| row.response_id).collect();
    let mut given = Vec::new();
    for ids in ids.chunks(EXPORT_ROWS) {
        given.extend(core.store.find_responses(app, ids).await?);
    }
    given.retain(|row| row.respondent_id.is_none_or(|it| Some(it) == whose));
    given.sort_by_key(|row| row.response_id);
    Ok(given)
}

/// A file about a person is complete and correct, or it is not created.
fn must_be_intact(core: &Core, responses: &[ResponseRow]) -> AdminResult<()> {
    let checked = responses.iter().try_for_each(ResponseRow::check_intact);
    Ok(checked.inspect_err(|damaged| core.store.damage().note(damaged))?)
}

async fn shown(
    permit: &Permit,
    core: &Core,
    rows: Vec<InvitationRow>,
) -> AdminResult<Vec<Invitation>> {
    let (app, now) = (permit.app_id(), core.now());
    let may_answer = permit.actor().may(Scope::Write, app);
    let invitations = rows.into_iter().map(|row| Invitation::new(core, row, now, may_answer));
    Ok(core.with_mail_status(app, invitations.collect()).await?)
}

/// Works in parts, so that submissions do not wait long. After the time limit, the background
/// erases the rest of a respondent; an invitee is always erased completely.
async fn erase(
    core: &Core,
    app_id: AppId,
    target: ErasureTarget,
    answers: AnswersOnErasure,
    audit: AuditRow,
    time: Option<Duration>,
) -> AdminResult<Erased> {
    core.begin_effect().await?;
    let begun = Instant::now();
    let erasure = Erasure { app_id, target, answers, audit, limit: ERASURE_PART_ROWS };
    let mut erased = Erased::default();
    loop {
        let removed = core.watched(core.erasures.part(&erasure).await)?;
        erased.responses += removed.responses;
        erased.invitations += removed.invitations;
        core.deliveries.wakes.mark(app_id);
        if removed.done {
            return Ok(erased);
        }
        if time.is_some_and(|time| begun.elapsed() >= time) {
            break;
        }
    }
    core.erasures.left.notify_one();
    if let ErasureTarget::Respondent(id) = erasure.target {
        let left = core.store.find_respondent(id).await?;
        erased.remaining = left.map(|it| it.flows.iter().map(|(_, count)| count).sum());
    }
    Ok(erased)
}
