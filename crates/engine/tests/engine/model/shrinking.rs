//! Smaller plans with the same fault, and how to repeat them.

use super::checker::{Rule, check, report};
use super::operations::Plan;
use super::runner::{Setup, run};

/// How many smaller runs are tried, and how often each.
const TRIES_MAX: usize = 10;
const TIMES: usize = 2;

/// The first of these many segments, and the clients that take part; all if absent.
const SEGMENTS: &str = "SLUICE_MODEL_SEGMENTS";
const CLIENTS: &str = "SLUICE_MODEL_CLIENTS";
/// Whether smaller runs are tried at all: that takes minutes.
const SHRINK: &str = "SLUICE_MODEL_SHRINK";

impl Plan {
    /// A part of the plan, if the environment asks for one.
    pub(super) fn only_as_asked(self) -> Self {
        let read = |variable| std::env::var(variable).ok();
        let segments = read(SEGMENTS).map_or(self.segments.len(), |text| text.parse().unwrap());
        let clients: Option<Vec<usize>> = read(CLIENTS)
            .map(|text| text.split(',').map(|number| number.parse().unwrap()).collect());
        let of_all = |number: &usize| clients.as_ref().is_none_or(|it| it.contains(number));
        let clients: Vec<usize> = (0..self.shape.clients).filter(of_all).collect();
        self.part(segments, &clients)
    }

    /// The same plan with only these clients, up to a segment.
    fn part(&self, segments: usize, clients: &[usize]) -> Self {
        let mut part = self.clone();
        part.segments.truncate(segments);
        for segment in &mut part.segments {
            for (number, steps) in segment.iter_mut().enumerate() {
                if !clients.contains(&number) {
                    steps.clear();
                }
            }
        }
        part
    }
}

/// Looks for a smaller run that breaks the same rule, if the environment asks for it. Describes the
/// smallest, and how to repeat it.
pub(super) async fn shrink(plan: &Plan, setup: Setup, rule: Rule) -> String {
    let mut segments = plan.segments.len();
    let mut clients: Vec<usize> =
        (0..plan.shape.clients).filter(|it| !plan.segments[0][*it].is_empty()).collect();
    let is_asked = std::env::var(SHRINK).is_ok_and(|text| text == "1");
    let (mut found, mut left) = (None, if is_asked { TRIES_MAX } else { 0 });
    while left > 0 && segments > 1 {
        left -= 1;
        let fewer = segments / 2;
        let Some(shown) = fails(&plan.part(fewer, &clients), setup, rule).await else { break };
        (segments, found) = (fewer, Some(shown));
    }
    for without in clients.clone() {
        if left == 0 || clients.len() < 2 {
            break;
        }
        left -= 1;
        let fewer: Vec<usize> = clients.iter().copied().filter(|it| *it != without).collect();
        if let Some(shown) = fails(&plan.part(segments, &fewer), setup, rule).await {
            (clients, found) = (fewer, Some(shown));
        }
    }
    let (seed, nodes) = (plan.seed, setup.nodes);
    let (all, part) = (plan.shape.operations, plan.part(segments, &clients).operations());
    let names: Vec<String> = clients.iter().map(usize::to_string).collect();
    let hint = "\nfor a smaller run with the same fault, add SLUICE_MODEL_SHRINK=1";
    let hint = if is_asked { "" } else { hint };
    format!(
        "{}to repeat {part} operations:\n  SLUICE_MODEL_SEED={seed} SLUICE_MODEL_OPERATIONS={all} \
         SLUICE_MODEL_NODES={nodes} {SEGMENTS}={segments} {CLIENTS}={} \\\n  \
         cargo test -p sluice-engine --test engine model_long -- --ignored --nocapture{hint}",
        found.map(|it| format!("a smaller run: {it}\n")).unwrap_or_default(),
        names.join(",")
    )
}

async fn fails(plan: &Plan, setup: Setup, rule: Rule) -> Option<String> {
    for _ in 0..TIMES {
        let ran = run(plan, setup).await;
        let mut faults = check(&ran.history);
        faults.retain(|fault| fault.rule == rule);
        if !faults.is_empty() {
            return Some(report(&ran.history, &faults[..1]));
        }
    }
    None
}
