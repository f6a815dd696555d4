//! Deserialises JSON, and reports faults with their JSON Pointers (RFC 6901).
//!
//! The types define what is allowed (`derive(Deserialize)`, unknown fields denied); this
//! deserialiser over a parsed value only adds the pointer, and messages that an author understands.
//! After a fault it continues without the faulty member, so that it reports all faulty members
//! together.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer as _,
    MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Number, Value};
use sluice_flow::definition::Fault;
use sluice_flow::pointer::escaped;

/// The start of the message about an unknown field.
pub(super) const UNKNOWN: &str = "is not known here";

/// Reads a value, or returns the faults of all its members.
pub(super) fn read<T: DeserializeOwned>(mut value: Value) -> Result<T, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut removed = Vec::new();
    loop {
        let error = match T::deserialize(Reader(&value)) {
            Ok(read) if faults.is_empty() => return Ok(read),
            Ok(_) => return Err(faults),
            Err(error) => error,
        };
        let member = error.path.last().cloned();
        if member.as_ref().is_some_and(|member| removed.contains(member)) {
            // It is missing only because it was removed below.
            return Err(faults);
        }
        faults.push(error.into());
        let taken = member
            .zip(value.as_object_mut())
            .and_then(|(member, object)| object.remove(&member).map(|_| member));
        match taken {
            Some(member) => removed.push(member),
            None => return Err(faults),
        }
    }
}

/// The pointer to a member of the top-level object.
pub(super) fn to_member(name: &str) -> String {
    format!("/{}", escaped(name))
}

/// A whole number, also if it is written 60.0 or 6e1: JSON has only one number type.
pub(super) fn whole(number: &Number) -> Option<u64> {
    const END: f64 = 18_446_744_073_709_551_616.0;
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..END).contains(number);
    let written = || number.as_f64().filter(is_whole).map(|number| number as u64);
    number.as_u64().or_else(written)
}

/// A fault while it propagates upwards: each level appends to the path.
#[derive(Debug)]
struct ReadError {
    path: Vec<String>,
    message: String,
}

impl ReadError {
    fn beneath(mut self, segment: impl ToString) -> Self {
        self.path.push(segment.to_string());
        self
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        let pointer = error.path.iter().rev().map(|segment| to_member(segment)).collect();
        Self { pointer, message: error.message }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: Vec::new(), message: message.to_string() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("must be {}, not {}", allowed(expected), kind(&found)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("must be {}", allowed(expected)))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("must be one of {}", expected.join(", ")))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let known = match expected {
            [] => "this takes no fields".to_owned(),
            known => format!("known are {}", known.join(", ")),
        };
        Self::custom(format_args!("{UNKNOWN}; {known}")).beneath(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom("is required").beneath(field)
    }
}

fn allowed(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "a sequence" => "an array".to_owned(),
        // serde's default text for a type without an `expecting` text.
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => other.to_owned(),
    }
}

fn kind(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Str(_) | Unexpected::Char(_) => "a string",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}

struct Reader<'de>(&'de Value);

macro_rules! whole_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.0.as_number().and_then(whole) {
                Some(number) => visitor.visit_u64(number),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(whole), _) => visitor.visit_u64(whole),
                (None, Some(whole)) => visitor.visit_i64(whole),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(elements) => {
                visitor.visit_seq(Elements { rest: elements.iter().enumerate() })
            }
            Value::Object(members) => {
                visitor.visit_map(Members { rest: members.iter(), current: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    /// Derived code would also accept an array of the fields' values, which is never intended.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Array(_) => Err(ReadError::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::String(text) => {
                let word: StrDeserializer<'_, ReadError> = text.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            _ => Err(ReadError::unknown_variant("", variants)),
        }
    }

    whole_numbers! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Elements<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        seed.deserialize(Reader(value)).map(Some).map_err(|error| error.beneath(index))
    }
}

struct Members<'de> {
    rest: serde_json::map::Iter<'de>,
    current: Option<(&'de String, &'de Value)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        self.current = self.rest.next();
        let Some((name, _)) = self.current else { return Ok(None) };
        let name: StrDeserializer<'_, ReadError> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let Some((name, value)) = self.current.take() else {
            return Err(ReadError::custom("must have a value"));
        };
        seed.deserialize(Reader(value)).map_err(|error| error.beneath(name))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "an object")]
    struct Outer {
        some_name: String,
        #[serde(default)]
        list: Vec<u32>,
        inner: Option<Inner>,
        word: Option<Word>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        on: bool,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        Left,
        Right,
    }

    #[track_caller]
    fn check(value: Value, expected: &[(&str, &str)]) {
        let faults = read::<Outer>(value).expect_err("at fault");
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.message.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_valid_value_is_read() {
        let value = json!({"someName": "x", "list": [1], "inner": {"on": true}, "word": "right"});
        let inner = Some(Inner { on: true });
        let expected =
            Outer { some_name: "x".to_owned(), list: vec![1], inner, word: Some(Word::Right) };
        assert_eq!(read::<Outer>(value), Ok(expected));
        let bare = Outer { some_name: String::new(), list: vec![], inner: None, word: None };
        assert_eq!(read::<Outer>(json!({"someName": "", "word": null})), Ok(bare));
    }

    #[test]
    fn a_fault_has_its_pointer_and_says_what_is_expected() {
        check(json!([]), &[("", "must be an object, not an array")]);
        check(json!({}), &[("/someName", "is required")]);
        check(json!({"someName": 1}), &[("/someName", "must be a string, not a number")]);
        check(json!({"someName": null}), &[("/someName", "must be a string, not null")]);
        let whole = "must be a whole number from 0 to 4294967295";
        for wrong in [json!(-1), json!(4_294_967_296_u64)] {
            check(json!({"someName": "", "list": [0, wrong]}), &[("/list/1", whole)]);
        }
        check(
            json!({"someName": "", "inner": {"on": true, "a/b~c": 1}}),
            &[("/inner/a~1b~0c", "is not known here; known are on")],
        );
        let inner = json!({"someName": "", "inner": []});
        check(inner, &[("/inner", "must be an object, not an array")]);
        check(json!({"someName": "", "word": "up"}), &[("/word", "must be one of left, right")]);
        check(json!({"someName": "", "word": 5}), &[("/word", "must be one of left, right")]);
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_zero_or_an_exponent() {
        let list = |numbers: &str| {
            let value: Value = serde_json::from_str(numbers).unwrap();
            read::<Outer>(json!({"someName": "", "list": value})).map(|outer| outer.list)
        };
        let read_whole = list("[60, 60.0, 6e1, 1E2, 0.0, -0.0, 1.5e1, 4294967295.0]");
        assert_eq!(read_whole, Ok(vec![60, 60, 60, 100, 0, 0, 15, 4_294_967_295]));
        for wrong in ["[60.5]", "[1e-1]", "[-60.0]", "[4294967296.0]", "[1e300]", "[\"60\"]"] {
            assert_eq!(list(wrong).unwrap_err()[0].pointer, "/list/0", "{wrong}");
        }
        // What is kept as it was sent is not changed.
        assert_eq!(read::<Value>(json!([60.0])), Ok(json!([60.0])));
    }

    #[test]
    fn all_faulty_members_are_reported_together() {
        check(
            json!({"someName": 1, "list": "x", "extra": 1}),
            &[
                ("/extra", "is not known here; known are someName, list, inner, word"),
                ("/list", "must be an array, not a string"),
                ("/someName", "must be a string, not a number"),
            ],
        );
    }
}
