//! Cross-tabulation: the answers to two questions together, as a table and as stacked bars.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::summary::crosstab::{Crosstab, CrosstabGroup, CrosstabQuestion};
use sluice_engine::summary::significance::{P_MAX, Significance};
use sluice_engine::{QuestionHistory, Results};
use sluice_flow::counts::CountMethod;
use sluice_flow::crosstab::CrosstabSide;
use sluice_flow::id::FlowId;

use super::chance::p_value;
use super::query::{ResultsQuery, page_path};
use crate::Console;
use crate::answer_filters::{cut, words};
use crate::chart::{FEW, ShareGroup, StackedShares, Tone, share};
use crate::computing;
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
            html! { p.muted { "Choose two different questions to see how their answers relate." } }
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
        match newest.map(|it| it.count_method()) {
            Some(CountMethod::Matrix { rows, .. }) => choices.extend(rows.iter().map(|row| {
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
            (query.period.label())
            @if query.version.is_some() { " · one version" }
            @if let Some((name, value)) = &query.tag { " · " bdi { (name) } ": " bdi { (value) } }
            @if let Some(admission) = query.admission { " · " (crate::answer_filters::admission_label(admission)) }
            @for (name, value) in &query.answers { " · " (words(history, name, value)) }
        }
    }
}

/// The most groups and answers that a page shows; the others are counted together.
const GROUPS_MAX: usize = 20;
const ANSWERS_MAX: usize = 8;

fn shown(table: &Crosstab) -> Markup {
    let (table, left_out) = limited(table);
    let table = &table;
    html! {
        (computing::current(table.as_of))
        @if table.counted == 0 {
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
                @if table.counted < FEW { p.hint.few { "Fewer than " (FEW) " responses: shares are not reliable." } }
                @if table.partial { p.note { "There are too many different answers to count all of them here." } }
                @if left_out { p.note { "Only the most frequent answers are shown." } }
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

/// The table with a limited number of groups and answers: the most frequent ones and, in one group,
/// the others. If a response can be in several groups, the others cannot be counted together and
/// are left out; then the second value is true.
fn limited(table: &Crosstab) -> (Crosstab, bool) {
    let mut limited = table.clone();
    let (rows, some_rows) = places(&mut limited.rows, GROUPS_MAX);
    let (columns, some_columns) = places(&mut limited.columns, ANSWERS_MAX);
    let mut cells = vec![vec![0; limited.columns.groups.len()]; limited.rows.groups.len()];
    for (row, counts) in rows.iter().zip(&table.cells) {
        for (column, count) in columns.iter().zip(counts) {
            if let Some((row, column)) = row.zip(*column) {
                cells[row][column] += count;
            }
        }
    }
    (Crosstab { cells, ..limited }, some_rows || some_columns)
}

/// Limits the groups of a question. Returns the new place of each, and whether some have none.
fn places(question: &mut CrosstabQuestion, max: usize) -> (Vec<Option<usize>>, bool) {
    let all = &question.groups;
    if all.len() <= max {
        return ((0..all.len()).map(Some).collect(), false);
    }
    let mut by_size: Vec<usize> = (0..all.len()).collect();
    by_size.sort_by_key(|at| std::cmp::Reverse(all[*at].responses));
    let kept = &by_size[..max - 1];
    let (mut places, mut groups, mut others) = (Vec::new(), Vec::new(), 0);
    for (at, group) in all.iter().enumerate() {
        if kept.contains(&at) {
            places.push(Some(groups.len()));
            groups.push(group.clone());
        } else {
            places.push((!question.several).then_some(max - 1));
            others += group.responses;
        }
    }
    if !question.several {
        let (id, label) = ("others".to_owned(), "Others".to_owned());
        groups.push(CrosstabGroup { id, label, responses: others });
    }
    question.groups = groups;
    (places, question.several)
}

fn base(table: &Crosstab) -> String {
    let all = table.both + table.only_rows + table.only_columns + table.neither;
    let base = match table.both {
        1 => "1 response answers both".to_owned(),
        both => format!("{} responses answer both", number(both)),
    };
    match all - table.counted.min(all) {
        0 => base,
        1 => format!("{base}; 1 without an answer to one of them is left out"),
        missing => {
            format!("{base}; {} without an answer to one of them are left out", number(missing))
        }
    }
}

/// Whether the differences could be chance, in plain words.
fn hint(table: &Crosstab) -> String {
    let used = |question: &CrosstabQuestion| {
        question.groups.iter().filter(|group| group.responses > 0).count()
    };
    match table.significance {
        Significance::NotTested if table.rows.several || table.columns.several => {
            "A response can be in several groups, so the differences are not tested.".to_owned()
        }
        Significance::NotTested if table.partial => {
            "Some answers are not in the table, so the differences are not tested.".to_owned()
        }
        Significance::NotTested if used(&table.rows) <= 1 => {
            "There is only one group, so there is nothing to compare.".to_owned()
        }
        Significance::NotTested => {
            "All responses have the same answer, so there is nothing to compare.".to_owned()
        }
        Significance::TooFew => format!(
            "Too few answers to tell whether the differences are more than chance (n = {}).",
            number(table.counted)
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
                            (cell_of(group.responses, table.counted))
                        }
                    }
                    tr {
                        th scope="row" { "All" }
                        @for group in &table.columns.groups { (cell_of(group.responses, table.counted)) }
                        (cell_of(table.counted, table.counted))
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
    let group = |(group, counts): (&CrosstabGroup, &Vec<u64>)| ShareGroup {
        label: group.label.clone(),
        counts: counts.clone(),
    };
    let title = format!("{} by {}", name(&table.rows), name(&table.columns));
    let chart = StackedShares {
        title: &title,
        answers: table.columns.groups.iter().map(|it| it.label.clone()).collect(),
        groups: groups.map(group).collect(),
        // The same colours as in the card of the question.
        tones: table.columns.groups.iter().map(|group| tone(&group.id)).collect(),
    };
    chart.chart().figure("crosstab-bars", html! {})
}

/// The groups of a net promoter score have their own colours.
fn tone(group: &str) -> Option<Tone> {
    match group {
        "detractors" => Some(Tone::Bad),
        "passives" => Some(Tone::SoftMiddle),
        "promoters" => Some(Tone::Good),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::time::Timestamp;

    use super::*;

    fn question(groups: usize, responses: u64, several: bool) -> CrosstabQuestion {
        let group = |at: usize| CrosstabGroup {
            id: at.to_string(),
            label: format!("Answer {at}"),
            // The last ones are the most frequent.
            responses: responses * (1 + at as u64),
        };
        CrosstabQuestion {
            id: "q".to_owned(),
            row: None,
            question_type: "number",
            prompt: "Which?".to_owned(),
            several,
            groups: (0..groups).map(group).collect(),
        }
    }

    fn table(rows: usize, columns: usize, several: bool) -> Crosstab {
        let cells = (0..rows).map(|row| vec![1 + row as u64; columns]).collect();
        Crosstab {
            rows: question(rows, columns as u64, false),
            columns: question(columns, 1, several),
            cells,
            both: 1_000,
            only_rows: 0,
            only_columns: 0,
            neither: 0,
            counted: 1_000,
            partial: false,
            significance: Significance::NotTested,
            as_of: Timestamp::from_millis(1),
        }
    }

    #[test]
    fn a_page_shows_the_most_frequent_answers_and_counts_the_others_together() {
        let large = table(100, 30, false);
        let (limited, left_out) = limited(&large);
        assert_eq!((limited.cells.len(), limited.cells[0].len()), (GROUPS_MAX, ANSWERS_MAX));
        let sum = |table: &Crosstab| table.cells.iter().flatten().sum::<u64>();
        assert_eq!((sum(&limited), left_out), (sum(&large), false));
        let labels: Vec<&str> = limited.columns.groups.iter().map(|it| &*it.label).collect();
        assert_eq!((labels[0], labels[6], labels[7]), ("Answer 23", "Answer 29", "Others"));
        let responses =
            |it: &CrosstabQuestion| it.groups.iter().map(|it| it.responses).sum::<u64>();
        assert_eq!(responses(&limited.rows), responses(&large.rows));
    }

    #[test]
    fn others_are_left_out_if_a_response_can_be_in_several_groups() {
        let (limited, left_out) = limited(&table(3, 30, true));
        assert_eq!((limited.columns.groups.len(), left_out), (ANSWERS_MAX - 1, true));
        assert!(limited.cells.iter().all(|row| row.len() == ANSWERS_MAX - 1));
    }

    #[test]
    fn only_one_group_is_said_only_if_there_is_one() {
        let mut one = table(2, 2, false);
        assert!(hint(&one).starts_with("All responses have the same answer"));
        one.rows.groups[0].responses = 0;
        assert!(hint(&one).starts_with("There is only one group"));
        one.partial = true;
        assert!(hint(&one).starts_with("Some answers are not in the table"));
    }

    #[test]
    fn a_probability_is_rounded_and_never_zero() {
        for (p, text) in [(0.5, "p = 0.5"), (0.0312, "p = 0.031"), (0.000_01, "p < 0.001")] {
            assert_eq!(p_value(p), text);
        }
    }
}
