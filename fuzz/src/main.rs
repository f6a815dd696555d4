//! One libFuzzer program for all targets: `SLUICE_FUZZ_TARGET` names the one that runs. `fuzz/run`
//! builds and starts it.

#![no_main]

#[path = "../targets/mod.rs"]
mod targets;
#[path = "../../crates/sluice/src/yaml.rs"]
mod yaml;
#[path = "../../crates/sluice/src/yaml_writer.rs"]
mod yaml_writer;

use std::sync::OnceLock;

use targets::{TARGETS, Target};

const SELECTED_BY: &str = "SLUICE_FUZZ_TARGET";

static SELECTED: OnceLock<&Target> = OnceLock::new();

/// Without a target, lists them.
fn select() {
    let name = std::env::var(SELECTED_BY).unwrap_or_default();
    match Target::named(&name) {
        Some(target) => {
            SELECTED.get_or_init(|| target);
            // Starts the service, if the target needs it, before inputs have a limit of time.
            (target.run)(b"\n\n");
        }
        None => {
            TARGETS.iter().for_each(|target| println!("{}", target.name));
            std::process::exit(0);
        }
    }
}

libfuzzer_sys::fuzz_target!(
    init: select(),
    |data: &[u8]| {
        if let Some(target) = SELECTED.get() {
            (target.run)(data);
        }
    }
);
