//! Renders the form at one of its steps.
//!
//! Without a script a page has one question or those of a section, and earlier answers are sent
//! along in hidden fields. On the first page the other questions are in templates, which a browser
//! without scripts ignores; if the script requested the page, all questions are in the form.

use std::collections::BTreeMap;
use std::ops::Range;

use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::HostedVersion;
use sluice_engine::rows::IdentityVerification;
use sluice_flow::definition::{Definition, Wording};
use sluice_flow::id::FormKey;
use sluice_flow::phrase::fill;
use sluice_flow::question::{Input, Question};
use sluice_flow::submission::TextMap;

use super::form::Form;
use super::page::{Frame, LinkCard, PageData};
use super::question::QuestionView;
use super::reply::Kind;
use super::steps::{Step, WELCOME};
use super::texts::FlowTexts;
use super::words::ButtonTexts;

/// The maximum number of unusable parameters that are named.
const NAMED_MAX: usize = 5;
/// How much of such a name is shown, in characters.
const NAME_CHARS_MAX: usize = 40;

/// Which questions a page contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only the current page; the other answers are in hidden fields.
    One,
    /// The current page, and the other questions in templates.
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
    /// The indexes of the questions of the current page.
    pub(super) page: Vec<usize>,
    pub(super) extent: Extent,
    pub(super) key: FormKey,
    pub(super) referrer: Option<String>,
    /// The error messages, by question.
    pub(super) errors: BTreeMap<&'v str, String>,
    pub(super) notice: Option<String>,
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
            leads_to: definition.redirects().collect(),
            opened: self.opened.as_deref(),
            visits: self.visits.as_deref(),
            card: self.card(),
            has_extra_style: has_extra_style(definition),
            ..PageData::default()
        };
        let content = html! {
            (self.notices())
            (self.whole_form())
            (self.image())
        };
        self.frame.page(kind, &self.texts().plain(self.wording.title()), &data, content)
    }

    /// Personal links and previews are not for sharing, and a verified page only for its reader.
    fn card(&self) -> Option<LinkCard> {
        let app = self.frame.flow?.app();
        let is_open = app.identity_verification != IdentityVerification::Enforce;
        let is_shared = self.frame.preview.is_none() && self.frame.parameters.assignment.is_none();
        (is_open && is_shared).then(|| LinkCard {
            title: self.texts().plain(self.wording.title()),
            description: self.wording.description().map(|text| self.texts().plain(text)),
        })
    }

    fn is_first(&self) -> bool {
        self.step.is_first(self.wording.definition(), self.answers)
    }

    fn texts(&self) -> FlowTexts<'_> {
        FlowTexts::new(self.wording, self.frame.words, self.frame.parameters, self.answers)
    }

    fn notices(&self) -> Markup {
        let refused = &self.frame.parameters.refused;
        let shown = |name: &String| name.chars().take(NAME_CHARS_MAX).collect::<String>();
        let names: Vec<String> = refused.iter().take(NAMED_MAX).map(shown).collect();
        let text = self.frame.words.notice.parameters;
        html! {
            @if let Some(notice) = &self.notice { div.notice role="status" { p { (notice) } } }
            @if !names.is_empty() && (self.is_first() || self.extent == Extent::All) {
                div.notice role="status" { p { (fill(text, &[("names", &names.join(", "))])) } }
            }
        }
    }

    /// Whether a question is on the current page.
    fn is_current(&self, question: &Question) -> bool {
        self.page.iter().any(|at| {
            let questions = self.wording.definition().questions();
            questions.get(*at).is_some_and(|current| current.id == question.id)
        })
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
                data-words=(self.frame.words.for_script(self.button_texts())) {
                (self.hidden())
                @match (self.step, self.extent) {
                    (Step::Welcome, Extent::One) => {}
                    // For the script, when the respondent moves on.
                    (Step::Welcome, Extent::First) => { template { (self.progress()) } }
                    _ => { (self.progress()) }
                }
                div.stage {
                    @if self.step == Step::Welcome || self.extent == Extent::All { (self.welcome()) }
                    @match (self.step, self.extent) {
                        (Step::Welcome, Extent::One) => {}
                        (Step::Welcome, Extent::First) => { template { (self.intro()) } }
                        _ => { (self.intro()) }
                    }
                    (self.questions())
                    (self.honeypot())
                    (self.actions())
                }
            }
        }
    }

    fn hidden(&self) -> Markup {
        let definition = self.wording.definition();
        let step = self.step.name(definition);
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
                @if self.page.len() > 1 || self.page.iter().any(|at| definition.section_of(*at).is_some()) {
                    @for at in &self.page { (field("on", &definition.questions()[*at].id)) }
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
        let has_description = self.is_first() || self.extent == Extent::All;
        html! {
            div.intro {
                h1 dir="auto" { (self.texts().inline(self.wording.title())) }
                @if let Some(description) = self.wording.description().filter(|_| has_description) {
                    (self.texts().blocks("lead", None, description))
                }
            }
        }
    }

    /// The screen before the first question. What it leaves out is taken from the flow.
    fn welcome(&self) -> Markup {
        let texts = self.texts();
        html! {
            @if let Some([title, body, button]) = self.wording.welcome() {
                div.welcome data-id=(WELCOME) data-button=[button.map(|text| texts.plain(text))] {
                    h1 dir="auto" { (texts.inline(title.unwrap_or(self.wording.title()))) }
                    @if let Some(body) = body.or(self.wording.description()) {
                        (texts.blocks("lead", None, body))
                    }
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
        let sends = self.sends();
        html! {
            @match self.extent {
                Extent::All => {
                    @for at in 0..self.wording.definition().questions().len() { (self.question(at)) }
                    (self.consent())
                }
                Extent::First => {
                    @for (is_here, run) in self.runs() {
                        @if is_here { (self.all(run)) } @else { template { (self.all(run)) } }
                    }
                    @if sends { (self.consent()) } @else { template { (self.consent()) } }
                }
                Extent::One => {
                    @for at in &self.page { (self.question(*at)) }
                    @if self.step == Step::End { (self.end()) }
                    @if sends { (self.consent()) }
                }
            }
        }
    }

    /// The questions in runs that are on the current page or not.
    fn runs(&self) -> Vec<(bool, Range<usize>)> {
        let mut runs: Vec<(bool, Range<usize>)> = Vec::new();
        for at in 0..self.wording.definition().questions().len() {
            let is_here = self.page.contains(&at);
            match runs.last_mut() {
                Some((was_here, run)) if *was_here == is_here => run.end = at + 1,
                _ => runs.push((is_here, at..at + 1)),
            }
        }
        runs
    }

    fn all(&self, run: Range<usize>) -> Markup {
        html! { @for at in run { (self.question(at)) } }
    }

    /// A question, after the title of its section if it starts one.
    fn question(&self, at: usize) -> Markup {
        let definition = self.wording.definition();
        let question = &definition.questions()[at];
        let error = self.errors.get(question.id.as_str()).map(String::as_str);
        let section = definition.section_of(at);
        // Without a script only the visible questions are there, so the first of them counts.
        let is_start = section.as_ref().is_some_and(|(_, range)| match self.extent {
            Extent::One => self.page.first() == Some(&at),
            Extent::First | Extent::All => range.start == at,
        });
        let section = section.map(|(section, _)| section);
        let title = section.filter(|_| is_start).and_then(|it| self.wording.section_title(it));
        let view = QuestionView {
            question,
            texts: self.texts(),
            form: self.form,
            error,
            version: self.version,
            section: section.map(|section| section.id.as_str()),
            seed: seed(self.key, &question.id),
        };
        html! {
            @if let (Some(section), Some(title)) = (section, title) {
                p.part data-part=(section.id) dir="auto" { (self.texts().inline(title)) }
            }
            (view.section())
        }
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
        self.step.is_last(self.wording.definition(), self.answers)
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

    fn button_texts(&self) -> ButtonTexts<'_> {
        self.frame.button_texts(self.wording.definition().asks_anything())
    }

    /// The main button comes first, because Enter presses the first one.
    fn actions(&self) -> Markup {
        let texts = self.button_texts();
        let start = self.wording.welcome().and_then(|[_, _, button]| button);
        let start = start.filter(|_| self.step == Step::Welcome).map(|it| self.texts().plain(it));
        let (go, label) = if self.sends() { ("send", texts.send) } else { ("next", texts.next) };
        let label = start.as_deref().unwrap_or(label);
        html! {
            div.actions {
                button.primary name="go" value=(go) { (label) }
                @if !self.is_first() { button.quiet name="go" value="back" { (texts.back) } }
            }
        }
    }
}

fn field(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value) autocomplete="off"; }
}

fn has_extra_style(definition: &Definition) -> bool {
    let is_wide = |question: &Question| {
        matches!(question.question_type.input(), Input::Order { .. } | Input::Grid { .. })
    };
    !definition.images().is_empty() || definition.questions().iter().any(is_wide)
}

/// The seed for the order of a question's options: the same for all pages of one form.
fn seed(key: FormKey, question: &str) -> u64 {
    let text = format!("{key}{question}");
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
