//! Finds the identifying values of a respondent in a text and cuts them out, ignoring letter case.
//!
//! The values come from the client, so the cost must not depend on how they repeat themselves or
//! each other. One automaton finds all of them in one pass; there are at most [`ROUNDS_MAX`] passes
//! over a text.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, PatternID};

/// A name shorter than this, in bytes, is cut only as a whole word: `7` is also a part of `2027`.
const NAME_BYTES_MIN: usize = 4;
/// After a cut the text on both sides may form a name, so the text is searched again, at most this
/// many times in total. A text that still has a name in the last round was crafted, and is dropped.
const ROUNDS_MAX: usize = 3;

/// A search for all names of one respondent.
#[derive(Debug)]
pub(super) struct Search {
    /// Absent if it could not be built; then no text is safe to keep.
    automaton: Option<NFA>,
    /// For each pattern of the automaton, whether it is cut only as a whole word.
    is_short: Vec<bool>,
}

impl Search {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut names: Vec<_> = names.map(|name| (fold_text(name), is_short(name))).collect();
        names.sort_unstable();
        names.dedup();
        let (folded, is_short): (Vec<_>, _) = names.into_iter().unzip();
        Self { automaton: NFA::builder().prefilter(false).build(folded).ok(), is_short }
    }

    /// The text without the names in it.
    pub(super) fn cut_from<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for _ in 0..ROUNDS_MAX {
            let Some(found) = self.spans(&fold_text(&text)) else { break };
            if found.is_empty() {
                return text;
            }
            text = Cow::Owned(without_spans(&text, &found));
        }
        Cow::Borrowed("")
    }

    /// The spans of names in a folded text, in order and disjoint: overlapping names form one span.
    fn spans(&self, folded: &str) -> Option<Vec<Range<usize>>> {
        let automaton = self.automaton.as_ref()?;
        let mut state = automaton.start_state(Anchored::No).ok()?;
        let mut spans: Vec<Range<usize>> = Vec::new();
        for (at, byte) in folded.bytes().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if !automaton.is_match(state) {
                continue;
            }
            // Names that end here, the longest first. It covers the others, so few are checked:
            // only short ones that are part of a word.
            let mut ending = (0..automaton.match_len(state)).map(|index| {
                let pattern = automaton.match_pattern(state, index);
                (pattern, at + 1 - automaton.pattern_len(pattern)..at + 1)
            });
            let Some((_, mut span)) =
                ending.find(|(pattern, span)| self.is_cut(*pattern, folded, span))
            else {
                continue;
            };
            // A name that ends later may begin earlier.
            while let Some(last) = spans.pop_if(|last| last.end > span.start) {
                span.start = span.start.min(last.start);
            }
            spans.push(span);
        }
        Some(spans)
    }

    fn is_cut(&self, pattern: PatternID, folded: &str, span: &Range<usize>) -> bool {
        !self.is_short[pattern.as_usize()] || stands_alone(folded, span)
    }
}

/// The text without every character that lies even partly in one of the spans of its folded form.
fn without_spans(text: &str, spans: &[Range<usize>]) -> String {
    let mut spans = spans.iter().peekable();
    let mut end = 0;
    let is_outside = |letter: &char| {
        let start = end;
        end += if letter.is_ascii() { 1 } else { fold(*letter).map(char::len_utf8).sum() };
        while spans.next_if(|span| span.end <= start).is_some() {}
        spans.peek().is_none_or(|span| span.start >= end)
    };
    text.chars().filter(is_outside).collect()
}

/// Whether an ASCII text may contain an ASCII name to cut, without preparing a search: nearly
/// always false. After `budget` comparisons the result is true, so the time is linear.
pub(super) fn may_contain(text: &str, name: &str, mut budget: usize) -> bool {
    let (bytes, wanted) = (text.as_bytes(), name.as_bytes());
    let Some(first) = wanted.first() else { return false };
    for (at, part) in bytes.windows(wanted.len()).enumerate() {
        if !part[0].eq_ignore_ascii_case(first) {
            continue;
        }
        let same = part.iter().zip(wanted).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        let is_found = same == wanted.len();
        if is_found && (!is_short(name) || stands_alone(text, &(at..at + same))) {
            return true;
        }
        let Some(rest) = budget.checked_sub(same) else { return true };
        budget = rest;
    }
    false
}

fn is_short(name: &str) -> bool {
    name.len() < NAME_BYTES_MIN
}

