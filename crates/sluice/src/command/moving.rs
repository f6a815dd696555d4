//! `sluice move`: copies everything from one store to another, then verifies the copy.
//!
//! The source is read three times: to count (so that unreadable records are found before anything
//! is written), to copy, and to compare. If the first and the last tally differ, the source was
//! written to during the move; the destination's tally must equal both.

use std::sync::Arc;
use std::time::Instant;

use sluice_engine::moving::{self, MoveError};
use sluice_engine::tally::TableTally;
use sluice_engine::{Store, StoreError};

use super::outbound;
use crate::args::MoveArgs;
use crate::backend::{self, StoreAddress};
use crate::failure::{Exit, Failure, Outcome};
use crate::logging::{self, LogFormat};
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::tuning::Tuning;

const FRESH_DESTINATION: &str = "an empty destination: a new file, or a newly created database";

pub(crate) async fn run(args: &MoveArgs) -> Outcome {
    let begin = Instant::now();
    let from = StoreAddress::parse("from", &args.from)?;
    let to = StoreAddress::parse("to", &args.to)?;
    if from.is_same_as(&to) {
        return Err(Failure::usage(
            "source and destination are the same store",
            format!("name {FRESH_DESTINATION}"),
        ));
    }
    logging::start("warn", LogFormat::Text)?;
    let source = backend::open_to_read(&from).await?;
    let destination = backend::open(&to, &Tuning::default(), backend::Opening::default()).await?;
    let moved = match destination.damage().found() {
        Some(what) => Err(Failure::new(
            format!("damage was found in the destination before: {what}"),
            format!("name {FRESH_DESTINATION}; nothing was moved"),
        )),
        None => move_and_hold(&source, &destination).await,
    };
    destination.close().await;
    source.close().await;
    let (comparison, held) = moved?;
    output::line(comparison.table());
    comparison.verdict()?;
    let records = counted(comparison.records(), "record");
    let seconds = begin.elapsed().as_secs_f64();
    output::line(format_args!("{records} moved from {from} to {to} in {seconds:.1} s: equal"));
    output::note(held);
    Ok(Exit::Done)
}

/// Moves everything, and holds what the copy would send.
async fn move_and_hold(
    source: &Arc<dyn Store>,
    destination: &Arc<dyn Store>,
) -> Result<(TallyComparison, String), Failure> {
    let comparison = move_all(source, destination).await?;
    // Checked again, to report the state after the hold.
    Ok((comparison, outbound::hold(destination).await?))
}

async fn move_all(
    source: &Arc<dyn Store>,
    destination: &Arc<dyn Store>,
) -> Result<TallyComparison, Failure> {
    let progress = Progress::start("counting", 0, None);
    let before = moving::tally(source, |records| progress.advance(records)).await;
    let before = before.map_err(|error| move_error(MoveError::Source(error)))?;
    drop(progress);

    let total = before.records();
    let progress = Progress::start("resuming", 0, Some(total));
    let there = moving::beginning(source, destination, |records| progress.advance(records)).await;
    let there = there.map_err(move_error)?;
    drop(progress);
    if there.records > 0 {
        output::note(format_args!(
            "resuming a move: {} of {} already copied",
            there.records,
            counted(total, "record")
        ));
    }

    // Before the first record: a copy that is not compared must not send anything either.
    outbound::hold(destination).await?;
    let progress = Progress::start("copying", there.records, Some(total));
    let copied =
        moving::copy(source, destination, there.last, |records| progress.advance(records)).await;
    copied.map_err(move_error)?;
    drop(progress);

    let progress = Progress::start("comparing", 0, Some(total * 2));
    let advance = |records| progress.advance(records);
    let (after, arrived) =
        tokio::join!(moving::tally(source, advance), moving::tally(destination, advance));
    let after = after.map_err(|error| move_error(MoveError::Source(error)))?;
    let arrived = arrived.map_err(|error| move_error(MoveError::Destination(error)))?;
    drop(progress);
    Ok(TallyComparison {
        before: before.tables(),
        after: after.tables(),
        arrived: arrived.tables(),
    })
}

