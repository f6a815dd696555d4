//! The table of formats.
//!
//! A format is one file in this folder and one line in the table below (with its `mod`). Nothing
//! else in the project lists the formats: the command line reads the table.

mod formbricks;
mod google_forms;
mod looks;
mod surveyjs;
mod typeform;
mod xlsform;

use serde_json::Value;

use self::looks::{any, is_text, read_json};
use crate::draft::Draft;

/// A format of another tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct Format {
    /// Its name on the command line, and that of its page in `docs/import`.
    pub name: &'static str,
    /// The author-facing name.
    pub label: &'static str,
    /// What file it is.
    pub summary: &'static str,
    pub(crate) read: fn(&[u8]) -> Result<Draft, String>,
    /// Whether a file is plainly of this format. A file that is damaged or empty need not be.
    looks: fn(&[u8]) -> bool,
}

macro_rules! formats {
    ($($name:literal => $module:ident, $label:literal, $summary:literal;)*) => {
        /// Every format, in the order of the table.
        pub const FORMATS: &[Format] = &[$(Format {
            name: $name,
            label: $label,
            summary: $summary,
            read: $module::read,
            looks: $module::looks,
        }),*];
    };
}

formats! {
    "typeform" => typeform, "Typeform", "a form as the Create API returns it (JSON)";
    "formbricks" => formbricks, "Formbricks", "a survey as the Management API returns it (JSON)";
    "surveyjs" => surveyjs, "SurveyJS", "a survey's JSON";
    "google-forms" => google_forms, "Google Forms", "a form as the script in the docs writes it (JSON)";
    "xlsform" => xlsform, "ODK XLSForm", "a workbook (.xlsx)";
}

impl Format {
    /// The format with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Why a file cannot be of this format, if it plainly is of another.
    pub(crate) fn mistaken(&self, bytes: &[u8]) -> Option<String> {
        if (self.looks)(bytes) {
            return None;
        }
        let own = |it: &Value| is_text(it, "id") && it.get("prompt").is_some();
        if any(&read_json(bytes), "questions", own) {
            return Some("is a definition of Sluice itself: use sluice flow push".to_owned());
        }
        let other = FORMATS.iter().find(|format| (format.looks)(bytes))?;
        let (label, name) = (other.label, other.name);
        Some(format!("looks like {label}, not like {}: use sluice import {name}", self.label))
    }
}
