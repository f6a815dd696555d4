//! Counts visits to hosted pages, anonymously: which questions people see, and where they leave.
//!
//! The script reports the steps of a visit ([`report`]). A GET of the page counts nothing, because
//! mail scanners and link previews follow links; a browser without script requests an image that
//! only such a browser shows ([`shown_without_script`]), and sends every step as a form
//! ([`moved_on`]). There, the form carries the furthest question, so that going back counts nothing
//! twice. No cookie is set and nothing is kept in the browser.

use axum::body::Body;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use sluice_engine::VisitRefused;
use sluice_flow::definition::Definition;
use sluice_flow::submission::TextMap;
use sluice_flow::visit::{BODY_BYTES_MAX, Visit as Steps, VisitStep};
use sluice_http::body::{self, BodyError};
use sluice_http::rate::Sender;
use sluice_http::reply::Refusal;
use sluice_http::{Limits, query, store_down};

use super::Hosted;
use super::page_request::{PageRequest, UNREAD};
use super::reply;
use super::steps::Step;

/// The headers by which browsers mark requests for pages that nobody looks at yet.
const PREFETCH: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

/// Whether the page is only fetched ahead, or previewed.
fn is_prefetch(headers: &HeaderMap) -> bool {
    let is_ahead = |value: &str| {
        let value = value.to_ascii_lowercase();
        ["prefetch", "prerender", "preview"].iter().any(|word| value.contains(word))
    };
    PREFETCH.iter().any(|name| {
        let values = headers.get_all(HeaderName::from_static(name));
        values.iter().any(|value| value.to_str().is_ok_and(is_ahead))
    })
}

/// The address for the script, and of the image for browsers without one.
pub(super) fn address(page_request: &PageRequest) -> Option<String> {
    let is_counted = page_request.preview.is_none();
    is_counted.then(|| format!("/f/{}/visit", page_request.flow.flow_id))
}

/// Steps that the script reports.
pub(super) async fn report(
    hosted: &Hosted,
    page_request: &PageRequest,
    sender: Sender,
    body: Body,
) -> Response {
    let body_bytes_max = hosted.limits.body_bytes_max.min(BODY_BYTES_MAX);
    let limits = Limits { body_bytes_max, ..hosted.limits };
    let body = match body::read_from(sender, &page_request.headers, body, &limits).await {
        Ok(body) => body,
        Err(BodyError::TooLarge) => return Refusal::VisitTooLarge.reply(),
        Err(BodyError::TooSlow | BodyError::Broken) => return Refusal::VisitUnread.reply(),
        Err(BodyError::NoMemory) => return Refusal::TimedOut.reply(),
    };
    let admitted = hosted.addresses.admit_bytes(&hosted.engine, sender, body.len() as u64);
    if let Err(limited) = admitted {
        return Refusal::RateLimited(limited).reply();
    }
    let steps = match Steps::parse(&body) {
        Ok(steps) => steps,
        Err(fault) => return Refusal::VisitInvalid(fault).reply(),
    };
    match page_request.flow.count_visit(&steps).await {
        Ok(Ok(())) => reply::no_content(),
        Ok(Err(VisitRefused::VersionNotFound)) => Refusal::FlowVersionNotFound.reply(),
        Ok(Err(VisitRefused::Fault(fault))) => Refusal::VisitInvalid(fault).reply(),
        Err(error) => {
            store_down(&error, UNREAD);
            Refusal::StoreDown.reply()
        }
    }
}

/// A browser without script shows the first page of the form.
pub(super) async fn shown_without_script(page_request: &PageRequest, head: &Parts) -> Response {
    if head.method != Method::GET || is_prefetch(&head.headers) {
        return reply::no_content();
    }
    let version = query::first(head.uri.query(), "version").unwrap_or_default();
    match page_request.flow.version(&version).await {
        Ok(Some(version)) => {
            if let Some(definition) = PageRequest::definition(&version) {
                let answers = TextMap::default();
                let (steps, _) = opened(definition, &answers, Step::first(definition, &answers));
                page_request.flow.count_steps(&version, &steps);
            }
        }
        Ok(None) => {}
        Err(error) => store_down(&error, UNREAD),
    }
    reply::no_content()
}

/// The steps of a browser without script that opens a form, and the furthest question. With answers
/// from another version it may open at a later step; what is before it counts as passed.
pub(super) fn opened(
    definition: &Definition,
    answers: &TextMap<'_>,
    at: Step,
) -> (Vec<VisitStep>, Option<String>) {
    let end = match at {
        Step::Welcome => 0,
        Step::Question(_) => at.questions(definition, answers).last().map_or(0, |last| last + 1),
        Step::End => definition.questions().len(),
    };
    let (until, route) = (&definition.questions()[..end], definition.route(answers));
    let asked = until.iter().enumerate().filter(|(at, _)| route.is_visible(*at));
    let asked: Vec<_> = asked.map(|(_, question)| question).collect();
    let mut steps = vec![VisitStep::Opened];
    if asked.len() > 1 {
        steps.push(VisitStep::Started);
    }
    for (number, question) in asked.iter().enumerate() {
        steps.push(VisitStep::Seen(question.id.clone()));
        if number + 1 < asked.len() {
            steps.push(VisitStep::Passed(question.id.clone()));
        }
    }
    let furthest = asked.last().filter(|_| asked.len() > 1).map(|question| question.id.clone());
    (steps, furthest)
}

