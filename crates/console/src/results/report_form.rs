//! The fields of a report, for the form that creates one and the form that changes one.

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_flow::definition::Fault;
use sluice_flow::time::{Day, Timestamp};

use crate::parts::field::{Field, check};
use crate::request::Fields;

pub(super) struct ReportForm<'f> {
    pub(super) history: &'f QuestionHistory,
    pub(super) fields: &'f Fields,
    pub(super) faults: &'f [Fault],
    /// Whether the report has a password already.
    pub(super) has_password: bool,
}

impl ReportForm<'_> {
    pub(super) fn draw(&self) -> Markup {
        let fields = self.fields;
        let title = Field {
            id: "title",
            label: "Title",
            required: true,
            value: fields.raw("title"),
            error: self.error("title"),
            ..Field::default()
        };
        let (label, hint) = match self.has_password {
            true => (
                "New password (optional)",
                "At least 10 characters. Leave empty to keep the current one.",
            ),
            false => {
                ("Password (optional)", "At least 10 characters. Send it separately from the link.")
            }
        };
        let password = Field {
            id: "password",
            label,
            hint: Some(hint),
            kind: "password",
            autocomplete: Some("new-password"),
            error: self.error("password"),
            ..Field::default()
        };
        let until = Field {
            id: "until",
            label: "Expiry (optional)",
            hint: Some("The last day, in UTC. After it the link no longer works."),
            kind: "date",
            value: fields.raw("until"),
            error: self.error("until"),
            ..Field::default()
        };
        let is_chosen = |id: &str| fields.all("show").any(|it| it == id);
        html! {
            (title.draw())
            fieldset id="questions" tabindex="-1" {
                legend.label { "Questions" }
                @if let Some(error) = self.error("questions") { p.error { (error) } }
                @for question in &self.history.questions {
                    label.check { input type="checkbox" name="show" value=(question.id) checked[is_chosen(&question.id)]; span dir="auto" { (question.prompt) } }
                }
            }
            label.check {
                input type="checkbox" name="texts" value="yes" checked[fields.has("texts")];
                span { "Show text answers. People may have written names or other personal data in them. E-mail addresses, telephone numbers and URLs are never shown." }
            }
            (password.draw())
            @if self.has_password { (check("open", "yes", "Remove the password: the link alone is enough", fields.has("open"))) }
            (until.draw())
        }
    }

    fn error(&self, id: &str) -> Option<&str> {
        let of_field = |fault: &&Fault| field_of(&fault.pointer).as_deref() == Some(id);
        self.faults.iter().find(of_field).map(|fault| fault.message.as_str())
    }
}

/// The id of the field that a fault points to.
pub(super) fn field_of(pointer: &str) -> Option<String> {
    let name = pointer.split('/').nth(1)?;
    match name {
        "expiresAt" => Some("until".to_owned()),
        "filters" => None,
        name => Some(name.to_owned()),
    }
}

/// The end of the last day, in UTC.
pub(super) fn expiry(until: Option<&str>) -> Result<Option<Timestamp>, Fault> {
    let end = until.map(str::parse::<Day>).transpose();
    let fault = |error| Fault::new("/until", format!("{error}"));
    Ok(end.map_err(fault)?.map(|day| day.plus(1).starts_at()))
}

/// The last day on which a report can be opened, as the field has it.
pub(super) fn last_day(expires_at: Option<Timestamp>) -> String {
    let last = |end: Timestamp| Timestamp::from_millis(end.as_millis() - 1).day();
    expires_at.map(|end| last(end).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_expires_with_its_last_day() {
        let end = expiry(Some("2026-12-01")).unwrap();
        assert_eq!(end.unwrap().to_string(), "2026-12-02T00:00:00.000Z");
        assert_eq!(last_day(end), "2026-12-01");
        assert_eq!(expiry(None), Ok(None));
        assert_eq!(last_day(None), "");
        assert_eq!(expiry(Some("tomorrow")).unwrap_err().pointer, "/until");
    }
}
