//! Reads users, grants and links for a change and writes them, each change with its audit log
//! entry.

use serde_json::Value;
use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;
use sluice_store::{At, LinkRow, PeopleWrite, StoreResult, User, UserKey, Write};

use super::secret::Secret;
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::core::Core;
use crate::tokens::hash_of;

/// How long a link is valid.
pub const LINK_HOURS: i64 = 24;

/// The audit log entry of a change.
pub(super) struct PeopleAuditEntry {
    pub(super) action: AuditAction,
    pub(super) app_id: Option<AppId>,
    pub(super) detail: Value,
}

/// Writes a change to users, grants or links with its audit log entry. Conflicts if the
/// revision has changed ([`crate::conflict`]).
pub(super) async fn write_people(
    core: &Core,
    actor: &Actor,
    expected: u64,
    subject: UserId,
    writes: Vec<PeopleWrite>,
    entry: PeopleAuditEntry,
) -> StoreResult<()> {
    write_people_with(core, actor, expected, subject, writes, entry, None).await
}

/// The same, with other rows.
pub(super) async fn write_people_with(
    core: &Core,
    actor: &Actor,
    expected: u64,
    subject: UserId,
    writes: Vec<PeopleWrite>,
    entry: PeopleAuditEntry,
    also: impl IntoIterator<Item = Write>,
) -> StoreResult<()> {
    let audit = core.audit(actor, entry.app_id, entry.action, subject, &entry.detail);
    let mut rows: Vec<_> = writes.into_iter().map(Write::People).collect();
    rows.push(Write::Audit(audit));
    rows.extend(also);
    core.apply(At::People { expected }, rows).await
}

pub(super) async fn find_user(core: &Core, id: UserId) -> AdminResult<User> {
    let found = core.store.find_user(&UserKey::Id(id)).await?;
    found.ok_or(AdminError::NotFound(Missing::User))
}

/// A link to set a password, and its secret.
pub(crate) fn new_link(user_id: UserId, now: Timestamp) -> (Secret, LinkRow) {
    let secret = Secret::random();
    let expires_at = Timestamp::from_millis(now.as_millis() + LINK_HOURS * 60 * 60 * 1000);
    let link = LinkRow { user_id, hash: hash_of(&secret.0), expires_at };
    (secret, link)
}
