//! A form that was sent: next step, previous step, or submit.
//!
//! A submitted form takes the same path as every submission (`engine::intake`); here fields become
//! a submission, and its outcome becomes a page. No input is lost: if anything is wrong, the form
//! is shown again as it was filled in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::body::Body;
use axum::response::Response;
use http::header::USER_AGENT;
use http::request::Parts;
use sluice_engine::idempotency::IdempotencyKey;
use sluice_engine::intake::Accepted;
use sluice_engine::{HostedVersion, Limited, Receipt, SubmitError, TestedFlow};
use sluice_flow::invitation::InvitationState;
use sluice_flow::issue::{Code, Issue};
use sluice_flow::judge::{self, judge_question};
use sluice_flow::submission::{Admission, Context, Page, Submission, TextMap};
use sluice_http::rate::Sender;
use sluice_http::reply::see_other;
use sluice_http::store_down;

use super::form::{Form, FormAction};
use super::limited::{self, ReadForm};
use super::linkage::Linkage;
use super::page_request::{PageRequest, UNREAD, text};
use super::parsed_form::ParsedForm;
use super::reply::Kind;
use super::states::StoredConfirmation;
use super::steps::Step;
use super::view::{Extent, FormView};
use super::visits::Onward;
use super::words::Words;
use super::{Hosted, visits};

/// A form sent sooner than this after it was created was not read by a person.
const READ_MILLIS_MIN: i64 = 2_000;

/// Handles a form that was sent.
pub(super) async fn answer(
    hosted: &Hosted,
    head: Parts,
    body: Body,
    peer: Option<IpAddr>,
) -> Response {
    let sender = match hosted.admit(peer, &head.headers) {
        Ok(sender) => sender,
        Err(limited) => return limited::page(&head.headers, &limited),
    };
    let mut page_request = match PageRequest::resolve(&hosted.engine, head).await {
        Ok(page_request) => page_request,
        Err(barred) => return barred.page(),
    };
    let ReadForm { form, limited } = match hosted.read_form(&page_request, sender, body).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let version = form.get("version").unwrap_or_default();
    let version = match page_request.flow.version(version).await {
        Ok(version) => version,
        Err(error) => {
            store_down(&error, UNREAD);
            return page_request.bare_frame().failed();
        }
    };
    if let Err(error) = page_request.find_invitee(version.as_ref()).await {
        store_down(&error, UNREAD);
        return page_request.bare_frame().failed();
    }
    let address = hosted.proxies.client(peer, &page_request.headers);
    let page_request = &page_request;
    let sent = SentForm { hosted, page_request, form: &form, address, tested: None };
    if let Some(limited) = limited {
        return sent.limited(version.as_ref().unwrap_or(&page_request.flow.current), limited);
    }
    match (version, form.action()) {
        (Some(version), FormAction::Send) => sent.send(&version).await,
        (Some(version), action) if version.is_accepting(hosted.engine.now()) => {
            sent.step(&version, action).await
        }
        (version, _) => sent.show_current_version(version.as_ref()),
    }
}

/// Handles a form that an author sent from a preview: judged like any other, but not stored.
pub(super) async fn preview(hosted: &Hosted, page_request: &PageRequest, body: Body) -> Response {
    let form = match hosted.read_form(page_request, Sender::UNLIMITED, body).await {
        Ok(read) => read.form,
        Err(refused) => return refused,
    };
    let sent = SentForm { hosted, page_request, form: &form, address: None, tested: None };
    let version = &page_request.flow.current;
    match form.action() {
        FormAction::Send => sent.validate(version),
        action => sent.step(version, action).await,
    }
}

/// Handles a form that was sent from a test link.
pub(super) async fn test(
    hosted: &Hosted,
    page_request: &PageRequest,
    tested: &TestedFlow,
    body: Body,
    (peer, sender): (Option<IpAddr>, Sender),
) -> Response {
    let ReadForm { form, limited } = match hosted.read_form(page_request, sender, body).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let address = hosted.proxies.client(peer, &page_request.headers);
    let tested = Some(tested);
    let sent = SentForm { hosted, page_request, form: &form, address, tested };
    if let Some(limited) = limited {
        return sent.limited(&page_request.flow.current, limited);
    }
    match form.action() {
        FormAction::Send => sent.send(&page_request.flow.current).await,
        action => sent.step(&page_request.flow.current, action).await,
    }
}

/// A form that was sent, and what is needed to answer it.
struct SentForm<'s> {
    hosted: &'s Hosted,
    page_request: &'s PageRequest,
    form: &'s Form,
    address: Option<IpAddr>,
    /// Set if the form belongs to a test link: its answers are stored as a test.
    tested: Option<&'s TestedFlow>,
}

