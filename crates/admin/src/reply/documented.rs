//! The replies that operations share, for the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

/// The replies of every operation, for the OpenAPI document.
pub(crate) struct CommonErrors;

impl IntoResponses for CommonErrors {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        problems(&[
            ("401", "`token_missing`, `token_invalid`: no valid admin token"),
            (
                "403",
                "`insufficient_scope`: the token lacks the scope; \
                 `token_bound_to_app`: this needs a token for the whole instance",
            ),
            (
                "429",
                "`too_many_attempts`: too many attempts with invalid tokens from this address; \
                 try again after `Retry-After` seconds",
            ),
            (
                "500",
                "`internal_error`, `store_corrupt`: a fault in the server; the log has it under \
                 the reply's `x-request-id`",
            ),
            (
                "503",
                "`store_unavailable`, `outcome_unknown`, `timed_out`: try again after \
                 `Retry-After` seconds",
            ),
        ])
    }
}

/// Further replies of an operation with a JSON body.
pub(crate) struct BodyErrors;

impl IntoResponses for BodyErrors {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        problems(&[
            ("400", "`malformed_json`: the body is not JSON"),
            ("408", "`body_too_slow`: the body did not arrive in time"),
            ("413", "`payload_too_large`: the body is larger than 1 MiB"),
            (
                "415",
                "`unsupported_media_type`: the body is not `application/json`, or it is compressed",
            ),
            ("422", "`invalid`: unknown fields, wrong types or values, each in `errors`"),
        ])
    }
}

/// Further replies of an operation with query parameters.
pub(crate) struct QueryErrors;

impl IntoResponses for QueryErrors {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        problems(&[("422", "`invalid`: unknown or wrong parameters, each in `errors`")])
    }
}

pub(crate) fn problems(
    list: &[(&str, &str)],
) -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
    list.iter()
        .map(|&(status, description)| {
            let content =
                ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            let response = ResponseBuilder::new()
                .description(description)
                .content("application/problem+json", content)
                .build();
            (status.to_owned(), response.into())
        })
        .collect()
}
