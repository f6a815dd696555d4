//! Unsubscribing from the e-mails of an app.
//!
//! The id of an e-mail is random and is known to its recipient only. Opening the page changes
//! nothing, because mail scanners follow links; its button does, and so does the one click of a mail
//! program (RFC 8058). What is kept is a hash of the address, so that it is honoured even after the
//! person was erased.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use sluice_flow::id::{AppId, MailId};
use sluice_flow::invitation_email::InvitationEmail;
use sluice_store::{AddressHash, MailEnd, MailKind, MailRow, MailWrite, StoreResult};

use crate::core::Core;

/// The recipient of an e-mail, who may unsubscribe.
pub struct Unsubscription {
    core: Arc<Core>,
    mail: MailRow,
    /// The name of the app, or of the flow that a user gets notices of.
    pub name: String,
    /// The language of the e-mail, as a tag, if it was chosen.
    pub language: Option<String>,
    /// Whether nothing more is sent already.
    pub is_done: bool,
}

impl std::fmt::Debug for Unsubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unsubscription").finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn unsubscribe_url(&self, mail: MailId) -> String {
        format!("{}/u/{mail}", self.public_url)
    }

    /// The recipient of the e-mail with this id, unless it was removed.
    pub(crate) async fn unsubscription(
        self: &Arc<Self>,
        mail: &str,
    ) -> StoreResult<Option<Unsubscription>> {
        let Ok(id) = mail.parse() else { return Ok(None) };
        let Some(mail) = self.store.find_mail(id).await? else { return Ok(None) };
        let (Some(app), Some(flow)) = (mail.app_id, mail.flow_id) else { return Ok(None) };
        let (found, flow) = (self.store.find_app(app).await?, self.store.find_flow(flow).await?);
        let (Some(app), Some(flow)) = (found, flow) else { return Ok(None) };
        let (name, language) = match mail.kind {
            MailKind::Invitation => {
                let email = InvitationEmail::from_stored(flow.flow.invitation_email.as_deref());
                let definition = flow.current.and_then(|row| self.definitions.readable(&row));
                let of_flow = definition.map(|it| it.default_locale().to_owned());
                (app.row.name, email.language.or(of_flow))
            }
            MailKind::Notice => (flow.flow.name, None),
            MailKind::Password | MailKind::Endpoint => return Ok(None),
        };
        let is_done = mail.ended == Some(MailEnd::Unsubscribed);
        Ok(Some(Unsubscription { core: Arc::clone(self), mail, name, language, is_done }))
    }
}

impl Unsubscription {
    /// Whether it is about notices of one flow, and not about all e-mails of an app.
    pub fn is_notice(&self) -> bool {
        self.mail.kind == MailKind::Notice
    }

    /// Ends the e-mails of the app to this address, or the user's notices. Repeating it changes
    /// nothing.
    pub async fn confirm(&self) -> StoreResult<()> {
        let (core, mail) = (&self.core, &self.mail);
        let remove = MailWrite::Remove(mail.app_id, mail.mail_id);
        let (Some(app), Some(id)) = (mail.app_id, mail.assignment_id) else {
            return core.write_mail(vec![remove]).await;
        };
        let invitation = core.store.find_invitation(id, Some(app)).await?;
        // Without an address nothing can be sent anyway.
        let Some(email) = invitation.and_then(|it| it.invitee.email) else { return Ok(()) };
        let (app_id, mail_id) = (app, mail.mail_id);
        let address = address_hash(app, &email);
        core.write_mail(vec![MailWrite::Unsubscribe { app_id, mail_id, address }]).await
    }
}

/// The hash of an address within an app; the case of ASCII letters is ignored.
pub(super) fn address_hash(app: AppId, email: &str) -> AddressHash {
    Sha256::new()
        .chain_update(b"sluice unsubscribed address")
        .chain_update(app.uuid().as_bytes())
        .chain_update(email.trim().to_ascii_lowercase())
        .finalize()
        .into()
}
