//! The use cases: what can be done with flows, apps and responses.
//!
//! The engine holds the store and the clock. It knows no HTTP and no SQL: a transport takes a
//! request, calls one method here, and wraps what comes back. Reading order: [`intake`] is the main
//! road of a submission; [`registry`] keeps published flows in memory; [`commit`] makes many
//! waiting submissions durable with one write; [`publish`] changes what is published. [`moving`] is for
//! operators: everything of one store into another, proven by a [`tally`].
//!
//! Failure has two sides. What the caller did wrong is a value ([`Receipt::Refused`],
//! [`AdminError`]); what we could not do is [`Unavailable`] or [`StoreError`], whose source goes to
//! the log and whose text goes to the caller.

mod actor;
mod admin;
mod apps;
mod asked;
mod audit;
mod batches;
mod blocks;
pub mod bucket;
pub mod clock;
pub mod commit;
mod counting;
mod drafts;
mod engine;
mod erasure;
pub mod export;
mod flows;
mod history;
pub mod hosted;
pub mod idempotency;
mod identity_keys;
mod ids;
pub mod intake;
pub mod invitation_files;
mod invitations;
pub mod live;
pub mod look;
pub mod metrics;
pub mod moving;
pub mod people;
mod publish;
pub mod rate;
pub mod recount;
pub mod registry;
mod remembered;
pub mod respondents;
mod responses;
pub mod retention;
mod served;
pub mod summary;
pub mod tally;
pub mod templates;
pub mod texts;
mod tokens;
pub mod verify;

pub use actor::{Actor, Grant};
pub use admin::{AdminError, AdminResult, Missing};
pub use apps::{AppDetail, AppPatch, LimitsPatch};
pub use asked::{Asked, AskedQuestion, AskedVersion};
pub use audit::AuditEntry;
pub use drafts::{Draft, Editing, Saved};
pub use engine::{Engine, Options, Unavailable};
pub use flows::{FlowPatch, NewFlow};
pub use history::HistoryEntry;
pub use hosted::{HostedFlow, HostedVersion, Preview};
pub use identity_keys::{NewIdentityKey, Resealed, VerificationReport};
pub use intake::{Receipt, SubmitError};
pub use invitations::{Duplicates, Invitation, InvitationCursor, NewInvitation};
pub use people::{Refusal, Secret, Session};
pub use publish::Published;
pub use rate::{Limited, LimitedBy, Rates};
pub use registry::{AppView, NoFlow, Resolved};
pub use respondents::{Erased, RespondentExport};
pub use responses::{Paging, ResponseFilter};
pub use served::Served;
pub use summary::{Summary, SummaryFilter};
pub use tokens::{NewToken, TokenSecret};

/// The rows that transports show, so that they need not know the store.
pub mod rows {
    pub use sluice_store::{
        Answers, AppLimits, AppRow, AuditRow, ConsentRow, FlowRow, FlowState, GrantRow,
        IdentityKeyKind, IdentityKeyRow, IdentityVerification, InvitationCounts, InvitationRow,
        Order, Page, Respondent, ResponsePage, ResponseRow, Role, Scope, TokenRow, VersionRow,
        VersionState,
    };
}
pub use sluice_store::{Store, StoreError};
