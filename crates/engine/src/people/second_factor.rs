//! The second factor of users who sign in with a password: codes from an authenticator app, and
//! recovery codes.
//!
//! The shared secret is sealed with the master key; recovery codes are 80 random bits each, stored
//! as hashes. A code works once: its use is written at the revision of people, so two requests with
//! the same code cannot both succeed, on any node. Users who sign in with an OpenID provider are
//! not asked: their second factors are up to the provider.

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::UserId;
use sluice_flow::time::Timestamp;
use sluice_store::{
    PeopleWrite, Record, SecondFactor, StoreError, StoreResult, Table, User, UserKey, UserRow,
};

use super::accounts::Accounts;
use super::change::{PeopleAuditEntry, find_user, write_people};
use super::refusal::Refusal;
use super::secret::Secret;
use super::totp::{SECRET_BYTES, base32, secret_from_base32, step_of};
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::ids::fill_random;
use crate::instance::InstanceHandle;
use crate::tokens::hash_of;
use crate::verify::{NotOpened, SecretPurpose};
use crate::whole_table::WholeTable;

/// The number of recovery codes of a user.
pub const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 10;
/// How long a user has to enter the code after the correct password.
const TICKET_MILLIS: i64 = 5 * 60 * 1000;

/// A secret for an authenticator app.
#[derive(Clone, PartialEq, Eq)]
pub struct Enrolment {
    /// In base32.
    pub secret: String,
    /// `otpauth://totp/…`, for a QR code.
    pub uri: String,
}

impl std::fmt::Debug for Enrolment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Enrolment(…)")
    }
}

impl Enrolment {
    /// A new secret for the user with this address.
    pub fn new(email: &str) -> Self {
        let mut bytes = [0; SECRET_BYTES];
        fill_random(&mut bytes);
        Self::with(base32(&bytes), email)
    }

    /// The same from an existing secret; `None` if the text is not a valid secret.
    pub fn again(secret: &str, email: &str) -> Option<Self> {
        secret_from_base32(secret).map(|_| Self::with(secret.to_owned(), email))
    }

    fn with(secret: String, email: &str) -> Self {
        let kept = |it: char| it.is_ascii_alphanumeric() || "@.-_".contains(it);
        let label: String = email.chars().map(|it| if kept(it) { it } else { '_' }).collect();
        let uri = format!("otpauth://totp/Sluice:{label}?secret={secret}&issuer=Sluice");
        Self { secret, uri }
    }
}

