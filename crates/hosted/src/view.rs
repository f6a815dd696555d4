//! Renders the form at one of its steps.
//!
//! Without a script a page has one question, and earlier answers are sent along in hidden fields.
//! On the first page the other questions are in a template, which a browser without scripts
//! ignores; if the script requested the page, all questions are in the form.

use std::collections::BTreeMap;

use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::HostedVersion;
use sluice_engine::rows::IdentityVerification;
use sluice_flow::definition::Wording;
use sluice_flow::id::FormKey;
use sluice_flow::question::Question;
use sluice_flow::submission::TextMap;

use super::form::Form;
use super::page::{Frame, LinkCard, PageData};
use super::question::QuestionView;
use super::reply::Kind;
use super::steps::Step;
use super::words::fill;

/// The maximum number of unusable parameters that are named.
const NAMED_MAX: usize = 5;
/// How much of such a name is shown, in characters.
const NAME_CHARS_MAX: usize = 40;

/// Which questions a page contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only the current question; the other answers are in hidden fields.
    One,
    /// The current question, and the others in a template.
    First,
    /// All questions.
    All,
}

/// Everything needed to render the form.
pub(super) struct FormView<'v> {
    pub(super) frame: Frame<'v>,
    pub(super) version: &'v HostedVersion,
    pub(super) wording: Wording<'v>,
    pub(super) form: &'v Form,
    pub(super) answers: &'v TextMap<'v>,
    pub(super) step: Step,
    pub(super) extent: Extent,
    pub(super) key: FormKey,
    pub(super) referrer: Option<String>,
    /// The error messages, by question.
    pub(super) errors: BTreeMap<&'v str, String>,
    pub(super) notice: Option<&'static str>,
    /// Where the script reports that an invitation was opened.
    pub(super) opened: Option<String>,
    /// Where the steps of the visit are reported; absent in a preview.
    pub(super) visits: Option<String>,
    /// The furthest question of a visitor without script, after the first step.
    pub(super) furthest: Option<String>,
    /// Whether the respondent is asked to be linked to the answers.
    pub(super) asks_to_link: bool,
}

