//! The replies that operations of the public API share.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::reply::problems;

/// The errors of every operation outside tRPC.
pub(super) struct PublicErrors;

impl IntoResponses for PublicErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            (
                "401",
                "`api_key_invalid`: the key is unknown or revoked; `token_missing`, \
                 `token_invalid`, `token_expired`: the app verifies identities",
            ),
            (
                "429",
                "`rate_limited`: beyond a limit of the app or of the address; try again after \
                 `Retry-After` seconds",
            ),
            (
                "500",
                "`internal_error`: a fault in the server; the log has it under the reply's \
                 `x-request-id`",
            ),
            (
                "503",
                "`store_unavailable`, `identity_keys_unavailable`, `timed_out`: try again after \
                 `Retry-After` seconds",
            ),
        ])
    }
}

/// The errors of every tRPC call that stores.
pub(super) struct CallErrors;

impl IntoResponses for CallErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        call_errors(
            "`TOO_MANY_REQUESTS`: beyond a limit of the app or of the address (`reason` is \
             `rate_limited`), or the app has stored as much as it may in a day \
             (`daily_quota_reached`); try again after `Retry-After` seconds",
        )
    }
}

/// The errors of a tRPC call that stores nothing.
pub(super) struct ReadingCallErrors;

impl IntoResponses for ReadingCallErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        call_errors(
            "`TOO_MANY_REQUESTS`: beyond a limit of the app or of the address (`reason` is \
             `rate_limited`); try again after `Retry-After` seconds",
        )
    }
}

fn call_errors(limited: &str) -> BTreeMap<String, RefOr<Response>> {
    let list = [
        ("400", "`BAD_REQUEST`: not a call, or not JSON"),
        (
            "401",
            "`UNAUTHORIZED`: the key is unknown or revoked, or the app verifies identities and \
                 `reason` says what is wrong with the token",
        ),
        ("404", "`NOT_FOUND`: no such procedure"),
        ("405", "`METHOD_NOT_SUPPORTED`: not a POST"),
        ("408", "`TIMEOUT`: the body came too slowly"),
        ("413", "`PAYLOAD_TOO_LARGE`: more than 1 MiB"),
        ("415", "`UNSUPPORTED_MEDIA_TYPE`: not `application/json`"),
        ("429", limited),
        (
            "500",
            "`INTERNAL_SERVER_ERROR`: a fault in the server; the log has it under the reply's \
                 `x-request-id`",
        ),
        (
            "503",
            "`SERVICE_UNAVAILABLE`: nothing was acknowledged; try again after `Retry-After` \
                 seconds",
        ),
    ];
    let response = |(status, description): (&str, &str)| {
        let schema = Ref::from_schema_name("TrpcError");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new()
            .description(description)
            .content("application/json", content)
            .build();
        (status.to_owned(), response.into())
    };
    list.map(response).into()
}
