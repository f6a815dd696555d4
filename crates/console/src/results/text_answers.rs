//! Text answers: frequent words, and the newest answers.

use maud::{Markup, html};
use sluice_engine::summary::QuestionSummary;
use sluice_engine::texts::{TEXT_RESPONSES, Written};

use super::reader::is_prose;
use super::results_data::ResultsData;
use crate::parts::{ago, number};

/// A quoted answer is cut to this many characters; the response has the full text.
const QUOTE_CHARS_MAX: usize = 400;

pub(super) fn texts(data: &ResultsData, question: &QuestionSummary) -> Markup {
    if !data.reader.may_read_texts(&question.id, &data.history) {
        return html! { p.muted { "The text of these answers is not part of this data." } };
    }
    html! {
        @match data.texts.for_question(&question.id) {
            Some(texts) => {
                @if is_prose(question) { (frequent_words(data, texts)) }
                (newest(data, texts))
                p.hint { (source(data, texts)) }
            }
            None => p.muted { (nothing(data)) },
        }
    }
}

fn frequent_words(data: &ResultsData, texts: &Written) -> Markup {
    let most = texts.words.first().map_or(1, |(_, count)| *count).max(1);
    html! {
        @if !texts.words.is_empty() {
            h3 { "Frequent words" }
            ul.words {
                @for (word, count) in &texts.words {
                    @let class = format!("word word-{}", size(*count, most));
                    @let words = html! { bdi { (word) } " " span.number { (number(*count)) } span.unseen { @if *count == 1 { " answer" } @else { " answers" } } };
                    li {
                        @match data.reader.flow() {
                            Some(flow) => a href=(data.query.responses_address(flow, data.today(), Some(word))) class=(class)
                                title={ "Search the responses for " (word) } { (words) },
                            None => span class=(class) { (words) },
                        }
                    }
                }
            }
        }
    }
}

/// Four sizes, by the frequency of a word relative to the most frequent one.
fn size(count: u64, most: u64) -> u64 {
    (4 * count).div_ceil(most).clamp(1, 4)
}

fn newest(data: &ResultsData, texts: &Written) -> Markup {
    html! {
        h3 { "Latest answers" }
        ul.quotes {
            @for (response, text) in &texts.newest {
                li {
                    blockquote dir="auto" { (cut(text)) }
                    @if let Some(flow) = data.reader.flow() {
                        p.hint { a href={ "/console/flows/" (flow) "/responses/" (response) } { (ago(response.made_at())) } }
                    }
                }
            }
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// How many answers the words come from.
fn source(data: &ResultsData, texts: &Written) -> String {
    let answers = if texts.answers == 1 {
        "1 answer".to_owned()
    } else {
        format!("{} answers", number(texts.answers as u64))
    };
    if data.texts.looked_at >= TEXT_RESPONSES {
        format!(
            "From {answers} in the latest {} responses. Common words are hidden.",
            number(TEXT_RESPONSES as u64)
        )
    } else {
        format!("From {answers}. Common words are hidden.")
    }
}

fn nothing(data: &ResultsData) -> String {
    let latest = number(TEXT_RESPONSES as u64);
    if data.texts.looked_at < TEXT_RESPONSES {
        "No answers yet".to_owned()
    } else if data.query == data.query.unfiltered() {
        format!("None of the latest {latest} responses has an answer.")
    } else {
        format!("None of the latest {latest} responses matches the filters and has an answer.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_four_sizes() {
        for (count, most, expected) in
            [(1, 1, 4), (1, 100, 1), (25, 100, 1), (26, 100, 2), (75, 100, 3), (100, 100, 4)]
        {
            assert_eq!(size(count, most), expected, "{count} of {most}");
        }
    }

    #[test]
    fn a_long_answer_is_cut_between_characters() {
        assert_eq!(cut("kurz"), "kurz");
        let long = "ä".repeat(QUOTE_CHARS_MAX + 1);
        assert_eq!(cut(&long).chars().count(), QUOTE_CHARS_MAX + 1);
        assert!(cut(&long).ends_with('…'));
    }
}
