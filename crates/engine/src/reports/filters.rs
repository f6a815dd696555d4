//! Checks the filters of a report. They are those of the results page, which ignores what it
//! cannot read; a report must not, because it would show more than its author has chosen.

use std::collections::HashSet;

use sluice_flow::definition::Fault;
use sluice_flow::id::FlowVersionId;
use sluice_flow::submission::Admission;
use sluice_flow::time::Day;

use crate::question_history::QuestionHistory;

/// The periods of the results page.
const PERIODS: [&str; 3] = ["7d", "30d", "90d"];
/// The maximum number of filters, and of bytes in all of them.
const FILTERS_MAX: usize = 25;
pub const BYTES_MAX: usize = 8 * 1024;
/// The maximum number of filters by answers, as on the results page.
const ANSWERS_MAX: usize = 19;

/// Everything that is wrong with these filters.
pub(super) fn faults(filters: &[(String, String)], history: &QuestionHistory) -> Vec<Fault> {
    let bytes: usize = filters.iter().map(|(name, value)| name.len() + value.len()).sum();
    if filters.len() > FILTERS_MAX || bytes > BYTES_MAX {
        let message = format!("must be at most {FILTERS_MAX} filters of {BYTES_MAX} bytes in all");
        return vec![Fault::new("/filters", message)];
    }
    let found = filters.iter().filter_map(|(name, value)| {
        let message = message(name, value, history)?;
        Some(Fault::new("/filters", format!("{name}: {message}")))
    });
    found.chain(together(filters)).collect()
}

/// Filters that exclude each other.
fn together<'f>(filters: &'f [(String, String)]) -> Option<Fault> {
    let mut seen = HashSet::new();
    // A question may have several filters, but not the same one twice.
    let key = |(name, value): &'f (String, String)| match name.starts_with("answer.") {
        true => (name.as_str(), value.as_str()),
        false => (name.as_str(), ""),
    };
    let twice = filters.iter().find(|filter| !seen.insert(key(filter)));
    let has = |wanted: &str| filters.iter().any(|(name, _)| name == wanted);
    let compares = |start: &str| {
        filters.iter().any(|(name, value)| name == "compare" && value.starts_with(start))
    };
    let count = |start: &str| filters.iter().filter(|(name, _)| name.starts_with(start)).count();
    let tags = count("tag.");
    if let Some((name, _)) = twice {
        Some(Fault::new("/filters", format!("{name} must be given once")))
    } else if has("period") && (has("from") || has("to")) {
        Some(Fault::new("/filters", "period excludes from and to"))
    } else if tags > 1 {
        Some(Fault::new("/filters", "only one tag can be used at a time"))
    } else if tags > 0 && compares("tag.") {
        Some(Fault::new("/filters", "a tag excludes a comparison by tag"))
    } else if has("version") && compares("version") {
        Some(Fault::new("/filters", "version excludes a comparison by version"))
    } else if count("answer.") > ANSWERS_MAX {
        Some(Fault::new("/filters", format!("must be at most {ANSWERS_MAX} filters by answers")))
    } else {
        None
    }
}

fn message(name: &str, value: &str, history: &QuestionHistory) -> Option<String> {
    let text = |message: &str| Some(message.to_owned());
    match name {
        "period" if PERIODS.contains(&value) => None,
        "period" => text("must be 7d, 30d or 90d"),
        "from" | "to" if value.parse::<Day>().is_ok() => None,
        "from" | "to" => text("must be a day such as 2026-11-15"),
        "version" => match value.parse::<FlowVersionId>().map(|id| history.version(id)) {
            Ok(Some(_)) => None,
            _ => text("must be a published version of this flow"),
        },
        "admission" if Admission::named(value).is_some() => None,
        "admission" => text("must be admitted or collection_only"),
        "compare" if matches!(value, "version" | "period") => None,
        "compare" if value.strip_prefix("tag.").is_some_and(|tag| !tag.is_empty()) => None,
        "compare" => text("must be version, period or tag.NAME"),
        _ => match (name.strip_prefix("tag."), name.strip_prefix("answer.")) {
            (Some(tag), _) if !tag.is_empty() => None,
            (_, Some(answer)) if !answer.is_empty() => history.answer_filter(answer, value).err(),
            _ => text(
                "is not a filter; use period, from, to, version, admission, tag.NAME, \
                 answer.QUESTION or compare",
            ),
        },
    }
}
