//! Invitations by e-mail, and their reminders.
//!
//! The text belongs to the flow, so it can be corrected before reminders are sent. Whether an
//! invitation still needs an e-mail is decided when the e-mail is due: it must be open, and its
//! person neither erased nor unsubscribed. If its flow is closed or full, it waits until that opens
//! again; if its flow is archived, it ends.

use std::collections::HashMap;

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, AssignmentId};
use sluice_flow::invitation::InvitationState;
use sluice_flow::invitation_email::InvitationEmail;
use sluice_flow::lifecycle::{FlowStatus, flow_status};
use sluice_flow::phrase::fill;
use sluice_flow::time::{DAY_MILLIS, Timestamp};
use sluice_store::{
    App, At, FlowRow, FlowState, InvitationRow, MailEnd, MailKind, MailRow, MailWrite, Scope,
    StoreResult, Write,
};

use super::letter::{Letter, LetterPart};
use super::outbox::{Content, Outgoing, Plan, ended};
use super::unsubscribe::{InvitationDetail, address_hash};
use super::words::Words;
use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::fault::faultless;
use crate::handle::FlowHandle;
use crate::invitations::Invitation;
use crate::mail_queue::{MailStatus, no_mail_server, reopened};

/// The most invitations whose e-mails are read at once.
const MAILS_AT_ONCE: usize = 500;

/// When a flow is open.
enum Opening {
    Now,
    At(Option<Timestamp>),
    /// It is closed or has all its responses, or its last version was retired; its author may
    /// open it again.
    Unknown,
    /// It is archived.
    Never,
}

fn opening(flow: &FlowState, now: Timestamp) -> Opening {
    if flow.flow.archived_at.is_some() {
        return Opening::Never;
    }
    match flow_status(&flow.flow.live, now) {
        _ if flow.current.is_none() => Opening::Unknown,
        (FlowStatus::Open, _) => Opening::Now,
        (FlowStatus::Scheduled, next_at) => Opening::At(next_at),
        (FlowStatus::Closed, _) => Opening::Unknown,
    }
}

impl Core {
    /// When the flow is open, by its window and by the number of its responses.
    async fn flow_opening(&self, flow: &FlowState) -> StoreResult<Opening> {
        let by_window = opening(flow, self.now());
        let limits = flow.flow.limits()?;
        if !matches!(by_window, Opening::Now) || limits.close_after.is_none() {
            return Ok(by_window);
        }
        let (app, flow) = (flow.flow.app_id, flow.flow.flow_id);
        let counted = self.store.read_closing_counts(app, &[flow]).await?;
        Ok(match counted.first().is_none_or(|row| row.counts.closes(&limits)) {
            true => Opening::Unknown,
            false => Opening::Now,
        })
    }
}

impl FlowHandle {
    /// The text of the e-mails that invite people to the flow.
    pub fn invitation_email(&self) -> AdminResult<InvitationEmail> {
        self.permit.core(Scope::Read)?;
        Ok(InvitationEmail::from_stored(self.flow.invitation_email.as_deref()))
    }

    /// Sets it, and when people who were invited before are reminded.
    #[boxed]
    pub async fn set_invitation_email(&self, email: &InvitationEmail) -> AdminResult<()> {
        let faults = email.faults();
        faultless(faults.into_iter().map(|(field, what)| Fault::new(format!("/{field}"), what)))?;
        self.change(Scope::Write, |_, state| {
            let invitation_email = email.to_stored();
            let row = FlowRow { invitation_email, ..state.flow.clone() };
            let remind = MailWrite::Remind {
                app_id: row.app_id,
                flow_id: row.flow_id,
                after_millis: reminded(email, 1).then(|| reminder_millis(email)),
                count: email.reminders + 1,
            };
            let detail = json!({"invitationEmail": {"reminders": email.reminders}});
            let audit = self.permit.audit(AuditAction::FlowUpdated, row.flow_id, &detail);
            Ok((vec![Write::Flow(row), Write::Mail(remind), Write::Audit(audit)].into(), ()))
        })
        .await
    }

