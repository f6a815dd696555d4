//! An event as a message for people: a heading, facts, and a link. The chat formats write it.

use serde_json::Value;
use sluice_flow::event::EventType;
use sluice_flow::event::payload::Payload;

/// The most facts of a message; further ones are left out.
const FACTS_MAX: usize = 20;
/// The most characters of a fact.
const FACT_CHARS_MAX: usize = 300;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) heading: String,
    /// Label and text.
    pub(super) facts: Vec<(String, String)>,
    /// A page of the console.
    pub(super) link: Option<String>,
}

impl Message {
    pub(super) fn new(payload: &Payload, public_url: &str) -> Result<Self, serde_json::Error> {
        let data: Value = serde_json::from_str(payload.data.get())?;
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let flow = format!("{public_url}/console/flows/{}", text("flowId"));
        let number = data["number"].as_u64().unwrap_or_default();
        let (heading, link) = match payload.kind {
            EventType::ResponseCreated => {
                let id = data["response"]["responseId"].as_str().unwrap_or_default();
                ("New response".to_owned(), Some(format!("{flow}/responses/{id}")))
            }
            EventType::ResponseDeleted => ("A response was deleted".to_owned(), Some(flow)),
            EventType::FlowPublished => (format!("Version {number} was published"), Some(flow)),
            EventType::FlowClosed => ("A flow was closed".to_owned(), Some(flow)),
            EventType::FlowReopened => ("A flow was opened again".to_owned(), Some(flow)),
            EventType::FlowArchived => ("A flow was archived".to_owned(), Some(flow)),
            EventType::FlowVersionRetired => (format!("Version {number} was retired"), Some(flow)),
            EventType::RespondentErased => ("A respondent was erased".to_owned(), None),
            EventType::InvitationCompleted => {
                let response = format!("{flow}/responses/{}", text("responseId"));
                ("An invitation was completed".to_owned(), Some(response))
            }
            EventType::EndpointDisabled => ("A webhook endpoint was disabled".to_owned(), None),
            EventType::EndpointTest => ("This is a test from Sluice".to_owned(), None),
        };
        Ok(Self { heading, facts: facts(&data["response"]["answers"]), link })
    }
}

fn facts(answers: &Value) -> Vec<(String, String)> {
    let answers = answers.as_object().into_iter().flatten();
    let fact = |(question, answer): (&String, &Value)| {
        let text = match answer {
            Value::String(text) => text.clone(),
            Value::Array(many) => {
                many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        (question.clone(), shortened(&text))
    };
    answers.take(FACTS_MAX).map(fact).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(FACT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text in which no service finds a mention such as `@channel`.
pub(super) fn without_mentions(text: &str) -> String {
    text.replace('@', "@\u{200B}")
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;
    use sluice_flow::id::EventId;

    use super::*;

    /// A response with answers that look like markup and mentions.
    pub(in super::super) fn response() -> Payload {
        let data = json!({
            "appId": "app_1", "flowId": "fl_1",
            "response": {"responseId": "rs_1", "answers": {
                "nps": "9", "why": "<!channel> & *bold* @here", "many": ["a", "b"], "long": "x".repeat(400),
            }},
        });
        let data = RawValue::from_string(data.to_string()).unwrap();
        Payload::new(EventId::from_uuid(uuid::Uuid::nil()), EventType::ResponseCreated, data)
    }

    #[test]
    fn a_message_has_the_answers_and_a_link() {
        let message = Message::new(&response(), "https://ask.example").unwrap();
        assert_eq!(message.heading, "New response");
        let link = "https://ask.example/console/flows/fl_1/responses/rs_1";
        assert_eq!(message.link.as_deref(), Some(link));
        let fact = |name: &str| message.facts.iter().find(|(it, _)| it == name).unwrap().1.clone();
        assert_eq!((fact("nps"), fact("many")), ("9".to_owned(), "a, b".to_owned()));
        assert_eq!(fact("long").chars().count(), FACT_CHARS_MAX + 1);
    }
}
