//! Invitations: a flow assigned to people, each with a personal link that accepts one response.
//!
//! Only administrators see who is invited: faults name lines and fields, the audit log records
//! counts, and neither contains a user id or an e-mail address. How a response changes its
//! invitation is decided in [`crate::intake`] and by the store, in one transaction with the
//! response.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, AssignmentId, FlowId};
use sluice_flow::invitation::{
    EMAIL, InvitationState, InvitationTimes, Invitee, InviteeField, USER_ID, day_of,
};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, InvitationCounts, InvitationPosition, InvitationQuery, InvitationRow, InvitationStep,
    Scope, StoreResult, Write,
};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::faultless;
use crate::handle::{FlowHandle, Permit, must_be_in_use};
use crate::hosted::HostedFlow;
use crate::ids::random_ids;
use crate::mail_queue::{MailStatus, queued_invitations};

/// The maximum number of faults in one reply.
const FAULTS_MAX: usize = 1_000;
/// The number of invitations that an export reads at a time, and its maximum.
const EXPORT_PAGE: usize = 1_000;
const EXPORT_MAX: usize = 200_000;

/// An invitation to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    pub invitee: Invitee,
    /// `None` means that it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Its line in a file, so that faults can name it.
    pub line: Option<u64>,
}

impl NewInvitation {
    /// From identities as in a submission, with `type` and `value`.
    pub fn from_identities(
        identities: Vec<(String, String)>,
        expires_at: Option<Timestamp>,
    ) -> AdminResult<Self> {
        let (mut invitee, mut faults) = (Invitee::default(), Vec::new());
        for (index, (kind, value)) in identities.into_iter().enumerate() {
            let at = |field: &str| format!("/identities/{index}/{field}");
            let place = match kind.as_str() {
                USER_ID => &mut invitee.user_id,
                EMAIL => &mut invitee.email,
                _ => {
                    let what = format!("must be \"{USER_ID}\" or \"{EMAIL}\"");
                    faults.push(Fault::new(at("type"), what));
                    continue;
                }
            };
            if place.replace(value).is_some() {
                faults.push(Fault::new(at("type"), "must occur at most once"));
            }
        }
        faultless(faults)?;
        Ok(Self { invitee, expires_at, line: None })
    }

    fn faults(&self, now: Timestamp) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self
            .invitee
            .faults()
            .into_iter()
            .map(|(part, what)| match (part, self.line) {
                (InviteeField::Whole, _) => self.fault("", what),
                (InviteeField::UserId, Some(_)) => self.fault("/userId", what),
                (InviteeField::Email, Some(_)) => self.fault("/email", what),
                (InviteeField::UserId, None) => self.fault("", format!("the userId {what}")),
                (InviteeField::Email, None) => self.fault("", format!("the {EMAIL} {what}")),
            })
            .collect();
        if self.expires_at.is_some_and(|end| end <= now) {
            let what = "must be in the future";
            faults.push(match self.line {
                Some(_) => self.fault("/expiresAt", what),
                None => Fault::new("/expiresAt", what),
            });
        }
        faults
    }

    /// A fault of this invitation: by its line in a file, otherwise in the identities of the body.
    fn fault(&self, field: &str, what: impl Into<String>) -> Fault {
        match self.line {
            Some(line) => Fault::new(format!("/{line}{field}"), what),
            None => Fault::new("/identities", what),
        }
    }
}

/// How to treat people who have an open invitation to the same flow, or are in one list twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duplicates {
    #[default]
    Refuse,
    /// Omit them.
    Skip,
    /// Invite them again.
    Allow,
}

/// An invitation as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub row: InvitationRow,
    pub state: InvitationState,
    /// `None` while the invitation is open, for an actor who may not answer for others (`write`).
    pub link: Option<String>,
    /// Only after [`FlowHandle::with_mail_status`], if it was sent by e-mail.
    pub mail: Option<MailStatus>,
}

impl Invitation {
    /// An invitation, with its link if the actor may answer for others or the link can no longer be
    /// used.
    pub(crate) fn new(core: &Core, row: InvitationRow, now: Timestamp, may_answer: bool) -> Self {
        let (base, flow, id) = (&core.public_url, row.flow_id, row.assignment_id);
        let state = row.times.state(now);
        let is_open = matches!(state, InvitationState::Sent | InvitationState::Opened);
        let link =
            (may_answer || !is_open).then(|| format!("{base}/f/{flow}?flowAssignmentId={id}"));
        Self { state, link, row, mail: None }
    }

