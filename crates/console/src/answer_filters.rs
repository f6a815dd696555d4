//! Filters by an answer or by consent, as pages show and offer them: the fields of a form, and the
//! words of a chip. In an address they are written as in the admin API: `answer.nps[lt]=7`.

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_flow::answer_filter::{Operator, joined_name, split_name};
use sluice_flow::definition::Fault;
use sluice_flow::submission::Admission;

use super::request::Fields;

/// The name and the value of a filter, as in an address without the prefix.
pub(super) type NamedValue = (String, String);

/// What a form sent, if it could not be added.
#[derive(Debug, Default)]
pub(super) struct SentForm {
    pub(super) fields: Fields,
    pub(super) fault: Option<Fault>,
}

/// The most filters by an answer on a page. The engine takes one more, which the page of all
/// answers to a question adds.
const FILTERS_MAX: usize = 19;
/// The choice of the form that stands for `[answered]=false`.
const UNANSWERED: &str = "unanswered";
/// The characters of a prompt or a value that a chip shows.
const CHIP_CHARS: usize = 40;

/// The fields that add a filter: the question, the comparison and the value.
pub(super) fn form_fields(history: &QuestionHistory, sent: &Fields) -> Markup {
    let is_sent = |name: &str, value: &str| sent.get(name).unwrap_or_default() == value;
    html! {
        fieldset.inline {
            legend.label { "Answer" }
            div.field {
                label for="question" { "Question" }
                select.input id="question" name="question" {
                    option value="" { "Choose a question" }
                    @for question in &history.questions {
                        option value=(question.id) selected[is_sent("question", &question.id)]
                            data-operators=(fitting(history, &question.id)) { (cut(&question.prompt)) }
                    }
                }
            }
            div.field {
                label for="operator" { "Comparison" }
                select.input id="operator" name="operator" {
                    @for operator in Operator::ALL {
                        option value=(operator.as_str()) selected[is_sent("operator", operator.as_str())] { (label(*operator)) }
                    }
                    option value=(UNANSWERED) selected[is_sent("operator", UNANSWERED)] { "is not answered" }
                }
            }
            div.field {
                label for="value" { "Value" }
                input.input type="text" id="value" name="value" list="choices" maxlength="500" autocomplete="off" value=[sent.get("value")];
                (choices(history))
            }
        }
    }
}

/// The id of the field that a fault points to.
pub(super) fn field_of(pointer: &str) -> Option<String> {
    let name = pointer.trim_start_matches('/');
    Some(if name == "comparison" { "operator" } else { name }.to_owned())
}

pub(super) fn admissions(chosen: Option<Admission>) -> Markup {
    html! {
        div.field {
            label for="admission" { "Consent" }
            select.input id="admission" name="admission" {
                option value="" { "Any" }
                @for admission in Admission::ALL {
                    option value=(admission.as_str()) selected[chosen == Some(*admission)] { (admission_label(*admission)) }
                }
            }
        }
    }
}

pub(super) fn admission_label(admission: Admission) -> &'static str {
    match admission {
        Admission::Admitted => "Linked to respondent",
        Admission::CollectionOnly => "Anonymous",
    }
}

/// The choices of all questions; the script shows those of the selected question.
fn choices(history: &QuestionHistory) -> Markup {
    html! {
        datalist id="choices" {
            @if let Some(newest) = history.newest() {
                @for question in newest.definition.questions() {
                    @for (_, label) in question.question_type.choices() {
                        option value=(label) data-question=(question.id) {}
                    }
                }
            }
        }
    }
}

fn fits(history: &QuestionHistory, question: &str, operator: Operator) -> bool {
    history.types_of(question).any(|it| operator.fits(it))
}

/// The names of the comparisons that fit a question, for the script.
fn fitting(history: &QuestionHistory, question: &str) -> String {
    let fitting = Operator::ALL.iter().filter(|it| fits(history, question, **it));
    fitting.map(|it| it.as_str()).chain([UNANSWERED]).collect::<Vec<_>>().join(",")
}

fn label(operator: Operator) -> &'static str {
    match operator {
        Operator::Is => "is",
        Operator::IsNot => "is not",
        Operator::Less => "is less than, or before",
        Operator::AtMost => "is at most, or until",
        Operator::Greater => "is more than, or after",
        Operator::AtLeast => "is at least, or from",
        Operator::Contains => "contains",
        Operator::Answered => "is answered",
    }
}

