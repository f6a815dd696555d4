//! Why an administrator's request can fail.

use serde::Serialize;
use sluice_flow::definition::Fault;
use sluice_store::{Scope, StoreError};

use crate::conflict::MayBeConflict;

pub type AdminResult<T> = Result<T, AdminError>;

/// The kinds of things that can be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    App,
    ApiKey,
    IdentityKey,
    Flow,
    FlowVersion,
    Draft,
    Response,
    Respondent,
    Token,
    Invitation,
    User,
    Report,
    Asset,
    Endpoint,
    Delivery,
}

impl Missing {
    /// The name of the kind, as in "there is no such …".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::ApiKey => "API key",
            Self::IdentityKey => "identity key",
            Self::Flow => "flow",
            Self::FlowVersion => "flow version",
            Self::Draft => "draft",
            Self::Response => "response",
            Self::Respondent => "respondent",
            Self::Token => "token",
            Self::Invitation => "invitation",
            Self::User => "user",
            Self::Report => "report",
            Self::Asset => "image",
            Self::Endpoint => "endpoint",
            Self::Delivery => "delivery",
        }
    }

    pub fn code(self) -> &'static str {
        match self {
            Self::App => "app_not_found",
            Self::ApiKey => "api_key_not_found",
            Self::IdentityKey => "identity_key_not_found",
            Self::Flow => "flow_not_found",
            Self::FlowVersion => "flow_version_not_found",
            Self::Draft => "draft_not_found",
            Self::Response => "response_not_found",
            Self::Respondent => "respondent_not_found",
            Self::Token => "token_not_found",
            Self::Invitation => "invitation_not_found",
            Self::User => "user_not_found",
            Self::Report => "report_not_found",
            Self::Asset => "asset_not_found",
            Self::Endpoint => "webhook_not_found",
            Self::Delivery => "delivery_not_found",
        }
    }
}

/// Why an administrator's request failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("there is no such {}", .0.as_str())]
    NotFound(Missing),
    /// The token lacks a scope.
    #[error("this token lacks the scope \"{}\"", scope_name(*.scope))]
    Forbidden { scope: Scope },
    #[error(
        "this token is bound to one app and cannot do this; use a token for the whole instance"
    )]
    BoundToApp,
    /// The caller signed in too long ago for this.
    #[error("confirm who you are first")]
    NotFresh,
    /// The thing's state does not allow it. `code` is for programs; `detail` says what to do.
    #[error("{detail}")]
    Conflict { code: &'static str, detail: String },
    /// The content of the request is invalid; each fault has a JSON Pointer.
    #[error("the request has {} fault{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Invalid(Vec<Fault>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AdminError {
    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Conflict { code, detail: detail.into() }
    }
}

impl MayBeConflict for AdminError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Write => "write",
        Scope::Export => "export",
        Scope::Erase => "erase",
        Scope::Admin => "admin",
    }
}