    /// The id, which is part of the link; `None` if the link is.
    pub fn id(&self) -> Option<AssignmentId> {
        self.link.as_ref().map(|_| self.row.assignment_id)
    }
}

/// The end of a page of a list, as an opaque text. It has half of the bits of the last id: enough
/// to continue after it, but useless for answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvitationCursor(InvitationPosition);

impl InvitationCursor {
    pub fn at(invitation: &Invitation) -> Self {
        let InvitationRow { created_at, assignment_id, .. } = invitation.row;
        let bits = assignment_id.uuid().as_u128() | u128::from(u64::MAX);
        Self(InvitationPosition { created_at, assignment_id: AssignmentId::from_random(bits) })
    }
}

impl fmt::Display for InvitationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = self.0.assignment_id.uuid().as_u128() >> u64::BITS;
        write!(f, "{}-{half:x}", self.0.created_at.as_millis())
    }
}

impl FromStr for InvitationCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (millis, half) = text.rsplit_once('-').ok_or(())?;
        let created_at = Timestamp::from_millis(millis.parse().map_err(|_| ())?);
        let half = u64::from_str_radix(half, 16).map_err(|_| ())?;
        let bits = u128::from(half) << u64::BITS | u128::from(u64::MAX);
        Ok(Self(InvitationPosition { created_at, assignment_id: AssignmentId::from_random(bits) }))
    }
}

impl FlowHandle {
    /// Creates all of these invitations, or none and returns every fault. With `check_only` none is
    /// created; the result shows what would have been, but its ids are not valid.
    #[boxed]
    pub async fn invite(
        &self,
        new: &[NewInvitation],
        duplicates: Duplicates,
        check_only: bool,
    ) -> AdminResult<Vec<Invitation>> {
        self.invite_by(new, duplicates, check_only, false).await
    }

    /// The same, and the server sends each of them by e-mail. All need an address, and the flow
    /// must be published.
    #[boxed]
    pub async fn invite_by_mail(
        &self,
        new: &[NewInvitation],
        duplicates: Duplicates,
        check_only: bool,
    ) -> AdminResult<Vec<Invitation>> {
        self.may_mail_invitations()?;
        let without = new.iter().filter(|new| new.invitee.email.is_none());
        let what = "must have an e-mail address to be invited by e-mail";
        faultless(truncated(without.map(|new| new.fault("", what)).collect()))?;
        self.invite_by(new, duplicates, check_only, true).await
    }

    async fn invite_by(
        &self,
        new: &[NewInvitation],
        duplicates: Duplicates,
        check_only: bool,
        is_mailed: bool,
    ) -> AdminResult<Vec<Invitation>> {
        let core = self.permit.core(Scope::Write)?;
        let (app, flow) = (self.app_id(), self.flow_id());
        retry_on_conflict(|is_retry| async move {
            let state = if is_retry { self.read_again().await? } else { self.clone() };
            must_be_in_use(&state.flow)?;
            let chosen = chosen(core, app, flow, new, duplicates).await?;
            let created_at = core.now();
            let ids = random_ids(chosen.len());
            let row = |(new, id): (&NewInvitation, u128)| InvitationRow {
                app_id: app,
                flow_id: flow,
                assignment_id: AssignmentId::from_random(id),
                invitee: new.invitee.clone(),
                created_at,
                times: InvitationTimes { expires_at: new.expires_at, ..InvitationTimes::default() },
                response_id: None,
            };
            let rows: Vec<InvitationRow> = chosen.into_iter().zip(ids).map(row).collect();
            let shown = |row| Invitation::new(core, row, created_at, true);
            let made = rows.iter().cloned().map(shown).collect();
            if check_only || rows.is_empty() {
                return Ok(made);
            }
            let mut detail = json!({"count": rows.len()});
            let mails = is_mailed.then(|| queued_invitations(&rows));
            if is_mailed {
                detail["byEmail"] = true.into();
            }
            let audit = self.permit.audit(AuditAction::InvitationsCreated, flow, &detail);
            let rows = [Write::Invitations(rows), Write::Audit(audit)];
            let rows: Vec<Write> = rows.into_iter().chain(mails).collect();
            self.permit.change_quietly(Scope::Write, state.revision, rows).await?;
            Ok(made)
        })
        .await
    }