    /// Whether invitations to the flow can be sent by e-mail, or why not.
    pub fn may_mail_invitations(&self) -> AdminResult<()> {
        if !self.permit.core(Scope::Read)?.sends_mail() {
            return Err(no_mail_server());
        }
        match self.current {
            Some(_) => Ok(()),
            None => {
                let detail = "publish the flow before you send invitations to it";
                Err(AdminError::conflict("flow_not_published", detail))
            }
        }
    }

    /// Adds the state of the e-mails of invitations.
    #[boxed]
    pub async fn with_mail_status(
        &self,
        invitations: Vec<Invitation>,
    ) -> AdminResult<Vec<Invitation>> {
        let core = self.permit.core(Scope::Read)?;
        Ok(core.with_mail_status(self.app_id(), invitations).await?)
    }
}

impl Core {
    /// Adds the state of the e-mails of invitations.
    pub(crate) async fn with_mail_status(
        &self,
        app: AppId,
        mut invitations: Vec<Invitation>,
    ) -> StoreResult<Vec<Invitation>> {
        for part in invitations.chunks_mut(MAILS_AT_ONCE) {
            let ids: Vec<_> = part.iter().map(|it| it.row.assignment_id).collect();
            let mails = self.store.list_mails_of(app, &ids).await?;
            let mut mails: HashMap<Option<AssignmentId>, MailRow> =
                mails.into_iter().map(|row| (row.assignment_id, row)).collect();
            for it in part {
                it.mail = mails.remove(&Some(it.row.assignment_id)).map(MailStatus::from);
            }
        }
        Ok(invitations)
    }

    pub(super) async fn plan_invitation(&self, row: &MailRow) -> StoreResult<Plan> {
        let (Some(app), Some(flow), Some(id)) = (row.app_id, row.flow_id, row.assignment_id) else {
            return Ok(Plan::Remove);
        };
        let Some(invitation) = self.store.find_invitation(id, Some(app)).await? else {
            return Ok(Plan::Remove);
        };
        // The person was erased, but may still unsubscribe with an e-mail that they have.
        let Some(email) = invitation.invitee.email.clone() else {
            return Ok(match row.sent {
                0 => Plan::Remove,
                _ => Plan::Settle(Box::new(ended(row, MailEnd::Stopped))),
            });
        };
        let now = self.now();
        let state = invitation.times.state(now);
        if !matches!(state, InvitationState::Sent | InvitationState::Opened) {
            return Ok(Plan::Settle(Box::new(ended(row, MailEnd::Stopped))));
        }
        let (found, app_row) = (self.store.find_flow(flow).await?, self.store.find_app(app).await?);
        let (Some(flow), Some(app_row)) = (found, app_row) else { return Ok(Plan::Remove) };
        match self.flow_opening(&flow).await? {
            Opening::Now => {}
            Opening::At(next_at) => {
                let waiting = MailRow { next_at, attempts: 0, reply: None, ..row.clone() };
                return Ok(Plan::Settle(Box::new(waiting)));
            }
            Opening::Unknown => {
                let waiting = MailRow { attempts: 0, ..ended(row, MailEnd::Closed) };
                return Ok(Plan::Settle(Box::new(waiting)));
            }
            Opening::Never => return Ok(Plan::Settle(Box::new(ended(row, MailEnd::Stopped)))),
        }
        if self.store.is_unsubscribed(app, &address_hash(app, &email)).await? {
            return Ok(Plan::Settle(Box::new(ended(row, MailEnd::Unsubscribed))));
        }
        let text = InvitationEmail::from_stored(flow.flow.invitation_email.as_deref());
        // A reminder that waited for another attempt, and is no longer wanted.
        if row.sent > 0 && !reminded(&text, row.sent) {
            let over = MailRow { next_at: None, attempts: 0, reply: None, ..row.clone() };
            return Ok(Plan::Settle(Box::new(over)));
        }
        let unsubscribe = self.unsubscribe_url(row.mail_id);
        let letter = self.invitation_letter(row, &invitation, &flow, &app_row, &text)?;
        let next_at = reminded(&text, row.sent + 1)
            .then(|| Timestamp::from_millis(now.as_millis() + reminder_millis(&text)));
        let (sent, sent_at) = (row.sent + 1, Some(now));
        let detail = InvitationDetail::sealed(self, row, &address_hash(app, &email));
        let after =
            MailRow { detail, sent, sent_at, next_at, attempts: 0, reply: None, ..row.clone() };
        let (content, unsubscribe) = (Content::Letter(letter), Some(unsubscribe));
        Ok(Plan::Send(Box::new(Outgoing { to: email, content, unsubscribe, after })))
    }

