//! One small trait, its backends, and the suite that every backend passes.
//!
//! The store keeps rows and promises durability; it knows no rule of flows and never sees an issue.
//! Everything it promises is a doc line on [`Store`] and a case of [`conformance`]; a backend has no
//! test of its own for a promise. There is deliberately no method "publish" or "retire": the engine
//! decides what rows come out of a use case, and [`Store::apply`] writes them all or none.
//!
//! Two numbers make that safe without long locks, both kept by app:
//! - the **revision** grows with every [`Store::apply`] to the app, so that a decision made on rows
//!   that have changed since is refused with [`StoreError::Conflict`] and made again;
//! - the **public revision** grows only with changes that the public API can see. A response is
//!   judged against rows of one public revision, and is stored only while that is still the newest.

mod blocks;
pub mod conformance;
mod counting;
mod digest;
mod error;
mod invitation;
mod listing;
mod people;
pub mod postgres;
mod record;
mod removal;
mod respondent;
mod row;
pub mod sqlite;

use async_trait::async_trait;
use sluice_flow::id::{
    ApiKey, AppId, AssignmentId, FlowId, FlowVersionId, RespondentId, ResponseId, UserId,
};
use sluice_flow::invitation::Invitee;
use sluice_flow::respondent::Known;
use sluice_flow::time::{Day, Timestamp};

pub use blocks::{BlockPlace, Blocked};
pub use counting::{CountsQuery, DayTotal, FlowCounts, Tended, Walk};
pub use error::StoreError;
pub use invitation::*;
pub use listing::{ResponseCount, ResponsePage, ResponseQuery, Search, folded};
pub(crate) use people::joined;
pub use people::*;
pub use record::*;
pub use removal::*;
pub use respondent::*;
pub use row::*;

pub type StoreResult<T> = Result<T, StoreError>;

