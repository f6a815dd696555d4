//! A message in Discord.

use serde_json::{Value, json};
use sluice_flow::event::payload::Payload;

use super::WebhookFormat;
use super::message::{Message, without_markdown_within};

pub(super) static DISCORD: WebhookFormat = WebhookFormat {
    name: "discord",
    label: "Discord",
    description: "A message for a webhook of Discord.",
    batches: false,
    body: |payload, public_url| serde_json::to_vec(&body(payload, public_url)?),
};

fn body(payload: &Payload, public_url: &str) -> Result<Value, serde_json::Error> {
    let message = Message::new(payload, public_url)?;
    let title = without_markdown_within(&message.heading, NAME_MAX);
    let mut room = TOTAL_MAX.saturating_sub(units(&title));
    let mut fields: Vec<Value> = Vec::new();
    // Discord refuses fields without text.
    let facts = message.facts.iter();
    for (label, text) in facts.filter(|(name, text)| !name.is_empty() && !text.trim().is_empty()) {
        let name = without_markdown_within(label, NAME_MAX);
        let value = without_markdown_within(text, VALUE_MAX);
        let needed = units(&name) + units(&value);
        if needed > room || fields.len() >= FIELDS_MAX {
            break;
        }
        room -= needed;
        fields.push(json!({"name": name, "value": value, "inline": false}));
    }
    let mut embed = json!({"title": title, "fields": fields});
    if let Some(link) = message.link {
        embed["url"] = json!(link);
    }
    Ok(json!({"embeds": [embed], "allowed_mentions": {"parse": []}}))
}

/// The limits of Discord, in UTF-16 units: titles and names, values, fields, and all texts
/// together.
const NAME_MAX: usize = 256;
const VALUE_MAX: usize = 1_024;
const FIELDS_MAX: usize = 25;
const TOTAL_MAX: usize = 6_000;

fn units(text: &str) -> usize {
    text.encode_utf16().count()
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

    #[test]
    fn a_message_keeps_the_limits_of_discord() {
        use serde_json::value::RawValue;
        use sluice_flow::event::EventType;
        use sluice_flow::id::EventId;
        for text in ["[x](y)*_".repeat(200), "😀".repeat(2_000), "a".repeat(5_000)] {
            let answers: serde_json::Map<String, Value> = (0..40)
                .map(|number| (format!("{number:02}{}", "q".repeat(300)), json!(text)))
                .collect();
            let data =
                json!({"flowId": "fl_1", "response": {"responseId": "rs_1", "answers": answers}});
            let data = RawValue::from_string(data.to_string()).unwrap();
            let id = EventId::from_uuid(uuid::Uuid::nil());
            let payload = Payload::new(id, EventType::ResponseCreated, data);
            let body = body(&payload, "https://ask.example").unwrap();
            let embed = &body["embeds"][0];
            let fields = embed["fields"].as_array().unwrap();
            assert!((1..=25).contains(&fields.len()), "{} fields", fields.len());
            let length = |value: &Value| units(value.as_str().unwrap());
            assert!(fields.iter().all(|it| length(&it["name"]) <= 256));
            assert!(fields.iter().all(|it| length(&it["value"]) <= 1_024));
            let all: usize =
                fields.iter().map(|it| length(&it["name"]) + length(&it["value"])).sum();
            assert!(all + length(&embed["title"]) <= 6_000, "{all}");
        }
    }

    #[test]
    fn answers_cannot_format_or_link() {
        let body = body(&response(), "https://ask.example").unwrap();
        let fields = body["embeds"][0]["fields"].as_array().unwrap();
        let why = fields.iter().find(|it| it["name"] == "why").unwrap();
        assert_eq!(why["value"], r"\<!channel\> & \*bold\* @here");
    }
}
