//! What the ending may say about a stored response: linked, anonymous, or only not linked.
//!
//! Answers that were written may contain a name or an address, and so may the parameters of a link
//! and the page before. So a response is called anonymous only if all of its answers were chosen
//! from what the author offers and nothing else came with it.

use sluice_flow::definition::Definition;
use sluice_flow::question::choice::OTHER_PREFIX;
use sluice_flow::question::{Input, Question};
use sluice_flow::submission::{TextMap, Texts};
use sluice_http::query;

/// How a stored response leads to its respondent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Linkage {
    /// The respondent agreed to be linked.
    Linked,
    /// Nothing stored identifies the respondent.
    Anonymous,
    /// Not linked, but answers or parameters may contain anything.
    #[default]
    Unlinked,
}

impl Linkage {
    /// For a response without consent; `is_plain` if its link had no parameters that are stored.
    pub(super) fn without_consent(
        definition: &Definition,
        answers: &TextMap<'_>,
        is_plain: bool,
        referrer: Option<&str>,
    ) -> Self {
        let mut questions = definition.questions().iter();
        let are_chosen = questions.all(|question| {
            answers.get(&question.id).is_none_or(|answer| is_chosen(question, answer))
        });
        let is_origin = |referrer: &str| {
            !referrer.contains(['?', '#'])
                && referrer.splitn(4, '/').nth(3).is_none_or(str::is_empty)
        };
        if are_chosen && is_plain && referrer.is_none_or(is_origin) {
            Self::Anonymous
        } else {
            Self::Unlinked
        }
    }

    /// As parameters of the ending's address.
    pub(super) fn parameters(self) -> &'static str {
        match self {
            Self::Linked => "&linked=1",
            Self::Anonymous => "&linked=0&anonymous=1",
            Self::Unlinked => "&linked=0",
        }
    }

    pub(super) fn in_address(query: &str) -> Self {
        let is_set = |name| query::first(Some(query), name).as_deref() == Some("1");
        match (is_set("linked"), is_set("anonymous")) {
            (true, _) => Self::Linked,
            (false, true) => Self::Anonymous,
            (false, false) => Self::Unlinked,
        }
    }
}

/// Whether an answer was chosen from what the author offers, and nothing in it was written.
fn is_chosen(question: &Question, answer: &Texts<'_>) -> bool {
    match question.question_type.input() {
        Input::Line { .. }
        | Input::Paragraph { .. }
        | Input::Number { .. }
        | Input::Date { .. } => false,
        Input::OneOf { .. } | Input::SomeOf { .. } => {
            !answer.as_slice().iter().any(|text| text.starts_with(OTHER_PREFIX))
        }
        Input::Nothing
        | Input::Order { .. }
        | Input::Grid { .. }
        | Input::Scale { .. }
        | Input::YesNo
        | Input::Tick { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;
    use sluice_flow::definition;

    use super::*;

    #[test]
    fn only_chosen_answers_without_parameters_are_anonymous() {
        let options = json!([{"id": "a", "label": "A"}]);
        let definition = definition::check(&json!({"title": "t", "questions": [
            {"id": "nps", "type": "nps", "prompt": "?"},
            {"id": "pick", "type": "singleChoice", "prompt": "?", "options": options, "allowOther": true},
            {"id": "why", "type": "longText", "prompt": "?"},
            {"id": "mail", "type": "email", "prompt": "?"},
            {"id": "born", "type": "date", "prompt": "?"},
        ]}))
        .unwrap();
        for (id, answer, is_plain, referrer, linkage) in [
            ("nps", "9", true, None, Linkage::Anonymous),
            ("pick", "a", true, Some("https://example.com/"), Linkage::Anonymous),
            ("nps", "9", false, None, Linkage::Unlinked),
            ("nps", "9", true, Some("https://crm.example/customers/4711"), Linkage::Unlinked),
            ("pick", "other:I am Ada", true, None, Linkage::Unlinked),
            ("why", "I am Ada", true, None, Linkage::Unlinked),
            ("mail", "ada@example.com", true, None, Linkage::Unlinked),
            ("born", "1815-12-10", true, None, Linkage::Unlinked),
        ] {
            let answers = [(Cow::Borrowed(id), Texts::One(answer.into()))].into_iter().collect();
            let found = Linkage::without_consent(&definition, &answers, is_plain, referrer);
            assert_eq!(found, linkage, "{id} {answer}");
            assert_eq!(Linkage::in_address(&found.parameters()[1..]), found);
        }
    }
}
