//! `sluice serve`: starts a server from its settings, and shuts it down in order.
//!
//! The port is bound before the store is opened, so that a second server on the same port exits
//! before it changes anything; clients that connect in between wait in the listener's queue.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sluice_engine::clock::{Clock, OFFSET_MAX, StoreClock, SystemClock};
use sluice_engine::spans::Tracer;
use sluice_engine::{Engine, Options, Store, StoreError, outbound};
use sluice_web::{
    App, AppOptions, KeyFetcher, Limits, Listener, MetricsAccess, MetricsSite, MetricsToken,
    Network, Tls, WebhookClient,
};
use tokio::sync::watch;

use crate::args::ServeArgs;
use crate::backend::StoreAddress;
use crate::banner::{Addresses, banner, base_url};
use crate::certificate;
use crate::command::outbound::held;
use crate::config::Settings;
use crate::demo;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::listeners::{Bound, Listeners};
use crate::mail::MailSettings;
use crate::master_key;
use crate::nats::NatsSettings;
use crate::otlp::OtlpSettings;
use crate::reload::Reloading;
use crate::{backend, logging, outgoing_spans, output, signals, systemd};

/// Once the outcome of a write is unknown, replies in progress get this long.
const LAST_REPLIES_MAX: Duration = Duration::from_secs(2);
/// If the queued responses are not stored within this time, the disk has stopped.
const CLOSE_MAX: Duration = Duration::from_secs(30);
/// How long webhook requests and e-mails in progress may continue, within the drain timeout: as
/// long as a request may take. Less than the time to close, which follows.
const SENDING_DRAIN_MAX: Duration = Duration::from_secs(15);

pub(crate) async fn run(given: ServeArgs) -> Outcome {
    let settings = Settings::read(given.clone())?;
    let filter = logging::start(&settings.log, settings.log_format)?;
    let no_signals =
        |error: io::Error| Failure::new(format!("cannot listen for signals: {error}"), "");
    let asked_to_stop = signals::listen().map_err(no_signals)?;
    let hangups = signals::Hangups::listen().map_err(no_signals)?;
    let tls = settings.tls.clone().map(certificate::load).transpose()?;
    let reloading = Reloading { given, current: settings.clone(), filter, tls: tls.clone() };
    tokio::spawn(reloading.run(hangups));
    let listeners = Listeners::open(&settings).await?;
    let opening = backend::Opening { disk_reserve: settings.disk_reserve, create: settings.create };
    let store = backend::open(&settings.store, &settings.tuning, opening).await?;
    if let StoreAddress::Sqlite(_) = settings.store {
        settings.master_keys.prepare()?;
    }
    let held = held_note(&*store, &settings).await?;
    let traces = settings.otlp.as_ref().map(OtlpSettings::start).transpose()?;
    let tracer = traces.as_ref().map(|traces| &traces.tracer);
    let engine = start(store, &settings, &listeners, tracer).await?;
    must_open(&engine).await?;
    let made = demo::first_start(&engine, settings.demo, settings.admin_token.is_some()).await?;
    let addresses = Addresses {
        service: url_of(&settings, listeners.public.1, engine.addresses().path()),
        admin: url_of(&settings, listeners.admin_address(), engine.addresses().path()),
        metrics: match &listeners.metrics {
            Some((_, address)) => base_url(*address, false),
            None => url_of(&settings, listeners.metrics_address(), ""),
        },
    };
    // A closed stdout is no reason not to serve.
    let _gone = output::print(&banner(&addresses, &settings.store.to_string(), &made));
    held.into_iter().for_each(output::note);
    tracing::info!(address = %listeners.public.1, version = env!("CARGO_PKG_VERSION"), "ready");
    #[cfg(unix)]
    crate::open_files::raise(settings.connections_max);
    let served = serve(&engine, &settings, listeners, tls, asked_to_stop).await;
    let ended = match served {
        Ok(()) => close(&engine).await,
        Err(failure) => Err(failure),
    };
    if let Some(traces) = traces {
        traces.flush().await;
    }
    ended
}

/// The address of a listener with its scheme and the path of the public URL.
fn url_of(settings: &Settings, address: SocketAddr, path: &str) -> String {
    format!("{}{path}", base_url(address, settings.tls.is_some()))
}

