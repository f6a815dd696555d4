//! E-mails, as one role of the store. [`crate::AdminStore::apply`] writes them.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssignmentId, FlowId, MailId, UserId};
use sluice_flow::time::Timestamp;

use crate::{AddressHash, MailLane, MailRow, StoreResult};

/// E-mails to send. Of several servers that take the same one, one succeeds; the others get a
/// conflict. No change to them moves a revision or the feed.
#[async_trait]
pub trait MailStore: Send + Sync + 'static {
    /// Up to `limit` e-mails of a lane that are due at `now`, those that waited longest first.
    async fn list_due_mails(
        &self,
        lane: MailLane,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<MailRow>>;

    /// Up to `limit` invitations of an app that are due at `now`, those that waited longest first.
    async fn list_due_invitations(
        &self,
        app: AppId,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<MailRow>>;

    /// Up to `limit` apps with invitations that are due at `now`, in the order of their ids, after
    /// this one. What it costs depends on the number of apps, not on that of their e-mails.
    async fn list_apps_with_due_invitations(
        &self,
        now: Timestamp,
        after: Option<AppId>,
        limit: usize,
    ) -> StoreResult<Vec<AppId>>;

    /// The number of e-mails that are due at `now`.
    async fn count_due_mails(&self, now: Timestamp) -> StoreResult<u64>;

    /// Up to `limit` e-mails that were created before a time and are due at `now` or wait for
    /// another attempt, in the order of their ids, after this one.
    async fn list_waiting_mails(
        &self,
        made_before: Timestamp,
        now: Timestamp,
        after: Option<MailId>,
        limit: usize,
    ) -> StoreResult<Vec<MailRow>>;

    async fn find_mail(&self, mail: MailId) -> StoreResult<Option<MailRow>>;

    /// The e-mails of these invitations of an app, in no order.
    async fn list_mails_of(
        &self,
        app: AppId,
        invitations: &[AssignmentId],
    ) -> StoreResult<Vec<MailRow>>;

    /// The e-mails of a user about a flow, or about none, in the order of their ids.
    async fn list_mails_to(&self, user: UserId, flow: Option<FlowId>) -> StoreResult<Vec<MailRow>>;

    /// The newest e-mails to a user, whatever they are about, newest first.
    async fn list_newest_mails_to(&self, user: UserId, limit: usize) -> StoreResult<Vec<MailRow>>;

    /// Since when e-mails and webhooks of this store wait, because it is a copy; absent if they are
    /// sent. It belongs to the store and not to its records: a copy of it does not have it.
    async fn outbound_held_at(&self) -> StoreResult<Option<Timestamp>>;

    /// Whether the recipient of an address has unsubscribed from the e-mails of an app.
    async fn is_unsubscribed(&self, app: AppId, address: &AddressHash) -> StoreResult<bool>;
}
