//! The net promoter score: a gauge with the score in large digits, and below it the groups it is
//! computed from.

use std::f64::consts::PI;

use maud::{Markup, html};

use super::number::{count, grouped, share, signed};
use super::pen::{Percent, Tone, draw_text, parts, short, sized, tipped};
use super::{Chart, Table};

const RADIUS: f64 = 84.0;
const STROKE: f64 = 14.0;
const GAUGE: f64 = 124.0;
const SPLIT: f64 = 18.0;
/// The height of a line about a group.
const LINE: f64 = 22.0;

/// Promoters and detractors.
#[derive(Debug, Clone)]
pub(crate) struct NpsChart<'c> {
    pub(crate) title: &'c str,
    /// How often each score from 0 to 10 was given.
    pub(crate) points: [u64; 11],
    pub(crate) promoters: u64,
    pub(crate) passives: u64,
    pub(crate) detractors: u64,
    /// From -100 to 100; `None` without answers.
    pub(crate) score: Option<f64>,
}

impl NpsChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let drawing = html! {
            (self.gauge())
            (self.split(GAUGE + 18.0))
        };
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (GAUGE + 18.0 + SPLIT + 10.0 + 3.0 * LINE) as u32,
            indented: false,
            wide: None,
            drawing,
            table: self.table(),
        }
    }

    fn groups(&self) -> [(&'static str, &'static str, u64, Tone); 3] {
        [
            ("Detractors", "0 to 6", self.detractors, Tone::Bad),
            ("Passives", "7 and 8", self.passives, Tone::Middle),
            ("Promoters", "9 and 10", self.promoters, Tone::Good),
        ]
    }

    fn answers(&self) -> u64 {
        self.points.iter().sum()
    }

    /// A half circle from −100 to +100, centred; its coordinates are pixels.
    fn gauge(&self) -> Markup {
        html! {
            svg x="50%" y="0" width="1" height=(short(GAUGE)) overflow="visible" {
                path class="c-track-line" d=(arc(-100.0, 100.0)) fill="none" stroke=(Tone::Track.light())
                    stroke-width=(short(STROKE)) stroke-linecap="round" {}
                @if let Some(score) = self.score {
                    path class="c-line" d=(arc(-100.0, score)) fill="none" stroke=(Tone::Accent.light())
                        stroke-width=(short(STROKE)) stroke-linecap="round" {}
                    @let (x, y) = at(score);
                    circle class="c-hollow" cx=(short(x)) cy=(short(y)) r="9" fill=(Tone::Ground.light())
                        stroke=(Tone::Accent.light()) stroke-width="4" {}
                }
                text class="c-text" x="0" y=(short(RADIUS + 8.0)) text-anchor="middle" font-size="44" font-weight="650"
                    fill=(Tone::Ink.light()) { (self.score.map_or_else(|| "–".to_owned(), signed)) }
                (draw_text("0", GAUGE - 4.0, "middle", Tone::Muted, &count(self.answers(), "answer", "answers")))
                (draw_text(&short(-RADIUS), GAUGE - 4.0, "middle", Tone::Muted, "−100"))
                (draw_text(&short(RADIUS), GAUGE - 4.0, "middle", Tone::Muted, "+100"))
            }
        }
    }

    /// One bar with three segments, and a line about each below.
    fn split(&self, top: f64) -> Markup {
        let answers = self.answers();
        let groups = self.groups();
        let parts = parts(groups.map(|(_, _, people, _)| people));
        html! {
            @if answers == 0 { (tipped("0", top, "100%", SPLIT, 4.0, Tone::Track, None)) }
            @for (at, ((name, range, people, tone), (x, width))) in groups.into_iter().zip(parts).enumerate() {
                @let figures = format!("{} · {}", share(people, answers), grouped(people));
                @if people > 0 {
                    (tipped(&Percent(x).to_string(), top, &Percent(width).to_string(), SPLIT, 0.0, tone,
                        Some(&format!("{name}: {figures}"))))
                }
                // A line between segments, so that they can be distinguished without colours.
                @if x > 0.0 && people > 0 {
                    (tipped(&Percent(x).to_string(), top, "2", SPLIT, 0.0, Tone::Ground, None))
                }
                @let line = top + SPLIT + 12.0 + LINE * at as f64;
                (tipped("0", line + 1.0, "12", 12.0, 2.0, tone, None))
                (sized("20", line + 12.0, "start", Tone::Ink, 13.0, &format!("{name}, {range}")))
                (sized("100%", line + 12.0, "end", Tone::Muted, 13.0, &figures))
            }
        }
    }

    fn description(&self) -> String {
        let Some(score) = self.score else { return "No answers yet.".to_owned() };
        let answers = self.answers();
        let groups = self.groups().map(|(name, range, people, _)| {
            format!("{name} ({range}) {}, {}", share(people, answers), grouped(people))
        });
        format!(
            "Net promoter score {}, from {}. {}.",
            signed(score),
            count(answers, "answer", "answers"),
            groups.join("; ")
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Answer", "Count", "Share"]);
        for (name, range, people, _) in self.groups().into_iter().rev() {
            table.row([
                format!("{name} ({range})"),
                grouped(people),
                share(people, self.answers()),
            ]);
        }
        for (point, people) in self.points.iter().enumerate().rev() {
            table.row([point.to_string(), grouped(*people), share(*people, self.answers())]);
        }
        table
    }
}

/// The position of a score on the half circle; the centre of the gauge is (0, RADIUS + STROKE / 2).
fn at(score: f64) -> (f64, f64) {
    let angle = PI * (1.0 - (score.clamp(-100.0, 100.0) + 100.0) / 200.0);
    (RADIUS * angle.cos(), RADIUS + STROKE / 2.0 + 4.0 - RADIUS * angle.sin())
}

fn arc(from: f64, to: f64) -> String {
    let ((x1, y1), (x2, y2)) = (at(from), at(to));
    format!("M{} {}A{RADIUS} {RADIUS} 0 0 1 {} {}", short(x1), short(y1), short(x2), short(y2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gauge_goes_from_left_to_right_over_the_top() {
        let round = |(x, y): (f64, f64)| (x.round() as i64, y.round() as i64);
        assert_eq!(round(at(-100.0)), (-84, 95));
        assert_eq!(round(at(0.0)), (0, 11));
        assert_eq!(round(at(100.0)), (84, 95));
    }
}
