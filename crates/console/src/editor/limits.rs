//! How many responses a flow accepts: in total, and with certain answers. A part of the settings.
//!
//! A quota is chosen from the answers of the questions: of several answers to one question any
//! counts, of several questions all must match. Any other condition comes from the API, and is
//! shown in words.

use maud::{Markup, html};
use serde_json::Value;
use sluice_engine::rows::FlowState;
use sluice_engine::{ClosingState, stored_definition};
use sluice_flow::closing::{
    ALL, AnswerChoices, LIMIT_MAX, Quota, QuotaChange, all_of_questions, answer_choices, in_words,
};
use sluice_flow::definition::{Definition, Fault};

use crate::parts::field::Field;
use crate::parts::number::number;
use crate::request::Fields;

/// The content of the form.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitsForm {
    close_after: String,
    close_after_shown: String,
    quotas: Vec<QuotaRow>,
    /// The conditions of the answers of a new quota, as JSON.
    new_answers: Vec<String>,
    new_limit: String,
}

#[derive(Debug, Clone, Default)]
struct QuotaRow {
    id: String,
    /// The condition as JSON.
    when: String,
    limit: String,
    /// The limit that the page showed; absent if the form does not carry it.
    shown: Option<String>,
}

impl LimitsForm {
    pub(super) fn stored(state: &ClosingState) -> Self {
        let row = |quota: &Quota| {
            let limit = quota.limit.to_string();
            let shown = Some(limit.clone());
            QuotaRow { id: quota.id.clone(), when: quota.when.to_string(), limit, shown }
        };
        let close_after =
            state.closing.close_after.map(|limit| limit.to_string()).unwrap_or_default();
        Self {
            close_after_shown: close_after.clone(),
            close_after,
            quotas: state.closing.quotas.iter().map(row).collect(),
            ..Self::default()
        }
    }

    pub(super) fn sent(form: &Fields) -> Self {
        let column = |name: &'static str| form.all(name).map(str::trim).map(str::to_owned);
        let shown = column("quotaShown").map(Some).chain(std::iter::repeat(None));
        let rows = column("quotaId").zip(column("quotaWhen")).zip(column("quotaLimit")).zip(shown);
        let row = |(((id, when), limit), shown)| QuotaRow { id, when, limit, shown };
        Self {
            close_after: form.raw("closeAfter").trim().to_owned(),
            close_after_shown: form.raw(CLOSE_AFTER_SHOWN).to_owned(),
            quotas: rows.map(row).collect(),
            new_answers: column("newQuota").filter(|answer| !answer.is_empty()).collect(),
            new_limit: form.raw("newQuotaLimit").trim().to_owned(),
        }
    }

    /// The limit that the form sets; a text that is no number becomes 0, which is refused.
    pub(super) fn close_after(&self) -> Option<u32> {
        let limit = self.close_after.as_str();
        (!limit.is_empty()).then(|| limit.parse().unwrap_or(0))
    }

    /// The quotas that the form changes, removes (their limit is empty) and adds, or all faults.
    pub(super) fn quota_changes(&self) -> Result<Vec<QuotaChange>, Vec<Fault>> {
        let (mut changes, mut faults) = (Vec::new(), Vec::new());
        let is_changed = |(_, row): &(usize, &QuotaRow)| row.shown.as_ref() != Some(&row.limit);
        for (index, row) in self.quotas.iter().enumerate().filter(is_changed) {
            let id = row.id.clone();
            match limit_of(&row.limit) {
                _ if row.limit.is_empty() => changes.push(QuotaChange::Remove { id }),
                Some(limit) => changes.push(QuotaChange::Limit { id, limit }),
                None => faults.push(limit_fault(format!("/quotas/{index}/limit"))),
            }
        }
        let is_untouched = self.new_answers.is_empty() && self.new_limit.is_empty();
        if !is_untouched {
            let answers = self.new_answers.iter().map(|it| serde_json::from_str(it));
            let answers: Vec<Value> = answers.map(Result::unwrap_or_default).collect();
            match (all_of_questions(&answers), limit_of(&self.new_limit)) {
                (Some(when), Some(limit)) => changes.push(QuotaChange::Add { when, limit }),
                (when, limit) => {
                    let message = "choose at least one answer";
                    faults.extend(when.is_none().then(|| Fault::new("/newQuota", message)));
                    faults.extend(limit.is_none().then(|| limit_fault("/newQuotaLimit")));
                }
            }
        }
        if faults.is_empty() { Ok(changes) } else { Err(faults) }
    }
}

