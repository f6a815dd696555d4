//! What the page and the browser report about themselves.
//!
//! A browser fills these in, not the respondent, so nothing here is ever refused: a text is cut or
//! repaired, and what cannot be used is dropped.

use std::borrow::Cow;

use super::parts::{Context, Page};
use super::tree::{Node, Object};
use crate::locale;

/// Where the fields of the page are cut, in characters.
pub(super) const PAGE_CHARS_MAX: usize = 2048;
/// Where the user agent is cut, in characters.
pub(super) const USER_AGENT_CHARS_MAX: usize = 512;

pub(super) fn read<'a>(node: Option<Node<'a>>) -> Context<'a> {
    let Some(Node::Object(mut fields)) = node else { return Context::default() };
    let page = match fields.take("page") {
        Some(Node::Object(fields)) => Some(page(fields)).filter(|page| *page != Page::default()),
        _ => None,
    };
    Context {
        locale: text(&mut fields, "locale").and_then(repaired_locale),
        page,
        user_agent: text(&mut fields, "userAgent").map(|text| cut(text, USER_AGENT_CHARS_MAX)),
    }
}

fn page<'a>(mut fields: Object<'a>) -> Page<'a> {
    let mut field = |name| text(&mut fields, name);
    let (path, referrer) = (field("path"), field("referrer"));
    let search = field("search").map(|search| match search.as_bytes().first() {
        None | Some(b'?') => search,
        Some(_) => Cow::Owned(format!("?{search}")),
    });
    let cut = |text| cut(text, PAGE_CHARS_MAX);
    Page { path: path.map(cut), referrer: referrer.map(cut), search: search.map(cut) }
}

fn repaired_locale(sent: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let tag = locale::repaired(&sent)?;
    Some(if tag == sent { sent } else { Cow::Owned(tag) })
}

/// The text of a field without NUL characters, which PostgreSQL cannot store.
fn text<'a>(fields: &mut Object<'a>, name: &str) -> Option<Cow<'a, str>> {
    match fields.take(name)? {
        Node::Text(text) if text.contains('\0') => Some(Cow::Owned(text.replace('\0', ""))),
        Node::Text(text) => Some(text),
        _ => None,
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
