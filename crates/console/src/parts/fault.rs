//! The faults of a form: all of them at the top, with links to the fields, and again beside each
//! field.

use maud::{Markup, html};
use sluice_flow::definition::Fault;

/// The summary. It takes the focus, so that it is read aloud first. `field_of` maps a pointer to
/// the id of its field.
pub(in super::super) fn errors(
    faults: &[Fault],
    field_of: impl Fn(&str) -> Option<String>,
) -> Markup {
    html! {
        @if !faults.is_empty() {
            div.errors role="alert" tabindex="-1" {
                h2 { @if faults.len() == 1 { "One problem needs fixing" } @else { (faults.len()) " problems need fixing" } }
                ul {
                    @for fault in faults {
                        li {
                            @match field_of(&fault.pointer) {
                                Some(id) => a href={ "#" (id) } { (message(fault)) },
                                None => (message(fault)),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A fault as a sentence: the label of the field, then the problem.
pub(in super::super) fn message(fault: &Fault) -> String {
    let name = fault.pointer.rsplit('/').next().unwrap_or_default();
    if name.is_empty() {
        fault.message.clone()
    } else {
        format!("{} {}", label(name), fault.message)
    }
}

/// The label of a field by its name in the API.
fn label(name: &str) -> String {
    let label = match name {
        "accentColor" => "Accent colour",
        "allowedOrigins" => "Allowed origins",
        "appId" => "App",
        "backText" => "The text of “Back”",
        "bytesPerDay" => "Bytes stored per day",
        "callsPerSecond" => "Calls per second",
        "darkLogo" => "Logo in dark mode",
        "email" => "E-mail address",
        "endsAt" => "End",
        "expiresAt" => "Expiry",
        "graceWindowSeconds" => "Grace window",
        "kid" => "Key ID",
        "nextText" => "The text of “Next”",
        "old" => "Current password",
        "path" => "Short path",
        "pem" => "Public key",
        "retentionDays" => "Retention",
        "sendText" => "The text of “Send”",
        "startsAt" => "Start",
        "until" => "Expiry",
        "url" => "URL",
        "userId" => "User ID",
        name => return capitalised(name),
    };
    label.to_owned()
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