/// Serves until the server is asked to stop, and finishes what is in progress.
async fn serve(
    engine: &Arc<Engine>,
    settings: &Settings,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    mut asked_to_stop: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let Listeners { public, admin, metrics } = listeners;
    let limits = limits(settings);
    let token = settings.metrics_token.as_ref().map(|token| MetricsToken::new(&token.0));
    let options = AppOptions {
        limits,
        hosted: settings.hosted.clone(),
        console: settings.console.clone(),
        metrics: metrics_access(metrics.is_some(), token.as_ref()),
    };
    let app = App::new(Arc::clone(engine), options);
    let exempt = exempt(&settings.hosted.trusted_proxies);
    let metrics_site = MetricsSite::new(Arc::clone(engine), token, limits);
    let stopping = watch::Sender::new(false);
    let stop = async {
        tokio::select! {
            _ = asked_to_stop.wait_for(|&asked| asked) => {}
            () = engine.health().lost_track() => {}
        }
        systemd::notify(systemd::STOPPING);
        engine.stop_sending(settings.drain_timeout.min(SENDING_DRAIN_MAX));
        stopping.send_replace(true);
        std::future::pending::<()>().await;
    };
    let serve_one = |(listener, _): Bound, app: App| {
        let listener = Listener::new(listener, tls.clone());
        let mut stopping = stopping.subscribe();
        let stopped = async move {
            // An error means that the process ends.
            let _ = stopping.wait_for(|&is_stopping| is_stopping).await;
        };
        sluice_web::serve(listener, Arc::new(app), &limits, &exempt, stopped)
    };
    let served = async {
        match admin {
            None => serve_one(public, app).await,
            Some(admin) => {
                let public = serve_one(public, app.public_part());
                tokio::try_join!(public, serve_one(admin, app)).map(|_| ())
            }
        }
    };
    systemd::notify(systemd::READY);
    tokio::select! {
        served = served => served.map_err(server_error),
        () = stop => Ok(()),
        served = serve_metrics(metrics, metrics_site, &limits) => served.map_err(server_error),
        () = lost_for_long(engine) => Ok(()),
        () = systemd::watchdog(engine) => Ok(()),
        () = certificate::follow(engine, tls.as_deref()) => Ok(()),
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        body_bytes_max: settings.body_bytes_max,
        connections_max: settings.connections_max,
        connections_per_address_max: settings.connections_per_address_max,
        drain_timeout: settings.drain_timeout,
        calls_per_address: sluice_web::address_quota(settings.rate_per_address),
        bytes_per_address: sluice_web::address_bytes_quota(settings.bytes_per_address),
        ..Limits::default()
    }
}

/// Who may read the metrics on the address of the administration.
fn metrics_access(has_own_address: bool, token: Option<&MetricsToken>) -> MetricsAccess {
    match token {
        _ if has_own_address => MetricsAccess::Disabled,
        Some(token) => MetricsAccess::Token(token.clone()),
        None => MetricsAccess::Public,
    }
}

/// What to print if e-mails and webhooks are held.
async fn held_note(store: &dyn Store, settings: &Settings) -> Result<Option<String>, Failure> {
    let state = outbound::state(store, SystemClock.now(), settings.hold_outbound).await;
    let state = state.map_err(unreadable)?;
    Ok((state.is_held_here || state.held_at.is_some()).then(|| held(&state)))
}

fn server_error(error: io::Error) -> Failure {
    Failure::new(format!("the server failed: {error}"), "")
}

/// Networks exempt from the limit on connections per address: a proxy stands for many clients, and
/// loopback is the operator's.
fn exempt(proxies: &[Network]) -> Vec<Network> {
    let loopback = ["127.0.0.0/8", "::1"].into_iter().filter_map(|network| network.parse().ok());
    proxies.iter().copied().chain(loopback).collect()
}

/// Serves metrics on a separate listener, if one is set, until the process ends.
async fn serve_metrics(
    metrics: Option<Bound>,
    site: MetricsSite,
    limits: &Limits,
) -> io::Result<()> {
    let Some((listener, _)) = metrics else { return std::future::pending().await };
    sluice_web::serve(listener, Arc::new(site), limits, &exempt(&[]), std::future::pending()).await
}

