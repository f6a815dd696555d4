//! The data of a view: the summary, the groups of a comparison, the text answers.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use sluice_engine::summary::{Distribution, QuestionSummary, Summary};
use sluice_engine::texts::Texts;
use sluice_engine::{AdminResult, FlowHandle, SummaryFilter};
use sluice_flow::time::{Day, Timestamp};

use super::compare::{self, Part};
use super::head;
use super::picture;
use super::view::View;
use crate::chart::Chart;
use crate::parts::number;

/// The data of a view.
pub(super) struct Report {
    pub(super) view: View,
    pub(super) now: Timestamp,
    pub(super) summary: Summary,
    /// The last fourteen days, whatever the period of the view.
    pub(super) lately: Summary,
    /// With a comparison: each group and its summary.
    pub(super) parts: Vec<(Part, Summary)>,
    pub(super) texts: Texts,
    /// Whether the flow has any responses at all.
    pub(super) has_anything: bool,
}

/// A question with the name of its charts.
pub(super) struct Question<'r> {
    pub(super) key: String,
    pub(super) summary: &'r QuestionSummary,
}

impl Report {
    pub(super) async fn read(flow: &FlowHandle, now: Timestamp, view: View) -> AdminResult<Self> {
        let filter = view.filter(now.day());
        let summing = flow.summing().await?;
        if let Some(both) = compare::both_periods(&view, &filter, now.day()) {
            summing.prepare(&both).await?;
        }
        let summary = summing.summary(&filter).await?;
        let lately = summing.summary(&lately(&filter, now.day())).await?;
        let parts = compare::parts(&view, &filter, &summary, now.day());
        let summaries = parts.iter().map(|part| summing.summary(&part.filter));
        let summaries = try_join_all(summaries).await?;
        let asking: Vec<&str> = summary
            .questions
            .iter()
            .filter(|question| question.distribution == Distribution::Text && question.answered > 0)
            .map(|question| question.id.as_str())
            .collect();
        let texts = flow.texts(&filter, &asking).await?;
        let parts = parts.into_iter().zip(summaries).collect();
        let has_anything = summary.responses > 0
            || !view.is_everything()
                && flow.responses_by_version().await?.values().any(|it| *it > 0);
        Ok(Self { view, now, summary, lately, parts, texts, has_anything })
    }

    pub(super) fn today(&self) -> Day {
        self.now.day()
    }

    /// The view in words.
    pub(super) fn words(&self) -> String {
        let number_of = |id| {
            self.summary.versions.iter().find(|it| it.flow_version_id == id).map(|it| it.number)
        };
        let version = self.view.version.map(|id| match number_of(id) {
            Some(number) => format!("version {number}"),
            None => "an unknown version".to_owned(),
        });
        let tag = self.view.tag.as_ref().map(|(name, value)| format!("{name}: {value}"));
        let mut words = vec![self.view.period.words()];
        words.extend(version);
        words.extend(tag);
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

    /// A chart by its file name.
    pub(super) fn chart(&self, name: &str) -> Option<Chart> {
        if name == head::CHART {
            return head::chart(self);
        }
        let (kind, key) = name.split_once('-')?;
        let question = self.questions().find(|question| question.key == key)?;
        match kind {
            "question" if self.parts.is_empty() => picture::distribution(question.summary),
            "question" => Some(compare::multiples(self, question.summary)?.chart()),
            "points" => picture::points(question.summary),
            "time" => picture::over_time(question.summary),
            _ => None,
        }
    }
}

fn lately(filter: &SummaryFilter, today: Day) -> SummaryFilter {
    SummaryFilter { from: Some(today.plus(-13)), to: Some(today), ..filter.clone() }
}
