//! All data about one respondent, as a JSON file to give to them.

use serde_json::{Value, json};
use sluice_engine::rows::{ConsentRow, Respondent};
use sluice_engine::{AdminResult, Invitation, RespondentExport, ResponseJson};

pub(super) fn file(export: &RespondentExport) -> AdminResult<Vec<u8>> {
    let responses: Result<Vec<_>, _> = export.responses.iter().map(ResponseJson::new).collect();
    let whole = json!({
        "respondent": export.respondent.as_ref().map(respondent),
        "consents": export.consents.iter().map(consent).collect::<Vec<_>>(),
        "responses": responses?,
        "invitations": export.invitations.iter().map(invitation).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_vec_pretty(&whole).unwrap_or_default())
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
