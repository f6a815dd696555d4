//! Cross-tabulates two questions: how often their answers occur together.

use std::collections::BTreeMap;

use sluice_flow::counts::{NumberBin, month_of};
use sluice_flow::crosstab::{CrosstabCounts, CrosstabSide};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowVersionId;
use sluice_flow::question::{NpsGroup, Question};
use sluice_flow::time::Timestamp;

use super::distribution::{AnswerKind, ROOM, capitalised};
use super::questions::{Thread, threads};
use super::significance::Significance;
use super::versions::Version;

/// Up to this many distinct numbers or months, each is a group.
const SINGLE_MAX: usize = 12;
/// More are put into this many groups with about as many answers each.
const GROUPS_MAX: u64 = 8;

/// The answers to two questions together.
#[derive(Debug, Clone, PartialEq)]
pub struct Crosstab {
    pub rows: CrosstabQuestion,
    pub columns: CrosstabQuestion,
    /// By row, then by column.
    pub cells: Vec<Vec<u64>>,
    /// Responses that answer both questions, only one of them, or none: together all responses.
    pub both: u64,
    pub only_rows: u64,
    pub only_columns: u64,
    pub neither: u64,
    /// Responses in the table: those that answer both questions, where a text may be missing.
    pub counted: u64,
    /// There are so many different answers that some are in no cell.
    pub partial: bool,
    pub significance: Significance,
    /// All responses that were stored by then are in it.
    pub as_of: Timestamp,
}

/// One of the two questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrosstabQuestion {
    pub id: String,
    /// The id and the label of the row, for a matrix.
    pub row: Option<(String, String)>,
    pub question_type: &'static str,
    pub prompt: String,
    /// Whether a response may be in several groups.
    pub several: bool,
    pub groups: Vec<CrosstabGroup>,
}

/// An answer, or several that are counted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrosstabGroup {
    pub id: String,
    pub label: String,
    /// Responses of the table in this group.
    pub responses: u64,
}

/// Whether the two questions can be cross-tabulated, by the newest version that asks each.
pub(super) fn faults(
    versions: &[Version],
    rows: &CrosstabSide,
    columns: &CrosstabSide,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (pointer, side) in [("/rows", rows), ("/columns", columns)] {
        let question = versions.iter().find_map(|version| version.question(&side.question));
        let message = match question {
            Some(question) => side.fault(question),
            None => Some("no version of this flow asks this question".to_owned()),
        };
        faults.extend(message.map(|message| Fault::new(pointer, message)));
    }
    if faults.is_empty() && rows == columns {
        faults.push(Fault::new("/columns", "must be another question than rows"));
    }
    faults
}

/// Adds up the counts of the chosen versions; empty means all. `None` if a question is unknown.
pub(super) fn add_up(
    versions: &[Version],
    chosen: &[FlowVersionId],
    (rows, columns): (&CrosstabSide, &CrosstabSide),
    counts: &BTreeMap<FlowVersionId, CrosstabCounts>,
    as_of: Timestamp,
) -> Option<Crosstab> {
    let all = threads(versions);
    let thread = |side: &CrosstabSide| all.iter().find(|thread| thread.id == side.question);
    let (row_thread, column_thread) = (thread(rows)?, thread(columns)?);
    let is_chosen = |id: &FlowVersionId| chosen.is_empty() || chosen.contains(id);
    let mut sums = CrosstabCounts::default();
    for (id, counts) in counts.iter().filter(|(id, _)| is_chosen(id)) {
        let version = versions.iter().find(|it| it.flow_version_id == *id);
        let asked = |side: &CrosstabSide, thread: &Thread| {
            version?.question(&side.question).filter(|it| thread.is_about(it))
        };
        let (row, column) = (asked(rows, row_thread), asked(columns, column_thread));
        add_answered(&mut sums, counts, row.is_some(), column.is_some());
        if let Some((row, column)) = row.zip(column) {
            merge(&mut sums, counts, &|key| key_of(row_thread, row, key), &|key| {
                key_of(column_thread, column, key)
            });
        }
    }
    let (row_groups, column_groups) = (
        Groups::new(&row_thread.kind, &sums.rows),
        Groups::new(&column_thread.kind, &sums.columns),
    );
    let mut cells = vec![vec![0; column_groups.names.len()]; row_groups.names.len()];
    for ((row, column), count) in &sums.cells {
        if let Some((row, column)) = row_groups.index(*row).zip(column_groups.index(*column)) {
            cells[row][column] += count;
        }
    }
    let rows = row_groups.question(row_thread, rows, &sums.rows);
    let columns = column_groups.question(column_thread, columns, &sums.columns);
    let partial = sums.uncounted > 0;
    let significance = match rows.several || columns.several || partial {
        true => Significance::NotTested,
        false => Significance::test(&cells),
    };
    Some(Crosstab {
        rows,
        columns,
        cells,
        both: sums.both,
        only_rows: sums.only_rows,
        only_columns: sums.only_columns,
        neither: sums.neither,
        counted: sums.counted,
        partial,
        significance,
        as_of,
    })
}

