//! Rows of administrators' requests with an idempotency key, and their changes.
//!
//! A request is claimed before it is carried out. Its changes carry [`AdminRequestWrite::Apply`] in
//! their own transaction, so whether it took effect is never in doubt: not after a crash, and not
//! between two servers. Its reply is stored sealed; nothing here can open it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

/// A hash of what was requested, to detect that a key is reused for another request.
pub type RequestFingerprint = [u8; 32];

/// One request, from its claim until its key expires.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRequestRow {
    /// Derived from the caller's secret and the key; neither is stored.
    #[serde(with = "crate::hex")]
    pub request_id: Uuid,
    /// The id of the token, by which a caller's requests are counted.
    pub holder: String,
    #[serde(with = "crate::hex")]
    pub fingerprint: RequestFingerprint,
    /// The attempt that may carry it out.
    #[serde(with = "crate::hex")]
    pub claim: Uuid,
    pub claimed_at: Timestamp,
    /// When a change of it was last written; absent until then.
    pub applied_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    /// The reply, sealed; absent until the request has ended.
    #[serde(default, serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub reply: Option<Vec<u8>>,
}

impl std::fmt::Debug for AdminRequestRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminRequestRow")
            .field("request_id", &self.request_id)
            .field("holder", &self.holder)
            .field("claim", &self.claim)
            .field("claimed_at", &self.claimed_at)
            .field("applied_at", &self.applied_at)
            .field("expires_at", &self.expires_at)
            .field("reply_bytes", &self.reply.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

/// A change to the row of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminRequestWrite {
    /// Adds a request; one that has expired by then is replaced. A conflict if there is another one
    /// with its id.
    Claim(AdminRequestRow),
    /// The same, in place of a claim that has changed nothing. A conflict if the request has
    /// another claim by now, or has been applied or replied to.
    TakeOver { row: AdminRequestRow, from: Uuid },
    /// Records that the changes of the same transaction belong to this claim. A conflict if the
    /// request has another claim by now.
    Apply { request_id: Uuid, claim: Uuid, at: Timestamp },
    /// Stores the reply, unless the request has another claim by now.
    Finish { request_id: Uuid, claim: Uuid, reply: Vec<u8> },
    /// Removes the claim, unless it has been applied.
    Release { request_id: Uuid, claim: Uuid },
}

/// How much the requests of one token use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdminRequestUse {
    pub count: u64,
    /// The bytes of their replies.
    pub reply_bytes: u64,
}

fn to_base64<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
    bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
}

fn from_base64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| STANDARD.decode(text)).transpose().map_err(de::Error::custom)
}
