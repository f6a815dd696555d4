//! Small multiples: the same chart for several groups side by side, each with its number of
//! answers.

use maud::{Markup, html};

use super::number::count;
use super::pen::{Tone, draw_text, sized};
use super::{Chart, FILE_EDGE, FILE_WIDTH, Table, text};

/// Below this many answers shares are not reliable, and the page says so.
pub(crate) const FEW: u64 = 10;

/// The heights of a line about all panels, and above each panel, in pixels.
const MEASURE: u32 = 28;
const CAPTION: u32 = 44;
const GAP: u32 = 24;
const FILE_COLUMNS: usize = 2;

/// The chart of one group.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) name: String,
    pub(crate) answers: u64,
    /// The headline figure of this group, and what it is of, such as "of 92 answers".
    pub(crate) figure: Option<(String, String)>,
    pub(crate) chart: Chart,
}

impl Panel {
    fn answers(&self) -> String {
        count(self.answers, "answer", "answers")
    }

    /// The headline figure with its base.
    fn figures(&self) -> String {
        match &self.figure {
            Some((figure, base)) => format!("{figure} {base}"),
            None => self.answers(),
        }
    }
}

/// The same question for several groups.
#[derive(Debug, Clone)]
pub(crate) struct SmallMultiples<'c> {
    pub(crate) title: &'c str,
    /// What the groups differ by, such as "Version".
    pub(crate) by: &'c str,
    /// What the headline figures are.
    pub(crate) measure: Option<String>,
    /// Whether the differences between the groups could be chance.
    pub(crate) chance: Option<String>,
    pub(crate) panels: Vec<Panel>,
}

impl SmallMultiples<'_> {
    /// In a page: as many side by side as fit, with one table for all.
    pub(crate) fn figure(&self, id: &str, tools: Markup) -> Markup {
        html! {
            figure.chart {
                @if let Some(measure) = &self.measure {
                    p.multiples-measure dir="auto" { (text::clean(measure)) }
                }
                @if let Some(chance) = &self.chance { p.multiples-chance { (chance) } }
                div.multiples {
                    @for (at, panel) in self.panels.iter().enumerate() {
                        div.multiple {
                            div.multiple-head {
                                p.multiple-name dir="auto" { (text::clean(&panel.name)) }
                                p.multiple-base {
                                    @if let Some((figure, base)) = &panel.figure {
                                        strong.multiple-figure { (figure) } " " (base)
                                    } @else {
                                        (panel.answers())
                                    }
                                }
                                @if panel.answers < FEW { p.multiple-few { "Fewer than " (FEW) " answers: not reliable" } }
                            }
                            @let title = format!("{}: {}", self.title, panel.name);
                            (panel.chart.drawing_svg(&format!("{id}-{at}"), &title))
                        }
                    }
                }
                div.chart-foot {
                    details.chart-table {
                        summary { "Table" span.unseen { ": " (text::clean(self.title)) } }
                        (self.table().markup(self.title))
                    }
                    (tools)
                }
            }
        }
    }

    /// All of them as one drawing, for a file.
    pub(crate) fn chart(&self) -> Chart {
        let mut top = 0;
        let mut drawing = String::new();
        if let Some(measure) = &self.measure {
            let room = f64::from(FILE_WIDTH - 2 * FILE_EDGE);
            let line = text::cut(measure, 13.0, room);
            drawing.push_str(&sized("0", 12.0, "start", Tone::Muted, 13.0, &line).0);
            top += MEASURE;
        }
        for row in self.panels.chunks(FILE_COLUMNS) {
            let height = row.iter().map(|panel| panel.chart.height).max().unwrap_or(0);
            for (at, panel) in row.iter().enumerate() {
                drawing.push_str(&placed(panel, at, top).0);
            }
            top += height + CAPTION + GAP;
        }
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: top.saturating_sub(GAP),
            indented: false,
            wide: None,
            drawing: maud::PreEscaped(drawing),
            table: self.table(),
        }
    }

    fn description(&self) -> String {
        let panels: Vec<_> = self
            .panels
            .iter()
            .map(|panel| format!("{}: {}", panel.name, panel.figures()))
            .collect();
        let measure = self.measure.as_ref().map(|it| format!(" {it}.")).unwrap_or_default();
        let chance = self.chance.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        format!("By {}.{measure} {}.{chance}", self.by.to_lowercase(), panels.join("; "))
    }

    /// The tables of the groups, one below another.
    fn table(&self) -> Table {
        let mut table = Table { columns: vec![self.by.to_owned()], rows: Vec::new() };
        if let Some(first) = self.panels.first() {
            table.columns.extend(first.chart.table.columns.iter().cloned());
        }
        for panel in &self.panels {
            for row in &panel.chart.table.rows {
                table.row(std::iter::once(panel.name.clone()).chain(row.iter().cloned()));
            }
        }
        table
    }
}

fn placed(panel: &Panel, at: usize, top: u32) -> Markup {
    let inner = FILE_WIDTH - 2 * FILE_EDGE;
    let width = (inner - GAP) / FILE_COLUMNS as u32;
    html! {
        svg x=(at as u32 * (width + GAP)) y=(top) width=(width) height=(panel.chart.height + CAPTION) overflow="visible" {
            (sized("0", 14.0, "start", Tone::Ink, 14.0, &text::cut(&panel.name, 14.0, 300.0)))
            (draw_text("0", 31.0, "start", Tone::Muted, &panel.figures()))
            (panel.chart.placed(0, CAPTION, width.into()))
        }
    }
}
