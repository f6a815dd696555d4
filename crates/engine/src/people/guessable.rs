//! Passwords that are among the first that somebody would try.
//!
//! By rule, not by a list of what others have used: what everybody thinks of first (a well-known word, a row of keys or of the
//! alphabet, one letter many times, a year, the person's own address) is one thing to guess however long it is, and so is
//! each letter besides. What comes to very few such things is refused. What is repeated counts once.

/// As many things as a guess gets through at once.
const THINGS_MAX: usize = 4;
/// The shortest row of keys, and the shortest part of an address, that counts as one.
const RUN_MIN: usize = 3;

/// Rows that a finger or a mind runs along, either way.
const ROWS: &[&str] = &[
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "qwertzuiopü",
    "azertyuiop",
    "asdfghjkl",
    "asdfghjklöä",
    "qsdfghjklm",
    "zxcvbnm",
    "yxcvbnm",
    "wxcvbn",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "qazwsxedcrfvtgbyhnujm",
    "!@#$%^&*()",
    "!\"§$%&/()=",
];

/// Words that stand in the passwords of very many people, in small letters; and our own name and trade.
const WORDS: &[&str] = &[
    "password",
    "passwort",
    "passwd",
    "pass",
    "passphrase",
    "parola",
    "motdepasse",
    "contraseña",
    "contrasena",
    "geheim",
    "secret",
    "kennwort",
    "admin",
    "administrator",
    "root",
    "login",
    "user",
    "guest",
    "welcome",
    "willkommen",
    "bienvenue",
    "bienvenido",
    "letmein",
    "changeme",
    "default",
    "temporary",
    "temp",
    "hello",
    "hallo",
    "bonjour",
    "hola",
    "master",
    "access",
    "system",
    "server",
    "computer",
    "internet",
    "windows",
    "google",
    "test",
    "testing",
    "demo",
    "example",
    "iloveyou",
    "love",
    "forever",
    "baby",
    "angel",
    "princess",
    "sunshine",
    "rainbow",
    "flower",
    "summer",
    "winter",
    "spring",
    "autumn",
    "sommer",
    "herbst",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "monkey",
    "dragon",
    "tiger",
    "shadow",
    "football",
    "baseball",
    "basketball",
    "soccer",
    "hockey",
    "superman",
    "batman",
    "starwars",
    "pokemon",
    "ninja",
    "killer",
    "hunter",
    "freedom",
    "whatever",
    "trustno",
    "qwerty",
    "michael",
    "jessica",
    "jordan",
    "daniel",
    "thomas",
    "charlie",
    "george",
    "company",
    "office",
    "work",
    "sluice",
    "feedback",
    "survey",
    "console",
];

/// Whether this is among the first that would be tried at the account with this address.
pub(super) fn is_guessable(password: &str, email: &str) -> bool {
    let letters: Vec<char> = password.to_lowercase().chars().collect();
    let own = parts_of(&email.to_lowercase());
    things(repeated(&letters), &own) <= THINGS_MAX
}

/// The address, and each part of it.
fn parts_of(email: &str) -> Vec<Vec<char>> {
    let (name, domain) = email.split_once('@').unwrap_or((email, ""));
    let parts = [email, name, domain].into_iter().chain(name.split(['.', '_', '-', '+']));
    let parts = parts.chain(domain.split('.')).map(|part| part.chars().collect::<Vec<_>>());
    parts.filter(|part| part.len() >= RUN_MIN).collect()
}

/// What a text repeats, or all of it.
fn repeated(letters: &[char]) -> &[char] {
    let repeats = |size: &usize| letters.iter().skip(*size).eq(&letters[..letters.len() - size]);
    let size = (1..=letters.len() / 2).find(repeats);
    size.map_or(letters, |size| &letters[..size])
}

/// How many things there are to guess: the longest that is known at each place, and every letter between.
fn things(letters: &[char], own: &[Vec<char>]) -> usize {
    let (mut rest, mut things) = (letters, 0);
    while !rest.is_empty() {
        let known = word(rest, own).max(run(rest)).max(year(rest));
        rest = &rest[known.max(1)..];
        things += 1;
    }
    things
}

