//! A message in Slack.

use serde_json::{Value, json};
use sluice_flow::event::payload::Payload;

use super::WebhookFormat;
use super::message::Message;

pub(super) static SLACK: WebhookFormat = WebhookFormat {
    name: "slack",
    label: "Slack",
    description: "A message for an incoming webhook of Slack.",
    batches: false,
    body: |payload, public_url| serde_json::to_vec(&body(payload, public_url)?),
};

fn body(payload: &Payload, public_url: &str) -> Result<Value, serde_json::Error> {
    let message = Message::new(payload, public_url)?;
    let mut facts = String::new();
    for (label, text) in &message.facts {
        let line = format!("{}: {}", escaped(label), escaped(text));
        if facts.chars().count() + line.chars().count() >= TEXT_CHARS_MAX {
            break;
        }
        facts.push_str(if facts.is_empty() { "" } else { "\n" });
        facts.push_str(&line);
    }
    let heading = match &message.link {
        Some(link) => format!("*<{link}|{}>*", escaped(&message.heading)),
        None => format!("*{}*", escaped(&message.heading)),
    };
    let heading = json!({"type": "section", "text": {"type": "mrkdwn", "text": heading}});
    let mut blocks = vec![heading];
    if !facts.is_empty() {
        // Plain text: Slack has no way to escape its other marks, such as *bold*.
        let text = json!({"type": "plain_text", "text": facts, "emoji": false});
        blocks.push(json!({"type": "section", "text": text}));
    }
    Ok(json!({"text": message.heading, "blocks": blocks}))
}

/// The most characters of a section.
const TEXT_CHARS_MAX: usize = 3_000;

/// Slack gives a meaning to these three only; mentions need the second.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::response;
    use super::*;

    #[test]
    fn answers_cannot_mention_or_link() {
        let body = body(&response(), "https://ask.example").unwrap();
        let text = body["blocks"][1]["text"]["text"].as_str().unwrap();
        assert!(text.contains("&lt;!channel&gt; &amp; *bold* @here"), "{text}");
        assert_eq!(body["blocks"][1]["text"]["type"], "plain_text", "marks have no meaning");
        let heading = body["blocks"][0]["text"]["text"].as_str().unwrap();
        assert_eq!(
            heading,
            "*<https://ask.example/console/flows/fl_1/responses/rs_1|New response>*"
        );
    }
}
