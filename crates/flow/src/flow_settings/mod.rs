//! The settings of a flow as a flow file names them: everything about it besides its definition.
//!
//! A setting that is absent is not managed by the file, and stays as it is. [`difference`]
//! describes what a file changes; [`patch`] is the change as the admin API takes it.

mod difference;

pub use self::difference::difference;

use serde_json::{Map, Value, json};

use crate::closing::{LIMIT_MAX, Quota, read_quotas};
use crate::definition::reader::{Faults, ObjectReader};
use crate::definition::{Definition, Fault, Kind};
use crate::flow_key;
use crate::labels;
use crate::lifecycle::GRACE_MAX_SECONDS;
use crate::time::{Timestamp, Window};

/// The longest name of a flow, an app or a token, in characters.
pub const NAME_CHARS_MAX: usize = 200;

const KINDS: &[(&str, Kind)] =
    &[("survey", Kind::Survey), ("form", Kind::Form), ("message", Kind::Message)];

/// Settings of a flow; an absent one is not managed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowSettings {
    pub key: Option<String>,
    pub name: Option<String>,
    pub kind: Option<Kind>,
    pub labels: Option<Vec<String>>,
    pub live_window: Option<Window>,
    /// `Some(None)` is the app's setting.
    pub grace_window_seconds: Option<Option<u32>>,
    /// `Some(None)` is any number.
    pub close_after: Option<Option<u32>>,
    pub quotas: Option<Vec<Quota>>,
}

/// Why a text cannot be a name.
pub fn name_fault(name: &str) -> Option<String> {
    let chars = name.chars().count();
    let fits = !name.trim().is_empty() && chars <= NAME_CHARS_MAX && !name.contains('\0');
    (!fits).then(|| format!("must be a text of 1 to {NAME_CHARS_MAX} characters, not only spaces"))
}

impl FlowSettings {
    /// Reads the object at this pointer of a file, or returns all its faults. The conditions of
    /// quotas must fit the definition.
    pub fn read(
        value: &Value,
        pointer: &str,
        definition: Option<&Definition>,
    ) -> Result<Self, Vec<Fault>> {
        let faults = Faults::default();
        let Some(mut reader) = ObjectReader::open(value, pointer.to_owned(), &faults) else {
            return Err(faults.into_vec());
        };
        let is_null = |name: &str| value.get(name).is_some_and(Value::is_null);
        let key = checked_text(&mut reader, "key", |it| flow_key::fault(it).map(str::to_owned));
        let name = checked_text(&mut reader, "name", name_fault);
        let kind = reader.choice("kind", KINDS);
        let labels = read_labels(&mut reader);
        let live_window = read_window(&mut reader);
        let grace = reader.count("graceWindowSeconds", 0..=GRACE_MAX_SECONDS).map(Some);
        let close_after = reader.count("closeAfter", 1..=LIMIT_MAX).map(Some);
        let quotas = reader.field("quotas").and_then(|quotas| {
            let of_definition: Vec<&Definition> = definition.into_iter().collect();
            // The faults of the definition itself are reported instead.
            read_quotas(quotas, &of_definition)
                .map_err(|found| {
                    let found = found.into_iter().filter(|_| definition.is_some());
                    found.for_each(|it| faults.add(format!("{pointer}{}", it.pointer), it.message));
                })
                .ok()
        });
        reader.close();
        let read = Self {
            key,
            name,
            kind,
            labels: labels.or_else(|| is_null("labels").then(Vec::new)),
            live_window: live_window.or_else(|| is_null("liveWindow").then(Window::default)),
            grace_window_seconds: grace.or_else(|| is_null("graceWindowSeconds").then_some(None)),
            close_after: close_after.or_else(|| is_null("closeAfter").then_some(None)),
            quotas: quotas.or_else(|| is_null("quotas").then(Vec::new)),
        };
        let faults = faults.into_vec();
        if faults.is_empty() { Ok(read) } else { Err(faults) }
    }

