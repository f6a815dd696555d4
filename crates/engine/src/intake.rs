//! The path of a submission: parse → resolve → judge → commit → receipt.
//!
//! Stages refuse in order (shape, version, identity, answers), each with all its issues at once. A
//! refusal stores nothing, not even the idempotency key; an acceptance is sent only after the row
//! is on stable storage.

use sluice_flow::counts::Contribution;
use sluice_flow::definition::Definition;
use sluice_flow::id::{AppId, AssignmentId, FlowVersionId, ResponseId};
use sluice_flow::identity::{self, Bearer, Claims};
use sluice_flow::issue::{Full, Issue, KeySource};
use sluice_flow::judge::{canonicalise, judge_and_score};
use sluice_flow::lifecycle::Accepting;
use sluice_flow::respondent::Claim;
use sluice_flow::score::Score;
use sluice_flow::submission::{
    self, Admission, Identity, ParseError, Submission, identities_json_without_proof,
};
use sluice_flow::time::Timestamp;
use sluice_store::{InvitationRow, Invited, NewResponse, ResponseRow, StoreError};
use uuid::Uuid;

use crate::commit_outcome::{CommitOutcome, QueueFull};
use crate::commit_queue::Pending;
use crate::core::Core;
use crate::idempotency::IdempotencyKey;
use crate::metrics::SubmissionOutcome;
use crate::rate::Limited;
use crate::registry::{AppView, VersionView};
use crate::unavailable::Unavailable;

/// The maximum number of times a submission is judged again because its app changed.
const REJUDGE_MAX: usize = 8;
/// Nodes that share a store agree on the time to within this.
const CLOCK_DOUBT_SECONDS: i64 = 1;
/// When a client may retry a submission that was judged again too often, in seconds.
const REJUDGED_RETRY_SECONDS: u32 = 1;

/// The outcome of a well-formed submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    Accepted(Accepted),
    Refused(Vec<Issue>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    pub response_id: ResponseId,
    /// In a grace window: the newer version, and when this version stops accepting.
    pub grace: Option<Grace>,
    /// The same submission was already stored; nothing was stored now.
    pub replayed: bool,
    /// The score of the answers, if the version has scores.
    pub score: Option<Score>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    pub superseded_by: Option<FlowVersionId>,
    pub accepts_until: Timestamp,
}

/// Why a submission was not judged, or why the verdict could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The app has used up its bytes of the day, and this submission is not a retry of a stored
    /// one.
    #[error("a limit was reached")]
    Limited(Limited),
}

impl From<StoreError> for SubmitError {
    fn from(error: StoreError) -> Self {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(%error, source, "a submission could not be judged");
        Self::Unavailable(Unavailable::STORE_DOWN)
    }
}

/// What a token proves about a submission.
#[derive(Default)]
pub(crate) struct Proof<'c> {
    /// Whether it proves the `userId`.
    verified: bool,
    /// The user id from the token, if the submission has none.
    user_id: Option<Identity<'static>>,
    /// The token, if it proves the `userId` and contradicts something else.
    partial: Option<&'c Claims>,
}

/// The result of judging a submission against a version.
pub(crate) enum Verdict<'v> {
    Accepted {
        definition: &'v Definition,
        accepts_until: Option<Timestamp>,
        grace: Option<Grace>,
        score: Option<Score>,
    },
    Refused(Vec<Issue>),
}

impl Core {
    /// Judges one submission and stores it if it is accepted. `input` is `None` if the call had no
    /// input. A key in the submission itself takes precedence over `key`; `bearer` identifies the
    /// caller by their token ([`Core::identify`]).
    pub(crate) async fn submit_as(
        &self,
        app: &AppView,
        input: Option<&[u8]>,
        key: Option<&IdempotencyKey>,
        bearer: Option<&Bearer>,
    ) -> Result<Receipt, SubmitError> {
        let parsed = match input {
            Some(input) => submission::parse(input),
            None => Err(ParseError::Refused(vec![submission::absent()])),
        };
        self.submit_parsed(app, parsed, key, bearer).await
    }

    /// The same for a submission that was built from its parts, with the same rules.
    pub(crate) async fn submit_parts(
        &self,
        app: &AppView,
        parts: Submission<'_>,
        key: Option<&IdempotencyKey>,
        bearer: Option<&Bearer>,
    ) -> Result<Receipt, SubmitError> {
        self.submit_parsed(app, parts.checked().map_err(ParseError::Refused), key, bearer).await
    }

