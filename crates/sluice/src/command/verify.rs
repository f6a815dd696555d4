//! `sluice verify`: checks that a store is sound, and names every damaged place.

use sluice_engine::integrity::{self, DamagedPlace, IntegrityReport};
use sluice_engine::{DamageMark, Store, StoreError};

use crate::args::VerifyArgs;
use crate::backend::StoreAddress;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::{backend, config};

/// What to do about damage.
pub(crate) const REMEDY: &str = "keep the damaged database; restore a backup into a new place with sluice restore, or delete the \
     responses that are named; check the disk before you use it again";

pub(crate) async fn run(args: VerifyArgs) -> Outcome {
    // Damage is reported as a result, so it is not logged as well.
    logging::start("off", LogFormat::Text)?;
    let (address, _) = config::store_of(args.data, args.store)?;
    let opened = backend::open_to_read(&address).await;
    // A database that is too damaged to be opened is damaged; any other failure says nothing.
    let store = opened.map_err(|failure| match failure.exit {
        Exit::Damaged => failure,
        _ => failure.with_exit(Exit::Usage),
    })?;
    // What an earlier process has found.
    let mark = store.damage().mark().cloned();
    let checked = check(&*store, Skipped::Shown).await;
    store.close().await;
    let checked = checked?;
    let is_forgotten = match mark {
        Some(mark) => forget(&address, &checked, &mark).await?,
        None => true,
    };
    let stays = if is_forgotten { "" } else { "; the mark of damage stays" };
    let records = counted(checked.records, "record");
    let responses = counted(checked.responses, "response");
    output::line(format_args!("{address}: {records}, {responses} among them: sound{stays}"));
    Ok(Exit::Done)
}

/// Removes the mark of damage from a sound store. Returns false if it stays.
async fn forget(
    address: &StoreAddress,
    checked: &IntegrityReport,
    mark: &DamageMark,
) -> Result<bool, Failure> {
    let what = mark.what();
    if !checked.has_checked_pages {
        output::note(format_args!(
            "the mark of damage ({what}) stays: pages and indexes were not checked. Check them as well, or remove \
             the mark with DELETE FROM marks WHERE name = 'damaged'"
        ));
        return Ok(false);
    }
    let forgotten = backend::forget_damage(address, mark).await;
    if !forgotten.map_err(|failure| failure.with_exit(Exit::Usage))? {
        output::note("the mark of damage stays: damage was found again during this check");
        return Ok(false);
    }
    output::note(format_args!(
        "the mark of damage ({what}) is removed: restart the servers that refuse submissions"
    ));
    Ok(true)
}

fn damaged(what: String) -> Failure {
    Failure::new(what, REMEDY).with_exit(Exit::Damaged)
}

/// Whether to report what was not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skipped {
    Shown,
    Quiet,
}

/// Checks a store and prints every damaged place. Fails if there is any.
pub(crate) async fn check(store: &dyn Store, skipped: Skipped) -> Result<IntegrityReport, Failure> {
    let progress = Progress::start("verifying", 0, None);
    let found =
        |DamagedPlace { place, what }| output::line(format_args!("damaged: {place}: {what}"));
    let checked = integrity::check(store, found, |records| progress.advance(records)).await;
    drop(progress);
    let checked = checked.map_err(|error| match &error {
        StoreError::Corrupt(_) | StoreError::Damaged(_) => damaged(with_cause(&error)),
        _ => Failure::usage(
            format!("the check could not finish: {}", with_cause(&error)),
            "run it again once that is fixed",
        ),
    })?;
    if skipped == Skipped::Shown {
        checked.skipped.iter().for_each(output::note);
    }
    match checked.damaged {
        0 => Ok(checked),
        1 => Err(damaged("1 place is damaged".to_owned())),
        places => Err(damaged(format!("{places} places are damaged"))),
    }
}
