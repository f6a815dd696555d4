//! What is kept back of a submission whose respondent did not agree to be known.
//!
//! Identities have fields of their own, and are dropped whole elsewhere. But the address of a page may bear them as
//! well: a personal link has the invitation's id, a hosted page takes `identities.userId=…`, and either may come
//! back as the referrer of the next page. So texts that a browser fills in, and tags, are looked through, and
//! what leads to a person is cut out of them: the values of parameters that name somebody, ids of invitations by
//! their form, and whatever this submission or its token says of who sent it.
//!
//! Deliberately absent: the answers. They are what the respondent chose to say.

use std::borrow::Cow;

use super::{EMAIL, Identity, Submission, Texts, USER_ID};
use crate::id::AssignmentId;
use crate::identity::Claims;

/// Context and tags of a stored response without what leads to its respondent, who is named by the
/// identities stored with it: for a response that is kept when its respondent is erased.
pub fn without_respondent(
    identities: Option<&str>,
    tags: Option<&str>,
    context: Option<&str>,
) -> (Option<String>, Option<String>) {
    // Read as it came in, so that the rules are the same.
    let sent = format!(
        r#"{{"flowVersionId":"","flowVersionPayloadGeneration":"4","respondentAnalyticsAdmission":
        "collection_only","identities":{},"metadata":{{"tags":{}}},"context":{}}}"#,
        identities.unwrap_or("[]"),
        tags.unwrap_or("{}"),
        context.unwrap_or("{}"),
    );
    match super::parse(sent.as_bytes()) {
        Ok(mut submission) => {
            submission.withhold(None);
            (submission.tags_json(), submission.context_json())
        }
        // What breaks the rules of today cannot be looked through, so nothing of it stays.
        Err(_) => (None, None),
    }
}

/// Parameters of a page's address whose values name somebody.
const IDENTITIES: &str = "identities.";
const ASSIGNMENT: &str = "flowAssignmentId";
/// A shorter name is cut only where it stands alone in an address: `7` is also a number of seats.
const NAME_BYTES_MIN: usize = 4;
/// How often an address may be escaped within another one.
const ESCAPES_MAX: usize = 3;

impl Submission<'_> {
    /// Takes out of context and tags what leads to the respondent.
    pub fn withhold(&mut self, claims: Option<&Claims>) {
        // Set aside, so that they can be read while the rest is changed.
        let identities = std::mem::take(&mut self.identities);
        let names = Names { identities: &identities, claims };
        if let Some(page) = &mut self.context.page {
            for text in [&mut page.path, &mut page.referrer, &mut page.search] {
                names.cut_from(text.as_mut());
            }
        }
        names.cut_from(self.context.user_agent.as_mut());
        for texts in self.tags.values_mut() {
            match texts {
                Texts::One(text) => names.cut_from_tag(text),
                Texts::Many(texts) => texts.iter_mut().for_each(|text| names.cut_from_tag(text)),
            }
        }
        // An id of an invitation alone is looked up, and is the engine's to keep or drop.
        if let Some(id) = &mut self.flow_assignment_id
            && id.parse::<AssignmentId>().is_err()
        {
            names.cut_from_tag(id);
        }
        self.identities = identities;
    }
}

/// What this respondent is known by.
struct Names<'n> {
    identities: &'n [Identity<'n>],
    claims: Option<&'n Claims>,
}