async fn start(
    store: Arc<dyn Store>,
    settings: &Settings,
    listeners: &Listeners,
    tracer: Option<&Tracer>,
) -> Result<Arc<Engine>, Failure> {
    let admin_token = settings.admin_token.as_ref().map(|token| token.0.clone());
    let own_url = |address| base_url(address, settings.tls.is_some());
    let public_url = settings.public_url.clone().unwrap_or_else(|| own_url(listeners.public.1));
    // Behind a proxy, the console is at the public URL unless it has a URL that the proxy knows.
    let admin_url = match (&settings.admin_url, &settings.public_url) {
        (Some(url), _) => Some(url.clone()),
        (None, Some(_)) => None,
        (None, None) => Some(own_url(listeners.admin_address())),
    };
    let mail = settings.mail.as_ref().map(MailSettings::options).transpose()?;
    let sink = settings.nats.as_ref().map(NatsSettings::options).transpose()?;
    let key_source = Arc::new(KeyFetcher::new(settings.jwks.clone()));
    let webhook_sender = Arc::new(WebhookClient::new(settings.webhooks.clone()));
    let options = Options {
        admin_token,
        master_keys: Some(settings.master_keys.source()),
        key_source: Some(outgoing_spans::key_sets(tracer, key_source)),
        public_url: Some(public_url),
        admin_url,
        body_bytes_max: Some(settings.body_bytes_max),
        rates: settings.rates,
        scrub_interval: settings.scrub_interval,
        webhook_sender: Some(outgoing_spans::webhooks(tracer, webhook_sender)),
        mail: mail.map(|mail| outgoing_spans::mail(tracer, mail)),
        sink: sink.map(|sink| outgoing_spans::sink(tracer, sink)),
        hold_outbound: settings.hold_outbound,
        tracer: tracer.cloned(),
    };
    let clock = StoreClock::for_store(&store).await.map_err(unreadable)?;
    must_agree(&*clock)?;
    Engine::start(store, clock, options).await.map_err(unreadable)
}

/// Windows follow the clock of the database, but people read the times of this machine's log, and
/// certificates are checked by its clock. A large difference is a mistake.
fn must_agree(clock: &dyn Clock) -> Result<(), Failure> {
    let offset = Duration::from_millis(clock.offset_millis().unwrap_or(0).unsigned_abs());
    if offset <= OFFSET_MAX {
        return Ok(());
    }
    Err(Failure::new(
        format!(
            "the clock of this machine differs from that of the database by {} seconds",
            offset.as_secs()
        ),
        "synchronise both (NTP or chrony), then start again",
    ))
}

fn unreadable(error: StoreError) -> Failure {
    tracing::error!(error = &error as &dyn std::error::Error, "the store cannot be read");
    let remedy = match &error {
        StoreError::Corrupt(_) => {
            "if a newer release has written it, start that release; otherwise `sluice verify` names every \
             such row: correct what was changed, or restore the database from a backup"
        }
        StoreError::Damaged(_) => "restore the database from a backup",
        _ => "check that the database exists and responds, then start again",
    };
    Failure::new(format!("the store cannot be read: {}", with_cause(&error)), remedy)
}

/// A server that cannot open the secrets of its apps would refuse their users, so it does not
/// start.
async fn must_open(engine: &Engine) -> Result<(), Failure> {
    let closed = engine.health().closed_secrets().await.map_err(unreadable)?;
    let Some((which, why)) = closed.first() else { return Ok(()) };
    engine.close().await;
    Err(Failure::new(
        format!("{} sealed secrets cannot be opened, such as {which}: {why}", closed.len()),
        format!(
            "give the master key that they were sealed with: restore master.key in the data folder, or set \
             {} to the same value on every node. If it is lost permanently: sluice key rotate \
             --revoke-unreadable",
            master_key::VARIABLE
        ),
    ))
}

/// Returns once the outcome of a write is unknown and replies have had their time.
async fn lost_for_long(engine: &Engine) {
    engine.health().lost_track().await;
    tokio::time::sleep(LAST_REPLIES_MAX).await;
}

/// Stores what is queued, and reports the result.
async fn close(engine: &Engine) -> Outcome {
    let closed = tokio::time::timeout(CLOSE_MAX, engine.close()).await.is_ok();
    // Checked last, since the last writes may be the ones with an unknown outcome.
    let lost = tokio::time::timeout(Duration::ZERO, engine.health().lost_track()).await.is_ok();
    if !closed && !lost {
        return Err(Failure::new(
            "the store did not finish in time",
            "acknowledged responses are stored; the disk may have stopped: check the system log",
        ));
    }
    if lost {
        let reason = engine.health().why_lost().unwrap_or("the outcome of a write is unknown");
        return Err(Failure::new(
            format!("nothing more could be acknowledged: {reason}"),
            "before you start again: check the device and the file system (dmesg, fsck), then run \
             sluice verify; see docs/running.md, \"After exit code 4\"",
        )
        .with_exit(Exit::LostTrack));
    }
    tracing::info!("stopped; everything acknowledged is stored");
    Ok(Exit::Done)
}
