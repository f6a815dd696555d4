//! `sluice serve`: from settings to a running server, and back down in order.
//!
//! This is the only place that names a storage backend. The port is taken before the store is
//! opened, so that a second server on the same port ends before it touches anything; what connects
//! meanwhile waits in the listener's queue.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluice_engine::clock::SystemClock;
use sluice_engine::{Engine, Options, Store, StoreError};
use sluice_store::sqlite::{self, OpenError, SqliteStore};
use sluice_web::Limits;
use tokio::net::TcpListener;

use crate::banner::banner;
use crate::config::{Settings, StoreAddress};
use crate::demo;
use crate::failure::{Exit, Failure, Outcome};
use crate::{logging, output, signals};

/// Once the store has lost track, replies on their way get this long.
const LAST_REPLIES_MAX: Duration = Duration::from_secs(2);
/// What is queued is stored within this, or the disk has stopped.
const CLOSE_MAX: Duration = Duration::from_secs(20);

pub(crate) async fn run(settings: Settings) -> Outcome {
    logging::start(&settings.log, settings.log_format)?;
    let mut asked_to_stop = signals::listen()
        .map_err(|error| Failure::new(format!("cannot listen for signals: {error}"), ""))?;
    let listener = bind(&settings.listen).await?;
    let address = listener.local_addr().map_err(|error| unbound(&settings.listen, &error))?;
    let (store, stored_in) = open(&settings.store).await?;
    let engine = start(store, &settings).await?;
    let made = demo::first_start(&engine, settings.demo, settings.admin_token.is_some()).await?;
    // A reader of the banner that has gone is no reason not to serve.
    let _gone = output::print(&banner(address, &stored_in, &made));
    tracing::info!(%address, version = env!("CARGO_PKG_VERSION"), "ready");

    let limits = Limits {
        body_bytes_max: settings.body_bytes_max,
        connections_max: settings.connections_max,
        drain_timeout: settings.drain_timeout,
        ..Limits::default()
    };
    let stop = async {
        tokio::select! {
            _ = asked_to_stop.wait_for(|&asked| asked) => {}
            () = engine.lost_track() => {}
        }
    };
    let app = sluice_web::app(Arc::clone(&engine), limits);
    tokio::select! {
        served = sluice_web::serve(listener, app, &limits, stop) => {
            served.map_err(|error| Failure::new(format!("the server failed: {error}"), ""))?;
        }
        () = lost_for_long(&engine) => {}
    }
    close(&engine).await
}

async fn bind(listen: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(listen).await.map_err(|error| unbound(listen, &error))
}

fn unbound(listen: &str, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::AddrInUse => Failure::new(
            format!("{listen} is taken by another process"),
            "stop it, or choose another port: sluice serve --listen 127.0.0.1:8081 \
             (port 0 takes any free one)",
        ),
        ErrorKind::PermissionDenied => Failure::new(
            format!("this user may not listen on {listen}"),
            "choose a port above 1023, such as --listen 127.0.0.1:8080",
        ),
        ErrorKind::AddrNotAvailable => Failure::new(
            format!("{listen} is no address of this machine"),
            "listen on 127.0.0.1, on 0.0.0.0 for all interfaces, or on an address it has",
        ),
        _ => Failure::new(
            format!("cannot listen on {listen}: {error}"),
            "write for example --listen 127.0.0.1:8080",
        ),
    }
}

/// Opens the store, and says in words where it is.
async fn open(address: &StoreAddress) -> Result<(Arc<dyn Store>, String), Failure> {
    let path = match address {
        StoreAddress::Sqlite(path) => path.clone(),
        StoreAddress::Postgres => {
            return Err(Failure::usage(
                "this build has no PostgreSQL backend yet",
                "use the embedded store: --store sqlite:PATH, or --data FOLDER",
            ));
        }
    };
    let shown = path.display().to_string();
    let opened =
        tokio::task::spawn_blocking(move || SqliteStore::open(&path, sqlite::Options::default()));
    match opened.await {
        Ok(Ok(store)) => Ok((Arc::new(store), shown)),
        Ok(Err(error)) => Err(unopened(error)),
        Err(error) => Err(Failure::new(format!("cannot open {shown}: {error}"), "")),
    }
}

