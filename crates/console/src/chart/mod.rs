//! Charts, rendered on the server: pure functions from plain data to SVG.
//!
//! Widths are shares of the available space and heights are pixels, so one drawing fits a phone, a
//! wide screen and paper, and its text never shrinks. Each mark has a class, which the style sheet
//! colours for light and dark, and the light colour as an attribute, so the same SVG also works as
//! a file. Every chart has a table with everything that was cut or rounded in the drawing; colour
//! never carries information that is not also in a word or a number.
//!
//! A file is parsed as XML: every element is closed, and texts go through [`text::clean`].
//! Deliberately absent: scripts, style attributes (the page's content security policy forbids
//! both), and any knowledge of flows.

mod bars;
mod calendar;
mod columns;
mod line;
mod matrix;
mod multiples;
mod nps;
mod number;
mod pen;
mod ranking;
mod series;
mod spark;
mod stacked_shares;
#[cfg(test)]
mod tests;
mod text;
mod ticks;

use maud::{Markup, html};

pub(crate) use bars::{Bar, BarChart};
pub(crate) use calendar::Date;
pub(crate) use columns::{Column, ColumnChart};
pub(crate) use line::{LineChart, Point};
pub(crate) use matrix::{MatrixChart, MatrixRow};
pub(crate) use multiples::{FEW, Panel, SmallMultiples};
pub(crate) use nps::NpsChart;
pub(crate) use number::{decimal, share, signed};
pub(crate) use ranking::{RankedOption, RankingChart};
pub(crate) use series::{DayValue, Series};
pub(crate) use spark::spark;
pub(crate) use stacked_shares::{ShareGroup, StackedShares};

pub(crate) use pen::Tone;

use pen::{rect, words};

/// The width of a chart file, and its margin, in pixels.
const FILE_WIDTH: u32 = 720;
const FILE_EDGE: u32 = 24;
/// The width available to a chart on a phone, in pixels.
const ROOM: f64 = 320.0;

/// A chart, ready to be shown in a page or sent as a file.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// What is shown, such as the question.
    title: String,
    /// What the chart shows, in a sentence.
    description: String,
    height: u32,
    /// In less space than this, the chart scrolls.
    width_min: u32,
    /// Whether there are ticks before the drawing; see [`pen::INDENT`].
    indented: bool,
    drawing: Markup,
    table: Table,
}

/// The data of a chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// The first column names the rows.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Chart {
    /// For a page, with its table. `id` must be unique in the page; `tools` are shown beside the
    /// link to the table.
    pub(crate) fn figure(&self, id: &str, tools: Markup) -> Markup {
        html! {
            figure.chart {
                @if self.scrolls() {
                    div.chart-scroll tabindex="0" role="group" aria-label={ (text::clean(&self.title)) ", can be scrolled sideways" } {
                        (self.drawing_svg(id))
                    }
                } @else {
                    (self.drawing_svg(id))
                }
                div.chart-foot {
                    details.chart-table {
                        summary { "Table" span.unseen { ": " (text::clean(&self.title)) } }
                        (self.table.markup(&self.title))
                    }
                    (tools)
                }
            }
        }
    }

    /// Only the drawing, as wide as its container.
    pub(crate) fn drawing_svg(&self, id: &str) -> Markup {
        // The minimum width; the style sheet lets it grow.
        let width = if self.scrolls() { self.width_min.to_string() } else { "100%".to_owned() };
        html! {
            svg.indented[self.indented] xmlns="http://www.w3.org/2000/svg" width=(width) height=(self.height) role="img" direction="ltr"
                aria-labelledby={ (id) "-title " (id) "-description" } font-family=(pen::FONT) font-size="13" {
                title id={ (id) "-title" } { (text::clean(&self.title)) }
                desc id={ (id) "-description" } { (text::clean(&self.description)) }
                (self.drawing)
            }
        }
    }

    /// Inside another drawing, in pixels.
    fn placed(&self, x: u32, y: u32, width: f64) -> Markup {
        let width = if self.indented { width - pen::INDENT } else { width };
        html! { svg x=(x) y=(y) width=(pen::short(width)) height=(self.height) overflow="visible" { (self.drawing) } }
    }

    fn scrolls(&self) -> bool {
        f64::from(self.width_min) > ROOM
    }

    /// As a file: on white, with its title, and a `note` about its data.
    pub(crate) fn file(&self, note: &str) -> String {
        let inner = f64::from(FILE_WIDTH - 2 * FILE_EDGE);
        let title = text::lines(&self.title, 17.0, inner, 3);
        let notes = text::lines(note, 12.0, inner, 2);
        let top = FILE_EDGE + 24 * title.len() as u32 + 12;
        let bottom = 20 + 18 * notes.len() as u32;
        let height = top + self.height + bottom + FILE_EDGE / 2;
        let edge = FILE_EDGE.to_string();
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(FILE_WIDTH) height=(height) role="img" direction="ltr"
                font-family=(pen::FONT) font-size="13" {
                title { (text::clean(&self.title)) }
                desc { (text::clean(&self.description)) }
                (rect("0", 0.0, "100%", f64::from(height), 0.0, Tone::Ground))
                @for (at, line) in title.iter().enumerate() {
                    text class="c-text" x=(edge) y=(FILE_EDGE + 17 + 24 * at as u32) font-size="17" font-weight="600"
                        fill=(Tone::Ink.light()) unicode-bidi="plaintext" { (line) }
                }
                (self.placed(FILE_EDGE, top, inner))
                @for (at, line) in notes.iter().enumerate() {
                    (words(&edge, f64::from(top + self.height + 28 + 18 * at as u32), "start", Tone::Muted, line))
                }
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", markup.into_string())
    }
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&it| it.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn markup(&self, caption: &str) -> Markup {
        html! {
            // A table that is wider than its card scrolls, with the keyboard as well.
            div.chart-numbers tabindex="0" role="group" aria-label={ "Table: " (text::clean(caption)) } {
                table {
                    caption.unseen { (text::clean(caption)) }
                    thead { tr { @for name in &self.columns { th scope="col" dir="auto" { (text::clean(name)) } } } }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (at, cell) in row.iter().enumerate() {
                                    @if at == 0 { th scope="row" dir="auto" { (text::clean(cell)) } }
                                    @else { td { (text::clean(cell)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
