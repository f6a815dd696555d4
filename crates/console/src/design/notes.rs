//! What a colour means for readers, in words: its contrast, and where the page shows another one so
//! that texts stay readable.

use sluice_flow::design::{
    BLACK, Color, DARK, Design, DesignField, LIGHT, Scheme, TEXT_CONTRAST_MIN,
};

/// Contrast from which texts are easy to read for almost everyone (WCAG, level AAA).
const HIGH_CONTRAST_MIN: f64 = 7.0;

/// The note below a part of a design; empty if there is nothing to say.
pub(super) fn for_field(field: DesignField, own: &Design, app: Option<&Design>) -> String {
    let design = app.map_or_else(|| own.clone(), |app| own.over(app));
    let sentences = match field {
        DesignField::AccentColor => design.accent().map(|color| accent(color, &design)),
        DesignField::Background if design.background_image().is_some() => Some(vec![
            "Texts are on a panel above the image, so that they are easy to read.".to_owned(),
        ]),
        DesignField::Background => design.background().map(background),
        _ => None,
    };
    sentences.unwrap_or_default().join(" ")
}

fn accent(color: Color, design: &Design) -> Vec<String> {
    let text = color.text_on();
    let contrast = color.contrast(text);
    let name = if text == BLACK { "black" } else { "white" };
    let ease = if contrast >= HIGH_CONTRAST_MIN { "very easy to read" } else { "easy to read" };
    let mut sentences =
        vec![format!("Button texts are {name}: contrast {}, {ease}.", ratio(contrast))];
    for (scheme, theme) in [(LIGHT, "light"), (DARK, "dark")] {
        let ground = design.background().map_or(scheme.ground, |it| scheme.background(it));
        let shown = scheme.link(color, ground);
        if shown != color {
            let least = color.contrast(ground).min(color.contrast(scheme.surface));
            sentences.push(format!(
                "In {theme} mode, links and outlines are shown in {shown}: this colour has a contrast of only {} there.",
                ratio(least)
            ));
        }
    }
    sentences
}

fn background(color: Color) -> Vec<String> {
    let changed = |scheme: &Scheme| {
        let shown = scheme.background(color);
        let texts = [scheme.ink, scheme.muted, scheme.red];
        let least = texts.iter().map(|it| it.contrast(color)).fold(f64::INFINITY, f64::min);
        (shown != color).then_some((shown, least))
    };
    let mut sentences = Vec::new();
    for (scheme, theme) in [(LIGHT, "light"), (DARK, "dark")] {
        if let Some((shown, least)) = changed(&scheme) {
            sentences.push(format!(
                "In {theme} mode it is shown as {shown}: texts on this colour would have a contrast of only {}.",
                ratio(least)
            ));
        }
    }
    if sentences.is_empty() {
        sentences
            .push(format!("Texts on it have a contrast of at least {TEXT_CONTRAST_MIN} to 1."));
    }
    sentences
}

fn ratio(contrast: f64) -> String {
    // Rounded down, so that 4.49 is not called 4.5.
    format!("{:.1} to 1", (contrast * 10.0).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contrast_is_stated_in_words() {
        for (own, field, expected) in [
            (json!({}), DesignField::AccentColor, ""),
            (
                json!({"accentColor": "#0f6b73"}),
                DesignField::AccentColor,
                "Button texts are white: contrast 6.2 to 1, easy to read. In dark mode, links and outlines",
            ),
            (
                json!({"accentColor": "#ffcc00"}),
                DesignField::AccentColor,
                "Button texts are black: contrast 13.8 to 1, very easy to read. In light mode, links and outlines are shown in #",
            ),
            (
                json!({"background": "#fdf6e3"}),
                DesignField::Background,
                "In dark mode it is shown as #",
            ),
            (
                json!({"background": "#808080"}),
                DesignField::Background,
                "In light mode it is shown as #",
            ),
            (json!({"background": "none"}), DesignField::Background, ""),
            (
                json!({"background": "as_01KA2VgdPrWYDVgYy3wLpB"}),
                DesignField::Background,
                "Texts are on a panel",
            ),
            (json!({"font": "serif"}), DesignField::Font, ""),
        ] {
            let note = for_field(field, &Design::from_json(&own), None);
            assert_eq!(note.is_empty(), expected.is_empty(), "{own}: {note}");
            assert!(note.starts_with(expected), "{own}: {note}");
        }
        let inherited = Design::from_json(&json!({"accentColor": "#ffcc00"}));
        let note = for_field(DesignField::AccentColor, &Design::default(), Some(&inherited));
        assert!(note.starts_with("Button texts are black"), "{note}");
    }
}
