//! Users of the console, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, FlowId, UserId};

#[cfg(doc)]
use crate::At;
use crate::{LinkRow, Page, SavedViewRow, SecretHash, SessionRow, StoreResult, User, UserKey};

/// Users of the console: accounts, password links, sessions and saved views.
#[async_trait]
pub trait UserStore: Send + Sync + 'static {
    /// The number of changes to users, grants, links and saved views: the revision of
    /// [`At::People`]. Read it before the rows that a decision depends on, to detect later changes
    /// to them.
    async fn people_revision(&self) -> StoreResult<u64>;

    /// A user with their grants, disabled or not.
    async fn find_user(&self, key: &UserKey) -> StoreResult<Option<User>>;

    /// Users in order of creation, each with all their grants: all users, or those with a grant for
    /// this app or for all apps.
    async fn list_users(&self, app: Option<AppId>, page: Page<UserId>) -> StoreResult<Vec<User>>;

    /// The link with this hash, expired or not.
    async fn find_link(&self, hash: &SecretHash) -> StoreResult<Option<LinkRow>>;

    /// The session with this hash, expired or not.
    async fn find_session(&self, hash: &SecretHash) -> StoreResult<Option<SessionRow>>;

    /// The sessions of a user in one epoch, expired or not, last used first.
    async fn list_sessions(
        &self,
        user: UserId,
        epoch: u32,
        limit: usize,
    ) -> StoreResult<Vec<SessionRow>>;

    /// The views of a flow that a user has saved, in the order of their names as bytes.
    async fn list_saved_views(&self, flow: FlowId, user: UserId) -> StoreResult<Vec<SavedViewRow>>;
}