impl FormView<'_> {
    pub(super) fn page(&self, kind: Kind) -> Response {
        let definition = self.wording.definition();
        let data = PageData {
            state: "asking",
            version: Some(self.version.id()),
            later: !self.is_first(),
            leads_to: definition.ending().redirect_url.as_deref(),
            opened: self.opened.as_deref(),
            visits: self.visits.as_deref(),
            card: self.card(),
            ..PageData::default()
        };
        let content = html! {
            (self.notices())
            (self.whole_form())
            (self.image())
        };
        self.frame.page(kind, self.wording.title(), &data, content)
    }

    /// Personal links and previews are not for sharing, and a verified page only for its reader.
    fn card(&self) -> Option<LinkCard<'_>> {
        let app = self.frame.flow?.app();
        let is_open = app.identity_verification != IdentityVerification::Enforce;
        let is_shared = self.frame.preview.is_none() && self.frame.parameters.assignment.is_none();
        (is_open && is_shared).then(|| LinkCard {
            title: self.wording.title(),
            description: self.wording.description(),
        })
    }

    fn is_first(&self) -> bool {
        self.step.is_first(self.wording.definition(), self.answers)
    }

    fn notices(&self) -> Markup {
        let refused = &self.frame.parameters.refused;
        let shown = |name: &String| name.chars().take(NAME_CHARS_MAX).collect::<String>();
        let names: Vec<String> = refused.iter().take(NAMED_MAX).map(shown).collect();
        let text = self.frame.words.notice.parameters;
        html! {
            @if let Some(notice) = self.notice { div.notice role="status" { p { (notice) } } }
            @if !names.is_empty() && (self.is_first() || self.extent == Extent::All) {
                div.notice role="status" { p { (fill(text, &[("names", &names.join(", "))])) } }
            }
        }
    }

    fn is_current(&self, question: &Question) -> bool {
        self.step
            .question(self.wording.definition())
            .is_some_and(|current| current.id == question.id)
    }

    fn whole_form(&self) -> Markup {
        let parameters = self.frame.parameters;
        let flow = self.version.snapshot().map(|snapshot| snapshot.meta().flow_id.to_string());
        let flow = flow.unwrap_or_default();
        let mark = if parameters.query.is_empty() { "" } else { "?" };
        let action = match self.frame.preview {
            Some(preview) => preview.address.clone(),
            None => format!("/f/{flow}{mark}{}", parameters.query),
        };
        html! {
            form method="post" action=(action) novalidate
                autocomplete="on"
                data-whole[self.extent != Extent::One]
                data-advance[self.wording.definition().auto_advance()]
                data-words=(self.frame.words.for_script()) {
                (self.hidden())
                (self.progress())
                div.stage {
                    (self.intro())
                    (self.questions())
                    (self.honeypot())
                    (self.actions())
                }
            }
        }
    }

    fn hidden(&self) -> Markup {
        let definition = self.wording.definition();
        let step = self.step.question(definition).map_or("", |question| question.id.as_str());
        let others = definition.questions().iter().filter(|question| !self.is_current(question));
        let is_one = self.extent == Extent::One;
        let admitted = is_one && !self.sends() && self.form.is_admitted();
        html! {
            (field("version", &self.version.id().to_string()))
            (field("key", &self.key.to_string()))
            (field("step", step))
            (field("referrer", self.referrer.as_deref().unwrap_or_default()))
            @if let Some(furthest) = self.furthest.as_ref().filter(|_| is_one) { (field("furthest", furthest)) }
            @if is_one {
                @for (name, value) in others.flat_map(|question| self.form.of_question(&question.id)) {
                    (field(name, value))
                }
            }
            @if admitted { (field("analytics", "admitted")) }
        }
    }

    /// By this request, a browser without script counts as a visitor.
    fn image(&self) -> Markup {
        let visits = self.visits.as_ref().filter(|_| self.extent == Extent::First);
        html! {
            @if let Some(visits) = visits {
                noscript { img src={ (visits) "?version=" (self.version.id()) } alt="" width="1" height="1"; }
            }
        }
    }

    fn intro(&self) -> Markup {
        let is_told = self.is_first() || self.extent == Extent::All;
        html! {
            div.intro {
                h1 dir="auto" { (self.wording.title()) }
                @if let Some(description) = self.wording.description().filter(|_| is_told) {
                    p.lead dir="auto" { (description) }
                }
            }
        }
    }

    fn progress(&self) -> Markup {
        let (place, all) = self.step.place(self.wording.definition(), self.answers);
        let (place, count) = (place.to_string(), all.to_string());
        let text = fill(self.frame.words.form.of, &[("n", &place), ("all", &count)]);
        html! {
            @if self.wording.definition().questions().len() > 1 {
                div.progress {
                    p id="progress" { (text) }
                    progress max=(count) value=(place) aria-labelledby="progress" {}
                }
            }
        }
    }

    fn questions(&self) -> Markup {
        let questions = self.wording.definition().questions();
        let of = |question: &Question| self.section(question);
        let current = self.step.question(self.wording.definition());
        html! {
            @match self.extent {
                Extent::All => {
                    @for question in questions { (of(question)) }
                    (self.consent())
                }
                Extent::First => {
                    @if let Some(question) = current { (of(question)) }
                    @if self.sends() { (self.consent()) } @else {
                        template #rest {
                            @for question in questions.iter().filter(|it| !self.is_current(it)) { (of(question)) }
                            (self.consent())
                        }
                    }
                }
                Extent::One => {
                    @if let Some(question) = current { (of(question)) } @else { (self.end()) }
                    @if self.sends() { (self.consent()) }
                }
            }
        }
    }

    fn section(&self, question: &Question) -> Markup {
        let error = self.errors.get(question.id.as_str()).map(String::as_str);
        let (wording, words, form) = (&self.wording, self.frame.words, self.form);
        QuestionView { question, wording, words, form, error }.section()
    }

    /// Shown after the last question, if it was not known to be the last.
    fn end(&self) -> Markup {
        let end = self.frame.words.form.end;
        html! {
            @if !self.wording.definition().questions().is_empty() {
                section.question.end { h2 { (end.title) } p.hint { (end.text) } }
            }
        }
    }

    /// Whether the answers are sent from this step.
    fn sends(&self) -> bool {
        self.step.is_last(self.wording.definition())
    }

    fn consent(&self) -> Markup {
        let form = &self.frame.words.form;
        html! {
            @if self.asks_to_link {
                section.question.consent #q-analytics {
                    fieldset aria-describedby="h-analytics" {
                        legend { h2 { (form.consent.title) } }
                        p.hint #h-analytics { (form.consent.text) }
                        label.choice {
                            input type="checkbox" name="analytics" value="admitted"
                                checked[self.form.is_admitted()];
                            span { (form.consent_box) }
                        }
                    }
                }
            }
        }
    }

    /// A honeypot field: people do not see it, and bots fill it in.
    fn honeypot(&self) -> Markup {
        let is_set = self.frame.flow.is_some_and(|flow| flow.branding().spam_protection);
        html! {
            @if is_set {
                div.trap aria-hidden="true" {
                    label { (self.frame.words.form.honeypot) " "
                        input type="text" name="website" tabindex="-1" autocomplete="off";
                    }
                }
            }
        }
    }

    /// The main button comes first, because Enter presses the first one.
    fn actions(&self) -> Markup {
        let form = &self.frame.words.form;
        let (go, label) = if self.sends() { ("send", form.send) } else { ("next", form.next) };
        html! {
            div.actions {
                button.primary name="go" value=(go) { (label) }
                @if !self.is_first() { button.quiet name="go" value="back" { (form.back) } }
            }
        }
    }
}

fn field(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value) autocomplete="off"; }
}
