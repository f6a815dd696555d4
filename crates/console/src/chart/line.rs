//! A line over time: a mean or a score, with a mark at each point that has answers.
//!
//! Points with few answers have hollow marks, so that a jump caused by a few people does not look
//! significant.

use maud::{Markup, html};

use super::axis::Axis;
use super::multiples::FEW;
use super::number::{brief, count, decimal, grouped};
use super::pen::{INDENT, Percent, Tone, draw_text, indented, level, short};
use super::ticks::Scale;
use super::{Chart, Table};

/// The height above the plot, for the title of the scale and its highest tick.
const TOP: f64 = 36.0;
const PLOT: f64 = 110.0;
const AXIS: f64 = 24.0;
/// The width of the line's coordinate system, which is stretched to the available space.
const LINE_WIDTH: f64 = 1000.0;
/// With more points than this, marks would hide the line.
const MARKS_MAX: usize = 40;

/// One point in time.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) value: Option<f64>,
}

/// A value over time.
#[derive(Debug, Clone)]
pub(crate) struct LineChart<'c> {
    pub(crate) title: &'c str,
    /// What the value is, such as "Mean" or "NPS".
    pub(crate) measure: &'c str,
    /// The unit after each value, such as "%".
    pub(crate) unit: &'c str,
    /// What the points are, such as days, and their labels.
    pub(crate) axis: Axis,
    /// The minimum and maximum that the value can have.
    pub(crate) limits: Option<(f64, f64)>,
    pub(crate) points: Vec<Point>,
    pub(crate) room: f64,
}

impl LineChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let values = self.points.iter().filter_map(|point| point.value);
        let scale = Scale::containing(values, self.limits);
        let bottom = TOP + PLOT;
        let content = html! {
            @for tick in &scale.ticks { (level(bottom - PLOT * scale.at(*tick), *tick == 0.0, true)) }
            svg x="0" y=(short(TOP)) width="100%" height=(short(PLOT)) overflow="visible"
                viewBox={ "0 0 " (short(LINE_WIDTH)) " " (short(PLOT)) } preserveAspectRatio="none" {
                path class="c-line" d=(self.path(&scale)) fill="none" stroke=(Tone::Accent.light()) stroke-width="2"
                    stroke-linejoin="round" stroke-linecap="round" vector-effect="non-scaling-stroke" {}
            }
            (self.marks(&scale))
            @if self.points.iter().any(|point| point.value.is_some() && point.count < FEW) {
                (draw_text("100%", 12.0, "end", Tone::Muted, &format!("○ fewer than {FEW} answers")))
            }
            (self.axis.drawn(bottom + 18.0, self.room - INDENT, INDENT))
        };
        let ticks = html! {
            (draw_text("0", 12.0, "start", Tone::Muted, self.measure))
            g class="c-y" {
                @for tick in &scale.ticks {
                    @let text = format!("{}{}", brief(*tick), self.unit);
                    (draw_text("0", bottom - PLOT * scale.at(*tick) - 4.0, "start", Tone::Muted, &text))
                }
            }
        };
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom + AXIS) as u32,
            indented: true,
            wide: None,
            drawing: indented(bottom + AXIS, ticks, content),
            table: self.table(),
        }
    }

    /// The position of a point along the line, from 0 to 1.
    fn along(&self, at: usize) -> f64 {
        (at as f64 + 0.5) / self.points.len() as f64
    }

    /// Points without answers are skipped: the line continues to the next that has some.
    fn path(&self, scale: &Scale) -> String {
        let known =
            self.points.iter().enumerate().filter_map(|(at, point)| Some((at, point.value?)));
        let place = |(nth, (at, value)): (usize, (usize, f64))| {
            let (x, y) = (LINE_WIDTH * self.along(at), PLOT * (1.0 - scale.at(value)));
            format!("{}{} {}", if nth == 0 { 'M' } else { 'L' }, short(x), short(y))
        };
        known.enumerate().map(place).collect()
    }

    fn marks(&self, scale: &Scale) -> Markup {
        let known: Vec<_> = self
            .points
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some((at, point, point.value?)))
            .collect();
        let many = known.len() > MARKS_MAX;
        html! {
            @for (at, point, value) in known {
                @let hollow = point.count < FEW;
                @let (x, y) = (Percent(100.0 * self.along(at)), TOP + PLOT * (1.0 - scale.at(value)));
                // A small mark still has a tooltip.
                circle class=(if hollow { "c-hollow" } else { "c-bar" }) cx=(x) cy=(short(y)) r=(if many { "2" } else { "4" })
                    fill=(if hollow { Tone::Ground.light() } else { Tone::Accent.light() })
                    stroke=(Tone::Accent.light()) stroke-width="1.5" {
                    title { (point.name) ": " (self.value(value, 1)) " (" (count(point.count, "answer", "answers")) ")" }
                }
            }
        }
    }

    fn value(&self, value: f64, places: usize) -> String {
        format!("{}{}", decimal(value, places), self.unit)
    }

    fn description(&self) -> String {
        let known: Vec<_> =
            self.points.iter().filter_map(|point| Some((point, point.value?))).collect();
        let (Some((first, from)), Some((last, to))) = (known.first(), known.last()) else {
            return format!("{} over time; no answers yet.", self.measure);
        };
        format!(
            "{} by {}: from {} ({}) to {} ({}). Hollow marks have fewer than {FEW} answers.",
            self.measure,
            self.axis.name.to_lowercase(),
            self.value(*from, 1),
            first.name,
            self.value(*to, 1),
            last.name
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[&self.axis.name, self.measure, "Answers"]);
        for point in self.points.iter().filter(|point| point.count > 0) {
            let value = point.value.map_or_else(|| "–".to_owned(), |value| self.value(value, 2));
            table.row([point.name.clone(), value, grouped(point.count)]);
        }
        table
    }
}
