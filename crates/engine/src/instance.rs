//! The handle on the whole instance: apps, admin tokens, users.

use std::sync::Arc;

use sluice_store::Scope;

use crate::actor::Actor;
use crate::admin::AdminResult;
use crate::conflict::MayBeConflict as _;
use crate::core::Core;

/// Proof that an actor administers the whole instance. Its use cases are its methods, each in the
/// file named after it.
#[derive(Clone)]
pub struct InstanceHandle {
    core: Arc<Core>,
    actor: Actor,
}

impl InstanceHandle {
    /// The only constructor. Refuses as [`Actor::need_instance`] does.
    pub(crate) fn open(core: &Arc<Core>, actor: &Actor) -> AdminResult<Self> {
        actor.need_instance(Scope::Admin)?;
        Ok(Self { core: Arc::clone(core), actor: actor.clone() })
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }
}

impl std::fmt::Debug for InstanceHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstanceHandle").field("actor", &self.actor.name).finish_non_exhaustive()
    }
}

/// What was created, or `None` if another process was first.
pub(crate) fn made_first<T>(made: AdminResult<T>) -> AdminResult<Option<T>> {
    match made {
        Err(error) if error.is_conflict() => Ok(None),
        made => made.map(Some),
    }
}
