//! The actions that the audit log can record, each with the name that is stored and sent.
//!
//! The log outlives releases, so an entry may have a name that this release does not know. Code
//! that displays entries matches on the enum without a wildcard, so a new action does not compile
//! until it has a sentence.

/// Declares the actions and their names once.
macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $name:literal,)*) => {
        /// Something that the audit log records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $($(#[$doc])* $action,)*
        }

        impl AuditAction {
            pub const ALL: &[Self] = &[$(Self::$action,)*];

            /// The name as stored and sent, such as `flow.published`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)*
                }
            }

            /// The action with this name; `None` for a name from another release.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$action),)*
                    _ => None,
                }
            }
        }
    };
}

actions! {
    AppCreated = "app.created",
    AppUpdated = "app.updated",
    KeyCreated = "key.created",
    KeyRevoked = "key.revoked",
    IdentityKeyCreated = "identity_key.created",
    IdentityKeyRevoked = "identity_key.revoked",
    FlowCreated = "flow.created",
    FlowUpdated = "flow.updated",
    FlowArchived = "flow.archived",
    FlowRestored = "flow.restored",
    FlowPublished = "flow.published",
    /// An older version's definition was published again.
    FlowRepublished = "flow.republished",
    FlowVersionRetired = "flow_version.retired",
    DraftSaved = "draft.saved",
    ResponseDeleted = "response.deleted",
    TestResponsesDeleted = "test_responses.deleted",
    TestLinksRevoked = "test_links.revoked",
    ResponsesExported = "responses.exported",
    RespondentExported = "respondent.exported",
    RespondentErased = "respondent.erased",
    /// The invitee has invitations, but no profile.
    InviteeExported = "invitee.exported",
    InviteeErased = "invitee.erased",
    InvitationsCreated = "invitations.created",
    InvitationsExported = "invitations.exported",
    InvitationRevoked = "invitation.revoked",
    ReportCreated = "report.created",
    ReportUpdated = "report.updated",
    ReportLinkReplaced = "report.link_replaced",
    ReportRevoked = "report.revoked",
    AssetUploaded = "asset.uploaded",
    AssetDeleted = "asset.deleted",
    RetentionEnforced = "retention.enforced",
    TokenCreated = "token.created",
    TokenRevoked = "token.revoked",
    UserCreated = "user.created",
    UserUpdated = "user.updated",
    UserDisabled = "user.disabled",
    UserEnabled = "user.enabled",
    UserRoleChanged = "user.role_changed",
    /// E-mails and webhooks of a copy are sent from now on.
    OutboundResumed = "outbound.resumed",
    UserLinkMade = "user.link_made",
    UserPasswordSet = "user.password_set",
    /// A user signed in with an OpenID provider for the first time.
    UserSubjectBound = "user.subject_bound",
    SecondFactorEnabled = "user.second_factor_enabled",
    SecondFactorDisabled = "user.second_factor_disabled",
    SecondFactorReset = "user.second_factor_reset",
    SecondFactorResealed = "user.second_factor_resealed",
    SessionStarted = "session.started",
    SessionCodeUsed = "session.code_used",
    SessionEnded = "session.ended",
    EndpointCreated = "endpoint.created",
    EndpointUpdated = "endpoint.updated",
    EndpointDeleted = "endpoint.deleted",
    EndpointEnabled = "endpoint.enabled",
    /// By a person, or because its deliveries failed.
    EndpointDisabled = "endpoint.disabled",
    EndpointSecretRotated = "endpoint.secret_rotated",
    EndpointReplayed = "endpoint.replayed",
    EndpointRedelivered = "endpoint.redelivered",
    EndpointTested = "endpoint.tested",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_found_by_name_and_names_are_unique() {
        for action in AuditAction::ALL {
            assert_eq!(AuditAction::from_name(action.as_str()), Some(*action));
        }
        assert_eq!(AuditAction::from_name("something.new_here"), None);
    }
}
