//! How hard a password is to guess.
//!
//! Counts characters, and counts what an attacker tries as a whole as one: common words, the user's
//! own names, keyboard rows, sequences, years, repetitions. A run of letters is probably a word, so
//! it counts half. The work is proportional to the length.

/// Passwords that count fewer characters than this are easy to guess: ten million words, names and
/// dates with a number or sign behind them stay below it.
const COUNT_MIN: usize = 8;
/// A run of letters counts its length up to this, and half of its length beyond twice this.
const WORD_COUNT: usize = 4;
/// A shorter part of a row, a word or a repetition counts as any other characters.
const PART_CHARS_MIN: usize = 3;

/// Sequences that fingers and attackers follow, also backwards.
const ROWS: [&str; 13] = [
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "!@#$%^&*()",
    "qwertyuiop",
    "qwertzuiopü",
    "azertyuiop",
    "asdfghjkl",
    "qsdfghjklm",
    "zxcvbnm",
    "yxcvbnm",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "qazwsxedcrfvtgbyhnujm",
];

/// Common in passwords, in the languages of the pages and beyond.
const WORDS: [&str; 64] = [
    "password",
    "passwort",
    "motdepasse",
    "contraseña",
    "contrasena",
    "senha",
    "parola",
    "haslo",
    "wachtwoord",
    "secret",
    "geheim",
    "letmein",
    "welcome",
    "willkommen",
    "bienvenue",
    "hello",
    "hallo",
    "bonjour",
    "changeme",
    "default",
    "admin",
    "administrator",
    "root",
    "login",
    "user",
    "guest",
    "test",
    "demo",
    "master",
    "manager",
    "company",
    "office",
    "computer",
    "internet",
    "iloveyou",
    "sunshine",
    "princess",
    "football",
    "baseball",
    "monkey",
    "dragon",
    "shadow",
    "superman",
    "batman",
    "starwars",
    "freedom",
    "whatever",
    "trustno1",
    "spring",
    "summer",
    "autumn",
    "winter",
    "sommer",
    "herbst",
    "monday",
    "friday",
    "january",
    "december",
    "feedback",
    "survey",
    "response",
    "question",
    "sluice",
    "google",
];

/// Whether an attacker who knows the user finds the password early. `known` are words about the
/// user.
pub(super) fn is_easy(password: &str, known: &[&str]) -> bool {
    let lowercase: Vec<char> = password.chars().flat_map(char::to_lowercase).collect();
    let words: Vec<Vec<char>> = known
        .iter()
        .chain(&WORDS)
        .map(|word| word.chars().flat_map(char::to_lowercase).collect())
        .filter(|word: &Vec<char>| word.len() >= PART_CHARS_MIN)
        .collect();
    let letters: Vec<char> = lowercase.iter().map(|&sign| letter_meant(sign)).collect();
    [lowercase, letters].iter().any(|chars| count(once(chars), &words) < COUNT_MIN)
}

/// The letter that a sign often stands for.
fn letter_meant(sign: char) -> char {
    match sign {
        '@' | '4' => 'a',
        '3' => 'e',
        '1' | '!' => 'i',
        '0' => 'o',
        '$' | '5' => 's',
        '7' => 't',
        other => other,
    }
}

/// The first block of characters that consist of one block several times.
fn once(chars: &[char]) -> &[char] {
    let repeats = |len: &usize| chars.iter().skip(*len).eq(&chars[..chars.len() - len]);
    (1..=chars.len() / 2).find(repeats).map_or(chars, |len| &chars[..len])
}

fn count(chars: &[char], words: &[Vec<char>]) -> usize {
    let (mut counted, mut run, mut at) = (0, 0, 0);
    while at < chars.len() {
        let rest = &chars[at..];
        let whole = one_guess(rest, words);
        if whole == 0 && rest[0].is_alphabetic() {
            run += 1;
            at += 1;
            continue;
        }
        counted += count_of_run(run) + 1;
        run = 0;
        at += whole.max(1);
    }
    counted + count_of_run(run)
}

fn count_of_run(letters: usize) -> usize {
    letters.min(WORD_COUNT.max(letters / 2))
}

/// How many characters at the start an attacker tries as one; 0 if there are none.
fn one_guess(rest: &[char], words: &[Vec<char>]) -> usize {
    let word = words.iter().filter(|word| rest.starts_with(word)).map(Vec::len).max().unwrap_or(0);
    let same = rest.iter().take_while(|&&sign| sign == rest[0]).count();
    let row = ROWS.iter().map(|row| along(rest, row)).max().unwrap_or(0);
    let year = if is_year(rest) { 4 } else { 0 };
    let most = word.max(same).max(row).max(year);
    if most < PART_CHARS_MIN { 0 } else { most }
}

/// How many characters at the start follow a row, in either direction.
fn along(rest: &[char], row: &str) -> usize {
    let row: Vec<char> = row.chars().collect();
    let steps = |row: &mut dyn Iterator<Item = &char>| {
        row.zip(rest).take_while(|(one, other)| one == other).count()
    };
    let starts = row.iter().enumerate().filter(|(_, sign)| **sign == rest[0]);
    starts
        .map(|(at, _)| steps(&mut row[at..].iter()).max(steps(&mut row[..=at].iter().rev())))
        .max()
        .unwrap_or(0)
}

/// A year of this century or the last.
fn is_year(rest: &[char]) -> bool {
    matches!(rest, ['1', '9', tens, ones, ..] | ['2', '0', tens, ones, ..]
        if tens.is_ascii_digit() && ones.is_ascii_digit())
}
