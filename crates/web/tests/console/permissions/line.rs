//! One line of the table: a request, and the outcome for each kind of visitor.
//!
//! A row has one letter for each visitor in [`EVERYONE`], in that order:
//!
//! - `+` success: a page, a file, or a redirect to the address in the line
//! - `s` redirected to the sign-in page
//! - `x` forbidden (403)
//! - `0` not found (404)
//! - `?` the request is invalid for this visitor (422)

use sluice_engine::rows::{Role, Scope};

/// Where a visitor has permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the app of the request.
    Own,
    /// In another app.
    Other,
    /// In all apps, and in the instance.
    All,
}

/// Kinds of visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    SignedOut,
    User(Place, Role),
    Token(Place, Scope),
}

pub(super) const EVERYONE: [Who; 17] = [
    Who::SignedOut,
    Who::User(Place::Own, Role::Viewer),
    Who::User(Place::Own, Role::Editor),
    Who::User(Place::Own, Role::Owner),
    Who::User(Place::Other, Role::Owner),
    Who::Token(Place::Other, Scope::Admin),
    Who::User(Place::All, Role::Viewer),
    Who::User(Place::All, Role::Editor),
    Who::User(Place::All, Role::Owner),
    Who::Token(Place::Own, Scope::Read),
    Who::Token(Place::Own, Scope::Write),
    Who::Token(Place::Own, Scope::Admin),
    Who::Token(Place::All, Scope::Read),
    Who::Token(Place::All, Scope::Write),
    Who::Token(Place::All, Scope::Export),
    Who::Token(Place::All, Scope::Erase),
    Who::Token(Place::All, Scope::Admin),
];

// The outcomes by kind of route. The groups: signed out; users of the app (viewer, editor, owner);
// owner and token of another app; users of all apps; tokens of the app (read, write, admin); tokens
// of the instance (read, write, export, erase, admin).
pub(super) const ANYBODY: &str = "+ +++ ++ +++ +++ +++++";
pub(super) const SIGNED_IN: &str = "s +++ ++ +++ +++ +++++";
/// Pages that combine all apps that the visitor may read.
pub(super) const READS_ANY: &str = "s +++ ++ +++ +++ ++xx+";
pub(super) const READS: &str = "s +++ 00 +++ +++ ++xx+";
pub(super) const WRITES: &str = "s x++ 00 x++ x++ x+xx+";
/// A write that is refused because of its body (422).
pub(super) const WRITES_WRONGLY: &str = "s x?? 00 x?? x?? x?xx?";
pub(super) const EXPORTS: &str = "s x++ 00 x++ xx+ xx+x+";
/// Links that let their holder answer for an invitee.
pub(super) const WRITES_AND_EXPORTS: &str = "s x++ 00 x++ xx+ xxxx+";
/// Pages that show data before it is exported.
pub(super) const READS_AND_EXPORTS: &str = "s x++ 00 x++ xx+ xxxx+";
pub(super) const OWNS_APP: &str = "s xx+ 00 xx+ xx+ xxxx+";
pub(super) const OWNS_INSTANCE: &str = "s xxx xx xx+ xxx xxxx+";
/// Only users have views.
pub(super) const READS_AS_USER: &str = "s +++ 00 +++ 000 00000";
/// Only users get notices.
pub(super) const READS_NOTICES: &str = "s +++ 00 +++ 000 00xx0";
/// Only users have a password; tokens do not.
pub(super) const IS_A_USER: &str = "s +++ +0 +++ 000 00000";
/// A token's session is confirmed only with the token: a password is refused (422).
pub(super) const IS_A_USER_OR_WRONG: &str = "s +++ +? +++ ??? ?????";
/// The code is wrong.
pub(super) const WRONG_CODE: &str = "s ??? ?0 ??? 000 00000";
/// Only the visitor who requested a download sees its progress.
pub(super) const DOWNLOADED: &str = "s 0++ 00 0++ 00+ 00+0+";
pub(super) const NO_SUCH_PAGE: &str = "s 000 00 000 000 00000";
/// This server has no OpenID provider.
pub(super) const NOT_SET_UP: &str = "0 000 00 000 000 00000";

/// One route. Names in braces stand for the ids of an app with one resource of each kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) row: &'static str,
    /// The query string.
    pub(super) query: &'static str,
    /// A form, or JSON, that the route accepts.
    pub(super) body: &'static str,
    /// The redirect target, in which `*` is any id; empty for a page or a file.
    pub(super) to: &'static str,
    /// Whether it stores anything besides sessions.
    pub(super) stores: bool,
}

impl Line {
    /// The expected outcome for this visitor.
    pub(super) fn letter(&self, who: Who) -> char {
        let at = EVERYONE.iter().position(|it| *it == who).unwrap();
        let letters: Vec<char> = self.row.chars().filter(|it| *it != ' ').collect();
        assert_eq!(letters.len(), EVERYONE.len(), "{}", self.path);
        letters[at]
    }
}

pub(super) const fn get(path: &'static str, row: &'static str) -> Line {
    Line { method: "GET", path, row, query: "", body: "", to: "", stores: false }
}

pub(super) const fn get_to(path: &'static str, row: &'static str, to: &'static str) -> Line {
    Line { to, ..get(path, row) }
}

/// A write, its body, and its redirect target.
pub(super) const fn post(
    path: &'static str,
    row: &'static str,
    body: &'static str,
    to: &'static str,
) -> Line {
    Line { method: "POST", path, row, query: "", body, to, stores: true }
}

/// A POST that stores nothing.
pub(super) const fn post_unstored(
    path: &'static str,
    row: &'static str,
    body: &'static str,
    to: &'static str,
) -> Line {
    Line { stores: false, ..post(path, row, body, to) }
}
