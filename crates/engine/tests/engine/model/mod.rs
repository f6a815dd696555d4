//! A model test of the stores: clients do random things at once, while nodes crash and writes get
//! lost; the history of what they saw is checked offline against a small model.
//!
//! A seed reproduces the operations of every client. How they interleave, and which calls of the
//! store fail, also depends on the machine. On PostgreSQL (`SLUICE_TEST_STORE`) the same tests run
//! with two nodes, and move the database to SQLite and back.

mod audit;
mod checker;
mod clients;
mod controls;
mod history;
#[expect(clippy::module_inception, reason = "the model of the model test")]
mod model;
mod mutations;
mod nodes;
mod operations;
mod recorder;
mod runner;
mod settings;
mod shrinking;
mod tampering;

use std::collections::BTreeMap;
use std::time::Instant;

use checker::{check, report};
use history::History;
use operations::{Plan, Shape};
use runner::{Ran, Setup, run};
use shrinking::shrink;

/// The operations of one test of the short form, and of one round of the long form.
const SHORT_OPERATIONS: usize = 2_400;
const ROUND_OPERATIONS: usize = 20_000;
/// The operations of the long form, if the environment has no number.
const LONG_OPERATIONS: usize = 1_000_000;

const SOUND: Setup = Setup { nodes: 1, broken: None };

/// The futures of a whole run are large in builds without optimisation.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Runs a future on threads with room for it.
fn in_runtime<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.worker_threads(2).thread_stack_size(STACK_BYTES).enable_all();
    let run = threads.build().unwrap().block_on(async { tokio::spawn(future).await });
    run.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
}

/// Runs a plan and checks its history. A failure shows how to repeat it.
async fn explore(seed: u64, operations: usize, setup: Setup) -> BTreeMap<String, u64> {
    let plan = Plan::generate(seed, Shape::new(operations)).only_as_asked();
    let Ran { history, figures } = run(&plan, setup).await;
    let faults = check(&history);
    if faults.is_empty() {
        return figures;
    }
    let shown = report(&history, &faults);
    let file = saved(seed, &history);
    let smaller = shrink(&plan, setup, faults[0].rule).await;
    panic!("seed {seed}, {} nodes: {shown}\n{file}\n{smaller}", setup.nodes);
}

/// Writes the whole history beside the other temporary files.
fn saved(seed: u64, history: &History) -> String {
    let path = std::env::temp_dir().join(format!("sluice-model-{seed}.jsonl"));
    let written =
        std::fs::File::create(&path).and_then(|file| history.write(std::io::BufWriter::new(file)));
    match written {
        Ok(()) => format!(
            "the whole history: {0}\ncheck it again: SLUICE_MODEL_HISTORY={0} \
             cargo test -p sluice-engine --test engine model_history -- --ignored",
            path.display()
        ),
        Err(error) => format!("the history was not saved: {error}"),
    }
}

#[test]
fn random_operations_leave_what_the_model_expects() {
    let mut all = BTreeMap::new();
    for seed in [1, 2] {
        let figures = in_runtime(explore(seed, SHORT_OPERATIONS, SOUND));
        covers(&figures);
        all.extend(figures);
    }
    for what in ["move", "back up and restore"] {
        assert!(all.contains_key(what), "no {what} in {all:?}");
    }
}

#[test]
fn two_nodes_on_one_database_leave_what_the_model_expects() {
    if !nodes::has_postgres() {
        // One process at a time uses an embedded database.
        return;
    }
    let mut all = BTreeMap::new();
    for seed in [3, 4] {
        add(&mut all, in_runtime(explore(seed, SHORT_OPERATIONS, Setup { nodes: 2, ..SOUND })));
    }
    covers(&all);
}

/// Adds the figures of a run to those of others.
fn add(all: &mut BTreeMap<String, u64>, figures: BTreeMap<String, u64>) {
    for (what, count) in figures {
        *all.entry(what).or_default() += count;
    }
}

/// A run in which something never happened proves nothing about it.
fn covers(figures: &BTreeMap<String, u64>) {
    for what in [
        "= stored",
        "= replayed",
        "= unknown",
        "= flow_version_not_found",
        "= not_open_yet",
        "= no_longer_accepting",
        "= idempotency_key_reused",
        "= out_of_range",
        "! restart",
        "publish",
        "retire",
        "close",
        "reopen",
        "archive",
        "set window",
        "set grace",
        "set limit",
        "set retention",
        "erase",
        "delete",
        "expire",
        "recount",
    ] {
        assert!(figures.contains_key(what), "no {what} in {figures:?}");
    }
    let stored = figures["= stored"];
    assert!(stored > 200, "only {stored} stored: {figures:?}");
}

/// The long form: `SLUICE_MODEL_SEED`, `SLUICE_MODEL_OPERATIONS`, `SLUICE_MODEL_NODES`.
#[test]
#[ignore = "takes minutes; see tests/faults/README.md"]
#[expect(clippy::print_stdout, reason = "prints its progress and its figures")]
fn model_long() {
    let first = number_in("SLUICE_MODEL_SEED").unwrap_or(1_000);
    let operations = number_in("SLUICE_MODEL_OPERATIONS").map_or(LONG_OPERATIONS, |it| it as usize);
    let nodes = number_in("SLUICE_MODEL_NODES").unwrap_or(1) as usize;
    let begun = Instant::now();
    let (mut all, mut done) = (BTreeMap::new(), 0);
    for seed in first.. {
        let of_round = ROUND_OPERATIONS.min(operations - done);
        add(&mut all, in_runtime(explore(seed, of_round, Setup { nodes, ..SOUND })));
        done += of_round;
        println!("seed {seed}: {done} of {operations} operations, {:?}", begun.elapsed());
        if done >= operations {
            break;
        }
    }
    println!("{done} operations, no fault, {:?}", begun.elapsed());
    for (what, count) in all {
        println!("  {count:>9}  {what}");
    }
}

/// Checks a history that a failed run has saved: `SLUICE_MODEL_HISTORY`.
#[test]
#[ignore = "needs the file of a failed run"]
fn model_history() {
    let path = std::env::var("SLUICE_MODEL_HISTORY").unwrap();
    let file = std::fs::File::open(path).unwrap();
    let history = History::read(std::io::BufReader::new(file)).unwrap();
    let faults = check(&history);
    assert!(faults.is_empty(), "{}", report(&history, &faults));
}

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
