//! A thumbnail of a flow: a rough drawing of its first questions.
//!
//! It repeats the text beside it, so it is hidden from screen readers. Drawn with attributes and
//! classes only, since the page's content security policy forbids inline styles.

use maud::{Markup, html};
use serde_json::Value;
use sluice_flow::question::{Input, QuestionType};

const WIDTH: u32 = 240;
const HEIGHT: u32 = 96;
/// The number of questions drawn.
const DRAWN: usize = 2;
const TOP: u32 = 14;
const STEP: u32 = 42;
const LEFT: u32 = 20;

pub(super) fn thumbnail(definition: &Value) -> Markup {
    let questions = definition["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        svg.sketch viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-hidden="true" focusable="false" {
            @for (at, question) in questions.iter().take(DRAWN).enumerate() {
                @let y = TOP + STEP * at as u32;
                rect.s-ink x=(LEFT) y=(y) width=(heading_width(question)) height="6" rx="3" {}
                (control(question["type"].as_str().unwrap_or_default(), y + 13))
            }
            @if questions.is_empty() {
                rect.s-dash x=(LEFT) y="24" width=(WIDTH - 2 * LEFT) height="48" rx="8" {}
                path.s-line d="M120 40v16M112 48h16" {}
            }
        }
    }
}

/// A heading roughly as long as the prompt.
fn heading_width(question: &Value) -> u32 {
    let chars = question["prompt"].as_str().map_or(0, |prompt| prompt.chars().count());
    (chars as u32 * 3).clamp(40, WIDTH - 2 * LEFT)
}

fn control(question_type: &str, y: u32) -> Markup {
    let Some(question_type) = QuestionType::blank(question_type) else { return line(y) };
    match question_type.input() {
        Input::Scale { low, high, .. } if high - low >= 10 => marks(high - low + 1, 17, y, true),
        Input::Scale { low, high, .. } => marks(high - low + 1, 26, y, false),
        Input::YesNo => boxes(2, 60, y),
        Input::OneOf { dropdown: false, .. }
        | Input::SomeOf { .. }
        | Input::Order { .. }
        | Input::Tick { .. } => lines(y),
        Input::Grid { .. } => grid(y),
        Input::Nothing => html! {
            rect.s-soft x=(LEFT) y=(y) width="170" height="5" rx="2.5" {}
            rect.s-soft x=(LEFT) y=(y + 9) width="140" height="5" rx="2.5" {}
        },
        Input::Line { .. }
        | Input::Paragraph { .. }
        | Input::Number { .. }
        | Input::Date { .. }
        | Input::OneOf { dropdown: true, .. } => line(y),
    }
}

fn line(y: u32) -> Markup {
    html! { rect.s-box x=(LEFT) y=(y) width="150" height="15" rx="4" {} }
}

fn marks(count: u32, step: u32, y: u32, is_square: bool) -> Markup {
    html! {
        @for at in 0..count {
            @let class = if at * 10 >= count * 7 { "s-accent" } else { "s-box" };
            @if is_square { rect class=(class) x=(LEFT + at * step) y=(y) width="13" height="13" rx="3" {} }
            @else { circle class=(class) cx=(LEFT + 8 + at * step) cy=(y + 7) r="8" {} }
        }
    }
}

fn boxes(count: u32, width: u32, y: u32) -> Markup {
    html! {
        @for at in 0..count {
            rect class=(if at == 0 { "s-accent" } else { "s-box" }) x=(LEFT + at * (width + 8)) y=(y) width=(width) height="15" rx="4" {}
        }
    }
}

fn lines(y: u32) -> Markup {
    html! {
        @for at in 0..2 {
            circle class=(if at == 0 { "s-accent" } else { "s-box" }) cx=(LEFT + 4) cy=(y + 3 + at * 11) r="4" {}
            rect.s-soft x=(LEFT + 14) y=(y + at * 11) width=(110 - at * 30) height="6" rx="3" {}
        }
    }
}

fn grid(y: u32) -> Markup {
    html! {
        @for row in 0..2 {
            rect.s-soft x=(LEFT) y=(y + row * 11) width="60" height="6" rx="3" {}
            @for column in 0..3 {
                circle class=(if row + column == 2 { "s-accent" } else { "s-box" }) cx=(LEFT + 90 + column * 30) cy=(y + 3 + row * 11) r="4" {}
            }
        }
    }
}