/// Durable storage of apps, flows, versions and responses.
///
/// No method has a default, so that the compiler finds a wrapper that forwards too little.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Stores many responses in one durable transaction and says, for each in order, what became of it.
    ///
    /// - `Ok` means that every `Stored` row is on stable storage; not before.
    /// - A row whose idempotency key is taken is not stored: `Replayed` where the digest is the same,
    ///   `KeyReused` where it is not. This holds between two rows of one call, too, and at whatever
    ///   public revision the row was judged: a retry gets its answer after a publish as well.
    /// - Any other row whose `public_revision` is not its app's newest is not stored: `Stale`.
    /// - A key of a response that was deleted or erased since stays taken: whatever comes under it is
    ///   `Replayed`, and nothing of it is stored.
    /// - A stored row with a claim is linked to a respondent in the same transaction, as
    ///   [`sluice_flow::respondent::link`] decides, row by row: its `respondent_id` is set, what is new of
    ///   the respondent is kept, and so is a record of the consent. Of any number of commits at once that
    ///   claim the same new identity, one makes the profile.
    /// - A row with an invitation completes it, in the same transaction: with its id and the time of that id
    ///   where it is `linked`, and with the day of that time alone where it is not. Where the invitation is no
    ///   longer open at that time, is of another flow, or is not there, the row is not stored: `Uninvited`.
    ///   Of rows that share an invitation, in one call or in many at once, one is stored. A row that came after
    ///   another of the same call, which was then not stored, may be `Stale`.
    /// - A row's refusal does not touch the other rows.
    /// - [`StoreError::Failed`]: none is stored. [`StoreError::Unknown`] and [`StoreError::InDoubt`]:
    ///   nothing can be said; after the first, nothing more may be acknowledged either.
    async fn commit(&self, responses: Vec<NewResponse>) -> StoreResult<Vec<Outcome>>;

    /// How many commits may be under way at once; one where the backend has a single writer.
    ///
    /// Where it is more than one, a commit should hold the responses of one app only, so that what is
    /// slow or away for one app does not hold up another.
    fn lanes(&self) -> usize;

    /// Free space on the disk that this process writes to; absent if another server does the writing.
    ///
    /// Below the reserve [`Store::commit`] and [`Store::check`] fail with [`StoreError::DiskReserve`], and
    /// everything else still works. Commits succeed again once there is room, without a restart.
    fn disk_space(&self) -> Option<DiskSpace> {
        None
    }

    /// What was stored under this idempotency key: the response and its digest; no digest where the
    /// response was deleted or erased since, and only the use of its key is remembered.
    async fn find_by_idempotency_key(
        &self,
        app: AppId,
        key: &IdempotencyKey,
    ) -> StoreResult<Option<(ResponseId, Option<Digest>)>>;

    /// Writes the rows of one change, all or none, and durably.
    ///
    /// `change` is called once, when nothing else can be written to the app any more: a time that it
    /// reads is not before that of any response already stored for the app. It may return no rows;
    /// then nothing changes, the revision included. The rows may come in any order; where one names
    /// an app or a flow that is not there when all are written, the change fails.
    /// Where `at` names an app whose revision is no longer `expected`, `change` is not called and the
    /// answer is [`StoreError::Conflict`]; an app that does not exist is a conflict as well.
    /// [`At::Instance`] is for what belongs to no existing app: making one, admin tokens, and sessions.
    /// [`At::People`] is for what is decided on users, grants and links: a conflict where their revision is
    /// no longer `expected`, and otherwise the revision grows.
    /// A second user with an address or a subject that is taken fails the change, and so does a grant in an
    /// app that is not there.
    /// [`At::FirstApp`] and [`At::FirstToken`] are conflicts where there is an app, or a token; of several
    /// such changes at once, by any number of processes, one is written.
    async fn apply(&self, at: At, change: Change) -> StoreResult<()>;

    /// The app that an active (not revoked) key belongs to.
    async fn find_app_by_key(&self, key: &ApiKey) -> StoreResult<Option<App>>;
    async fn find_app(&self, app: AppId) -> StoreResult<Option<App>>;
    /// Apps in the order they were made.
    async fn list_apps(&self, page: Page<AppId>) -> StoreResult<Vec<App>>;
    /// Those of these apps that exist, in the order of their ids, each once.
    async fn find_apps(&self, apps: &[AppId]) -> StoreResult<Vec<App>>;
    /// The keys of these apps, revoked ones included, of each app in the order they were made.
    async fn list_keys(&self, apps: &[AppId]) -> StoreResult<Vec<KeyRow>>;
    /// The app's keys for identity tokens, revoked ones included, in the order they were made.
    async fn list_identity_keys(&self, app: AppId) -> StoreResult<Vec<IdentityKeyRow>>;

    /// A flow with its app's revisions, its current version and its draft, read at one instant.
    async fn find_flow(&self, flow: FlowId) -> StoreResult<Option<FlowState>>;
    /// The app's flows that pass the filter, in the order they were made or the other way round.
    async fn list_flows(&self, query: &FlowQuery) -> StoreResult<Vec<FlowState>>;
    /// A version, drafts included, with all that its flow decides about it, read at one instant.
    async fn find_version(&self, version: FlowVersionId) -> StoreResult<Option<VersionState>>;
    /// The flow's published versions by falling number, from below `before` where it is given.
    async fn list_versions(
        &self,
        app: AppId,
        flow: FlowId,
        before: Option<u32>,
        limit: usize,
    ) -> StoreResult<Vec<VersionRow>>;

    /// The flow's responses that pass the filter, in the order asked for.
    ///
    /// - A call looks at no more rows than the query says, for a bounded time, and gives texts of a bounded
    ///   length: where few rows pass, a page may be short or even empty, and still go on.
    /// - A page says from where to go on, and only where nothing that passes follows that nothing does. The
    ///   pages together hold every row that passes once.
    async fn list_responses(&self, query: &ResponseQuery) -> StoreResult<ResponsePage>;
    /// How many of the flow's responses pass the filter, and how all their tags are called. The limit does not
    /// matter; a call looks no further than one that lists, and says from where to go on.
    async fn count_responses(&self, query: &ResponseQuery) -> StoreResult<ResponseCount>;
    async fn find_response(&self, response: ResponseId) -> StoreResult<Option<ResponseRow>>;
    /// The newest response of each of these flows of an app, in no order; flows without one are absent.
    async fn newest_responses(
        &self,
        app: AppId,
        flows: &[FlowId],
    ) -> StoreResult<Vec<(FlowId, ResponseId)>>;

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
    /// The responses of a respondent over all flows, oldest first.
    async fn list_responses_of(
        &self,
        app: AppId,
        respondent: RespondentId,
        page: Page<ResponseId>,
    ) -> StoreResult<Vec<ResponseRow>>;

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
    ///   another process can continue the erasure ([`Store::list_erasing`]). If one call asks to keep the
    ///   answers and another to delete them, what is left when the second one comes is deleted.
    /// - The first call writes the audit entry, in the same transaction; a call that continues writes one only
    ///   if it changes what becomes of the answers. For an invitee, every call that removes anything writes it.
    /// - Where there is no such respondent, or no invitation of the invitee, nothing is written, and it is
    ///   done.
    ///
    /// What was removed cannot be read any more; the backend's documentation says what of it is left in its
    /// files.
    async fn erase(&self, erasure: Erasure) -> StoreResult<Removed>;
    /// Up to `limit` respondents whose erasure has begun and is not done, in the order of their apps and ids.
    async fn list_erasing(&self, limit: usize) -> StoreResult<Vec<RespondentRow>>;

    /// Removes a part of what an app has kept since before a time, durably; call it with the place that
    /// it gave, until it gives none.
    ///
    /// - First go the responses that were received before, with their idempotency keys; then consents, with
    ///   the respondents that have none left; then the marks of keys of responses that went earlier; then
    ///   whom the invitations were for that were over before.
    /// - Consents go only when no response older than the time is left, though several processes be at it.
    /// - The consents, and so the profile, of somebody with an invitation that was not over before that time
    ///   stay.
    /// - A call looks at no more than `limit` rows, wherever it stands: what is kept costs no more than what
    ///   goes, and nothing else waits for it longer than that takes.
    /// - A call that removes anything writes the audit entry, in the same transaction.
    /// - Where another process is at the same app, a call may do nothing and say so. A row that is being
    ///   written to at the moment may be left for the next expiry.
    async fn expire(&self, expiry: Expiry) -> StoreResult<Expired>;

    /// Looks at the flow after this place and makes what lists of its responses can pass over: durably, so much
    /// at a time, of responses that were received long before `now`. Call it with the place that it gave, until it
    /// gives none, and again from the beginning after a while.
    ///
    /// - Lists give the same responses in the same order with it and without, whatever is stored, removed or
    ///   put in meanwhile. With it, one that filters by tags or answers looks at few rows that do not pass.
    /// - Of a response that was removed, or of what it lost, nothing is kept in it.
    async fn make_blocks(&self, place: BlockPlace, now: Timestamp) -> StoreResult<Blocked>;

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
    /// For each invitee in order, whether the flow has an invitation with this user id or this address that
    /// is open at `now`.
    async fn are_invited(
        &self,
        app: AppId,
        flow: FlowId,
        now: Timestamp,
        invitees: Vec<Invitee>,
    ) -> StoreResult<Vec<bool>>;

    /// The counts of a flow on the days of the query, read at one instant; with those of one segment where it is given.
    ///
    /// - They are of exactly the responses that are stored at that instant: what a commit stores is counted from the
    ///   moment it can be read, once, and what is deleted, erased or expired is taken away with it. Where an erasure
    ///   keeps the answers, the tags that it cut are taken away.
    /// - What is not stored (replayed, stale, …) is not counted.
    /// - Responses that were put in by [`Store::write_in`], or are older than the counts, are counted in the background
    ///   ([`Store::tend_counts`]); until then `walk` says how far that is, and exactly those up to there are counted.
    /// - No text of a tag is left in the counts once no response bears it.
    /// - Where the counts of a day cannot be read, they are made anew from its responses, whoever comes upon it: neither
    ///   this nor a removal nor the work on other flows fails for it.
    async fn read_counts(
        &self,
        app: AppId,
        flow: FlowId,
        query: &CountsQuery,
    ) -> StoreResult<FlowCounts>;
    /// How many responses each flow of an app has on each day, from a day on where one is given, by the same counts: by flow, and
    /// then by day.
    async fn count_by_day(&self, app: AppId, from: Option<Day>) -> StoreResult<Vec<DayTotal>>;
    /// How many responses each version of a flow has, by the same counts; in no order, and without those that have none.
    async fn count_by_version(
        &self,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<Vec<(FlowVersionId, i64)>>;
    /// Counts the responses of a flow anew, day by day, and says how many it were. Each day is exact before and after, while
    /// others store and remove; a walk that is under way stays where it is.
    async fn recount(&self, app: AppId, flow: FlowId) -> StoreResult<u64>;
    /// Does a part of the work that counts need in the background; call it until it says that it is done, and again after a
    /// while.
    ///
    /// A call takes a bounded amount of what commits have added to each flow, and looks at no more than `limit` responses
    /// that were never counted: no flow waits for another, however much comes in, and nothing else waits for it longer than
    /// one of these parts takes. It is done where nothing was left over, whatever has come since. Any number of processes may be
    /// at it. It changes nothing that [`Store::read_counts`] tells, but for a walk that goes on.
    async fn tend_counts(&self, limit: usize) -> StoreResult<Tended>;

    /// The token with this SHA-256, revoked or not.
    async fn find_token(&self, hash: &TokenHash) -> StoreResult<Option<TokenRow>>;
    /// All tokens, revoked ones included, in the order they were made.
    async fn list_tokens(&self) -> StoreResult<Vec<TokenRow>>;

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

    /// The audit log, newest first: of one app, or of everything.
    async fn list_audit(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>>;

    /// Where the change feed stands, and the apps whose public state changed after `after`.
    ///
    /// Changes by any process on the same database are seen; a change is in the feed as soon as
    /// [`Store::apply`] returned to whoever made it. Responses are never in it.
    async fn changes(&self, after: FeedPosition) -> StoreResult<Changes>;

    /// Returns when [`Store::changes`] is worth another look, at the latest when a change by another
    /// process was announced. A hint only: a backend without announcements never returns, and one that
    /// has them may miss some; whoever waits looks from time to time all the same.
    async fn changed(&self);

    /// Everything that is stored, in the order of [`Place`], which all backends share; but for sessions and
    /// links, which are of the place where somebody signed in.
    ///
    /// Gives up to `limit` records beyond `after`, which need not be the place of a record; fewer where
    /// they are long (a page is held in memory, so all its texts together are bounded), and none only at
    /// the end. Rows that are written meanwhile may or may not be
    /// among them.
    async fn read_out(&self, after: Option<&Place>, limit: usize) -> StoreResult<Vec<Record>>;

    /// Puts records in as [`Store::read_out`] gave them, revisions included, all or none, and durably.
    ///
    /// A record that is there already is put in its place, so that the same records may come twice. The
    /// change feed ends at or beyond the public revision of every app that was put in. For a database
    /// that nobody else uses: it is not announced, and no revision is compared.
    async fn write_in(&self, records: Vec<Record>) -> StoreResult<()>;

    /// Whether a write could be made now (used by readiness); leaves no trace.
    async fn check(&self) -> StoreResult<()>;

    /// Finishes what is under way and releases the database. Later calls fail.
    async fn close(&self);
}
