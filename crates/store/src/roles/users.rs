//! Users of the console, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, UserId};

#[cfg(doc)]
use crate::At;
use crate::{LinkRow, Page, SecretHash, SessionRow, StoreResult, User, UserKey};

/// Users of the console: accounts, password links and sessions.
#[async_trait]
pub trait UserStore: Send + Sync + 'static {
    /// How often users, grants and links have changed: the revision of [`At::People`]. Read before what a
    /// decision rests on, it tells whether that has changed since.
    async fn people_revision(&self) -> StoreResult<u64>;

    /// A user with their grants, disabled or not.
    async fn find_user(&self, key: &UserKey) -> StoreResult<Option<User>>;

    /// Users in the order they were made, each with all their grants: all of them, or those with a grant of
    /// this app or of all apps.
    async fn list_users(&self, app: Option<AppId>, page: Page<UserId>) -> StoreResult<Vec<User>>;

    /// The link with this hash, expired or not.
    async fn find_link(&self, hash: &SecretHash) -> StoreResult<Option<LinkRow>>;

    /// The session with this hash, over or not.
    async fn find_session(&self, hash: &SecretHash) -> StoreResult<Option<SessionRow>>;

    /// Sessions of a user in one epoch, over or not, the last used first.
    async fn list_sessions(
        &self,
        user: UserId,
        epoch: u32,
        limit: usize,
    ) -> StoreResult<Vec<SessionRow>>;
}
