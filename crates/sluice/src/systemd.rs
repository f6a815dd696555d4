//! The service manager: reports to systemd, and takes the listener that it passes.
//!
//! Both protocols are small: lines of text sent to the socket `NOTIFY_SOCKET`, and open files from
//! number 3 on. Without their variables, nothing here does anything.
//!
//! The watchdog is notified after every answer of the store, also after a refusal: a restart does
//! not fix a full disk or an unreachable database. If the store does not answer at all, the
//! watchdog is not notified, and systemd restarts the process.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use sluice_engine::Engine;

use crate::config::variable;
use crate::failure::Failure;

/// The first passed file.
#[cfg(target_os = "linux")]
const FIRST_FD: i32 = 3;
/// Reports in each watchdog interval; one is enough, and the store may take its time to answer.
const REPORTS_PER_INTERVAL: u32 = 3;

/// The server serves.
pub(crate) const READY: &str = "READY=1\nSTATUS=Serving";
/// The server finishes the requests in progress.
pub(crate) const STOPPING: &str = "STOPPING=1\nSTATUS=Finishing requests in progress";
const WORKING: &str = "WATCHDOG=1";

/// Reports a state to the service manager, if there is one. That the report fails is no reason to
/// stop: the manager notices its absence.
pub(crate) fn notify(state: &str) {
    let Some(socket) = variable("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "cannot report to the service manager (NOTIFY_SOCKET)");
    }
}

#[cfg(target_os = "linux")]
fn send(socket: &str, state: &str) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn send(_: &str, _: &str) -> io::Result<()> {
    Ok(())
}

/// Reports to the watchdog, if there is one, each time that the store has answered.
pub(crate) async fn watchdog(engine: &Engine) {
    let Some(interval) = watchdog_interval(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"))
    else {
        return std::future::pending().await;
    };
    loop {
        engine.health().store_answered().await;
        notify(WORKING);
        tokio::time::sleep(interval / REPORTS_PER_INTERVAL).await;
    }
}

fn watchdog_interval(micros: Option<String>, pid: Option<String>) -> Option<Duration> {
    if pid.is_some_and(|pid| !is_this_process(&pid)) {
        return None;
    }
    let micros: u64 = micros?.parse().ok()?;
    (micros > 0).then(|| Duration::from_micros(micros))
}

fn is_this_process(pid: &str) -> bool {
    pid.parse() == Ok(std::process::id())
}

/// The listener that the service manager passed, if it passed one.
///
/// It stays open in the manager, so clients that connect during a restart wait instead of being
/// refused.
pub(crate) fn passed_listener() -> Result<Option<TcpListener>, Failure> {
    let is_for_us = variable("LISTEN_PID").is_some_and(|pid| is_this_process(&pid));
    let Some(count) = variable("LISTEN_FDS").filter(|_| is_for_us) else { return Ok(None) };
    if count != "1" {
        return Err(unusable(&format!("{count} sockets were passed, and one is expected")));
    }
    let listener = take_first().map_err(|error| refused(&error))?;
    // Fails for other kinds of sockets.
    let listens = listener.local_addr().and_then(|_| listener.set_nonblocking(true));
    listens.map_err(|error| unusable(&error.to_string()))?;
    Ok(Some(listener))
}

fn unusable(why: &str) -> Failure {
    Failure::new(
        format!("the socket that systemd passed cannot be used: {why}"),
        "give the socket unit one ListenStream= with a TCP address, such as 127.0.0.1:8080",
    )
}

fn refused(error: &io::Error) -> Failure {
    Failure::new(
        format!("the socket that systemd passed cannot be taken: {error}"),
        "allow the system call pidfd_getfd (SystemCallFilter= of the service; containers often \
         refuse it; it needs Linux 5.6), or start the service without its socket",
    )
}

/// A second descriptor of the passed file: taking over the first by its number would need unsafe
/// code.
#[cfg(target_os = "linux")]
fn take_first() -> io::Result<TcpListener> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let process = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, FIRST_FD, PidfdGetfdFlags::empty())?.into())
}

#[cfg(not(target_os = "linux"))]
fn take_first() -> io::Result<TcpListener> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_for_this_process_and_has_an_interval() {
        let own = std::process::id().to_string();
        for (micros, pid, expected) in [
            (None, None, None),
            (Some("0"), None, None),
            (Some("soon"), None, None),
            (Some("1500000"), None, Some(1500)),
            (Some("1500000"), Some(own.as_str()), Some(1500)),
            (Some("1500000"), Some("1"), None),
        ] {
            let interval = watchdog_interval(micros.map(Into::into), pid.map(Into::into));
            assert_eq!(interval, expected.map(Duration::from_millis), "{micros:?} {pid:?}");
        }
    }
}
