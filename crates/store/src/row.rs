//! The rows: what is stored, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};
use sluice_flow::counts::Contribution;
use sluice_flow::definition::Kind;
use sluice_flow::id::{ApiKey, AppId, AuditId, FlowId, FlowVersionId, ResponseId, TokenId};
use sluice_flow::lifecycle::{FlowTimes, VersionTimes};
use sluice_flow::respondent::Claim;
use sluice_flow::time::{Timestamp, Window};

use crate::{InvitationRow, InvitationStep, Invited, PeopleWrite, ResponseRow};

/// SHA-256 of an admin token.
pub type TokenHash = [u8; 32];
/// A digest of what a response says: its app and version, and every column that came from the
/// client.
pub type Digest = [u8; 32];
/// Hash of an idempotency key; the key itself is not stored.
pub type IdempotencyKey = [u8; 32];

/// How an app treats identity tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdentityVerification {
    Off,
    Observe,
    Enforce,
}

/// Space on the disk that a store writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    pub free_bytes: u64,
    /// What submissions leave free.
    pub reserve_bytes: u64,
}

/// The limits of one app; absent means that of the instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppLimits {
    pub calls_per_second: Option<u32>,
    /// Bytes of responses that are stored in a UTC day.
    pub bytes_per_day: Option<u64>,
}

/// An app as its owner set it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppRow {
    pub app_id: AppId,
    pub name: String,
    pub identity_verification: IdentityVerification,
    /// Origins that browsers may call from; empty means any.
    pub allowed_origins: Vec<String>,
    pub grace_window_seconds: Option<u32>,
    /// How long responses are kept; absent means indefinitely.
    pub retention_days: Option<u32>,
    /// The longest that an identity token may be valid; absent means the default.
    pub token_lifetime_seconds: Option<u32>,
    /// How hosted pages look and are guarded, as JSON; absent means the defaults.
    pub hosted: Option<String>,
    pub limits: AppLimits,
    pub created_at: Timestamp,
}

/// An app with the revisions it stands at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    pub row: AppRow,
    pub revision: u64,
    pub public_revision: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    pub app_id: AppId,
    pub api_key: ApiKey,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// What an identity token can be verified by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IdentityKeyKind {
    /// A secret that both sides hold.
    Hs256,
    PublicKey,
    /// The address of a set of public keys.
    Jwks,
}

/// A key of an app for identity tokens. `kid` is unique within the app, revoked keys included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityKeyRow {
    pub app_id: AppId,
    pub kid: String,
    pub kind: IdentityKeyKind,
    /// The sealed secret, the public key as a JWK, or the URL; empty once revoked.
    pub material: String,
    /// The `iss` that tokens under this key must bear.
    pub issuer: Option<String>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub kind: Kind,
    pub name: String,
    pub live: Window,
    pub grace_window_seconds: Option<u32>,
    pub created_at: Timestamp,
    pub archived_at: Option<Timestamp>,
}

impl FlowRow {
    pub fn times(&self) -> FlowTimes {
        FlowTimes { live: self.live, archived_at: self.archived_at }
    }
}

/// A version, from draft to retirement. `number` is 0 on a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub times: VersionTimes,
    /// JSON. Any object on a draft; a checked definition in canonical form once published.
    pub definition: String,
    pub created_at: Timestamp,
    /// The last edit; equal to the publish once published.
    pub updated_at: Timestamp,
}

/// A flow and what stands around it. `current` is the published version that is neither superseded
/// nor retired; `last_number` is the highest number ever given, retired versions included.
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

/// A version and what decides about it. `current` is as in [`FlowState`], its id and times only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionState {
    pub version: VersionRow,
    pub flow: FlowRow,
    pub revision: u64,
    pub public_revision: u64,
    pub current: Option<FlowVersionId>,
}

/// A response on its way in. The store adds nothing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResponse {
    pub row: ResponseRow,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The public revision of the app at which it was judged.
    pub public_revision: u64,
    /// Whose it is, where the respondent admitted to be known.
    pub claim: Option<Box<Claim>>,
    /// The invitation that it completes.
    pub invitation: Option<Invited>,
    /// What it adds to the counts, by the definition of its version.
    pub contribution: Contribution,
}

