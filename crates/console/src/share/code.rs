//! A text as a QR code, drawn as SVG.

use maud::{Markup, html};
use qrcodegen::{QrCode, QrCodeEcc};

/// The white margin around the code, in modules; scanners need it.
const QUIET: i32 = 4;

/// The drawing, or none if the text is too long for a QR code. Black on white in every theme.
pub(in super::super) fn drawing(text: &str, label: &str) -> Option<Markup> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let size = code.size() + 2 * QUIET;
    Some(html! {
        svg.qr xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (size) " " (size) } width="240" height="240" role="img"
            aria-label=(label) shape-rendering="crispEdges" {
            title { (label) }
            rect width=(size) height=(size) fill="#ffffff" {}
            path d=(path(&code)) fill="#000000" {}
        }
    })
}

/// Each run of dark modules as one rectangle.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let from = x;
            while x < code.size() && code.get_module(x, y) {
                x += 1;
            }
            if x > from {
                path.push_str(&format!(
                    "M{} {}h{}v1h-{}z",
                    from + QUIET,
                    y + QUIET,
                    x - from,
                    x - from
                ));
            }
            x += 1;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_dark_modules_are_drawn_once() {
        let code = QrCode::encode_text("https://ask.example/f/fl_1", QrCodeEcc::Medium).unwrap();
        let mut drawn = 0;
        for run in path(&code).split('M').skip(1) {
            let (place, rest) = run.split_once('h').unwrap();
            let (x, y) = place.split_once(' ').unwrap();
            let length: i32 = rest.split_once('v').unwrap().0.parse().unwrap();
            for at in 0..length {
                let (x, y): (i32, i32) = (x.parse::<i32>().unwrap() + at, y.parse().unwrap());
                assert!(code.get_module(x - QUIET, y - QUIET), "{x} {y}");
                drawn += 1;
            }
        }
        let dark = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
        assert_eq!(drawn, dark.filter(|(x, y)| code.get_module(*x, *y)).count());
    }

    #[test]
    fn a_text_that_is_too_long_has_no_code() {
        assert!(drawing(&"x".repeat(5_000), "").is_none());
        assert!(drawing("https://ask.example/f/fl_1?tags.plan=pro", "Link").is_some());
    }
}
