//! The model: the settings of a flow, what a change makes of them, and whether they accept a
//! response. It is written from the documents and shares no code with the service.

use serde::{Deserialize, Serialize};
use sluice_flow::id::FlowVersionId;

/// If a flow sets no grace window.
const GRACE_SECONDS: u32 = 86_400;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct FlowConfig {
    pub(super) starts: Option<i64>,
    pub(super) ends: Option<i64>,
    pub(super) archived: Option<i64>,
    pub(super) grace: Option<u32>,
    pub(super) limit: Option<u32>,
    /// Published ones, oldest first.
    pub(super) versions: Vec<Version>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) id: FlowVersionId,
    pub(super) published: i64,
    /// When it stops accepting responses because a newer one was published.
    pub(super) ends: Option<i64>,
    pub(super) retired: Option<i64>,
}

/// A change with its arguments; times are absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Change {
    Publish,
    Republish(FlowVersionId),
    Retire(FlowVersionId),
    Close,
    Reopen,
    Window { starts: Option<i64>, ends: Option<i64> },
    Grace(Option<u32>),
    Archive,
    Restore,
    Limit(Option<u32>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Accepted, if a limit has room.
    Open,
    NotFound,
    NotOpenYet,
    NoLonger,
}

impl Verdict {
    pub(super) fn code(self) -> Option<&'static str> {
        match self {
            Self::Open => None,
            Self::NotFound => Some("flow_version_not_found"),
            Self::NotOpenYet => Some("not_open_yet"),
            Self::NoLonger => Some("no_longer_accepting"),
        }
    }
}

impl FlowConfig {
    pub(super) fn version(&self, id: FlowVersionId) -> Option<&Version> {
        self.versions.iter().find(|version| version.id == id)
    }

    /// What the settings say about a version at a time.
    pub(super) fn verdict(&self, id: FlowVersionId, at: i64) -> Verdict {
        let passed = |time: Option<i64>| time.is_some_and(|time| at >= time);
        let version = self.version(id);
        if passed(self.archived) || version.is_some_and(|it| passed(it.retired)) {
            return Verdict::NotFound;
        }
        // A draft: it has an id before it is published.
        let Some(version) = version else { return Verdict::NotOpenYet };
        if self.starts.is_some_and(|starts| at < starts) {
            return Verdict::NotOpenYet;
        }
        if passed(self.ends) || passed(version.ends) {
            return Verdict::NoLonger;
        }
        Verdict::Open
    }

    /// Times at which the verdict about a version may change.
    pub(super) fn edges(&self, id: FlowVersionId) -> impl Iterator<Item = i64> {
        let of_version = self.version(id).map(|it| [it.ends, it.retired]).unwrap_or_default();
        [self.starts, self.ends, self.archived].into_iter().chain(of_version).flatten()
    }

    /// What a change that took place may have made of these settings; `after` has the times that
    /// the service chose. Some changes do nothing if they find nothing to do.
    pub(super) fn changed(&self, change: Change, after: &Self) -> Vec<Self> {
        let mut next = self.clone();
        let mut may_be_the_same = false;
        match change {
            Change::Publish | Change::Republish(_) => {
                let Some(new) = after.versions.last() else { return Vec::new() };
                let grace = i64::from(self.grace.unwrap_or(GRACE_SECONDS)) * 1_000;
                for version in next.versions.iter_mut().filter(|it| it.retired.is_none()) {
                    let ends = new.published + grace;
                    version.ends = Some(version.ends.map_or(ends, |before| before.min(ends)));
                }
                let (id, published) = (new.id, new.published);
                next.versions.push(Version { id, published, ends: None, retired: None });
            }
            Change::Retire(id) => {
                let retired = after.version(id).and_then(|it| it.retired);
                if let Some(version) = next.versions.iter_mut().find(|it| it.id == id) {
                    version.retired = version.retired.or(retired);
                }
            }
            Change::Close => {
                may_be_the_same = self.ends.is_some();
                next.ends = after.ends;
            }
            Change::Reopen => {
                may_be_the_same = true;
                next.ends = None;
            }
            Change::Window { starts, ends } => (next.starts, next.ends) = (starts, ends),
            Change::Grace(seconds) => next.grace = seconds,
            Change::Archive => next.archived = self.archived.or(after.archived),
            Change::Restore => next.archived = None,
            Change::Limit(limit) => next.limit = limit,
        }
        let mut all = vec![next];
        if may_be_the_same {
            all.push(self.clone());
        }
        all
    }

    /// Times of a retired version decide nothing any more.
    pub(super) fn normal(&self) -> Self {
        let mut normal = self.clone();
        for version in normal.versions.iter_mut().filter(|it| it.retired.is_some()) {
            version.ends = None;
        }
        normal
    }

    /// The new times in these settings: they must be of the moment of the change.
    pub(super) fn new_times(&self, before: &Self, change: Change) -> Vec<i64> {
        let is_new = |time: &Option<i64>, old: Option<i64>| time.filter(|_| *time != old);
        match change {
            Change::Publish | Change::Republish(_) => {
                let count = before.versions.len();
                self.versions.iter().skip(count).map(|it| it.published).collect()
            }
            Change::Retire(id) => {
                let old = before.version(id).and_then(|it| it.retired);
                let new = self.version(id).and_then(|it| it.retired);
                is_new(&new, old).into_iter().collect()
            }
            Change::Close => is_new(&self.ends, before.ends).into_iter().collect(),
            Change::Archive => is_new(&self.archived, before.archived).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}
