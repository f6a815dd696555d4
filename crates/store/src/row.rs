//! The stored rows, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};
use sluice_flow::closing::{Closing, Limit};
use sluice_flow::counts::Contribution;
use sluice_flow::definition::Kind;
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AuditId, FlowId, FlowVersionId, ReportId, ResponseId, TokenId, UserId,
};
use sluice_flow::issue::Full;
use sluice_flow::lifecycle::{FlowTimes, VersionTimes};
use sluice_flow::respondent::Claim;
use sluice_flow::time::{Timestamp, Window};

use crate::{
    AdminRequestWrite, AssetRow, ClosingWrite, EndpointWrite, EventRow, InvitationRow,
    InvitationStep, Invited, MailWrite, PeopleWrite, ReportRow, ResponseRow, ShortPathRow,
    StoreError, StoreResult, TestWrite,
};

/// SHA-256 of an admin token.
pub type TokenHash = [u8; 32];
/// A digest of the content of a response: its app and version, and every column that came from the
/// client.
///
/// Half of a BLAKE3 hash, as is [`IdempotencyKey`], because every response stores it. 128 bits are
/// enough: among 10^12 responses the chance that any two agree by accident is 10^-15. A client
/// that could find two equal ones (2^64 hashes) would only answer its own retry wrongly.
pub type Digest = [u8; 16];
/// Half of the BLAKE3 hash of an app's id and an idempotency key; the key itself is not stored.
pub type IdempotencyKey = [u8; 16];

/// The first half of a hash.
pub fn first_half(hash: blake3::Hash) -> [u8; 16] {
    std::array::from_fn(|index| hash.as_bytes()[index])
}

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

/// A response to be stored. The store adds nothing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResponse {
    pub row: ResponseRow,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The public revision of the app at which it was judged.
    pub public_revision: u64,
    /// The identities claimed, if the respondent consented to be linked.
    pub claim: Option<Box<Claim>>,
    /// The invitation that it completes.
    pub invitation: Option<Invited>,
    /// The limits of its flow that it counts towards; empty if the flow has none.
    pub limits: Vec<Limit>,
    /// What it adds to the counts, according to its version's definition.
    pub contribution: Contribution,
}

/// What a commit does about an app that is being changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfBusy {
    /// Waits until the change is over.
    Wait,
    /// Stores nothing of this app, so that its change does not delay other apps.
    Skip,
}

/// The outcome for one response of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    /// The same submission is already stored, under this id.
    Replayed(ResponseId),
    /// The idempotency key belongs to another submission.
    KeyReused,
    /// The app has changed since the response was judged.
    Stale,
    /// The app is being changed, and the commit did not wait for it ([`IfBusy::Skip`]).
    Busy,
    /// Its invitation does not accept a response, or no longer does.
    Uninvited,
    /// The flow accepts no more responses, or none with these answers.
    Full(Full),
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

/// The latest instant at which superseded versions of a flow accept responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraceCap {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub ends_at: Timestamp,
}

/// One row to write: inserted, or replacing the row with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    App(AppRow),
    Key(KeyRow),
    IdentityKey(IdentityKeyRow),
    Flow(FlowRow),
    Version(VersionRow),
    /// Ends the grace of every version of the flow at this time if it would end later; other
    /// versions are unchanged, see [`VersionTimes::superseded`].
    CapGrace(GraceCap),
    Token(TokenRow),
    Audit(AuditRow),
    /// The idempotency key stays used, and the invitation that the response completed no longer
    /// references it.
    DeleteResponse(ResponseId),
    /// New invitations of one app; an existing one is left unchanged.
    Invitations(Vec<InvitationRow>),
    Invitation(InvitationStep),
    Report(ReportRow),
    DeleteReport(AppId, ReportId),
    /// Replaces the flow's path.
    ShortPath(ShortPathRow),
    DeleteShortPath(AppId, FlowId),
    Asset(AssetRow),
    DeleteAsset(AppId, AssetId),
    People(PeopleWrite),
    Closing(ClosingWrite),
    Test(TestWrite),
    /// Something that happened. If its id is behind the log's horizon, it gets a current one.
    Event(EventRow),
    Endpoint(EndpointWrite),
    Mail(MailWrite),
    AdminRequest(AdminRequestWrite),
    /// Holds e-mails and webhooks since a time, or releases them.
    HoldOutbound(Option<Timestamp>),
}

impl Write {
    /// Whether the public API can see the change; if so, the app's public revision grows.
    pub fn is_public(&self) -> bool {
        match self {
            Self::App(_)
            | Self::Key(_)
            | Self::IdentityKey(_)
            | Self::Flow(_)
            | Self::CapGrace(_)
            | Self::Closing(_)
            | Self::ShortPath(_)
            | Self::DeleteShortPath(..)
            | Self::DeleteAsset(..) => true,
            Self::Version(version) => version.times.published_at.is_some(),
            Self::Token(_)
            | Self::Audit(_)
            | Self::DeleteResponse(_)
            | Self::Invitations(_)
            | Self::Invitation(_)
            | Self::Report(_)
            | Self::DeleteReport(..)
            | Self::Test(_)
            | Self::Event(_)
            | Self::Endpoint(_)
            | Self::Mail(_)
            | Self::HoldOutbound(_)
            | Self::AdminRequest(_)
            // No client knows its id yet.
            | Self::Asset(_)
            | Self::People(_) => false,
        }
    }
}

/// Which app a change belongs to, and the revision it is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    App {
        app: AppId,
        expected: u64,
    },
    /// No existing app.
    Instance,
    /// No existing app; decided while there was no app at all.
    FirstApp,
    /// No existing app; decided while there was no admin token at all, not even a revoked one.
    FirstToken,
    /// Users, grants and links, and the revision the change is based on.
    People {
        expected: u64,
    },
}

/// Produces the rows of a change, called when no other write can happen.
pub struct Change(Box<dyn FnOnce() -> Vec<Write> + Send>);

impl Change {
    pub fn new(make: impl FnOnce() -> Vec<Write> + Send + 'static) -> Self {
        Self(Box::new(make))
    }

    pub fn rows(self) -> Vec<Write> {
        (self.0)()
    }
}

impl From<Vec<Write>> for Change {
    fn from(rows: Vec<Write>) -> Self {
        Self::new(move || rows)
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Change")
    }
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
