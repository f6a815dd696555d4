//! The top of the results: the number of responses, its change, and its development over time.

use maud::{Markup, html};
use sluice_engine::summary::{DayCount, Distribution, QuestionSummary};

use super::card::tools;
use super::headline::Headline;
use super::over_time;
use super::query::date_label;
use super::results_data::ResultsData;
use crate::chart::{Chart, DayValue, count, decimal, share};
use crate::parts::number;

/// The file name of the chart.
pub(super) const CHART: &str = "responses";

/// The figures for all responses. `visits` are those of the visits.
pub(super) fn line(data: &ResultsData, visits: Option<Markup>) -> Markup {
    let summary = &data.summary;
    let (last_week, week_before) = weeks(data);
    html! {
        dl.stats {
            (stat("Responses", html! { (number(summary.responses)) }, html! { (days_of(data)) (list(data)) }))
            @if let Some(visits) = visits { (visits) }
            (score(data))
            @if data.reader.flow().is_some() {
                (stat("Responses in the last 7 days", html! { (number(last_week)) }, change(last_week, week_before)))
                (stat("Linked to a respondent", html! { (share(summary.admitted, summary.responses)) },
                    html! { (number(summary.admitted)) " of " (count(summary.responses, "response", "responses")) }))
            }
        }
    }
}

/// The first net promoter score, which is the figure that most readers look for.
fn score(data: &ResultsData) -> Markup {
    let is_nps = |it: &&QuestionSummary| matches!(it.distribution, Distribution::Nps { .. });
    let mut questions = data.summary.questions.iter().filter(|it| it.answered > 0);
    html! {
        @if let Some(question) = questions.find(is_nps) {
            @let headline = Headline::new(question);
            (stat("Net promoter score", html! { (headline.figure) }, html! { (headline.base) }))
        }
    }
}

/// The days of the first and the last response.
fn days_of(data: &ResultsData) -> Markup {
    html! {
        @match data.summary.ends {
            Some((first, last)) if first == last => span.stat-days { (date_label(first)) " (UTC)" },
            Some((first, last)) => span.stat-days { (date_label(first)) " to " (date_label(last)) " (UTC)" },
            None => {}
        }
    }
}

/// A link to the list of exactly these responses, where they can be exported.
fn list(data: &ResultsData) -> Markup {
    let address = |flow| data.query.responses_address(flow, data.today(), None);
    html! { @if let Some(flow) = data.reader.flow() { a href=(address(flow)) { "Show these responses" } } }
}

pub(super) fn stat(name: &str, figure: Markup, detail: Markup) -> Markup {
    html! { div.stat { dt { (name) } dd.big { (figure) } dd.hint { (detail) } } }
}

/// The responses of the last seven days, and of the seven before.
fn weeks(data: &ResultsData) -> (u64, u64) {
    let since = data.today().plus(-6);
    let sum = |days: &mut dyn Iterator<Item = &DayCount>| days.map(|day| day.responses).sum();
    let days = &data.recent.days;
    (
        sum(&mut days.iter().filter(|day| day.day >= since)),
        sum(&mut days.iter().filter(|day| day.day < since)),
    )
}

/// As text with a sign; a colour would be a judgement.
fn change(now: u64, before: u64) -> Markup {
    let text = match (now, before) {
        (0, 0) => "none in the previous 7 days either".to_owned(),
        (_, 0) => "none in the previous 7 days".to_owned(),
        (now, before) if now == before => {
            format!("as many as in the previous 7 days ({})", number(before))
        }
        (now, before) => {
            let percent = 100.0 * (now as f64 - before as f64) / before as f64;
            let (arrow, word) = if now > before { ("▲", "more") } else { ("▼", "fewer") };
            format!(
                "{arrow} {}% {word} than in the previous 7 days ({})",
                decimal(percent.abs(), 0),
                number(before)
            )
        }
    };
    html! { (text) }
}

/// Responses over time, as a card.
pub(super) fn responses(data: &ResultsData) -> Markup {
    html! {
        @if let Some(chart) = chart(data) {
            section.card.result {
                header { h2 { "Responses over time" } }
                (chart.figure("chart-responses", tools(data, CHART, "Responses over time")))
                @if let Some(note) = over_time::incomplete(&days(data), data.days) { p.hint { (note) } }
            }
        }
    }
}

fn days(data: &ResultsData) -> Vec<DayValue> {
    let day =
        |it: &DayCount| DayValue { day: it.day.number().into(), count: it.responses, value: None };
    data.summary.days.iter().map(day).collect()
}

pub(super) fn chart(data: &ResultsData) -> Option<Chart> {
    let days = days(data);
    (!days.is_empty()).then(|| over_time::responses(&days, data.days))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_described_in_words() {
        for (now, before, text) in [
            (0, 0, "none in the previous 7 days either"),
            (5, 0, "none in the previous 7 days"),
            (5, 5, "as many as in the previous 7 days (5)"),
            (6, 4, "▲ 50% more than in the previous 7 days (4)"),
            (1, 4, "▼ 75% fewer than in the previous 7 days (4)"),
        ] {
            assert_eq!(change(now, before).into_string(), text);
        }
    }
}
