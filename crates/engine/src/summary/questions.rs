//! Matches questions over versions, and adds up their counts.
//!
//! The counts of a version number options by their position in it. This module gives each question
//! one numbering for all its versions, in which the newest options come first, followed by those
//! that are no longer offered; counts are then added up under these numbers, in total and by day.

use std::collections::BTreeMap;

use sluice_flow::counts::{self, CountMethod, Counts, QuestionCounts};
use sluice_flow::id::FlowVersionId;
use sluice_flow::question::Question;
use sluice_flow::question::choice::Choice;
use sluice_flow::time::Day;

use super::distribution::{AnswerKind, Choices};
use super::versions::Version;
use super::{AskedUntil, QuestionSummary, Step, count};

/// The counts of each version and day.
type DayCounts<'c> = [(FlowVersionId, Day, &'c Counts)];

/// Summarises the questions of the chosen versions from their counts.
pub(super) fn summed(
    versions: &[Version],
    chosen: &[&Version],
    day_counts: &DayCounts<'_>,
    step: Step,
) -> Vec<QuestionSummary> {
    let mut threads = threads(versions);
    let mut asked: BTreeMap<FlowVersionId, Vec<VersionQuestion<'_>>> = BTreeMap::new();
    for version in chosen {
        let questions = (0..).zip(version.questions());
        let questions = questions.filter_map(|(index, question)| {
            let thread = threads.iter().position(|thread| thread.is_about(question))?;
            Some(VersionQuestion { index, thread, counted: question.question_type.count_method() })
        });
        let questions: Vec<_> = questions.collect();
        questions.iter().for_each(|it| threads[it.thread].is_chosen = true);
        asked.insert(version.flow_version_id, questions);
    }
    for (version, day, counts) in day_counts {
        for VersionQuestion { index, thread, counted } in asked.get(version).into_iter().flatten() {
            let thread = &mut threads[*thread];
            thread.of += counts.responses;
            if let Some(answers) = counts.questions.get(index) {
                thread.add(*counted, step.start_of(*day), answers);
            }
        }
    }
    threads.into_iter().filter(|thread| thread.is_chosen).map(Thread::summary).collect()
}

/// The name of the score where a question has its id; no question has it.
pub const SCORE_ID: &str = ".score";

/// Summarises the score of the chosen versions from their counts.
pub(super) fn score(
    versions: &[Version],
    chosen: &[&Version],
    day_counts: &DayCounts<'_>,
    step: Step,
) -> Option<QuestionSummary> {
    let place = |version: &Version| counts::score_place(version.definition.as_deref()?);
    let age = versions.iter().position(|version| place(version).is_some())?;
    let places: BTreeMap<FlowVersionId, u16> =
        chosen.iter().filter_map(|it| Some((it.flow_version_id, place(it)?))).collect();
    let mut thread = Thread {
        id: SCORE_ID.to_owned(),
        question_type: "number",
        prompt: "Score".to_owned(),
        asked: match age {
            0 => AskedUntil::Now,
            _ => AskedUntil::Version(versions[age].number),
        },
        worded_before: Vec::new(),
        kind: AnswerKind::Numbers,
        is_chosen: !places.is_empty(),
        of: 0,
        whole: QuestionCounts::default(),
        days: BTreeMap::new(),
    };
    for (version, day, counts) in day_counts {
        let Some(place) = places.get(version) else { continue };
        thread.of += counts.responses;
        if let Some(scores) = counts.questions.get(place) {
            thread.add(CountMethod::Number, step.start_of(*day), scores);
        }
    }
    thread.is_chosen.then(|| thread.summary())
}

/// A question of one version.
struct VersionQuestion<'v> {
    index: u16,
    thread: usize,
    counted: CountMethod<'v>,
}

/// One question over its versions.
pub(super) struct Thread {
    pub(super) id: String,
    pub(super) question_type: &'static str,
    pub(super) prompt: String,
    asked: AskedUntil,
    worded_before: Vec<(u32, String)>,
    pub(super) kind: AnswerKind,
    /// Whether a version in the filter asks it.
    is_chosen: bool,
    of: i64,
    whole: QuestionCounts,
    days: BTreeMap<Day, QuestionCounts>,
}

/// Every question that was ever asked; `versions` are newest first.
pub(super) fn threads(versions: &[Version]) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    for (age, version) in versions.iter().enumerate() {
        for question in version.questions() {
            let Some(kind) = AnswerKind::from_count_method(question.question_type.count_method())
            else {
                continue;
            };
            match threads.iter_mut().find(|thread| thread.is_about(question)) {
                Some(thread) => thread.add_older(version.number, question),
                None => threads.push(Thread {
                    id: question.id.clone(),
                    question_type: question.question_type.name(),
                    prompt: question.prompt.clone(),
                    asked: match age {
                        0 => AskedUntil::Now,
                        _ => AskedUntil::Version(version.number),
                    },
                    worded_before: Vec::new(),
                    kind,
                    is_chosen: false,
                    of: 0,
                    whole: QuestionCounts::default(),
                    days: BTreeMap::new(),
                }),
            }
        }
    }
    threads
}

impl Thread {
    pub(super) fn is_about(&self, question: &Question) -> bool {
        self.id == question.id
            && self.question_type == question.question_type.name()
            && self.kind.has_scale_of(question.question_type.count_method())
    }

    /// Adds the text and options of an older version.
    fn add_older(&mut self, number: u32, question: &Question) {
        let prompt = &question.prompt;
        if *prompt != self.prompt && !self.worded_before.iter().any(|(_, it)| it == prompt) {
            self.worded_before.push((number, prompt.clone()));
        }
        match (&mut self.kind, question.question_type.count_method()) {
            (AnswerKind::Options { choices, .. }, CountMethod::Options { options, .. })
            | (AnswerKind::Ranking(choices), CountMethod::Ranking(options)) => {
                choices.add_older(options)
            }
            (
                AnswerKind::Matrix { rows, columns },
                CountMethod::Matrix { rows: theirs, columns: their_columns },
            ) => {
                rows.add_older(theirs);
                columns.add_older(their_columns);
            }
            _ => {}
        }
    }

    /// Adds the counts of one version, which are numbered by the options of that version.
    fn add(&mut self, counted: CountMethod<'_>, day: Day, answers: &QuestionCounts) {
        let day = self.days.entry(day).or_default();
        for sums in [&mut self.whole, day] {
            sums.answered += answers.answered;
            sums.sum = sums.sum.wrapping_add(answers.sum);
            for (key, times) in &answers.keys {
                if let Some(key) = self.kind.key(counted, *key) {
                    *sums.keys.entry(key).or_default() += times;
                }
            }
        }
    }

    fn summary(self) -> QuestionSummary {
        let over_time = self.days.iter().filter(|(_, counts)| counts.answered > 0);
        let over_time = over_time.map(|(day, counts)| self.kind.on_day(*day, counts)).collect();
        let distribution = self.kind.distribution(&self.whole);
        QuestionSummary {
            distribution,
            over_time,
            answered: count(self.whole.answered),
            of: count(self.of),
            id: self.id,
            question_type: self.question_type,
            prompt: self.prompt,
            asked: self.asked,
            worded_before: self.worded_before,
        }
    }
}

impl Choices {
    /// Adds the choices of an older version that newer ones do not have.
    fn add_older(&mut self, older: &[Choice]) {
        for choice in older {
            if self.index_of(&choice.id).is_none() {
                self.add(choice, false);
            }
        }
    }
}
