//! Controls of a few marks in a row: a rating, the likelihood to recommend, yes and no, and agreeing.

use std::ops::RangeInclusive;

use maud::{Markup, html};
use sluice_flow::question::{Nps, Rating};

use super::Asking;

/// From the least to the most content. A scale of fewer marks takes those that stand evenly among them.
const FACES: [&str; 10] = ["😡", "😠", "☹️", "🙁", "😐", "🙂", "😊", "😀", "😃", "😍"];

impl Asking<'_> {
    pub(super) fn rating(&self, rating: &Rating) -> Markup {
        // The words of the contract: star, number, emoji.
        let shape = serde_json::to_value(rating.shape).unwrap_or_default();
        let shape = shape.as_str().unwrap_or("number");
        let face = |mark: u32| (shape == "emoji").then(|| face(mark, rating.max));
        self.rated(shape, 1..=rating.max, face, &rating.low_label, &rating.high_label)
    }

    pub(super) fn nps(&self, nps: &Nps) -> Markup {
        self.rated("number", 0..=10, |_| None, &nps.low_label, &nps.high_label)
    }

    /// Marks, with the labels of their ends below.
    fn rated(
        &self,
        shape: &str,
        marks: RangeInclusive<u32>,
        face: impl Fn(u32) -> Option<&'static str>,
        low: &Option<String>,
        high: &Option<String>,
    ) -> Markup {
        let field = self.field();
        let low = self.wording.end(self.question, "lowLabel", low);
        let high = self.wording.end(self.question, "highLabel", high);
        html! {
            div.rated {
                div.scale data-shape=(shape) {
                    @for mark in marks {
                        @let value = mark.to_string();
                        label.mark {
                            input type="radio" name=(field) value=(value) checked[self.form.has(&field, &value)];
                            span data-face=[face(mark)] { (value) }
                        }
                    }
                }
                @if low.is_some() || high.is_some() {
                    div.ends { span { (low.unwrap_or_default()) } span { (high.unwrap_or_default()) } }
                }
            }
        }
    }

    pub(super) fn yes_no(&self) -> Markup {
        let field = self.field();
        html! {
            div.scale data-shape="word" {
                @for (value, word) in [("yes", self.words.form.yes), ("no", self.words.form.no)] {
                    label.mark {
                        input type="radio" name=(field) value=(value) checked[self.form.has(&field, value)];
                        span { (word) }
                    }
                }
            }
        }
    }

    pub(super) fn agreement(&self) -> Markup {
        self.choice("checkbox", "accepted", self.words.form.agree)
    }
}

fn face(mark: u32, max: u32) -> &'static str {
    let steps = max.saturating_sub(1).max(1);
    let at = mark.saturating_sub(1) * (FACES.len() as u32 - 1) / steps;
    FACES[(at as usize).min(FACES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_go_from_the_least_to_the_most_content() {
        for max in 3..=10 {
            let faces: Vec<&str> = (1..=max).map(|mark| face(mark, max)).collect();
            assert_eq!((faces[0], faces[max as usize - 1]), (FACES[0], FACES[9]), "{max}");
            assert!(faces.windows(2).all(|pair| pair[0] != pair[1]), "{faces:?}");
        }
    }
}
