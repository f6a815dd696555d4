//! A ranking: options ordered by their mean rank, each with a bar of the ranks it got.
//!
//! First ranks are the darkest segment and come first; each segment has an outline, so that the
//! order is visible even if the shades are not. Compared parts have the order of the whole.

use maud::{Markup, html};

use super::number::{count, decimal, grouped, share};
use super::pen::{Percent, Tone, draw_text, parts, rect, short, sized, stacked};
use super::{Chart, Table, text};

const LINE: f64 = 18.0;
const BAR: f64 = 14.0;
const GAP: f64 = 16.0;
const HEAD: f64 = 24.0;
const FIGURES: f64 = 56.0;
const LABEL_LINES_MAX: usize = 3;
/// The shade of the last rank; the first is full.
const SHADE_MIN: f64 = 0.08;

/// How often an option got each rank.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    /// First rank first.
    pub(crate) places: Vec<u64>,
    pub(crate) mean_place: Option<f64>,
}

/// The ranks of all options in one part.
#[derive(Debug, Clone)]
pub(crate) struct RankingPart {
    pub(crate) answers: u64,
    pub(crate) options: Vec<Ranked>,
}

/// Options that respondents have ranked, for each part.
#[derive(Debug, Clone)]
pub(crate) struct RankingChart<'c> {
    pub(crate) title: &'c str,
    pub(crate) labels: Vec<String>,
    /// The order of the options, as indexes.
    pub(crate) order: Vec<usize>,
    pub(crate) parts: Vec<RankingPart>,
    pub(crate) room: f64,
}

/// Best mean rank first; options without one come last, in their order.
pub(crate) fn by_mean_place(options: &[Ranked]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..options.len()).collect();
    let place = |at: &usize| options[*at].mean_place.unwrap_or(f64::INFINITY);
    order.sort_by(|one, other| place(one).total_cmp(&place(other)));
    order
}

impl RankingChart<'_> {
    /// One drawing per part, with the same rows.
    pub(crate) fn charts(&self) -> Vec<Chart> {
        self.parts.iter().map(|part| self.chart(part)).collect()
    }

    fn chart(&self, part: &RankingPart) -> Chart {
        let (rows, bottom) =
            stacked(&self.order, HEAD, |at, top| self.row(*at, &part.options[*at], top));
        let drawing = html! {
            (draw_text("0", 12.0, "start", Tone::Muted, "Darkest: first rank"))
            (draw_text("100%", 12.0, "end", Tone::Muted, "Average rank"))
            (rows)
        };
        Chart {
            title: self.title.to_owned(),
            description: self.description(part),
            height: (bottom - GAP + 2.0).max(LINE) as u32,
            indented: false,
            wide: None,
            drawing,
            table: self.table(part),
        }
    }

    /// The number of ranks in any part, so that a shade means the same rank in each of them.
    fn ranks(&self) -> usize {
        let options = self.parts.iter().flat_map(|part| &part.options);
        options.map(|option| option.places.len()).max().unwrap_or(0)
    }

    fn row(&self, at: usize, option: &Ranked, top: f64) -> (Markup, f64) {
        let label = text::lines(&self.labels[at], 13.0, self.room - FIGURES, LABEL_LINES_MAX);
        let above = LINE * label.len() as f64 + 2.0;
        let markup = html! {
            @for (at, line) in label.iter().enumerate() {
                (sized("0", top + 14.0 + LINE * at as f64, "start", Tone::Ink, 13.0, line))
            }
            (sized("100%", top + 14.0, "end", Tone::Ink, 13.0, &mean(option)))
            (self.places(option, top + above))
        };
        (markup, above + BAR + GAP)
    }

    fn places(&self, option: &Ranked, top: f64) -> Markup {
        let sum: u64 = option.places.iter().sum();
        let last = self.ranks().saturating_sub(1).max(1) as f64;
        let parts = parts(option.places.iter().copied());
        html! {
            @if sum == 0 { (rect("0", top, "100%", BAR, 3.0, Tone::Track)) }
            @for (at, (people, (x, width))) in option.places.iter().zip(parts).enumerate().filter(|(_, (people, _))| **people > 0) {
                @let shade = 1.0 - (1.0 - SHADE_MIN) * at as f64 / last;
                rect class="c-shade" x=(Percent(x)) y=(short(top)) width=(Percent(width)) height=(short(BAR)) fill=(Tone::Accent.light())
                    fill-opacity=(short(shade)) stroke=(Tone::Accent.light()) stroke-width="1" {
                    title { "Rank " (at + 1) ": " (share(*people, sum)) " of " (count(sum, "answer", "answers")) " (" (grouped(*people)) ")" }
                }
            }
        }
    }

    fn description(&self, part: &RankingPart) -> String {
        let ranked = self.order.iter().filter(|at| part.options[**at].mean_place.is_some());
        let order: Vec<_> = ranked
            .map(|at| format!("{} ({})", self.labels[*at], mean(&part.options[*at])))
            .collect();
        if order.is_empty() {
            return "No answers yet.".to_owned();
        }
        format!(
            "{}, average ranks: {}.",
            count(part.answers, "answer", "answers"),
            order.join(", ")
        )
    }

    fn table(&self, part: &RankingPart) -> Table {
        let ranks = self.ranks();
        let mut table = Table::new(&["Option", "Average rank"]);
        table.columns.extend((1..=ranks).map(|place| format!("Rank {place}")));
        for at in &self.order {
            let option = &part.options[*at];
            let mut row = vec![self.labels[*at].clone(), mean(option)];
            row.extend((0..ranks).map(|at| grouped(option.places.get(at).copied().unwrap_or(0))));
            table.row(row);
        }
        table
    }
}

fn mean(option: &Ranked) -> String {
    option.mean_place.map_or_else(|| "–".to_owned(), |place| decimal(place, 2))
}
