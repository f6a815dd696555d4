//! How the pure crate's types look in the OpenAPI document, and how optional fields are read.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sluice_engine::{AdminError, StoreError};
use sluice_flow::lifecycle::GRACE_MAX_SECONDS;
use utoipa::openapi::Object;
use utoipa::openapi::schema::{Array, ObjectBuilder, Type};

pub(super) fn identity_verification() -> Object {
    let mut modes = one_of(&["off", "observe", "enforce"]);
    modes.description = Some(
        "`off`: tokens are not looked at. `observe`: checked and counted, never refused. `enforce`: every \
         request of the public API needs a valid token; an identity key must be there before."
            .to_owned(),
    );
    modes
}

pub(super) fn identity_key_kind() -> Object {
    one_of(&["hs256", "publicKey", "jwks"])
}

pub(super) fn kind() -> Object {
    one_of(&["survey", "form", "message"])
}

pub(super) fn scopes() -> Array {
    let mut scopes = Array::new(one_of(&["read", "write", "export", "erase", "admin"]));
    scopes.description = Some("`admin` holds every other scope, `write` holds `read`.".to_owned());
    scopes
}

pub(super) fn admission() -> Object {
    one_of(&["collection_only", "admitted"])
}

pub(super) fn order() -> Object {
    let mut order = one_of(&["asc", "desc"]);
    order.description = Some("`asc`, oldest first (the default), or `desc`.".to_owned());
    order
}

pub(super) fn invitation_state() -> Object {
    one_of(&["sent", "opened", "completed", "expired", "revoked"])
}

pub(super) fn duplicates() -> Object {
    let mut duplicates = one_of(&["refuse", "skip", "allow"]);
    duplicates.description = Some(
        "What to do with somebody who has an open invitation to the flow, or stands in the file twice: \
         `refuse` all (the default), `skip` that one, or `allow` it."
            .to_owned(),
    );
    duplicates
}

pub(super) fn check_only() -> Object {
    let mut check_only = one_of(&["true", "false"]);
    check_only.description = Some("`true`: check all, and invite nobody.".to_owned());
    check_only
}

fn one_of(words: &[&str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).build()
}

/// Reads a field that may be left out, so that null is told apart from absent: it is a value where
/// `T` has one, and a fault where it has not.
pub(super) fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A grace window in seconds, so that what cannot be one is told the range. One that is only too long
/// is left to the engine, which tells it together with the faults of other fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraceSeconds(u32);

impl From<GraceSeconds> for u32 {
    fn from(grace: GraceSeconds) -> Self {
        grace.0
    }
}

impl<'de> Deserialize<'de> for GraceSeconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u32(GraceVisitor)
    }
}

struct GraceVisitor;

impl Visitor<'_> for GraceVisitor {
    type Value = GraceSeconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {GRACE_MAX_SECONDS}, or null for the default")
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<GraceSeconds, E> {
        let fits = u32::try_from(seconds).map(GraceSeconds);
        fits.map_err(|_| E::invalid_value(Unexpected::Unsigned(seconds), &self))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<GraceSeconds, E> {
        Err(E::invalid_value(Unexpected::Signed(seconds), &self))
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<GraceSeconds, E> {
        Err(E::invalid_value(Unexpected::Float(seconds), &self))
    }
}

/// Stored JSON as it is, to be embedded in a reply.
pub(super) fn stored(text: String) -> Result<Box<RawValue>, AdminError> {
    RawValue::from_string(text)
        .map_err(|error| StoreError::Corrupt(format!("a JSON column: {error}")).into())
}
