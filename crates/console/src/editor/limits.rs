//! How many responses a flow accepts: in total, and with certain answers. A part of the settings.
//!
//! A quota for one answer is chosen from a list. Any other condition comes from the API, and is shown
//! in words.

use maud::{Markup, html};
use serde_json::{Value, json};
use sluice_engine::ClosingState;
use sluice_engine::rows::{FlowState, VersionRow};
use sluice_flow::closing::{ALL, AnswerChoices, answer_choices, in_words};
use sluice_flow::definition::{self, Definition, Fault};

use crate::parts::field::Field;
use crate::parts::number::number;
use crate::request::Fields;

/// The content of the form.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitsForm {
    close_after: String,
    /// Of each quota: id, condition as JSON, limit.
    quotas: Vec<[String; 3]>,
    new_when: String,
    new_limit: String,
}

impl LimitsForm {
    pub(super) fn stored(state: &ClosingState) -> Self {
        let quotas = state.closing.quotas.iter();
        let quotas = quotas.map(|it| [it.id.clone(), it.when.to_string(), it.limit.to_string()]);
        Self {
            close_after: state.closing.close_after.map(|it| it.to_string()).unwrap_or_default(),
            quotas: quotas.collect(),
            ..Self::default()
        }
    }

    pub(super) fn sent(form: &Fields) -> Self {
        let column = |name: &'static str| form.all(name).map(str::trim).map(str::to_owned);
        let rows = column("quotaId").zip(column("quotaWhen")).zip(column("quotaLimit"));
        Self {
            close_after: form.raw("closeAfter").trim().to_owned(),
            quotas: rows.map(|((id, when), limit)| [id, when, limit]).collect(),
            new_when: form.raw("newQuota").to_owned(),
            new_limit: form.raw("newQuotaLimit").trim().to_owned(),
        }
    }

    /// The limit that the form sets; a text that is no number becomes 0, which is refused.
    pub(super) fn close_after(&self) -> Option<u32> {
        let limit = self.close_after.as_str();
        (!limit.is_empty()).then(|| limit.parse().unwrap_or(0))
    }

    /// The quotas that the form sets. One whose limit is empty is removed.
    pub(super) fn quotas(&self) -> Value {
        let number = |limit: &str| limit.parse::<u32>().map_or(json!(0), |limit| json!(limit));
        let quota = |id: &str, when: &str, limit: &str| {
            let when = serde_json::from_str::<Value>(when).unwrap_or_default();
            json!({"id": id, "when": when, "limit": number(limit)})
        };
        let kept = self.quotas.iter().filter(|[_, _, limit]| !limit.is_empty());
        let mut quotas: Vec<Value> = kept.map(|[id, when, limit]| quota(id, when, limit)).collect();
        if !self.new_when.is_empty() && !self.new_limit.is_empty() {
            quotas.push(quota(&self.new_id(), &self.new_when, &self.new_limit));
        }
        quotas.into()
    }

    /// An id for the new quota that no other one has: from its question and answer.
    fn new_id(&self) -> String {
        let when = serde_json::from_str::<Value>(&self.new_when).unwrap_or_default();
        let texts =
            when.as_object().into_iter().flat_map(|it| it.values()).filter_map(Value::as_str);
        let joined = texts.collect::<Vec<_>>().join("-");
        let is_allowed =
            |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let base: String = joined.chars().filter(is_allowed).take(56).collect();
        let base = if base.is_empty() { "quota".to_owned() } else { base };
        let is_free = |id: &String| self.quotas.iter().all(|[taken, ..]| taken != id);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or_default()
    }
}

/// The faults of a form that was sent.
#[derive(Clone, Copy)]
struct Errors<'f>(&'f [Fault]);

impl<'f> Errors<'f> {
    fn of(self, field: &str) -> Option<&'f str> {
        let fault = self.0.iter().find(|it| field_of(&it.pointer).as_deref() == Some(field));
        fault.map(|it| it.message.as_str())
    }
}

