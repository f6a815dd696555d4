//! Identifies the caller of the public API by their identity token.

use sluice_flow::identity::Bearer;
use sluice_store::IdentityVerification;

use crate::core::Core;
use crate::registry::AppView;
use crate::verify::{Invalid, Presented, TokenOutcome, TokenRefused, Verification, Verifying};

impl AppView {
    /// Whether a submission that contradicts its token is refused.
    pub(crate) fn refuses_mismatches(&self) -> bool {
        let mode = self.verification.as_deref().map(|it| it.mode);
        mode == Some(IdentityVerification::Enforce)
    }
}

impl Core {
    /// Identifies the caller as the app's mode requires: `off` checks nothing, `observe` counts but
    /// accepts everyone, `enforce` refuses identities without proof.
    pub(crate) async fn identify(
        &self,
        app: &AppView,
        presented: Presented<'_>,
    ) -> Result<Option<Bearer>, TokenRefused> {
        let Some(verification) = app.verification.as_deref() else { return Ok(None) };
        let checked = match presented {
            Presented::Nothing => Err(TokenOutcome::Missing),
            Presented::Unreadable => Err(TokenOutcome::Invalid(Invalid::Malformed)),
            Presented::Token(text) => self.verifying.check(verification, text, self.now()).await,
        };
        let outcome = checked.as_ref().err().copied().unwrap_or(TokenOutcome::Verified);
        self.count_check(verification, outcome);
        match checked {
            Ok(claims) => Ok(Some(Bearer::Proven(claims))),
            Err(_) if verification.mode != IdentityVerification::Enforce => Ok(match presented {
                Presented::Token(text) => Verifying::unproven(text).map(Bearer::Unproven),
                Presented::Nothing | Presented::Unreadable => None,
            }),
            Err(why) => Err(match why {
                TokenOutcome::Missing => TokenRefused::Missing,
                TokenOutcome::Expired => TokenRefused::Expired,
                TokenOutcome::Unavailable => TokenRefused::Unavailable,
                TokenOutcome::Verified | TokenOutcome::Mismatch | TokenOutcome::Invalid(_) => {
                    TokenRefused::Invalid
                }
            }),
        }
    }

    /// Counts a submission that contradicts its token.
    pub(crate) fn count_mismatch(&self, app: &AppView) {
        if let Some(verification) = app.verification.as_deref() {
            self.count_check(verification, TokenOutcome::Mismatch);
        }
    }

    fn count_check(&self, verification: &Verification, outcome: TokenOutcome) {
        verification.counts.count(outcome);
        self.metrics.count_token(verification.mode, outcome);
    }
}
