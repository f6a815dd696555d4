//! Entries of the audit log as sentences. Every action has one: the match has no wildcard.

use serde_json::Value;
use sluice_engine::AuditAction as Action;
use sluice_engine::rows::AuditRow;

/// Stands for a flow whose name is unknown.
pub(super) const UNKNOWN_FLOW: &str = "a flow";

/// What was done, without the actor. `flow` names the flow that the entry is about.
#[expect(clippy::too_many_lines, reason = "a list of every action")]
pub(super) fn sentence(row: &AuditRow, flow: &str) -> String {
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
    let count = |name: &str| detail[name].as_u64().unwrap_or_default();
    let quoted = |name: &str| format!("“{}”", text(name));
    let Some(action) = Action::from_name(&row.action) else {
        // Written by another release.
        return row.action.replace(['.', '_'], " ");
    };
    match action {
        Action::AppCreated => format!("created the app {}", quoted("name")),
        Action::AppUpdated => format!("changed the app’s settings: {}", names(&detail)),
        Action::KeyCreated => "created an API key".to_owned(),
        Action::KeyRevoked => "revoked an API key".to_owned(),
        Action::IdentityKeyCreated => "created a key for identity tokens".to_owned(),
        Action::IdentityKeyRevoked => "revoked a key for identity tokens".to_owned(),
        Action::FlowCreated if flow == UNKNOWN_FLOW => {
            format!("created the flow {}", quoted("name"))
        }
        Action::FlowCreated => format!("created the flow {flow}"),
        Action::FlowUpdated => format!("changed settings of {flow}: {}", names(&detail)),
        Action::FlowArchived => format!("archived {flow}"),
        Action::FlowRestored => format!("restored {flow} from the archive"),
        Action::FlowPublished => format!("published version {} of {flow}", count("number")),
        Action::FlowRepublished => {
            format!("republished an earlier version of {flow} as version {}", count("number"))
        }
        Action::FlowVersionRetired => format!("retired version {} of {flow}", count("number")),
        Action::DraftSaved => format!("edited the draft of {flow}"),
        Action::ResponseDeleted => format!("deleted a response to {flow}"),
        Action::TestResponsesDeleted => format!("deleted all test responses to {flow}"),
        Action::TestLinksRevoked => format!("revoked the test links of {flow}"),
        Action::ResponsesExported => format!("exported the responses to {flow}"),
        Action::RespondentExported => "exported the data of a respondent".to_owned(),
        Action::RespondentErased => format!("erased a respondent{}", answers(&text("answers"))),
        Action::InviteeExported => "exported the data of an invited person".to_owned(),
        Action::InviteeErased => {
            format!("erased an invited person{}", answers(&text("answers")))
        }
        Action::InvitationsCreated => match count("count") {
            1 => format!("invited 1 person to {flow}"),
            many => format!("invited {many} people to {flow}"),
        },
        Action::InvitationsExported => {
            format!("exported the invitations to {flow} with their links")
        }
        Action::InvitationRevoked => format!("revoked an invitation to {flow}"),
        Action::ReportCreated => format!("shared the report {}", quoted("title")),
        Action::ReportUpdated => format!("changed the report {}", quoted("title")),
        Action::ReportLinkReplaced => {
            format!("replaced the link of the report {}", quoted("title"))
        }
        Action::ReportRevoked => format!("revoked the report {}", quoted("title")),
        Action::EndpointCreated => format!("created the webhook endpoint at {}", text("host")),
        Action::EndpointUpdated => format!("changed the webhook endpoint at {}", text("host")),
        Action::EndpointDeleted => format!("deleted the webhook endpoint at {}", text("host")),
        Action::EndpointEnabled => format!("enabled the webhook endpoint at {}", text("host")),
        Action::EndpointDisabled => match text("reason").as_str() {
            "gone" => "disabled a webhook endpoint: its receiver is gone".to_owned(),
            "failing" => "disabled a webhook endpoint: nothing could be delivered".to_owned(),
            _ => "disabled a webhook endpoint".to_owned(),
        },
        Action::EndpointSecretRotated => "replaced the secret of a webhook endpoint".to_owned(),
        Action::EndpointReplayed => "replayed events to a webhook endpoint".to_owned(),
        Action::EndpointRedelivered => "sent webhook deliveries again".to_owned(),
        Action::EndpointTested => "sent a test event to a webhook endpoint".to_owned(),
        Action::AssetUploaded => "uploaded an image".to_owned(),
        Action::AssetDeleted => "deleted an image".to_owned(),
        Action::RetentionEnforced => {
            format!("deleted {} expired responses", count("responses"))
        }
        Action::TokenCreated => format!("created the admin token {}", quoted("name")),
        Action::TokenRevoked => format!("revoked the admin token {}", quoted("name")),
        Action::UserCreated => format!("added {} as {}", text("email"), text("role")),
        Action::UserUpdated => format!("renamed {} to {}", text("email"), quoted("name")),
        Action::UserDisabled => format!("disabled {}", text("email")),
        Action::UserEnabled => format!("enabled {}", text("email")),
        Action::UserRoleChanged => role(&detail),
        Action::OutboundResumed => match text("waiting").as_str() {
            "drop" => "resumed e-mails and webhooks, and dropped what waited".to_owned(),
            _ => "resumed e-mails and webhooks".to_owned(),
        },
        Action::UserLinkMade => format!("created a link for {} to set a password", text("email")),
        Action::SecondFactorEnabled => "turned on their second factor".to_owned(),
        Action::SecondFactorDisabled => "turned off their second factor".to_owned(),
        Action::SecondFactorReset => format!("reset the second factor of {}", text("email")),
        Action::SecondFactorResealed => {
            "re-encrypted a second factor with a new master key".to_owned()
        }
        Action::SessionCodeUsed => format!("used a second-factor code ({})", text("by")),
        Action::UserPasswordSet => "set a password".to_owned(),
        Action::UserSubjectBound => {
            "signed in with the organisation account for the first time".to_owned()
        }
        Action::SessionStarted => format!("signed in with {}", means(&text("by"))),
        Action::SessionEnded => "signed out".to_owned(),
    }
}