    /// The flow's invitations in creation order, in one state or in all.
    #[boxed]
    pub async fn list_invitations(
        &self,
        state: Option<InvitationState>,
        after: Option<InvitationCursor>,
        limit: usize,
    ) -> AdminResult<Vec<Invitation>> {
        let core = self.permit.core(Scope::Read)?;
        let (app_id, flow_id) = (self.app_id(), self.flow_id());
        let (now, after) = (core.now(), after.map(|cursor| cursor.0));
        let query = InvitationQuery { app_id, flow_id, state, now, after, limit };
        let rows = core.store.list_invitations(&query).await?;
        let may_answer = self.may(Scope::Write);
        Ok(rows.into_iter().map(|row| Invitation::new(core, row, now, may_answer)).collect())
    }

    /// Every invitation of the flow. Someone with all links could answer for every invited person,
    /// so it needs `write` as well as `export`, and the audit log records it.
    #[boxed]
    pub async fn export_invitations(&self) -> AdminResult<Vec<Invitation>> {
        let core = self.permit.core(Scope::Export)?;
        let (app_id, flow_id) = (self.app_id(), self.flow_id());
        self.permit.actor().need_in(Scope::Write, app_id, Missing::Flow)?;
        self.permit.record_export(AuditAction::InvitationsExported, flow_id).await?;
        let now = core.now();
        let mut all: Vec<Invitation> = Vec::new();
        loop {
            let after = all.last().map(|last| InvitationCursor::at(last).0);
            let (state, limit) = (None, EXPORT_PAGE);
            let query = InvitationQuery { app_id, flow_id, state, now, after, limit };
            let rows = core.store.list_invitations(&query).await?;
            let is_last = rows.len() < EXPORT_PAGE;
            all.extend(rows.into_iter().map(|row| Invitation::new(core, row, now, true)));
            if is_last || all.len() >= EXPORT_MAX {
                return Ok(all);
            }
        }
    }

    /// The number of the flow's invitations in each state.
    #[boxed]
    pub async fn count_invitations(&self) -> AdminResult<InvitationCounts> {
        let core = self.permit.core(Scope::Read)?;
        Ok(core.store.count_invitations(self.app_id(), self.flow_id(), core.now()).await?)
    }
}

/// An invitation, with proof of permission.
#[derive(Clone)]
pub struct InvitationHandle {
    permit: Permit,
    row: InvitationRow,
}

impl std::fmt::Debug for InvitationHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InvitationHandle").finish_non_exhaustive()
    }
}

impl InvitationHandle {
    pub(crate) async fn open(
        core: &Arc<Core>,
        actor: &Actor,
        scope: Scope,
        id: AssignmentId,
    ) -> AdminResult<Self> {
        let row = read_invitation(core, id).await?;
        let permit = Permit::new(core, actor, scope, row.app_id, Missing::Invitation)?;
        Ok(Self { permit, row })
    }

    /// The invitation as the holder may see it.
    pub fn shown(&self) -> AdminResult<Invitation> {
        let core = self.permit.core(Scope::Read)?;
        let may_answer = self.permit.actor().may(Scope::Write, self.row.app_id);
        Ok(Invitation::new(core, self.row.clone(), core.now(), may_answer))
    }

    /// The same, with the state of its e-mail.
    #[boxed]
    pub async fn shown_with_mail(&self) -> AdminResult<Invitation> {
        let core = self.permit.core(Scope::Read)?;
        let ids = [self.row.assignment_id];
        let mails = core.store.list_mails_of(self.row.app_id, &ids).await?;
        let mail = mails.into_iter().next().map(MailStatus::from);
        Ok(Invitation { mail, ..self.shown()? })
    }

    /// Revokes the invitation; idempotent. A used invitation stays used.
    #[boxed]
    pub async fn revoke(&self) -> AdminResult<()> {
        let core = self.permit.core(Scope::Write)?;
        let (app, id) = (self.row.app_id, self.row.assignment_id);
        retry_on_conflict(|is_retry| async move {
            let row = if is_retry { read_invitation(core, id).await? } else { self.row.clone() };
            if row.times.completed_at.is_some() {
                let detail = "this invitation was used; it can no longer be revoked";
                return Err(AdminError::conflict("invitation_used", detail));
            }
            if row.times.revoked_at.is_some() {
                return Ok(());
            }
            let expected = self.permit.current_revision().await?;
            let detail = json!({"flowId": row.flow_id});
            let audit = self.permit.audit(AuditAction::InvitationRevoked, id, &detail);
            let step = InvitationStep::Revoke { app, assignment: id, at: core.now() };
            let rows = vec![Write::Invitation(step), Write::Audit(audit)];
            self.permit.change_quietly(Scope::Write, expected, rows).await
        })
        .await
    }
}

