//! The card of one question.

use maud::{Markup, html};
use sluice_engine::summary::{AskedUntil, Distribution, QuestionSummary};
use sluice_flow::counts::CountMethod;
use sluice_flow::id::FlowId;
use sluice_flow::question::QuestionType;

use super::headline::Headline;
use super::results_data::{Question, ResultsData};
use super::text_answers;
use super::{compare, over_time, question_chart};
use crate::chart::{FEW, count, share};
use crate::parts::number;

/// A question: its headline figure, the distribution, and the development over time; or the groups
/// of a comparison side by side.
pub(super) fn card(data: &ResultsData, at: usize, item: &Question<'_>) -> Markup {
    let question = item.summary;
    let id = format!("question-{}", at + 1);
    html! {
        section.card.result aria-labelledby=(id) {
            header {
                div.result-title {
                    h2 id=(id) dir="auto" { (question.prompt) }
                    p.hint { (kind_of(question)) " · answered in " (answered(question)) }
                }
                @if let AskedUntil::Version(number) = question.asked { span.tag { "Asked until version " (number) } }
            }
            (wordings(question))
            @if question.answered > 0 && question.answered < FEW {
                p.hint.few { "Fewer than " (FEW) " answers: shares are not reliable." }
            }
            @if data.groups.is_empty() {
                (alone(data, &id, item))
            } @else {
                (compared(data, &id, item))
            }
            @if let Some(flow) = data.reader.flow() { (more(flow, data, question)) }
        }
    }
}

/// The score of the responses, like a question that is answered with a number.
pub(super) fn score(data: &ResultsData, item: &Question<'_>) -> Markup {
    const ID: &str = "score";
    let score = item.summary;
    html! {
        section.card.result aria-labelledby=(ID) {
            header {
                div.result-title {
                    h2 id=(ID) { "Score" }
                    p.hint { "Sum of the scores of the answers · " (count(score.answered, "response", "responses")) }
                }
                @if let AskedUntil::Version(number) = score.asked { span.tag { "Scored until version " (number) } }
            }
            @if data.groups.is_empty() { (alone(data, ID, item)) } @else { (compared(data, ID, item)) }
        }
    }
}

/// Links to other pages about the question, with the same filters.
fn more(flow: FlowId, data: &ResultsData, question: &QuestionSummary) -> Markup {
    let address =
        |page: &str, name: &str, id: &str| data.query.page_address(flow, page, &[(name, id)]);
    let rows = match &question.distribution {
        // Each row of a matrix is a separate question.
        Distribution::Matrix { rows, .. } => match rows.first() {
            Some((row, _)) => format!("{}:{row}", question.id),
            None => question.id.clone(),
        },
        _ => question.id.clone(),
    };
    html! {
        @if question.answered > 0 {
            p.result-more {
                @if question.distribution == Distribution::Text {
                    @let read = match question.answered { 1 => "Read the answer".to_owned(), many => format!("Read all {} answers", number(many)) };
                    a href=(address("answers", "question", &question.id)) aria-label={ (read) ": " (question.prompt) } { (read) }
                    " · "
                }
                a href=(address("crosstab", "rows", &rows)) aria-label={ "Cross-tabulate: " (question.prompt) } { "Cross-tabulate" }
            }
        }
    }
}

fn alone(data: &ResultsData, id: &str, item: &Question<'_>) -> Markup {
    let Question { key, summary: question } = item;
    let figure = |kind: &str, chart: Option<crate::chart::Chart>, name: &str| {
        let chart = chart?;
        let tools = tools(data, &format!("{kind}-{key}"), name);
        Some(chart.figure(&format!("{id}-{kind}"), tools))
    };
    html! {
        div.result-body {
            @if !matches!(question.distribution, Distribution::Nps { .. }) { (Headline::new(question).markup()) }
            @if let Some(chart) = figure("question", question_chart::distribution(question), &question.prompt) {
                div.result-main { (chart) }
            } @else if question.distribution == Distribution::Text {
                div.result-main { (text_answers::texts(data, question)) }
            }
            @if let Some(chart) = figure("points", question_chart::points(question), "Answers from 0 to 10") {
                div.result-side { h3 { "Answers from 0 to 10" } (chart) }
            }
            @if let Some(chart) = figure("time", over_time::headline(question, data.days), "Over time") {
                div.result-time { h3 { (over_time::heading(question)) } (chart) }
            }
        }
    }
}

fn compared(data: &ResultsData, id: &str, item: &Question<'_>) -> Markup {
    let Question { key, summary: question } = item;
    html! {
        @match data.compared(question) {
            Some(multiples) => (multiples.figure(id, tools(data, &format!("question-{key}"), &question.prompt))),
            None if question.distribution == Distribution::Text => {
                dl.group-answers {
                    @for (name, part) in compare::parts(&data.groups, question) {
                        div { dt dir="auto" { (name) } dd { (answered(part)) } }
                    }
                }
                (text_answers::texts(data, question))
            }
            None => p.muted { "No answers in these groups" },
        }
    }
}

/// The download formats of a chart; a shared report has none.
pub(super) fn tools(data: &ResultsData, chart: &str, name: &str) -> Markup {
    match data.reader.flow() {
        Some(flow) => tools_at(&data.query.chart_address(flow, chart), chart, name),
        None => html! {},
    }
}

/// The download formats of a chart at an address. The script renders the PNG from the SVG.
pub(super) fn tools_at(address: &str, chart: &str, name: &str) -> Markup {
    html! {
        div.chart-tools {
            a.button.small.quiet href=(address) download={ (chart) ".svg" } aria-label={ "Download as SVG: " (name) } { "SVG" }
            button.button.small.quiet type="button" data-png=(address) data-name={ (chart) ".png" } aria-label={ "Download as PNG: " (name) } hidden { "PNG" }
        }
    }
}

fn answered(question: &QuestionSummary) -> String {
    let QuestionSummary { answered, of, .. } = question;
    let responses = count(*of, "response", "responses");
    format!("{} of {responses} ({})", number(*answered), share(*answered, *of))
}

/// The earlier texts of the question, if it was edited.
fn wordings(question: &QuestionSummary) -> Markup {
    html! {
        @if !question.worded_before.is_empty() {
            details.more.wordings {
                summary { "Earlier wording" }
                ul {
                    @for (number, prompt) in &question.worded_before {
                        li { "Until version " (number) ": " q dir="auto" { (prompt) } }
                    }
                }
            }
        }
    }
}

/// The question type, with the label that authors see.
fn kind_of(question: &QuestionSummary) -> String {
    let name = question.question_type;
    let label = QuestionType::label_of(name).unwrap_or(name);
    match QuestionType::blank(name).as_ref().map(QuestionType::count_method) {
        Some(CountMethod::Options { several: true, .. }) => {
            format!("{label}, shares may add up to more than 100%")
        }
        _ => label.to_owned(),
    }
}
