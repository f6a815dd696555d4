//! Requests of administrators that are safe to send again: the `Idempotency-Key` of the admin API.
//!
//! A request with a key is claimed before it is carried out, and each of its writes records the
//! claim in the same transaction ([`crate::request_scope`]). So the outcome is always known, also
//! after a crash and with several servers:
//!
//! - not claimed, or claimed by an attempt that stopped and wrote nothing: it is carried out;
//! - claimed by an attempt that is under way: the caller waits and asks again;
//! - replied to: the stored reply is sent again;
//! - written, but without a stored reply: the reply says so, and it is not carried out again.
//!
//! A stored reply may contain secrets that are shown once. It is sealed with a key that is derived
//! from the caller's secret and the idempotency key, neither of which is stored.

use std::sync::Arc;

use bytes::Bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sluice_flow::time::{DAY_SECONDS, Timestamp};
use sluice_store::{
    AdminRequestRow, AdminRequestWrite, At, RequestFingerprint, StoreError, StoreResult, Write,
    first_half,
};
use uuid::Uuid;

use crate::actor::Actor;
use crate::boxed;
use crate::core::Core;
use crate::idempotency::IdempotencyKey;
use crate::ids::{fill_random, random_bits};
use crate::request_scope::RequestScope;

/// How long a key is remembered.
pub const KEPT_SECONDS: i64 = DAY_SECONDS;
/// How long an attempt may continue without a write before another attempt may replace it.
pub const LEASE_SECONDS: i64 = 30;
/// The most keys of one token that are remembered at a time, and the bytes of their replies.
pub const KEYS_MAX: u64 = 10_000;
const REPLIES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// A longer reply is sent, but not stored.
const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How often a claim is attempted while others change the same request.
const CLAIM_ATTEMPTS: usize = 5;

/// The contexts in which keys are derived; each has its own purpose and never changes.
const REQUEST_CONTEXT: &str = "sluice 2026-11 admin request: id";
const FINGERPRINT_CONTEXT: &str = "sluice 2026-11 admin request: fingerprint";
const SEAL_CONTEXT: &str = "sluice 2026-11 admin request: reply";

/// The result of claiming a request with a key.
#[derive(Debug)]
pub enum Claimed {
    /// It is to be carried out now.
    New(RequestClaim),
    /// It was carried out before, with this reply.
    Replay(StoredReply),
    /// Another attempt is under way.
    InProgress,
    /// The key was used for another request.
    Reused,
    /// It was carried out, at least in part, and its reply is not known.
    ReplyLost { at: Timestamp },
    /// The token has too many keys.
    TooMany,
}

/// A reply as the transport sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// The head of a stored reply; its body follows.
#[derive(Serialize, Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

/// The right to carry out a request once. Its holder ends it: with [`Self::finish`] if later
/// attempts get the same reply, with [`Self::give_up`] otherwise.
pub struct RequestClaim {
    core: Arc<Core>,
    request_id: Uuid,
    claim: Uuid,
    seal: [u8; 32],
    scope: Arc<RequestScope>,
}

impl std::fmt::Debug for RequestClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestClaim").field("request_id", &self.request_id).finish_non_exhaustive()
    }
}

/// The requests of administrators.
#[derive(Clone, Copy)]
pub struct AdminRequests<'e> {
    pub(crate) core: &'e Arc<Core>,
}

impl std::fmt::Debug for AdminRequests<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminRequests").finish_non_exhaustive()
    }
}

