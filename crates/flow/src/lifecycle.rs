//! The state of a version at an instant.
//!
//! States are derived, not stored: a version has timestamps, and its state *now* is a function of
//! them. So no scheduler updates a status, and no window opens late. Windows are half-open.

use serde::{Deserialize, Serialize};

use crate::id::FlowVersionId;
use crate::issue::Issue;
use crate::time::{Timestamp, Window};

/// Grace in seconds if neither the flow nor its app sets one.
pub const GRACE_DEFAULT_SECONDS: u32 = 86_400;
/// The longest grace that can be set: 366 days.
pub const GRACE_MAX_SECONDS: u32 = 366 * 86_400;

/// The instants that decide the life of a version. `published_at` is absent for a draft.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionTimes {
    pub published_at: Option<Timestamp>,
    pub superseded_at: Option<Timestamp>,
    /// When the grace ends. Set when the next version is published; a later publish can only move
    /// it earlier.
    pub grace_ends_at: Option<Timestamp>,
    pub retired_at: Option<Timestamp>,
}

impl VersionTimes {
    /// These times after a newer version is published at `now`, which lets older versions accept
    /// responses until `grace_ends_at` at the latest.
    ///
    /// The newest publish decides for all older versions: it can end a grace earlier, and never
    /// extends or reopens one. Retiring this version, or any in between, changes nothing here.
    pub fn superseded(self, now: Timestamp, grace_ends_at: Timestamp) -> Self {
        let before = self.grace_ends_at.or(self.superseded_at);
        Self {
            superseded_at: self.superseded_at.or(Some(now)),
            grace_ends_at: Some(before.map_or(grace_ends_at, |before| before.min(grace_ends_at))),
            ..self
        }
    }
}

/// The times of the flow that affect all its versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowTimes {
    pub live: Window,
    pub archived_at: Option<Timestamp>,
}

/// Whether a version accepts responses, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepting {
    /// It is the current version; `until` is the end of the live window, if any.
    Open {
        until: Option<Timestamp>,
    },
    /// A newer version is published; this one still accepts responses until then.
    InGrace {
        until: Timestamp,
    },
    /// Retired, or its flow is archived: treated as not found.
    Gone,
    NotOpenYet,
    NoLonger,
}

impl Accepting {
    /// The first instant at which this result may change, if responses are accepted now.
    pub fn until(self) -> Option<Timestamp> {
        match self {
            Self::Open { until } => until,
            Self::InGrace { until } => Some(until),
            Self::Gone | Self::NotOpenYet | Self::NoLonger => None,
        }
    }

    /// Whether it accepts responses.
    pub fn accepts(self) -> bool {
        matches!(self, Self::Open { .. } | Self::InGrace { .. })
    }

    /// The issue with which a submission to such a version is refused, if it is. `latest` returns
    /// the newer version that accepts responses at the same instant, if any.
    pub fn refusal(self, latest: impl FnOnce() -> Option<FlowVersionId>) -> Option<Issue> {
        match self {
            Self::Open { .. } | Self::InGrace { .. } => None,
            Self::Gone => Some(Issue::flow_version_not_found()),
            Self::NotOpenYet => Some(Issue::not_open_yet()),
            Self::NoLonger => Some(Issue::no_longer_accepting(latest())),
        }
    }
}

/// The state of a version at an instant, checked in the order of the contract: gone, not open yet,
/// no longer accepting.
pub fn accepting(version: &VersionTimes, flow: &FlowTimes, now: Timestamp) -> Accepting {
    let passed = |edge: Option<Timestamp>| edge.is_some_and(|edge| now >= edge);
    if passed(version.retired_at) || passed(flow.archived_at) {
        return Accepting::Gone;
    }
    // A publish takes effect when it is stored, whatever the clock says: a client has resolved it.
    if version.published_at.is_none() || !passed(flow.live.starts_at.or(Some(now))) {
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

/// The status of a flow's live window at an instant, for clients that resolve the flow.
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
