//! A message in Microsoft Teams.

use serde_json::{Value, json};
use sluice_flow::event::payload::Payload;

use super::WebhookFormat;
use super::message::{Message, without_markdown};

pub(super) static TEAMS: WebhookFormat = WebhookFormat {
    name: "teams",
    label: "Microsoft Teams",
    description: "An adaptive card for a workflow of Microsoft Teams.",
    batches: false,
    body: |payload, public_url| serde_json::to_vec(&body(payload, public_url)?),
};

fn body(payload: &Payload, public_url: &str) -> Result<Value, serde_json::Error> {
    let message = Message::new(payload, public_url)?;
    // Both are Markdown in cards.
    let fact = |(label, text): &(String, String)| json!({"title": without_markdown(label), "value": without_markdown(text)});
    let facts: Vec<Value> = message.facts.iter().map(fact).collect();
    let heading =
        json!({"type": "TextBlock", "text": message.heading, "weight": "bolder", "wrap": true});
    let mut parts = vec![heading];
    if !facts.is_empty() {
        parts.push(json!({"type": "FactSet", "facts": facts}));
    }
    let actions: Vec<Value> = message
        .link
        .iter()
        .map(|link| json!({"type": "Action.OpenUrl", "title": "Open in Sluice", "url": link}))
        .collect();
    Ok(json!({"type": "message", "attachments": [{
        "contentType": "application/vnd.microsoft.card.adaptive",
        "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard", "version": "1.4", "body": parts, "actions": actions,
        },
    }]}))
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::response;
    use super::*;

    #[test]
    fn the_answers_are_facts_of_a_card() {
        let body = body(&response(), "https://ask.example").unwrap();
        let card = &body["attachments"][0]["content"];
        let facts = card["body"][1]["facts"].as_array().unwrap();
        assert!(facts.iter().any(|it| it["title"] == "nps" && it["value"] == "9"));
        assert_eq!(card["actions"][0]["type"], "Action.OpenUrl");
        let why = facts.iter().find(|it| it["title"] == "why").unwrap();
        assert_eq!(why["value"], r"\<!channel\> & \*bold\* @here", "no Markdown");
    }
}
