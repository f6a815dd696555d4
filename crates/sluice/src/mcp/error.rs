//! Why a tool did nothing, and what to do.

use std::fmt;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolError {
    message: String,
    /// The message of the server. It can quote authors and respondents.
    quoted: Vec<String>,
    /// The code of the API's problem; empty if it is none.
    code: String,
}

impl ToolError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), quoted: Vec::new(), code: String::new() }
    }

    pub(super) fn with_code(self, code: &str) -> Self {
        Self { code: code.to_owned(), ..self }
    }

    /// With texts of the server, one per line.
    pub(super) fn quoting(self, quoted: Vec<String>) -> Self {
        Self { quoted, ..self }
    }

    pub(super) fn has_code(&self, code: &str) -> bool {
        self.code == code
    }

    pub(super) fn quoted(&self) -> &[String] {
        &self.quoted
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
