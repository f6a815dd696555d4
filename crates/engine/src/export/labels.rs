//! Labels instead of ids: the names of the questions' columns, and the readable value of an answer
//! in the version that it answers.
//!
//! Every label is looked up in a map that is built for the first response of a version, not in a
//! definition.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sluice_flow::counts::CountMethod;
use sluice_flow::definition::Definition;
use sluice_flow::question::QuestionType;
use sluice_flow::question::choice::{Choice, OTHER_PREFIX};

use crate::question_history::HistoricQuestion;

/// What precedes a respondent's own text among labels of options.
const OTHER: &str = "Other: ";

/// The labels of the answers to one question in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerLabels {
    Options(HashMap<String, String>),
    /// An answer is a row and a column. Not every pair has its own label, since there are many.
    Cells {
        rows: HashMap<String, String>,
        columns: HashMap<String, String>,
    },
}

impl AnswerLabels {
    /// `None` if its answers have no labels, such as texts and numbers.
    pub(crate) fn new(question: &QuestionType, shared: &HashSet<String>) -> Option<Self> {
        // Options with the same label can still be distinguished.
        let unique = |(id, label): (String, String)| match shared.contains(&label) {
            true => (id.clone(), format!("{label} [{id}]")),
            false => (id, label),
        };
        let mut lists = choices(question).into_iter();
        let mut next = || Some(lists.next()?.into_iter().map(unique).collect());
        Some(match (next()?, next()) {
            (rows, Some(columns)) => Self::Cells { rows, columns },
            (options, None) => Self::Options(options),
        })
    }

    /// The label of one text of an answer; an unknown text is unchanged.
    pub(crate) fn label<'t>(&'t self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Options(labels) => match (labels.get(text), text.strip_prefix(OTHER_PREFIX)) {
                (Some(label), _) => Cow::Borrowed(label),
                (None, Some(own)) => Cow::Owned(format!("{OTHER}{own}")),
                (None, None) => Cow::Borrowed(text),
            },
            Self::Cells { rows, columns } => {
                let label = |(row, column)| Some((rows.get(row)?, columns.get(column)?));
                match text.split_once(':').and_then(label) {
                    Some((row, column)) => Cow::Owned(format!("{row}: {column}")),
                    None => Cow::Borrowed(text),
                }
            }
        }
    }
}

/// The id and label of each option; of a matrix, those of its rows, then those of its columns.
fn choices(question: &QuestionType) -> Vec<Vec<(String, String)>> {
    let named = |choices: &[Choice]| {
        choices.iter().map(|it| (it.id.clone(), it.label.clone())).collect::<Vec<_>>()
    };
    let lists = match question.count_method() {
        CountMethod::Matrix { rows, columns } => vec![named(rows), named(columns)],
        _ => vec![question.choices()],
    };
    lists.into_iter().filter(|choices| !choices.is_empty()).collect()
}

/// For each question, the labels that several of its options have, in one version or in two.
pub(super) fn shared<'d>(
    definitions: impl Iterator<Item = &'d Definition>,
    questions: &[HistoricQuestion],
) -> Vec<HashSet<String>> {
    let position: HashMap<&str, usize> =
        questions.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
    let mut ids: Vec<HashMap<String, String>> = vec![HashMap::new(); questions.len()];
    let mut shared = vec![HashSet::new(); questions.len()];
    for question in definitions.flat_map(Definition::questions) {
        let Some(&at) = position.get(question.id.as_str()) else { continue };
        for (id, label) in choices(&question.question_type).into_iter().flatten() {
            match ids[at].get(&label) {
                Some(other) if *other != id => drop(shared[at].insert(label)),
                Some(_) => {}
                None => drop(ids[at].insert(label, id)),
            }
        }
    }
    shared
}

/// The labels of one version, by the position of the question among the columns.
pub(super) fn of_version(
    definition: &Definition,
    questions: &[HistoricQuestion],
    shared: &[HashSet<String>],
) -> Vec<Option<AnswerLabels>> {
    let own: HashMap<&str, &QuestionType> =
        definition.questions().iter().map(|it| (it.id.as_str(), &it.question_type)).collect();
    let labels = |(question, shared): (&HistoricQuestion, &HashSet<String>)| {
        AnswerLabels::new(own.get(question.id.as_str())?, shared)
    };
    questions.iter().zip(shared).map(labels).collect()
}

/// The texts of the questions as names of columns. Its id follows a text that another column has.
/// Letter case does not distinguish columns: many readers of Parquet ignore it. `taken` is in lower
/// case.
pub(super) fn titles(questions: &[HistoricQuestion], mut taken: HashSet<String>) -> Vec<String> {
    let title = |question: &HistoricQuestion| {
        question.prompt.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut times: HashMap<String, usize> = HashMap::new();
    for question in questions {
        *times.entry(title(question).to_lowercase()).or_default() += 1;
    }
    let unique = |question: &HistoricQuestion| {
        let mut name = title(question);
        if times.get(&name.to_lowercase()) != Some(&1) {
            name = format!("{name} [{}]", question.id);
        }
        while name.is_empty() || !taken.insert(name.to_lowercase()) {
            name = format!("{name} [{}]", question.id);
        }
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
        let questions = [historic("none", ""), historic("q", "")];
        let shared = shared([&definition].into_iter(), &questions);
        let labels = of_version(&definition, &questions, &shared);
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
    fn options_with_the_same_label_in_two_versions_keep_their_ids() {
        let one = |id: &str, label: &str| {
            let options = json!([{"id": id, "label": label}, {"id": "z", "label": "Z"}]);
            defined(json!([{"id": "q", "type": "singleChoice", "prompt": "?", "options": options}]))
        };
        let (first, second) = (one("a", "Pro"), one("b", "Pro"));
        let questions = [historic("q", "")];
        let shared = shared([&first, &second].into_iter(), &questions);
        for (definition, id, label) in [(&first, "a", "Pro [a]"), (&second, "b", "Pro [b]")] {
            let labels = of_version(definition, &questions, &shared);
            assert_eq!(labels[0].as_ref().unwrap().label(id), label);
            assert_eq!(labels[0].as_ref().unwrap().label("z"), "Z", "the same option in both");
        }
    }

    #[test]
    fn no_two_columns_have_the_same_title() {
        let questions = [
            historic("a", "Why?"),
            historic("b", " Why? "),
            historic("c", "Version"),
            historic("d", "Line\nbreak"),
            historic("e", "Why? [a]"),
            historic("f", "How?"),
        ];
        let taken = HashSet::from(["version".to_owned()]);
        assert_eq!(
            titles(&questions, taken),
            ["Why? [a]", "Why? [b]", "Version [c]", "Line break", "Why? [a] [e]", "How?"]
        );
    }
}
