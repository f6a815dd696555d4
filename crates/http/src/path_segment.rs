//! The segments of paths: decoding; and for the ids in paths of the admin API and the console, the
//! names of their parameters and the refusal if nothing has the id.

use std::borrow::Cow;
use std::str::FromStr;

use axum::extract::{FromRequestParts as _, RawPathParams};
use http::request::Parts;
use percent_encoding::percent_decode_str;
use sluice_engine::{AdminError, Missing};
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AssignmentId, DeliveryId, EndpointId, FlowId, FlowVersionId, ReportId,
    RespondentId, ResponseId, TokenId, UserId,
};

/// A segment of a path, decoded; borrowed if it has no escape. Keys and ids need none, but some
/// mail gateways write `_` as `%5F`. Split the path first: an escaped slash separates nothing.
pub fn decoded(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    percent_decode_str(segment).decode_utf8_lossy()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_decoded_and_copied_only_if_it_has_an_escape() {
        for (segment, text, is_copied) in [
            ("fl_1", "fl_1", false),
            ("fl%5F1", "fl_1", true),
            ("fl%5f1", "fl_1", true),
            ("fl%2F1", "fl/1", true),
            ("fl%255F1", "fl%5F1", true),
            ("fl%zz%5", "fl%zz%5", false),
            ("%FF", "\u{fffd}", true),
            ("", "", false),
        ] {
            let decoded = decoded(segment);
            assert_eq!(
                (&*decoded, matches!(decoded, Cow::Owned(_))),
                (text, is_copied),
                "{segment}"
            );
        }
    }
}
