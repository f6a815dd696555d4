//! The JSON of what is stored about a respondent: profile, consents, invitations, and the file with
//! everything.
//!
//! The admin API and the download of the console are both written from these types, so their fields
//! are the same. The admin API adds the schemas of its OpenAPI document.

use serde::Serialize;
use sluice_flow::id::{AppId, AssignmentId, FlowId, FlowVersionId, RespondentId, ResponseId};
use sluice_flow::invitation::InvitationState;
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::time::Timestamp;
use sluice_store::{ConsentRow, Respondent, StoreError};

use crate::admin::AdminResult;
use crate::invitations::Invitation;
use crate::mail_queue::MailStatus;
use crate::respondents::RespondentExport;
use crate::stored_response::ResponseJson;

/// All data stored about one respondent, or about an invitee who has not responded.
#[derive(Debug, Clone, Serialize)]
pub struct RespondentFile {
    /// Null for an invitee without linked responses.
    pub respondent: Option<RespondentJson>,
    pub consents: Vec<ConsentJson>,
    pub responses: Vec<ResponseJson>,
    pub invitations: Vec<InvitationJson>,
}

/// A profile.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RespondentJson {
    pub respondent_id: RespondentId,
    pub app_id: AppId,
    pub identities: Vec<IdentityJson>,
    /// The day that the id contains, if no consent is left.
    pub first_seen_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    /// Whether an erasure is in progress.
    pub erasing: bool,
}

/// An identity as it is stored.
#[derive(Debug, Clone, Serialize)]
pub struct IdentityJson {
    #[serde(rename = "type")]
    pub kind: IdentityType,
    pub value: String,
}

/// The consent to be linked to a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentJson {
    pub given_at: Timestamp,
    pub flow_id: FlowId,
    pub flow_version_id: FlowVersionId,
    pub response_id: ResponseId,
}

/// An invitation as administrators see it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InvitationJson {
    /// Null if the link is.
    pub flow_assignment_id: Option<AssignmentId>,
    pub flow_id: FlowId,
    /// Empty if the invitee was erased.
    pub identities: Vec<IdentityJson>,
    pub state: InvitationState,
    pub link: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub opened_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub response_id: Option<ResponseId>,
    /// The state of its e-mail.
    pub email: Option<MailStatus>,
}

impl RespondentExport {
    /// Fails if a column of a response that should hold JSON does not.
    pub fn into_file(self) -> AdminResult<RespondentFile> {
        let responses: Result<Vec<_>, _> = self.responses.iter().map(ResponseJson::new).collect();
        Ok(RespondentFile {
            respondent: self.respondent.map(RespondentJson::from),
            consents: self.consents.into_iter().map(ConsentJson::from).collect(),
            responses: responses?,
            invitations: self.invitations.into_iter().map(InvitationJson::from).collect(),
        })
    }
}

impl RespondentFile {
    /// Indented, for people.
    pub fn pretty(&self) -> AdminResult<Vec<u8>> {
        // The JSON of a response is raw, and only a parsed one is indented.
        let value = serde_json::to_value(self);
        let json = value.and_then(|value| serde_json::to_vec_pretty(&value));
        json.map_err(|error| {
            StoreError::Corrupt(format!("the file of a respondent: {error}")).into()
        })
    }
}

impl From<ProfileIdentity> for IdentityJson {
    fn from(known: ProfileIdentity) -> Self {
        Self { kind: known.kind, value: known.value }
    }
}

impl From<Respondent> for RespondentJson {
    fn from(respondent: Respondent) -> Self {
        let Respondent { row, identities, seen, .. } = respondent;
        Self {
            respondent_id: row.respondent_id,
            app_id: row.app_id,
            identities: identities.into_iter().map(IdentityJson::from).collect(),
            first_seen_at: seen.map_or(row.respondent_id.made_at(), |(first, _)| first),
            last_seen_at: seen.map(|(_, last)| last),
            erasing: row.erasing.is_some(),
        }
    }
}

impl From<ConsentRow> for ConsentJson {
    fn from(row: ConsentRow) -> Self {
        Self {
            given_at: row.response_id.made_at(),
            flow_id: row.flow_id,
            flow_version_id: row.flow_version_id,
            response_id: row.response_id,
        }
    }
}

impl From<Invitation> for InvitationJson {
    fn from(invitation: Invitation) -> Self {
        let flow_assignment_id = invitation.id();
        let Invitation { row, state, link, mail } = invitation;
        let identity = |kind| move |value| IdentityJson { kind, value };
        let user = row.invitee.user_id.map(identity(IdentityType::UserId));
        let email = row.invitee.email.map(identity(IdentityType::Email));
        Self {
            flow_assignment_id,
            flow_id: row.flow_id,
            identities: user.into_iter().chain(email).collect(),
            state,
            link,
            created_at: row.created_at,
            expires_at: row.times.expires_at,
            opened_at: row.times.opened_at,
            completed_at: row.times.completed_at,
            revoked_at: row.times.revoked_at,
            response_id: row.response_id,
            email: mail,
        }
    }
}
