//! Removes identifying data from a submission if the respondent did not agree to be linked.
//!
//! Identities have separate fields, which are dropped elsewhere. But the address of a page may
//! contain them as well: a personal link has the invitation's id, a hosted page takes
//! `identities.userId=…`, and either may reappear as the referrer of the next page. So texts filled
//! in by a browser, and tags, are searched, and everything that leads to a person is cut out:
//! values of identifying parameters, texts with the format of invitation ids, and every identity in
//! this submission or its token. Letter case is ignored. A tag with such a value in its name, or a
//! locale with one, is dropped.
//!
//! Deliberately absent: the answers. They are what the respondent chose to say.

mod search;

use std::borrow::Cow;
use std::cell::OnceCell;

use search::Search;

use super::parts::{Context, Identity, Submission};
use super::stored::{context_json, stored_texts, tags_json};
use crate::id::AssignmentId;
use crate::identity::Claims;
use crate::respondent::ProfileIdentity;
use crate::text_map::{TextMap, Texts};

/// Tags and context of a stored response that is kept when its respondent is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlinked {
    pub tags: Option<String>,
    pub context: Option<String>,
    /// Columns that could not be read and were dropped, with what depends on them.
    pub unreadable: Vec<&'static str>,
}

/// Removes everything from stored tags and context that leads to the respondent, according to the
/// identities stored with them and those of the profile. What cannot be read cannot be searched, so
/// it is removed entirely.
pub fn without_respondent(
    identities: Option<&str>,
    profile: &[ProfileIdentity],
    tags: Option<&str>,
    context: Option<&str>,
) -> Unlinked {
    let mut unreadable = Vec::new();
    let mut dropped = |column| unreadable.push(column);
    let mut identities: Option<Vec<Identity<'_>>> = match identities.map(serde_json::from_str) {
        None => Some(Vec::new()),
        Some(Ok(identities)) => Some(identities),
        Some(Err(_)) => {
            dropped("identities");
            None
        }
    };
    let mut tags = tags.map_or_else(TextMap::default, |json| {
        stored_texts(json).unwrap_or_else(|| {
            dropped("tags");
            TextMap::default()
        })
    });
    let mut context = context.map_or_else(Context::default, |json| {
        serde_json::from_str(json).unwrap_or_else(|_| {
            dropped("context");
            Context::default()
        })
    });
    let of_profile = profile.iter().map(|known| Identity {
        kind: known.kind.as_str().into(),
        value: known.value.as_str().into(),
    });
    match &mut identities {
        Some(identities) => {
            identities.extend(of_profile);
            Names::new(identities, None).cut_from_all(&mut context, &mut tags);
        }
        // Without the identities nothing can be found.
        None => (context, tags) = Default::default(),
    }
    Unlinked { tags: tags_json(&tags), context: context_json(&context), unreadable }
}

/// Prefix of parameters in a page's address with identifying values.
const IDENTITIES: &str = "identities.";
const ASSIGNMENT: &str = "flowAssignmentId";
/// How often a text may be percent-encoded: an address within an address within another one.
const ESCAPES_MAX: usize = 4;

impl Submission<'_> {
    /// Removes everything from context and tags that leads to the respondent.
    pub fn withhold(&mut self, claims: Option<&Claims>) {
        let names = Names::new(&self.identities, claims);
        names.cut_from_all(&mut self.context, &mut self.tags);
        // A bare invitation id is looked up by the engine, which keeps or drops it.
        if let Some(id) = &mut self.flow_assignment_id
            && id.parse::<AssignmentId>().is_err()
        {
            names.cut_from(id);
        }
    }
}

/// The values of all identities of this respondent, whatever their type.
struct Names<'n> {
    identities: &'n [Identity<'n>],
    claims: Option<&'n Claims>,
    /// Built when the first text needs it.
    search: OnceCell<Search>,
    are_ascii: bool,
    /// The length in bytes of the shortest name, and of the shortest without `@`.
    shortest: usize,
    shortest_without_at: usize,
}

