//! SIGTERM and SIGINT: the first asks the process to finish, the second to stop at once. SIGHUP
//! asks it to read its configuration file again.

use std::io;

use tokio::sync::watch;

use crate::failure::Exit;

/// Starts listening. The receiver becomes true at the first signal; the second ends the process.
pub(crate) fn listen() -> io::Result<watch::Receiver<bool>> {
    let (asked, receiver) = watch::channel(false);
    let mut signals = Signals::new()?;
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("stopping: finishing work in progress (a second signal stops at once)");
        asked.send_replace(true);
        signals.next().await;
        tracing::warn!("stopped at once by a second signal");
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    Ok(receiver)
}

/// Asks this process to finish, as SIGTERM does.
pub(crate) fn stop_this_process() {
    #[cfg(unix)]
    if let Err(error) =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)
    {
        tracing::error!(%error, "cannot stop");
    }
}

/// Whether this process was started to outlive its terminal, as by `nohup`.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    // Without unsafe code, only Linux reports it.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// Waits for SIGHUP, again and again. From the first call on, it no longer ends the process.
#[cfg(unix)]
pub(crate) struct Hangups {
    signal: tokio::signal::unix::Signal,
    /// Whether they were ignored before.
    pub(crate) were_ignored: bool,
}

#[cfg(unix)]
impl Hangups {
    pub(crate) fn listen() -> io::Result<Self> {
        let were_ignored = ignores_hangup();
        let hangup = tokio::signal::unix::SignalKind::hangup();
        Ok(Self { signal: tokio::signal::unix::signal(hangup)?, were_ignored })
    }

    pub(crate) async fn next(&mut self) {
        if self.signal.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// There is no such signal.
#[cfg(not(unix))]
pub(crate) struct Hangups {
    pub(crate) were_ignored: bool,
}

#[cfg(not(unix))]
impl Hangups {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self { were_ignored: true })
    }

    pub(crate) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
