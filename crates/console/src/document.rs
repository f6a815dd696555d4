//! The HTML document around the body of a page: its head, and the links to style and scripts.

use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::parts::icon;

pub(super) fn render(
    title: &str,
    theme: Option<&'static str>,
    scripts: &[&'static str],
    class: &str,
    body: Markup,
) -> Markup {
    whole(&format!("{title} · Sluice"), theme, scripts, class, body)
}

/// The document with this title alone, for readers who need not know the product.
pub(super) fn whole(
    title: &str,
    theme: Option<&'static str>,
    scripts: &[&'static str],
    class: &str,
    body: Markup,
) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) }
                link rel="icon" href=(icon::address());
                link rel="stylesheet" href=(assets::address(assets::STYLE));
                @for script in scripts { script type="module" src=(assets::address(script)) {} }
            }
            body class=(class) { (body) }
        }
    }
}

/// A page without the frame: sign-in and errors.
pub(super) fn bare(
    title: &str,
    theme: Option<&'static str>,
    scripts: &[&'static str],
    content: Markup,
) -> Markup {
    let body = html! { main { div.card { (content) } } p.unseen id="announcer" role="status" aria-live="polite" {} };
    render(title, theme, scripts, "bare", body)
}
