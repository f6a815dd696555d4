//! The words of free texts: which ones stand in many answers.
//!
//! A word is a run of letters and digits, apostrophes and hyphens within it included, in lower
//! case. What every text of a language has ([`stop`]) says nothing about this one and is left out.
//! Languages that do not part their words by spaces are not cut up: that needs a dictionary, which
//! is deliberately absent.

mod stop;

use std::collections::{HashMap, HashSet};

/// Longer ones are codes or noise, in characters.
const CHARS_MAX: usize = 40;
const CHARS_MIN: usize = 2;

/// In how many of these texts each word stands, the most frequent first, then by the alphabet. A
/// word that only one text of several has is left out.
pub fn frequent<'t>(texts: impl IntoIterator<Item = &'t str>, most: usize) -> Vec<(String, u64)> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut several = 0;
    for text in texts {
        several += 1;
        let own: HashSet<String> = words(text).collect();
        for word in own {
            *counts.entry(word).or_default() += 1;
        }
    }
    let least = if several > 3 { 2 } else { 1 };
    let mut found: Vec<(String, u64)> =
        counts.into_iter().filter(|(_, count)| *count >= least).collect();
    found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(most);
    found
}

/// The words of a text that may say something about it, as often as they stand there.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text
        .split(|letter: char| !(letter.is_alphanumeric() || is_inner(letter) || is_mark(letter)));
    parts.filter_map(|part| {
        let word = part.trim_matches(is_inner).to_lowercase().replace('’', "'");
        let length = word.chars().count();
        let says = (CHARS_MIN..=CHARS_MAX).contains(&length)
            && word.chars().any(char::is_alphabetic)
            && !stop::is_stop(&word);
        says.then_some(word)
    })
}

fn is_inner(letter: char) -> bool {
    matches!(letter, '\'' | '’' | '-')
}

/// Vowel signs and accents belong to the letter before them.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{93a}'..='\u{94d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], expected: &[(&str, u64)]) {
        let found = frequent(texts.iter().copied(), 10);
        let found: Vec<_> = found.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        assert_eq!(found, expected, "{texts:?}");
    }

    #[test]
    fn a_word_counts_once_a_text_whatever_its_case() {
        check(
            &["Slow, slow, SLOW!", "slow export", "Exports"],
            &[("slow", 2), ("export", 1), ("exports", 1)],
        );
    }

    #[test]
    fn what_every_text_of_a_language_has_is_left_out() {
        check(&["The API is not what it was, and I don't like that"], &[("api", 1), ("like", 1)]);
        check(&["Das ist aber nicht die Dokumentation"], &[("dokumentation", 1)]);
        check(
            &["Je ne sais pas, c'est dans la documentation"],
            &[("documentation", 1), ("sais", 1)],
        );
        check(&["No es lo que quiero para la empresa"], &[("empresa", 1), ("quiero", 1)]);
        check(&["هذا المنتج سريع في العمل"], &[("العمل", 1), ("المنتج", 1), ("سريع", 1)]);
    }

    #[test]
    fn numbers_marks_and_noise_are_no_words() {
        check(
            &["42 - !!! … https://x.example a", &"x".repeat(41)],
            &[("example", 1), ("https", 1)],
        );
        check(&["", "   "], &[]);
        check(&["e-mail user’s 'quoted'"], &[("e-mail", 1), ("quoted", 1), ("user's", 1)]);
    }

    #[test]
    fn of_several_texts_only_words_of_two_are_told() {
        check(&["one price", "price two", "three", "four"], &[("price", 2)]);
    }
}