/// The key over all versions of a key of one version.
fn key_of(thread: &Thread, question: &Question, key: u32) -> Option<u32> {
    thread.kind.key(question.question_type.count_method(), key)
}

/// Adds how many responses answer both questions, one or none. An answer to an earlier type of a
/// question does not count.
fn add_answered(sums: &mut CrosstabCounts, counts: &CrosstabCounts, row: bool, column: bool) {
    for (in_rows, in_columns, responses) in [
        (row, column, counts.both),
        (row, false, counts.only_rows),
        (false, column, counts.only_columns),
        (false, false, counts.neither),
    ] {
        let sum = match (in_rows, in_columns) {
            (true, true) => &mut sums.both,
            (true, false) => &mut sums.only_rows,
            (false, true) => &mut sums.only_columns,
            (false, false) => &mut sums.neither,
        };
        *sum += responses;
    }
}

type KeyMap<'k> = &'k dyn Fn(u32) -> Option<u32>;

fn merge(sums: &mut CrosstabCounts, counts: &CrosstabCounts, row: KeyMap<'_>, column: KeyMap<'_>) {
    sums.counted += counts.counted;
    sums.uncounted += counts.uncounted;
    for (key, count) in &counts.rows {
        row(*key).into_iter().for_each(|key| *sums.rows.entry(key).or_default() += count);
    }
    for (key, count) in &counts.columns {
        column(*key).into_iter().for_each(|key| *sums.columns.entry(key).or_default() += count);
    }
    for ((one, other), count) in &counts.cells {
        if let Some(key) = row(*one).zip(column(*other)) {
            *sums.cells.entry(key).or_default() += count;
        }
    }
}

/// The name of the numbers from one key to another: `45`, `45 to 60`, `45 to under 46`, `over -46
/// to -45`. A counted range has its end nearer to zero, and not the other.
fn number_range(first: u32, last: u32) -> String {
    let (first, last) = (NumberBin::from_key(first), NumberBin::from_key(last));
    let from =
        if first.far < first.near { format!("over {}", first.far) } else { first.near.to_string() };
    let to =
        if last.far > last.near { format!("under {}", last.far) } else { last.near.to_string() };
    if from == to { from } else { format!("{from} to {to}") }
}

/// The groups of one question, in order.
struct Groups {
    /// Id and label.
    names: Vec<(String, String)>,
    of_key: BTreeMap<u32, usize>,
}

impl Groups {
    fn new(kind: &AnswerKind, used: &BTreeMap<u32, u64>) -> Self {
        let named = |id: &str, label: &str| (id.to_owned(), label.to_owned());
        match kind {
            AnswerKind::Nps => {
                let names = NpsGroup::ALL.map(|group| match group {
                    NpsGroup::Detractors => named("detractors", "Detractors (0 to 6)"),
                    NpsGroup::Passives => named("passives", "Passives (7, 8)"),
                    NpsGroup::Promoters => named("promoters", "Promoters (9, 10)"),
                });
                let groups = NpsGroup::ALL.into_iter().enumerate();
                let keys = groups.flat_map(|(at, group)| group.points().map(move |key| (key, at)));
                Self { names: names.into(), of_key: keys.collect() }
            }
            AnswerKind::Scale { max } => Self::in_order((1..=*max).map(|mark| {
                let mark_text = mark.to_string();
                (mark, (mark_text.clone(), mark_text))
            })),
            AnswerKind::Words(words) => Self::in_order(
                (0..).zip(words.iter().map(|word| ((*word).to_owned(), capitalised(word)))),
            ),
            AnswerKind::Options { choices, .. } => {
                let is_used = |key: u32| used.get(&key).is_some_and(|count| *count > 0);
                let known = (0..).zip(choices.iter());
                let known = known.filter(|(key, it)| it.still_offered || is_used(*key));
                let known = known.map(|(key, it)| (key, named(&it.id, &it.label)));
                let other = u32::try_from(choices.iter().count()).unwrap_or(u32::MAX);
                let other = is_used(other).then(|| (other, named("other", "Other")));
                Self::in_order(known.chain(other))
            }
            AnswerKind::Ranking(choices) => Self::in_order(
                (0..).zip(choices.iter()).map(|(at, it)| (at * ROOM, named(&it.id, &it.label))),
            ),
            AnswerKind::Matrix { columns, .. } => {
                let names: Vec<_> = columns.iter().map(|it| named(&it.id, &it.label)).collect();
                let group = |key: &u32| (*key, (key % ROOM) as usize);
                Self { of_key: used.keys().map(group).collect(), names }
            }
            AnswerKind::Numbers => {
                let mut keys: Vec<(u32, u64)> = used.iter().map(|(k, n)| (*k, *n)).collect();
                let (near, far) =
                    (|key| NumberBin::from_key(key).near, |key| NumberBin::from_key(key).far);
                keys.sort_by(|(one, _), (other, _)| {
                    near(*one).total_cmp(&near(*other)).then(far(*one).total_cmp(&far(*other)))
                });
                // 45 and 45 to under 46 stay together, so that 45 is in one group only.
                let parts = keys.chunk_by(|(one, _), (other, _)| near(*one) == near(*other));
                Self::ranges(&parts.collect::<Vec<_>>(), number_range)
            }
            AnswerKind::Dates => {
                let keys: Vec<(u32, u64)> = used.iter().map(|(k, n)| (*k, *n)).collect();
                Self::ranges(&keys.chunks(1).collect::<Vec<_>>(), |first, last| {
                    match first == last {
                        true => month_of(first),
                        false => format!("{} to {}", month_of(first), month_of(last)),
                    }
                })
            }
            AnswerKind::Text => Self::in_order([
                (sluice_flow::crosstab::ANSWERED, named("answered", "Answered")),
                (sluice_flow::crosstab::NOT_ANSWERED, named("notAnswered", "Not answered")),
            ]),
        }
    }

