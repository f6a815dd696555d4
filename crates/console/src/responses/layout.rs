//! The form that chooses columns, their order, the order of the rows, and their height.
//!
//! It works without a script: checkboxes, and numbers for the order. A script replaces the numbers
//! by buttons.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_engine::response_columns::{FixedColumn, ResponseColumn};
use sluice_engine::rows::{ResponseRow, Scope};
use sluice_flow::id::FlowId;
use sluice_flow::response_order::Direction;

use super::query::{
    COLUMNS_MAX, Density, ListPosition, RECEIVED, ResponsesQuery, columns_of, sort_of,
};
use super::table::{TableColumns, default_columns, entries, label};
use crate::Console;
use crate::reply::{self, Reply};
use crate::request::{Fields, Form, PathParam};
use crate::session::Visitor;

/// The most tags that are offered as columns; others can be typed.
const TAGS_MAX: usize = 100;
const DESCENDING: &str = "descending";

/// The tags that are offered: those of recent responses, and those of the rows shown.
pub(super) fn offered_tags(mut recent: BTreeSet<String>, rows: &[ResponseRow]) -> BTreeSet<String> {
    for tags in rows.iter().filter_map(|row| row.tags.as_deref()) {
        recent.extend(entries(tags).into_iter().map(|(name, _)| name));
    }
    while recent.len() > TAGS_MAX {
        recent.pop_last();
    }
    recent
}

pub(super) fn form(
    flow: FlowId,
    history: &QuestionHistory,
    query: &ResponsesQuery,
    tags: &BTreeSet<String>,
) -> Markup {
    let shown = TableColumns::new(history, query).columns;
    let all = all_columns(history, &shown, tags);
    let default = ResponsesQuery { columns: None, position: ListPosition::First, ..query.clone() };
    html! {
        details.adding.layout {
            summary.button { "Columns and order" }
            form.card.form method="post" action={ (ResponsesQuery::path(flow)) "/layout" } {
                @for (name, value) in query.filter_pairs() { input type="hidden" name=(name) value=(value); }
                (sorting(history, query, &all))
                fieldset {
                    legend.label { "Rows" }
                    div.inline {
                        @for density in Density::ALL {
                            label.check {
                                input type="radio" name="density" value=(density.as_str()) checked[*density == query.density];
                                span { (density_label(*density)) }
                            }
                        }
                    }
                }
                fieldset {
                    legend.label { "Columns" }
                    p.hint { "Received is always first. At most " (COLUMNS_MAX) " others." }
                    ol.column-list data-columns {
                        @for (at, column) in all.iter().enumerate() { (choice(history, column, at, shown.contains(column))) }
                    }
                }
                div.field {
                    label for="tag_column" { "Another tag" }
                    input.input type="text" id="tag_column" name="tag_column" maxlength="64" autocomplete="off";
                }
                div.buttons {
                    button.button.primary type="submit" { "Apply" }
                    a.button href=(default.address(flow)) { "Default columns" }
                }
            }
        }
    }
}

fn density_label(density: Density) -> &'static str {
    match density {
        Density::Comfortable => "Comfortable",
        Density::Compact => "Compact",
    }
}

fn sorting(history: &QuestionHistory, query: &ResponsesQuery, all: &[ResponseColumn]) -> Markup {
    let (column, direction) = match &query.sort {
        Some(sort) => (&sort.column, sort.direction),
        None => (&RECEIVED, Direction::Descending),
    };
    html! {
        fieldset.inline {
            legend.label { "Order" }
            div.field {
                label for="sort_column" { "Sort by" }
                select.input id="sort_column" name="sort_column" {
                    @let offered = [&RECEIVED].into_iter().chain(all.iter().filter(|it| it.is_sortable()));
                    // The present one may be a tag that is not offered.
                    @let present = (column != &RECEIVED && !all.contains(column)).then_some(column);
                    @for offered in offered.chain(present) {
                        option value=(offered.name()) selected[offered == column] { (label(offered, history)) }
                    }
                }
            }
            div.field {
                label for="direction" { "Direction" }
                select.input id="direction" name="direction" {
                    option value="ascending" selected[direction == Direction::Ascending] { "Smallest or oldest first" }
                    option value=(DESCENDING) selected[direction == Direction::Descending] { "Largest or newest first" }
                }
            }
        }
    }
}

