//! A message in Microsoft Teams.

use serde_json::{Value, json};
use sluice_flow::event::payload::Payload;

use super::WebhookFormat;
use super::message::{Message, without_markdown, without_markdown_within};

pub(super) static TEAMS: WebhookFormat = WebhookFormat {
    name: "teams",
    label: "Microsoft Teams",
    description: "An adaptive card for a workflow of Microsoft Teams.",
    batches: false,
    body: |payload, public_url| serde_json::to_vec(&body(payload, public_url)?),
};

fn body(payload: &Payload, public_url: &str) -> Result<Value, serde_json::Error> {
    let message = Message::new(payload, public_url)?;
    let link = message.link.as_deref();
    let mut room = SIZE_MAX.saturating_sub(size(&card(&message.heading, &[], link)));
    let mut facts: Vec<Value> = Vec::new();
    for (label, text) in &message.facts {
        // Both are Markdown in cards.
        let (title, value) = (without_markdown_within(label, TITLE_MAX), without_markdown(text));
        let fact = json!({"title": title, "value": value});
        // With a comma.
        let needed = size(&fact) + 2;
        if needed > room {
            break;
        }
        room -= needed;
        facts.push(fact);
    }
    Ok(card(&message.heading, &facts, link))
}

fn card(heading: &str, facts: &[Value], link: Option<&str>) -> Value {
    let heading = json!({"type": "TextBlock", "text": heading, "weight": "bolder", "wrap": true});
    let mut parts = vec![heading];
    if !facts.is_empty() {
        parts.push(json!({"type": "FactSet", "facts": facts}));
    }
    let actions: Vec<Value> = link
        .iter()
        .map(|link| json!({"type": "Action.OpenUrl", "title": "Open in Sluice", "url": link}))
        .collect();
    json!({"type": "message", "attachments": [{
        "contentType": "application/vnd.microsoft.card.adaptive",
        "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard", "version": "1.4", "body": parts, "actions": actions,
        },
    }]})
}

/// Teams refuses messages of more than 28 KB. It counts them as UTF-16, as reports of refused
/// messages show, and adds something itself; here both encodings have to fit.
const SIZE_MAX: usize = 26 * 1024;
/// The most UTF-16 units of the name of a question.
const TITLE_MAX: usize = 256;

/// The size of a part of the message as Teams counts it, in bytes.
fn size(part: &Value) -> usize {
    let text = part.to_string();
    text.len().max(2 * text.encode_utf16().count())
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

    #[test]
    fn a_message_keeps_the_limit_of_teams() {
        use serde_json::value::RawValue;
        use sluice_flow::event::EventType;
        use sluice_flow::id::EventId;
        for text in ["[x](y)*_".repeat(200), "😀".repeat(2_000), "é\"".repeat(5_000), "a".into()]
        {
            for label in ["q", &"q".repeat(3_000), &"漢".repeat(3_000)] {
                let answers: serde_json::Map<String, Value> =
                    (0..40).map(|number| (format!("{number:02}{label}"), json!(text))).collect();
                let data = json!({"flowId": "fl_1", "response": {"responseId": "rs_1", "answers": answers}});
                let data = RawValue::from_string(data.to_string()).unwrap();
                let id = EventId::from_uuid(uuid::Uuid::nil());
                let payload = Payload::new(id, EventType::ResponseCreated, data);
                let body = body(&payload, "https://ask.example").unwrap();
                let sent = serde_json::to_string(&body).unwrap();
                let size = sent.len().max(2 * sent.encode_utf16().count());
                assert!(size <= 28_000, "{size} bytes");
                let card = &body["attachments"][0]["content"];
                let facts = card["body"][1]["facts"].as_array().unwrap();
                assert!((5..=20).contains(&facts.len()), "{} facts", facts.len());
                assert_eq!(card["actions"][0]["type"], "Action.OpenUrl", "the link is kept");
            }
        }
    }
}
