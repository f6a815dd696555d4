//! The ids in paths of the admin API and the console: their parameter names, and the refusal if
//! nothing has the id.

use std::str::FromStr;

use sluice_engine::Missing;
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AssignmentId, DeliveryId, EndpointId, FlowId, FlowVersionId, ReportId,
    RespondentId, ResponseId, TokenId, UserId,
};

/// An id in a path. Text that is not a valid id is answered like an unknown id.
pub trait PathId: FromStr {
    const PARAMETER: &str;
    const MISSING: Missing;
}

macro_rules! path_ids {
    ($($name:ident: $parameter:literal, $missing:ident;)*) => {$(
        impl PathId for $name {
            const PARAMETER: &str = $parameter;
            const MISSING: Missing = Missing::$missing;
        }
    )*};
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
