//! The funnel of a flow: how many people opened it, started, saw each question, left there, and
//! finished.

use std::collections::BTreeMap;

use sluice_flow::id::FlowVersionId;
use sluice_flow::time::{Day, Timestamp};
use sluice_flow::visit::{MedianTime, Times, VisitCounter};
use sluice_store::{Scope, VisitCountRow, VisitCountsQuery};

use crate::admin::AdminResult;
use crate::background::keep_running_after;
use crate::boxed;
use crate::handle::FlowHandle;
use crate::summary::AskedUntil;
use crate::summary::versions::{Version, published_versions};

/// The visits of a flow to report. Days are UTC, and both ends are included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunnelFilter {
    pub from: Option<Day>,
    pub to: Option<Day>,
    /// Only this version.
    pub version: Option<FlowVersionId>,
}

/// The visits that pass the filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funnel {
    pub opened: u64,
    pub started: u64,
    /// In the order of the newest version; questions that it no longer asks are last.
    pub questions: Vec<FunnelQuestion>,
    pub finished: u64,
    /// The time from opening to finishing; `None` if no time was counted.
    pub time_to_finish: Option<MedianTime>,
    /// Every published version, newest first, even if the filter excludes it.
    pub versions: Vec<FunnelVersion>,
}

/// A question, over the versions that ask it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunnelQuestion {
    pub id: String,
    pub question_type: &'static str,
    /// The text in the newest version that asks it.
    pub prompt: String,
    pub asked: AskedUntil,
    pub seen: u64,
    pub passed: u64,
}

impl FunnelQuestion {
    /// How many saw this question and went no further.
    pub fn left(&self) -> u64 {
        self.seen.saturating_sub(self.passed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunnelVersion {
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub published_at: Timestamp,
    pub opened: u64,
    pub finished: u64,
}

/// How many of those who opened the flow finished, and how long it took them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub opened: u64,
    pub finished: u64,
    pub time_to_finish: Option<MedianTime>,
}

impl FlowHandle {
    /// The figures of the whole funnel, with one read. What was counted in the last seconds is not
    /// included yet.
    #[boxed]
    pub async fn completion(&self, filter: &FunnelFilter) -> AdminResult<Completion> {
        let core = self.permit.core(Scope::Read)?;
        let query = VisitCountsQuery { from: filter.from, to: filter.to };
        let counts = core.store.read_visit_counts(self.app_id(), self.flow_id(), &query).await?;
        let mut all = Sums::default();
        let is_chosen =
            |row: &&VisitCountRow| filter.version.is_none_or(|it| it == row.flow_version_id);
        counts.iter().filter(is_chosen).for_each(|row| all.add(row));
        Ok(Completion {
            opened: all.get(&VisitCounter::Opened),
            finished: all.get(&VisitCounter::Finished),
            time_to_finish: times(&all).median(),
        })
    }

    /// What was counted on this node is written first, so it is included.
    #[boxed]
    pub async fn funnel(&self, filter: &FunnelFilter) -> AdminResult<Funnel> {
        let core = self.permit.core(Scope::Read)?;
        if let Err(error) = core.visits.write().await {
            keep_running_after(&error, "a funnel does not include the newest visits", &core.lost);
        }
        let (app, flow) = (self.app_id(), self.flow_id());
        let query = VisitCountsQuery { from: filter.from, to: filter.to };
        let (versions, counts) = tokio::try_join!(published_versions(core, app, flow), async {
            Ok(core.store.read_visit_counts(app, flow, &query).await?)
        })?;
        Ok(add_up(&versions, &counts, filter.version))
    }
}

/// The sums over days of one version.
#[derive(Default)]
struct Sums(BTreeMap<VisitCounter, u64>);

impl Sums {
    /// A counter that this build does not know is ignored.
    fn add(&mut self, row: &VisitCountRow) {
        if let Ok(counter) = row.counter.parse() {
            *self.0.entry(counter).or_default() += row.visits;
        }
    }

    fn get(&self, counter: &VisitCounter) -> u64 {
        self.0.get(counter).copied().unwrap_or(0)
    }
}

fn add_up(versions: &[Version], counts: &[VisitCountRow], only: Option<FlowVersionId>) -> Funnel {
    let (mut all, mut by_version) = (Sums::default(), BTreeMap::<_, Sums>::new());
    for row in counts {
        by_version.entry(row.flow_version_id).or_default().add(row);
        if only.is_none_or(|only| only == row.flow_version_id) {
            all.add(row);
        }
    }
    let version = |it: &Version| {
        let sums = by_version.get(&it.flow_version_id);
        let sum = |counter: &VisitCounter| sums.map_or(0, |sums| sums.get(counter));
        FunnelVersion {
            flow_version_id: it.flow_version_id,
            number: it.number,
            published_at: it.published_at,
            opened: sum(&VisitCounter::Opened),
            finished: sum(&VisitCounter::Finished),
        }
    };
    Funnel {
        opened: all.get(&VisitCounter::Opened),
        started: all.get(&VisitCounter::Started),
        questions: questions(versions, &all, only),
        finished: all.get(&VisitCounter::Finished),
        time_to_finish: times(&all).median(),
        versions: versions.iter().map(version).collect(),
    }
}

/// The questions of the chosen versions.
fn questions(
    versions: &[Version],
    sums: &Sums,
    only: Option<FlowVersionId>,
) -> Vec<FunnelQuestion> {
    let mut questions: Vec<FunnelQuestion> = Vec::new();
    let chosen = versions.iter().filter(|it| only.is_none_or(|only| only == it.flow_version_id));
    for question in chosen.flat_map(Version::questions) {
        let id = &question.id;
        if questions.iter().any(|known| known.id == *id) {
            continue;
        }
        let last_asked = versions.iter().position(|version| version.question(id).is_some());
        questions.push(FunnelQuestion {
            id: id.clone(),
            question_type: question.question_type.name(),
            prompt: question.prompt.clone(),
            asked: match last_asked.filter(|age| *age > 0).and_then(|age| versions.get(age)) {
                Some(version) => AskedUntil::Version(version.number),
                None => AskedUntil::Now,
            },
            seen: sums.get(&VisitCounter::Seen(id.clone())),
            passed: sums.get(&VisitCounter::Passed(id.clone())),
        });
    }
    questions
}

fn times(sums: &Sums) -> Times {
    let mut times = Times::default();
    for (counter, visits) in &sums.0 {
        if let VisitCounter::Time(bin) = counter {
            times.add(*bin, *visits);
        }
    }
    times
}
