//! Resolves names, and keeps only permitted addresses.
//!
//! The client connects to the addresses that it gets here and does not resolve the name again, so a
//! name cannot lead elsewhere after the check. Every new connection is checked.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::{Semaphore, oneshot};

use super::OutboundPolicy;

/// Names that are looked up at a time.
const THREADS_MAX: usize = 128;

pub(super) type LookUp = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Where names are looked up.
pub(super) trait Names: fmt::Debug + Send + Sync {
    fn look_up(&self, name: String) -> LookUp;
}

/// How a thread asks the system for the addresses of a name.
pub(super) type Ask = fn(&str) -> io::Result<Vec<SocketAddr>>;

fn ask_system(name: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((name, 0).to_socket_addrs()?.collect())
}

/// The resolver of the system. It may block for long, so each look-up has its own thread: at most
/// one for a name, and [`THREADS_MAX`] in all.
#[derive(Debug)]
pub(super) struct SystemNames {
    ask: Ask,
    threads: Arc<Semaphore>,
    /// The names that are being looked up.
    pending: Arc<Mutex<HashMap<String, PendingLookup>>>,
}

type PendingLookup = Shared<BoxFuture<'static, Result<Vec<SocketAddr>, String>>>;

impl SystemNames {
    pub(super) fn new(ask: Ask, threads: usize) -> Self {
        Self { ask, threads: Arc::new(Semaphore::new(threads)), pending: Arc::default() }
    }
}

impl Names for SystemNames {
    fn look_up(&self, name: String) -> LookUp {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pending.entry(name).or_insert_with_key(|name| {
            let look_up = on_a_thread(self.ask, name.clone(), Arc::clone(&self.threads));
            let (pending, name) = (Arc::clone(&self.pending), name.clone());
            // A task continues when nobody waits any more: the thread becomes free for others, and
            // the next request for this name gets a new answer.
            let task = tokio::spawn(async move {
                let found = look_up.await;
                pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
                found
            });
            async move { task.await.unwrap_or_else(|error| Err(not_looked_up(&error))) }
                .boxed()
                .shared()
        });
        let found = found.clone();
        Box::pin(async move { found.await.map_err(io::Error::other) })
    }
}

fn not_looked_up(error: &dyn fmt::Display) -> String {
    format!("the name was not looked up: {error}")
}

async fn on_a_thread(
    ask: Ask,
    name: String,
    threads: Arc<Semaphore>,
) -> Result<Vec<SocketAddr>, String> {
    let turn = threads.acquire_owned().await.map_err(|error| not_looked_up(&error))?;
    let (sender, receiver) = oneshot::channel();
    let look_up = move || {
        // Nobody waits any more if the request has ended.
        let _ = sender.send(ask(&name));
        drop(turn);
    };
    let thread = std::thread::Builder::new().name("sluice-names".to_owned());
    thread.spawn(look_up).map_err(|error| not_looked_up(&error))?;
    let found = receiver.await.map_err(|error| not_looked_up(&error))?;
    found.map_err(|error| not_looked_up(&error))
}

#[derive(Debug, Clone)]
pub(super) struct PolicyResolver {
    policy: Arc<OutboundPolicy>,
    names: Arc<dyn Names>,
}

impl PolicyResolver {
    pub(super) fn new(policy: &Arc<OutboundPolicy>) -> Self {
        Self::with_names(policy, Arc::new(SystemNames::new(ask_system, THREADS_MAX)))
    }

    pub(super) fn with_names(policy: &Arc<OutboundPolicy>, names: Arc<dyn Names>) -> Self {
        Self { policy: Arc::clone(policy), names }
    }
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, found) =
            (Arc::clone(&self.policy), self.names.look_up(name.as_str().to_owned()));
        Box::pin(async move {
            let found = found.await.unwrap_or_else(|error| {
                tracing::debug!(%error, "a name was not resolved");
                Vec::new()
            });
            let may: Vec<SocketAddr> =
                found.into_iter().filter(|it| policy.permits(it.ip())).collect();
            if may.is_empty() {
                // The same in both cases: an app's administrators read it, and must not learn which
                // names this network has.
                return Err("the name resolves to no public address, or to none at all".into());
            }
            Ok(Box::new(may.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};

    use super::*;

    static ASKED: AtomicUsize = AtomicUsize::new(0);
    static OPEN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

    /// Names that begin with `slow` have no answer until the gate is open.
    fn gated(name: &str) -> io::Result<Vec<SocketAddr>> {
        ASKED.fetch_add(1, Ordering::SeqCst);
        if name.starts_with("slow") {
            let open = OPEN.0.lock().unwrap();
            drop(OPEN.1.wait_while(open, |open| !*open).unwrap());
        }
        Ok(vec!["192.0.2.1:0".parse().unwrap()])
    }

    /// One thread for blocking work, as all stores and exports share: it stays free.
    #[test]
    fn slow_names_share_no_threads_with_the_stores_and_one_name_has_one_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let names = Arc::new(SystemNames::new(gated, 3));
            let ask = |name: &str| {
                let (names, name) = (Arc::clone(&names), name.to_owned());
                tokio::spawn(async move { names.look_up(name).await })
            };
            let slow: Vec<_> = ["slow.a", "slow.a", "slow.a", "slow.b"].map(ask).into();
            while ASKED.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            ask("prompt.a").await.unwrap().unwrap();
            assert_eq!(ASKED.load(Ordering::SeqCst), 3, "one name is asked for once");
            *OPEN.0.lock().unwrap() = true;
            OPEN.1.notify_all();
            for it in slow {
                assert_eq!(it.await.unwrap().unwrap().len(), 1);
            }
            ask("slow.a").await.unwrap().unwrap();
            assert_eq!(ASKED.load(Ordering::SeqCst), 4, "answers are not kept");
        });
    }
}
