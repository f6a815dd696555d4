//! A ranking: options ordered by their mean rank, each with a bar of the ranks it got.
//!
//! First ranks are the darkest segment and come first; each segment has an outline, so that the
//! order is visible even if the shades are not.

use maud::{Markup, html};

use super::number::{count, decimal, grouped, share};
use super::pen::{Percent, Tone, parts, rect, short, sized, stacked, words};
use super::{Chart, ROOM, Table, text};

const LINE: f64 = 18.0;
const BAR: f64 = 14.0;
const GAP: f64 = 16.0;
const HEAD: f64 = 24.0;
const FIGURES: f64 = 70.0;
/// The shade of the last rank; the first is full.
const SHADE_MIN: f64 = 0.08;

/// An option and how often it got each rank.
#[derive(Debug, Clone)]
pub(crate) struct RankedOption {
    pub(crate) label: String,
    /// First rank first.
    pub(crate) places: Vec<u64>,
    pub(crate) mean_place: Option<f64>,
}

/// Options that respondents have ranked.
#[derive(Debug, Clone)]
pub(crate) struct RankingChart<'c> {
    pub(crate) title: &'c str,
    pub(crate) answers: u64,
    pub(crate) options: Vec<RankedOption>,
}

impl RankingChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let sorted = self.sorted();
        let (rows, bottom) =
            stacked(sorted.iter().enumerate(), HEAD, |(at, option), top| row(at, option, top));
        let drawing = html! {
            (words("0", 12.0, "start", Tone::Muted, "Stronger colour: higher rank"))
            (words("100%", 12.0, "end", Tone::Muted, "Average rank"))
            (rows)
        };
        Chart {
            title: self.title.to_owned(),
            description: self.description(&sorted),
            height: (bottom - GAP + 2.0).max(LINE) as u32,
            width_min: 0,
            indented: false,
            drawing,
            table: self.table(&sorted),
        }
    }

    /// Best mean rank first; options without one come last, in their order.
    fn sorted(&self) -> Vec<&RankedOption> {
        let mut sorted: Vec<&RankedOption> = self.options.iter().collect();
        let place = |option: &RankedOption| option.mean_place.unwrap_or(f64::INFINITY);
        sorted.sort_by(|a, b| place(a).total_cmp(&place(b)));
        sorted
    }

    fn description(&self, sorted: &[&RankedOption]) -> String {
        let order: Vec<_> = sorted
            .iter()
            .filter(|option| option.mean_place.is_some())
            .map(|option| format!("{} ({})", option.label, mean(option)))
            .collect();
        if order.is_empty() {
            return "No answers yet.".to_owned();
        }
        format!(
            "{}, by average rank: {}.",
            count(self.answers, "answer", "answers"),
            order.join(", ")
        )
    }

    fn table(&self, sorted: &[&RankedOption]) -> Table {
        let most = sorted.iter().map(|option| option.places.len()).max().unwrap_or(0);
        let mut table = Table::new(&["Option", "Average rank"]);
        table.columns.extend((1..=most).map(|place| format!("Rank {place}")));
        for option in sorted {
            let mut row = vec![option.label.clone(), mean(option)];
            row.extend((0..most).map(|at| grouped(option.places.get(at).copied().unwrap_or(0))));
            table.row(row);
        }
        table
    }
}

fn row(at: usize, option: &RankedOption, top: f64) -> (Markup, f64) {
    let label = text::lines(&format!("{}. {}", at + 1, option.label), 13.0, ROOM - FIGURES, 2);
    let above = LINE * label.len() as f64 + 2.0;
    let markup = html! {
        @for (at, line) in label.iter().enumerate() {
            (sized("0", top + 14.0 + LINE * at as f64, "start", Tone::Ink, 13.0, line))
        }
        (sized("100%", top + 14.0, "end", Tone::Ink, 13.0, &mean(option)))
        (places(option, top + above))
    };
    (markup, above + BAR + GAP)
}

fn mean(option: &RankedOption) -> String {
    option.mean_place.map_or_else(|| "–".to_owned(), |place| decimal(place, 2))
}

fn places(option: &RankedOption, top: f64) -> Markup {
    let sum: u64 = option.places.iter().sum();
    let last = option.places.len().saturating_sub(1).max(1) as f64;
    let parts = parts(option.places.iter().copied());
    html! {
        @if sum == 0 { (rect("0", top, "100%", BAR, 3.0, Tone::Track)) }
        @for (at, (people, (x, width))) in option.places.iter().zip(parts).enumerate().filter(|(_, (people, _))| **people > 0) {
            @let shade = 1.0 - (1.0 - SHADE_MIN) * at as f64 / last;
            rect class="c-shade" x=(Percent(x)) y=(short(top)) width=(Percent(width)) height=(short(BAR)) fill=(Tone::Accent.light())
                fill-opacity=(short(shade)) stroke=(Tone::Accent.light()) stroke-width="1" {
                title { "Rank " (at + 1) ": " (count(*people, "answer", "answers")) ", " (share(*people, sum)) }
            }
        }
    }
}
