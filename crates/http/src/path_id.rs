//! The ids in paths of the admin API and the console: their parameter names, and the refusal if
//! nothing has the id.

use std::str::FromStr;

use axum::extract::{FromRequestParts as _, RawPathParams};
use http::request::Parts;
use sluice_engine::{AdminError, Missing};
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AssignmentId, DeliveryId, EndpointId, FlowId, FlowVersionId, ReportId,
    RespondentId, ResponseId, TokenId, UserId,
};

/// An id in a path. Text that is not a valid id is answered like an unknown id.
pub trait PathId: FromStr {
    const PARAMETER: &str;
    const MISSING: Missing;
}

/// The id in the path, under the name of its kind.
pub async fn in_path<T: PathId>(parts: &mut Parts) -> Result<T, AdminError> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok();
    let found = params.and_then(|params| {
        let mut named = params.iter().filter(|(name, _)| *name == T::PARAMETER);
        named.next().and_then(|(_, text)| text.parse().ok())
    });
    found.ok_or(AdminError::NotFound(T::MISSING))
}

macro_rules! path_ids {
    ($($name:ident: $parameter:literal, $missing:ident;)*) => {
    $(
        impl PathId for $name {
            const PARAMETER: &str = $parameter;
            const MISSING: Missing = Missing::$missing;
        }
    )*

    /// What an unknown id in this parameter of a path is refused as.
    pub fn missing(parameter: &str) -> Option<Missing> {
        match parameter {
            $($parameter => Some(Missing::$missing),)*
            _ => None,
        }
    }};
}

path_ids! {
    AppId: "appId", App;
    ApiKey: "apiKey", ApiKey;
    FlowId: "flowId", Flow;
    FlowVersionId: "flowVersionId", FlowVersion;
    ResponseId: "responseId", Response;
    RespondentId: "respondentId", Respondent;
    TokenId: "tokenId", Token;
    UserId: "userId", User;
    AssignmentId: "flowAssignmentId", Invitation;
    ReportId: "reportId", Report;
    AssetId: "assetId", Asset;
    EndpointId: "webhookId", Endpoint;
    DeliveryId: "deliveryId", Delivery;
}
