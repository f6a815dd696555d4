//! Compares what a verified token claims about the respondent with what the submission claims.
//!
//! Whether the token is genuine is not decided here: [`Claims`] are proven. Messages never repeat a
//! value, which may be an e-mail address.

use std::borrow::Cow;

use crate::issue::{Code, Issue};
use crate::submission::parts::{Admission, Identity, Submission};

const USER_ID: &str = "userId";
const EMAIL: &str = "traits.email";

/// The identity of the bearer of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Claims {
    /// `sub`: the user's id, 1 to 255 characters.
    pub user_id: String,
    pub email: Option<String>,
}

impl std::fmt::Debug for Claims {
    /// Prints no identity: debug output reaches logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Claims(…)")
    }
}

/// The bearer of a token, according to the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bearer {
    /// The token was verified.
    Proven(Claims),
    /// The token was not verified, for example because it has expired. It proves nothing; without
    /// consent its claims are withheld all the same.
    Unproven(Claims),
}

impl Bearer {
    pub fn proven(&self) -> Option<&Claims> {
        match self {
            Self::Proven(claims) => Some(claims),
            Self::Unproven(_) => None,
        }
    }

    /// The claims, proven or not.
    pub fn claims(&self) -> &Claims {
        let (Self::Proven(claims) | Self::Unproven(claims)) = self;
        claims
    }
}

/// Every identity that the token contradicts. A `userId` must be the token's, a `traits.email` the
/// token's address, ignoring the case of ASCII letters; a token without an address proves none.
/// Other traits are not verified.
pub fn mismatches(claims: &Claims, identities: &[Identity<'_>]) -> Vec<Issue> {
    let wrong = identities.iter().enumerate().filter_map(|(index, identity)| {
        let message = match &*identity.kind {
            USER_ID if identity.value != claims.user_id => {
                "The userId is not the one that the access token was issued to."
            }
            EMAIL if !is_email_of(claims, &identity.value) => {
                "The e-mail address is not the one in the access token."
            }
            _ => return None,
        };
        let path = vec!["identities".into(), index.into(), "value".into()];
        Some(Issue::new(Code::IdentityMismatch, path, message))
    });
    wrong.collect()
}

/// Whether the token proves this identity. It proves only these two types.
pub fn proves(claims: &Claims, identity: &Identity<'_>) -> bool {
    match &*identity.kind {
        USER_ID => identity.value == claims.user_id,
        EMAIL => is_email_of(claims, &identity.value),
        _ => false,
    }
}

/// Whether the token proves the `userId` among these identities.
pub fn proves_user_id(claims: &Claims, identities: &[Identity<'_>]) -> bool {
    identities.iter().any(|identity| identity.kind == USER_ID && proves(claims, identity))
}

fn is_email_of(claims: &Claims, email: &str) -> bool {
    claims.email.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(email))
}

/// The token's `userId`, for an admitted submission that has none.
pub fn missing_user_id(claims: &Claims, submission: &Submission<'_>) -> Option<Identity<'static>> {
    let named = submission.identities.iter().any(|identity| identity.kind == USER_ID);
    (submission.admission == Admission::Admitted && !named).then(|| {
        let value = Cow::Owned(claims.user_id.clone());
        Identity { kind: USER_ID.into(), value }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(email: Option<&str>) -> Claims {
        Claims { user_id: "u-7".to_owned(), email: email.map(str::to_owned) }
    }

    #[test]
    fn user_id_and_address_must_match_the_token_ignoring_ascii_case() {
        let ann = Some("Ann@Example.com");
        for (email, kind, value, fits) in [
            (ann, "userId", "u-7", true),
            (ann, "userId", "U-7", false),
            (ann, "userId", "u-7 ", false),
            (ann, "userId", "u-8", false),
            (ann, "traits.email", "Ann@Example.com", true),
            (ann, "traits.email", "ann@eXAMPLE.com", true),
            (ann, "traits.email", "ann@example.org", false),
            (Some("\u{e9}@example.com"), "traits.email", "\u{c9}@example.com", false),
            (None, "traits.email", "ann@example.com", false),
            (ann, "traits.plan", "pro", true),
        ] {
            let identity = Identity { kind: kind.into(), value: value.into() };
            let found = mismatches(&claims(email), &[identity]);
            assert_eq!(found.is_empty(), fits, "{kind} {value}");
            assert!(found.iter().all(|issue| issue.code == Code::IdentityMismatch));
            assert!(found.iter().all(|issue| !issue.message.contains(value)));
        }
    }

    #[test]
    fn every_mismatch_is_reported_with_its_path() {
        let identity = |kind: &'static str, value: &'static str| Identity {
            kind: kind.into(),
            value: value.into(),
        };
        let sent = [identity("traits.email", "x@y.example"), identity("userId", "other")];
        let paths: Vec<_> = mismatches(&claims(None), &sent)
            .into_iter()
            .map(|issue| serde_json::to_string(&issue.path).unwrap())
            .collect();
        assert_eq!(paths, [r#"["identities",0,"value"]"#, r#"["identities",1,"value"]"#]);
    }

    #[test]
    fn only_an_admitted_submission_without_a_user_id_gets_one() {
        for (admission, sent, filled) in [
            ("admitted", "[]", true),
            ("admitted", r#"[{"type":"userId","value":"u-7"}]"#, false),
            ("admitted", r#"[{"type":"traits.plan","value":"pro"}]"#, true),
            ("collection_only", "[]", false),
        ] {
            let body = format!(
                r#"{{"flowVersionId":"fv","flowVersionPayloadGeneration":"4",
                    "respondentAnalyticsAdmission":"{admission}","identities":{sent}}}"#
            );
            let submission = crate::submission::parse(body.as_bytes()).unwrap();
            let user_id = missing_user_id(&claims(None), &submission);
            let expected = filled.then(|| Identity { kind: USER_ID.into(), value: "u-7".into() });
            assert_eq!(user_id, expected, "{admission} {sent}");
        }
    }
}