    /// One group for each key.
    fn in_order(groups: impl IntoIterator<Item = (u32, (String, String))>) -> Self {
        let (keys, names): (Vec<u32>, Vec<_>) = groups.into_iter().unzip();
        Self { of_key: keys.into_iter().zip(0..).collect(), names }
    }

    /// Neighbouring values in groups with about as many answers each, if there are many values. A
    /// value is one key, or several that stay together.
    fn ranges(values: &[&[(u32, u64)]], name: impl Fn(u32, u32) -> String) -> Self {
        let answers = |keys: &[(u32, u64)]| keys.iter().map(|(_, count)| count).sum::<u64>();
        let all: u64 = values.iter().map(|keys| answers(keys)).sum();
        let mut before = 0;
        let mut parts: Vec<(u64, Vec<u32>)> = Vec::new();
        for (at, keys) in (0..).zip(values) {
            let part = match values.len() <= SINGLE_MAX {
                true => at,
                false => before * GROUPS_MAX / all.max(1),
            };
            before += answers(keys);
            let keys = keys.iter().map(|(key, _)| *key);
            match parts.last_mut().filter(|(last, _)| *last == part) {
                Some((_, own)) => own.extend(keys),
                None => parts.push((part, keys.collect())),
            }
        }
        let mut groups = Self { names: Vec::new(), of_key: BTreeMap::new() };
        for (_, keys) in parts {
            let ends = keys.first().zip(keys.last());
            let label = ends.map(|(first, last)| name(*first, *last)).unwrap_or_default();
            groups.of_key.extend(keys.iter().map(|key| (*key, groups.names.len())));
            groups.names.push((label.clone(), label));
        }
        groups
    }

    fn index(&self, key: u32) -> Option<usize> {
        self.of_key.get(&key).copied()
    }

    fn question(
        &self,
        thread: &Thread,
        side: &CrosstabSide,
        used: &BTreeMap<u32, u64>,
    ) -> CrosstabQuestion {
        let mut responses = vec![0; self.names.len()];
        for (key, count) in used {
            if let Some(at) = self.index(*key) {
                responses[at] += count;
            }
        }
        let groups = self.names.iter().zip(responses).map(|((id, label), responses)| {
            CrosstabGroup { id: id.clone(), label: label.clone(), responses }
        });
        let label_of = |row: &String| match &thread.kind {
            AnswerKind::Matrix { rows, .. } => {
                rows.iter().find(|it| it.id == *row).map_or(row.clone(), |it| it.label.clone())
            }
            _ => row.clone(),
        };
        CrosstabQuestion {
            id: thread.id.clone(),
            row: side.row.as_ref().map(|row| (row.clone(), label_of(row))),
            question_type: thread.question_type,
            prompt: thread.prompt.clone(),
            several: matches!(thread.kind, AnswerKind::Options { several: true, .. }),
            groups: groups.collect(),
        }
    }
}