    async fn submit_parsed(
        &self,
        app: &AppView,
        parsed: Result<Submission<'_>, ParseError>,
        key: Option<&IdempotencyKey>,
        bearer: Option<&Bearer>,
    ) -> Result<Receipt, SubmitError> {
        let result = self.process(app, parsed, key, bearer).await;
        self.metrics.count(match &result {
            Err(SubmitError::Limited(limited)) => {
                self.metrics.count_limited(limited.by.as_str());
                return result;
            }
            Ok(Receipt::Accepted(Accepted { replayed: false, .. })) => {
                self.deliveries.wakes.mark(app.app_id);
                SubmissionOutcome::Stored
            }
            Ok(Receipt::Accepted(_)) => SubmissionOutcome::Replayed,
            Ok(Receipt::Refused(issues)) => {
                self.metrics.count_issues(issues);
                SubmissionOutcome::Refused
            }
            Err(SubmitError::Malformed(_)) => SubmissionOutcome::Malformed,
            Err(SubmitError::Unavailable(it)) if it.is_overload() => SubmissionOutcome::Shed,
            Err(SubmitError::Unavailable(_)) => SubmissionOutcome::Failed,
        });
        if let Err(SubmitError::Unavailable(Unavailable::DISK_RESERVE)) = &result {
            self.metrics.count_limited("disk");
        }
        result
    }

    async fn process(
        &self,
        app: &AppView,
        parsed: Result<Submission<'_>, ParseError>,
        key: Option<&IdempotencyKey>,
        bearer: Option<&Bearer>,
    ) -> Result<Receipt, SubmitError> {
        let mut submission = match parsed {
            Ok(submission) => submission,
            Err(ParseError::Refused(issues)) => return Ok(Receipt::Refused(issues)),
            Err(ParseError::Malformed(reason)) => return Err(SubmitError::Malformed(reason)),
        };
        let own_key = submission.idempotency_key.as_deref().map(IdempotencyKey::from_submission);
        let key = own_key.as_ref().or(key);
        let (proof, mismatches) = self.matched(app, &submission, bearer.and_then(Bearer::proven));
        if submission.admission == Admission::CollectionOnly {
            submission.withhold(bearer.map(Bearer::claims));
        }
        let mut alone = false;
        for _ in 0..REJUDGE_MAX {
            let version = match submission.flow_version_id.parse() {
                Ok(id) => self.registry.version(app.app_id, id).await?,
                Err(_) => None,
            };
            let Some(version) = version else {
                return Ok(Receipt::Refused(vec![Issue::flow_version_not_found()]));
            };
            // Also before the digest: a retry in the other form is the same submission.
            if let Some(published) = &version.published {
                canonicalise(published.snapshot.definition(), &mut submission.answers);
            }
            let invitation = self.named_invitation(version.app_id, &submission).await?;
            let invitation = invitation.as_ref();
            match self.verdict(&version, &submission, &mismatches, invitation) {
                Verdict::Refused(_) if self.is_about_to_open(&version) => {
                    return Err(Unavailable::OPENING.into());
                }
                Verdict::Refused(issues) => {
                    let replay = self.replay(&version, &submission, invitation, key, &proof);
                    return Ok(replay.await?.unwrap_or(Receipt::Refused(issues)));
                }
                Verdict::Accepted { definition, accepts_until, grace, score } => {
                    if let Err(limited) = app.usage.bytes_left(self.now()) {
                        let replay = self.replay(&version, &submission, invitation, key, &proof);
                        return replay.await?.ok_or(SubmitError::Limited(limited));
                    }
                    let judged = Judged { definition, score };
                    let response =
                        response_of(&version, &submission, invitation, key, &proof, judged);
                    let bytes = response.row.texts_len() as u64;
                    let pending = Pending { response, accepts_until, alone };
                    let settled = self.committer.store(pending).await;
                    if let Ok(CommitOutcome::Stored(_)) = settled {
                        app.usage.stored(self.now(), bytes);
                    }
                    match settled {
                        Ok(CommitOutcome::Stale) => self.registry.forget(&[app.app_id]),
                        Ok(CommitOutcome::Busy) => alone = true,
                        Ok(CommitOutcome::Uninvited) => {}
                        Ok(CommitOutcome::Full(full)) => {
                            self.registry.confirm_full(version.flow_id).await;
                            return Ok(Receipt::Refused(vec![Issue::full(full)]));
                        }
                        settled => return receipt(settled, grace, score, key),
                    }
                }
            }
        }
        Err(Unavailable::overloaded(REJUDGED_RETRY_SECONDS).into())
    }

