//! Results that are being computed from the responses: the progress, and the time of a result.

use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::ReadProgress;
use sluice_flow::time::Timestamp;

use crate::chart::share;
use crate::frame::Frame;
use crate::parts::{number, time};
use crate::reply::{self, Kind};

/// The page while a result is being computed. It reloads itself, also without a script.
pub(super) fn page(frame: Frame<'_>, progress: ReadProgress, here: &str) -> Response {
    reply::reloading(frame.page(Kind::Shown, content(progress, here, Numbers::Shown)))
}

/// Whether the progress shows how many responses there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Shown,
    Hidden,
}

/// The progress, with a link to the page itself.
pub(super) fn content(progress: ReadProgress, here: &str, numbers: Numbers) -> Markup {
    let ReadProgress { read, of } = progress;
    html! {
        section.card.computing role="status" {
            h2 { "Reading responses" }
            progress.bar aria-label="Responses read" max="100" value=(read * 100 / of.max(1)) {}
            p {
                @if of == 0 { "Starting …" }
                @else {
                    (share(read, of))
                    @if numbers == Numbers::Shown { ", about " (number(read)) " of " (number(of)) " responses" }
                }
            }
            p.hint { "This requires reading every response once. The page reloads until the result is complete; if you leave, reading stops and starts again when you return." }
            div.buttons { a.button href=(here) { "Reload now" } }
        }
    }
}

/// How current a result is.
pub(super) fn current(as_of: Timestamp) -> Markup {
    html! { p.hint { "Computed from the responses stored by " (time(as_of)) ". To include newer ones, reload after a minute." } }
}
