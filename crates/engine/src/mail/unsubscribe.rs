//! Unsubscribing from the e-mails of an app.
//!
//! The id of an e-mail is random and is known to its recipient only. Opening the page changes
//! nothing, because mail scanners follow links; its button does, and so does the one click of a
//! mail program (RFC 8058). What is kept is a hash of the address, so that it is honoured even
//! after the person was erased. A person who was erased first can still unsubscribe: the hash of
//! their address is sealed in the row of their e-mail, where nobody without the master key can
//! compare it with an address.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sluice_flow::id::{AppId, MailId};
use sluice_flow::invitation_email::InvitationEmail;
use sluice_store::{AddressHash, MailEnd, MailKind, MailRow, MailWrite, StoreResult};

use super::subscription::language_of;
use crate::boxed;
use crate::core::Core;
use crate::verify::SecretPurpose;

/// The `detail` of an invitation's e-mail that was sent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct InvitationDetail {
    /// The hash of the recipient's address, sealed.
    #[serde(default)]
    address: Option<String>,
}

impl InvitationDetail {
    /// Absent without a master key.
    pub(super) fn sealed(core: &Core, row: &MailRow, address: &AddressHash) -> Option<String> {
        if row.detail.is_some() {
            return row.detail.clone();
        }
        let purpose = SecretPurpose::MailAddress(row.mail_id);
        let address = core.verifying.vault.seal(purpose, &STANDARD_NO_PAD.encode(address)).ok();
        address.and_then(|it| serde_json::to_string(&Self { address: Some(it) }).ok())
    }

    fn address(core: &Core, row: &MailRow) -> Option<AddressHash> {
        let detail: Self = serde_json::from_str(row.detail.as_deref()?).ok()?;
        let purpose = SecretPurpose::MailAddress(row.mail_id);
        let opened = core.verifying.vault.open(purpose, &detail.address?).ok()?;
        STANDARD_NO_PAD.decode(opened).ok()?.try_into().ok()
    }
}

/// The recipient of an e-mail, who may unsubscribe.
pub struct Unsubscription {
    core: Arc<Core>,
    mail: MailRow,
    /// The name of the app, or of the flow that the user gets notices about.
    pub name: String,
    /// The language of the e-mail, as a tag, if it was chosen.
    pub language: Option<String>,
    /// Whether sending has ended already.
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
            MailKind::Notice => (flow.flow.name, language_of(&mail)),
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
    #[boxed]
    pub async fn confirm(&self) -> StoreResult<()> {
        let (core, mail) = (&self.core, &self.mail);
        let remove = MailWrite::Remove(mail.app_id, mail.mail_id);
        let (Some(app), Some(id)) = (mail.app_id, mail.assignment_id) else {
            return core.write_mail(vec![remove]).await;
        };
        let invitation = core.store.find_invitation(id, Some(app)).await?;
        let email = invitation.and_then(|it| it.invitee.email);
        let address = email.map(|email| address_hash(app, &email));
        let (app_id, mail_id) = (app, mail.mail_id);
        // Without either, nothing was sent.
        let Some(address) = address.or_else(|| InvitationDetail::address(core, mail)) else {
            return Ok(());
        };
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