/// How long the word is that stands first.
fn word(letters: &[char], own: &[Vec<char>]) -> usize {
    let begins = |word: &[char]| {
        word.len() <= letters.len()
            && word.iter().zip(letters).all(|(own, typed)| fits(*own, *typed))
    };
    let known = WORDS.iter().map(|word| word.chars().collect::<Vec<_>>());
    let lengths = known.filter(|word| begins(word)).map(|word| word.len());
    let own = own.iter().filter(|word| begins(word)).map(Vec::len);
    lengths.chain(own).max().unwrap_or(0)
}

/// Whether a sign is a letter, or what is often put for it.
fn fits(letter: char, typed: char) -> bool {
    typed == letter
        || matches!(
            (letter, typed),
            ('a', '@' | '4')
                | ('e', '3')
                | ('i' | 'l', '1' | '!')
                | ('o', '0')
                | ('s', '5' | '$')
                | ('t', '7')
        )
}

/// How long the run along a row, or of one sign, is that stands first.
fn run(letters: &[char]) -> usize {
    let same = letters.iter().take_while(|it| letters.first() == Some(*it)).count();
    let along = ROWS.iter().map(|row| {
        let row: Vec<char> = row.chars().collect();
        let back: Vec<char> = row.iter().rev().copied().collect();
        longest(letters, &row).max(longest(letters, &back))
    });
    let longest = along.max().unwrap_or(0).max(same);
    if longest >= RUN_MIN { longest } else { 0 }
}

/// How far the text goes along the row, from wherever it begins in it.
fn longest(letters: &[char], row: &[char]) -> usize {
    let from = |at: usize| row[at..].iter().zip(letters).take_while(|(own, it)| own == it).count();
    (0..row.len()).map(from).max().unwrap_or(0)
}

/// Four digits that are a year of somebody's life.
fn year(letters: &[char]) -> usize {
    let Some([first, second, third, fourth]) = letters.first_chunk() else { return 0 };
    let is_year = matches!((first, second), ('1', '9') | ('2', '0'))
        && third.is_ascii_digit()
        && fourth.is_ascii_digit();
    if is_year { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cases: &[&str], expected: bool) {
        for password in cases {
            assert_eq!(is_guessable(password, "ann.smith@acme.example"), expected, "{password}");
        }
    }

    #[test]
    fn rows_repetitions_and_sequences_are_guessed_first() {
        check(
            &[
                "1234567890",
                "0987654321",
                "123456789012",
                "qwertyuiop",
                "QWERTZUIOP",
                "poiuytrewq",
                "asdfghjkl123",
                "1q2w3e4r5t",
                "1qaz2wsx3edc",
            ],
            true,
        );
        check(&["aaaaaaaaaa", "ababababab", "abc123abc123", "äöüäöüäöüä", "111111111!"], true);
        check(&["abcdefghij", "abcdefg123", "aaaaabbbbb", "!@#$%^&*()"], true);
    }

    #[test]
    fn well_known_words_are_guessed_first_whatever_stands_behind_them() {
        check(
            &["Password123", "passwordpassword", "P@ssw0rd2024!", "Passw0rd!!!", "MyPassword1"],
            true,
        );
        check(
            &["Welcome2026!", "letmein12345", "iloveyou123", "Summer2026!!", "administrator"],
            true,
        );
        check(&["Sluice2026!", "sluice-feedback", "feedback123!"], true);
    }

    #[test]
    fn the_own_address_is_guessed_first() {
        check(
            &["ann.smith1", "Ann.Smith2026", "smithsmith", "ann@acme.example", "acme-smith1"],
            true,
        );
        assert!(!is_guessable("ann.smith1", "bob@mail.example"));
    }

    #[test]
    fn what_is_not_made_of_such_things_is_good() {
        check(
            &[
                "correct horse battery",
                "another password",
                "quite another horse",
                "kT9#vLq2wZ",
                "my password is secret",
                "blue lamp under the stairs",
                "x7Kp2mQ9vB4t",
                "zwei Birnen im Regen",
                "summer in the old mill",
                "98 bottles of ink",
            ],
            false,
        );
    }
}