impl SentForm<'_> {
    /// Next or previous step.
    async fn step(&self, version: &HostedVersion, action: FormAction) -> Response {
        let Some(reading) = ParsedForm::new(self.page_request, version, self.form) else {
            return self.page_request.bare_frame().missing();
        };
        let (definition, step) = (reading.definition(), reading.step());
        if action == FormAction::Back {
            let step = step.back(definition, &reading.answers);
            return self.shown(&reading, step, Kind::Shown, None, BTreeMap::new());
        }
        self.record_opened().await;
        let shown = self.form.shown();
        let page = step.questions(definition, &reading.answers).into_iter();
        let page = page.map(|at| &definition.questions()[at]);
        // A question that this page makes visible was not there to be answered.
        let asked = page.filter(|it| shown.is_empty() || shown.contains(&it.id.as_str()));
        let issues: Vec<Issue> =
            asked.flat_map(|question| judge_question(question, &reading.answers)).collect();
        let errors = reading.errors(&issues);
        if !errors.is_empty() {
            return self.shown(&reading, step, Kind::Unfinished, None, errors);
        }
        let next = step.next(definition, &reading.answers, &shown);
        let furthest = self.count(&reading, Onward::To(next));
        self.shown_at(&reading, next, Kind::Shown, None, errors, furthest)
    }

    /// A respondent who continues has opened the invitation; fetching the page alone does not
    /// count.
    async fn record_opened(&self) {
        if let Some(assignment) = &self.page_request.parameters.assignment
            && let Err(error) = self.page_request.flow.mark_opened(assignment).await
        {
            store_down(&error, UNREAD);
        }
    }

    /// Submits the form.
    async fn send(&self, version: &HostedVersion) -> Response {
        let Some(reading) = ParsedForm::new(self.page_request, version, self.form) else {
            return self.page_request.bare_frame().missing();
        };
        let words = Words::for_language(reading.wording.locale());
        let notice = &words.notice;
        let again = |kind, notice: &str| {
            let notice = Some(notice.to_owned());
            self.shown(&reading, reading.step(), kind, notice, BTreeMap::new())
        };
        let later =
            |seconds, notice| again(Kind::Limited(seconds), &words.with_wait(notice, seconds));
        if let Some(seconds) = self.hosted.senders.wait(self.address) {
            return later(seconds, notice.limited);
        }
        let (app, engine) = (self.page_request.flow.app(), &self.hosted.engine);
        // Tests leave the app's calls to its respondents.
        if self.tested.is_none()
            && let Err(limited) = engine.admit_calls(app, 1)
        {
            return later(limited.retry_after_seconds, notice.busy);
        }
        let Some(key) = self.form.key().filter(|_| !self.is_bot()) else {
            return again(Kind::Unfinished, notice.robot);
        };
        let submission = self.submission(&reading);
        let submitted = match self.tested {
            Some(tested) => tested.submit(submission, key).await,
            None => {
                let key = IdempotencyKey::parse(key.to_string().as_bytes()).ok();
                let bearer = self.page_request.bearer.as_deref();
                engine.submit_parts(app, submission, key.as_ref(), bearer).await
            }
        };
        match submitted {
            Ok(Receipt::Accepted(accepted)) => {
                if !accepted.replayed {
                    self.count(&reading, Onward::Finished { seconds: self.seconds() });
                }
                self.stored(&reading, accepted)
            }
            Ok(Receipt::Refused(issues)) => self.refused(&reading, &issues),
            Err(SubmitError::Unavailable(unavailable)) => {
                again(Kind::Away(unavailable.retry_after_seconds), notice.unavailable)
            }
            Err(SubmitError::Limited(limited)) => later(limited.retry_after_seconds, notice.full),
            Err(SubmitError::Malformed(reason)) => {
                tracing::error!(reason, "a hosted form is not a valid submission");
                self.page_request.bare_frame().failed()
            }
        }
    }

    /// Its address has sent too many bytes.
    fn limited(&self, version: &HostedVersion, limited: Limited) -> Response {
        let Some(reading) = ParsedForm::new(self.page_request, version, self.form) else {
            return self.page_request.bare_frame().missing();
        };
        let (words, seconds) =
            (Words::for_language(reading.wording.locale()), limited.retry_after_seconds);
        let notice = words.with_wait(words.notice.limited, seconds);
        let (kind, step) = (Kind::Limited(seconds), reading.step());
        self.shown(&reading, step, kind, Some(notice), BTreeMap::new())
    }

    /// Counts the steps of a visitor without script, and returns the furthest question.
    fn count(&self, reading: &ParsedForm<'_>, onward: Onward) -> Option<String> {
        if self.page_request.is_scripted {
            return None;
        }
        let (definition, answers) = (reading.definition(), &reading.answers);
        let (steps, furthest) = visits::moved_on(
            definition,
            answers,
            reading.step(),
            self.form.get("furthest"),
            onward,
        );
        self.page_request.flow.count_steps(reading.version, &steps);
        furthest
    }

    /// How long ago the form was opened.
    fn seconds(&self) -> u32 {
        let made = self.form.key().map(|key| key.made_at().as_millis());
        let millis = made.map_or(0, |made| self.hosted.engine.now().as_millis() - made);
        u32::try_from(millis / 1000).unwrap_or(0)
    }

    /// Judges the whole form for an author: the same result as for a respondent, but nothing is
    /// stored.
    fn validate(&self, version: &HostedVersion) -> Response {
        let (Some(snapshot), Some(reading)) =
            (version.snapshot(), ParsedForm::new(self.page_request, version, self.form))
        else {
            return self.page_request.bare_frame().missing();
        };
        let issues = judge::judge(snapshot, &reading.answers);
        if !issues.is_empty() {
            return self.refused(&reading, &issues);
        }
        let address = self.page_request.address();
        let done = StoredConfirmation { address: Some(&address), ..StoredConfirmation::default() };
        let frame = self.page_request.frame(&reading.wording);
        frame.stored(Some(reading.ending(self.page_request)), done)
    }

    fn is_bot(&self) -> bool {
        let is_quick = |made: i64| self.hosted.engine.now().as_millis() - made < READ_MILLIS_MIN;
        let made = self.form.key().map(|key| key.made_at().as_millis());
        self.page_request.flow.branding().spam_protection
            && (self.form.get("website").is_some() || made.is_some_and(is_quick))
    }

    fn submission<'r>(&'r self, reading: &ParsedForm<'r>) -> Submission<'r> {
        let page = Page {
            path: Some(
                format!("{}/f/{}", self.page_request.public_path, self.page_request.flow.flow_id)
                    .into(),
            ),
            referrer: self.form.get("referrer").map(Cow::from),
            search: Some(self.page_request.search().into()),
        };
        let mut submission = Submission {
            flow_version_id: reading.version.id().to_string().into(),
            admission: self.admission(reading),
            answers: reading.answers.clone(),
            identities: Vec::new(),
            tags: TextMap::default(),
            context: Context {
                locale: Some(reading.wording.locale().to_owned().into()),
                page: Some(page),
                user_agent: text(&self.page_request.headers, USER_AGENT).map(Cow::from),
            },
            flow_assignment_id: None,
            idempotency_key: None,
        };
        self.page_request.parameters.fill(&mut submission);
        submission
    }

    fn admission(&self, reading: &ParsedForm<'_>) -> Admission {
        if self.page_request.asks_to_link(reading.definition()) && self.form.is_admitted() {
            Admission::Admitted
        } else {
            Admission::CollectionOnly
        }
    }

    fn linkage(&self, reading: &ParsedForm<'_>) -> Linkage {
        match self.admission(reading) {
            Admission::Admitted => Linkage::Linked,
            Admission::CollectionOnly => Linkage::without_consent(
                reading.definition(),
                &reading.answers,
                self.page_request.parameters.is_plain(),
                self.form.get("referrer"),
            ),
        }
    }

    fn stored(&self, reading: &ParsedForm<'_>, accepted: Accepted) -> Response {
        let page_request = self.page_request;
        let linkage = self.linkage(reading);
        let reached = reading.ending(page_request);
        let address = match self.tested {
            Some(_) => page_request.address(),
            None => super::done_address(page_request, reading.version.id(), linkage, reached.named),
        };
        // Most sites refuse to be framed, so an embedded page shows its ending with a link instead.
        let redirect = reached.redirect().filter(|_| !page_request.parameters.embed);
        // No address contains answers. So an ending that repeats them, or of a test, is shown here;
        // the key of the form prevents a reload from storing another response.
        let is_here = self.tested.is_some() || reached.is_piped();
        if page_request.is_scripted || (redirect.is_none() && is_here) {
            let done = StoredConfirmation {
                version: Some(reading.version.id()),
                response: Some(accepted.response_id),
                linkage,
                address: Some(&address),
            };
            return page_request.frame(&reading.wording).stored(Some(reached), done);
        }
        see_other(redirect.unwrap_or(&address))
    }

    fn refused(&self, reading: &ParsedForm<'_>, issues: &[Issue]) -> Response {
        let errors = reading.errors(issues);
        if !errors.is_empty() {
            let questions = reading.definition().questions();
            let first =
                questions.iter().position(|question| errors.contains_key(question.id.as_str()));
            let route = reading.definition().route(&reading.answers);
            let step = first
                .map_or_else(|| reading.step(), |at| Step::at(reading.definition(), &route, at));
            return self.shown(reading, step, Kind::Unfinished, None, errors);
        }
        let frame = self.page_request.frame(&reading.wording);
        let invitation = |state| frame.invitation(state).unwrap_or_else(|| frame.failed());
        match issues.first().map(|issue| issue.code) {
            Some(Code::IdempotencyKeyReused) => frame.answered(&self.page_request.address()),
            Some(Code::InvitationUsed) => invitation(InvitationState::Completed),
            Some(Code::InvitationExpired) => invitation(InvitationState::Expired),
            Some(Code::InvitationRevoked) => invitation(InvitationState::Revoked),
            Some(Code::QuotaFull) => frame.closed(&reading.title(self.page_request), None),
            // It has just got its last response.
            Some(Code::NoLongerAccepting)
                if self.page_request.closed_page().is_none()
                    && reading.version.is_accepting(self.hosted.engine.now()) =>
            {
                frame.closed(&reading.title(self.page_request), None)
            }
            Some(Code::NotOpenYet | Code::NoLongerAccepting | Code::FlowVersionNotFound) => {
                self.show_current_version(Some(reading.version))
            }
            code => {
                tracing::error!(
                    ?code,
                    "a hosted form was refused for a reason the respondent cannot fix"
                );
                frame.failed()
            }
        }
    }

    /// The version no longer accepts answers. If another one does, its form is shown with every
    /// answer that still fits: the same question, the same type, and valid for the new question.
    fn show_current_version(&self, before: Option<&HostedVersion>) -> Response {
        if let Some(response) = self.page_request.closed_page() {
            return response;
        }
        let current = &self.page_request.flow.current;
        let is_other = before.is_none_or(|before| before.id() != current.id());
        let kept = ParsedForm::new(self.page_request, current, self.form).map(|reading| {
            let before = before.and_then(PageRequest::definition);
            let fits = |id: &str| {
                let (now, was) =
                    (reading.definition().question(id), before.and_then(|it| it.question(id)));
                now.is_some_and(|now| {
                    was.is_none_or(|was| was.question_type.name() == now.question_type.name())
                        && judge_question(now, &reading.answers).is_empty()
                })
            };
            self.form.keeping(fits)
        });
        let reading =
            kept.as_ref().and_then(|form| ParsedForm::new(self.page_request, current, form));
        match reading.filter(|_| is_other && current.is_accepting(self.hosted.engine.now())) {
            Some(reading) => {
                let step = Step::first_open(reading.definition(), &reading.answers);
                let notice = Words::for_language(reading.wording.locale()).notice.changed;
                let (steps, furthest) =
                    visits::opened(reading.definition(), &reading.answers, step);
                if !self.page_request.is_scripted {
                    self.page_request.flow.count_steps(current, &steps);
                }
                let (kind, errors) = (Kind::Unfinished, BTreeMap::new());
                self.shown_at(&reading, step, kind, Some(notice.to_owned()), errors, furthest)
            }
            None => self.page_request.bare_frame().missing(),
        }
    }

    /// The form again, as it was filled in.
    fn shown<'v>(
        &'v self,
        reading: &'v ParsedForm<'v>,
        step: Step,
        kind: Kind,
        notice: Option<String>,
        errors: BTreeMap<&'v str, String>,
    ) -> Response {
        let furthest = self.form.get("furthest").map(str::to_owned);
        self.shown_at(reading, step, kind, notice, errors, furthest)
    }

    fn shown_at<'v>(
        &'v self,
        reading: &'v ParsedForm<'v>,
        step: Step,
        kind: Kind,
        notice: Option<String>,
        errors: BTreeMap<&'v str, String>,
        furthest: Option<String>,
    ) -> Response {
        let view = FormView {
            frame: self.page_request.frame(&reading.wording),
            version: reading.version,
            wording: reading.wording,
            form: reading.form,
            answers: &reading.answers,
            step,
            page: step.questions(reading.definition(), &reading.answers),
            extent: if self.page_request.is_scripted { Extent::All } else { Extent::One },
            key: self.form.key().unwrap_or_else(|| self.page_request.flow.new_form_key()),
            referrer: self.form.get("referrer").map(str::to_owned),
            errors,
            notice,
            opened: None,
            visits: visits::address(self.page_request),
            furthest,
            asks_to_link: self.page_request.asks_to_link(reading.definition()),
        };
        view.page(kind)
    }
}