impl AdminRequests<'_> {
    /// Whether the current state is the result of this request's changes.
    #[boxed]
    pub async fn is_newest(&self, scope: &RequestScope) -> StoreResult<bool> {
        scope.is_newest(&*self.core.store).await
    }

    /// Claims a request with an idempotency key, for an actor who authenticated with this secret.
    /// `parts` is everything that makes two requests the same.
    #[boxed]
    pub async fn claim(
        &self,
        actor: &Actor,
        secret: &str,
        key: &IdempotencyKey,
        parts: &[&[u8]],
    ) -> StoreResult<Claimed> {
        let core = self.core;
        let derived =
            |context| blake3::derive_key(context, &joined(&[secret.as_bytes(), key.as_bytes()]));
        let request_id = Uuid::from_bytes(first_half(derived(REQUEST_CONTEXT).into()));
        let hash = blake3::keyed_hash(&derived(FINGERPRINT_CONTEXT), &joined(parts));
        let fingerprint: RequestFingerprint = hash.into();
        let seal = derived(SEAL_CONTEXT);
        for _ in 0..CLAIM_ATTEMPTS {
            let now = core.now();
            let claim = Uuid::from_u128(random_bits());
            let row = AdminRequestRow {
                request_id,
                holder: actor.name.clone(),
                fingerprint,
                claim,
                claimed_at: now,
                applied_at: None,
                expires_at: now.plus_seconds(KEPT_SECONDS),
                reply: None,
            };
            let found = core.store.find_admin_request(request_id).await?;
            let write = match found.filter(|row| row.expires_at > now) {
                None if is_full(core, &actor.name, now).await? => return Ok(Claimed::TooMany),
                None => AdminRequestWrite::Claim(row),
                Some(found) => match known_outcome(&found, &row, &seal)? {
                    Some(known) => return Ok(known),
                    None => AdminRequestWrite::TakeOver { row, from: found.claim },
                },
            };
            match core.apply(At::Instance, vec![Write::AdminRequest(write)]).await {
                Ok(()) => {
                    let scope = Arc::new(RequestScope::claimed(request_id, claim));
                    let core = Arc::clone(core);
                    return Ok(Claimed::New(RequestClaim { core, request_id, claim, seal, scope }));
                }
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Claimed::InProgress)
    }
}

async fn is_full(core: &Core, holder: &str, now: Timestamp) -> StoreResult<bool> {
    let used = core.store.admin_request_use(holder, now).await?;
    Ok(used.count >= KEYS_MAX || used.reply_bytes >= REPLIES_BYTES_MAX)
}

/// What is known about a request that was claimed before; `None` if this attempt may take it over.
fn known_outcome(
    found: &AdminRequestRow,
    attempt: &AdminRequestRow,
    seal: &[u8; 32],
) -> StoreResult<Option<Claimed>> {
    if found.fingerprint != attempt.fingerprint {
        return Ok(Some(Claimed::Reused));
    }
    let lost = || Claimed::ReplyLost { at: found.applied_at.unwrap_or(found.claimed_at) };
    match &found.reply {
        Some(none) if none.is_empty() => return Ok(Some(lost())),
        Some(sealed) => {
            let opened = open(seal, found, sealed);
            let unreadable = || StoreError::Corrupt("the reply to an admin request".to_owned());
            return opened.map(|reply| Some(Claimed::Replay(reply))).ok_or_else(unreadable);
        }
        None => {}
    }
    let last = found.applied_at.map_or(found.claimed_at, |at| at.max(found.claimed_at));
    if attempt.claimed_at < last.plus_seconds(LEASE_SECONDS) {
        return Ok(Some(Claimed::InProgress));
    }
    Ok(found.applied_at.map(|_| lost()))
}

impl RequestClaim {
    /// The scope that the request must be carried out in.
    pub fn scope(&self) -> Arc<RequestScope> {
        Arc::clone(&self.scope)
    }

    /// Whether anything was written.
    pub fn was_applied(&self) -> bool {
        self.scope.was_applied()
    }

    /// Stores the reply for later attempts.
    #[boxed]
    pub async fn finish(&self, reply: &StoredReply) -> StoreResult<()> {
        let sealed = match reply.body.len() > REPLY_BYTES_MAX {
            true => Vec::new(),
            false => self.sealed(reply).unwrap_or_default(),
        };
        self.write(vec![self.finished(sealed)]).await
    }

    /// Allows another attempt if the store has no write of this one. Otherwise the request has
    /// ended without a known reply.
    #[boxed]
    pub async fn give_up(&self) -> StoreResult<()> {
        let Self { request_id, claim, .. } = *self;
        let release = AdminRequestWrite::Release { request_id, claim };
        self.write(vec![release, self.finished(Vec::new())]).await
    }

