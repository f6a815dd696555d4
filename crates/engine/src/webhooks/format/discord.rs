//! A message in Discord.

use serde_json::{Value, json};
use sluice_flow::event::payload::Payload;

use super::WebhookFormat;
use super::message::Message;

pub(super) static DISCORD: WebhookFormat = WebhookFormat {
    name: "discord",
    label: "Discord",
    description: "A message for a webhook of Discord.",
    body: |payload, public_url| serde_json::to_vec(&body(payload, public_url)?),
};

fn body(payload: &Payload, public_url: &str) -> Result<Value, serde_json::Error> {
    let message = Message::new(payload, public_url)?;
    // Discord refuses fields without text.
    let fields = message.facts.iter().filter(|(_, text)| !text.trim().is_empty());
    let fields: Vec<Value> = fields
        .map(|(label, text)| json!({"name": label, "value": text, "inline": false}))
        .collect();
    let mut embed = json!({"title": message.heading, "fields": fields});
    if let Some(link) = message.link {
        embed["url"] = json!(link);
    }
    Ok(json!({"embeds": [embed], "allowed_mentions": {"parse": []}}))
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::response;
    use super::*;

    #[test]
    fn answers_cannot_mention() {
        let body = body(&response(), "https://ask.example").unwrap();
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
        let fields = body["embeds"][0]["fields"].as_array().unwrap();
        assert!(fields.iter().any(|it| it["name"] == "nps" && it["value"] == "9"));
        assert_eq!(body["embeds"][0]["title"], "New response");
    }
}
