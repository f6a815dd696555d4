//! Runs every target on its seeds and on the inputs that were found, without a fuzzer.

use std::fs;
use std::path::{Path, PathBuf};

use super::{TARGETS, Target, control};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");

/// The files of a folder such as `fuzz/seeds/token`; none if it does not exist.
fn inputs(kind: &str, target: &str) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(Path::new(FOLDER).join(kind).join(target)) else {
        return Vec::new();
    };
    files.map(|file| file.unwrap().path()).collect()
}

fn run(target: &Target, path: &Path) {
    let bytes = fs::read(path).unwrap();
    let run = std::panic::catch_unwind(|| (target.run)(&bytes));
    assert!(run.is_ok(), "{} fails on {}", target.name, path.display());
}

#[test]
fn every_target_passes_on_its_seeds_and_on_what_was_found() {
    for target in TARGETS.iter().filter(|target| target.name != control::NAME) {
        let seeds = inputs("seeds", target.name);
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for path in seeds.iter().chain(&inputs("regressions", target.name)) {
            run(target, path);
        }
        (target.run)(b"");
    }
}

/// The changes of each seed that every test run tries; `SLUICE_FUZZ_CHANGES` sets another number.
const CHANGES: u64 = 40;

/// What a fuzzer without any guidance tries, the same in every run.
#[test]
fn every_target_passes_on_changed_seeds() {
    let wanted = std::env::var("SLUICE_FUZZ_CHANGES").ok();
    let changes = wanted.map_or(CHANGES, |number| number.parse().unwrap());
    for target in TARGETS.iter().filter(|target| target.name != control::NAME) {
        let mut paths = inputs("seeds", target.name);
        paths.sort();
        let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for _ in 0..changes {
            for seed in &seeds {
                let other = &seeds[random.below(seeds.len())];
                let input = random.changed(seed, other);
                let run = std::panic::catch_unwind(|| (target.run)(&input));
                let shown = String::from_utf8_lossy(&input);
                assert!(run.is_ok(), "{} fails on {input:?}: {shown}", target.name);
            }
        }
    }
}

/// Xorshift: a few lines, and the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// A seed with up to four changes: a byte replaced, a part removed, doubled, or taken from
    /// another seed.
    fn changed(&mut self, seed: &[u8], other: &[u8]) -> Vec<u8> {
        const TELLING: &[u8] = b"\0\n\r\"\\{}[]<>&=%+-.,:;#*_(|019aZ\x7f\xc3\xff";
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let (from, length) = (self.below(bytes.len()), 1 + self.below(8));
            let to = (from + length).min(bytes.len());
            match self.below(5) {
                0 if !bytes.is_empty() => bytes[from] = TELLING[self.below(TELLING.len())],
                1 if !bytes.is_empty() => bytes[from] ^= 1 << self.below(8),
                2 => drop(bytes.drain(from.min(to)..to)),
                3 => {
                    let part = bytes[from.min(to)..to].to_vec();
                    bytes.splice(to..to, part);
                }
                _ => {
                    let start = self.below(other.len());
                    let part = other[start..(start + length).min(other.len())].to_vec();
                    bytes.splice(from.min(to)..to, part);
                }
            }
        }
        bytes
    }
}

#[test]
fn every_folder_of_inputs_belongs_to_a_target() {
    for kind in ["seeds", "regressions", "dictionaries"] {
        let folder = Path::new(FOLDER).join(kind);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            assert!(Target::named(&name).is_some(), "{kind}/{name} is of no target");
        }
    }
}

#[test]
fn a_planted_fault_is_noticed() {
    let input = Path::new(FOLDER).join("seeds/submission/answers");
    let bytes = fs::read(input).unwrap();
    assert!(std::panic::catch_unwind(|| control::run(&bytes)).is_err());
}