impl Accounts<'_> {
    /// Turns the second factor on, after a code has proved that the app has the secret. Returns the
    /// recovery codes.
    #[boxed]
    pub async fn turn_on_second_factor(
        &self,
        actor: &Actor,
        id: UserId,
        secret: &str,
        code: &str,
    ) -> AdminResult<Vec<String>> {
        actor.need_fresh()?;
        let wrong = |message| AdminError::Invalid(vec![Fault::new("/code", message)]);
        let bytes =
            secret_from_base32(secret).ok_or_else(|| wrong("belongs to no secret; begin again"))?;
        let used_step = step_of(&bytes, code, self.core.now(), -1).ok_or_else(|| {
            wrong("is not the current code; check that the clock of your phone is right, and type the code that is shown now")
        })?;
        let sealed = self
            .core
            .verifying
            .vault
            .seal(SecretPurpose::SecondFactor(id), secret)
            .map_err(|why| {
                AdminError::conflict("no_master_key", format!("the secret cannot be sealed: {why}"))
            })?;
        let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| recovery_code()).collect();
        let recovery = codes.iter().map(|code| hash_of(code)).collect();
        let factor = SecondFactor { sealed, used_step, recovery };
        let change = |user: &User| {
            if user.row.password.is_none() {
                let detail = "you sign in without a password; second factors are set up at your organisation's sign-in service";
                return Err(AdminError::conflict("no_password", detail));
            }
            Ok(Some(factor.clone()))
        };
        change_factor(self.core, actor, id, AuditAction::SecondFactorEnabled, change).await?;
        Ok(codes)
    }

    /// Turns the user's own second factor off.
    #[boxed]
    pub async fn turn_off_second_factor(&self, actor: &Actor, id: UserId) -> AdminResult<()> {
        actor.need_fresh()?;
        change_factor(self.core, actor, id, AuditAction::SecondFactorDisabled, |_| Ok(None)).await
    }

    /// The number of recovery codes that a user has left; `None` without a second factor.
    #[boxed]
    pub async fn recovery_codes_left(&self, id: UserId) -> StoreResult<Option<usize>> {
        let user = self.core.store.find_user(&UserKey::Id(id)).await?;
        Ok(user.and_then(|user| user.row.second_factor).map(|factor| factor.recovery.len()))
    }

    /// Proof for [`Accounts::sign_in_with_code`] that the password was correct.
    pub(super) fn ticket(&self, user: &User) -> Result<Secret, Refusal> {
        let until = self.core.now().as_millis() + TICKET_MILLIS;
        let text = format!("{} {} {until}", user.row.user_id, user.row.epoch);
        let sealed = self.core.verifying.vault.seal(SecretPurpose::SignIn, &text);
        sealed.map(Secret).map_err(|why| StoreError::Failed(why.into()).into())
    }

    /// The user of a ticket, if the ticket is valid.
    pub fn ticket_holder(&self, ticket: &str) -> Option<UserId> {
        self.ticket_parts(ticket).map(|(user, _)| user)
    }

    fn ticket_parts(&self, ticket: &str) -> Option<(UserId, u32)> {
        let text = self.core.verifying.vault.open(SecretPurpose::SignIn, ticket).ok()?;
        let mut parts = text.split(' ');
        let (user, epoch) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let until = Timestamp::from_millis(parts.next()?.parse().ok()?);
        (self.core.now() < until).then_some((user, epoch))
    }

    /// Starts a session after the password was correct, with a code of the second factor.
    #[boxed]
    pub async fn sign_in_with_code(
        &self,
        ticket: &str,
        code: &str,
        replaces: Option<&str>,
    ) -> Result<Secret, Refusal> {
        let (id, epoch) = self.ticket_parts(ticket).ok_or(Refusal::LinkOver)?;
        let user = self.use_code(id, Some(epoch), code).await?;
        Ok(self.begin_user_session(&user, "password and code", replaces).await?)
    }

    /// Accepts a code of the second factor once. Without an epoch, the user's epoch is not checked.
    pub(super) async fn use_code(
        &self,
        id: UserId,
        epoch: Option<u32>,
        code: &str,
    ) -> Result<User, Refusal> {
        retry_on_conflict(|_| async {
            let revision = self.core.store.people_revision().await?;
            let found = self.core.store.find_user(&UserKey::Id(id)).await?;
            let user = found.filter(|it| {
                it.row.disabled_at.is_none() && epoch.is_none_or(|epoch| it.row.epoch == epoch)
            });
            let user = user.ok_or(Refusal::LinkOver)?;
            // It may have been reset since the password was checked.
            let Some(factor) = user.row.second_factor.clone() else { return Ok(user) };
            let (factor, by) = self.used(id, factor, code)?.ok_or(Refusal::Wrong(Some(id)))?;
            let left = factor.recovery.len();
            let row = UserRow { second_factor: Some(factor), ..user.row };
            let entry = PeopleAuditEntry {
                action: AuditAction::SessionCodeUsed,
                app_id: None,
                detail: json!({"by": by, "recoveryCodesLeft": left}),
            };
            let user = User { row: row.clone(), grants: user.grants };
            let actor = Actor::from_user(&user);
            write_people(self.core, &actor, revision, id, vec![PeopleWrite::User(row)], entry)
                .await?;
            Ok(user)
        })
        .await
    }

    /// The second factor after using a code, and the kind of code; `None` if the code is wrong.
    fn used(
        &self,
        id: UserId,
        factor: SecondFactor,
        code: &str,
    ) -> Result<Option<(SecondFactor, &'static str)>, Refusal> {
        let hash = hash_of(&in_groups(code));
        if factor.recovery.contains(&hash) {
            let recovery = factor.recovery.into_iter().filter(|it| *it != hash).collect();
            return Ok(Some((SecondFactor { recovery, ..factor }, "recovery code")));
        }
        let opened =
            self.core.verifying.vault.open(SecretPurpose::SecondFactor(id), &factor.sealed);
        let secret = opened.map_err(|why| StoreError::Failed(why.to_string().into()))?;
        let bytes = secret_from_base32(&secret).unwrap_or_default();
        let step = step_of(&bytes, code, self.core.now(), factor.used_step);
        Ok(step.map(|used_step| (SecondFactor { used_step, ..factor }, "app")))
    }
}

