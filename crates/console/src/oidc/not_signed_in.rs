//! Why a user who was sent to the OpenID provider is not signed in.

use sluice_engine::people::FRESH_MINUTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum NotSignedIn {
    /// The provider cannot be reached, or its reply is not valid.
    Away,
    /// The callback does not belong to a sign-in of this browser, or comes too late.
    Stale,
    /// The provider refused.
    Refused,
    /// The ID token could not be verified.
    NotProven,
    /// Verified, but not a user here; with the e-mail address, if that was verified.
    Unknown(Option<String>),
    /// A user had to confirm their identity, but the provider does not report a recent sign-in.
    NotConfirmed,
}

impl NotSignedIn {
    pub(in super::super) fn message(&self) -> String {
        match self {
            Self::Away => "Your organisation's sign-in service does not respond. Try again shortly.".into(),
            Self::Stale => "This sign-in was started in another browser or too long ago. Start again on the sign-in page.".into(),
            Self::Refused => "Your organisation's sign-in service refused the sign-in, or you cancelled it. Start again on the sign-in page.".into(),
            Self::NotProven => "The reply of the sign-in service could not be verified, so you are not signed in. If this happens again, contact the administrator of this service.".into(),
            Self::Unknown(Some(email)) => format!(
                "Your organisation knows you as {email}, but this address has no access to this console. Ask an owner to add you."
            ),
            Self::NotConfirmed => format!(
                "Your organisation's sign-in service did not confirm a sign-in within the last {FRESH_MINUTES} minutes (auth_time), so nothing was changed. Try again. If this happens again, contact the administrator of this service."
            ),
            Self::Unknown(None) => "Your organisation did not report a verified e-mail address for you, so your account could not be found. Contact the administrator of the sign-in service, or sign in with a password.".into(),
        }
    }
}
