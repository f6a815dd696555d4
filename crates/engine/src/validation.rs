//! Judges a submission without storing it, by the rules of [`crate::intake`].
//!
//! The stages are those of a submit: shape, version, identity, answers, limits of the flow. It
//! reads the counters of a limited flow instead of taking a place, so another respondent may get
//! the last one before the submit. Deliberately absent: idempotency keys (nothing is stored that a
//! retry could repeat), the daily quota of bytes, and the metrics of submissions.

use sluice_flow::identity::{self, Bearer};
use sluice_flow::issue::{Full, Issue};
use sluice_flow::judge::canonicalise;
use sluice_flow::score::Score;
use sluice_flow::submission::{self, ParseError, Submission};

use crate::core::Core;
use crate::intake::{Grace, SubmitError, Verdict};
use crate::registry::{AppView, VersionView};
use crate::unavailable::Unavailable;

/// The result of judging a submission that is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    Valid(Valid),
    Refused(Vec<Issue>),
}

/// What a submit would have returned, except the id of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Valid {
    pub grace: Option<Grace>,
    pub score: Option<Score>,
}

impl Core {
    pub(crate) async fn validate(
        &self,
        app: &AppView,
        input: Option<&[u8]>,
        bearer: Option<&Bearer>,
    ) -> Result<Validation, SubmitError> {
        let parsed = match input {
            Some(input) => submission::parse(input),
            None => Err(ParseError::Refused(vec![submission::absent()])),
        };
        let mut submission = match parsed {
            Ok(submission) => submission,
            Err(ParseError::Refused(issues)) => return Ok(Validation::Refused(issues)),
            Err(ParseError::Malformed(reason)) => return Err(SubmitError::Malformed(reason)),
        };
        let claims = bearer.and_then(Bearer::proven).filter(|_| app.refuses_mismatches());
        let mismatches = claims.map(|it| identity::mismatches(it, &submission.identities));
        let mismatches = mismatches.unwrap_or_default();
        let version = match submission.flow_version_id.parse() {
            Ok(id) => self.registry.version(app.app_id, id).await?,
            Err(_) => None,
        };
        let Some(version) = version else {
            return Ok(Validation::Refused(vec![Issue::flow_version_not_found()]));
        };
        if let Some(published) = &version.published {
            canonicalise(published.snapshot.definition(), &mut submission.answers);
        }
        let invitation = self.named_invitation(version.app_id, &submission).await?;
        match self.verdict(&version, &submission, &mismatches, invitation.as_ref()) {
            Verdict::Refused(_) if self.is_about_to_open(&version) => {
                Err(Unavailable::OPENING.into())
            }
            Verdict::Refused(issues) => Ok(Validation::Refused(issues)),
            Verdict::Accepted { grace, score, .. } => {
                Ok(match self.full(&version, &submission).await? {
                    Some(full) => Validation::Refused(vec![Issue::full(full)]),
                    None => Validation::Valid(Valid { grace, score }),
                })
            }
        }
    }

    /// The limit that has no room for these answers now. As in a commit, there is no room in a flow
    /// whose responses are not counted.
    async fn full(
        &self,
        version: &VersionView,
        submission: &Submission<'_>,
    ) -> Result<Option<Full>, SubmitError> {
        let limits = version.limits.for_answers(&submission.answers);
        if limits.is_empty() {
            return Ok(None);
        }
        let counted = self.store.read_closing_counts(version.app_id, &[version.flow_id]).await?;
        Ok(match counted.first() {
            Some(row) => row.counts.full(&limits),
            None => Some(Full::Flow),
        })
    }
}
