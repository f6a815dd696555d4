//! The top of the results: the number of responses, its change, and its development over time.

use maud::{Markup, html};
use sluice_engine::summary::DayCount;

use super::card::tools;
use super::over_time;
use super::query::date_label;
use super::report::Report;
use crate::chart::{Chart, DayValue, count, decimal, share};
use crate::parts::number;

/// The file name of the chart.
pub(super) const CHART: &str = "responses";

/// The figures for all responses.
pub(super) fn line(report: &Report) -> Markup {
    let summary = &report.summary;
    let (last_week, week_before) = weeks(report);
    html! {
        dl.stats {
            (stat("Responses", html! { (number(summary.responses)) }, list(report)))
            @if report.reader.flow().is_some() {
                (stat("Responses in the last 7 days", html! { (number(last_week)) }, change(last_week, week_before)))
                (stat("Linked to a respondent", html! { (share(summary.admitted, summary.responses)) },
                    html! { (number(summary.admitted)) " of " (count(summary.responses, "response", "responses")) }))
            }
            @if let Some((first, last)) = summary.ends {
                (stat("First and last response", html! { span.stat-days { (date_label(first)) } }, html! {
                    @if first == last { "both on this day (UTC)" } @else { "to " (date_label(last)) " (UTC)" }
                }))
            }
        }
    }
}

/// A link to the list of exactly these responses, where they can be exported.
fn list(report: &Report) -> Markup {
    let address = |flow| report.query.responses_address(flow, report.today(), None);
    html! { @if let Some(flow) = report.reader.flow() { a href=(address(flow)) { "Show these responses" } } }
}

pub(super) fn stat(name: &str, figure: Markup, detail: Markup) -> Markup {
    html! { div.stat { dt { (name) } dd.big { (figure) } dd.hint { (detail) } } }
}

/// The responses of the last seven days, and of the seven before.
fn weeks(report: &Report) -> (u64, u64) {
    let since = report.today().plus(-6);
    let sum = |days: &mut dyn Iterator<Item = &DayCount>| days.map(|day| day.responses).sum();
    let days = &report.recent.days;
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
pub(super) fn responses(report: &Report) -> Markup {
    html! {
        @if let Some(chart) = chart(report) {
            section.card.result {
                header { h2 { "Responses over time" } }
                (chart.figure("chart-responses", tools(report, CHART, "Responses over time")))
                @if let Some(note) = over_time::incomplete(&days(report), report.days) { p.hint { (note) } }
            }
        }
    }
}

fn days(report: &Report) -> Vec<DayValue> {
    let day =
        |it: &DayCount| DayValue { day: it.day.number().into(), count: it.responses, value: None };
    report.summary.days.iter().map(day).collect()
}

pub(super) fn chart(report: &Report) -> Option<Chart> {
    let days = days(report);
    (!days.is_empty()).then(|| over_time::responses(&days, report.days))
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