/// The filter that a sent form adds; none if it names no question.
fn added(fields: &Fields, history: &QuestionHistory) -> Result<Option<NamedValue>, Fault> {
    let Some(question) = fields.get("question") else { return Ok(None) };
    let value = fields.get("value").unwrap_or_default();
    let (operator, value) = match fields.get("operator").unwrap_or_default() {
        UNANSWERED => (Operator::Answered, "false".to_owned()),
        name => match Operator::named(name) {
            Some(Operator::Answered) => (Operator::Answered, "true".to_owned()),
            Some(Operator::Is | Operator::IsNot) if value.is_empty() => {
                return Err(Fault::new("/value", "must not be empty"));
            }
            Some(operator @ (Operator::Is | Operator::IsNot)) => {
                (operator, chosen(history, question, value))
            }
            Some(operator) => (operator, value.to_owned()),
            None => return Ok(None),
        },
    };
    if history.types_of(question).next().is_some() && !fits(history, question, operator) {
        let fitting = Operator::ALL.iter().filter(|it| fits(history, question, **it));
        let labels: Vec<&str> = fitting.map(|it| label(*it)).collect();
        let message = format!("does not fit this question; choose one of: {}", labels.join("; "));
        return Err(Fault::new("/comparison", message));
    }
    let name = joined_name(question, operator);
    match history.answer_filter(&name, &value) {
        Ok(_) => Ok(Some((name, value))),
        Err(message) => Err(Fault::new("/value", message)),
    }
}

/// The filters in the fields of an address, each once.
pub(super) fn from_fields(fields: &Fields) -> Vec<NamedValue> {
    let named = fields.0.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("answer.").filter(|name| !name.is_empty())?;
        Some((name.to_owned(), value.clone()))
    });
    let mut all: Vec<NamedValue> = named.collect();
    all.dedup();
    all
}

/// Adds the filter of a sent form.
pub(super) fn add(
    all: &mut Vec<NamedValue>,
    fields: &Fields,
    history: &QuestionHistory,
) -> Result<(), Fault> {
    let Some(filter) = added(fields, history)? else { return Ok(()) };
    if all.len() >= FILTERS_MAX {
        let message = format!("has {FILTERS_MAX} filters already; remove one first");
        return Err(Fault::new("/question", message));
    }
    all.push(filter);
    Ok(())
}

/// The filters that can be applied. Others are ignored, like all invalid parameters of an address.
pub(super) fn known(history: &QuestionHistory, all: &[NamedValue]) -> Vec<NamedValue> {
    let known = all.iter().filter(|(name, value)| history.answer_filter(name, value).is_ok());
    known.take(FILTERS_MAX).cloned().collect()
}

/// Reports that filters are ignored: the page shows more than its address asks for.
pub(super) fn left_out() -> Fault {
    let message = "or value of a filter is not known: the filter is left out";
    Fault::new("/question", message)
}

/// The value typed for a question: the id of the option with this label, or else the text itself.
fn chosen(history: &QuestionHistory, question: &str, typed: &str) -> String {
    let mut newest_first = history.types_of(question).collect::<Vec<_>>();
    newest_first.reverse();
    let mut choices = newest_first.into_iter().flat_map(|it| it.choices());
    let found = choices.find(|(id, label)| id == typed || label.eq_ignore_ascii_case(typed));
    found.map_or_else(|| typed.to_owned(), |(id, _)| id)
}

/// A filter in words: the prompt of its question, the comparison and the value.
struct Words {
    prompt: String,
    comparison: &'static str,
    value: Option<String>,
}

fn words_of(history: &QuestionHistory, name: &str, value: &str) -> Words {
    let (question, operator) = split_name(name);
    let found = history.questions.iter().find(|it| it.id == question);
    let prompt = found.map_or_else(|| question.to_owned(), |it| cut(&it.prompt));
    let labelled = || match history.types_of(question).last() {
        Some(newest) => cut(&newest.in_words(value)),
        None => cut(value),
    };
    let (comparison, value) = match Operator::named(operator) {
        Some(Operator::Is) | None => (": ", Some(labelled())),
        Some(Operator::IsNot) => (" is not ", Some(labelled())),
        Some(Operator::Less) => (" < ", Some(cut(value))),
        Some(Operator::AtMost) => (" ≤ ", Some(cut(value))),
        Some(Operator::Greater) => (" > ", Some(cut(value))),
        Some(Operator::AtLeast) => (" ≥ ", Some(cut(value))),
        Some(Operator::Contains) => (" contains ", Some(format!("“{}”", cut(value)))),
        Some(Operator::Answered) if value == "false" => (" is not answered", None),
        Some(Operator::Answered) => (" is answered", None),
    };
    Words { prompt, comparison, value }
}

/// A filter in words, for a chip.
pub(super) fn words(history: &QuestionHistory, name: &str, value: &str) -> Markup {
    let Words { prompt, comparison, value } = words_of(history, name, value);
    html! { bdi { (prompt) } (comparison) @if let Some(value) = value { bdi { (value) } } }
}

/// The same as plain text.
pub(super) fn plain_words(history: &QuestionHistory, name: &str, value: &str) -> String {
    let Words { prompt, comparison, value } = words_of(history, name, value);
    format!("{prompt}{comparison}{}", value.unwrap_or_default())
}

/// The start of a long text.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(CHIP_CHARS) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
