//! Charts, rendered on the server: pure functions from plain data to SVG.
//!
//! Widths are shares of the available space and heights are pixels, so one drawing fits a phone, a
//! wide screen and paper, and its text never shrinks or overlaps: texts are wrapped and labels are
//! chosen for the least width that a chart gets. Nothing scrolls sideways.
//!
//! A chart takes the counts of all parts that are compared, and draws one picture of each. So the
//! parts cannot differ in their rows, columns, bins, order or scale. Without a comparison there is
//! one part. Compared counts are shares of the answers of their part.
//!
//! Each mark has a class, which the style sheet
//! colours for light and dark, and the light colour as an attribute, so the same SVG also works as
//! a file. Every chart has a table with everything that was cut or rounded in the drawing; colour
//! never carries information that is not also in a word or a number.
//!
//! A file is parsed as XML: every element is closed, and texts go through [`text::clean`].
//! Deliberately absent: scripts, style attributes (the page's content security policy forbids
//! both), and any knowledge of flows.

mod axis;
mod bars;
mod calendar;
mod columns;
mod funnel;
mod histogram;
mod line;
mod matrix;
mod months;
mod multiples;
mod nps;
mod number;
mod pen;
mod ranking;
mod series;
mod spark;
mod stacked_columns;
mod stacked_shares;
#[cfg(test)]
mod tests;
mod text;
mod ticks;

use maud::{Markup, html};

pub(crate) use axis::Axis;
pub(crate) use bars::{Bar, BarChart, BarPart};
pub(crate) use calendar::Date;
pub(crate) use columns::{Column, ColumnChart, Measure};
pub(crate) use funnel::{FunnelChart, FunnelStep};
pub(crate) use histogram::{Histogram, Range};
pub(crate) use line::{LineChart, Point};
pub(crate) use matrix::MatrixChart;
pub(crate) use months::MonthAxis;
pub(crate) use multiples::{FEW, Panel, SmallMultiples};
pub(crate) use nps::NpsChart;
pub(crate) use number::{count, decimal, share, signed};
pub(crate) use ranking::{Ranked, RankingChart, RankingPart, by_mean_place};
pub(crate) use series::{CountedDays, DayValue, Series};
pub(crate) use spark::spark;
pub(crate) use stacked_columns::{StackedColumns, StackedPart};
pub(crate) use stacked_shares::{ShareGroup, StackedShares};

pub(crate) use pen::Tone;

use pen::{draw_text, rect};

/// The width of a chart file, and its margin, in pixels.
const FILE_WIDTH: u32 = 720;
const FILE_EDGE: u32 = 24;
/// The least width that a chart gets on a phone, in pixels.
pub(crate) const ROOM_ALONE: f64 = 300.0;
/// The width from which a chart has its wide drawing, in pixels; the style sheet has the same.
pub(crate) const ROOM_WIDE: f64 = 600.0;
/// The least width of each of several charts side by side; the style sheet has the same.
pub(crate) const ROOM_COMPARED: f64 = 256.0;

/// A chart, ready to be shown in a page or sent as a file.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// What is shown, such as the question.
    title: String,
    /// What the chart shows, in a sentence.
    description: String,
    height: u32,
    /// Whether there are ticks before the drawing; see [`pen::INDENT`].
    indented: bool,
    /// The same for [`ROOM_WIDE`], if more text fits there.
    wide: Option<Box<Chart>>,
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
    /// With another drawing where there is room for `wide`, unless it is as high as this one.
    pub(crate) fn or_wide(self, wide: Self) -> Self {
        let wide = (wide.height < self.height).then(|| Box::new(wide));
        Self { wide, ..self }
    }

    /// For a page, with its table. `id` must be unique in the page; `tools` are shown beside the
    /// link to the table.
    pub(crate) fn figure(&self, id: &str, tools: Markup) -> Markup {
        html! {
            figure.chart {
                @match &self.wide {
                    // The style sheet shows one of them.
                    Some(wide) => {
                        div.if-narrow { (self.drawing_svg(id, &self.title)) }
                        div.if-wide { (wide.drawing_svg(&format!("{id}-wide"), &self.title)) }
                    }
                    None => (self.drawing_svg(id, &self.title)),
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
    fn drawing_svg(&self, id: &str, title: &str) -> Markup {
        html! {
            svg.indented[self.indented] xmlns="http://www.w3.org/2000/svg" width="100%" height=(self.height) role="img" direction="ltr"
                aria-labelledby={ (id) "-title " (id) "-description" } font-family=(pen::FONT) font-size="13" {
                title id={ (id) "-title" } { (text::clean(title)) }
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

    /// As a file: on white, with its title, and a `note` about its data.
    pub(crate) fn file(&self, note: &str) -> String {
        if let Some(wide) = &self.wide {
            return wide.file(note);
        }
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
                    (draw_text(&edge, f64::from(top + self.height + 28 + 18 * at as u32), "start", Tone::Muted, line))
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
