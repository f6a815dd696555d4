//! Reads stored maps of texts: answers by question id, tags by name.
//!
//! Lists and exports read every response of a flow, so nothing is built here that outlives a read:
//! a text borrows from the JSON unless an escape forces a copy.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::text_map::Texts;

/// Calls `each` with every name and its texts, in stored order. Values that are neither a text nor
/// a list of texts are skipped; JSON that is not an object has no entries.
pub fn each_entry<'j>(
    json: &'j str,
    each: impl FnMut(Cow<'j, str>, Texts<'j>),
) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_map(EntryVisitor(each))
}

/// The texts of one name, without reading the other entries if none has an escape: then a quote
/// always begins or ends a text, and a quoted name with a colon after it is an entry.
pub fn entry<'j>(json: &'j str, name: &str) -> Result<Option<Texts<'j>>, serde_json::Error> {
    // Other names could look like what stands between two texts.
    let is_plain = name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it));
    let has_escape = json.contains('\\');
    let is_flat = json.starts_with('{') && json.ends_with('}') && json.rfind('{') == Some(0);
    if has_escape || !is_plain || !is_flat {
        let mut found = None;
        each_entry(json, |entry, texts| {
            if entry == name {
                found = Some(texts);
            }
        })?;
        return Ok(found);
    }
    for (at, _) in json.match_indices(name) {
        let (before, after) = (&json[..at], &json[at + name.len()..]);
        let after = after.strip_prefix('"').filter(|_| before.ends_with('"'));
        if let Some(value) = after.and_then(|after| after.trim_start().strip_prefix(':')) {
            return OneOrMany.deserialize(&mut serde_json::Deserializer::from_str(value));
        }
    }
    Ok(None)
}

struct EntryVisitor<F>(F);

impl<'j, F: FnMut(Cow<'j, str>, Texts<'j>)> Visitor<'j> for EntryVisitor<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts")
    }

    fn visit_map<A: MapAccess<'j>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Text)? {
            if let Some(texts) = map.next_value_seed(OneOrMany)? {
                (self.0)(name.unwrap_or_default(), texts);
            }
        }
        Ok(())
    }
}

/// A text; `None` for any other value.
struct Text;

impl<'j> DeserializeSeed<'j> for Text {
    type Value = Option<Cow<'j, str>>;

    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A text or a list of texts; `None` for any other value.
struct OneOrMany;

impl<'j> DeserializeSeed<'j> for OneOrMany {
    type Value = Option<Texts<'j>>;

    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Any value that is not a text is skipped.
macro_rules! passed_over {
    ($visit_text:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("JSON")
        }
        fn visit_borrowed_str<E>(self, text: &'j str) -> Result<Self::Value, E> {
            Ok(Some($visit_text(Cow::Borrowed(text))))
        }
        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some($visit_text(Cow::Owned(text.to_owned()))))
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_key_seed(Text)?.is_some() {
                map.next_value_seed(OneOrMany)?;
            }
            Ok(None)
        }
    };
}

impl<'j> Visitor<'j> for Text {
    type Value = Option<Cow<'j, str>>;

    passed_over!(|text| text);

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element_seed(OneOrMany)?.is_some() {}
        Ok(None)
    }
}

impl<'j> Visitor<'j> for OneOrMany {
    type Value = Option<Texts<'j>>;

    passed_over!(Texts::One);

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element_seed(Text)? {
            texts.extend(text);
        }
        Ok(Some(Texts::Many(texts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(json: &str) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        let read = each_entry(json, |name, texts| {
            let texts = match texts {
                Texts::One(text) => vec![text.into_owned()],
                Texts::Many(texts) => texts.into_iter().map(Cow::into_owned).collect(),
            };
            all.push((name.into_owned(), texts));
        });
        assert!(read.is_ok(), "{json}: {read:?}");
        all
    }

    #[test]
    fn every_text_is_read_back_and_nothing_else() {
        for (json, expected) in [
            ("{}", vec![]),
            (r#"{"a":"b"}"#, vec![("a", vec!["b"])]),
            (r#" { "a" : [ "b" , "c" ] } "#, vec![("a", vec!["b", "c"])]),
            (r#"{"a":"\u00e9\n\"","\u0062":[]}"#, vec![("a", vec!["é\n\""]), ("b", vec![])]),
            (
                r#"{"a":1,"b":{"c":["d",{"e":"f"}]},"g":["h",2,["i"]],"j":null,"k":"l"}"#,
                vec![("g", vec!["h"]), ("k", vec!["l"])],
            ),
        ] {
            let expected: Vec<(String, Vec<String>)> = expected
                .into_iter()
                .map(|(name, texts)| (name.into(), texts.into_iter().map(String::from).collect()))
                .collect();
            assert_eq!(entries(json), expected, "{json}");
        }
        assert!(each_entry("{\"a\":", |_, _| {}).is_err());
        assert!(each_entry("[]", |_, _| {}).is_err());
    }

    #[test]
    fn an_entry_is_found_as_if_all_were_read() {
        let all = [
            r#"{}"#,
            r#"{"a":"b","b":"a","ab":["a","b"],"":"none"}"#,
            r#"{"x":"a\":","a":"1"}"#,
            r#"{"x\"a":"0","a":"1"}"#,
            r#"{"\u0061":"1"}"#,
            r#"{"x":{"a":"0"},"a":"1"}"#,
            r#"{"x":"{","a":"1"}"#,
            r#"{"x":{"a":"0"}}"#,
            r#"{ "x" : "a" , "a" : [ "1" ] }"#,
            r#"{"a":7,"b":[]}"#,
            r#"{"x":"a:","é":"a","a":"é"}"#,
            r#"{"a":"x",":":"y"}"#,
            r#"{"a":":x",",":["a","b"]}"#,
        ];
        for json in all {
            for name in ["a", "b", "ab", "x", "", "é", "x\"a", "\\u0061", "c", ":", ",", ":[", "],"]
            {
                let mut found = None;
                each_entry(json, |it, texts| {
                    if it == name {
                        found = Some(texts);
                    }
                })
                .unwrap();
                assert_eq!(entry(json, name).unwrap(), found, "{name} in {json}");
            }
        }
        for damaged in ["", "[]", "{\"a\":\"1\"", "{\"a\":}", "{\"a\":\"1}"] {
            assert!(entry(damaged, "a").is_err(), "{damaged}");
        }
    }
}
