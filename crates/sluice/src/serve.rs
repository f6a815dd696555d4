//! `sluice serve`: from settings to a running server, and back down in order.
//!
//! The port is taken before the store is opened, so that a second server on the same port ends
//! before it touches anything; what connects meanwhile waits in the listener's queue.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sluice_engine::clock::SystemClock;
use sluice_engine::{Engine, Options, Store, StoreError};
use sluice_web::{App, KeyFetcher, Limits};
use tokio::net::TcpListener;

use crate::backend::StoreAddress;
use crate::banner::{banner, base_url};
use crate::config::Settings;
use crate::demo;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::master_key;
use crate::{backend, logging, output, signals};

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
    let store = backend::open(&settings.store, &settings.tuning).await?;
    let stored_in = settings.store.to_string();
    if let StoreAddress::Sqlite(_) = settings.store {
        settings.master_keys.prepare()?;
    }
    let engine = start(store, &settings, address).await?;
    must_open(&engine).await?;
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
    let app = App::with_console(
        Arc::clone(&engine),
        limits,
        settings.hosted.clone(),
        settings.console.clone(),
    );
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

async fn start(
    store: Arc<dyn Store>,
    settings: &Settings,
    address: SocketAddr,
) -> Result<Arc<Engine>, Failure> {
    let admin_token = settings.admin_token.as_ref().map(|token| token.0.clone());
    let public_url = settings.public_url.clone().unwrap_or_else(|| base_url(address));
    let options = Options {
        admin_token,
        master_keys: Some(settings.master_keys.source()),
        key_source: Some(Arc::new(KeyFetcher::new(settings.jwks.clone()))),
        public_url: Some(public_url),
    };
    Engine::start(store, Arc::new(SystemClock), options).await.map_err(unreadable)
}

fn unreadable(error: StoreError) -> Failure {
    tracing::error!(error = &error as &dyn std::error::Error, "the store cannot be read");
    let remedy = match &error {
        StoreError::Corrupt(_) => "restore the database from a backup",
        _ => "see that the database is there and answers, then start again",
    };
    Failure::new(format!("the store cannot be read: {}", with_cause(&error)), remedy)
}

/// A server that cannot open the secrets of its apps would refuse their users: better not to start.
async fn must_open(engine: &Engine) -> Result<(), Failure> {
    let closed = engine.closed_secrets().await.map_err(unreadable)?;
    let Some((app, kid, why)) = closed.first() else { return Ok(()) };
    engine.close().await;
    Err(Failure::new(
        format!("{} signing secrets cannot be opened, such as {kid} of {app}: {why}", closed.len()),
        format!(
            "give the master key that they were sealed with: restore master.key in the data folder, or set \
             {} to the same value on every node. If it is lost for good: sluice key rotate \
             --revoke-unreadable",
            master_key::VARIABLE
        ),
    ))
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
