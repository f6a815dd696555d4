//! Finds the sections in which all words of a query occur.

use crate::markdown::{Page, Section};
use crate::query::{self, Term};

pub(crate) const HITS_MAX: usize = 30;
const EXCERPT_CHARS: usize = 180;
const WORDS_OF_A_SECTION: f64 = 120.0;

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

/// The best first: words in the page's title, then in the heading, then in the text. If no section
/// has all words, those of the pages that have them.
pub(crate) fn find<'a>(pages: &'a [Page], query: &str) -> Vec<Hit<'a>> {
    let terms = query::terms(query);
    if terms.is_empty() {
        return Vec::new();
    }
    let mut scored = sections_with_all(pages, &terms);
    if scored.is_empty() {
        scored = sections_of_pages_with_all(pages, &terms);
    }
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    let prefixes: Vec<String> = terms.iter().flat_map(Term::prefixes).collect();
    scored
        .into_iter()
        .take(HITS_MAX)
        .map(|(_, page, section)| Hit { page, section, excerpt: excerpt(&section.text, &prefixes) })
        .collect()
}

type Scored<'a> = (f64, &'a Page, &'a Section);

fn sections_with_all<'a>(pages: &'a [Page], terms: &[Term]) -> Vec<Scored<'a>> {
    let sections =
        pages.iter().flat_map(|page| page.sections.iter().map(move |section| (page, section)));
    let scored = sections.filter_map(|(page, section)| {
        let scores = scores(page, section, terms);
        let has_all = scores.iter().all(|score| *score > 0.0);
        has_all.then(|| (scores.iter().sum(), page, section))
    });
    scored.collect()
}

fn sections_of_pages_with_all<'a>(pages: &'a [Page], terms: &[Term]) -> Vec<Scored<'a>> {
    let of_page = |page: &'a Page| {
        let sections: Vec<(Vec<f64>, &Section)> =
            page.sections.iter().map(|it| (scores(page, it, terms), it)).collect();
        let has = |term: usize| sections.iter().any(|(scores, _)| scores[term] > 0.0);
        if !(0..terms.len()).all(has) {
            return Vec::new();
        }
        let scored = sections.into_iter().map(|(scores, it)| (scores.iter().sum(), page, it));
        scored.filter(|(score, ..)| *score > 0.0).collect()
    };
    pages.iter().flat_map(of_page).collect()
}

/// How well each term fits a section; 0 for one that does not occur. The page's title counts only
/// with the heading or the text, because it alone would find every section.
fn scores(page: &Page, section: &Section, terms: &[Term]) -> Vec<f64> {
    let title = query::tokens(page.source.title());
    let heading = query::tokens(&section.heading);
    let text = query::tokens(&section.text);
    // The overview names everything and explains nothing.
    let of_page = if page.source.slug.is_empty() { 0.5 } else { 1.0 };
    let weight = |term: &Term| {
        let in_heading = if term.count(&heading) > 0 { 20.0 } else { 0.0 };
        let count = term.count(&text) as f64;
        // A short section about it is better than a long one that mentions it as often.
        let in_text = 10.0 * count / (count + 1.0 + text.len() as f64 / WORDS_OF_A_SECTION);
        let found = in_heading + in_text;
        let in_title = if found > 0.0 && term.count(&title) > 0 { 12.0 } else { 0.0 };
        (found + in_title) * term.weight * of_page
    };
    terms.iter().map(weight).collect()
}

fn excerpt(text: &str, prefixes: &[String]) -> Vec<Piece> {
    let text: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let lower: Vec<char> = text.iter().map(|it| it.to_lowercase().next().unwrap_or(*it)).collect();
    let first = (0..lower.len()).find(|at| hit_at(&lower, *at, prefixes).is_some()).unwrap_or(0);
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
        if let Some(length) = hit_at(&lower, at, prefixes) {
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

/// The length of the word that starts here, if it is one of the query's.
fn hit_at(lower: &[char], at: usize, prefixes: &[String]) -> Option<usize> {
    if at > 0 && lower[at - 1].is_alphanumeric() {
        return None;
    }
    let length = lower[at..].iter().take_while(|it| it.is_alphanumeric()).count();
    let word: String = lower[at..at + length].iter().collect();
    let is_hit = length > 0 && prefixes.iter().any(|prefix| query::fits(&word, prefix));
    is_hit.then_some(length)
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

    /// What a reader would type, and the page that should come first.
    const FIRST: [(&str, &str); 65] = [
        ("install", "installing"),
        ("docker", "installing"),
        ("k8s", "installing"),
        ("systemd", "installing"),
        ("upgrade", "running"),
        ("prometheus", "operating"),
        ("backup", "backup"),
        ("how do I restore a backup?", "backup"),
        ("high availability", "scaling"),
        ("two nodes", "scaling"),
        ("move to postgres", "moving"),
        ("benchmark", "performance"),
        ("smtp", "email"),
        ("sso", "console"),
        ("single sign-on", "console"),
        ("2fa", "console"),
        ("two-factor", "console"),
        ("password reset", "console"),
        ("test mode", "console"),
        ("skip logic", "flows"),
        ("branching", "flows"),
        ("conditional questions", "flows"),
        ("translate", "flows"),
        ("upload image", "flows"),
        ("markdown", "flows"),
        ("nps", "question-types"),
        ("matrix", "question-types"),
        ("git", "flows-as-code"),
        ("apply in ci", "flows-as-code"),
        ("typeform", "import-typeform"),
        ("google forms", "import-google-forms"),
        ("import csv", "import-responses"),
        ("embed in a website", "embed"),
        ("iframe", "embed"),
        ("widget", "embed"),
        ("popup", "embed"),
        ("jwt", "identity"),
        ("invite people", "invitations"),
        ("gdpr", "respondents"),
        ("delete a user's data", "respondents"),
        ("erase respondent", "respondents"),
        ("webhook", "events"),
        ("webhook signature", "events"),
        ("slack", "events"),
        ("kafka", "events"),
        ("export csv", "exports"),
        ("export to excel", "exports"),
        ("duckdb", "exports"),
        ("crosstab", "summary"),
        ("dashboard", "console"),
        ("drop-off", "funnel"),
        ("conversion rate", "funnel"),
        ("share results", "reports"),
        ("react", "typescript"),
        ("python", "python"),
        ("grace window", "concepts"),
        ("rate limits of the API", "running"),
        ("quota", "api"),
        ("audit log", "api"),
        ("colors", "hosted"),
        ("uninstall", "installing"),
        ("https", "running"),
        ("zapier", "events"),
        ("sbom", "releasing"),
        ("lost admin token", "running"),
    ];

    #[test]
    fn what_a_reader_would_type_finds_the_page_about_it_first() {
        let pages = site();
        let wrong: Vec<String> = FIRST
            .iter()
            .filter_map(|(query, expected)| {
                let hits = find(&pages, query);
                let found = hits.first().map_or("nothing", |hit| hit.page.source.slug);
                (found != *expected).then(|| {
                    let others: Vec<_> =
                        hits.iter().take(4).map(|hit| &hit.section.anchor).collect();
                    format!("{query}: {found} {others:?}, not {expected}")
                })
            })
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }
}
