//! A form that was sent, interpreted with the questions of a version: its answers, the step, the
//! ending and the error messages.

use std::collections::BTreeMap;

use sluice_engine::HostedVersion;
use sluice_flow::definition::{Definition, Wording};
use sluice_flow::issue::Issue;
use sluice_flow::submission::TextMap;

use super::form::Form;
use super::page_request::PageRequest;
use super::rules;
use super::states::ReachedEnding;
use super::steps::Step;
use super::texts::FlowTexts;
use super::words::Words;

/// A form interpreted with the questions of a version.
pub(super) struct ParsedForm<'r> {
    pub(super) version: &'r HostedVersion,
    pub(super) wording: Wording<'r>,
    pub(super) form: &'r Form,
    pub(super) answers: TextMap<'r>,
}

impl<'r> ParsedForm<'r> {
    pub(super) fn new(
        page_request: &PageRequest,
        version: &'r HostedVersion,
        form: &'r Form,
    ) -> Option<Self> {
        let definition = PageRequest::definition(version)?;
        let wording = page_request.wording(definition);
        let answers = definition.reached(form.answers(definition, wording.locale()));
        Some(Self { version, wording, form, answers })
    }

    pub(super) fn definition(&self) -> &'r Definition {
        self.wording.definition()
    }

    pub(super) fn step(&self) -> Step {
        Step::named(self.definition(), &self.answers, self.form.get("step"))
    }

    /// The ending that the answers lead to.
    pub(super) fn ending<'e>(&'e self, page_request: &'e PageRequest) -> ReachedEnding<'e> {
        let words = Words::for_language(self.wording.locale());
        let texts = FlowTexts::new(self.wording, words, &page_request.parameters, &self.answers);
        ReachedEnding { texts, named: self.definition().route(&self.answers).ending() }
    }

    /// The title of the flow, without placeholders.
    pub(super) fn title(&self, page_request: &PageRequest) -> String {
        self.ending(page_request).texts.plain(self.wording.title())
    }

    /// The error messages, by question.
    pub(super) fn errors(&self, issues: &[Issue]) -> BTreeMap<&'r str, String> {
        let words = Words::for_language(self.wording.locale());
        let mut errors = BTreeMap::new();
        for issue in issues {
            let question = rules::question_of(issue).and_then(|id| self.definition().question(id));
            if let Some(question) = question {
                let has_answer = self.answers.get(&question.id).is_some();
                let text = rules::error_message(words, question, issue, has_answer);
                errors.entry(question.id.as_str()).or_insert(text);
            }
        }
        errors
    }
}
