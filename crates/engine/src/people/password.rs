//! Passwords: the rules they must follow, and the cost of a guess.
//!
//! A hash takes 19 MiB and some tens of milliseconds, by design. So it runs on a blocking thread,
//! few at once; a caller that waits too long gets an error. An unknown name costs as much time as a
//! known one.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sluice_flow::definition::Fault;
use sluice_store::UserRow;
use tokio::sync::Semaphore;

use super::guessing::is_easy;
use super::refusal::Refusal;
use crate::ids::fill_random;

/// In characters. There is no rule about which characters: length counts, and how hard they are to
/// guess.
pub const PASSWORD_CHARS_MIN: usize = 10;
pub const PASSWORD_CHARS_MAX: usize = 200;

/// The OWASP recommendation for Argon2id.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// The prefix of a stored hash: the algorithm, and its version 1.3.
const PREFIX: &str = "$argon2id$v=19$";
/// The maximum number of concurrent hashes; half of the processors, if that is fewer.
const AT_ONCE_MAX: usize = 4;
/// How long a caller waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(5);

/// Computes and verifies password hashes, few at a time.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { turns: Arc::new(Semaphore::new((processors / 2).clamp(1, AT_ONCE_MAX))) }
    }

    /// Checks the rules and returns the hash of a password for a user.
    pub(super) async fn hash(&self, password: &str, user: &UserRow) -> Result<String, Refusal> {
        self.hash_for(password, user.email.clone(), user.name.clone()).await
    }

    /// The same for the password of a report, which must not follow from its title.
    pub(crate) async fn hash_shared(&self, password: &str, title: &str) -> Result<String, Refusal> {
        self.hash_for(password, String::new(), title.to_owned()).await
    }

    async fn hash_for(
        &self,
        password: &str,
        email: String,
        name: String,
    ) -> Result<String, Refusal> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt);
        let password = password.to_owned();
        self.in_turn(move || match password_fault(&password, &email, &name) {
            Some(fault) => Err(Refusal::Invalid(vec![fault])),
            None => hash(&password, &salt).ok_or(Refusal::Busy),
        })
        .await?
    }

    /// Whether the password matches the hash. Without a hash, returns `false` after the same work.
    pub(crate) async fn verify(
        &self,
        password: &str,
        hash_of: Option<String>,
    ) -> Result<bool, Refusal> {
        let password: String = password.chars().take(PASSWORD_CHARS_MAX + 1).collect();
        self.in_turn(move || match hash_of {
            Some(known) => is_hash_of(&known, &password).unwrap_or(false),
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
            // Held by the work and not by the caller, which may be cancelled.
            let _turn = turn;
            work()
        });
        done.await.map_err(|_| Refusal::Busy)
    }
}

/// The hash of a password in the PHC string format: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`.
fn hash(password: &str, salt: &[u8]) -> Option<String> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)).ok()?;
    let hash = raw_hash(password, salt, params)?;
    let [salt, hash] = [salt, &hash].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    Some(format!("{PREFIX}m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${hash}"))
}

/// Whether a stored hash matches the password, with the parameters in the hash; `None` if it cannot
/// be parsed.
fn is_hash_of(stored: &str, password: &str) -> Option<bool> {
    let mut parts = stored.strip_prefix(PREFIX)?.split('$');
    let (params, salt, known) = (parts.next()?, parts.next()?, parts.next()?);
    let mut params = params.split(',');
    let mut number = |name: &str| params.next()?.strip_prefix(name)?.parse::<u32>().ok();
    let (memory, passes, lanes) = (number("m=")?, number("t=")?, number("p=")?);
    if parts.next().is_some() || params.next().is_some() {
        return None;
    }
    let [salt, known] = [salt, known].map(|text| STANDARD_NO_PAD.decode(text).ok());
    let (salt, known) = (salt?, known?);
    let params = Params::new(memory, passes, lanes, Some(known.len())).ok()?;
    let hash = raw_hash(password, &salt, params)?;
    // Compares every byte, so that the time does not depend on where they differ.
    Some(hash.iter().zip(&known).fold(0, |differs, (one, two)| differs | (one ^ two)) == 0)
}

fn raw_hash(password: &str, salt: &[u8], params: Params) -> Option<Vec<u8>> {
    let mut hash = vec![0; params.output_len().unwrap_or(HASH_BYTES)];
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    hasher.hash_password_into(password.as_bytes(), salt, &mut hash).ok()?;
    Some(hash)
}

/// Which rule a user's new password breaks.
fn password_fault(password: &str, email: &str, name: &str) -> Option<Fault> {
    let chars = password.chars().count();
    let message = if chars < PASSWORD_CHARS_MIN {
        format!("must have at least {PASSWORD_CHARS_MIN} characters; a few words are fine")
    } else if chars > PASSWORD_CHARS_MAX {
        format!("must have at most {PASSWORD_CHARS_MAX} characters")
    } else if password.eq_ignore_ascii_case(email) {
        "must not be your e-mail address".to_owned()
    } else if is_common(password, email, name) {
        "is too easy to guess. Choose a less common password, such as four words that do not belong together"
            .to_owned()
    } else {
        return None;
    };
    Some(Fault::new("/password", message))
}