    /// Sends invitations that were found to wait for a closed flow, if that was opened meanwhile.
    pub(super) async fn recheck_opening(&self, row: &MailRow) -> StoreResult<()> {
        let Some(flow) = row.flow_id else { return Ok(()) };
        let Some(flow) = self.store.find_flow(flow).await? else { return Ok(()) };
        match self.flow_opening(&flow).await? {
            Opening::Unknown => Ok(()),
            Opening::Never => self.apply(At::Instance, vec![reopened(&flow.flow, None)]).await,
            Opening::Now | Opening::At(_) => {
                let at = Some(self.now());
                self.apply(At::Instance, vec![reopened(&flow.flow, at)]).await
            }
        }
    }

    /// The row of an e-mail that was just sent, with the reminders that the flow has now.
    pub(super) async fn with_new_reminders(&self, row: MailRow) -> StoreResult<MailRow> {
        let (Some(flow), Some(sent_at)) = (row.flow_id, row.sent_at) else { return Ok(row) };
        // It was not sent, and is tried again.
        if row.kind != MailKind::Invitation || row.attempts > 0 || row.ended.is_some() {
            return Ok(row);
        }
        let Some(flow) = self.store.find_flow(flow).await? else { return Ok(row) };
        let text = InvitationEmail::from_stored(flow.flow.invitation_email.as_deref());
        let next_at = reminded(&text, row.sent)
            .then(|| Timestamp::from_millis(sent_at.as_millis() + reminder_millis(&text)));
        Ok(MailRow { next_at, ..row })
    }

    fn invitation_letter(
        &self,
        row: &MailRow,
        invitation: &InvitationRow,
        flow: &FlowState,
        app: &App,
        text: &InvitationEmail,
    ) -> StoreResult<Letter> {
        let definition = flow.current.as_ref().map(|row| self.definitions.read(row)).transpose()?;
        let locale = definition.as_ref().map_or("en", |it| it.default_locale());
        let words = Words::for_language(text.language.as_deref().unwrap_or(locale));
        let title = definition.as_ref().map_or(flow.flow.name.as_str(), |it| it.title());
        let subject = match text.subject.trim() {
            "" => fill(words.invitation_subject, &[("title", title)]),
            subject => subject.to_owned(),
        };
        let is_reminder = row.sent > 0;
        let mut parts = Vec::new();
        if is_reminder {
            parts.push(LetterPart::Text(words.reminder_text.to_owned()));
        }
        parts.push(match text.text.trim() {
            "" => LetterPart::Text(words.invitation_text.to_owned()),
            text => LetterPart::Markdown(text.to_owned()),
        });
        let (base, flow_id, id) = (&self.public_url, flow.flow.flow_id, invitation.assignment_id);
        parts.push(LetterPart::Button {
            label: words.answer.to_owned(),
            url: format!("{base}/f/{flow_id}?flowAssignmentId={id}"),
        });
        let mut hint = words.personal.to_owned();
        if let Some(end) = invitation.times.expires_at {
            // The last day on which it works at every hour.
            let day = Timestamp::from_millis(end.as_millis() - 1).day().to_string();
            hint = format!("{hint} {}", fill(words.until, &[("day", &day)]));
        }
        parts.push(LetterPart::Text(hint));
        let reason = fill(words.reason, &[("app", &app.row.name)]);
        let leave = LetterPart::Link {
            label: words.unsubscribe.to_owned(),
            url: self.unsubscribe_url(row.mail_id),
        };
        Ok(Letter {
            words,
            subject: match is_reminder {
                true => fill(words.reminder, &[("subject", &subject)]),
                false => subject,
            },
            parts,
            footer: vec![LetterPart::Text(reason), leave],
        })
    }
}

/// Whether a person who was sent this many e-mails is reminded.
fn reminded(text: &InvitationEmail, sent: u32) -> bool {
    sent <= text.reminders
}

fn reminder_millis(text: &InvitationEmail) -> i64 {
    i64::from(text.reminder_days) * DAY_MILLIS
}
