//! A funnel: one bar per step, as a share of the first one, and how many went no further.

use maud::{Markup, html};

use super::number::{count, grouped, share};
use super::pen::{Percent, Tone, rect, sized, stacked, tipped};
use super::{Chart, ROOM_ALONE, ROOM_WIDE, Table, text};

const LINE: f64 = 18.0;
const BAR: f64 = 10.0;
const GAP: f64 = 16.0;
/// The gap between a label and the figures at the end of its line, in pixels.
const APART: f64 = 16.0;
const LABEL_LINES_MAX: usize = 3;

/// One step, in order.
#[derive(Debug, Clone)]
pub(crate) struct FunnelStep {
    pub(crate) label: String,
    pub(crate) visits: u64,
    /// How many went no further; none if the step has no such number.
    pub(crate) left: Option<u64>,
    /// Whether only some of those who came this far are asked, so that it is shown on its own.
    pub(crate) skipped: bool,
}

/// Steps that ever fewer visits come to.
#[derive(Debug, Clone)]
pub(crate) struct FunnelChart<'c> {
    pub(crate) title: &'c str,
    /// The number that shares are of.
    pub(crate) of: u64,
    pub(crate) steps: Vec<FunnelStep>,
}

impl FunnelChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        self.drawn(ROOM_ALONE).or_wide(self.drawn(ROOM_WIDE))
    }

    fn drawn(&self, room: f64) -> Chart {
        let widths = self.steps.iter().map(|step| text::width(&self.figures(step), 13.0));
        let room = room - APART - widths.fold(0.0, f64::max);
        let (drawing, bottom) = stacked(&self.steps, 0.0, |step, top| self.row(step, room, top));
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom - GAP + 2.0).max(LINE) as u32,
            indented: false,
            wide: None,
            drawing,
            table: self.table(),
        }
    }

    fn description(&self) -> String {
        let steps = count(self.steps.len() as u64, "step", "steps");
        let most = self.steps.iter().filter(|step| step.left > Some(0));
        match most.max_by_key(|step| step.left) {
            Some(FunnelStep { label, left: Some(left), .. }) => {
                let visits = count(*left, "visit", "visits");
                format!("{steps}. Largest drop-off: {label}, {visits}, {}.", share(*left, self.of))
            }
            _ => format!("{steps}. Nobody left on the way."),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Step", "Visits", "Share of opened", "Left here"]);
        for step in &self.steps {
            let left = step.left.map_or_else(|| "–".to_owned(), grouped);
            let of = share(step.visits, self.of);
            table.row([step.label.clone(), grouped(step.visits), of, left]);
        }
        table
    }

    fn row(&self, step: &FunnelStep, room: f64, top: f64) -> (Markup, f64) {
        let label = text::lines(&step.label, 13.0, room, LABEL_LINES_MAX);
        let above = LINE * label.len() as f64 + 2.0;
        let figures = self.figures(step);
        let tip = format!("{}: {figures}", step.label);
        let (part, whole, tone) = match step.skipped {
            true => {
                (step.visits - step.left.unwrap_or(0).min(step.visits), step.visits, Tone::Middle)
            }
            false => (step.visits, self.of, Tone::Accent),
        };
        let width = (100.0 * part as f64 / whole.max(1) as f64).min(100.0);
        let markup = html! {
            @for (at, line) in label.iter().enumerate() {
                (sized("0", top + 14.0 + LINE * at as f64, "start", Tone::Ink, 13.0, line))
            }
            (sized("100%", top + 14.0, "end", Tone::Muted, 13.0, &figures))
            (rect("0", top + above, "100%", BAR, BAR / 2.0, Tone::Track))
            @if part > 0 {
                (tipped("0", top + above, &Percent(width).to_string(), BAR, BAR / 2.0, tone, Some(&tip)))
            }
        };
        (markup, above + BAR + GAP)
    }

    fn figures(&self, step: &FunnelStep) -> String {
        let visits = match step.skipped {
            true => format!("{} asked", grouped(step.visits)),
            false => format!("{} · {}", share(step.visits, self.of), grouped(step.visits)),
        };
        match step.left {
            Some(left) if left > 0 => format!("{visits} · {} left", grouped(left)),
            _ => visits,
        }
    }
}
