//! Reads an object of the source, and knows which of its properties were never read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// An object of the source; empty if the value is not an object.
#[derive(Debug)]
pub(crate) struct Fields<'v> {
    map: Option<&'v Map<String, Value>>,
    read: RefCell<BTreeSet<&'v str>>,
}

static NULL: Value = Value::Null;

impl<'v> Fields<'v> {
    pub(crate) fn new(value: &'v Value) -> Self {
        Self { map: value.as_object(), read: RefCell::default() }
    }

    /// A property; null if it is absent.
    pub(crate) fn get(&self, name: &str) -> &'v Value {
        let Some((name, value)) = self.map.and_then(|map| map.get_key_value(name)) else {
            return &NULL;
        };
        self.read.borrow_mut().insert(name);
        value
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.is_some_and(|map| map.get(name).is_some_and(|value| !is_nothing(value)))
    }

    /// A text that is not empty. Numbers and booleans are texts, too.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        scalar(self.get(name)).filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).as_bool().unwrap_or_default()
    }

    /// A number, also one in a text.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let value = self.get(name);
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        number.filter(|number| number.is_finite())
    }

    /// A count; fractions and negative numbers are no counts.
    pub(crate) fn count(&self, name: &str) -> Option<u32> {
        let number = self.number(name)?;
        (number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0)
            .then_some(number as u32)
    }

    pub(crate) fn list(&self, name: &str) -> &'v [Value] {
        self.get(name).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn fields(&self, name: &str) -> Fields<'v> {
        Fields::new(self.get(name))
    }

    /// Marks properties as read that have no meaning for a respondent: ids, times, layout.
    pub(crate) fn skip(&self, names: &[&str]) {
        for name in names {
            self.get(name);
        }
    }

    /// The properties with a value that were not read.
    pub(crate) fn unread(&self) -> Vec<&'v str> {
        let read = self.read.borrow();
        let all = self.map.into_iter().flatten();
        all.filter(|(name, value)| !is_nothing(value) && !read.contains(name.as_str()))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The unread properties as a change, if there are any.
    pub(crate) fn leftover(&self) -> Option<String> {
        const LISTED_MAX: usize = 20;
        let unread = self.unread();
        let listed: Vec<String> = unread.iter().take(LISTED_MAX).map(|it| short(it)).collect();
        let more = if unread.len() > LISTED_MAX { " and others" } else { "" };
        let word = if unread.len() == 1 { "property" } else { "properties" };
        (!unread.is_empty()).then(|| format!("{word} not mapped: {}{more}", listed.join(", ")))
    }
}

/// A property's name, cut if it is long.
fn short(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Whether a value says nothing: it is empty, null or false.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(_) => false,
    }
}

/// A text, number or boolean as text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
