//! Checks the filters of a report. They are those of the results page, which ignores what it
//! cannot read; a report must not, because it would show more than its author has chosen.

use std::collections::HashSet;

use sluice_flow::definition::Fault;
use sluice_flow::id::FlowVersionId;
use sluice_flow::submission::Admission;
use sluice_flow::time::Day;

use crate::fault::fault;
use crate::question_history::QuestionHistory;

/// The periods of the results page.
const PERIODS: [&str; 3] = ["7d", "30d", "90d"];
/// The maximum number of filters, and of bytes in all of them.
const FILTERS_MAX: usize = 25;
const BYTES_MAX: usize = 8 * 1024;

/// Everything that is wrong with these filters.
pub(super) fn faults(filters: &[(String, String)], history: &QuestionHistory) -> Vec<Fault> {
    let bytes: usize = filters.iter().map(|(name, value)| name.len() + value.len()).sum();
    if filters.len() > FILTERS_MAX || bytes > BYTES_MAX {
        let message = format!("must be at most {FILTERS_MAX} filters of {BYTES_MAX} bytes in all");
        return vec![fault("/filters", message)];
    }
    let found = filters.iter().filter_map(|(name, value)| {
        let message = message(name, value, history)?;
        Some(fault("/filters", format!("{name}: {message}")))
    });
    found.chain(together(filters)).collect()
}

/// Filters that exclude each other.
fn together(filters: &[(String, String)]) -> Option<Fault> {
    let mut seen = HashSet::new();
    let is_twice = |name: &str| !name.starts_with("answer.");
    let twice = filters.iter().find(|(name, _)| is_twice(name) && !seen.insert(name.as_str()));
    let has = |wanted: &str| filters.iter().any(|(name, _)| name == wanted);
    let tags = filters.iter().filter(|(name, _)| name.starts_with("tag.")).count();
    if let Some((name, _)) = twice {
        Some(fault("/filters", format!("{name} must be given once")))
    } else if has("period") && (has("from") || has("to")) {
        Some(fault("/filters", "period excludes from and to"))
    } else if tags > 1 {
        Some(fault("/filters", "only one tag can be used at a time"))
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