/// The fields, with what has been counted so far.
pub(super) fn fields(
    state: &FlowState,
    closing: &ClosingState,
    values: &LimitsForm,
    faults: &[Fault],
) -> Markup {
    let read = |row: &VersionRow| definition::stored(&row.definition).ok();
    let definition = state.current.as_ref().or(state.draft.as_ref()).and_then(read);
    let definition = definition.as_ref();
    let errors = Errors(faults);
    let so_far = closing.closing.close_after.map(|limit| counted(closing.counts.get(ALL), limit));
    let hint = match &so_far {
        Some(so_far) => format!("{so_far} responses so far. Leave empty for no limit."),
        None => "Leave empty for no limit. Responses that are already stored count.".to_owned(),
    };
    let close_after = Field {
        id: "closeAfter",
        label: "Close after this many responses",
        kind: "number",
        value: &values.close_after,
        hint: Some(&hint),
        error: errors.of("closeAfter"),
        ..Field::default()
    };
    let choices = definition.map(answer_choices).unwrap_or_default();
    html! {
        fieldset.stack id="limits" {
            legend.label { "Response limits" }
            p.hint { "A deleted response makes room for another one. Erased and expired ones stay counted." }
            (close_after.draw())
            @for (index, quota) in values.quotas.iter().enumerate() {
                (quota_row(index, quota, closing, definition, errors))
            }
            @if !choices.is_empty() { (new_quota(&choices, values, errors)) }
        }
    }
}

fn quota_row(
    index: usize,
    [id, when, limit]: &[String; 3],
    closing: &ClosingState,
    definition: Option<&Definition>,
    errors: Errors<'_>,
) -> Markup {
    let field_id = format!("quota-{index}");
    let condition = serde_json::from_str(when).unwrap_or_default();
    let label = format!("Quota: {}", in_words(&condition, definition));
    let stored = closing.closing.quotas.iter().find(|quota| quota.id == *id);
    let so_far = stored.map(|quota| counted(closing.counts.get(id), quota.limit));
    let hint =
        so_far.map(|it| format!("{it} responses so far. Clear the number to remove the quota."));
    let limit = Field {
        id: &field_id,
        name: Some("quotaLimit"),
        label: &label,
        kind: "number",
        value: limit,
        hint: hint.as_deref(),
        error: errors.of(&field_id),
        ..Field::default()
    };
    html! {
        input type="hidden" name="quotaId" value=(id);
        input type="hidden" name="quotaWhen" value=(when);
        (limit.draw())
    }
}

fn new_quota(choices: &[AnswerChoices<'_>], values: &LimitsForm, errors: Errors<'_>) -> Markup {
    let limit = Field {
        id: "newQuotaLimit",
        label: "Responses",
        kind: "number",
        value: &values.new_limit,
        error: errors.of("newQuotaLimit"),
        ..Field::default()
    };
    html! {
        div.inline {
            div.field {
                label for="newQuota" { "New quota for the answer" }
                select.input id="newQuota" name="newQuota" {
                    option value="" { "None" }
                    @for AnswerChoices { prompt, answers } in choices {
                        optgroup label=(prompt) {
                            @for (when, label) in answers {
                                @let value = when.to_string();
                                option value=(value) selected[value == values.new_when] { (label) }
                            }
                        }
                    }
                }
            }
            (limit.draw())
        }
    }
}

/// `37 of 200`.
fn counted(count: u64, limit: u32) -> String {
    format!("{} of {}", number(count), number(u64::from(limit)))
}

/// The field that a fault belongs to, if it is one of these.
pub(super) fn field_of(pointer: &str) -> Option<String> {
    if pointer == "/closeAfter" {
        return Some("closeAfter".to_owned());
    }
    let index = pointer.strip_prefix("/quotas/")?.split('/').next()?;
    Some(format!("quota-{index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_limits() {
        let when = r#"{"question":"sex","equals":"f"}"#;
        let form = LimitsForm {
            close_after: "200".to_owned(),
            quotas: vec![
                ["a".to_owned(), when.to_owned(), "5".to_owned()],
                ["b".to_owned(), when.to_owned(), String::new()],
                ["f-sex".to_owned(), when.to_owned(), "x".to_owned()],
            ],
            new_when: when.to_owned(),
            new_limit: "7".to_owned(),
        };
        assert_eq!(form.close_after(), Some(200));
        let when: Value = serde_json::from_str(when).unwrap();
        let quota = |id: &str, limit: u32| json!({"id": id, "when": when, "limit": limit});
        let expected = json!([quota("a", 5), quota("f-sex", 0), quota("f-sex-2", 7)]);
        assert_eq!(form.quotas(), expected);
        assert_eq!(LimitsForm::default().close_after(), None);
        assert_eq!(LimitsForm { close_after: "-1".into(), ..form }.close_after(), Some(0));
    }

    #[test]
    fn a_fault_belongs_to_its_field() {
        for (pointer, field) in [
            ("/closeAfter", Some("closeAfter")),
            ("/quotas/2/limit", Some("quota-2")),
            ("/name", None),
        ] {
            assert_eq!(field_of(pointer).as_deref(), field);
        }
    }
}
