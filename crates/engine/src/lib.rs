//! The use cases: what can be done with flows, apps and responses.
//!
//! This crate knows neither HTTP nor SQL: a transport takes a request, opens a handle if permission
//! is needed, calls one use case, and wraps the result. Reading order: `engine` is the entry point,
//! `handle` proves permission, `core` is what use cases share; [`intake`] is the path of a
//! submission; `registry` caches published flows; [`commit`] makes many waiting submissions
//! durable with one write; [`publish`] changes what is published. [`moving`] is for operators: it
//! copies one store into another, verified by a [`tally`].
//!
//! Failures have two sides. A mistake of the caller is a value ([`Receipt::Refused`],
//! [`AdminError`]); our own failure is [`Unavailable`] or [`StoreError`]: its source goes to the
//! log and its text to the caller.

mod actor;
mod admin;
pub mod admin_requests;
mod apps;
pub mod asset_uses;
pub mod assets;
mod audit;
mod audit_action;
mod background;
mod backlogs;
pub mod backup;
mod batches;
pub mod branding;
pub mod bucket;
mod cache_marks;
pub mod clock;
mod closing;
mod closing_check;
mod commit;
mod commit_outcome;
pub mod commit_queue;
mod commit_spans;
mod computed;
mod conflict;
mod core;
mod count_check;
mod count_compaction;
mod definitions;
pub mod design;
mod drafts;
mod encoded_body;
mod engine;
mod erasure;
pub mod events;
pub mod export;
mod fault;
mod flow_search;
mod flows;
mod full_check;
pub mod funnel;
mod handle;
mod history;
mod hosted;
pub mod idempotency;
mod identify;
mod identity_keys;
mod ids;
mod image_check;
mod images;
mod instance;
pub mod intake;
pub mod integrity;
pub mod invitation_files;
mod invitations;
pub mod live;
pub mod mail;
mod mail_queue;
mod mail_transport;
mod metrics;
pub mod moving;
pub mod outbound;
mod outbound_hold;
mod overload;
pub mod people;
mod publish;
mod question_history;
pub mod rate;
mod read_end;
mod readiness;
pub mod recount;
mod registry;
pub mod reports;
mod request_scope;
mod respondent_json;
mod respondents;
pub mod response_columns;
pub mod response_table;
mod responses;
pub mod restore;
pub mod retention;
mod saved_views;
mod scrub;
mod short_paths;
mod shown_images;
mod single_flight;
pub mod sink;
mod sink_position;
mod skip_index;
pub mod spans;
mod stop;
pub mod stored_response;
pub mod summary;
pub mod tally;
pub mod templates;
mod test_mode;
pub mod texts;
mod tokens;
mod unavailable;
mod upkeep;
mod validation;
pub mod verify;
mod visit_counts;
mod visits;
mod watches;
pub mod webhooks;
mod whole_table;

pub use actor::{Actor, Grant};
pub use admin::{AdminError, AdminResult, Missing};
pub use apps::{AppDetail, AppPatch, LimitsPatch};
/// An async function is compiled in every crate that awaits it. The use cases return boxed futures,
/// so that they are compiled only here.
pub(crate) use async_recursion::async_recursion as boxed;
pub use audit::AuditEntry;
pub use audit_action::AuditAction;
pub use closing::ClosingState;
pub use definitions::{stored_definition, stored_json};
pub use drafts::{Draft, Editing, Saved, draft_tag};
pub use encoded_body::EncodedBody;
pub use engine::{Addresses, Engine, Health, Links, Options};
pub use flow_search::{FoundFlow, FoundFlows, SEARCHED_FLOWS_MAX};
pub use flows::{FlowPatch, NewFlow};
pub use handle::{AppHandle, FlowHandle};
pub use history::HistoryEntry;
pub use hosted::{HostedFlow, HostedVersion, Preview};
pub use identity_keys::{NewIdentityKey, Resealed, VerificationReport};
pub use instance::InstanceHandle;
pub use intake::{Receipt, SubmitError};
pub use invitations::{Duplicates, Invitation, InvitationCursor, InvitationHandle, NewInvitation};
pub use metrics::{Metrics, RouteMetrics, SpanMetrics};
pub use people::{Accounts, Refusal, Secret, Session};
pub use publish::{Published, VersionHandle};
pub use question_history::{HistoricQuestion, HistoricVersion, QuestionHistory};
pub use rate::{Limited, LimitedBy, Rates};
pub use registry::{AppView, NoFlow, Resolved};
pub use reports::{NewReport, Report, ReportPatch, ReportState};
pub use request_scope::{Condition, RequestScope};
pub use respondent_json::{
    ConsentJson, IdentityJson, InvitationJson, RespondentFile, RespondentJson,
};
pub use respondents::{Erased, RespondentExport, RespondentHandle};
pub use responses::{Paging, ResponseFilter, ResponseHandle};
pub use saved_views::{SavedView, VIEW_NAME_CHARS_MAX, VIEWS_MAX};
pub use scrub::Scrubbed;
pub use shown_images::ServedImage;
pub use stored_response::ResponseJson;
pub use summary::summing::Summing;
pub use summary::{ReadProgress, Results, Summary, SummaryFilter};
pub use test_mode::{TEST_DAYS, TEST_LINK_DAYS, TESTS_MAX, TestLink, TestedFlow};
pub use tokens::{NewToken, TokenSecret};
pub use unavailable::{NotReady, Unavailable};
pub use upkeep::Upkeep;
pub use validation::{Valid, Validation};
pub use visits::VisitRefused;
pub use webhooks::{Endpoint, EndpointPatch, EndpointState, NewEndpoint};

/// Limits of the fields of requests, for documents.
pub mod limits {
    pub use crate::apps::ORIGINS_MAX;
    pub use crate::identity_keys::{ADDRESS_CHARS_MAX, KID_CHARS_MAX, PEM_CHARS_MAX};
    pub use crate::people::password::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};
    pub use crate::verify::LIFETIME_MAX_SECONDS;
    pub use sluice_flow::flow_settings::NAME_CHARS_MAX;
}

/// What only the fuzz targets (`fuzz/targets`) call from outside.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::images::{ImageRefused, StoredImage, convert as convert_image};
}

/// The rows that transports show, so that they do not depend on the store.
pub mod rows {
    pub use sluice_store::{
        AnswersOnErasure, AppLimits, AppRow, AssetInfo, AuditRow, ConsentRow, DeliveryRow,
        DeliveryState, EndpointHealth, FlowRow, FlowState, GrantRow, IdentityKeyKind,
        IdentityKeyRow, IdentityVerification, ImageType, InvitationCounts, InvitationRow, MailEnd,
        Order, Page, Respondent, ResponsePage, ResponseRow, Role, Scope, TestCursor,
        TestResponseRow, TokenRow, VersionRow, VersionState,
    };
}
pub use sluice_store::{DamageMark, Store, StoreError};