const CLOSE_AFTER_SHOWN: &str = "shown.closeAfter";

fn limit_of(text: &str) -> Option<u32> {
    text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit))
}

fn limit_fault(pointer: impl Into<String>) -> Fault {
    Fault::new(pointer, format!("must be a whole number from 1 to {LIMIT_MAX}"))
}

/// The faults of a form that was sent.
#[derive(Clone, Copy)]
struct Errors<'f>(&'f [Fault]);

impl<'f> Errors<'f> {
    fn message_for(self, field: &str) -> Option<&'f str> {
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
    let definition = state.current.as_ref().or(state.draft.as_ref()).and_then(stored_definition);
    let definition = definition.as_ref();
    let errors = Errors(faults);
    let so_far =
        closing.closing.close_after.map(|limit| progress_text(closing.counts.get(ALL), limit));
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
        error: errors.message_for("closeAfter"),
        ..Field::default()
    };
    let choices = definition.map(answer_choices).unwrap_or_default();
    html! {
        fieldset.stack id="limits" {
            legend.label { "Response limits" }
            p.hint { "Deleting a response makes room for another one. Erased and expired responses still count." }
            input type="hidden" name=(CLOSE_AFTER_SHOWN) value=(values.close_after_shown);
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
    QuotaRow { id, when, limit, shown }: &QuotaRow,
    closing: &ClosingState,
    definition: Option<&Definition>,
    errors: Errors<'_>,
) -> Markup {
    let field_id = format!("quota-{index}");
    let condition = serde_json::from_str(when).unwrap_or_default();
    let label = format!("Quota: {}", in_words(&condition, definition));
    let stored = closing.closing.quotas.iter().find(|quota| quota.id == *id);
    let so_far = stored.map(|quota| progress_text(closing.counts.get(id), quota.limit));
    let hint =
        so_far.map(|it| format!("{it} responses so far. Clear the number to remove the quota."));
    let limit = Field {
        id: &field_id,
        name: Some("quotaLimit"),
        label: &label,
        kind: "number",
        value: limit,
        hint: hint.as_deref(),
        error: errors.message_for(&field_id),
        ..Field::default()
    };
    html! {
        input type="hidden" name="quotaId" value=(id);
        input type="hidden" name="quotaWhen" value=(when);
        @if let Some(shown) = shown { input type="hidden" name="quotaShown" value=(shown); }
        (limit.draw())
    }
}

fn new_quota(choices: &[AnswerChoices<'_>], values: &LimitsForm, errors: Errors<'_>) -> Markup {
    let limit = Field {
        id: "newQuotaLimit",
        label: "Number of responses",
        kind: "number",
        value: &values.new_limit,
        error: errors.message_for("newQuotaLimit"),
        ..Field::default()
    };
    let error = errors.message_for("newQuota");
    let is_open = error.is_some() || !values.new_answers.is_empty() || !values.new_limit.is_empty();
    html! {
        details.more.new-quota open[is_open] {
            summary { "New quota" }
            div.stack {
                fieldset.stack id="newQuota" tabindex="-1" {
                    legend.label { "Answers that count" }
                    p.hint { "Choose one or more answers. Of several answers to one question, any counts. Of several questions, a response must match each one." }
                    div.quota-answers {
                        @for choice in choices { (answers_of(choice, values)) }
                    }
                }
                @if let Some(error) = error { p.error id="newQuota-error" { (error) } }
                (limit.draw())
                div.buttons { button.button.small type="submit" { "Add quota" } }
            }
        }
    }
}

fn answers_of(
    AnswerChoices { prompt, answers }: &AnswerChoices<'_>,
    values: &LimitsForm,
) -> Markup {
    html! {
        fieldset.stack {
            legend { (prompt) }
            @for (when, label) in answers {
                @let value = when.to_string();
                @let is_chosen = values.new_answers.contains(&value);
                label.check { input type="checkbox" name="newQuota" value=(value) checked[is_chosen]; span { (label) } }
            }
        }
    }
}

/// `37 of 200`.
fn progress_text(count: u64, limit: u32) -> String {
    format!("{} of {}", number(count), number(u64::from(limit)))
}

/// The field that a fault belongs to, if it is one of these.
pub(super) fn field_of(pointer: &str) -> Option<String> {
    let field = pointer.strip_prefix('/')?;
    if ["closeAfter", "newQuota", "newQuotaLimit"].contains(&field) {
        return Some(field.to_owned());
    }
    let index = pointer.strip_prefix("/quotas/")?.split('/').next()?;
    Some(format!("quota-{index}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_quotas_that_differ_from_what_was_shown_are_changed() {
        let form = "closeAfter=200\
            &quotaId=a&quotaWhen=1&quotaLimit=5&quotaShown=5\
            &quotaId=b&quotaWhen=1&quotaLimit=&quotaShown=5\
            &quotaId=c&quotaWhen=1&quotaLimit=9&quotaShown=5\
            &quotaId=d&quotaWhen=1&quotaLimit=5";
        let sent = LimitsForm::sent(&Fields::parse(form));
        assert_eq!(sent.close_after(), Some(200));
        let limit = |id: &str, limit| QuotaChange::Limit { id: id.to_owned(), limit };
        let expected =
            vec![QuotaChange::Remove { id: "b".to_owned() }, limit("c", 9), limit("d", 5)];
        assert_eq!(sent.quota_changes(), Ok(expected));
        assert_eq!(LimitsForm::default().close_after(), None);
        let wrong = LimitsForm { close_after: "-1".into(), ..LimitsForm::default() };
        assert_eq!(wrong.close_after(), Some(0));
    }

    #[test]
    fn a_new_quota_needs_an_answer_and_a_number() {
        let free = "%7B%22question%22%3A%22plan%22%2C%22equals%22%3A%22free%22%7D";
        let when = json!({"question": "plan", "equals": "free"});
        let check = |form: &str, expected: Result<Vec<QuotaChange>, &[&str]>| {
            let found = LimitsForm::sent(&Fields::parse(form)).quota_changes();
            let found = found
                .map_err(|faults| faults.iter().map(|it| it.pointer.clone()).collect::<Vec<_>>());
            let expected =
                expected.map_err(|it| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{form}");
        };
        check("", Ok(Vec::new()));
        check("newQuotaLimit=", Ok(Vec::new()));
        let added = QuotaChange::Add { when, limit: 7 };
        check(&format!("newQuota={free}&newQuotaLimit=7"), Ok(vec![added]));
        check("newQuotaLimit=7", Err(&["/newQuota"]));
        check(&format!("newQuota={free}&newQuotaLimit=x"), Err(&["/newQuotaLimit"]));
        check(&format!("newQuota={free}&newQuotaLimit=0"), Err(&["/newQuotaLimit"]));
    }

    #[test]
    fn a_fault_belongs_to_its_field() {
        for (pointer, field) in [
            ("/closeAfter", Some("closeAfter")),
            ("/quotas/2/limit", Some("quota-2")),
            ("/newQuota", Some("newQuota")),
            ("/name", None),
        ] {
            assert_eq!(field_of(pointer).as_deref(), field);
        }
    }
}
