//! Charts, made on the server: pure functions from plain data to SVG.
//!
//! Widths are shares of whatever room there is and heights are pixels, so one drawing is right on a
//! phone, on a wide screen and on paper, and its texts never shrink. Each mark has a class, which
//! the style of the console colours for light and dark, and the light colour as an attribute, so
//! the same SVG stands alone as a file. Behind every chart is its table with all that was cut or
//! rounded in the drawing; colour never says anything that a word or a number beside it does not.
//!
//! A drawing is read as XML where it is a file: every element has an end, and texts go through
//! [`text::clean`]. Deliberately absent: script, style attributes (the policy of the page forbids
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
#[cfg(test)]
mod tests;
mod text;
mod ticks;

use maud::{Markup, html};

pub(crate) use bars::{Bar, Bars};
pub(crate) use calendar::Date;
pub(crate) use columns::{Column, Columns};
pub(crate) use line::{Line, Point};
pub(crate) use matrix::{Matrix, MatrixRow};
pub(crate) use multiples::{FEW, Multiples, Panel};
pub(crate) use nps::Nps;
pub(crate) use number::{decimal, share, signed};
pub(crate) use ranking::{Ranked, Ranking};
pub(crate) use series::{Day, Series};
pub(crate) use spark::spark;

pub(crate) use pen::Tone;

use pen::{rect, words};

/// How wide a chart is as a file, and the space around it there, in pixels.
const FILE_WIDTH: u32 = 720;
const FILE_EDGE: u32 = 24;
/// What a chart can count on where the page is a phone's, in pixels.
const ROOM: f64 = 320.0;

/// A chart, ready to be shown in a page or sent as a file.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// What is shown, such as the question.
    title: String,
    /// What one would see in it, in a sentence.
    description: String,
    height: u32,
    /// Where less room than this is left, the chart is scrolled.
    width_min: u32,
    /// Whether ticks stand before the drawing; see [`pen::INDENT`].
    indented: bool,
    drawing: Markup,
    table: Table,
}

/// What a chart is drawn from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// The first column names the rows.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Chart {
    /// In a page, with its table behind it. `id` must be the only one in the page; `tools` stand
    /// beside the way to the table.
    pub(crate) fn figure(&self, id: &str, tools: Markup) -> Markup {
        html! {
            figure.chart {
                @if self.scrolls() {
                    div.chart-scroll tabindex="0" role="group" aria-label={ (text::clean(&self.title)) ", can be scrolled sideways" } {
                        (self.picture(id))
                    }
                } @else {
                    (self.picture(id))
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

    /// The drawing alone, as wide as what it stands in.
    pub(crate) fn picture(&self, id: &str) -> Markup {
        // The style sheet lets it grow from there.
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

    /// As a file of its own: on white, under its title, with a `note` of what it was made from.
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
            // A table that is wider than its card is scrolled, with keys as well.
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
