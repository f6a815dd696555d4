//! What a version is at an instant.
//!
//! States are derived, not stored: a version has timestamps, and what it is *now* is a function of
//! these. So no scheduler flips a status, and no window opens late. Windows are half-open.

use serde::Serialize;

use crate::id::FlowVersionId;
use crate::issue::Issue;
use crate::time::{Timestamp, Window};

/// Grace in seconds where neither the flow nor its app sets one.
pub const GRACE_DEFAULT_SECONDS: u32 = 86_400;
/// The longest grace that can be set: 366 days.
pub const GRACE_MAX_SECONDS: u32 = 366 * 86_400;

/// The instants that decide a version's life. `published_at` is absent on a draft.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionTimes {
    pub published_at: Option<Timestamp>,
    pub superseded_at: Option<Timestamp>,
    /// When the grace ends. Set when the next version is published; a later publish can only move
    /// it to an earlier instant.
    pub grace_ends_at: Option<Timestamp>,
    pub retired_at: Option<Timestamp>,
}

impl VersionTimes {
    /// These times once a newer version is published at `now`, whose older versions accept
    /// responses until `grace_ends_at` at the latest.
    ///
    /// The newest publish decides for all older versions: it can end a grace earlier, and never
    /// extends or reopens one. Retirement changes nothing here, neither of this version nor of any
    /// between.
    pub fn superseded(self, now: Timestamp, grace_ends_at: Timestamp) -> Self {
        let before = self.grace_ends_at.or(self.superseded_at);
        Self {
            superseded_at: self.superseded_at.or(Some(now)),
            grace_ends_at: Some(before.map_or(grace_ends_at, |before| before.min(grace_ends_at))),
            ..self
        }
    }
}

/// What of the flow decides the life of all its versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowTimes {
    pub live: Window,
    pub archived_at: Option<Timestamp>,
}

/// Whether a version takes responses, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepting {
    /// It is the current one; `until` is the end of the live window, if it has one.
    Open {
        until: Option<Timestamp>,
    },
    /// A newer one is published; this one still takes responses until then.
    InGrace {
        until: Timestamp,
    },
    /// Retired, or its flow archived: as if it had never been.
    Gone,
    NotOpenYet,
    NoLonger,
}

impl Accepting {
    /// The first instant at which this answer may change, if it takes responses now.
    pub fn until(self) -> Option<Timestamp> {
        match self {
            Self::Open { until } => until,
            Self::InGrace { until } => Some(until),
            Self::Gone | Self::NotOpenYet | Self::NoLonger => None,
        }
    }

    /// Whether it takes responses.
    pub fn accepts(self) -> bool {
        matches!(self, Self::Open { .. } | Self::InGrace { .. })
    }

    /// The issue that a submission to such a version meets, if it is refused. `latest` gives the
    /// newer version that accepts at the same instant, if any.
    pub fn refusal(self, latest: impl FnOnce() -> Option<FlowVersionId>) -> Option<Issue> {
        match self {
            Self::Open { .. } | Self::InGrace { .. } => None,
            Self::Gone => Some(Issue::flow_version_not_found()),
            Self::NotOpenYet => Some(Issue::not_open_yet()),
            Self::NoLonger => Some(Issue::no_longer_accepting(latest())),
        }
    }
}

/// Judges a version at an instant, in the order of the contract: gone, not open yet, no longer.
pub fn accepting(version: &VersionTimes, flow: &FlowTimes, now: Timestamp) -> Accepting {
    let passed = |edge: Option<Timestamp>| edge.is_some_and(|edge| now >= edge);
    if passed(version.retired_at) || passed(flow.archived_at) {
        return Accepting::Gone;
    }
    if version.published_at.is_none_or(|at| now < at) || !passed(flow.live.starts_at.or(Some(now)))
    {
        return Accepting::NotOpenYet;
    }
    if passed(flow.live.ends_at) {
        return Accepting::NoLonger;
    }
    match (version.superseded_at, version.grace_ends_at) {
        (Some(superseded), grace) if now >= superseded => {
            let grace_ends = grace.unwrap_or(superseded);
            if now >= grace_ends {
                Accepting::NoLonger
            } else {
                let until = flow.live.ends_at.map_or(grace_ends, |end| end.min(grace_ends));
                Accepting::InGrace { until }
            }
        }
        _ => Accepting::Open { until: flow.live.ends_at },
    }
}

/// What the live window says of a flow at an instant, for clients that resolve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowStatus {
    Scheduled,
    Open,
    Closed,
}

/// The status of a live window at an instant, and the next instant at which it changes.
pub fn flow_status(live: &Window, now: Timestamp) -> (FlowStatus, Option<Timestamp>) {
    match (live.starts_at, live.ends_at) {
        (Some(start), _) if now < start => (FlowStatus::Scheduled, Some(start)),
        (_, Some(end)) if now >= end => (FlowStatus::Closed, None),
        (_, end) => (FlowStatus::Open, end),
    }
}