    /// The settings of a flow as the admin API returns it.
    pub fn from_flow(flow: &Value) -> Result<Self, Vec<Fault>> {
        let names =
            ["key", "name", "kind", "labels", "liveWindow", "graceWindowSeconds", "closeAfter"];
        let picked = names.iter().filter_map(|&it| Some((it.to_owned(), flow.get(it)?.clone())));
        let read = Self::read(&Value::Object(picked.collect()), "", None)?;
        // Stored quotas may ask about a version that is no longer published.
        let quotas = flow.get("quotas").cloned().and_then(|it| serde_json::from_value(it).ok());
        Ok(Self { quotas, ..read })
    }

    /// The settings as a file names them, without those that are as in a new flow.
    pub fn to_file(&self) -> Value {
        let mut file = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            file.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("key", self.key.as_ref().map(|it| json!(it)));
        add("name", self.name.as_ref().map(|it| json!(it)));
        add("kind", self.kind.map(|it| json!(it)));
        add("labels", self.labels.as_ref().filter(|it| !it.is_empty()).map(|it| json!(it)));
        let window = self.live_window.filter(|it| *it != Window::default());
        add("liveWindow", window.map(|it| json!(it)));
        add("graceWindowSeconds", self.grace_window_seconds.flatten().map(|it| json!(it)));
        add("closeAfter", self.close_after.flatten().map(|it| json!(it)));
        add("quotas", self.quotas.as_ref().filter(|it| !it.is_empty()).map(|it| json!(it)));
        Value::Object(file)
    }
}

/// The change from one to the other as the admin API takes it: the settings that differ. The kind
/// cannot be changed.
pub fn patch(before: &FlowSettings, after: &FlowSettings) -> Map<String, Value> {
    let mut patch = Map::new();
    let mut add = |name: &str, differs: bool, value: Value| {
        if differs {
            patch.insert(name.to_owned(), value);
        }
    };
    fn differs<T: PartialEq>(before: &Option<T>, after: &Option<T>) -> bool {
        after.is_some() && before != after
    }
    add("key", differs(&before.key, &after.key), json!(after.key));
    add("name", differs(&before.name, &after.name), json!(after.name));
    add("labels", differs(&before.labels, &after.labels), json!(after.labels));
    add("liveWindow", differs(&before.live_window, &after.live_window), json!(after.live_window));
    let grace = (&before.grace_window_seconds, &after.grace_window_seconds);
    add("graceWindowSeconds", differs(grace.0, grace.1), json!(grace.1.flatten()));
    let close_after = (&before.close_after, &after.close_after);
    add("closeAfter", differs(close_after.0, close_after.1), json!(close_after.1.flatten()));
    add("quotas", differs(&before.quotas, &after.quotas), json!(after.quotas));
    patch
}

fn checked_text(
    reader: &mut ObjectReader<'_>,
    name: &'static str,
    fault: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let value = reader.field(name)?;
    let Some(text) = value.as_str() else {
        reader.fault(name, "must be a text");
        return None;
    };
    match fault(text) {
        Some(why) => {
            reader.fault(name, why);
            None
        }
        None => Some(text.to_owned()),
    }
}

fn read_labels(reader: &mut ObjectReader<'_>) -> Option<Vec<String>> {
    let value = reader.field("labels")?;
    let texts: Option<Vec<String>> = value
        .as_array()
        .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    let Some(texts) = texts else {
        reader.fault("labels", "must be a list of texts");
        return None;
    };
    for (at, why) in labels::faults(&texts) {
        reader.faults.add(format!("{}{at}", reader.pointer), why);
    }
    Some(labels::cleaned(&texts))
}

fn read_window(reader: &mut ObjectReader<'_>) -> Option<Window> {
    let value = reader.field("liveWindow")?;
    let mut window = ObjectReader::open(value, reader.at("liveWindow"), reader.faults)?;
    let mut time = |name: &'static str| -> Option<Timestamp> {
        let time = window.field(name)?;
        let read = time.as_str().and_then(|text| text.parse().ok());
        if read.is_none() {
            window.fault(name, "must be a time such as 2026-12-01T08:00:00Z, or null");
        }
        read
    };
    let read = Window { starts_at: time("startsAt"), ends_at: time("endsAt") };
    if !read.is_ordered() {
        window.fault("endsAt", "must be after startsAt");
    }
    window.close();
    Some(read)
}
