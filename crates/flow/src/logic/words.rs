//! A condition in plain English, for authors: `“Which plan?” is “Pro” and “Seats” is more than 5`.
//!
//! Questions are named by their prompts and options by their labels, since ids mean nothing to most
//! readers. The editor has its own script for drafts; both are tested with
//! `tests/condition_words.json`. Deliberately absent: other languages. Authors' pages are in
//! English.

use super::{Condition, Operand, Test};
use crate::question::choice::Choice;
use crate::question::rules::Comparable;
use crate::question::{Jump, Question, Target};

/// The most characters of a prompt or label that are quoted.
const NAME_CHARS_MAX: usize = 60;

impl Condition {
    /// The condition as a sentence without a full stop. A question in `questions` is named by its
    /// text; any other by its id.
    pub fn in_words(&self, questions: &[Question]) -> String {
        self.part(questions, false)
    }

    /// With `inner`, the text becomes part of a longer one, so clauses joined by and/or need
    /// brackets.
    fn part(&self, questions: &[Question], inner: bool) -> String {
        let joined = |conditions: &[Self], word: &str| {
            let is_one = conditions.len() == 1;
            let part = |each: &Self| each.part(questions, inner || !is_one);
            let text = conditions.iter().map(part).collect::<Vec<_>>().join(word);
            if inner && !is_one { format!("({text})") } else { text }
        };
        match self {
            Self::All(conditions) => joined(conditions, " and "),
            Self::Any(conditions) => joined(conditions, " or "),
            Self::Not(condition) => condition.negated(questions).unwrap_or_else(|| {
                format!("it is not true that {}", condition.part(questions, true))
            }),
            Self::Answer { question, test } => {
                let found = questions.iter().find(|it| it.id == *question);
                let question = TestedQuestion { id: question, question: found };
                format!("{} {}", question.name(), question.test(test))
            }
            Self::Score { test } => {
                format!("the score {}", TestedQuestion { id: "", question: None }.test(test))
            }
        }
    }
}

impl Jump {
    /// The jump as a phrase: `go to “Which plan?” if “Seats” is more than 5`.
    pub fn in_words(&self, questions: &[Question]) -> String {
        let to = match &self.to {
            Target::Question(id) => {
                let found = questions.iter().find(|question| question.id == *id);
                format!("go to {}", quoted(found.map_or(id, |question| &question.prompt)))
            }
            Target::End => "go to the end".to_owned(),
            Target::Ending(id) => format!("go to the ending {id}"),
        };
        match &self.when {
            Some(when) => format!("{to} if {}", when.in_words(questions)),
            None => to,
        }
    }
}

impl Condition {
    /// The opposite of a comparison, if that reads well.
    fn negated(&self, questions: &[Question]) -> Option<String> {
        match self {
            Self::Answer { question, test } => {
                let found = questions.iter().find(|it| it.id == *question);
                let question = TestedQuestion { id: question, question: found };
                Some(format!("{} {}", question.name(), question.negated(test)?))
            }
            Self::Score { test } => {
                let score = TestedQuestion { id: "", question: None };
                Some(format!("the score {}", score.negated(test)?))
            }
            Self::All(_) | Self::Any(_) | Self::Not(_) => None,
        }
    }
}

/// The question that a test is about, if it is known.
struct TestedQuestion<'q> {
    id: &'q str,
    question: Option<&'q Question>,
}

impl TestedQuestion<'_> {
    fn name(&self) -> String {
        quoted(self.question.map_or(self.id, |question| &question.prompt))
    }

    fn test(&self, test: &Test) -> String {
        match test {
            Test::Answered(true) => "is answered".to_owned(),
            Test::Answered(false) => "is not answered".to_owned(),
            Test::Equals(operand) => format!("is {}", self.operand(operand)),
            Test::In(operands) => format!("is {}", self.listed(operands, "or")),
            // True only if there is an answer, which "is not" would leave open.
            Test::NotIn(operands) => {
                format!("is something other than {}", self.listed(operands, "or"))
            }
            Test::Includes(operand) => match self.cell(operand) {
                Some(cell) => format!("has {cell}"),
                None => format!("includes {}", self.operand(operand)),
            },
            Test::LessThan(operand @ Operand::Date(_)) => {
                format!("is before {}", self.operand(operand))
            }
            Test::GreaterThan(operand @ Operand::Date(_)) => {
                format!("is after {}", self.operand(operand))
            }
            Test::LessThan(operand) => format!("is less than {}", self.operand(operand)),
            Test::GreaterThan(operand) => format!("is more than {}", self.operand(operand)),
        }
    }

    /// The opposite of a test. For "something other than" there is none that reads well.
    fn negated(&self, test: &Test) -> Option<String> {
        Some(match test {
            Test::Answered(is_answered) => self.test(&Test::Answered(!is_answered)),
            Test::In(operands) if operands.len() > 1 => {
                format!("is neither {}", self.listed(operands, "nor"))
            }
            Test::Includes(operand) => match self.cell(operand) {
                Some(cell) => format!("does not have {cell}"),
                None => format!("does not include {}", self.operand(operand)),
            },
            Test::Equals(_) | Test::In(_) | Test::LessThan(_) | Test::GreaterThan(_) => {
                format!("is not {}", self.test(test).strip_prefix("is ")?)
            }
            Test::NotIn(_) => return None,
        })
    }

    /// A cell of a matrix.
    fn cell(&self, operand: &Operand) -> Option<String> {
        let (Some(Comparable::Cells { rows, columns }), Operand::Text(cell)) =
            (self.comparable(), operand)
        else {
            return None;
        };
        let (row, column) = cell.split_once(':').unwrap_or((cell, ""));
        Some(format!("{} for {}", label(columns, column), label(rows, row)))
    }

    fn comparable(&self) -> Option<Comparable<'_>> {
        self.question.map(|question| question.question_type.comparable())
    }

    fn listed(&self, operands: &[Operand], word: &str) -> String {
        let words: Vec<String> = operands.iter().map(|operand| self.operand(operand)).collect();
        match words.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} {word} {last}", others.join(", ")),
            None => String::new(),
        }
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Number(number) => number.to_string(),
            Operand::Date(date) => date.clone(),
            Operand::Other => "a free-text answer".to_owned(),
            Operand::Text(text) => match self.comparable() {
                Some(Comparable::OneOf { options, .. } | Comparable::SomeOf { options, .. }) => {
                    label(options, text)
                }
                Some(Comparable::Words(_)) => text.clone(),
                _ => quoted(text),
            },
        }
    }
}

fn label(choices: &[Choice], id: &str) -> String {
    let found = choices.iter().find(|choice| choice.id == id);
    quoted(found.map_or(id, |choice| &choice.label))
}

/// A text in quotation marks, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("“{}…”", text[..end].trim_end()),
        None => format!("“{text}”"),
    }
}
