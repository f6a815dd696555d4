//! The stored rows, as plain data.

use serde::{Deserialize, Serialize};
use sluice_flow::closing::Closing;
use sluice_flow::definition::Kind;
use sluice_flow::id::{ApiKey, AppId, AuditId, FlowId, FlowVersionId, TokenId, UserId};
use sluice_flow::lifecycle::{FlowTimes, VersionTimes};
use sluice_flow::time::{Timestamp, Window};

use crate::{StoreError, StoreResult};

/// SHA-256 of an admin token.
pub type TokenHash = [u8; 32];

/// How an app treats identity tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdentityVerification {
    Off,
    Observe,
    Enforce,
}

/// Disk space of the volume that a store writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    pub free_bytes: u64,
    /// Space that submissions must leave free.
    pub reserve_bytes: u64,
    /// The length of the database's log.
    pub log_bytes: u64,
}

/// The limits of one app; an absent one falls back to the instance's limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppLimits {
    pub calls_per_second: Option<u32>,
    /// Bytes of responses stored per UTC day.
    pub bytes_per_day: Option<u64>,
}

/// An app as its owner set it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppRow {
    pub app_id: AppId,
    pub name: String,
    pub identity_verification: IdentityVerification,
    /// Origins that browsers may call from; empty means any.
    pub allowed_origins: Vec<String>,
    pub grace_window_seconds: Option<u32>,
    /// How long responses are kept; absent means indefinitely.
    pub retention_days: Option<u32>,
    /// The maximum lifetime of an identity token; absent means the default.
    pub token_lifetime_seconds: Option<u32>,
    /// Appearance and protection of hosted pages, as JSON; absent means the defaults.
    pub hosted: Option<String>,
    pub limits: AppLimits,
    pub created_at: Timestamp,
}

/// An app with its current revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    pub row: AppRow,
    pub revision: u64,
    pub public_revision: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRow {
    pub app_id: AppId,
    pub api_key: ApiKey,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// The kind of key that verifies an identity token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IdentityKeyKind {
    /// A secret that both sides share.
    Hs256,
    PublicKey,
    /// The URL of a JSON Web Key Set.
    Jwks,
}

/// A key of an app for identity tokens. `kid` is unique within the app, revoked keys included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityKeyRow {
    pub app_id: AppId,
    pub kid: String,
    pub kind: IdentityKeyKind,
    /// The sealed secret, the public key as a JWK, or the URL; empty once revoked.
    pub material: String,
    /// The `iss` that tokens signed with this key must have.
    pub issuer: Option<String>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub kind: Kind,
    pub name: String,
    pub live: Window,
    pub grace_window_seconds: Option<u32>,
    /// How many responses are accepted, as JSON ([`Self::limits`]); absent means any number.
    pub closing: Option<String>,
    /// The name by which flow files refer to it; unique in its app.
    #[serde(default)]
    pub key: Option<String>,
    /// Words by which its authors find it.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The parts of the app's design that the flow replaces, as JSON; absent if none.
    #[serde(default)]
    pub design: Option<String>,
    /// How often its test links were revoked: a link works while this is as when it was made.
    #[serde(default)]
    pub test_links: u32,
    /// The text of invitations that are sent by e-mail, as JSON; absent if none was written.
    #[serde(default)]
    pub invitation_email: Option<String>,
    pub created_at: Timestamp,
    pub archived_at: Option<Timestamp>,
}

impl FlowRow {
    pub fn times(&self) -> FlowTimes {
        FlowTimes { live: self.live, archived_at: self.archived_at }
    }

    /// How many responses are accepted.
    pub fn limits(&self) -> StoreResult<Closing> {
        Closing::from_stored(self.closing.as_deref())
            .map_err(|why| StoreError::Corrupt(format!("flow {}: {why}", self.flow_id)))
    }
}

/// A version, from draft to retirement. `number` is 0 on a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub times: VersionTimes,
    /// JSON. Any object in a draft; a checked definition in canonical form once published.
    pub definition: String,
    pub created_at: Timestamp,
    /// The last edit; once published, the time of publishing.
    pub updated_at: Timestamp,
}

/// A flow with data derived from its versions. `current` is the published version that is neither
/// superseded nor retired; `last_number` is the highest number ever assigned, including retired
/// versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowState {
    pub flow: FlowRow,
    pub revision: u64,
    pub public_revision: u64,
    pub app_grace_window_seconds: Option<u32>,
    pub current: Option<VersionRow>,
    pub draft: Option<VersionRow>,
    pub last_number: u32,
}

/// A version with what is needed to decide about it. `current` is as in [`FlowState`], but only its
/// id and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionState {
    pub version: VersionRow,
    pub flow: FlowRow,
    pub revision: u64,
    pub public_revision: u64,
    pub current: Option<FlowVersionId>,
}

/// What an admin token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Write,
    Export,
    Erase,
    Admin,
}

impl Scope {
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Export, Self::Erase, Self::Admin];
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    pub token_id: TokenId,
    pub name: String,
    #[serde(with = "crate::hex")]
    pub hash: TokenHash,
    pub scopes: Vec<Scope>,
    /// The only app that the token may access; absent means all.
    pub app_id: Option<AppId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Who changed what. `app_id` is absent for changes to the whole instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    pub audit_id: AuditId,
    pub app_id: Option<AppId>,
    /// The id of the token or user, or a name for any other actor (`first-start`, `environment`).
    pub actor: String,
    /// A name such as `flow.published`.
    pub action: String,
    /// The id of the changed object.
    pub subject: String,
    /// JSON object with details.
    pub detail: String,
}

/// A page of a list: at most `limit` rows after an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<T> {
    pub after: Option<T>,
    pub limit: usize,
}

/// Which flows of an app to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowQuery {
    pub app_id: AppId,
    /// Only flows with exactly this label.
    pub label: Option<String>,
    /// Only the flow with this key.
    pub key: Option<String>,
    /// Only archived flows, or only flows that are not archived; absent means both.
    pub archived: Option<bool>,
    /// Continues after this id, in the requested order.
    pub after: Option<FlowId>,
    pub order: Order,
    pub limit: usize,
}

impl FlowQuery {
    /// A page of all flows of an app, in creation order.
    pub fn all(app_id: AppId, page: Page<FlowId>) -> Self {
        let Page { after, limit } = page;
        Self { app_id, label: None, key: None, archived: None, after, order: Order::Asc, limit }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Oldest first.
    #[default]
    Asc,
    /// Newest first.
    Desc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditQuery {
    pub app_id: Option<AppId>,
    /// Entries older than this one.
    pub after: Option<AuditId>,
    pub limit: usize,
}

/// An actor of the audit log who has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActorId {
    User(UserId),
    Token(TokenId),
}

/// A position in the change feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FeedPosition(pub u64);

impl FeedPosition {
    /// After every change: reads the current position, and no apps.
    pub const END: Self = Self(i64::MAX.unsigned_abs());
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    pub position: FeedPosition,
    pub apps: Vec<AppId>,
}
