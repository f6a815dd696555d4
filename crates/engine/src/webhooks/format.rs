//! The formats of requests to endpoints. [`FORMATS`] is the table, with one file per format.

mod discord;
mod mattermost;
mod message;
mod slack;
mod standard;
mod teams;

use sluice_flow::event::payload::Payload;

/// How an endpoint's requests look.
#[derive(Debug)]
pub struct WebhookFormat {
    /// The name as stored and sent.
    pub name: &'static str,
    /// The label in the console.
    pub label: &'static str,
    pub description: &'static str,
    /// Whether several events can share a request.
    pub batches: bool,
    /// The body of a request, as JSON; with the URL of this service, for links.
    pub(super) body: fn(&Payload, &str) -> Result<Vec<u8>, serde_json::Error>,
}

/// All formats; the first is the default.
pub static FORMATS: &[&WebhookFormat] = &[
    &standard::STANDARD,
    &slack::SLACK,
    &discord::DISCORD,
    &teams::TEAMS,
    &mattermost::MATTERMOST,
];

/// The format with this name.
pub fn find(name: &str) -> Option<&'static WebhookFormat> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
