//! Users of the console pass through.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, UserId};
use sluice_store::*;

use super::FaultyStore;

#[async_trait]
impl UserStore for FaultyStore {
    async fn people_revision(&self) -> StoreResult<u64> {
        self.read().people_revision().await
    }
    async fn find_user(&self, key: &UserKey) -> StoreResult<Option<User>> {
        self.read().find_user(key).await
    }
    async fn list_users(&self, app: Option<AppId>, page: Page<UserId>) -> StoreResult<Vec<User>> {
        self.read().list_users(app, page).await
    }
    async fn find_link(&self, hash: &SecretHash) -> StoreResult<Option<LinkRow>> {
        self.read().find_link(hash).await
    }
    async fn find_session(&self, hash: &SecretHash) -> StoreResult<Option<SessionRow>> {
        self.read().find_session(hash).await
    }
    async fn list_sessions(
        &self,
        user: UserId,
        epoch: u32,
        limit: usize,
    ) -> StoreResult<Vec<SessionRow>> {
        self.read().list_sessions(user, epoch, limit).await
    }
    async fn list_saved_views(&self, flow: FlowId, user: UserId) -> StoreResult<Vec<SavedViewRow>> {
        self.read().list_saved_views(flow, user).await
    }
}
