//! What is wrong with a reported visit.

use std::fmt;

/// The first fault of a report: where it is, and what is required there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitFault {
    /// The index of the step, if it is in one.
    step: Option<usize>,
    field: &'static str,
    rule: &'static str,
    /// Whether the report has the right form, and names a question that the version lacks.
    pub is_unknown_question: bool,
}

impl VisitFault {
    pub(super) fn in_body(field: &'static str, rule: &'static str) -> Self {
        Self { step: None, field, rule, is_unknown_question: false }
    }

    pub(super) fn in_step(at: usize, field: &'static str, rule: &'static str) -> Self {
        Self { step: Some(at), field, rule, is_unknown_question: false }
    }

    pub(super) fn unknown_question(at: usize) -> Self {
        let rule = "must be the id of a question of this version";
        Self { is_unknown_question: true, ..Self::in_step(at, "question", rule) }
    }
}

impl fmt::Display for VisitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, field, rule, .. } = self;
        match (step, *field) {
            (Some(at), "") => write!(f, "steps[{at}] {rule}."),
            (Some(at), field) => write!(f, "steps[{at}].{field} {rule}."),
            (None, "") => write!(f, "The body {rule}."),
            (None, field) => write!(f, "{field} {rule}."),
        }
    }
}
