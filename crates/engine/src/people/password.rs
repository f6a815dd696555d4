//! Passwords: the rule they follow, and the work that a guess costs.
//!
//! A hash takes 19 MiB and some tens of milliseconds, by design. So it runs on a blocking thread, few at once;
//! whoever waits too long is told so. A name that nobody has costs as much as one that somebody has.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::PasswordHasher as _;
use argon2::{Algorithm, Argon2, Params, PasswordVerifier as _, Version};
use sluice_flow::definition::Fault;
use tokio::sync::Semaphore;

use super::Refusal;
use crate::apps::fault;
use crate::ids::fill_random;

/// In characters. There is no rule about which: length is what counts.
pub const PASSWORD_CHARS_MIN: usize = 10;
pub const PASSWORD_CHARS_MAX: usize = 200;

/// As OWASP recommends for Argon2id.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
/// Hashes that are made at once: on half of the processors, and no more than this.
const AT_ONCE_MAX: usize = 4;
/// How long somebody waits for their turn.
const TURN_WAIT: Duration = Duration::from_secs(5);

/// Makes and checks hashes of passwords, few at a time.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { turns: Arc::new(Semaphore::new((processors / 2).clamp(1, AT_ONCE_MAX))) }
    }

    pub(crate) async fn hash(&self, password: &str) -> Result<String, Refusal> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt);
        let password = password.to_owned();
        self.in_turn(move || hash(&password, &salt)).await?.ok_or(Refusal::Busy)
    }

    /// Whether the password is the one of the hash. Without a hash the answer is no, after the same work.
    pub(crate) async fn verify(
        &self,
        password: &str,
        hash_of: Option<String>,
    ) -> Result<bool, Refusal> {
        let password: String = password.chars().take(PASSWORD_CHARS_MAX + 1).collect();
        self.in_turn(move || match hash_of {
            Some(known) => hasher()
                .is_some_and(|it| it.verify_password(password.as_bytes(), known.as_str()).is_ok()),
            None => {
                hash(&password, &[0; SALT_BYTES]);
                false
            }
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = tokio::time::timeout(TURN_WAIT, turn).await;
        let Ok(Ok(turn)) = turn else { return Err(Refusal::Busy) };
        let done = tokio::task::spawn_blocking(move || {
            // Held by the work and not by the caller, who may go away.
            let _turn = turn;
            work()
        });
        done.await.map_err(|_| Refusal::Busy)
    }
}

fn hasher() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &str, salt: &[u8]) -> Option<String> {
    let hash = hasher()?.hash_password_with_salt(password.as_bytes(), salt).ok()?;
    Some(hash.to_string())
}

/// What is wrong with a password that somebody would have.
pub(super) fn password_faults(password: &str, email: &str) -> Option<Fault> {
    let chars = password.chars().count();
    let message = if chars < PASSWORD_CHARS_MIN {
        format!("must have at least {PASSWORD_CHARS_MIN} characters; a few words are fine")
    } else if chars > PASSWORD_CHARS_MAX {
        format!("must have at most {PASSWORD_CHARS_MAX} characters")
    } else if password.eq_ignore_ascii_case(email) {
        "must not be your e-mail address".to_owned()
    } else {
        return None;
    };
    Some(fault("/password", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_is_argon2id_with_the_recommended_work_and_a_salt_of_its_own() {
        let passwords = Passwords::new();
        let one = passwords.hash("correct horse").await.unwrap();
        let two = passwords.hash("correct horse").await.unwrap();
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, two);
        assert!(passwords.verify("correct horse", Some(one.clone())).await.unwrap());
        assert!(!passwords.verify("correct house", Some(one)).await.unwrap());
        assert!(!passwords.verify("correct horse", None).await.unwrap());
        assert!(!passwords.verify("correct horse", Some("no hash".into())).await.unwrap());
    }

    #[test]
    fn a_password_is_long_enough_and_not_the_address() {
        for (password, is_good) in [
            ("123456789", false),
            ("1234567890", true),
            ("aaaaaaaaaa", true),
            ("äöüäöüäöüä", true),
            ("ANN@mail.example", false),
            (&"x".repeat(200), true),
            (&"x".repeat(201), false),
        ] {
            let faults = password_faults(password, "ann@mail.example");
            assert_eq!(faults.is_none(), is_good, "{password}: {faults:?}");
        }
    }
}
