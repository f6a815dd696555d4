//! Controls with a row of marks: rating, NPS, yes/no, and consent.

use std::ops::RangeInclusive;

use maud::{Markup, html};
use sluice_flow::question::{Input, Marks};

use super::QuestionView;

/// The prefixes of the ids of the labels at the ends of a scale.
const LOW: &str = "low-";
const HIGH: &str = "high-";

/// From the least to the most satisfied. A scale with fewer marks uses evenly spaced ones.
const FACES: [&str; 10] = ["😡", "😠", "☹️", "🙁", "😐", "🙂", "😊", "😀", "😃", "😍"];

impl QuestionView<'_> {
    /// The marks, with the labels of both ends below.
    pub(super) fn scale(
        &self,
        marks: RangeInclusive<u32>,
        look: Marks,
        is_scored: bool,
        [low, high]: [Option<&str>; 2],
    ) -> Markup {
        let best = *marks.end();
        let face = |mark: u32| (look == Marks::Emoji).then(|| face(mark, best));
        let field = self.field();
        let [low, high] = self.ends([low, high]);
        let id = &self.question.id;
        html! {
            div.rated {
                div.scale data-shape=(look.as_str()) {
                    @for (at, mark) in marks.enumerate() {
                        @let value = mark.to_string();
                        label.mark {
                            input type="radio" name=(field) value=(value)
                                data-score=[is_scored.then_some(&value)]
                                checked[self.form.has(&field, &value)] autofocus[self.is_focused(at)];
                            span data-face=[face(mark)] { (value) }
                        }
                    }
                }
                @if low.is_some() || high.is_some() {
                    div.ends {
                        span id={ (LOW) (id) } dir="auto" { (self.texts.label(low.unwrap_or_default())) }
                        span id={ (HIGH) (id) } dir="auto" { (self.texts.label(high.unwrap_or_default())) }
                    }
                }
            }
        }
    }

    fn ends<'l>(&'l self, [low, high]: [Option<&'l str>; 2]) -> [Option<&'l str>; 2] {
        let wording = self.texts.wording;
        [wording.end(self.question, "lowLabel", low), wording.end(self.question, "highLabel", high)]
    }

    /// The ids of the labels of both ends, which describe the scale.
    pub(super) fn end_ids(&self) -> Vec<String> {
        let Input::Scale { low_label, high_label, .. } = self.question.question_type.input() else {
            return Vec::new();
        };
        let ends = self.ends([low_label, high_label]).into_iter().zip([LOW, HIGH]);
        let named = ends.filter(|(label, _)| label.is_some());
        named.map(|(_, prefix)| format!("{prefix}{}", self.question.id)).collect()
    }

    pub(super) fn yes_no(&self) -> Markup {
        let field = self.field();
        html! {
            div.scale data-shape="word" {
                @for (at, (value, word)) in [("yes", self.texts.words.form.yes), ("no", self.texts.words.form.no)].into_iter().enumerate() {
                    label.mark {
                        input type="radio" name=(field) value=(value) checked[self.form.has(&field, value)]
                            autofocus[self.is_focused(at)];
                        span { (word) }
                    }
                }
            }
        }
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
    fn faces_go_from_the_least_to_the_most_satisfied() {
        for max in 3..=10 {
            let faces: Vec<&str> = (1..=max).map(|mark| face(mark, max)).collect();
            assert_eq!((faces[0], faces[max as usize - 1]), (FACES[0], FACES[9]), "{max}");
            assert!(faces.windows(2).all(|pair| pair[0] != pair[1]), "{faces:?}");
        }
    }
}
