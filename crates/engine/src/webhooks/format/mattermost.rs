//! A message in Mattermost.

use serde_json::{Value, json};
use sluice_flow::event::payload::Payload;

use super::WebhookFormat;
use super::message::{Message, without_markdown, without_mentions};

pub(super) static MATTERMOST: WebhookFormat = WebhookFormat {
    name: "mattermost",
    label: "Mattermost",
    description: "A message for an incoming webhook of Mattermost.",
    batches: false,
    body: |payload, public_url| serde_json::to_vec(&body(payload, public_url)?),
};

fn body(payload: &Payload, public_url: &str) -> Result<Value, serde_json::Error> {
    let message = Message::new(payload, public_url)?;
    let heading = match &message.link {
        Some(link) => format!("**[{}]({link})**", message.heading),
        None => format!("**{}**", message.heading),
    };
    let fields: Vec<Value> = message
        .facts
        .iter()
        .map(|(label, text)| {
            let plain = |text: &str| without_mentions(&without_markdown(text));
            json!({"title": plain(label), "value": plain(text), "short": false})
        })
        .collect();
    Ok(json!({"text": heading, "attachments": [{"fallback": message.heading, "fields": fields}]}))
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::response;
    use super::*;

    #[test]
    fn answers_cannot_mention() {
        let body = body(&response(), "https://ask.example").unwrap();
        let fields = body["attachments"][0]["fields"].as_array().unwrap();
        let why = fields.iter().find(|it| it["title"] == "why").unwrap();
        assert_eq!(why["value"], "\\<!channel\\> & \\*bold\\* @\u{200B}here");
        assert!(body["text"].as_str().unwrap().contains("(https://ask.example/console/"));
    }
}
