//! The banner on every page while nothing is sent.

use maud::{Markup, html};
use sluice_engine::outbound::OutboundHold;

use super::parts::time;

pub(super) fn banner(hold: OutboundHold) -> Markup {
    html! {
        div.note.warn.held role="note" aria-label="Nothing is sent" {
            @match hold {
                OutboundHold::Since(at) => p {
                    strong { "Nothing is sent." }
                    " E-mails and webhooks have been on hold since " (time(at)) ", because this database was restored or moved. "
                    a href="/console/settings/mail" { "Choose what to do with the pending items" }
                    ", or run " code { "sluice outbound resume" } "."
                },
                OutboundHold::Here => p {
                    strong { "Nothing is sent." }
                    " This server was started with " code { "--hold-outbound" } ". Start it without that to send e-mails and webhooks."
                },
            }
        }
    }
}