async fn read_invitation(core: &Core, id: AssignmentId) -> AdminResult<InvitationRow> {
    core.store.find_invitation(id, None).await?.ok_or(AdminError::NotFound(Missing::Invitation))
}

/// The invitations to create, if none has a fault.
async fn chosen<'n>(
    core: &Core,
    app: AppId,
    flow: FlowId,
    new: &'n [NewInvitation],
    duplicates: Duplicates,
) -> AdminResult<Vec<&'n NewInvitation>> {
    let now = core.now();
    let mut faults: Vec<Fault> = new.iter().flat_map(|new| new.faults(now)).collect();
    let mut chosen: Vec<&NewInvitation> = new.iter().collect();
    if duplicates != Duplicates::Allow {
        let mut seen = HashSet::new();
        let invitees = new.iter().map(|new| new.invitee.clone()).collect();
        let invited = core.store.are_invited(app, flow, now, invitees).await?;
        let is_double = |(new, invited): (&NewInvitation, bool)| {
            let user = new.invitee.user_id.clone().map(|user| (USER_ID, user));
            let email = new.invitee.email_key().map(|email| (EMAIL, email));
            let known: Vec<_> = [user, email].into_iter().flatten().collect();
            let twice = known.iter().any(|known| seen.contains(known));
            seen.extend(known);
            match (invited, twice) {
                (true, _) => Some("has an open invitation to this flow already"),
                (_, true) => Some("is invited on an earlier line, too"),
                _ => None,
            }
        };
        let doubles: Vec<_> = new.iter().zip(invited).map(is_double).collect();
        if duplicates == Duplicates::Refuse {
            let double = doubles.iter().zip(new).filter_map(|(why, new)| why.zip(Some(new)));
            faults.extend(double.map(|(why, new)| {
                new.fault("", format!("{why}; duplicates=skip skips such people"))
            }));
        }
        let left = chosen.into_iter().zip(doubles).filter(|(_, double)| double.is_none());
        chosen = left.map(|(new, _)| new).collect();
    }
    faults.sort_by_key(line_of);
    faultless(truncated(faults))?;
    Ok(chosen)
}

/// What the page of an invitation needs.
impl HostedFlow {
    /// The current state of an invitation to this flow; `None` if the flow has none with this id.
    /// Records nothing.
    #[boxed]
    pub async fn invitation_state(&self, assignment: &str) -> StoreResult<Option<InvitationState>> {
        let row = self.invitation(assignment).await?;
        Ok(row.map(|row| row.times.state(self.core.now())))
    }

    /// Records the day on which an invitation's page was opened, and returns the invitation's new
    /// state; `None` if the flow has none with this id. Never called for a GET: mail scanners
    /// follow links. A preview records nothing.
    #[boxed]
    pub async fn mark_opened(&self, assignment: &str) -> StoreResult<Option<InvitationState>> {
        if self.is_preview() {
            return Ok(None);
        }
        let Some(row) = self.invitation(assignment).await? else { return Ok(None) };
        let (app, assignment, now) = (row.app_id, row.assignment_id, self.core.now());
        match row.times.state(now) {
            InvitationState::Sent => {
                let step = InvitationStep::Open { app, assignment, at: day_of(now) };
                self.core.apply(At::Instance, vec![Write::Invitation(step)]).await?;
                Ok(Some(InvitationState::Opened))
            }
            state => Ok(Some(state)),
        }
    }

    async fn invitation(&self, assignment: &str) -> StoreResult<Option<InvitationRow>> {
        let Ok(assignment) = assignment.parse() else { return Ok(None) };
        let found = self.core.store.find_invitation(assignment, Some(self.app().app_id)).await?;
        Ok(found.filter(|row| row.flow_id == self.flow_id))
    }
}

/// The line in a file that a fault points to.
fn line_of(fault: &Fault) -> u64 {
    let line = fault.pointer.split('/').nth(1).and_then(|line| line.parse().ok());
    line.unwrap_or_default()
}

/// The first faults, and the number of the rest.
pub(crate) fn truncated(mut faults: Vec<Fault>) -> Vec<Fault> {
    let more = faults.len().saturating_sub(FAULTS_MAX);
    faults.truncate(FAULTS_MAX);
    if more > 0 {
        faults.push(Fault::new("", format!("has {more} more faults, which are not listed")));
    }
    faults
}
