//! The answers against the version's own questions. (stub)
use crate::issue::Issue;
use crate::snapshot::Snapshot;
use crate::submission::TextMap;
/// Every issue of these answers; none means that they are admitted.
pub fn judge(_snapshot: &Snapshot, _answers: &TextMap<'_>) -> Vec<Issue> { todo!() }
