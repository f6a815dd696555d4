//! The store as a sum of roles: one trait for each reason to call it.
//!
//! Every promise is a doc line on a method here and a case of the conformance suite. No method that
//! a backend implements has a default, so that the compiler reports a wrapper that does not forward
//! one.

mod admin;
mod admin_requests;
mod assets;
mod closing;
mod counts;
mod events;
mod intake;
mod mails;
mod moving;
mod reports;
mod respondents;
mod responses;
mod short_paths;
mod sinks;
mod status;
mod test_responses;
mod upkeep;
mod users;
mod visits;

pub use admin::AdminStore;
pub use admin_requests::AdminRequestStore;
pub use assets::AssetStore;
pub use closing::ClosingStore;
pub use counts::CountStore;
pub use events::{EndpointStore, EventStore};
pub use intake::{AfterCommit, IntakeStore, Lanes, Resume};
pub use mails::MailStore;
pub use moving::{MovingStore, StoreView};
pub use reports::ReportStore;
pub use respondents::RespondentStore;
pub use responses::ResponseStore;
pub use short_paths::ShortPathStore;
pub use sinks::SinkStore;
pub use status::StatusStore;
pub use test_responses::TestResponseStore;
pub use upkeep::UpkeepStore;
pub use users::UserStore;
pub use visits::VisitStore;

/// Durable storage of apps, flows, versions and responses: all roles together.
///
/// A backend or a wrapper implements the roles; this trait follows from them.
pub trait Store:
    IntakeStore
    + AdminStore
    + AdminRequestStore
    + ResponseStore
    + RespondentStore
    + UserStore
    + ReportStore
    + ShortPathStore
    + TestResponseStore
    + AssetStore
    + CountStore
    + ClosingStore
    + VisitStore
    + EventStore
    + EndpointStore
    + SinkStore
    + MailStore
    + UpkeepStore
    + StatusStore
    + MovingStore
{
}

impl<T> Store for T where
    T: IntakeStore
        + AdminStore
        + AdminRequestStore
        + ResponseStore
        + RespondentStore
        + UserStore
        + ReportStore
        + ShortPathStore
        + TestResponseStore
        + AssetStore
        + CountStore
        + ClosingStore
        + VisitStore
        + EventStore
        + EndpointStore
        + SinkStore
        + MailStore
        + UpkeepStore
        + StatusStore
        + MovingStore
{
}
