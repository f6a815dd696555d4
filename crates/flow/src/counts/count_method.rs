//! How a question is counted, and the keys of its answers.

use super::bytes::{put, put_signed};
use super::number;
use crate::date::is_date;
use crate::question::choice::{Choice, OTHER_PREFIX};
use crate::text_map::Texts;

/// How the answers to a question are counted: the keys that an answer is counted under.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CountMethod<'q> {
    /// The question takes no answer.
    Never,
    /// Only whether there is an answer.
    Presence,
    /// The key is the score, from 0 to 10.
    Nps,
    /// The key is the rating, from 1 to `max`.
    Scale { max: u32 },
    /// The key is the index of the word.
    Words(&'static [&'static str]),
    /// The key is the index of the option; a free-text "other" comes after all of them.
    Options { options: &'q [Choice], several: bool },
    /// One key for each option: its index times the number of options, plus its rank from 0.
    Ranking(&'q [Choice]),
    /// One key for each row: the index of the row times the number of columns, plus that of the
    /// column.
    Matrix { rows: &'q [Choice], columns: &'q [Choice] },
    /// The key is a [`super::NumberBin`]; numbers are also summed.
    Number,
    /// The key is a month, see [`month_of`].
    Date,
}

/// Dates in these years are counted by month, others by year.
const MONTHS_FROM: u32 = 1900;
const MONTHS_UNTIL: u32 = 2100;

impl CountMethod<'_> {
    pub(super) fn has_sum(&self) -> bool {
        matches!(self, Self::Number)
    }

    /// Writes the sum, if any, and the keys of an answer, each plus one.
    pub(super) fn put(&self, answer: &Texts<'_>, out: &mut Vec<u8>) {
        if self.has_sum() {
            let found = number::key_and_sum(first(answer));
            put_signed(out, found.map_or(0, |(_, sum)| sum));
            found.into_iter().for_each(|(key, _)| put(out, u64::from(key) + 1));
        } else {
            self.each_key(answer, |key| put(out, u64::from(key) + 1));
        }
    }

    /// The keys of an answer, each once.
    pub(crate) fn keys(&self, answer: &Texts<'_>) -> Vec<u32> {
        let mut keys = Vec::new();
        self.each_key(answer, |key| keys.push(key));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn each_key(&self, answer: &Texts<'_>, mut key: impl FnMut(u32)) {
        match *self {
            Self::Never | Self::Presence => {}
            Self::Nps => mark(first(answer), 0, 10).into_iter().for_each(key),
            Self::Scale { max } => mark(first(answer), 1, max).into_iter().for_each(key),
            Self::Words(words) => {
                let word = first(answer);
                words.iter().position(|one| *one == word).and_then(small).into_iter().for_each(key);
            }
            Self::Options { options, .. } => {
                for chosen in answer.as_slice() {
                    let place = match place_of(options, chosen) {
                        None if chosen.starts_with(OTHER_PREFIX) => small(options.len()),
                        place => place,
                    };
                    place.into_iter().for_each(&mut key);
                }
            }
            Self::Ranking(options) => {
                let count = small(options.len()).unwrap_or(0);
                for (rank, id) in (0..count).zip(answer.as_slice()) {
                    place_of(options, id)
                        .map(|it| it * count + rank)
                        .into_iter()
                        .for_each(&mut key);
                }
            }
            Self::Matrix { rows, columns } => {
                let count = small(columns.len()).unwrap_or(0);
                for cell in answer.as_slice() {
                    let Some((row, column)) = cell.split_once(':') else { continue };
                    let place = place_of(rows, row).zip(place_of(columns, column));
                    place.map(|(row, column)| row * count + column).into_iter().for_each(&mut key);
                }
            }
            Self::Number => {
                number::key_and_sum(first(answer)).into_iter().for_each(|(own, _)| key(own));
            }
            Self::Date => month_key(first(answer)).into_iter().for_each(key),
        }
    }
}

fn first<'t>(answer: &'t Texts<'_>) -> &'t str {
    answer.as_slice().first().map_or("", |text| text.as_ref())
}

fn small(place: usize) -> Option<u32> {
    u32::try_from(place).ok()
}

fn place_of(choices: &[Choice], id: &str) -> Option<u32> {
    choices.iter().position(|choice| choice.id == id).and_then(small)
}

fn mark(text: &str, low: u32, high: u32) -> Option<u32> {
    text.parse().ok().filter(|mark| (low..=high).contains(mark))
}

/// The year times 13 plus the month, or plus 0 if the year is not counted by month.
fn month_key(text: &str) -> Option<u32> {
    if !is_date(text) {
        return None;
    }
    let year: u32 = text.get(..4)?.parse().ok()?;
    let month: u32 = text.get(5..7)?.parse().ok()?;
    let has_month = (MONTHS_FROM..MONTHS_UNTIL).contains(&year);
    Some(year * 13 + if has_month { month } else { 0 })
}

/// The month of a key as `YYYY-MM`, or its year as `YYYY`. These sort like the keys.
pub fn month_of(key: u32) -> String {
    match (key / 13, key % 13) {
        (year, 0) => format!("{year:04}"),
        (year, month) => format!("{year:04}-{month:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_counted_by_month_or_in_distant_years_by_year() {
        for (text, month) in [
            ("2026-11-15", "2026-11"),
            ("1900-01-01", "1900-01"),
            ("2099-12-31", "2099-12"),
            ("1899-12-31", "1899"),
            ("2100-01-01", "2100"),
            ("0001-01-01", "0001"),
        ] {
            assert_eq!(month_of(month_key(text).unwrap()), month);
        }
        assert_eq!(month_key("2026-02-30"), None);
    }
}