/// Where a visitor without script moves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Onward {
    To(Step),
    /// The answers are stored.
    Finished {
        seconds: u32,
    },
}

/// The steps of a visitor without script who moves on, and the furthest question after it.
/// `furthest` is what the form carried: nothing before the first step. Of a page with several
/// questions, all but the last are passed when it is shown, as the script counts them.
pub(super) fn moved_on(
    definition: &Definition,
    answers: &TextMap<'_>,
    from: Step,
    furthest: Option<&str>,
    onward: Onward,
) -> (Vec<VisitStep>, Option<String>) {
    let questions = definition.questions();
    let on_page = || from.questions(definition, answers).last().map(|&at| &questions[at]);
    let known = furthest.and_then(|id| definition.question(id)).or_else(on_page);
    let mut steps = Vec::new();
    if furthest.is_none() {
        steps.push(VisitStep::Started);
    }
    let position = |id: &str| questions.iter().position(|question| question.id == id);
    let reached = known.and_then(|question| position(&question.id));
    let passed = known.map(|question| VisitStep::Passed(question.id.clone()));
    match onward {
        Onward::To(next) if next.questions(definition, answers).last().copied() > reached => {
            let page = next.questions(definition, answers).into_iter();
            let new = page.filter(|&at| reached.is_none_or(|reached| at > reached));
            let mut last = known.map(|question| question.id.clone());
            for at in new {
                steps.extend(last.map(VisitStep::Passed));
                steps.push(VisitStep::Seen(questions[at].id.clone()));
                last = Some(questions[at].id.clone());
            }
            (steps, last)
        }
        // Back among questions that were seen, or to the page that only sends.
        Onward::To(_) => (steps, known.map(|question| question.id.clone())),
        Onward::Finished { seconds } => {
            steps.extend(passed);
            steps.push(VisitStep::Finished { seconds: Some(seconds) });
            (steps, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_flow::definition;

    use super::*;

    fn survey(ids: &[&str]) -> Definition {
        let question = |id: &&str| json!({"id": id, "type": "nps", "prompt": "?"});
        let questions: Vec<_> = ids.iter().map(question).collect();
        definition::check(&json!({"title": "t", "questions": questions})).unwrap()
    }

    #[track_caller]
    fn check(furthest: Option<&str>, onward: Onward, steps: &[VisitStep], after: Option<&str>) {
        let (survey, none) = (survey(&["a", "b", "c"]), TextMap::default());
        let first = Step::first(&survey, &none);
        let found = moved_on(&survey, &none, first, furthest, onward);
        assert_eq!((found.0.as_slice(), found.1.as_deref()), (steps, after));
    }

    #[test]
    fn each_step_counts_once_however_often_someone_goes_back() {
        use VisitStep::{Passed, Seen, Started};
        let (to, id) = (|at| Onward::To(Step::Question(at)), str::to_owned);
        check(None, to(1), &[Started, Passed(id("a")), Seen(id("b"))], Some("b"));
        check(Some("b"), to(2), &[Passed(id("b")), Seen(id("c"))], Some("c"));
        check(Some("c"), to(1), &[], Some("c"));
        check(Some("c"), to(2), &[], Some("c"));
        // A question that is skipped is neither seen nor passed.
        check(None, to(2), &[Started, Passed(id("a")), Seen(id("c"))], Some("c"));
        // A visitor who is only asked to send has not passed the last question before it is stored.
        check(Some("c"), Onward::To(Step::End), &[], Some("c"));
        check(None, Onward::To(Step::End), &[Started], Some("a"));
        // A question that this version does not have.
        check(Some("x"), to(1), &[Passed(id("a")), Seen(id("b"))], Some("b"));
    }

    #[test]
    fn a_form_that_opens_at_a_later_question_has_passed_those_before() {
        use VisitStep::{Opened, Passed, Seen, Started};
        let (survey, none, id) = (survey(&["a", "b"]), TextMap::default(), str::to_owned);
        let first = opened(&survey, &none, Step::Question(0));
        assert_eq!(first, (vec![Opened, Seen(id("a"))], None));
        let both = vec![Opened, Started, Seen(id("a")), Passed(id("a")), Seen(id("b"))];
        for later in [Step::Question(1), Step::End] {
            assert_eq!(opened(&survey, &none, later), (both.clone(), Some(id("b"))));
        }
    }

    #[test]
    fn finishing_passes_the_furthest_question() {
        use VisitStep::{Finished, Passed, Started};
        let (onward, finished) = (Onward::Finished { seconds: 9 }, Finished { seconds: Some(9) });
        check(Some("c"), onward, &[Passed("c".into()), finished.clone()], None);
        check(None, onward, &[Started, Passed("a".into()), finished.clone()], None);
        let none = moved_on(&survey(&[]), &TextMap::default(), Step::End, None, onward);
        assert_eq!(none.0, [Started, finished]);
    }

    #[test]
    fn a_page_that_is_fetched_ahead_is_recognised() {
        for (name, value, expected) in [
            ("sec-purpose", "prefetch", true),
            ("sec-purpose", "prefetch;prerender", true),
            ("purpose", "Prefetch", true),
            ("x-purpose", "preview", true),
            ("x-moz", "prefetch", true),
            ("sec-purpose", "", false),
            ("sec-fetch-dest", "prefetch", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(is_prefetch(&headers), expected, "{name}: {value}");
        }
    }
}