    /// Compares the submission with the token. Returns what the token proves, and the issues to
    /// refuse it for; if mismatches are only counted, the token proves the parts that match.
    fn matched<'c>(
        &self,
        app: &AppView,
        submission: &Submission<'_>,
        claims: Option<&'c Claims>,
    ) -> (Proof<'c>, Vec<Issue>) {
        let Some(claims) = claims else { return (Proof::default(), Vec::new()) };
        let mismatches = identity::mismatches(claims, &submission.identities);
        if mismatches.is_empty() {
            let user_id = identity::missing_user_id(claims, submission);
            return (Proof { verified: true, user_id, partial: None }, mismatches);
        }
        self.count_mismatch(app);
        if app.refuses_mismatches() {
            return (Proof::default(), mismatches);
        }
        let verified = identity::proves_user_id(claims, &submission.identities);
        let partial = verified.then_some(claims);
        (Proof { verified, user_id: None, partial }, Vec::new())
    }

    /// Whether another node may consider a version open that is not open yet here: nodes that
    /// follow the clock of a store differ a little, and for a moment after that clock was set.
    pub(crate) fn is_about_to_open(&self, version: &VersionView) -> bool {
        let now = self.now();
        self.clock.offset_millis().is_some()
            && version.accepting(now) == Accepting::NotOpenYet
            && version.accepting(now.plus_seconds(CLOCK_DOUBT_SECONDS)).accepts()
    }

    /// The invitation with the id in the submission, of any app. Any other text is the caller's own
    /// id and needs no read from the store.
    pub(crate) async fn named_invitation(
        &self,
        app: AppId,
        submission: &Submission<'_>,
    ) -> Result<Option<InvitationRow>, SubmitError> {
        let id = submission.flow_assignment_id.as_deref();
        let Some(id) = id.and_then(|text| text.parse::<AssignmentId>().ok()) else {
            return Ok(None);
        };
        Ok(self.store.find_invitation(id, Some(app)).await?)
    }

    pub(crate) fn verdict<'v>(
        &self,
        version: &'v VersionView,
        submission: &Submission<'_>,
        mismatches: &[Issue],
        invitation: Option<&InvitationRow>,
    ) -> Verdict<'v> {
        let now = self.now();
        let accepting = version.accepting(now);
        if let Some(issue) = accepting.refusal(|| version.successor(now)) {
            return Verdict::Refused(vec![issue]);
        }
        let Some(published) = &version.published else {
            return Verdict::Refused(vec![Issue::not_open_yet()]);
        };
        if !mismatches.is_empty() {
            return Verdict::Refused(mismatches.to_vec());
        }
        let invitation = invitation.filter(|row| is_to(row, version));
        if let Some(code) = invitation.and_then(|row| row.times.state(now).refusal()) {
            return Verdict::Refused(vec![Issue::for_invitation(code)]);
        }
        let (issues, score) = judge_and_score(&published.snapshot, &submission.answers);
        if !issues.is_empty() {
            return Verdict::Refused(issues);
        }
        if !version.limits.is_empty() && self.registry.is_known_full(version.flow_id) {
            return Verdict::Refused(vec![Issue::full(Full::Flow)]);
        }
        let grace = match accepting {
            Accepting::InGrace { until } => {
                Some(Grace { superseded_by: version.current, accepts_until: until })
            }
            _ => None,
        };
        let definition = published.snapshot.definition();
        Verdict::Accepted { definition, accepts_until: accepting.until(), grace, score }
    }

    /// A retry of a submission that was stored while its version accepted gets the first answer
    /// again, not a refusal that would make the client send it elsewhere.
    async fn replay(
        &self,
        version: &VersionView,
        submission: &Submission<'_>,
        invitation: Option<&InvitationRow>,
        key: Option<&IdempotencyKey>,
        proof: &Proof<'_>,
    ) -> Result<Option<Receipt>, SubmitError> {
        let Some(key) = key else { return Ok(None) };
        let hash = key.hash(version.app_id);
        let Some((response_id, digest)) =
            self.store.find_by_idempotency_key(version.app_id, &hash).await?
        else {
            return Ok(None);
        };
        // Without a digest, the response has been deleted or erased: only the use of the key is
        // known.
        let score = score_of(version, submission);
        let is_same = digest.is_none_or(|digest| {
            digest == row_of(version, submission, invitation, proof, score).digest
        });
        Ok(Some(if is_same {
            Receipt::Accepted(Accepted { response_id, grace: None, replayed: true, score })
        } else {
            Receipt::Refused(vec![Issue::key_reused(key.source())])
        }))
    }
}

