//! The images of a question and of its options.

use maud::{Markup, html};
use sluice_flow::question::Image;
use sluice_flow::question::choice::{Choice, Options};

use super::QuestionView;
use crate::images;

/// The largest width and height of a question's image on the page, in CSS pixels.
const SHOWN_MAX: (u32, u32) = (640, 400);

impl QuestionView<'_> {
    /// The image above the question, if it has one.
    pub(super) fn picture(&self) -> Markup {
        let alt = self.texts.wording.image_alt(self.question);
        html! {
            @if let Some(image) = &self.question.image { (self.image("picture", image, alt)) }
        }
    }

    pub(super) fn has_pictures(options: &Options) -> bool {
        options.options.iter().any(|option| option.image.is_some())
    }

    pub(super) fn option_picture(&self, option: &Choice) -> Markup {
        let alt = self.texts.wording.option_alt(self.question, option);
        html! { @if let Some(image) = &option.image { (self.image("", image, alt)) } }
    }

    /// With its size, so that nothing moves when it has arrived.
    fn image(&self, class: &str, image: &Image, alt: &str) -> Markup {
        let size = self.version.image_size(image.asset_id).map(shown_size);
        let class = Some(class).filter(|class| !class.is_empty());
        html! {
            img class=[class] src=(images::path(image.asset_id)) alt=(self.texts.plain_label(alt))
                data-parts=[self.texts.script_parts(alt)]
                width=[size.map(|it| it.0)] height=[size.map(|it| it.1)]
                loading="lazy" decoding="async" dir="auto";
        }
    }
}

/// The size on the page: as large as the image, or as fits.
fn shown_size((width, height): (u32, u32)) -> (u32, u32) {
    let (width_max, height_max) = SHOWN_MAX;
    let (wide, high) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let scale = (f64::from(width_max) / wide).min(f64::from(height_max) / high).min(1.0);
    let scaled = |side: f64| (side * scale).round().max(1.0) as u32;
    (scaled(wide), scaled(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_shown_in_its_proportions_and_never_enlarged() {
        for (size, shown) in [
            ((100, 50), (100, 50)),
            ((1_600, 900), (640, 360)),
            ((800, 1_600), (200, 400)),
            ((2_000, 1), (640, 1)),
            ((640, 400), (640, 400)),
        ] {
            assert_eq!(shown_size(size), shown);
        }
    }
}
