//! Splits the body of a batch: an object with one input per call, under "0", "1", and so on.
//!
//! The inputs are cut out of the body unparsed; each is parsed when its call runs, so that an error
//! in one affects only that call. Keys that name no call are ignored, a missing key is an absent
//! input, and the last of a repeated key wins.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::envelope::{Code, Fault};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The input of each call, or none if the body has none for it.
pub(super) fn inputs(body: &Bytes, calls: usize) -> Result<Vec<Option<Bytes>>, Fault> {
    let text = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body).trim_ascii();
    let malformed = |error: serde_json::Error| Fault::new(Code::BadRequest, error.to_string());
    match text.first() {
        None => Err(Fault::new(Code::BadRequest, "Unexpected end of JSON input")),
        Some(b'{') => {
            let mut deserializer = serde_json::Deserializer::from_slice(text);
            let inputs = deserializer.deserialize_map(Inputs { body, calls });
            let inputs = inputs.map_err(malformed)?;
            deserializer.end().map_err(malformed)?;
            Ok(inputs)
        }
        Some(_) => {
            serde_json::from_slice::<IgnoredAny>(text).map_err(malformed)?;
            let message = "\"input\" needs to be an object when doing a batch call";
            Err(Fault::new(Code::BadRequest, message))
        }
    }
}

struct Inputs<'b> {
    body: &'b Bytes,
    calls: usize,
}

/// A key, borrowed unless it has an escape.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Inputs<'de> {
    type Value = Vec<Option<Bytes>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut inputs = vec![None; self.calls];
        while let Some(Key(key)) = object.next_key()? {
            let value: &'de RawValue = object.next_value()?;
            if let Some(input) = index(&key).and_then(|index| inputs.get_mut(index)) {
                *input = Some(self.body.slice_ref(value.get().as_bytes()));
            }
        }
        Ok(inputs)
    }
}

/// The index of the call that a key names: decimal, without a sign or leading zeros.
fn index(key: &str) -> Option<usize> {
    let index = key.parse::<usize>().ok()?;
    (index.to_string() == key).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Result<&[Option<&str>], &str>) {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let calls = expected.map_or(2, <[_]>::len);
        let inputs = inputs(&body, calls);
        match expected {
            Ok(expected) => {
                let inputs: Vec<_> = inputs
                    .unwrap()
                    .into_iter()
                    .map(|input| input.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()))
                    .collect();
                let inputs: Vec<_> = inputs.iter().map(Option::as_deref).collect();
                assert_eq!(inputs, expected, "{body:?}");
            }
            Err(message) => {
                assert_eq!(inputs, Err(Fault::new(Code::BadRequest, message.to_owned())))
            }
        }
    }

    #[test]
    fn inputs_are_found_by_index() {
        check(r#"{"0":{"a":1},"1":[2]}"#, Ok(&[Some(r#"{"a":1}"#), Some("[2]")]));
        check(r#" {"1" : null , "7":1}"#, Ok(&[None, Some("null")]));
        check(r#"{"0":1,"0":2}"#, Ok(&[Some("2")]));
        check("\u{feff}{\"\\u0030\":1}\r\n", Ok(&[Some("1")]));
        check(r#"{"00":1,"+0":1,"-0":1,"a":1}"#, Ok(&[None]));
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        for body in ["[1]", "\"x\"", "null", "12", "true"] {
            check(body, Err("\"input\" needs to be an object when doing a batch call"));
        }
    }

    #[test]
    fn a_body_that_is_not_json_is_malformed() {
        check("", Err("Unexpected end of JSON input"));
        check(" \n", Err("Unexpected end of JSON input"));
        check("{\"0\":", Err("EOF while parsing a value at line 1 column 5"));
        check("{\"0\":1} x", Err("trailing characters at line 1 column 9"));
        check("[1", Err("EOF while parsing a list at line 1 column 2"));
    }
}