fn role(detail: &Value) -> String {
    let place = if detail["appId"].is_null() { " of all apps" } else { "" };
    let email = detail["email"].as_str().unwrap_or_default();
    match (detail["before"].as_str(), detail["role"].as_str()) {
        (_, Some(role)) => format!("gave {email} the role {role}{place}"),
        (Some(before), None) => format!("removed the role {before}{place} from {email}"),
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

/// The names of the changed fields, in words.
fn names(detail: &Value) -> String {
    let words = detail.as_object().into_iter().flatten().map(|(name, _)| {
        match name.as_str() {
            "closeAfter" => return "response limit".to_owned(),
            "hosted" => return "hosted pages".to_owned(),
            "quotaChanges" => return "quotas".to_owned(),
            "graceWindowSeconds" => return "grace window".to_owned(),
            _ => {}
        }
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
    fn an_entry_is_shown_as_a_sentence() {
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
                "gave a@b.c the role owner of all apps",
            ),
            (
                "user.role_changed",
                r#"{"email":"a@b.c","role":null,"before":"viewer","appId":"app_1"}"#,
                "removed the role viewer from a@b.c",
            ),
            (
                "flow.updated",
                r#"{"closeAfter":3,"liveWindow":{},"quotaChanges":[]}"#,
                "changed settings of “Lunch”: response limit, live window, quotas",
            ),
            ("flow.published", r#"{"number":2}"#, "published version 2 of “Lunch”"),
            ("flow.created", r#"{"name":"Untitled"}"#, "created the flow “Lunch”"),
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
            assert_eq!(sentence(&row, "“Lunch”"), expected);
        }
    }
}
