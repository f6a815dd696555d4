//! `sluice key rotate`: seals every signing secret and second factor with a new master key.
//!
//! The old key is kept until nothing needs it, so an interrupted rotation is simply run again. With
//! a key file the command does everything; with the variable, which other nodes share, it prints
//! the steps for the operator.

use std::path::Path;
use std::sync::Arc;

use sluice_engine::clock::SystemClock;
use sluice_engine::verify::MasterKey;
use sluice_engine::{Actor, AdminError, Engine, Options, Resealed};

use crate::args::RotateArgs;
use crate::backend;
use crate::config;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::master_key::{self, MasterKeys, RotationLock, VARIABLE};
use crate::output::{self, counted};
use crate::tuning::Tuning;

pub(crate) async fn rotate(args: RotateArgs) -> Outcome {
    logging::start("warn", LogFormat::Text)?;
    let (store, folder) = config::store_of(args.data, args.store)?;
    let master_keys = MasterKeys::from_variable(config::variable(VARIABLE), &folder)?;
    if let MasterKeys::Given(keys) = &master_keys
        && keys.len() == 1
    {
        return Ok(print_steps(keys));
    }
    // Held until the function returns.
    let _alone = lock_rotation(&master_keys)?;
    let prepared = prepare(&master_keys)?;
    let store = backend::open(&store, &Tuning::default(), backend::Opening::default()).await?;
    let options = Options { master_keys: Some(master_keys.source()), ..Options::default() };
    let engine = Engine::start(store, Arc::new(SystemClock), options).await;
    let engine = engine.map_err(|error| reseal_error(&AdminError::Store(error)))?;
    let done = reseal(&engine, args.revoke_unreadable).await;
    engine.close().await;
    let done = done.map_err(|error| reseal_error(&error))?;
    finish(&master_keys, &prepared)?;
    let Resealed { resealed, revoked } = done;
    let verb = |count| if count == 1 { ("is", "was") } else { ("are", "were") };
    output::line(format_args!(
        "{} {} sealed with the master key {}",
        counted(resealed as u64, "secret"),
        verb(resealed).0,
        prepared.first().map(MasterKey::id).unwrap_or_default()
    ));
    if revoked > 0 {
        let secrets = counted(revoked as u64, "secret");
        output::line(format_args!("{secrets} could not be opened and {} revoked", verb(revoked).1));
    }
    match master_keys {
        MasterKeys::File(path) => output::line(format_args!(
            "{} holds only the new key; running servers that use this file pick it up. Back it up.",
            path.display()
        )),
        MasterKeys::Given(_) => output::line(format_args!(
            "last step: set {VARIABLE} to the new key alone on every node, and restart them one by one"
        )),
    }
    Ok(Exit::Done)
}

/// Prevents concurrent rotations of the same file. With the variable all of them have the same
/// keys.
fn lock_rotation(master_keys: &MasterKeys) -> Result<Option<RotationLock>, Failure> {
    let MasterKeys::File(path) = master_keys else { return Ok(None) };
    let lock = RotationLock::begin(path);
    lock.map(Some).map_err(|why| {
        Failure::new(
            format!("the master key {}: {why}", path.display()),
            "nothing was changed; wait for a rotation in progress to end, then run this again if needed",
        )
    })
}

/// Stores the keys of the rotation, the new one first.
fn prepare(master_keys: &MasterKeys) -> Result<Vec<MasterKey>, Failure> {
    match master_keys {
        MasterKeys::Given(keys) => Ok(keys.clone()),
        MasterKeys::File(path) => {
            let known = master_key::keys_in(path).map_err(|why| write_error(path, &why))?;
            // Two keys mean that a rotation was interrupted: the first is its new key.
            let keys = match known.len() {
                1 => [vec![MasterKey::random()], known].concat(),
                _ => known,
            };
            master_key::replace(path, &keys)
                .map_err(|error| write_error(path, &error.to_string()))?;
            Ok(keys)
        }
    }
}

/// Removes the old keys, which nothing needs any more.
fn finish(master_keys: &MasterKeys, keys: &[MasterKey]) -> Result<(), Failure> {
    match (master_keys, keys.first()) {
        (MasterKeys::File(path), Some(new)) => {
            let replaced = master_key::replace(path, std::slice::from_ref(new));
            replaced.map_err(|error| write_error(path, &error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Seals all secrets with the first master key.
async fn reseal(engine: &Engine, revoke_unreadable: bool) -> Result<Resealed, AdminError> {
    let instance = engine.instance(&Actor::trusted("key-rotate"))?;
    let done = instance.reseal_secrets(revoke_unreadable).await?;
    // A server may have created a secret with the old key while the others were resealed.
    let more = instance.reseal_secrets(false).await?;
    Ok(Resealed { resealed: done.resealed + more.resealed, ..done })
}

/// The variable holds one key: other nodes must know the new one before a secret is sealed with it.
fn print_steps(keys: &[MasterKey]) -> Exit {
    let old = keys.first().map(MasterKey::id).unwrap_or_default();
    output::line(MasterKey::random().to_base64());
    output::note(format_args!(
        "this is a new master key; nothing was changed yet. Every node must know it first:\n\
         1. set {VARIABLE} to \"NEW,OLD\" on every node (NEW is the key above, OLD the current one, {old}), \
         and restart them one by one\n\
         2. run sluice key rotate again with that value\n\
         3. set {VARIABLE} to NEW alone on every node, and restart them one by one"
    ));
    Exit::Done
}

fn write_error(path: &Path, why: &str) -> Failure {
    Failure::new(
        format!("the master key {}: {why}", path.display()),
        "fix the file, then run this again; no secret was lost",
    )
}

fn reseal_error(error: &AdminError) -> Failure {
    Failure::new(
        format!("not all secrets were sealed with the new key: {}", with_cause(error)),
        "both keys are kept: run this again once that is fixed. Secrets whose master key is lost permanently \
         are revoked with --revoke-unreadable",
    )
}
