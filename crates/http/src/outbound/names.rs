//! Resolves names, and keeps only permitted addresses.
//!
//! The client connects to the addresses that it gets here and does not resolve the name again, so a
//! name cannot lead elsewhere after the check. Every new connection is checked.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::OutboundPolicy;

pub(super) type LookUp = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Where names are looked up.
pub(super) trait Names: fmt::Debug + Send + Sync {
    fn look_up(&self, name: String) -> LookUp;
}

/// The resolver of the system.
#[derive(Debug)]
struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, name: String) -> LookUp {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    }
}

#[derive(Debug, Clone)]
pub(super) struct PolicyResolver {
    policy: Arc<OutboundPolicy>,
    names: Arc<dyn Names>,
}

impl PolicyResolver {
    pub(super) fn new(policy: &Arc<OutboundPolicy>) -> Self {
        Self::of(policy, Arc::new(SystemNames))
    }

    pub(super) fn of(policy: &Arc<OutboundPolicy>, names: Arc<dyn Names>) -> Self {
        Self { policy: Arc::clone(policy), names }
    }
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, found) =
            (Arc::clone(&self.policy), self.names.look_up(name.as_str().to_owned()));
        Box::pin(async move {
            let may: Vec<SocketAddr> =
                found.await?.into_iter().filter(|it| policy.permits(it.ip())).collect();
            if may.is_empty() {
                return Err("the name resolves to no public address".into());
            }
            Ok(Box::new(may.into_iter()) as Addrs)
        })
    }
}
