//! Respondents and invitations, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssignmentId, FlowId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::time::Timestamp;

use crate::{
    ConsentRow, ErasedPart, Erasure, InvitationCounts, InvitationQuery, InvitationRow, Page,
    Respondent, StoreResult,
};
#[cfg(doc)]
use crate::{ERASURE_IDENTITIES_MAX, ErasureMark, UpkeepStore};

/// Respondents, their consents and invitations, and the erasure of a person.
#[async_trait]
pub trait RespondentStore: Send + Sync + 'static {
    /// A respondent, with their identities and the number of their stored responses by flow.
    async fn find_respondent(&self, respondent: RespondentId) -> StoreResult<Option<Respondent>>;

    /// The app of a respondent, without counting responses: used to check permission.
    async fn find_app_of_respondent(&self, respondent: RespondentId) -> StoreResult<Option<AppId>>;

    /// The respondent of the app with this identity.
    async fn find_respondent_by(
        &self,
        app: AppId,
        known: &ProfileIdentity,
    ) -> StoreResult<Option<RespondentId>>;

    /// The app's respondents in the order of their ids, which is the order of the days when they
    /// were first seen. Their responses are not counted.
    async fn list_respondents(
        &self,
        app: AppId,
        page: Page<RespondentId>,
    ) -> StoreResult<Vec<Respondent>>;

    /// The consents of a respondent, oldest first. They outlive responses that are deleted one by
    /// one.
    async fn list_consents(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ConsentRow>>;

    /// Erases a batch of a person's data durably. Call it until it reports that it is done.
    ///
    /// - Identities are removed first, with the invitations of each; then the responses. Once the
    ///   identities are gone, nothing more can be linked to the respondent.
    /// - A call removes at most `limit` identities, and at most `limit` responses, consents and
    ///   invitations together. Its cost does not depend on the size of the profile.
    /// - The responses of a respondent are those linked to them, and those that completed one of
    ///   their invitations and are linked to no respondent. They are deleted, or kept without
    ///   identities, respondent and assignment, with the digest of the remaining content (a damaged
    ///   response keeps its digest, so that the damage is still found). Their
    ///   idempotency keys stay in use.
    /// - The identities of each response that is kept, and those of the profile up to
    ///   [`ERASURE_IDENTITIES_MAX`], are removed from its tags and context, whichever batch it is
    ///   in.
    /// - The person's invitations are those with one of their user ids or addresses, ignoring the
    ///   case of ASCII letters in addresses. They are kept without both, without their response,
    ///   and with only the day of its time; open ones are revoked. The same happens to an
    ///   invitation that a response of the person completed, even if it was for someone else. A
    ///   response that is linked to another respondent is kept without the assignment, with its key
    ///   in use and with the digest of the remaining content.
    /// - The profile is removed with the last batch. Until then its row has an [`ErasureMark`], so
    ///   that another process can continue the erasure ([`UpkeepStore::list_erasing`]). If one call
    ///   asks to keep the answers and a later one to delete them, what is left at that time is
    ///   deleted.
    /// - The first call writes the audit entry in the same transaction; a call that continues
    ///   writes one only if it changes what happens to the answers. For an invitee, every call that
    ///   removes anything writes one.
    /// - If there is no such respondent, or no invitation of the invitee, nothing is written, and
    ///   it is done.
    ///
    /// Removed data can no longer be read; the documentation of the backend says what remains of it
    /// in its files.
    async fn erase(&self, erasure: Erasure) -> StoreResult<ErasedPart>;

    /// An invitation of any app. `likely` is the app that it probably belongs to: a distributed
    /// database then asks one server.
    async fn find_invitation(
        &self,
        id: AssignmentId,
        likely: Option<AppId>,
    ) -> StoreResult<Option<InvitationRow>>;

    /// The flow's invitations that match the query, in order of creation, then of their ids.
    async fn list_invitations(&self, query: &InvitationQuery) -> StoreResult<Vec<InvitationRow>>;

    /// The app's invitations with one of these user ids or addresses, in all flows, in the order of
    /// their ids. The case of ASCII letters in an address is ignored.
    async fn list_invitations_of(
        &self,
        app: AppId,
        known: &[ProfileIdentity],
        page: Page<AssignmentId>,
    ) -> StoreResult<Vec<InvitationRow>>;

    /// The number of the flow's invitations in each state at `now`.
    async fn count_invitations(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
    ) -> StoreResult<InvitationCounts>;
}
