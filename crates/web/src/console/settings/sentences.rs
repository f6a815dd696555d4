//! Entries of the audit log as sentences.

use serde_json::Value;
use sluice_engine::rows::AuditRow;

/// What was done, without who did it.
pub(super) fn told(row: &AuditRow) -> String {
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
    let count = |name: &str| detail[name].as_u64().unwrap_or_default();
    let quoted = |name: &str| format!("“{}”", text(name));
    match row.action.as_str() {
        "app.created" => format!("created the app {}", quoted("name")),
        "app.updated" => format!("changed the app’s settings: {}", names(&detail)),
        "key.created" => "created an API key".to_owned(),
        "key.revoked" => "revoked an API key".to_owned(),
        "identity_key.created" => "created a key for identity tokens".to_owned(),
        "identity_key.revoked" => "revoked a key for identity tokens".to_owned(),
        "identity_key.resealed" => "re-encrypted a signing secret".to_owned(),
        "flow.created" => format!("created the flow {}", quoted("name")),
        "flow.updated" => format!("changed a flow’s {}", names(&detail)),
        "flow.archived" => "archived a flow".to_owned(),
        "flow.published" => format!("published version {} of a flow", count("number")),
        "flow.republished" => {
            format!("republished an earlier version as version {}", count("number"))
        }
        "flow_version.retired" => format!("retired version {} of a flow", count("number")),
        "draft.saved" => "edited a draft".to_owned(),
        "draft.discarded" => "discarded a draft".to_owned(),
        "response.deleted" => "deleted a response".to_owned(),
        "responses.exported" => "exported responses".to_owned(),
        "respondent.exported" => "exported the data of a respondent".to_owned(),
        "respondent.erased" => format!("erased a respondent{}", answers(&text("answers"))),
        "invitee.exported" => "exported the data of an invited person".to_owned(),
        "invitee.erased" => format!("erased an invited person{}", answers(&text("answers"))),
        "invitations.created" => match count("count") {
            1 => "invited 1 person".to_owned(),
            people => format!("invited {people} people"),
        },
        "invitation.revoked" => "revoked an invitation".to_owned(),
        "retention.enforced" => {
            format!("deleted {} expired responses", count("responses"))
        }
        "token.created" => format!("created the admin token {}", quoted("name")),
        "token.revoked" => format!("revoked the admin token {}", quoted("name")),
        "user.created" => format!("added {} as {}", text("email"), text("role")),
        "user.updated" => format!("renamed {} to {}", text("email"), quoted("name")),
        "user.disabled" => format!("disabled {}", text("email")),
        "user.enabled" => format!("enabled {}", text("email")),
        "user.role_changed" => role(&detail),
        "user.link_made" => format!("created a link for {} to set a password", text("email")),
        "user.second_factor_enabled" => "turned on their second factor".to_owned(),
        "user.second_factor_disabled" => "turned off their second factor".to_owned(),
        "user.second_factor_reset" => format!("reset the second factor of {}", text("email")),
        "user.second_factor_resealed" => {
            "re-encrypted a second factor with a new master key".to_owned()
        }
        "session.code_used" => format!("used a second-factor code ({})", text("by")),
        "user.password_set" => "set a password".to_owned(),
        "user.subject_bound" => {
            "signed in with the organisation account for the first time".to_owned()
        }
        "session.started" => format!("signed in with {}", means(&text("by"))),
        "session.ended" => "signed out".to_owned(),
        other => other.replace(['.', '_'], " "),
    }
}

fn role(detail: &Value) -> String {
    let place = if detail["appId"].is_null() { " of all apps" } else { "" };
    let email = detail["email"].as_str().unwrap_or_default();
    match (detail["before"].as_str(), detail["role"].as_str()) {
        (_, Some(role)) => format!("made {email} {role}{place}"),
        (Some(before), None) => format!("took the role {before}{place} from {email}"),
        (None, None) => format!("left {email} without a role"),
    }
}

fn means(by: &str) -> &'static str {
    match by {
        "password" => "password",
        "token" => "an admin token",
        "link" => "a link to set a password",
        "openid" => "the organisation account",
        _ => "another method",
    }
}

fn answers(word: &str) -> &'static str {
    match word {
        "keep" => ", and kept the answers",
        "delete" => ", and deleted the answers",
        _ => "",
    }
}

/// The names of what was changed, in words.
fn names(detail: &Value) -> String {
    let words = detail.as_object().into_iter().flatten().map(|(name, _)| {
        let mut word = String::new();
        for letter in name.chars() {
            if letter.is_ascii_uppercase() {
                word.push(' ');
            }
            word.push(letter.to_ascii_lowercase());
        }
        word
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_told_as_a_sentence() {
        for (action, detail, expected) in [
            ("app.created", r#"{"name":"Shop"}"#, "created the app “Shop”"),
            (
                "app.updated",
                r#"{"retentionDays":3,"name":"x"}"#,
                "changed the app’s settings: name, retention days",
            ),
            (
                "user.role_changed",
                r#"{"email":"a@b.c","role":"owner","before":null,"appId":null}"#,
                "made a@b.c owner of all apps",
            ),
            (
                "user.role_changed",
                r#"{"email":"a@b.c","role":null,"before":"viewer","appId":"app_1"}"#,
                "took the role viewer from a@b.c",
            ),
            ("session.started", r#"{"by":"token"}"#, "signed in with an admin token"),
            ("something.new_here", "{}", "something new here"),
        ] {
            let row = AuditRow {
                audit_id: "au_0000000000000000000000".parse().unwrap(),
                app_id: None,
                actor: "x".into(),
                action: action.into(),
                subject: "y".into(),
                detail: detail.into(),
            };
            assert_eq!(told(&row), expected);
        }
    }
}
