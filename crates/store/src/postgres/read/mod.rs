//! Reads, by kind: each function is one statement, so it reads at one instant.

pub(super) mod apps;
pub(super) mod counts;
pub(super) mod export;
pub(super) mod flows;
pub(super) mod instance;
pub(super) mod respondents;
pub(super) mod responses;

/// A limit in the type that PostgreSQL expects.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
