//! The labels along a horizontal axis: as many as fit, each exactly under what it names.
//!
//! A label is never moved to make it fit. If the labels would touch, every second is shown, or
//! every fifth, and so on, at round numbers.

use maud::{Markup, html};

use super::pen::{Percent, Tone, draw_text};
use super::text;

/// The font size of labels, in pixels.
const SIZE: f64 = 12.0;
/// The least distance between two labels, in pixels.
const APART: f64 = 8.0;

/// Where labels can stand along an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// What the places are, such as "Rating" or "Day".
    pub(crate) name: String,
    /// One text per place.
    texts: Vec<String>,
    /// The number of the first place. Labels stand at multiples of a step.
    first: i64,
    /// The steps between labels, the smallest first.
    steps: &'static [i64],
    /// Whether the places are the edges of columns; otherwise they are their centres.
    has_edges: bool,
}

/// A text at a position from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Label<'a> {
    pub(super) at: f64,
    pub(super) text: &'a str,
}

impl Axis {
    /// A label under the centre of each column.
    pub(crate) fn centred(
        name: impl Into<String>,
        first: i64,
        steps: &'static [i64],
        texts: Vec<String>,
    ) -> Self {
        Self { name: name.into(), texts, first, steps, has_edges: false }
    }

    /// A label at each edge of a column: one more than there are columns.
    pub(super) fn at_edges(
        name: impl Into<String>,
        first: i64,
        steps: &'static [i64],
        texts: Vec<String>,
    ) -> Self {
        Self { name: name.into(), texts, first, steps, has_edges: true }
    }

    fn place(&self, index: usize) -> f64 {
        match self.has_edges {
            true => index as f64 / self.texts.len().saturating_sub(1).max(1) as f64,
            false => (index as f64 + 0.5) / self.texts.len() as f64,
        }
    }

    /// The labels that fit in a width of `room`, with `before` more pixels at the start.
    pub(super) fn labels(&self, room: f64, before: f64) -> Vec<Label<'_>> {
        let within = |label: &Label<'_>| {
            let half = text::width(label.text, SIZE) / 2.0;
            label.at * room - half >= -before && label.at * room + half <= room + 1.0
        };
        let all = self.steps.iter().map(|step| -> Vec<Label<'_>> {
            let labels = (self.first..).zip(&self.texts).enumerate();
            let labels = labels.filter(|(_, (number, _))| number.rem_euclid(*step) == 0);
            let labels = labels.map(|(at, (_, text))| Label { at: self.place(at), text });
            labels.filter(within).collect()
        });
        let mut sparsest = Vec::new();
        for labels in all.filter(|labels| !labels.is_empty()) {
            if !touch(&labels, room) {
                return labels;
            }
            sparsest = labels;
        }
        sparsest.truncate(1);
        sparsest
    }

    /// Draws the labels at this height.
    pub(super) fn drawn(&self, y: f64, room: f64, before: f64) -> Markup {
        html! {
            g class="c-x" {
                @for label in self.labels(room, before) {
                    (draw_text(&Percent(100.0 * label.at).to_string(), y, "middle", Tone::Muted, label.text))
                }
            }
        }
    }
}

fn touch(labels: &[Label<'_>], room: f64) -> bool {
    let half = |label: &Label<'_>| text::width(label.text, SIZE) / 2.0;
    labels.windows(2).any(|pair| {
        let distance = (pair[1].at - pair[0].at) * room;
        distance < half(&pair[0]) + half(&pair[1]) + APART
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[i64] = &[1, 2, 5, 10, 20, 50, 100];

    fn numbers(from: i64, to: i64) -> Vec<String> {
        (from..=to).map(|number| number.to_string()).collect()
    }

    fn shown(axis: &Axis, room: f64) -> Vec<String> {
        axis.labels(room, 40.0).iter().map(|label| label.text.to_owned()).collect()
    }

    #[test]
    fn labels_are_thinned_to_round_numbers() {
        let axis = |from, to| Axis::centred("", from, STEPS, numbers(from, to));
        assert_eq!(shown(&axis(1, 5), 256.0), ["1", "2", "3", "4", "5"]);
        assert_eq!(shown(&axis(0, 10), 256.0).len(), 11);
        assert_eq!(shown(&axis(3, 42), 256.0), ["5", "10", "15", "20", "25", "30", "35", "40"]);
        assert_eq!(shown(&axis(1, 1), 256.0), ["1"]);
        assert!(shown(&Axis::centred("", 0, STEPS, Vec::new()), 256.0).is_empty());
    }

    #[test]
    fn a_label_is_under_the_column_that_it_names() {
        let axis = Axis::centred("", 0, STEPS, numbers(0, 40));
        for label in axis.labels(256.0, 40.0) {
            let number: f64 = label.text.parse().unwrap();
            assert!((label.at - (number + 0.5) / 41.0).abs() < 1e-9, "{label:?}");
        }
        let axis = Axis::at_edges("", 0, STEPS, numbers(0, 40));
        for label in axis.labels(256.0, 40.0) {
            let number: f64 = label.text.parse().unwrap();
            assert!((label.at - number / 40.0).abs() < 1e-9, "{label:?}");
        }
    }

    #[test]
    fn labels_never_touch_and_stay_within_the_drawing() {
        for count in 1..80_i64 {
            for text in ["1", "Nov 2026", "12 Nov 2026", "1,000,000"] {
                for has_edges in [false, true] {
                    let texts = vec![text.to_owned(); count as usize];
                    let axis =
                        Axis { name: String::new(), texts, first: 7, steps: STEPS, has_edges };
                    for room in [216.0, 256.0, 700.0] {
                        let labels = axis.labels(room, 40.0);
                        assert!(!touch(&labels, room), "{count} × {text} in {room}");
                        let half = text::width(text, SIZE) / 2.0;
                        assert!(labels.iter().all(|it| it.at * room + half <= room + 1.0));
                    }
                }
            }
        }
    }
}
