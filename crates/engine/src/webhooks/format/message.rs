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

/// Text in which Markdown has no meaning: neither links nor emphasis, code, quotes or lists.
pub(super) fn without_markdown(text: &str) -> String {
    without_markdown_within(text, usize::MAX)
}

/// The same, cut to this many UTF-16 units, and never within an escaped character.
pub(super) fn without_markdown_within(text: &str, units_max: usize) -> String {
    const ALWAYS: &str = "\\`*_~|[]<>";
    const AT_LINE_START: &str = "#-+=";
    let mut escaped = String::with_capacity(text.len());
    let mut units = 0;
    // Whether a line has only had spaces so far, or digits, after which a dot makes a list.
    let (mut is_start, mut is_number) = (true, false);
    for letter in text.chars() {
        let is_marked = ALWAYS.contains(letter)
            || (is_start && AT_LINE_START.contains(letter))
            || (is_number && matches!(letter, '.' | ')'));
        let needed = letter.len_utf16() + usize::from(is_marked);
        // One unit is kept for the ellipsis.
        if units + needed >= units_max {
            escaped.push('…');
            return escaped;
        }
        if is_marked {
            escaped.push('\\');
        }
        escaped.push(letter);
        units += needed;
        is_number = letter.is_ascii_digit() && (is_start || is_number);
        is_start = matches!(letter, '\n' | '\r') || (is_start && letter == ' ');
    }
    escaped
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
    fn markdown_has_no_meaning_in_answers() {
        for (text, expected) in [
            ("plain text, 2026-11-17 (ok) a+b #1", "plain text, 2026-11-17 (ok) a+b #1"),
            ("[click](https://evil.example)", r"\[click\](https://evil.example)"),
            ("**bold** _it_ ~~no~~ `code`", r"\*\*bold\*\* \_it\_ \~\~no\~\~ \`code\`"),
            ("||spoiler||", r"\|\|spoiler\|\|"),
            (r"back\slash \*", r"back\\slash \\\*"),
            ("<@123> <!here>", r"\<@123\> \<!here\>"),
            ("# one\n- two\n  + three", "\\# one\n\\- two\n  \\+ three"),
            ("1. four\n12) five\n> six\n=", "1\\. four\n12\\) five\n\\> six\n\\="),
            ("v1.2 and 3.4", "v1.2 and 3.4"),
        ] {
            assert_eq!(without_markdown(text), expected, "{text}");
        }
    }

    #[test]
    fn a_cut_text_keeps_its_limit_and_ends_with_no_open_escape() {
        for text in ["*".repeat(50), "😀".repeat(50), "a*".repeat(50), "abc".to_owned()] {
            for max in 1..60 {
                let cut = without_markdown_within(&text, max);
                assert!(cut.encode_utf16().count() <= max, "{cut} {max}");
                assert!(!cut.trim_end_matches('…').ends_with('\\'), "{cut} {max}");
            }
        }
        assert_eq!(without_markdown_within("abc", 4), "abc");
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