    async fn write(&self, writes: Vec<AdminRequestWrite>) -> StoreResult<()> {
        let writes: Vec<_> = writes.into_iter().map(Write::AdminRequest).collect();
        self.core.apply(At::Instance, writes).await
    }

    fn finished(&self, reply: Vec<u8>) -> AdminRequestWrite {
        AdminRequestWrite::Finish { request_id: self.request_id, claim: self.claim, reply }
    }

    fn sealed(&self, reply: &StoredReply) -> Option<Vec<u8>> {
        let head = Head { status: reply.status, headers: reply.headers.clone() };
        let mut sealed = serde_json::to_vec(&head).ok()?;
        sealed.push(b'\n');
        sealed.extend_from_slice(&reply.body);
        let mut nonce = [0; NONCE_LEN];
        fill_random(&mut nonce);
        let unique = Nonce::assume_unique_for_key(nonce);
        let bound = Aad::from(bound(self.request_id, self.claim));
        cipher(&self.seal)?.seal_in_place_append_tag(unique, bound, &mut sealed).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }
}

fn open(seal: &[u8; 32], row: &AdminRequestRow, sealed: &[u8]) -> Option<StoredReply> {
    let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut sealed = sealed.to_vec();
    let bound = Aad::from(bound(row.request_id, row.claim));
    let opened = cipher(seal)?.open_in_place(nonce, bound, &mut sealed).ok()?;
    let end = opened.iter().position(|byte| *byte == b'\n')?;
    let Head { status, headers } = serde_json::from_slice(opened.get(..end)?).ok()?;
    Some(StoredReply { status, headers, body: Bytes::copy_from_slice(opened.get(end + 1..)?) })
}

/// A reply cannot be opened as that of another request or attempt.
fn bound(request_id: Uuid, claim: Uuid) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(request_id.as_bytes());
    bytes[16..].copy_from_slice(claim.as_bytes());
    bytes
}

fn cipher(key: &[u8; 32]) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, key).ok().map(LessSafeKey::new)
}

/// Parts, each with its length, so that no two lists give the same bytes.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let with_length = |part: &&[u8]| [&(part.len() as u64).to_le_bytes()[..], part].concat();
    parts.iter().flat_map(with_length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(claimed_at: i64) -> AdminRequestRow {
        let at = Timestamp::from_millis;
        AdminRequestRow {
            request_id: Uuid::from_u128(1),
            holder: "tk".to_owned(),
            fingerprint: [1; 32],
            claim: Uuid::from_u128(2),
            claimed_at: at(claimed_at),
            applied_at: None,
            expires_at: at(claimed_at + 1_000_000),
            reply: None,
        }
    }

    fn name(settled: Option<Claimed>) -> &'static str {
        match settled {
            None => "taken over",
            Some(Claimed::InProgress) => "in progress",
            Some(Claimed::Reused) => "reused",
            Some(Claimed::ReplyLost { .. }) => "lost",
            Some(Claimed::Replay(_)) => "replayed",
            Some(Claimed::New(_) | Claimed::TooMany) => "never",
        }
    }

    #[test]
    fn only_a_claim_that_wrote_nothing_is_taken_over_when_its_lease_has_ended() {
        let lease = LEASE_SECONDS * 1_000;
        let claimed = row(0);
        let applied = AdminRequestRow { applied_at: Some(Timestamp::from_millis(500)), ..row(0) };
        let ended = AdminRequestRow { reply: Some(Vec::new()), ..row(0) };
        let other = AdminRequestRow { fingerprint: [9; 32], ..row(0) };
        for (found, now, expected) in [
            (&claimed, 0, "in progress"),
            (&claimed, lease - 1, "in progress"),
            (&claimed, lease, "taken over"),
            (&applied, lease, "in progress"),
            (&applied, lease + 499, "in progress"),
            (&applied, lease + 500, "lost"),
            (&ended, 1, "lost"),
            (&other, lease, "reused"),
        ] {
            let found = known_outcome(found, &row(now), &[0; 32]).unwrap();
            assert_eq!(name(found), expected, "at {now}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(joined(&[b"ab", b"c"]), joined(&[b"a", b"bc"]));
        assert_ne!(joined(&[b"a"]), joined(&[b"a", b""]));
    }
}
