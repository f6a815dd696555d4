//! A sparkline: responses on each of the last days, no larger than a word.

use maud::{Markup, html};

use super::number::{count, grouped};
use super::pen::{Tone, short};

const WIDTH: f64 = 96.0;
const HEIGHT: f64 = 24.0;
/// The padding above and below the line, so that it is not clipped.
const EDGE: f64 = 2.0;

/// Responses per day, newest last. The class `spark` in the style sheet sets its size.
pub(crate) fn spark(days: &[u64]) -> Markup {
    let sum: u64 = days.iter().sum();
    let label = match days.len() {
        0 => "No days to show".to_owned(),
        1 => format!("{} today", count(sum, "response", "responses")),
        many => format!(
            "{} in the last {} days",
            count(sum, "response", "responses"),
            grouped(many as u64)
        ),
    };
    let line = line(days);
    html! {
        svg.spark xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT)
            preserveAspectRatio="none" role="img" aria-label=(label) direction="ltr" {
            title { (label) }
            @if sum > 0 {
                path class="c-bar" d={ (line) "V" (HEIGHT) "H0Z" } fill=(Tone::Accent.light()) fill-opacity="0.14" {}
            }
            path class=(if sum > 0 { "c-line" } else { "c-grid-line" }) d=(line) fill="none"
                stroke=(if sum > 0 { Tone::Accent.light() } else { Tone::Grid.light() })
                stroke-width="1.5" stroke-linejoin="round" stroke-linecap="round" vector-effect="non-scaling-stroke" {}
        }
    }
}

/// From left to right; the maximum is at the top, zero at the bottom.
fn line(days: &[u64]) -> String {
    let most = days.iter().copied().max().unwrap_or(0).max(1) as f64;
    let y = |value: u64| HEIGHT - EDGE - (HEIGHT - 2.0 * EDGE) * value as f64 / most;
    match days {
        [] => format!("M0 {}H{WIDTH}", HEIGHT - EDGE),
        [one] => format!("M0 {}H{WIDTH}", short(y(*one))),
        days => {
            let step = WIDTH / (days.len() - 1) as f64;
            let place = |(at, value): (usize, &u64)| {
                let mark = if at == 0 { 'M' } else { 'L' };
                format!("{mark}{} {}", short(at as f64 * step), short(y(*value)))
            };
            days.iter().enumerate().map(place).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_at_the_top_and_zero_at_the_bottom() {
        for (days, drawn) in [
            (&[][..], "M0 22H96"),
            (&[0], "M0 22H96"),
            (&[7], "M0 2H96"),
            (&[0, 4, 2], "M0 22L48 2L96 12"),
            (&[0, 0], "M0 22L96 22"),
            (&[u64::MAX, 0], "M0 2L96 22"),
        ] {
            assert_eq!(line(days), drawn, "{days:?}");
        }
    }

    #[test]
    fn the_label_describes_the_line() {
        for (days, label) in [
            (&[][..], "No days to show"),
            (&[1], "1 response today"),
            (&[1_000, 234], "1,234 responses in the last 2 days"),
        ] {
            let markup = spark(days).into_string();
            assert!(markup.contains(&format!("aria-label=\"{label}\"")), "{markup}");
        }
    }
}
