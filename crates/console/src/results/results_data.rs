//! The data of a query: the summary, the groups of a comparison, the text answers.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use sluice_engine::summary::{Distribution, QuestionSummary, SCORE_ID, Summary};
use sluice_engine::texts::Texts;
use sluice_engine::{
    AdminResult, FlowHandle, QuestionHistory, ReadProgress, Results, SummaryFilter, Summing,
};
use sluice_flow::time::{Day, Timestamp};

use super::compare::{self, ComparisonGroup};
use super::over_time::Days;
use super::query::{Period, ResultsQuery};
use super::reader::Reader;
use crate::answer_filters::{SentForm, admission_label, plain_words};
use crate::chart::SmallMultiples;
use crate::parts::number;

/// The data of a query, or the progress of computing it.
pub(super) enum Reading {
    Ready(Box<ResultsData>),
    Computing(ReadProgress),
}

/// The data of a query.
pub(super) struct ResultsData {
    pub(super) query: ResultsQuery,
    pub(super) history: QuestionHistory,
    pub(super) reader: Reader,
    /// What the form sent, if it could not be added.
    pub(super) sent: SentForm,
    pub(super) now: Timestamp,
    pub(super) summary: Summary,
    /// The days of every chart over time.
    pub(super) days: Days,
    /// The last fourteen days, whatever the period of the query.
    pub(super) recent: Summary,
    /// With a comparison: each group and its summary.
    pub(super) groups: Vec<(ComparisonGroup, Summary)>,
    pub(super) texts: Texts,
    /// Whether the flow has any responses at all.
    pub(super) has_anything: bool,
}

/// A question with the name of its charts.
pub(super) struct Question<'r> {
    pub(super) key: String,
    pub(super) summary: &'r QuestionSummary,
}

impl ResultsData {
    pub(super) async fn read(
        flow: &FlowHandle,
        now: Timestamp,
        summing: &Summing,
        query: ResultsQuery,
        reader: Reader,
    ) -> AdminResult<Reading> {
        let history = summing.asked();
        let filter = query.filter(now.day());
        let both = compare::both_periods(&query, &filter, now.day());
        // Requested with every load: a computation without requests stops.
        let both_prepared = match &both {
            Some(both) => Some(summing.prepare(both).await?),
            None => None,
        };
        let recent = recent(&filter, now.day());
        let both_results = match filter.is_counted() || includes(&filter, &recent) {
            // One after the other, so that the second uses what was read for the first.
            true => match summing.summary(&filter).await? {
                Results::Computing(progress) => return Ok(Reading::Computing(progress)),
                summary => (summary, summing.summary(&recent).await?),
            },
            false => tokio::try_join!(summing.summary(&filter), summing.summary(&recent))?,
        };
        let (mut summary, recent) = match both_results {
            (Results::Ready(summary), Results::Ready(recent)) => (summary, recent),
            (one, other) => return Ok(Reading::Computing(progress([one, other]))),
        };
        if let Some(Results::Computing(progress)) = both_prepared {
            return Ok(Reading::Computing(progress));
        }
        reader.restrict(&mut summary);
        let groups = compare::groups(&query, &filter, &summary, now.day());
        let summaries = groups.iter().map(|group| summing.summary(&group.filter));
        let summaries = try_join_all(summaries).await?;
        if summaries.iter().any(|it| matches!(it, Results::Computing(_))) {
            return Ok(Reading::Computing(progress(summaries)));
        }
        let summaries = summaries.into_iter().filter_map(|it| match it {
            Results::Ready(summary) => Some(summary),
            Results::Computing(_) => None,
        });
        let asking: Vec<&str> = summary
            .questions
            .iter()
            .filter(|question| question.distribution == Distribution::Text && question.answered > 0)
            .filter(|question| reader.may_read_texts(&question.id, &history))
            .map(|question| question.id.as_str())
            .collect();
        let texts = flow.texts(&history, &filter, &asking).await?;
        let groups = groups.into_iter().zip(summaries).collect();
        let has_anything = summary.responses > 0
            || !query.is_everything()
                && flow.responses_by_version().await?.values().any(|it| *it > 0);
        let days = shown_days(&query, &summary, now.day());
        let sent = SentForm::default();
        let data = Self {
            query,
            history,
            reader,
            sent,
            now,
            summary,
            days,
            recent,
            groups,
            texts,
            has_anything,
        };
        Ok(Reading::Ready(Box::new(data)))
    }

