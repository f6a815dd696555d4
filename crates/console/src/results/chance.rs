//! Whether differences could be chance, in words.

use sluice_engine::summary::comparison::{ANSWERS_MIN, FEW_ANSWERS, GroupTest};
use sluice_engine::summary::significance::P_MAX;

use crate::chart::decimal;

/// The outcome of the test of a question over the groups of a comparison.
pub(super) fn of_groups(test: &GroupTest) -> String {
    let Some(p) = test.p else {
        return "Too few answers to tell whether the groups differ by more than chance.".to_owned();
    };
    let p_value = p_value(p);
    let mut words = match (test.groups, p < P_MAX) {
        (2, false) => format!("The difference could be chance ({p_value})."),
        (2, true) => format!("The difference is unlikely to be chance ({p_value})."),
        (_, false) => format!("The differences between the groups could be chance ({p_value})."),
        (_, true) => format!(
            "The differences between the groups are unlikely to be chance ({p_value}): at least \
             one group differs from the others."
        ),
    };
    if test.leaves_out {
        words.push_str(&format!(" Groups with fewer than {ANSWERS_MIN} answers are not tested."));
    }
    if test.is_few {
        let few = " Few answers: with fewer than ";
        words.push_str(&format!("{few}{FEW_ANSWERS} in a group, only large differences show."));
    }
    words
}

pub(super) fn p_value(p: f64) -> String {
    let rounded = decimal(p, 3);
    if p < 0.001 {
        "p < 0.001".to_owned()
    } else if p < P_MAX && rounded == decimal(P_MAX, 3) {
        format!("p < {rounded}")
    } else {
        format!("p = {rounded}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_is_described_in_words() {
        let test = |p, groups| GroupTest { p, groups, leaves_out: false, is_few: false };
        for (test, words) in [
            (test(Some(0.25), 2), "The difference could be chance (p = 0.25)."),
            (test(Some(0.05), 2), "The difference could be chance (p = 0.05)."),
            (test(Some(0.0496), 2), "The difference is unlikely to be chance (p < 0.05)."),
            (test(Some(0.0504), 2), "The difference could be chance (p = 0.05)."),
            (test(Some(0.0494), 2), "The difference is unlikely to be chance (p = 0.049)."),
            (
                test(Some(1e-9), 3),
                "The differences between the groups are unlikely to be chance (p < 0.001): at \
                 least one group differs from the others.",
            ),
            (test(Some(0.9), 3), "The differences between the groups could be chance (p = 0.9)."),
            (
                GroupTest { leaves_out: true, is_few: true, ..test(Some(0.25), 2) },
                "The difference could be chance (p = 0.25). Groups with fewer than 10 answers are \
                 not tested. Few answers: with fewer than 30 in a group, only large differences \
                 show.",
            ),
            (
                GroupTest { leaves_out: true, is_few: true, ..test(None, 1) },
                "Too few answers to tell whether the groups differ by more than chance.",
            ),
        ] {
            assert_eq!(of_groups(&test), words);
        }
    }
}
