//! Cross-tabulation: the answers to two questions together, as a table and as stacked bars.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::summary::crosstab::{Crosstab, CrosstabQuestion};
use sluice_engine::summary::significance::{P_MAX, Significance};
use sluice_engine::{QuestionHistory, Results};
use sluice_flow::counts::Counted;
use sluice_flow::crosstab::CrosstabSide;
use sluice_flow::id::FlowId;

use super::computing;
use super::query::{ResultsQuery, page_path};
use crate::Console;
use crate::answer_filters::{cut, words};
use crate::chart::{FEW, ShareGroup, StackedShares, decimal, share};
use crate::frame::{Frame, NavItem, Tab};
use crate::parts::{empty, number};
use crate::reply::{Kind, Reply};
use crate::request::{PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

pub(super) async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let summing = state.summing().await?;
    let history = summing.asked();
    let query = ResultsQuery::from_fields(&fields).known(&history);
    let choices = choices(&history);
    let chosen = |name: &str| {
        let value = fields.get(name)?;
        choices.iter().find(|(id, _)| id == value).map(|(id, _)| id.as_str())
    };
    let (rows, columns) = (chosen("rows"), chosen("columns"));
    let title = format!("Cross-tabulation · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Results), &title);
    let content = match rows.zip(columns).filter(|(rows, columns)| rows != columns) {
        None => {
            html! { p.muted { "Choose two different questions to see how their answers go together." } }
        }
        Some((rows, columns)) => {
            let here =
                query.page_address(flow, "crosstab", &[("rows", rows), ("columns", columns)]);
            let sides = (CrosstabSide::parse(rows), CrosstabSide::parse(columns));
            let filter = query.filter(sidebar.now.day());
            match summing.crosstab(&sides.0, &sides.1, &filter).await? {
                Results::Computing(progress) => {
                    return Ok(computing::page(frame, progress, &here));
                }
                Results::Ready(table) => shown(&table),
            }
        }
    };
    let content = html! {
        p { a href=(query.address(flow)) { "← Results" } }
        (form(flow, &query, &choices, rows, columns))
        (filters(&query, &history))
        (content)
    };
    Ok(frame.page(Kind::Shown, content))
}

/// The questions to choose from, as the parameter and its label; each row of a matrix is one.
fn choices(history: &QuestionHistory) -> Vec<(String, String)> {
    let mut choices = Vec::new();
    for question in &history.questions {
        let newest = history.types_of(&question.id).last();
        match newest.map(|it| it.counted()) {
            Some(Counted::Matrix { rows, .. }) => choices.extend(rows.iter().map(|row| {
                let label = format!("{}: {}", cut(&question.prompt), cut(&row.label));
                (format!("{}:{}", question.id, row.id), label)
            })),
            Some(_) => choices.push((question.id.clone(), cut(&question.prompt))),
            None => {}
        }
    }
    choices
}

fn form(
    flow: FlowId,
    query: &ResultsQuery,
    choices: &[(String, String)],
    rows: Option<&str>,
    columns: Option<&str>,
) -> Markup {
    let select = |name: &str, label: &str, chosen: Option<&str>| {
        html! {
            div.field {
                label for=(name) { (label) }
                select.input id=(name) name=(name) {
                    option value="" { "Choose a question" }
                    @for (id, label) in choices { option value=(id) selected[chosen == Some(id.as_str())] { (label) } }
                }
            }
        }
    };
    html! {
        form.inline method="get" action=(page_path(flow, "crosstab")) {
            @for (name, value) in query.pairs() { input type="hidden" name=(name) value=(value); }
            (select("rows", "Groups (rows)", rows))
            (select("columns", "Answers (columns)", columns))
            button.button.primary type="submit" { "Show" }
        }
    }
}

/// The filters in words; the page of results changes them.
pub(super) fn filters(query: &ResultsQuery, history: &QuestionHistory) -> Markup {
    html! {
        p.hint {
            (query.period.words())
            @if query.version.is_some() { " · one version" }
            @if let Some((name, value)) = &query.tag { " · " bdi { (name) } ": " bdi { (value) } }
            @if let Some(admission) = query.admission { " · " (crate::answer_filters::admission_label(admission)) }
            @for (name, value) in &query.answers { " · " (words(history, name, value)) }
        }
    }
}

fn shown(table: &Crosstab) -> Markup {
    html! {
        (computing::current(table.as_of))
        @if table.both == 0 {
            (empty("No responses answer both questions", "Choose other questions or filters.", html! {}))
        } @else {
            section.card.result aria-labelledby="crosstab-title" {
                header {
                    div.result-title {
                        h2 id="crosstab-title" { bdi { (name(&table.rows)) } " by " bdi { (name(&table.columns)) } }
                        p.hint { (base(table)) }
                    }
                }
                p { (hint(table)) }
                @if table.both < FEW { p.hint.few { "Fewer than " (FEW) " responses: shares are not reliable." } }
                @if table.partial { p.note { "There are too many different answers to count all of them here." } }
                (numbers(table))
                @if !table.columns.several { (bars(table)) }
            }
        }
    }
}

fn name(question: &CrosstabQuestion) -> String {
    match &question.row {
        Some((_, row)) => format!("{}: {row}", question.prompt),
        None => question.prompt.clone(),
    }
}

fn base(table: &Crosstab) -> String {
    let missing = table.only_rows + table.only_columns + table.neither;
    let base = match table.both {
        1 => "1 response answers both".to_owned(),
        both => format!("{} responses answer both", number(both)),
    };
    match missing {
        0 => base,
        1 => format!("{base}; 1 without an answer to one of them is left out"),
        missing => {
            format!("{base}; {} without an answer to one of them are left out", number(missing))
        }
    }
}

/// Whether the differences could be chance, in plain words.
fn hint(table: &Crosstab) -> String {
    match table.significance {
        Significance::NotTested if table.rows.several || table.columns.several => {
            "A response can be in several groups, so the differences are not tested.".to_owned()
        }
        Significance::NotTested => {
            "There is only one group, so there is nothing to compare.".into()
        }
        Significance::TooFew => format!(
            "Too few answers to tell whether the differences are more than chance (n = {}).",
            number(table.both)
        ),
        Significance::Tested { p, .. } if p >= P_MAX => {
            format!("The differences between the groups could be chance ({}).", p_value(p))
        }
        Significance::Tested { p, .. } => {
            format!(
                "The differences between the groups are unlikely to be chance ({}).",
                p_value(p)
            )
        }
    }
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", decimal(p, 3)) }
}

/// Counts, and the share of each column in its row.
fn numbers(table: &Crosstab) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table: counts, and shares of each row" {
            table.table.crosstab-table {
                thead {
                    tr {
                        th scope="col" { "Group" }
                        @for group in &table.columns.groups { th scope="col" dir="auto" { (group.label) } }
                        th scope="col" { "Responses" }
                    }
                }
                tbody {
                    @for (group, cells) in table.rows.groups.iter().zip(&table.cells) {
                        tr {
                            th scope="row" dir="auto" { (group.label) }
                            @for cell in cells { (cell_of(*cell, group.responses)) }
                            (cell_of(group.responses, table.both))
                        }
                    }
                    tr {
                        th scope="row" { "All" }
                        @for group in &table.columns.groups { (cell_of(group.responses, table.both)) }
                        (cell_of(table.both, table.both))
                    }
                }
            }
        }
    }
}

fn cell_of(count: u64, of: u64) -> Markup {
    html! { td { (number(count)) " " span.share { (share(count, of)) } } }
}

fn bars(table: &Crosstab) -> Markup {
    let groups = table.rows.groups.iter().zip(&table.cells);
    let groups = groups.filter(|(group, _)| group.responses > 0);
    let group = |(group, counts): (&sluice_engine::summary::crosstab::CrosstabGroup, &Vec<u64>)| {
        ShareGroup { label: group.label.clone(), counts: counts.clone() }
    };
    let title = format!("{} by {}", name(&table.rows), name(&table.columns));
    let chart = StackedShares {
        title: &title,
        answers: table.columns.groups.iter().map(|it| it.label.clone()).collect(),
        groups: groups.map(group).collect(),
    };
    chart.chart().figure("crosstab-bars", html! {})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_rounded_and_never_zero() {
        for (p, text) in [(0.5, "p = 0.5"), (0.0312, "p = 0.031"), (0.000_01, "p < 0.001")] {
            assert_eq!(p_value(p), text);
        }
    }
}
