//! Shares of several groups: one bar per group, divided by answer.

use maud::{Markup, html};

use super::number::{grouped, share};
use super::pen::{Percent, Tone, short, sized, stacked};
use super::{Chart, ROOM_ALONE, ROOM_WIDE, Table, text};

const LINE: f64 = 17.0;
const BAR: f64 = 26.0;
/// The darkest part still gives its text a contrast of 4.5:1, in light and dark.
const SHADE_MAX: f64 = 0.5;
const SHADE_MIN: f64 = 0.15;
/// A narrower part, in percent, has no text.
const TEXT_MIN: f64 = 9.0;

/// One group and how often each answer occurs in it.
#[derive(Debug, Clone)]
pub(crate) struct ShareGroup {
    pub(crate) label: String,
    pub(crate) counts: Vec<u64>,
}

/// Several groups with the same answers; every response is in one answer.
#[derive(Debug, Clone)]
pub(crate) struct StackedShares<'c> {
    pub(crate) title: &'c str,
    pub(crate) answers: Vec<String>,
    pub(crate) groups: Vec<ShareGroup>,
    /// The meaning of each answer; without one, answers are shades of one colour, in order.
    pub(crate) tones: Option<Vec<Tone>>,
}

impl StackedShares<'_> {
    pub(crate) fn chart(&self) -> Chart {
        self.drawn(ROOM_ALONE).or_wide(self.drawn(ROOM_WIDE))
    }

    fn drawn(&self, room: f64) -> Chart {
        let answers = self.answers.iter().enumerate();
        let (legend, top) = stacked(answers, 2.0, |(at, it), top| self.legend(at, it, room, top));
        let (bars, bottom) =
            stacked(&self.groups, top + 8.0, |group, top| self.bar(group, room, top));
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom + 2.0) as u32,
            indented: false,
            wide: None,
            drawing: html! { (legend) (bars) },
            table: self.table(),
        }
    }

    fn shade(&self, at: usize) -> f64 {
        let steps = self.answers.len().saturating_sub(1).max(1) as f64;
        SHADE_MIN + (SHADE_MAX - SHADE_MIN) * at as f64 / steps
    }

    /// One answer in one group, or in the legend.
    fn part(
        &self,
        at: usize,
        [x, width]: [&str; 2],
        y: f64,
        height: f64,
        title: &Markup,
    ) -> Markup {
        let tone = self.tone(at);
        let (class, opacity) = match tone {
            Some(tone) => (tone.class(), None),
            None => ("c-shade", Some(short(self.shade(at)))),
        };
        let colour = tone.unwrap_or(Tone::Accent).light();
        html! {
            rect class=(class) x=(x) y=(short(y)) width=(width) height=(short(height)) rx="3"
                fill=(colour) fill-opacity=[opacity] stroke=[tone.is_none().then_some(colour)] { (title) }
        }
    }

    fn tone(&self, at: usize) -> Option<Tone> {
        self.tones.as_ref()?.get(at).copied()
    }

    /// The colour of the text on a part.
    fn text_tone(&self, at: usize) -> Tone {
        match self.tone(at) {
            None => Tone::Ink,
            Some(Tone::SoftMiddle) => Tone::OnMiddle,
            Some(_) => Tone::Ground,
        }
    }

    fn legend(&self, at: usize, answer: &str, room: f64, top: f64) -> (Markup, f64) {
        let lines = text::lines(answer, 13.0, room - 24.0, 2);
        let markup = html! {
            (self.part(at, ["0", "14"], top + 2.0, 13.0, &html! {}))
            @for (nth, line) in lines.iter().enumerate() {
                (sized("22", top + 13.0 + LINE * nth as f64, "start", Tone::Ink, 13.0, line))
            }
        };
        (markup, LINE * lines.len() as f64 + 4.0)
    }

    fn bar(&self, group: &ShareGroup, room: f64, top: f64) -> (Markup, f64) {
        let sum: u64 = group.counts.iter().sum();
        let label = format!("{} ({})", group.label, grouped(sum));
        let lines = text::lines(&label, 13.0, room, 2);
        let bar_top = top + LINE * lines.len() as f64 + 4.0;
        let mut before = 0;
        let parts = group.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let parts: Vec<Markup> = parts
            .map(|(at, count)| {
                let start = 100.0 * before as f64 / sum as f64;
                let width = 100.0 * *count as f64 / sum as f64;
                before += count;
                let middle = Percent(start + width / 2.0).to_string();
                let title = html! {
                    title { (text::clean(&group.label)) ", " (text::clean(&self.answers[at])) ": " (grouped(*count)) " of " (grouped(sum)) }
                };
                html! {
                    (self.part(at, [&Percent(start).to_string(), &Percent((width - 0.3).max(0.1)).to_string()], bar_top, BAR, &title))
                    @if width >= TEXT_MIN { (sized(&middle, bar_top + 17.5, "middle", self.text_tone(at), 12.0, &share(*count, sum))) }
                }
            })
            .collect();
        let markup = html! {
            @for (nth, line) in lines.iter().enumerate() {
                (sized("0", top + 13.0 + LINE * nth as f64, "start", Tone::Ink, 13.0, line))
            }
            @for part in &parts { (part) }
        };
        (markup, bar_top - top + BAR + 10.0)
    }

    fn description(&self) -> String {
        let most = |group: &ShareGroup| {
            let (at, count) = group.counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
            let sum: u64 = group.counts.iter().sum();
            (*count > 0)
                .then(|| format!("{}: {}, {}", group.label, self.answers[at], share(*count, sum)))
        };
        let groups: Vec<_> = self.groups.iter().filter_map(most).collect();
        if groups.is_empty() {
            return "No answers yet.".to_owned();
        }
        format!("Share of each answer per group. Most frequent: {}.", groups.join("; "))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Group"]);
        table.columns.extend(self.answers.iter().cloned());
        table.columns.push("Responses".to_owned());
        for group in &self.groups {
            let sum: u64 = group.counts.iter().sum();
            let mut cells = vec![group.label.clone()];
            cells.extend(
                group.counts.iter().map(|it| format!("{} ({})", grouped(*it), share(*it, sum))),
            );
            cells.push(grouped(sum));
            table.row(cells);
        }
        table
    }
}
