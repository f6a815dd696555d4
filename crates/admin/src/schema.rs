//! OpenAPI schemas for types of the pure crate, and how optional fields are read.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use sluice_engine::export::{ExportFormat, FORMATS, ValuesAs};
use sluice_engine::retention::RETENTION_DAYS_MAX;
use sluice_engine::rows::{AnswersOnErasure, DeliveryState};
use sluice_engine::webhooks::format;
use sluice_engine::{AdminError, EndpointState, ReportState, StoreError};
use sluice_flow::event::EventType;
use sluice_flow::lifecycle::GRACE_MAX_SECONDS;
use utoipa::openapi::Object;
use utoipa::openapi::schema::{Array, ObjectBuilder, SchemaType, Type};

pub(super) fn identity_verification() -> Object {
    let mut modes = one_of(&["off", "observe", "enforce"]);
    modes.description = Some(
        "`off`: tokens are ignored. `observe`: checked and counted, never refused. `enforce`: every request \
         of the public API needs a valid token; the app must have an identity key first."
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

pub(super) fn role() -> Object {
    let mut roles = one_of(&["viewer", "editor", "owner"]);
    roles.description = Some(
        "`viewer` reads. `editor` also writes flows and exports. `owner` does everything, in the app or, without \
         one, in the instance."
            .to_owned(),
    );
    roles
}

pub(super) fn event_types() -> Array {
    let names: Vec<&str> = EventType::logged().map(EventType::as_str).collect();
    let mut types = Array::new(one_of(&names));
    types.description = Some("The types of events to send; empty means all.".to_owned());
    types
}

pub(super) fn webhook_format() -> Object {
    let names: Vec<&str> = format::FORMATS.iter().map(|format| format.name).collect();
    let mut formats = one_of(&names);
    let described = format::FORMATS.iter().map(|it| format!("`{}`: {}", it.name, it.description));
    formats.description = Some(described.collect::<Vec<_>>().join(" "));
    formats
}

pub(super) fn endpoint_state() -> Object {
    let mut states = one_of(&EndpointState::ALL.map(EndpointState::as_str));
    states.description = Some("`failing`: the last attempts failed and are repeated.".to_owned());
    states
}

pub(super) fn delivery_state() -> Object {
    let mut states = one_of(&DeliveryState::ALL.map(DeliveryState::as_str));
    states.description = Some("`waiting`: it is sent again. `failed`: it was given up.".to_owned());
    states
}

pub(super) fn admission() -> Object {
    one_of(&["collection_only", "admitted"])
}

pub(super) fn identity_type() -> Object {
    one_of(&["userId", "traits.email"])
}

pub(super) fn answers() -> Object {
    one_of(&AnswersOnErasure::ALL.map(AnswersOnErasure::as_str))
}

pub(super) fn order() -> Object {
    let mut order = one_of(&["asc", "desc"]);
    order.description = Some("`asc`, oldest first (the default), or `desc`.".to_owned());
    order
}

pub(super) fn step() -> Object {
    one_of(&["day", "week"])
}

pub(super) fn export_format() -> Object {
    let mut formats = one_of(&ExportFormat::names());
    let about = |format: &&ExportFormat| format!("`{}`: {}", format.name, format.summary);
    let each: Vec<String> = FORMATS.iter().map(about).collect();
    formats.description = Some(format!("The format of the file. {}.", each.join("; ")));
    formats
}

pub(super) fn export_values() -> Object {
    let names: Vec<_> = ValuesAs::ALL.iter().map(|values| values.as_str()).collect();
    let mut values = one_of(&names);
    let labelled = FORMATS.iter().filter(|it| it.values_as == ValuesAs::Labels);
    let labelled: Vec<_> = labelled.map(|it| format!("`{}`", it.name)).collect();
    let default = match labelled.is_empty() {
        true => "The default is `ids`.".to_owned(),
        false => {
            format!("The default is `labels` for {}, `ids` otherwise.", labelled.join(" and "))
        }
    };
    values.description = Some(format!(
        "What questions and options are called: by their `ids`, or by their `labels`: the text of the \
         question, and the label of the option in the version that was answered. {default}"
    ));
    values
}

pub(super) fn invitation_state() -> Object {
    one_of(&["sent", "opened", "completed", "expired", "revoked"])
}

pub(super) fn report_state() -> Object {
    one_of(&ReportState::ALL.map(ReportState::as_str))
}

pub(super) fn duplicates() -> Object {
    let mut duplicates = one_of(&["refuse", "skip", "allow"]);
    duplicates.description = Some(
        "What to do with a person who has an open invitation to the flow, or is in the file twice: \
         `refuse` all (the default), `skip` that one, or `allow` it."
            .to_owned(),
    );
    duplicates
}

pub(super) fn send_email() -> Object {
    let mut send_email = one_of(&["true", "false"]);
    send_email.description = Some(
        "`true`: the server sends each invitation by e-mail; everybody needs an address."
            .to_owned(),
    );
    send_email
}

/// Null while e-mails are sent.
pub(super) fn mail_end() -> Object {
    let words = ["bounced", "failed", "unsubscribed", "stopped", "closed"].map(Value::from);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(words.into_iter().chain([Value::Null])))
        .build()
}

pub(super) fn check_only() -> Object {
    let mut check_only = one_of(&["true", "false"]);
    check_only.description = Some("`true`: only check, without inviting.".to_owned());
    check_only
}

fn one_of(words: &[&str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).build()
}

/// Reads an optional field so that null differs from absent: null is a value if `T` allows it, and
/// a fault otherwise.
pub(super) fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A whole number; anything else gets a message with the range. A number that is only too large is
/// left to the engine, which reports it together with the faults of other fields.
macro_rules! whole_number {
    ($(#[$doc:meta])* $name:ident, $expected:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $name(u32);

        impl From<$name> for u32 {
            fn from(number: $name) -> Self {
                number.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_u32(NumberVisitor(&$expected)).map(Self)
            }
        }
    };
}

whole_number! {
    /// A grace window in seconds.
    GraceSeconds,
    format_args!("a whole number from 0 to {GRACE_MAX_SECONDS}, or null for the default")
}

whole_number! {
    /// How long responses are kept.
    RetentionDays,
    format_args!(
        "a whole number from 1 to {RETENTION_DAYS_MAX}, or null to keep responses permanently"
    )
}

struct NumberVisitor<'a>(&'a dyn fmt::Display);

impl Visitor<'_> for NumberVisitor<'_> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        let fits = u32::try_from(number);
        fits.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        Err(E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u32, E> {
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

/// Stored JSON, embedded in a reply without parsing.
pub(super) fn stored(text: String) -> Result<Box<RawValue>, AdminError> {
    RawValue::from_string(text)
        .map_err(|error| StoreError::Corrupt(format!("a JSON column: {error}")).into())
}