fn receipt(
    settled: Result<CommitOutcome, QueueFull>,
    grace: Option<Grace>,
    score: Option<Score>,
    key: Option<&IdempotencyKey>,
) -> Result<Receipt, SubmitError> {
    let accepted = |response_id, replayed| {
        Ok(Receipt::Accepted(Accepted { response_id, grace, replayed, score }))
    };
    match settled {
        Ok(CommitOutcome::Stored(id)) => accepted(id, false),
        Ok(CommitOutcome::Replayed(id)) => accepted(id, true),
        Ok(CommitOutcome::KeyReused) => {
            let source = key.map_or(KeySource::Header, IdempotencyKey::source);
            Ok(Receipt::Refused(vec![Issue::key_reused(source)]))
        }
        Ok(CommitOutcome::Full(full)) => Ok(Receipt::Refused(vec![Issue::full(full)])),
        Ok(CommitOutcome::Failed) => Err(Unavailable::STORE_DOWN.into()),
        Ok(CommitOutcome::DiskReserve) => Err(Unavailable::DISK_RESERVE.into()),
        Ok(
            CommitOutcome::Unknown
            | CommitOutcome::Stale
            | CommitOutcome::Busy
            | CommitOutcome::Uninvited,
        ) => Err(Unavailable::OUTCOME_UNKNOWN.into()),
        Ok(CommitOutcome::Overdue(full)) | Err(full) => {
            Err(Unavailable::overloaded(full.retry_after_seconds).into())
        }
    }
}

/// Whether an invitation is for the flow of this version. The id of any other invitation is treated
/// as the caller's own id.
fn is_to(invitation: &InvitationRow, version: &VersionView) -> bool {
    invitation.app_id == version.app_id && invitation.flow_id == version.flow_id
}

/// The score of the answers, if the version has scores.
fn score_of(version: &VersionView, submission: &Submission<'_>) -> Option<Score> {
    let published = version.published.as_ref()?;
    published.snapshot.definition().score(&submission.answers)
}

/// The row to store for a submission. This is the consent boundary: with `collection_only`, nothing
/// that identifies the respondent gets past this point: no identity, and no invitation id, which
/// leads to the invited person. Copies of either in a page's URL or a tag were removed earlier.
fn row_of(
    version: &VersionView,
    submission: &Submission<'_>,
    invitation: Option<&InvitationRow>,
    proof: &Proof<'_>,
    score: Option<Score>,
) -> ResponseRow {
    let admitted = submission.admission == Admission::Admitted;
    let flow_assignment_id = submission.flow_assignment_id.as_deref();
    let flow_assignment_id = flow_assignment_id.filter(|_| admitted || invitation.is_none());
    let mut row = ResponseRow {
        app_id: version.app_id,
        flow_id: version.flow_id,
        flow_version_id: version.flow_version_id,
        response_id: ResponseId::from_uuid(Uuid::nil()),
        admission: submission.admission,
        answers: submission.answers_json(),
        identities: admitted.then(|| submission.identities_json()).flatten(),
        // It describes the stored identities; without them it would only reveal that a token was
        // used.
        identity_verified: admitted && proof.verified,
        respondent_id: None,
        tags: submission.tags_json(),
        context: submission.context_json(),
        flow_assignment_id: flow_assignment_id.map(str::to_owned),
        score: score.map(|score| score.to_string()),
        digest: Default::default(),
    };
    // Computed from what was sent, so that a retry matches even if its token has expired since.
    row.digest = row.digest_of_content();
    row
}

/// What answers were judged by, and their score if the version has scores.
struct Judged<'v> {
    definition: &'v Definition,
    score: Option<Score>,
}

/// An accepted submission in the form that the store takes.
fn response_of(
    version: &VersionView,
    submission: &Submission<'_>,
    invitation: Option<&InvitationRow>,
    key: Option<&IdempotencyKey>,
    proof: &Proof<'_>,
    judged: Judged<'_>,
) -> NewResponse {
    let admitted = submission.admission == Admission::Admitted;
    let mut row = row_of(version, submission, invitation, proof, judged.score);
    let identities = || proof.user_id.iter().chain(&submission.identities);
    if let Some(claims) = proof.partial.filter(|_| admitted) {
        let is_unproven = |identity: &Identity<'_>| !identity::proves(claims, identity);
        row.identities = Some(identities_json_without_proof(identities(), is_unproven));
    } else if admitted && proof.user_id.is_some() {
        row.identities = Some(submission::identities_json(identities()));
    }
    // Uses the tags as stored, without the values that were withheld.
    let contribution = Contribution::with_score(
        judged.definition,
        &submission.answers,
        &submission.tags,
        submission.admission,
        row.score.as_deref(),
    );
    NewResponse {
        row,
        idempotency_key: key.map(|key| key.hash(version.app_id)),
        public_revision: version.public_revision,
        claim: admitted.then(|| Claim::from_identities(identities())).flatten().map(Box::new),
        invitation: invitation
            .filter(|row| is_to(row, version))
            .map(|row| Invited { assignment_id: row.assignment_id, linked: admitted }),
        limits: version.limits.for_answers(&submission.answers),
        contribution,
    }
}
