//! Checks the claims of a token at a given time.
//!
//! Called only after the signature was verified. All other faults of a token are reported before
//! its age, so that "expired" means: the same token, fresh, would be valid.

use serde_json::Value;
use sluice_flow::identity::Claims;
use sluice_flow::time::Timestamp;

use super::outcome::{Invalid, TokenOutcome};
use super::token::Members;

/// The allowed clock skew, in seconds.
pub(crate) const LEEWAY_SECONDS: i64 = 60;
/// The maximum lifetime of a token if the app does not set one, in seconds.
pub(crate) const LIFETIME_DEFAULT_SECONDS: u32 = 3600;
/// The maximum lifetime that an app may set, in seconds.
pub const LIFETIME_MAX_SECONDS: u32 = 86_400;
/// The maximum length of `sub`, in characters, as for a `userId`.
const SUBJECT_CHARS_MAX: usize = 255;
/// The maximum length of `email`, in characters, as for `traits.email`.
const EMAIL_CHARS_MAX: usize = 254;
/// The maximum time in a token, in seconds since the epoch: the year 5138.
const SECONDS_MAX: f64 = 1e11;

/// What the app requires of a token.
pub(crate) struct Demands<'a> {
    pub(crate) audience: &'a str,
    pub(crate) issuer: Option<&'a str>,
    pub(crate) lifetime_seconds: u32,
    pub(crate) now: Timestamp,
}

pub(crate) fn check(claims: &Members, demands: &Demands<'_>) -> Result<Claims, TokenOutcome> {
    let invalid = |why| Err(TokenOutcome::Invalid(why));
    let Some(user_id) = subject(claims) else { return invalid(Invalid::SubjectWrong) };
    let Some(email) = email(claims) else { return invalid(Invalid::EmailWrong) };
    if !is_for(claims.get("aud"), demands.audience) {
        return invalid(Invalid::AudienceWrong);
    }
    let issuer = claims.get("iss").and_then(Value::as_str);
    if demands.issuer.is_some_and(|wanted| issuer != Some(wanted)) {
        return invalid(Invalid::IssuerWrong);
    }
    let (Some(expires), Some(issued)) = (millis(claims, "exp"), millis(claims, "iat")) else {
        return invalid(Invalid::TimesWrong);
    };
    let not_before = match claims.get("nbf") {
        None => None,
        Some(_) => match millis(claims, "nbf") {
            None => return invalid(Invalid::TimesWrong),
            time => time,
        },
    };
    let lifetime = expires - issued;
    if lifetime <= 0 {
        return invalid(Invalid::TimesWrong);
    }
    if lifetime > i64::from(demands.lifetime_seconds) * 1000 {
        return invalid(Invalid::LifetimeTooLong);
    }
    let (now, leeway) = (demands.now.as_millis(), LEEWAY_SECONDS * 1000);
    if issued > now + leeway || not_before.is_some_and(|time| time > now + leeway) {
        return invalid(Invalid::NotYetValid);
    }
    if now >= expires + leeway {
        return Err(TokenOutcome::Expired);
    }
    Ok(Claims { user_id, email })
}

/// The claims of a token that was not verified, if it names anyone.
pub(crate) fn unproven(claims: &Members) -> Option<Claims> {
    let (user_id, email) = (subject(claims), email(claims).flatten());
    let names_anyone = user_id.is_some() || email.is_some();
    names_anyone.then(|| Claims { user_id: user_id.unwrap_or_default(), email })
}

fn subject(claims: &Members) -> Option<String> {
    let subject = claims.get("sub")?.as_str()?;
    let fits = (1..=SUBJECT_CHARS_MAX).contains(&subject.chars().count());
    (fits && !subject.contains('\0')).then(|| subject.to_owned())
}

/// `None` if it is not a valid text; `Some(None)` if it is absent.
fn email(claims: &Members) -> Option<Option<String>> {
    match claims.get("email") {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(email)) if email.chars().count() <= EMAIL_CHARS_MAX => {
            Some(Some(email.clone()))
        }
        Some(_) => None,
    }
}

fn is_for(audience: Option<&Value>, app: &str) -> bool {
    match audience {
        Some(Value::String(one)) => one == app,
        Some(Value::Array(many)) => {
            many.iter().all(Value::is_string) && many.iter().any(|one| one == app)
        }
        _ => false,
    }
}

/// A time in the token in milliseconds; it may have a fraction.
pub(super) fn millis(claims: &Members, name: &str) -> Option<i64> {
    let seconds = claims.get(name)?.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    (0.0..=SECONDS_MAX).contains(&seconds).then(|| (seconds * 1000.0).floor() as i64)
}
