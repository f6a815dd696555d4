//! Respondents and invitations, as one role of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, AssignmentId, FlowId, RespondentId, ResponseId};
use sluice_flow::respondent::Known;
use sluice_flow::time::Timestamp;

use crate::{
    ConsentRow, Erasure, InvitationCounts, InvitationQuery, InvitationRow, Page, Removed,
    Respondent, StoreResult,
};
#[cfg(doc)]
use crate::{ERASURE_IDENTITIES_MAX, ErasureMark, UpkeepStore};

/// Respondents, their consents and invitations, and the erasure of a person.
#[async_trait]
pub trait RespondentStore: Send + Sync + 'static {
    /// A respondent, with what is known of them and how many of their responses are stored by flow.
    async fn find_respondent(&self, respondent: RespondentId) -> StoreResult<Option<Respondent>>;

    /// The app of a respondent: what is asked before anything is done with one, so nothing is counted.
    async fn find_app_of_respondent(&self, respondent: RespondentId) -> StoreResult<Option<AppId>>;

    /// The respondent of the app of whom this is known.
    async fn find_respondent_by(
        &self,
        app: AppId,
        known: &Known,
    ) -> StoreResult<Option<RespondentId>>;

    /// The app's respondents in the order of their ids, which is that of the days they were first seen. Their responses are not counted here.
    async fn list_respondents(
        &self,
        app: AppId,
        page: Page<RespondentId>,
    ) -> StoreResult<Vec<Respondent>>;

    /// The consents of a respondent, oldest first; they outlive responses that are deleted one by one.
    async fn list_consents(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ConsentRow>>;

    /// Erases a part of what is kept of a person, durably; call it until it reports that it is done.
    ///
    /// - First goes what the respondent is found by, with the invitations of each identity; then the responses.
    ///   As soon as the identities are gone, nothing more can be linked to the respondent.
    /// - A call takes at most `limit` identities, and at most `limit` responses, consents and invitations
    ///   together. Its cost does not depend on how many there are.
    /// - The responses of a respondent are those that are linked to them, and those that completed one of
    ///   their invitations and are linked to nobody. They are deleted, or kept without identities,
    ///   respondent and assignment and with the digest of what is left. Their idempotency keys stay taken.
    /// - The identities of each response that is kept, and those of the whole profile up to
    ///   [`ERASURE_IDENTITIES_MAX`], are cut out of its tags and context, in whichever part it is.
    /// - The person's invitations are those with a user id or an address that is known of them; the case of
    ///   ASCII letters in an address does not matter. They stay without both, without their response and
    ///   with the day alone of its time, and those that were open are withdrawn. The same is done to one
    ///   that a response of the person completed, whomever it was for. A response that is linked to somebody
    ///   else is kept without the assignment, with its key taken and with the digest of what is left.
    /// - The profile goes with the last part. Until then its row has an [`ErasureMark`], so that
    ///   another process can continue the erasure ([`UpkeepStore::list_erasing`]). If one call asks to keep the
    ///   answers and another to delete them, what is left when the second one comes is deleted.
    /// - The first call writes the audit entry, in the same transaction; a call that continues writes one only
    ///   if it changes what becomes of the answers. For an invitee, every call that removes anything writes it.
    /// - Where there is no such respondent, or no invitation of the invitee, nothing is written, and it is
    ///   done.
    ///
    /// What was removed cannot be read any more; the backend's documentation says what of it is left in its
    /// files.
    async fn erase(&self, erasure: Erasure) -> StoreResult<Removed>;

    async fn find_invitation(&self, id: AssignmentId) -> StoreResult<Option<InvitationRow>>;

    /// The flow's invitations that pass the filter, in the order they were made, and of those that were made
    /// at once in the order of their ids.
    async fn list_invitations(&self, query: &InvitationQuery) -> StoreResult<Vec<InvitationRow>>;

    /// The app's invitations with a user id or an address that is one of these, over all flows, in the order
    /// of their ids. The case of ASCII letters in an address does not matter.
    async fn list_invitations_of(
        &self,
        app: AppId,
        known: &[Known],
        page: Page<AssignmentId>,
    ) -> StoreResult<Vec<InvitationRow>>;

    /// How many of the flow's invitations are in each state at `now`.
    async fn count_invitations(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
    ) -> StoreResult<InvitationCounts>;
}
