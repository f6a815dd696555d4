//! Brings the fields of a question within the limits of its type.

use sluice_flow::definition::limits::{ANSWER_CHARS_MAX, MATRIX_ROWS_MAX, OPTIONS_MAX, SCORE_MAX};

use crate::draft::{Choice, Item, Kind, Options};
use crate::report::Report;

/// What a rating of Sluice may have.
const RATING_STEPS: std::ops::RangeInclusive<u32> = 3..=10;

/// The question with a type that Sluice accepts, or without one.
pub(super) fn settle(mut item: Item, report: &mut Report) -> Item {
    let Some(kind) = item.kind.take() else { return item };
    if matches!(kind, Kind::Statement) && item.required {
        item.required = false;
    }
    let mut changes = Vec::new();
    match within_limits(kind, &mut changes) {
        Ok(kind) => item.kind = Some(kind),
        Err(reason) => report.lost(item.entry, reason),
    }
    changes.into_iter().for_each(|change| report.change(item.entry, change));
    item
}

fn within_limits(kind: Kind, changes: &mut Vec<String>) -> Result<Kind, String> {
    Ok(match kind {
        Kind::Text { name, min, max } => {
            let within = |bound: Option<u32>, changes: &mut Vec<String>| {
                if bound.is_some_and(|bound| bound > ANSWER_CHARS_MAX) {
                    changes.push(format!("an answer has at most {ANSWER_CHARS_MAX} characters"));
                }
                bound.map(|bound| bound.min(ANSWER_CHARS_MAX)).filter(|bound| *bound > 0)
            };
            let (min, max) = (within(min, changes), within(max, changes));
            let (min, max) = ordered(min, max, changes);
            Kind::Text { name, min, max }
        }
        Kind::Number { min, max, integer } => {
            let (min, max) = ordered(min, max, changes);
            Kind::Number { min, max, integer }
        }
        Kind::Date { min, max } => {
            let (min, max) = ordered(min, max, changes);
            Kind::Date { min, max }
        }
        Kind::Single { options, dropdown } => {
            Kind::Single { options: settled_options(options, 1, changes)?, dropdown }
        }
        Kind::Multiple { options, min, max } => {
            let options = settled_options(options, 1, changes)?;
            let most = options.choices.len() as u32 + u32::from(options.other);
            let min = min.filter(|min| *min > 0).map(|min| min.min(most));
            let max = max.filter(|max| (1..most).contains(max));
            let (min, max) = ordered(min, max, changes);
            Kind::Multiple { options, min, max }
        }
        Kind::Ranking(options) => {
            let mut options = settled_options(options, 2, changes)?;
            if std::mem::take(&mut options.other) {
                changes.push("a ranking of Sluice has no free text".to_owned());
            }
            for choice in &mut options.choices {
                choice.score = None;
            }
            Kind::Ranking(options)
        }
        Kind::Matrix { rows, columns } => Kind::Matrix {
            rows: limited(rows, 1, MATRIX_ROWS_MAX, "rows", changes)?,
            columns: limited(columns, 1, OPTIONS_MAX, "columns", changes)?,
        },
        Kind::Rating(mut scale) => {
            if !RATING_STEPS.contains(&scale.max) {
                let (least, most) = (RATING_STEPS.start(), RATING_STEPS.end());
                let steps = scale.max;
                changes.push(format!("has {steps} steps; a rating has {least} to {most}"));
                scale.max = steps.clamp(*least, *most);
            }
            Kind::Rating(scale)
        }
        other => other,
    })
}

fn settled_options(
    mut options: Options,
    least: usize,
    changes: &mut Vec<String>,
) -> Result<Options, String> {
    options.choices = limited(options.choices, least, OPTIONS_MAX, "options", changes)?;
    for choice in &mut options.choices {
        if let Some(score) = choice.score {
            let limit = f64::from(SCORE_MAX);
            let rounded = (score.clamp(-limit, limit) * 100.0).round() / 100.0;
            if rounded != score {
                changes.push(format!("a score of {score} becomes {rounded}"));
            }
            choice.score = Some(rounded);
        }
    }
    Ok(options)
}

fn limited(
    mut choices: Vec<Choice>,
    least: usize,
    most: usize,
    name: &str,
    changes: &mut Vec<String>,
) -> Result<Vec<Choice>, String> {
    if choices.len() < least {
        return Err(format!("it has {} {name}, and needs {least}", choices.len()));
    }
    if choices.len() > most {
        changes.push(format!("has {} {name}; the first {most} are mapped", choices.len()));
        choices.truncate(most);
    }
    Ok(choices)
}

/// Both bounds, or none if no answer could satisfy them.
fn ordered<T: PartialOrd>(
    min: Option<T>,
    max: Option<T>,
    changes: &mut Vec<String>,
) -> (Option<T>, Option<T>) {
    match (&min, &max) {
        (Some(low), Some(high)) if low > high => {
            changes.push("its limits contradict one another and are left out".to_owned());
            (None, None)
        }
        _ => (min, max),
    }
}