fn choice(history: &QuestionHistory, column: &ResponseColumn, at: usize, shown: bool) -> Markup {
    let (name, label) = (column.name(), label(column, history));
    html! {
        li {
            label.check {
                input type="checkbox" name="show" value=(name) checked[shown];
                span { bdi { (label) } }
            }
            span.moves {
                input.input.place type="number" name={ "place." (name) } value=(at + 1) min="1" max="9999"
                    aria-label={ "Position of " (label) };
                button.button.small type="button" data-moves="-1" hidden aria-label={ "Move up: " (label) } { "↑" }
                button.button.small type="button" data-moves="1" hidden aria-label={ "Move down: " (label) } { "↓" }
            }
        }
    }
}

/// The chosen columns in their order, and then all others.
fn all_columns(
    history: &QuestionHistory,
    shown: &[ResponseColumn],
    tags: &BTreeSet<String>,
) -> Vec<ResponseColumn> {
    let is_known = |column: &&FixedColumn| **column != FixedColumn::Score || history.is_scored();
    let fixed = FixedColumn::ALL.iter().filter(is_known).map(|it| ResponseColumn::Fixed(*it));
    let questions = history.questions.iter().map(|it| ResponseColumn::Answer(it.id.clone()));
    let tags = tags.iter().map(|name| ResponseColumn::Tag(name.clone()));
    let others = fixed.chain(questions).chain([ResponseColumn::Tags]).chain(tags);
    let others = others.filter(|it| *it != RECEIVED && !shown.contains(it));
    shown.iter().cloned().chain(others).collect()
}

/// Redirects to the address of the chosen layout.
pub(super) async fn apply(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let history = opened.asked().await?;
    let query = chosen(&form, &history);
    Ok(reply::see_other(&query.address(flow)))
}

fn chosen(form: &Fields, history: &QuestionHistory) -> ResponsesQuery {
    let place = |name: &str| {
        let number = form.get(&format!("place.{name}")).and_then(|place| place.parse().ok());
        number.unwrap_or(u32::MAX)
    };
    let mut names: Vec<(u32, &str)> = form.all("show").map(|name| (place(name), name)).collect();
    // Stable, so that equal numbers stay in the order of the form.
    names.sort_by_key(|(place, _)| *place);
    let columns = names.iter().filter_map(|(_, name)| ResponseColumn::named(name));
    let typed = form.get("tag_column").map(|name| ResponseColumn::Tag(name.to_owned()));
    let columns = columns_of(columns.chain(typed));
    let sort = form.get("sort_column").and_then(|name| {
        let minus = if form.get("direction") == Some(DESCENDING) { "-" } else { "" };
        sort_of(&format!("{minus}{name}"))
    });
    let is_default = columns.is_empty() || columns == default_columns(history);
    ResponsesQuery {
        columns: (!is_default).then_some(columns),
        sort,
        ..ResponsesQuery::from_fields(form)
    }
    .known(history)
    .with_position(ListPosition::First)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_their_numbers_and_equal_numbers_the_form() {
        let history = QuestionHistory::default();
        for (form, address) in [
            ("show=tag.b&place.tag.b=2&show=tag.a&place.tag.a=1", "columns=tag.a,tag.b"),
            ("show=tag.b&place.tag.b=1&show=tag.a&place.tag.a=1", "columns=tag.b,tag.a"),
            ("show=tag.b&place.tag.b=x&show=tag.a&place.tag.a=9", "columns=tag.a,tag.b"),
            ("show=tag.b&tag_column=c&place.tag.a=1", "columns=tag.b,tag.c"),
            ("show=answer.none&show=receivedAt&show=version", "columns=version"),
            ("place.tag.b=2", ""),
            ("sort_column=tag.x&direction=descending", "sort=-tag.x"),
            ("sort_column=receivedAt&direction=descending&density=compact", "density=compact"),
            ("sort_column=receivedAt&direction=ascending", "sort=receivedAt"),
            ("search=x&answer.none=1&sort_column=answer.none", "search=x"),
        ] {
            assert_eq!(chosen(&Fields::parse(form), &history).encoded(), address, "{form}");
        }
    }
}
