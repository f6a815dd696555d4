//! What the page and the browser say about themselves.
//!
//! A browser fills these in, not the respondent, so a text that is too long is cut and never costs
//! an answer. Only what a client's code gets wrong is refused: a wrong type, a `search` without its
//! question mark, a locale that is none.

use std::borrow::Cow;

use super::report::{At, Part, Report};
use super::rules::has_no_nul;
use super::tree::{Node, Object};
use super::{Context, Page};
use crate::issue::Code;
use crate::locale;

/// Where the fields of the page are cut, in characters.
pub(super) const PAGE_CHARS_MAX: usize = 2048;
/// Where the user agent is cut, in characters.
pub(super) const USER_AGENT_CHARS_MAX: usize = 512;

pub(super) fn check<'a>(node: Option<Node<'a>>, report: &mut Report) -> Context<'a> {
    let at = At::Whole.field("context");
    let Some(mut fields) = object(node, at, report) else { return Context::default() };
    Context {
        locale: locale(&mut fields, at, report),
        page: object(fields.take("page"), at.field("page"), report)
            .map(|fields| page(fields, at.field("page"), report))
            .filter(|page| *page != Page::default()),
        user_agent: cut_text(&mut fields, "userAgent", USER_AGENT_CHARS_MAX, at, report),
    }
}

fn page<'a>(mut fields: Object<'a>, at: At<'_>, report: &mut Report) -> Page<'a> {
    let mut field = |name, report: &mut _| cut_text(&mut fields, name, PAGE_CHARS_MAX, at, report);
    let path = field("path", report);
    let referrer = field("referrer", report);
    let search = field("search", report);
    if search.as_deref().is_some_and(|search| !search.is_empty() && !search.starts_with('?')) {
        let what = "does not start with ?; it must be empty or a query string such as ?a=b.";
        report.add(Code::InvalidValue, at.field("search"), what);
    }
    Page { path, referrer, search }
}

fn locale<'a>(fields: &mut Object<'a>, at: At<'_>, report: &mut Report) -> Option<Cow<'a, str>> {
    let at = at.field("locale");
    let sent = match fields.take("locale")? {
        Node::Text(sent) => sent,
        other => {
            report.wrong_type(at, &other, "a string");
            return None;
        }
    };
    match locale::canonical(&sent) {
        Some(canonical) if canonical == sent => Some(sent),
        Some(canonical) => Some(Cow::Owned(canonical)),
        None => {
            let what = format_args!(
                "is \"{}\"; it must be a BCP 47 language tag such as en or de-AT.",
                Part(&sent)
            );
            report.add(Code::InvalidValue, at, what);
            None
        }
    }
}

fn object<'a>(node: Option<Node<'a>>, at: At<'_>, report: &mut Report) -> Option<Object<'a>> {
    match node? {
        Node::Object(object) => Some(object),
        other => {
            report.wrong_type(at, &other, "an object");
            None
        }
    }
}

/// The text of a field, cut; a NUL beyond the cut is not stored and so not refused.
fn cut_text<'a>(
    fields: &mut Object<'a>,
    name: &str,
    chars_max: usize,
    parent: At<'_>,
    report: &mut Report,
) -> Option<Cow<'a, str>> {
    let at = parent.field(name);
    match fields.take(name)? {
        Node::Text(text) => {
            let text = cut(text, chars_max);
            has_no_nul(&text, at, report).then_some(text)
        }
        other => {
            report.wrong_type(at, &other, "a string");
            None
        }
    }
}

fn cut(text: Cow<'_, str>, chars_max: usize) -> Cow<'_, str> {
    if text.len() <= chars_max {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}
