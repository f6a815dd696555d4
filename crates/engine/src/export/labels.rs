//! Labels instead of ids: the names of the questions' columns, and the readable value of an answer
//! in the version that it answers.
//!
//! Every label is looked up in a map that is built when the export starts, not in a definition.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sluice_flow::definition::Definition;
use sluice_flow::question::QuestionType;
use sluice_flow::question::choice::OTHER_PREFIX;

use crate::question_history::HistoricQuestion;

/// What precedes a respondent's own text among labels of options.
const OTHER: &str = "Other: ";

/// The labels of the answers to one question in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerLabels(HashMap<String, String>);

impl AnswerLabels {
    /// `None` if its answers have no labels, such as texts and numbers.
    fn new(question: &QuestionType) -> Option<Self> {
        let choices = question.choices();
        if choices.is_empty() {
            return None;
        }
        let mut times: HashMap<&str, usize> = HashMap::new();
        for (_, label) in &choices {
            *times.entry(label).or_default() += 1;
        }
        // Options with the same label can still be distinguished.
        let unique = |(id, label): &(String, String)| match times.get(label.as_str()) {
            Some(1) => (id.clone(), label.clone()),
            _ => (id.clone(), format!("{label} [{id}]")),
        };
        Some(Self(choices.iter().map(unique).collect()))
    }

    /// The label of one text of an answer; an unknown text is unchanged.
    pub(super) fn label<'t>(&'t self, text: &'t str) -> Cow<'t, str> {
        match (self.0.get(text), text.strip_prefix(OTHER_PREFIX)) {
            (Some(label), _) => Cow::Borrowed(label),
            (None, Some(own)) => Cow::Owned(format!("{OTHER}{own}")),
            (None, None) => Cow::Borrowed(text),
        }
    }
}

/// The labels of one version, by the position of the question among the columns.
pub(super) fn of_version(
    definition: &Definition,
    questions: &[HistoricQuestion],
) -> Vec<Option<AnswerLabels>> {
    let own: HashMap<&str, &QuestionType> =
        definition.questions().iter().map(|it| (it.id.as_str(), &it.question_type)).collect();
    let labels = |question: &HistoricQuestion| AnswerLabels::new(own.get(question.id.as_str())?);
    questions.iter().map(labels).collect()
}

/// The texts of the questions as names of columns. Its id follows a text that another column has.
pub(super) fn titles(questions: &[HistoricQuestion], mut taken: HashSet<String>) -> Vec<String> {
    let title = |question: &HistoricQuestion| {
        question.prompt.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut times: HashMap<String, usize> = HashMap::new();
    for question in questions {
        *times.entry(title(question)).or_default() += 1;
    }
    let unique = |question: &HistoricQuestion| {
        let mut name = title(question);
        if times.get(&name) != Some(&1) {
            name = format!("{name} [{}]", question.id);
        }
        while name.is_empty() || taken.contains(&name) {
            name = format!("{name} [{}]", question.id);
        }
        taken.insert(name.clone());
        name
    };
    questions.iter().map(unique).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluice_flow::definition;
    use sluice_flow::question::Shape;

    use super::*;

    fn defined(questions: Value) -> Definition {
        definition::check(&json!({"title": "T", "questions": questions})).unwrap()
    }

    fn historic(id: &str, prompt: &str) -> HistoricQuestion {
        HistoricQuestion {
            id: id.to_owned(),
            prompt: prompt.to_owned(),
            question_type: "shortText",
            shape: Shape::Text,
            last_asked_in: 1,
        }
    }

    fn check(question: Value, answers: &[(&str, &str)]) {
        let definition = defined(json!([question]));
        let labels = of_version(&definition, &[historic("none", ""), historic("q", "")]);
        assert_eq!(labels[0], None, "it is not asked");
        for (answer, label) in answers {
            let shown = labels[1].as_ref().map_or(Cow::Borrowed(*answer), |it| it.label(answer));
            assert_eq!(shown, *label, "{question}");
        }
    }

    #[test]
    fn answers_become_the_labels_of_their_options() {
        let options = json!([{"id": "a", "label": "Apple"}, {"id": "b", "label": "=1+1"}]);
        check(
            json!({"id": "q", "type": "singleChoice", "prompt": "?", "options": options, "allowOther": true}),
            &[("a", "Apple"), ("b", "=1+1"), ("other:mine", "Other: mine"), ("gone", "gone")],
        );
        check(
            json!({"id": "q", "type": "matrix", "prompt": "?", "rows": options, "columns": [{"id": "x", "label": "X"}, {"id": "y", "label": "Y"}]}),
            &[("a:x", "Apple: X"), ("b:y", "=1+1: Y"), ("a:z", "a:z")],
        );
        check(
            json!({"id": "q", "type": "yesNo", "prompt": "?"}),
            &[("yes", "Yes"), ("no", "No"), ("maybe", "maybe")],
        );
        check(
            json!({"id": "q", "type": "shortText", "prompt": "?"}),
            &[("other:mine", "other:mine"), ("yes", "yes")],
        );
    }

    #[test]
    fn options_with_the_same_label_keep_their_ids() {
        let options = json!([{"id": "a", "label": "Same"}, {"id": "b", "label": "Same"}]);
        check(
            json!({"id": "q", "type": "ranking", "prompt": "?", "options": options}),
            &[("a", "Same [a]"), ("b", "Same [b]")],
        );
    }

    #[test]
    fn no_two_columns_have_the_same_title() {
        let questions = [
            historic("a", "Why?"),
            historic("b", " Why? "),
            historic("c", "version"),
            historic("d", "Line\nbreak"),
            historic("e", "Why? [a]"),
            historic("f", "How?"),
        ];
        let taken = HashSet::from(["version".to_owned()]);
        assert_eq!(
            titles(&questions, taken),
            ["Why? [a]", "Why? [b]", "version [c]", "Line break", "Why? [a] [e]", "How?"]
        );
    }
}
