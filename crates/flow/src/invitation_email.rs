//! The e-mail that invites people to a flow: its text, and how often they are reminded.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::locale;

/// The most characters of the subject and the text.
pub const SUBJECT_CHARS_MAX: usize = 200;
pub const TEXT_CHARS_MAX: usize = 5_000;
/// The most reminders of one invitation, and the days before each.
pub const REMINDERS_MAX: u32 = 5;
pub const REMINDER_DAYS: RangeInclusive<u32> = 1..=60;
/// The days before a reminder, if nothing else was chosen.
const REMINDER_DAYS_DEFAULT: u32 = 7;

/// The e-mail of a flow's invitations. An empty subject or text stands for that of the language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, expecting = "an object")]
pub struct InvitationEmail {
    pub subject: String,
    /// With links, emphasis and lists ([`crate::markdown`]). The personal link follows it.
    pub text: String,
    /// The language of everything around the text, as a tag; absent means that of the flow.
    pub language: Option<String>,
    /// How often people who have not answered are reminded.
    pub reminders: u32,
    /// The days between two e-mails.
    pub reminder_days: u32,
}

impl Default for InvitationEmail {
    fn default() -> Self {
        Self {
            subject: String::new(),
            text: String::new(),
            language: None,
            reminders: 0,
            reminder_days: REMINDER_DAYS_DEFAULT,
        }
    }
}

impl InvitationEmail {
    /// Every fault, with the name of its field.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        if self.subject.chars().count() > SUBJECT_CHARS_MAX {
            faults.push(("subject", format!("must have at most {SUBJECT_CHARS_MAX} characters")));
        }
        if self.subject.chars().any(char::is_control) {
            faults.push(("subject", "must be one line of text".to_owned()));
        }
        if self.text.chars().count() > TEXT_CHARS_MAX {
            faults.push(("text", format!("must have at most {TEXT_CHARS_MAX} characters")));
        }
        let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if self.text.chars().any(is_odd) {
            faults.push(("text", "must not have control characters".to_owned()));
        }
        if self.language.as_ref().is_some_and(|tag| locale::canonical(tag).is_none()) {
            faults.push(("language", "must be a language tag such as en or pt-BR".to_owned()));
        }
        if self.reminders > REMINDERS_MAX {
            faults.push(("reminders", format!("must be 0 to {REMINDERS_MAX}")));
        }
        if !REMINDER_DAYS.contains(&self.reminder_days) {
            let (min, max) = (REMINDER_DAYS.start(), REMINDER_DAYS.end());
            faults.push(("reminderDays", format!("must be {min} to {max}")));
        }
        faults
    }

    /// The e-mail as stored; the default if there is none, or none that can be read.
    pub fn from_stored(stored: Option<&str>) -> Self {
        stored.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// As it is stored; absent if it is the default.
    pub fn to_stored(&self) -> Option<String> {
        let stored = (*self != Self::default()).then(|| serde_json::to_string(self));
        stored.and_then(Result::ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_line_and_numbers_are_in_range() {
        let good = InvitationEmail::default();
        let long = "x".repeat(SUBJECT_CHARS_MAX + 1);
        let text = "x".repeat(TEXT_CHARS_MAX + 1);
        let cases = [
            (InvitationEmail { subject: "Fünf Fragen".into(), ..good.clone() }, None),
            (
                InvitationEmail { subject: "a\r\nBcc: b@c.example".into(), ..good.clone() },
                Some("subject"),
            ),
            (InvitationEmail { subject: "a\u{85}b".into(), ..good.clone() }, Some("subject")),
            (InvitationEmail { subject: long, ..good.clone() }, Some("subject")),
            (InvitationEmail { text: "one\n\ttwo".into(), ..good.clone() }, None),
            (InvitationEmail { text: "a\0b".into(), ..good.clone() }, Some("text")),
            (InvitationEmail { text, ..good.clone() }, Some("text")),
            (InvitationEmail { language: Some("pt-BR".into()), ..good.clone() }, None),
            (InvitationEmail { language: Some("?".into()), ..good.clone() }, Some("language")),
            (InvitationEmail { reminders: 5, reminder_days: 60, ..good.clone() }, None),
            (InvitationEmail { reminders: 6, ..good.clone() }, Some("reminders")),
            (InvitationEmail { reminder_days: 0, ..good.clone() }, Some("reminderDays")),
            (InvitationEmail { reminder_days: 61, ..good }, Some("reminderDays")),
        ];
        for (email, fault) in cases {
            assert_eq!(email.faults().first().map(|(field, _)| *field), fault, "{email:?}");
            assert_eq!(InvitationEmail::from_stored(email.to_stored().as_deref()), email);
        }
        assert_eq!(InvitationEmail::default().to_stored(), None);
        assert_eq!(InvitationEmail::from_stored(Some("?")), InvitationEmail::default());
    }
}
