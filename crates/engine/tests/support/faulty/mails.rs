//! E-mails, passed through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssignmentId, FlowId, MailId, UserId};
use sluice_flow::time::Timestamp;
use sluice_store::{AddressHash, MailLane, MailRow, MailStore, StoreResult};

use super::FaultyStore;

#[async_trait]
impl MailStore for FaultyStore {
    /// Asked every second in the background, so it is not counted as a read of a use case.
    async fn list_due_mails(
        &self,
        lane: MailLane,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<MailRow>> {
        self.inner.list_due_mails(lane, now, limit).await
    }

    async fn list_due_invitations(
        &self,
        app: AppId,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<MailRow>> {
        self.inner.list_due_invitations(app, now, limit).await
    }

    async fn list_apps_with_due_invitations(
        &self,
        now: Timestamp,
        after: Option<AppId>,
        limit: usize,
    ) -> StoreResult<Vec<AppId>> {
        self.inner.list_apps_with_due_invitations(now, after, limit).await
    }

    async fn count_due_mails(&self, now: Timestamp) -> StoreResult<u64> {
        self.read().count_due_mails(now).await
    }

    async fn list_waiting_mails(
        &self,
        made_before: Timestamp,
        now: Timestamp,
        after: Option<MailId>,
        limit: usize,
    ) -> StoreResult<Vec<MailRow>> {
        self.read().list_waiting_mails(made_before, now, after, limit).await
    }

    async fn find_mail(&self, mail: MailId) -> StoreResult<Option<MailRow>> {
        self.read().find_mail(mail).await
    }

    async fn list_mails_of(
        &self,
        app: AppId,
        invitations: &[AssignmentId],
    ) -> StoreResult<Vec<MailRow>> {
        self.read().list_mails_of(app, invitations).await
    }

    async fn list_mails_to(&self, user: UserId, flow: Option<FlowId>) -> StoreResult<Vec<MailRow>> {
        self.read().list_mails_to(user, flow).await
    }

    async fn list_newest_mails_to(&self, user: UserId, limit: usize) -> StoreResult<Vec<MailRow>> {
        self.read().list_newest_mails_to(user, limit).await
    }

    /// Asked in the background as well.
    async fn outbound_held_at(&self) -> StoreResult<Option<Timestamp>> {
        self.inner.outbound_held_at().await
    }

    async fn is_unsubscribed(&self, app: AppId, address: &AddressHash) -> StoreResult<bool> {
        self.read().is_unsubscribed(app, address).await
    }
}
