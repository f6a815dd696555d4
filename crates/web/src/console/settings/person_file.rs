//! All that is kept of one person, as the JSON file that they can be given.

use serde_json::{Value, json};
use sluice_engine::rows::{ConsentRow, Respondent, ResponseRow};
use sluice_engine::{Invitation, RespondentExport};
use sluice_flow::submission::Admission;

pub(super) fn file(export: &RespondentExport) -> Vec<u8> {
    let whole = json!({
        "respondent": export.respondent.as_ref().map(respondent),
        "consents": export.consents.iter().map(consent).collect::<Vec<_>>(),
        "responses": export.responses.iter().map(response).collect::<Vec<_>>(),
        "invitations": export.invitations.iter().map(invitation).collect::<Vec<_>>(),
    });
    serde_json::to_vec_pretty(&whole).unwrap_or_default()
}

fn respondent(one: &Respondent) -> Value {
    let identities = one.identities.iter();
    let identities = identities.map(|known| json!({"type": known.of, "value": known.value}));
    json!({
        "respondentId": one.row.respondent_id,
        "appId": one.row.app_id,
        "identities": identities.collect::<Vec<_>>(),
        "firstSeenAt": one.seen.map(|(first, _)| first),
        "lastSeenAt": one.seen.map(|(_, last)| last),
    })
}

fn consent(row: &ConsentRow) -> Value {
    json!({
        "givenAt": row.response_id.made_at(),
        "flowId": row.flow_id,
        "flowVersionId": row.flow_version_id,
        "responseId": row.response_id,
    })
}

fn response(row: &ResponseRow) -> Value {
    let admission = match row.admission {
        Admission::Admitted => "admitted",
        Admission::CollectionOnly => "collection_only",
    };
    json!({
        "responseId": row.response_id,
        "flowId": row.flow_id,
        "flowVersionId": row.flow_version_id,
        "receivedAt": row.response_id.made_at(),
        "respondentAnalyticsAdmission": admission,
        "answers": as_stored(Some(&row.answers)),
        "identities": as_stored(row.identities.as_ref().map(|_| row.identities_with_proof()).as_ref()),
        "identityVerified": row.identity_verified,
        "metadata": {"tags": as_stored(row.tags.as_ref())},
        "context": as_stored(row.context.as_ref()),
        "flowAssignmentId": row.flow_assignment_id,
    })
}

fn invitation(one: &Invitation) -> Value {
    let row = &one.row;
    json!({
        "flowAssignmentId": one.id(),
        "flowId": row.flow_id,
        "userId": row.invitee.user_id,
        "email": row.invitee.email,
        "createdAt": row.created_at,
        "expiresAt": row.times.expires_at,
        "openedAt": row.times.opened_at,
        "completedAt": row.times.completed_at,
        "revokedAt": row.times.revoked_at,
        "responseId": row.response_id,
    })
}

/// JSON that is kept as a text, as the JSON that it is.
fn as_stored(text: Option<&String>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}
