//! Context reported by the page and the browser.
//!
//! A browser fills these fields in, not the respondent, so nothing here is ever refused: a text is
//! cut or repaired, and unusable values are dropped.

use std::borrow::Cow;

use super::node::{Node, Object};
use super::parts::{Context, Page};
use crate::locale;

/// The most characters of each page field; longer texts are cut.
pub(super) const PAGE_CHARS_MAX: usize = 2048;
/// The most characters of the user agent; longer texts are cut.
pub(super) const USER_AGENT_CHARS_MAX: usize = 512;

/// Reads the context from JSON, and repairs it.
pub(super) fn read<'a>(node: Option<Node<'a>>) -> Context<'a> {
    let Some(Node::Object(mut fields)) = node else { return Context::default() };
    let page = match fields.take("page") {
        Some(Node::Object(mut fields)) => {
            let mut field = |name| text(&mut fields, name);
            Some(Page { path: field("path"), referrer: field("referrer"), search: field("search") })
        }
        _ => None,
    };
    let (locale, user_agent) = (text(&mut fields, "locale"), text(&mut fields, "userAgent"));
    repaired(Context { locale, page, user_agent })
}

/// The same context, repaired for storage.
pub(super) fn repaired(context: Context<'_>) -> Context<'_> {
    let user_agent = context.user_agent.map(without_nul);
    Context {
        locale: context.locale.map(without_nul).and_then(repaired_locale),
        page: context.page.map(repaired_page).filter(|page| *page != Page::default()),
        user_agent: user_agent.map(|text| cut(text, USER_AGENT_CHARS_MAX)),
    }
}

fn repaired_page(page: Page<'_>) -> Page<'_> {
    let search = page.search.map(without_nul).map(|search| match search.as_bytes().first() {
        None | Some(b'?') => search,
        Some(_) => Cow::Owned(format!("?{search}")),
    });
    let cut = |text| cut(text, PAGE_CHARS_MAX);
    Page {
        path: page.path.map(without_nul).map(cut),
        referrer: page.referrer.map(without_nul).map(cut),
        search: search.map(cut),
    }
}

fn repaired_locale(sent: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let tag = locale::repaired(&sent)?;
    Some(if tag == sent { sent } else { Cow::Owned(tag) })
}

/// The value of a field, if it is a text.
fn text<'a>(fields: &mut Object<'a>, name: &str) -> Option<Cow<'a, str>> {
    match fields.take(name)? {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

/// The text without NUL characters, which PostgreSQL cannot store.
fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { text }
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