fn unopened(error: OpenError) -> Failure {
    let named = |path: &Path| path.display().to_string();
    match error {
        OpenError::OldSqlite { found } => Failure::new(
            format!("SQLite {found} can damage a database that several connections share"),
            "build Sluice with its bundled SQLite (3.51.3 or newer)",
        ),
        OpenError::Folder { path, source } => Failure::new(
            format!("cannot write in the folder {}: {source}", named(&path)),
            "choose another with --data FOLDER, or let this user write there",
        ),
        OpenError::Unopenable { path, reason } => Failure::new(
            format!("cannot open the database {}: {reason}", named(&path)),
            "check that this user can read and write the file and its folder",
        ),
        OpenError::Locked { path } => Failure::new(
            format!("the database {} is locked by another process", named(&path)),
            "wait for it to end or stop it; or choose another folder with --data",
        ),
        OpenError::NewerSchema { path, found, known } => Failure::new(
            format!(
                "the database {} was written by a newer Sluice (schema {found}, this one knows {known})",
                named(&path)
            ),
            "upgrade this binary; an older one cannot read it",
        ),
        OpenError::OtherSchema { path, detail } => Failure::new(
            format!("the schema of {} is not one that Sluice made: {detail}", named(&path)),
            "use the binary that wrote it, or restore it from a backup",
        ),
        OpenError::NotOurs { path } => Failure::new(
            format!("{} is not a database of Sluice, or it is damaged", named(&path)),
            "choose another folder with --data, or restore it from a backup",
        ),
        OpenError::Damaged { path, reason } => Failure::new(
            format!("the database {} is damaged: {reason}", named(&path)),
            "restore it from a backup; keep the damaged file until that has worked",
        ),
        OpenError::Setting { path, setting, expected, found } => Failure::new(
            format!("the database {} refuses {setting}={expected} ({found})", named(&path)),
            "put it on a local disk: network folders cannot keep it safe",
        ),
        OpenError::Thread(source) => Failure::new(
            format!("cannot start the thread that writes to the database: {source}"),
            "raise the limit of processes or memory for this user",
        ),
    }
}

async fn start(store: Arc<dyn Store>, settings: &Settings) -> Result<Arc<Engine>, Failure> {
    let admin_token = settings.admin_token.as_ref().map(|token| token.0.clone());
    let options = Options { admin_token };
    Engine::start(store, Arc::new(SystemClock), options).await.map_err(|error: StoreError| {
        tracing::error!(error = &error as &dyn std::error::Error, "the store cannot be read");
        Failure::new(
            format!("the store cannot be read: {error}"),
            "look at the log line above; a damaged database is restored from a backup",
        )
    })
}

/// Returns when the store has lost track of a write and replies had their time.
async fn lost_for_long(engine: &Engine) {
    engine.lost_track().await;
    tokio::time::sleep(LAST_REPLIES_MAX).await;
}

/// Stores what is queued, and says how it went.
async fn close(engine: &Engine) -> Outcome {
    let closed = tokio::time::timeout(CLOSE_MAX, engine.close()).await.is_ok();
    // Asked last, since the last writes may have been the ones that got lost.
    let lost = tokio::time::timeout(Duration::ZERO, engine.lost_track()).await.is_ok();
    if !closed && !lost {
        return Err(Failure::new(
            "the store did not finish in time",
            "what was acknowledged is stored; the disk may have stopped: look at the system's log",
        ));
    }
    if lost {
        return Err(Failure::new(
            "the store lost track of a write, so nothing more could be acknowledged",
            "check the disk, then start again: what was acknowledged is there",
        )
        .with_exit(Exit::LostTrack));
    }
    tracing::info!("stopped; everything acknowledged is stored");
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_opened_is_named_with_what_to_do() {
        let path = || Path::new("folder/sluice.db").to_owned();
        let io = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        for (error, remedy) in [
            (OpenError::Folder { path: path(), source: io() }, "--data"),
            (OpenError::Unopenable { path: path(), reason: "odd".into() }, "read and write"),
            (OpenError::Locked { path: path() }, "wait"),
            (OpenError::NewerSchema { path: path(), found: 9, known: 1 }, "upgrade"),
            (OpenError::OtherSchema { path: path(), detail: "odd".into() }, "backup"),
            (OpenError::NotOurs { path: path() }, "backup"),
            (OpenError::Damaged { path: path(), reason: "odd".into() }, "backup"),
        ] {
            let said = unopened(error).to_string();
            let lines: Vec<&str> = said.lines().collect();
            assert!(lines[0].contains("folder/sluice.db"), "{said}");
            assert!(lines.len() == 2 && lines[1].contains(remedy), "{said}");
        }
    }
}