/// The tallies of the source, before and after the copy, and of the destination.
struct TallyComparison {
    before: Vec<TableTally>,
    after: Vec<TableTally>,
    arrived: Vec<TableTally>,
}

impl TallyComparison {
    fn records(&self) -> u64 {
        self.arrived.iter().map(|tally| tally.records).sum()
    }

    fn verdict(&self) -> Result<(), Failure> {
        if self.before != self.after {
            return Err(Failure::new(
                "the source was written to during the move",
                format!("stop every server on it, then move again into {FRESH_DESTINATION}"),
            ));
        }
        if self.arrived != self.after {
            return Err(Failure::new(
                "the destination is not equal to the source",
                format!(
                    "do not use it; check its disk and log, then move into {FRESH_DESTINATION}"
                ),
            ));
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut table = format!(
            "{:<13} {:>12} {:>12}  {:<16}  {:<16}",
            "table", "source", "destination", "digest", "of destination"
        );
        for (source, destination) in self.after.iter().zip(&self.arrived) {
            let verdict = if source == destination { "equal" } else { "DIFFERENT" };
            table.push_str(&format!(
                "\n{:<13} {:>12} {:>12}  {:<16}  {:<16}  {verdict}",
                source.table.name(),
                source.records,
                destination.records,
                short(&source.digest),
                short(&destination.digest),
            ));
        }
        table
    }
}

/// Enough of a digest to compare by eye; the whole digest was compared.
fn short(digest: &[u8; 32]) -> String {
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn move_error(error: MoveError) -> Failure {
    let remedy = match &error {
        MoveError::NotTheBeginning => format!(
            "move into {FRESH_DESTINATION}; an interrupted move resumes only if neither side \
             was written to since"
        ),
        MoveError::Source(StoreError::Corrupt(_) | StoreError::Damaged(_)) => {
            "restore the source from a backup, and move that".to_owned()
        }
        MoveError::Source(_) | MoveError::Destination(_) | MoveError::Write(_) => {
            "run the same command again: it resumes where it stopped".to_owned()
        }
    };
    let reason = match &error {
        MoveError::NotTheBeginning => None,
        MoveError::Source(inner) | MoveError::Destination(inner) | MoveError::Write(inner) => {
            std::error::Error::source(inner)
        }
    };
    match reason {
        Some(reason) => Failure::new(format!("{error} ({reason})"), remedy),
        None => Failure::new(error.to_string(), remedy),
    }
}

#[cfg(test)]
mod tests {
    use sluice_engine::tally::Tally;

    use super::*;

    #[test]
    fn only_three_equal_tallies_are_a_proof() {
        let nothing = Tally::default().tables();
        let mut other = nothing.clone();
        let last = other.len() - 1;
        other[last].digest[31] ^= 1;
        let comparison = |before: &[_], after: &[_], arrived: &[_]| TallyComparison {
            before: before.to_vec(),
            after: after.to_vec(),
            arrived: arrived.to_vec(),
        };
        assert!(comparison(&nothing, &nothing, &nothing).verdict().is_ok());
        for (comparison, what) in [
            (comparison(&nothing, &nothing, &other), "not equal"),
            (comparison(&other, &nothing, &nothing), "written to"),
            (comparison(&nothing, &other, &other), "written to"),
            (comparison(&nothing, &other, &nothing), "written to"),
        ] {
            let failure = comparison.verdict().unwrap_err();
            assert!(failure.to_string().contains(what), "{failure}");
            assert_eq!(failure.exit, Exit::Failed);
        }
        let table = comparison(&nothing, &nothing, &other).table();
        assert_eq!(table.matches("equal").count(), last, "{table}");
        assert!(table.lines().last().is_some_and(|line| line.ends_with("DIFFERENT")), "{table}");
    }
}