/// Whether a password takes too few guesses for an attacker who knows the user.
fn is_common(password: &str, email: &str, name: &str) -> bool {
    // The address, the parts before and after its `@`, and the name: whole, without separators, and
    // word by word.
    let (local, domain) = email.split_once('@').unwrap_or((email, ""));
    let whole = [email, local, domain, name];
    let joined = whole.map(|it| it.replace(|letter: char| !letter.is_alphanumeric(), ""));
    let words = whole.iter().flat_map(|it| it.split(|letter: char| !letter.is_alphanumeric()));
    let joined = joined.iter().map(String::as_str);
    let known = whole.into_iter().chain(joined).chain(words);
    is_easy(password, &known.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> UserRow {
        UserRow {
            user_id: sluice_flow::id::UserId::from_uuid(uuid::Uuid::nil()),
            email: "ann.smith@acme.example".into(),
            name: "Ann Smith".into(),
            password: None,
            subject: None,
            second_factor: None,
            epoch: 0,
            created_at: sluice_flow::time::Timestamp::from_millis(0),
            disabled_at: None,
        }
    }

    fn is_good(password: &str) -> bool {
        password_fault(password, &ann().email, &ann().name).is_none()
    }

    #[tokio::test]
    async fn a_hash_is_argon2id_with_the_recommended_parameters_and_a_random_salt() {
        let passwords = Passwords::new();
        let one = passwords.hash("correct horse", &ann()).await.unwrap();
        let two = passwords.hash("correct horse", &ann()).await.unwrap();
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, two);
        assert!(passwords.verify("correct horse", Some(one.clone())).await.unwrap());
        assert!(!passwords.verify("correct house", Some(one)).await.unwrap());
        assert!(!passwords.verify("correct horse", None).await.unwrap());
        assert!(!passwords.verify("correct horse", Some("no hash".into())).await.unwrap());
    }

    /// A test vector from the reference implementation.
    const REFERENCE: &str =
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

    #[test]
    fn a_foreign_hash_is_verified_with_its_own_parameters() {
        assert_eq!(is_hash_of(REFERENCE, "password"), Some(true));
        assert_eq!(is_hash_of(REFERENCE, "Password"), Some(false));
        assert_eq!(is_hash_of(&REFERENCE.replace("t=2", "t=3"), "password"), Some(false));
        for (from, to) in [
            ("argon2id", "argon2i"),
            ("v=19", "v=16"),
            ("m=65536,", ""),
            ("p=1", "p=1,x=1"),
            ("t=2", "t=0"),
            ("$CTFh", "$"),
            ("PPc", "PPc="),
            ("PPc", "PPc$x"),
            ("$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "$"),
            ("c29tZXNhbHQ", "c29t"),
        ] {
            let broken = REFERENCE.replace(from, to);
            assert_ne!(is_hash_of(&broken, "password"), Some(true), "{broken}");
        }
        assert_eq!(is_hash_of("", "password"), None);
    }

    #[test]
    fn a_password_has_10_to_200_characters_and_is_not_the_address() {
        let words = "a lamp by the river ";
        assert!(!is_good("kT9#vLq2w") && is_good("kT9#vLq2wZ") && is_good("äöü rzwig ßß"));
        assert!(is_good(&words.repeat(10)) && !is_good(&words.repeat(11)));
        assert!(!is_good("ANN.SMITH@acme.example"));
    }

    #[test]
    fn a_common_password_is_refused() {
        let common = [
            "password123!",
            "Password123",
            "passwordpassword",
            "P@ssw0rd2024!",
            "Passw0rd!!!",
            "MyPassword1",
            "passwort123",
            "motdepasse1",
            "qwertyuiop",
            "QWERTZUIOP",
            "poiuytrewq",
            "asdfghjkl123",
            "1q2w3e4r5t",
            "1qaz2wsx3edc",
            "1234567890",
            "0987654321",
            "123456789012",
            "abcdefghij",
            "aaaaaaaaaa",
            "ababababab",
            "abc123abc123",
            "äöüäöüäöüä",
            "111111111!",
            "!@#$%^&*()",
            "iloveyou123",
            "letmein12345",
            "administrator",
            "Welcome2026!",
            "feedback123!",
            "Sluice2026!",
            "elizabeth1992",
            "Ab1!Ab1!Ab1!",
            "welcomepassword1",
            "zaq12wsx34",
            "liverpoolfc1",
        ];
        for password in common {
            assert!(!is_good(password), "{password}");
        }
    }

    #[test]
    fn a_password_from_the_users_address_or_name_is_refused() {
        let own = [
            "ann.smith1",
            "ann.smith123",
            "Ann.Smith2026",
            "annsmith1990",
            "AnnSmith2026!",
            "smithsmith",
            "smith20261",
            "Ann Smith 2026",
            "acme.example1",
        ];
        for password in own {
            assert!(!is_good(password), "{password}");
        }
        assert!(password_fault("ann.smith77", "bob@mail.example", "Bob").is_none());
    }

    #[test]
    fn unrelated_words_and_random_characters_are_accepted() {
        let good = [
            "correct horse battery staple",
            "correct horse battery",
            "quite another horse",
            "blue lamp under the stairs",
            "zwei Birnen im Regen",
            "summer in the old mill",
            "98 bottles of ink",
            "kT9#vLq2wZ",
            "x7Kp2mQ9vB4t",
        ];
        for password in good {
            assert!(is_good(password), "{password}");
        }
    }
}
