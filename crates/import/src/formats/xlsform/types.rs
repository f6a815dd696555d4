//! The names of question types. Old forms write them in words: `select one from list`.

/// What a cell of the column `type` says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Type {
    Begin { is_repeat: bool },
    End,
    Select(Select),
    Other(String),
}

/// A question with a list of options.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Select {
    /// `select_one`, `select_multiple`, `rank`, or `external` if the list is in another file.
    pub(super) kind: &'static str,
    pub(super) list: String,
    pub(super) other: bool,
}

/// The words before the name of a list. The first that fits counts, so longer ones come first.
const SELECTS: &[(&str, &str)] = &[
    ("select_one_from_file", "external"),
    ("select_multiple_from_file", "external"),
    ("select_one_external", "external"),
    ("select one from file", "external"),
    ("select multiple from file", "external"),
    ("select one external", "external"),
    ("cascading_select", "external"),
    ("cascading select", "external"),
    ("add select one prompt using", "select_one"),
    ("add select multiple prompt using", "select_multiple"),
    ("select all that apply from", "select_multiple"),
    ("select all that apply", "select_multiple"),
    ("select multiple from", "select_multiple"),
    ("select multiple using", "select_multiple"),
    ("select multiple", "select_multiple"),
    ("select_multiple from", "select_multiple"),
    ("select_multiple", "select_multiple"),
    ("q select", "select_multiple"),
    ("select one from", "select_one"),
    ("select one using", "select_one"),
    ("select one", "select_one"),
    ("select_one from", "select_one"),
    ("select_one", "select_one"),
    ("select1", "select_one"),
    ("q select1", "select_one"),
    ("rank", "rank"),
];
/// Other names of types, without `add … prompt`, `q …`, `get …` and `uri:…`.
const ALIASES: &[(&str, &str)] = &[
    ("string", "text"),
    ("int", "integer"),
    ("date time", "datetime"),
    ("trigger", "acknowledge"),
    ("tel", "phone number"),
    ("picture", "image"),
    ("photo", "image"),
    ("location", "geopoint"),
    ("gps", "geopoint"),
    ("imei", "deviceid"),
    ("device id", "deviceid"),
    ("subscriber id", "subscriberid"),
    ("sim id", "simserial"),
    ("start time", "start"),
    ("end time", "end"),
];

impl Type {
    pub(super) fn read(cell: &str) -> Self {
        let words: Vec<&str> = cell.split_whitespace().collect();
        let lower = words.iter().map(|it| it.to_lowercase()).collect::<Vec<_>>();
        let name = lower.join(" ");
        match name.replacen('_', " ", 1).split(' ').take(2).collect::<Vec<_>>().as_slice() {
            ["begin", "group"] => return Self::Begin { is_repeat: false },
            ["begin", "repeat" | "loop" | "lgroup" | "looped"] => {
                return Self::Begin { is_repeat: true };
            }
            ["end", "group" | "repeat" | "loop" | "lgroup" | "looped"] => return Self::End,
            _ => {}
        }
        match select(&words, &lower) {
            Some(select) => Self::Select(select),
            None => Self::Other(plain(&name)),
        }
    }
}

fn select(words: &[&str], lower: &[String]) -> Option<Select> {
    let starts = |names: &str| {
        let count = names.split(' ').count();
        let fits = names.split(' ').zip(lower).filter(|(name, word)| name == word).count();
        (fits == count).then_some(count)
    };
    let (count, kind) = SELECTS.iter().find_map(|(names, kind)| Some((starts(names)?, *kind)))?;
    let list = words.get(count).copied().unwrap_or_default().to_owned();
    let rest = lower.get(count + 1..).unwrap_or_default().join(" ");
    let other = matches!(rest.as_str(), "or_other" | "or other" | "or specify other");
    Some(Select { kind, list, other })
}

/// The usual name of a type without a list.
fn plain(name: &str) -> String {
    // A phone number is asked for; `get phone number` reads that of the device.
    if name == "get phone number" {
        return "phonenumber".to_owned();
    }
    let inner = name.strip_prefix("add ").and_then(|it| it.strip_suffix(" prompt"));
    let inner = inner.or_else(|| name.strip_prefix("q ")).or_else(|| name.strip_prefix("get "));
    let inner = inner.or_else(|| name.strip_prefix("uri:")).unwrap_or(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == inner);
    alias.map_or(inner, |(_, usual)| usual).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_in_words_are_those_of_today() {
        let select = |kind, other| Type::Select(Select { kind, list: "Ways".to_owned(), other });
        let other = |name: &str| Type::Other(name.to_owned());
        for (written, expected) in [
            ("select_one Ways", select("select_one", false)),
            ("Select  One Ways", select("select_one", false)),
            ("select1 Ways", select("select_one", false)),
            ("select one from Ways", select("select_one", false)),
            ("add select one prompt using Ways", select("select_one", false)),
            ("select all that apply from Ways", select("select_multiple", false)),
            ("select all that apply Ways or specify other", select("select_multiple", true)),
            ("add select multiple prompt using Ways", select("select_multiple", false)),
            ("select_multiple Ways or_other", select("select_multiple", true)),
            ("select one Ways or other", select("select_one", true)),
            ("rank Ways", select("rank", false)),
            ("select one from file Ways", select("external", false)),
            ("begin group", Type::Begin { is_repeat: false }),
            ("begin_group", Type::Begin { is_repeat: false }),
            ("Begin Repeat", Type::Begin { is_repeat: true }),
            ("begin looped group", Type::Begin { is_repeat: true }),
            ("begin loop over Ways", Type::Begin { is_repeat: true }),
            ("end_repeat", Type::End),
            ("end looped group", Type::End),
            ("end", other("end")),
            ("end time", other("end")),
            ("add text prompt", other("text")),
            ("q string", other("text")),
            ("add date time prompt", other("datetime")),
            ("dateTime", other("datetime")),
            ("add image prompt", other("image")),
            ("phone number", other("phone number")),
            ("tel", other("phone number")),
            ("get phone number", other("phonenumber")),
            ("get start time", other("start")),
            ("uri:deviceid", other("deviceid")),
            ("imei", other("deviceid")),
            ("gps", other("geopoint")),
            ("percentage", other("percentage")),
        ] {
            assert_eq!(Type::read(written), expected, "{written}");
        }
    }
}
