//! Shares of several groups: one bar per group, divided by answer.

use maud::{Markup, html};

use super::number::{grouped, share};
use super::pen::{Percent, Tone, short, sized, stacked};
use super::{Chart, Table, text};

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
}

impl StackedShares<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let (legend, top) = stacked(&self.answers, 2.0, |answer, top| self.legend(answer, top));
        let (bars, bottom) = stacked(&self.groups, top + 8.0, |group, top| self.bar(group, top));
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom + 2.0) as u32,
            indented: false,
            drawing: html! { (legend) (bars) },
            table: self.table(),
        }
    }

    fn shade(&self, at: usize) -> f64 {
        let steps = self.answers.len().saturating_sub(1).max(1) as f64;
        SHADE_MIN + (SHADE_MAX - SHADE_MIN) * at as f64 / steps
    }

    fn legend(&self, answer: &String, top: f64) -> (Markup, f64) {
        let at = self.answers.iter().position(|it| std::ptr::eq(it, answer)).unwrap_or(0);
        let lines = text::lines(answer, 13.0, super::ROOM_ALONE - 24.0, 2);
        let markup = html! {
            (part("0", top + 2.0, "14", 13.0, self.shade(at), &html! {}))
            @for (nth, line) in lines.iter().enumerate() {
                (sized("22", top + 13.0 + LINE * nth as f64, "start", Tone::Ink, 13.0, line))
            }
        };
        (markup, LINE * lines.len() as f64 + 4.0)
    }

    fn bar(&self, group: &ShareGroup, top: f64) -> (Markup, f64) {
        let sum: u64 = group.counts.iter().sum();
        let label = format!("{} ({})", group.label, grouped(sum));
        let lines = text::lines(&label, 13.0, super::ROOM_ALONE, 2);
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
                    (part(&Percent(start).to_string(), bar_top, &Percent((width - 0.3).max(0.1)).to_string(), BAR, self.shade(at), &title))
                    @if width >= TEXT_MIN { (sized(&middle, bar_top + 17.5, "middle", Tone::Ink, 12.0, &share(*count, sum))) }
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

fn part(x: &str, y: f64, width: &str, height: f64, shade: f64, title: &Markup) -> Markup {
    html! {
        rect class="c-bar" x=(x) y=(short(y)) width=(width) height=(short(height)) rx="3"
            fill=(Tone::Accent.light()) fill-opacity=(short(shade)) { (title) }
    }
}