impl<'n> Names<'n> {
    fn new(identities: &'n [Identity<'n>], claims: Option<&'n Claims>) -> Self {
        let search = OnceCell::new();
        let longest = usize::MAX;
        let mut names = Self {
            identities,
            claims,
            search,
            are_ascii: true,
            shortest: longest,
            shortest_without_at: longest,
        };
        let (mut are_ascii, mut shortest, mut without_at) = (true, longest, longest);
        for name in names.all() {
            are_ascii &= name.is_ascii();
            shortest = shortest.min(name.len());
            without_at = without_at.min(if name.contains('@') { longest } else { name.len() });
        }
        names.are_ascii = are_ascii;
        names.shortest = shortest;
        names.shortest_without_at = without_at;
        names
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        let sent = self.identities.iter().map(|identity| identity.value.as_ref());
        let proven = self.claims.into_iter().flat_map(|claims| {
            std::iter::once(claims.user_id.as_str()).chain(claims.email.as_deref())
        });
        sent.chain(proven).filter(|name| !name.is_empty())
    }

    fn cut_from_all(&self, context: &mut Context<'_>, tags: &mut TextMap<'_>) {
        if let Some(page) = &mut context.page {
            let texts = [&mut page.path, &mut page.referrer, &mut page.search];
            texts.into_iter().flatten().for_each(|text| self.cut_from(text));
        }
        if let Some(text) = &mut context.user_agent {
            self.cut_from(text);
        }
        // A part of a language tag is useless, and a part of a tag's name may be another tag's
        // name.
        if context.locale.as_deref().is_some_and(|locale| self.is_named_in(locale)) {
            context.locale = None;
        }
        tags.retain(|name| !self.is_named_in(name));
        for (_, texts) in tags.iter_mut() {
            match texts {
                Texts::One(text) => self.cut_from(text),
                Texts::Many(texts) => texts.iter_mut().for_each(|text| self.cut_from(text)),
            }
        }
    }

    fn cut_from(&self, text: &mut Cow<'_, str>) {
        if self.may_be_in(text) {
            *text = Cow::Owned(self.without(text, ESCAPES_MAX));
        }
    }

    fn is_named_in(&self, text: &str) -> bool {
        self.may_be_in(text) && self.without(text, ESCAPES_MAX) != text
    }

    /// A quick test whether a text needs a search; nearly always false. It runs for every text of
    /// every such submission.
    fn may_be_in(&self, text: &str) -> bool {
        let found = text.bytes().fold(0, |found, byte| found | TELLING[usize::from(byte)]);
        found & ESCAPE != 0
            || found & UNDERSCORE != 0 && text.contains(AssignmentId::PREFIX)
            || found & EQUALS != 0 && (text.contains(IDENTITIES) || text.contains(ASSIGNMENT))
            || self.shortest < usize::MAX && (found & NOT_ASCII != 0 || !self.are_ascii)
            || self.may_be_spelt_in(text, found & AT != 0)
    }

    /// Whether a name may be in an ASCII text as it is spelt. A name with `@` needs one in the
    /// text.
    fn may_be_spelt_in(&self, text: &str, has_at: bool) -> bool {
        let shortest = if has_at { self.shortest } else { self.shortest_without_at };
        text.len() >= shortest
            && self.all().any(|name| {
                (has_at || !name.contains('@')) && search::may_contain(text, name, text.len())
            })
    }

    /// A text without identifying parts. It is split at URL delimiters, so that parameters are
    /// found, and percent-encoded parts are searched in decoded form.
    fn without(&self, text: &str, escapes: usize) -> String {
        // Before splitting: an id may contain a delimiter.
        let text = self.search.get_or_init(|| Search::new(self.all())).cut_from(text);
        let mut out = String::with_capacity(text.len());
        let mut is_value_of_name = false;
        for piece in text.split_inclusive(['/', '?', '&', '=', '#', ';', ',', ' ']) {
            let word = piece.trim_end_matches(['/', '?', '&', '=', '#', ';', ',', ' ']);
            let mark = &piece[word.len()..];
            let ends_value = matches!(mark, "&" | "#");
            if !is_value_of_name {
                out.push_str(&self.clean_word(word, escapes));
            }
            if !is_value_of_name || ends_value {
                out.push_str(mark);
            }
            let begins_value = mark == "=" && names_identity(word);
            is_value_of_name = begins_value || is_value_of_name && !ends_value;
        }
        out
    }

    fn clean_word(&self, word: &str, escapes: usize) -> String {
        let plain = unescaped(word);
        let holds_a_name =
            plain != word && escapes > 0 && self.without(&plain, escapes - 1) != plain;
        // The rest of an encoded word is not worth encoding again.
        if holds_a_name { String::new() } else { without_invitations(word) }
    }
}

const ESCAPE: u8 = 1;
const AT: u8 = 2;
const UNDERSCORE: u8 = 4;
const EQUALS: u8 = 8;
const NOT_ASCII: u8 = 16;

/// Characters of which every text that may identify a person contains one, except for a bare user
/// id. With a table a byte costs three instructions; comparisons took thirty.
const TELLING: [u8; 256] = {
    let mut telling = [0; 256];
    telling[b'%' as usize] = ESCAPE;
    telling[b'+' as usize] = ESCAPE;
    telling[b'@' as usize] = AT;
    telling[b'_' as usize] = UNDERSCORE;
    telling[b'=' as usize] = EQUALS;
    let mut byte = 0x80;
    while byte < telling.len() {
        telling[byte] = NOT_ASCII;
        byte += 1;
    }
    telling
};

/// Whether a parameter with this name identifies a person.
fn names_identity(name: &str) -> bool {
    let name = unescaped(name);
    name == ASSIGNMENT || name.starts_with(IDENTITIES)
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    // `=` and `&` are pair delimiters; here they are plain text.
    let text = text.replace('=', "%3D").replace('&', "%26");
    let pair = url::form_urlencoded::parse(text.as_bytes()).next();
    pair.map_or(Cow::Borrowed(""), |(text, _)| Cow::Owned(text.into_owned()))
}

/// Reduces every invitation id in a text to its prefix.
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
