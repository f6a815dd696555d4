//! The words of free texts: which ones occur in many answers.
//!
//! A word is a run of letters and digits, including apostrophes and hyphens within it, in lower
//! case. Common words of a language ([`stop`]) are left out. Languages without spaces between words
//! are not segmented: that needs a dictionary, which is deliberately absent.

mod stop;

use std::collections::{HashMap, HashSet};

/// Longer words are codes or noise, in characters.
const CHARS_MAX: usize = 40;
const CHARS_MIN: usize = 2;

/// The number of these texts that contain each word, the most frequent first, then alphabetically.
/// If there are several texts, a word in only one of them is left out.
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

/// The significant words of a text, including repeats.
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

/// Vowel signs and accents belong to the preceding letter.
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
    fn a_word_counts_once_per_text_ignoring_case() {
        check(
            &["Slow, slow, SLOW!", "slow export", "Exports"],
            &[("slow", 2), ("export", 1), ("exports", 1)],
        );
    }

    #[test]
    fn common_words_are_left_out() {
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
    fn numbers_punctuation_and_noise_are_not_words() {
        check(
            &["42 - !!! … https://x.example a", &"x".repeat(41)],
            &[("example", 1), ("https", 1)],
        );
        check(&["", "   "], &[]);
        check(&["e-mail user’s 'quoted'"], &[("e-mail", 1), ("quoted", 1), ("user's", 1)]);
    }

    #[test]
    fn with_several_texts_a_word_must_occur_in_two() {
        check(&["one price", "price two", "three", "four"], &[("price", 2)]);
    }
}