impl Names<'_> {
    fn user_ids(&self) -> impl Iterator<Item = &str> {
        let proven = self.claims.map(|claims| claims.user_id.as_str());
        self.sent(USER_ID).chain(proven)
    }

    fn emails(&self) -> impl Iterator<Item = &str> {
        let proven = self.claims.and_then(|claims| claims.email.as_deref());
        self.sent(EMAIL).chain(proven)
    }

    fn sent(&self, kind: &'static str) -> impl Iterator<Item = &str> {
        self.identities.iter().filter(move |it| it.kind == kind).map(|it| it.value.as_ref())
    }

    fn cut_from(&self, text: Option<&mut Cow<'_, str>>) {
        if let Some(text) = text
            && self.may_be_in(text)
        {
            *text = Cow::Owned(self.without(text, ESCAPES_MAX, 1));
        }
    }

    fn cut_from_tag(&self, text: &mut Cow<'_, str>) {
        if self.may_be_in(text) {
            *text = Cow::Owned(self.without(text, ESCAPES_MAX, NAME_BYTES_MIN));
        }
    }

    /// Whether it is worth looking closer; nearly never. Every text of every such submission comes here.
    fn may_be_in(&self, text: &str) -> bool {
        let told = text.bytes().fold(0, |told, byte| told | TELLING[usize::from(byte)]);
        told & ESCAPE != 0
            || told & AT != 0 && self.emails().next().is_some()
            || told & UNDERSCORE != 0 && text.contains(AssignmentId::PREFIX)
            || told & EQUALS != 0 && (text.contains(IDENTITIES) || text.contains(ASSIGNMENT))
            || self.user_ids().any(|id| is_in(text, id))
    }

    /// An address without what names somebody. It is taken apart at its own marks, so that a short id is
    /// found where it stands alone, if it has at least so many bytes.
    fn without(&self, text: &str, escapes: usize, least: usize) -> String {
        // Before it is taken apart: an id may hold a mark.
        let text = self.without_names(text);
        let mut out = String::with_capacity(text.len());
        let mut is_value_of_name = false;
        for piece in text.split_inclusive(['/', '?', '&', '=', '#', ';', ',', ' ']) {
            let word = piece.trim_end_matches(['/', '?', '&', '=', '#', ';', ',', ' ']);
            let mark = &piece[word.len()..];
            let ends_value = matches!(mark, "&" | "#");
            if !is_value_of_name {
                out.push_str(&self.word(word, escapes, least));
            }
            if !is_value_of_name || ends_value {
                out.push_str(mark);
            }
            let begins_value = mark == "=" && names_somebody(word);
            is_value_of_name = begins_value || is_value_of_name && !ends_value;
        }
        out
    }

    fn word(&self, word: &str, escapes: usize, least: usize) -> String {
        let plain = unescaped(word);
        let names_somebody = plain.len() >= least && self.names_whole(&plain);
        // What is escaped within is not worth escaping anew.
        let holds_a_name =
            || plain != word && escapes > 0 && self.without(&plain, escapes - 1, least) != plain;
        if names_somebody || holds_a_name() { String::new() } else { without_invitations(word) }
    }

    fn names_whole(&self, text: &str) -> bool {
        self.user_ids().any(|id| id == text)
            || self.emails().any(|email| email.eq_ignore_ascii_case(text))
    }

    fn without_names(&self, text: &str) -> String {
        let long = |name: &&str| name.len() >= NAME_BYTES_MIN;
        let mut text = text.to_owned();
        for id in self.user_ids().filter(long) {
            while text.contains(id) {
                text = text.replace(id, "");
            }
        }
        for email in self.emails().filter(long).map(str::to_ascii_lowercase) {
            while let Some(at) = text.to_ascii_lowercase().find(&email) {
                text.replace_range(at..at + email.len(), "");
            }
        }
        text
    }
}

const ESCAPE: u8 = 1;
const AT: u8 = 2;
const UNDERSCORE: u8 = 4;
const EQUALS: u8 = 8;

/// Characters that stand in every text in which somebody may be named, but for a bare user id. By a table a byte costs three
/// instructions; by comparisons it was thirty.
const TELLING: [u8; 256] = {
    let mut telling = [0; 256];
    telling[b'%' as usize] = ESCAPE;
    telling[b'+' as usize] = ESCAPE;
    telling[b'@' as usize] = AT;
    telling[b'_' as usize] = UNDERSCORE;
    telling[b'=' as usize] = EQUALS;
    telling
};

/// The plain way: preparing a cleverer search costs more than these short texts do.
fn is_in(text: &str, id: &str) -> bool {
    let (text, id) = (text.as_bytes(), id.as_bytes());
    let Some(first) = id.first() else { return false };
    text.windows(id.len()).any(|part| part[0] == *first && part == id)
}

/// Whether a parameter of this name says who somebody is.
fn names_somebody(name: &str) -> bool {
    let name = unescaped(name);
    name == ASSIGNMENT || name.starts_with(IDENTITIES)
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    // `=` and `&` part a pair from the next; here they are text like any other.
    let text = text.replace('=', "%3D").replace('&', "%26");
    let pair = url::form_urlencoded::parse(text.as_bytes()).next();
    pair.map_or(Cow::Borrowed(""), |(text, _)| Cow::Owned(text.into_owned()))
}

/// Leaves the prefix of every text that has the form of an invitation's id.
fn without_invitations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(AssignmentId::PREFIX) {
        let (before, after) = rest.split_at(at + AssignmentId::PREFIX.len());
        out.push_str(before);
        let is_digit = |byte: &u8| byte.is_ascii_alphanumeric();
        let digits = after.bytes().take(crate::id::DIGITS).take_while(is_digit).count();
        rest = if digits == crate::id::DIGITS { &after[digits..] } else { after };
    }
    out.push_str(rest);
    out
}
