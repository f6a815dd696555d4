//! Paginated lists. A cursor is the id of the last item, so that it stays valid while the list
//! grows.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Object, Required};
use utoipa::{IntoParams, ToSchema};

/// The largest page, which is also the default, in items.
const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 50;

/// The number of items of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit(usize);

impl Limit {
    /// One more than requested: if it exists, the list continues.
    pub(super) fn and_one(self) -> usize {
        self.0 + 1
    }
}

impl From<Limit> for usize {
    fn from(limit: Limit) -> Self {
        limit.0
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(LIMIT_DEFAULT)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit)).map(Self).ok_or_else(
            || {
                let message = format!("must be a whole number from 1 to {LIMIT_MAX}");
                serde::de::Error::custom(message)
            },
        )
    }
}

/// Selects a page: the number of items, and the cursor to start after.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: FromStr"))]
pub(super) struct PageQuery<T> {
    #[serde(default)]
    pub(super) limit: Limit,
    #[serde(default, deserialize_with = "cursor")]
    pub(super) after: Option<T>,
}

// Written by hand, because the derived one would require a schema for every cursor type.
impl<T> IntoParams for PageQuery<T> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            parameter("limit", "The maximum number of items.", limit_schema()),
            text_parameter("after", "`next` of the previous page."),
        ]
    }
}

/// An optional parameter of a query.
pub(super) fn text_parameter(name: &str, description: &str) -> Parameter {
    parameter(name, description, ObjectBuilder::new().schema_type(Type::String).build())
}

/// An optional parameter of a query that is an object of texts: `name[member]=text`.
pub(super) fn text_map_parameter(name: &str, description: &str) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    let texts = ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(Schema::Object(text)))
        .build();
    let mut parameter = parameter(name, description, texts);
    parameter.style = Some(ParameterStyle::DeepObject);
    parameter.explode = Some(true);
    parameter
}

fn parameter(name: &str, description: &str, schema: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// The message for a cursor that no page returned.
pub(super) const NO_CURSOR: &str = "must be the value of \"next\" of an earlier page";

/// Parses a cursor.
pub(super) fn cursor<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|_| serde::de::Error::custom(NO_CURSOR))
}

pub(super) fn limit_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("The maximum number of items."))
        .minimum(Some(1))
        .maximum(Some(LIMIT_MAX))
        .default(Some(LIMIT_DEFAULT.into()))
        .build()
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    /// The `after` of the next page; null at the end of the list.
    #[schema(required = true)]
    pub(super) next: Option<String>,
}

impl<T> List<T> {
    /// A page of items that were read with [`Limit::and_one`].
    pub(super) fn new(mut items: Vec<T>, limit: Limit, cursor: impl Fn(&T) -> String) -> Self {
        let goes_on = items.len() > limit.0;
        items.truncate(limit.0);
        let next = items.last().filter(|_| goes_on).map(cursor);
        Self { items, next }
    }

    /// A page of a list that is short enough to be read whole: what follows the last item that is
    /// at the cursor or before it.
    pub(super) fn from_whole(
        whole: Vec<T>,
        limit: Limit,
        is_passed: impl Fn(&T) -> bool,
        cursor: impl Fn(&T) -> String,
    ) -> Self {
        let start = whole.iter().rposition(is_passed).map_or(0, |last| last + 1);
        let items = whole.into_iter().skip(start).take(limit.and_one()).collect();
        Self::new(items, limit, cursor)
    }
}
