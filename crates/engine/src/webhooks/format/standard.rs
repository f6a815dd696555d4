//! The payload as it is in the log.

use super::WebhookFormat;

pub(super) static STANDARD: WebhookFormat = WebhookFormat {
    name: "standard",
    label: "Standard Webhooks",
    description: "The event as JSON, as in the event log.",
    batches: true,
    body: |payload, _| serde_json::to_vec(payload),
};
