//! Finds the sections in which all words of a query occur.

use crate::markdown::{Page, Section};

pub(crate) const QUERY_CHARS_MAX: usize = 200;
pub(crate) const HITS_MAX: usize = 30;
const EXCERPT_CHARS: usize = 180;

/// A section that was found.
#[derive(Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) page: &'a Page,
    pub(crate) section: &'a Section,
    /// The text around the first word, and where the words are in it.
    pub(crate) excerpt: Vec<Piece>,
}

/// A part of an excerpt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) is_hit: bool,
}

/// The best first: words in the page's title, then in the heading, then in the text.
pub(crate) fn find<'a>(pages: &'a [Page], query: &str) -> Vec<Hit<'a>> {
    let words = words(query);
    if words.is_empty() {
        return Vec::new();
    }
    let mut scored: Vec<(usize, &Page, &Section)> = pages
        .iter()
        .flat_map(|page| page.sections.iter().map(move |section| (page, section)))
        .filter_map(|(page, section)| Some((score(page, section, &words)?, page, section)))
        .collect();
    scored.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
    scored
        .into_iter()
        .take(HITS_MAX)
        .map(|(_, page, section)| Hit { page, section, excerpt: excerpt(&section.text, &words) })
        .collect()
}

fn words(query: &str) -> Vec<String> {
    let query: String = query.chars().take(QUERY_CHARS_MAX).collect();
    query.split_whitespace().map(str::to_lowercase).collect()
}

/// None unless each word occurs.
fn score(page: &Page, section: &Section, words: &[String]) -> Option<usize> {
    let title = page.source.title().to_lowercase();
    let heading = section.heading.to_lowercase();
    let text = section.text.to_lowercase();
    words.iter().try_fold(0, |sum, word| {
        let in_title = usize::from(title.contains(word.as_str()));
        let in_heading = usize::from(heading.contains(word.as_str()));
        let in_text = text.matches(word.as_str()).count().min(5);
        // A title alone would find every section of its page.
        (in_heading + in_text > 0).then_some(sum + 8 * in_title + 20 * in_heading + in_text)
    })
}

fn excerpt(text: &str, words: &[String]) -> Vec<Piece> {
    let text: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let lower: Vec<char> = text.iter().map(|it| it.to_lowercase().next().unwrap_or(*it)).collect();
    let first = (0..lower.len()).find(|at| hit_at(&lower, *at, words).is_some()).unwrap_or(0);
    // From the start of a word.
    let near = first.saturating_sub(EXCERPT_CHARS / 3);
    let start =
        if near == 0 { 0 } else { (near..first).find(|at| text[*at] == ' ').unwrap_or(first) };
    let end = (start + EXCERPT_CHARS).min(text.len());
    let mut pieces = Vec::new();
    let mut add = |chars: &[char], is_hit| {
        if !chars.is_empty() {
            pieces.push(Piece { text: chars.iter().collect(), is_hit });
        }
    };
    let (mut at, mut written) = (start, start);
    while at < end {
        if let Some(length) = hit_at(&lower, at, words) {
            let stop = (at + length).min(text.len());
            add(&text[written..at], false);
            add(&text[at..stop], true);
            (at, written) = (stop, stop);
        } else {
            at += 1;
        }
    }
    add(&text[written.min(end)..end], false);
    if start > 0 {
        pieces.insert(0, Piece { text: "…".to_owned(), is_hit: false });
    }
    if end < text.len() {
        pieces.push(Piece { text: "…".to_owned(), is_hit: false });
    }
    pieces
}

fn hit_at(lower: &[char], at: usize, words: &[String]) -> Option<usize> {
    words.iter().find_map(|word| {
        let length = word.chars().count();
        lower[at..].iter().copied().take(length).eq(word.chars()).then_some(length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages;

    fn site() -> Vec<Page> {
        pages::all().map(Page::new).collect()
    }

    #[test]
    fn every_page_is_found_by_its_title() {
        let pages = site();
        for page in &pages {
            let title = page.source.title();
            let found = find(&pages, title);
            let is_found = found.iter().any(|hit| hit.page.source.slug == page.source.slug);
            assert!(is_found, "{title}");
        }
    }

    #[test]
    fn all_words_must_occur_and_are_marked() {
        let pages = site();
        let hits = find(&pages, "GRACE window");
        assert!(!hits.is_empty());
        for hit in &hits {
            let all = format!("{} {}", hit.section.heading, hit.section.text).to_lowercase();
            assert!(all.contains("grace") && all.contains("window"), "{all}");
        }
        let marked = hits.iter().flat_map(|hit| &hit.excerpt).filter(|piece| piece.is_hit);
        assert!(marked.clone().any(|it| it.text.eq_ignore_ascii_case("grace")));
        assert!(find(&pages, "grace xyzzyx").is_empty());
        assert!(find(&pages, " ").is_empty());
    }

    #[test]
    fn an_excerpt_starts_near_the_first_word_and_is_short() {
        let text = format!("{} the Needle here {}", "hay ".repeat(100), "hay ".repeat(100));
        let pieces = excerpt(&text, &["needle".to_owned()]);
        assert_eq!(pieces.iter().filter(|it| it.is_hit).count(), 1);
        assert_eq!(pieces[2], Piece { text: "Needle".to_owned(), is_hit: true });
        assert!(pieces[1].text.starts_with(" hay "), "{pieces:?}");
        let chars: usize = pieces.iter().map(|it| it.text.chars().count()).sum();
        assert!(chars <= EXCERPT_CHARS + 2, "{chars}");
        assert_eq!(excerpt("İ", &["x".to_owned()]).len(), 1, "letters that grow in lower case");
    }
}