/// What became of one response of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    /// The same submission is stored already, under this id.
    Replayed(ResponseId),
    /// The idempotency key belongs to another submission.
    KeyReused,
    /// The app has changed since the response was judged.
    Stale,
    /// The invitation that it came with takes no response (any more).
    Uninvited,
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    pub token_id: TokenId,
    pub name: String,
    pub hash: TokenHash,
    pub scopes: Vec<Scope>,
    /// The one app that the token may touch; absent means all.
    pub app_id: Option<AppId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Who changed what. `app_id` is absent for what belongs to the whole instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub audit_id: AuditId,
    pub app_id: Option<AppId>,
    /// The id of the token or user, or a word for what is neither (`first-start`, `environment`).
    pub actor: String,
    /// A word such as `flow.published`.
    pub action: String,
    /// The id of what was changed.
    pub subject: String,
    /// JSON object with the particulars.
    pub detail: String,
}

/// The latest instant at which superseded versions of a flow accept responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraceCap {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub ends_at: Timestamp,
}

/// One row to write: inserted, or put in the place of the row with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    App(AppRow),
    Key(KeyRow),
    IdentityKey(IdentityKeyRow),
    Flow(FlowRow),
    Version(VersionRow),
    /// Every version of the flow whose grace ends later than that ends then; the others stay as
    /// they are, as [`VersionTimes::superseded`] has it.
    CapGrace(GraceCap),
    Token(TokenRow),
    Audit(AuditRow),
    /// Its idempotency key stays taken, and the invitation that it completed does not name it any
    /// more.
    DeleteResponse(ResponseId),
    /// New invitations of one app; one that is there already is left as it is.
    Invitations(Vec<InvitationRow>),
    Invitation(InvitationStep),
    People(PeopleWrite),
}

impl Write {
    /// Whether the public API can see it: then the app's public revision grows.
    pub fn is_public(&self) -> bool {
        match self {
            Self::App(_)
            | Self::Key(_)
            | Self::IdentityKey(_)
            | Self::Flow(_)
            | Self::CapGrace(_) => true,
            Self::Version(version) => version.times.published_at.is_some(),
            Self::Token(_)
            | Self::Audit(_)
            | Self::DeleteResponse(_)
            | Self::Invitations(_)
            | Self::Invitation(_)
            | Self::People(_) => false,
        }
    }
}

/// Which app a change belongs to, and the revision at which it was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    App {
        app: AppId,
        expected: u64,
    },
    /// No app that exists yet.
    Instance,
    /// The same, decided on there being no app at all.
    FirstApp,
    /// The same, decided on there being no admin token at all, not even a revoked one.
    FirstToken,
    /// Users, grants and links, and the revision at which it was decided.
    People {
        expected: u64,
    },
}

/// Makes the rows of a change, once nothing else can be written.
pub struct Change(Box<dyn FnOnce() -> Vec<Write> + Send>);

impl Change {
    pub fn new(make: impl FnOnce() -> Vec<Write> + Send + 'static) -> Self {
        Self(Box::new(make))
    }

    pub fn rows(self) -> Vec<Write> {
        (self.0)()
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

/// Which flows of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowQuery {
    pub app_id: AppId,
    /// Only those that are archived, or only those that are not; absent means both.
    pub archived: Option<bool>,
    /// Those beyond this id, in the order asked for.
    pub after: Option<FlowId>,
    pub order: Order,
    pub limit: usize,
}

impl FlowQuery {
    /// A page of all flows of an app, in the order they were made.
    pub fn all(app_id: AppId, page: Page<FlowId>) -> Self {
        let Page { after, limit } = page;
        Self { app_id, archived: None, after, order: Order::Asc, limit }
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
    /// Those older than this entry.
    pub after: Option<AuditId>,
    pub limit: usize,
}

/// A place in the change feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FeedPosition(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    pub position: FeedPosition,
    pub apps: Vec<AppId>,
}