impl InstanceHandle {
    /// Removes the second factor of a user who has lost it.
    #[boxed]
    pub async fn reset_second_factor(&self, id: UserId) -> AdminResult<()> {
        self.actor().need_fresh()?;
        let (core, actor) = (self.core(), self.actor());
        change_factor(core, actor, id, AuditAction::SecondFactorReset, |_| Ok(None)).await
    }

    /// Seals every second factor with the current first master key. Returns the number that were
    /// resealed, and the number that could not be opened and were removed.
    pub(crate) async fn reseal_second_factors(&self, revoke: bool) -> AdminResult<(usize, usize)> {
        let (core, actor) = (self.core(), self.actor());
        let vault = &core.verifying.vault;
        let (mut resealed, mut revoked) = (0, 0);
        for (id, factor) in second_factors(core).await?.complete()? {
            if vault.is_current(&factor.sealed) {
                continue;
            }
            match vault.open(SecretPurpose::SecondFactor(id), &factor.sealed) {
                Ok(secret) => {
                    let failed = |why: String| StoreError::Failed(why.into());
                    let sealed =
                        vault.seal(SecretPurpose::SecondFactor(id), &secret).map_err(failed)?;
                    // A factor that was changed in the meantime is already sealed with the current
                    // key.
                    let change = |user: &User| {
                        let now = user.row.second_factor.clone();
                        Ok(now.map(|now| match now.sealed == factor.sealed {
                            true => SecondFactor { sealed: sealed.clone(), ..now },
                            false => now,
                        }))
                    };
                    change_factor(core, actor, id, AuditAction::SecondFactorResealed, change)
                        .await?;
                    resealed += 1;
                }
                Err(_) if revoke => {
                    self.reset_second_factor(id).await?;
                    revoked += 1;
                }
                Err(why) => {
                    let what = format!("the second factor of {id} cannot be opened: {why}");
                    return Err(StoreError::Failed(what.into()).into());
                }
            }
        }
        Ok((resealed, revoked))
    }
}

async fn change_factor(
    core: &Core,
    actor: &Actor,
    id: UserId,
    action: AuditAction,
    change: impl Fn(&User) -> AdminResult<Option<SecondFactor>>,
) -> AdminResult<()> {
    retry_on_conflict(|_| async {
        let revision = core.store.people_revision().await?;
        let found = find_user(core, id).await?;
        let second_factor = change(&found)?;
        if second_factor == found.row.second_factor {
            return Ok(());
        }
        let detail = json!({"email": found.row.email});
        let row = UserRow { second_factor, ..found.row };
        let entry = PeopleAuditEntry { action, app_id: None, detail };
        let writes = vec![PeopleWrite::User(row)];
        write_people(core, actor, revision, id, writes, entry).await?;
        Ok(())
    })
    .await
}

/// Users with a second factor that the available master keys cannot open, each with the reason.
pub(crate) async fn closed_second_factors(core: &Core) -> StoreResult<Vec<(UserId, NotOpened)>> {
    let mut closed = Vec::new();
    for (id, factor) in second_factors(core).await?.readable() {
        let opened = core.verifying.vault.open(SecretPurpose::SecondFactor(id), &factor.sealed);
        closed.extend(opened.err().map(|why| (id, why)));
    }
    Ok(closed)
}

async fn second_factors(core: &Core) -> StoreResult<WholeTable<(UserId, SecondFactor)>> {
    let factor = |record: Record| match record {
        Record::User(row) => row.second_factor.map(|it| (row.user_id, it)),
        _ => None,
    };
    WholeTable::read(&*core.store, Table::Users, factor).await
}

/// Four groups of four letters and digits.
fn recovery_code() -> String {
    let mut bytes = [0; RECOVERY_BYTES];
    fill_random(&mut bytes);
    in_groups(&base32(&bytes))
}

/// Formats a recovery code as it is shown, `abcd-efgh-…`, however it was typed.
fn in_groups(code: &str) -> String {
    let letters = code.bytes().filter(u8::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase());
    let mut shown = String::new();
    for (at, letter) in letters.enumerate() {
        if at > 0 && at % 4 == 0 {
            shown.push('-');
        }
        shown.push(char::from(letter));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_code_is_normalised_however_it_is_typed() {
        let code = recovery_code();
        assert_eq!(code.len(), 19, "{code}");
        for typed in [
            code.clone(),
            code.to_uppercase(),
            code.replace('-', ""),
            format!(" {} ", code.replace('-', " ")),
        ] {
            assert_eq!(in_groups(&typed), code, "{typed}");
        }
    }
}