    pub(super) fn today(&self) -> Day {
        self.now.day()
    }

    /// The query in words.
    pub(super) fn words(&self) -> String {
        let number_of = |id| {
            self.summary.versions.iter().find(|it| it.flow_version_id == id).map(|it| it.number)
        };
        let version = self.query.version.map(|id| match number_of(id) {
            Some(number) => format!("version {number}"),
            None => "an unknown version".to_owned(),
        });
        let tag = self.query.tag.as_ref().map(|(name, value)| format!("{name}: {value}"));
        let answers = self.query.answers.iter();
        let answers = answers.map(|(name, value)| {
            match self.reader.may_read_filter(name, value, &self.history) {
                true => plain_words(&self.history, name, value),
                false => "answers to another question".to_owned(),
            }
        });
        let mut words = vec![self.query.period.label()];
        words.extend(version);
        words.extend(tag);
        words.extend(self.query.admission.map(|it| admission_label(it).to_owned()));
        words.extend(answers);
        words.push(match self.summary.responses {
            1 => "1 response".to_owned(),
            many => format!("{} responses", number(many)),
        });
        words.join(" · ")
    }

    /// The questions, each with a unique name: a question that changed its type is listed twice.
    pub(super) fn questions(&self) -> impl Iterator<Item = Question<'_>> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        self.summary.questions.iter().map(move |summary| {
            let times = seen.entry(&summary.id).or_default();
            *times += 1;
            let key =
                if *times == 1 { summary.id.clone() } else { format!("{}.{times}", summary.id) };
            Question { key, summary }
        })
    }

    /// The score, if the flow has scores.
    pub(super) fn score(&self) -> Option<Question<'_>> {
        let summary = self.summary.score.as_ref()?;
        Some(Question { key: SCORE_ID.to_owned(), summary })
    }

    /// The charts of a question for each group of the comparison; none if it cannot be drawn.
    pub(super) fn compared<'r>(
        &'r self,
        question: &'r QuestionSummary,
    ) -> Option<SmallMultiples<'r>> {
        let compare = self.query.compare.as_ref()?;
        compare::multiples(compare, &self.groups, question, self.summary.responses)
    }
}

/// The progress of those that are being computed.
fn progress(all: impl IntoIterator<Item = Results<Summary>>) -> ReadProgress {
    let computing = all.into_iter().filter_map(|it| match it {
        Results::Computing(progress) => Some(progress),
        Results::Ready(_) => None,
    });
    computing.fold(ReadProgress::default(), ReadProgress::and)
}

/// A selected period is shown in full, even if its ends have no responses.
fn shown_days(query: &ResultsQuery, summary: &Summary, today: Day) -> Days {
    let (from, to) = query.period.days(today);
    let first = summary.days.first().map_or(today, |it| it.day);
    let last = summary.days.last().map_or(today, |it| it.day);
    let (from, to) = (from.unwrap_or(first).min(first), to.unwrap_or(last).max(last));
    // A new flow shows at least one week.
    let from = if query.period == Period::All { from.min(to.plus(-6)) } else { from };
    Days { shown: (from, to), selected: query.period.days(today), today }
}

/// Whether the days of one filter include those of another.
fn includes(filter: &SummaryFilter, other: &SummaryFilter) -> bool {
    filter.from.is_none_or(|from| other.from.is_some_and(|it| it >= from))
        && filter.to.is_none_or(|to| other.to.is_some_and(|it| it <= to))
}

fn recent(filter: &SummaryFilter, today: Day) -> SummaryFilter {
    SummaryFilter { from: Some(today.plus(-13)), to: Some(today), ..filter.clone() }
}
