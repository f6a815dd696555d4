//! Stores that break a promise: the checker must see it. A check that cannot fail proves nothing.

use super::checker::{Rule, check};
use super::in_runtime;
use super::nodes::has_postgres;
use super::operations::{Plan, Shape};
use super::runner::{Setup, run};
use super::tampering::Broken;

const OPERATIONS: usize = 600;
/// A breach is random, and so is whether it shows; it is nearly always seen in the first run.
const SEEDS: std::ops::Range<u64> = 50..80;

/// One of these rules must be named.
async fn is_seen(broken: Broken, nodes: usize, expected: &'static [Rule]) {
    let mut seen = Vec::new();
    for seed in SEEDS {
        let plan = Plan::generate(seed, Shape::new(OPERATIONS));
        let ran = run(&plan, Setup { nodes, broken: Some(broken) }).await;
        seen.extend(check(&ran.history).into_iter().map(|fault| fault.rule));
        if expected.iter().any(|rule| seen.contains(rule)) {
            return;
        }
    }
    seen.sort_unstable();
    seen.dedup();
    panic!("{broken:?} was seen as {seen:?}, not as {expected:?}");
}

#[test]
fn a_store_that_drops_writes_is_seen() {
    in_runtime(is_seen(Broken::DropsWrites, 1, &[Rule::Lost]));
}

#[test]
fn a_store_that_stores_retries_again_is_seen() {
    in_runtime(is_seen(Broken::StoresRetries, 1, &[Rule::Doubled]));
}

#[test]
fn a_store_that_forgets_erasures_is_seen() {
    in_runtime(is_seen(Broken::ForgetsErasures, 1, &[Rule::Resurrected, Rule::StillLinked]));
}

#[test]
fn a_store_that_stores_what_it_refused_is_seen() {
    in_runtime(is_seen(Broken::StoresRefused, 1, &[Rule::StoredAlthoughRefused]));
}

#[test]
fn two_nodes_that_drop_writes_are_seen() {
    if has_postgres() {
        in_runtime(is_seen(Broken::DropsWrites, 2, &[Rule::Lost]));
    }
}