fn stands_alone(text: &str, part: &Range<usize>) -> bool {
    let is_in_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    !is_in_word(text[part.end..].chars().next())
        && !is_in_word(text[..part.start].chars().next_back())
}

/// Letters that differ only in case are equal, including `ß` and `SS`, `ς` and `Σ`.
fn fold(letter: char) -> impl Iterator<Item = char> {
    letter.to_uppercase().flat_map(char::to_lowercase)
}

fn fold_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().flat_map(fold).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(names: &[&str], text: &str) -> String {
        Search::new(names.iter().copied()).cut_from(text).into_owned()
    }

    #[test]
    fn names_that_overlap_are_cut_whole() {
        assert_eq!(cut(&["acme.org", "Ann@acme.org"], "by ann@acme.org!"), "by !");
        assert_eq!(cut(&["Ann Lee", "Lee Smith"], "by ann lee smith!"), "by !");
        assert_eq!(cut(&["abab"], "ababab"), "");
        assert_eq!(cut(&["aaaa", "aaaaaa", "aaaaa"], "xaaaaaaay"), "xy");
    }

    #[test]
    fn a_text_that_hides_names_within_names_is_dropped() {
        let nested = |depth: usize| format!("x{}{}y", "ab".repeat(depth), "cd".repeat(depth));
        assert_eq!(cut(&["abcd"], &nested(ROUNDS_MAX - 1)), "xy");
        assert_eq!(cut(&["abcd"], &nested(ROUNDS_MAX)), "");
        assert_eq!(cut(&["abcd"], &nested(1_000)), "");
    }

    #[test]
    fn a_name_that_nearly_repeats_in_a_text_costs_no_more_than_the_budget() {
        let (text, name) = ("a".repeat(500), format!("{}b", "a".repeat(250)));
        // Not in the text, by an unlimited comparison and by the search.
        assert!(!may_contain(&text, &name, usize::MAX));
        assert_eq!(cut(&[&name], &text), text);
        // 250 positions have 250 letters in common with the name.
        assert!(!may_contain(&text, &name, 250 * 250));
        assert!(may_contain(&text, &name, 250 * 250 - 1));
        assert!(!may_contain("an ordinary text about bananas", "banana split", 30));
    }

    /// The same rules in the simplest way: compares every name with every part of the text.
    fn cut_naively(names: &[String], text: &str) -> String {
        let mut kept: Vec<char> = text.chars().collect();
        for _ in 0..ROUNDS_MAX {
            let letters: Vec<(char, usize)> = kept
                .iter()
                .enumerate()
                .flat_map(|(at, letter)| fold(*letter).map(move |it| (it, at)))
                .collect();
            let mut is_cut = vec![false; kept.len()];
            for name in names {
                let wanted: Vec<char> = name.chars().flat_map(fold).collect();
                for start in 0..(letters.len() + 1).saturating_sub(wanted.len()) {
                    let end = start + wanted.len();
                    let is_here = letters[start..end].iter().map(|(it, _)| it).eq(wanted.iter());
                    let is_in_word = |at: usize| {
                        letters.get(at).is_some_and(|(letter, _)| letter.is_alphanumeric())
                    };
                    let is_part = start.checked_sub(1).is_some_and(is_in_word) || is_in_word(end);
                    if is_here && (name.len() >= NAME_BYTES_MIN || !is_part) {
                        letters[start..end].iter().for_each(|(_, at)| is_cut[*at] = true);
                    }
                }
            }
            if !is_cut.contains(&true) {
                return kept.into_iter().collect();
            }
            let rest = kept.iter().zip(&is_cut).filter(|(_, is_cut)| !**is_cut);
            kept = rest.map(|(letter, _)| *letter).collect();
        }
        String::new()
    }

    proptest! {
        #[test]
        fn the_search_cuts_what_a_naive_comparison_cuts(
            names in prop::collection::vec("[abABsSßσςK-]{1,6}", 0..5),
            text in "[abABsSßσςΣkK -]{0,40}",
        ) {
            let search = Search::new(names.iter().map(String::as_str));
            let kept = search.cut_from(&text);
            prop_assert_eq!(&kept, &cut_naively(&names, &text));
            prop_assert_eq!(search.cut_from(&kept), kept.as_ref());
        }

        #[test]
        fn a_text_that_cannot_contain_a_name_is_kept_as_it_is(
            name in "[abAB-]{1,6}", text in "[abAB -]{0,40}", budget in 0usize..60,
        ) {
            if !may_contain(&text, &name, budget) {
                prop_assert_eq!(cut(&[&name], &text), text);
            }
        }
    }
}
