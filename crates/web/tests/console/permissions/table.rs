//! The table: every route of the console, a request to it, and the outcome for each kind of
//! visitor.
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
const ANYBODY: &str = "+ +++ ++ +++ +++ +++++";
const SIGNED_IN: &str = "s +++ ++ +++ +++ +++++";
/// Pages that combine all apps that the visitor may read.
const READS_ANY: &str = "s +++ ++ +++ +++ ++xx+";
const READS: &str = "s +++ 00 +++ +++ ++xx+";
const WRITES: &str = "s x++ 00 x++ x++ x+xx+";
/// A write that is refused because of its body (422).
const WRITES_WRONGLY: &str = "s x?? 00 x?? x?? x?xx?";
const EXPORTS: &str = "s x++ 00 x++ xx+ xx+x+";
/// Links that let their holder answer for an invitee.
const WRITES_AND_EXPORTS: &str = "s x++ 00 x++ xx+ xxxx+";
/// Pages that show data before it is exported.
const READS_AND_EXPORTS: &str = "s x++ 00 x++ xx+ xxxx+";
const OWNS_APP: &str = "s xx+ 00 xx+ xx+ xxxx+";
const OWNS_INSTANCE: &str = "s xxx xx xx+ xxx xxxx+";
/// Only users have views.
const READS_AS_USER: &str = "s +++ 00 +++ 000 00000";
/// Only users have a password; tokens do not.
const IS_A_USER: &str = "s +++ +0 +++ 000 00000";
/// A token's session is confirmed only with the token: a password is refused (422).
const IS_A_USER_OR_WRONG: &str = "s +++ +? +++ ??? ?????";
/// The code is wrong.
const WRONG_CODE: &str = "s ??? ?0 ??? 000 00000";
/// Only the visitor who requested a download sees its progress.
const DOWNLOADED: &str = "s 0++ 00 0++ 00+ 00+0+";
const NO_SUCH_PAGE: &str = "s 000 00 000 000 00000";
/// This server has no OpenID provider.
const NOT_SET_UP: &str = "0 000 00 000 000 00000";

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

const fn get(path: &'static str, row: &'static str) -> Line {
    Line { method: "GET", path, row, query: "", body: "", to: "", stores: false }
}

const fn get_to(path: &'static str, row: &'static str, to: &'static str) -> Line {
    Line { to, ..get(path, row) }
}

/// A write, its body, and its redirect target.
const fn post(path: &'static str, row: &'static str, body: &'static str, to: &'static str) -> Line {
    Line { method: "POST", path, row, query: "", body, to, stores: true }
}

/// A POST that stores nothing.
const fn post_unstored(
    path: &'static str,
    row: &'static str,
    body: &'static str,
    to: &'static str,
) -> Line {
    Line { stores: false, ..post(path, row, body, to) }
}

pub(super) const TABLE: &[Line] = &[
    // Signing in and out.
    get_to("/", ANYBODY, "/console"),
    get_to("/console", READS_ANY, "/console/apps/*"),
    get("/console/assets/{version}/{*file}", ANYBODY),
    get("/console/search", READS_ANY),
    get("/console/sign-in", ANYBODY),
    post_unstored("/console/sign-in", ANYBODY, "token=root-secret", "/console"),
    // Without a ticket the sign-in starts over.
    post_unstored("/console/sign-in/code", ANYBODY, "ticket=none&code=1", "/console/sign-in"),
    get("/console/confirm", SIGNED_IN),
    post_unstored(
        "/console/confirm",
        IS_A_USER_OR_WRONG,
        "password=correct+horse+battery&to=/console/settings/account",
        "/console/settings/account",
    ),
    post_unstored("/console/sign-out", ANYBODY, "", "/console/sign-in"),
    get("/console/welcome", ANYBODY),
    post(
        "/console/welcome",
        ANYBODY,
        "code={link}&password=quite+another+horse",
        "/console?done=welcome",
    ),
    get("/console/oidc", NOT_SET_UP),
    get("/console/oidc/callback", NOT_SET_UP),
    get("/console/{*rest}", NO_SUCH_PAGE),
    post_unstored("/console/{*rest}", NO_SUCH_PAGE, "", ""),
    // Flows of an app.
    get("/console/apps/{appId}", READS),
    get("/console/apps/{appId}/new", READS),
    post(
        "/console/apps/{appId}/new",
        WRITES,
        "template=nps&name=New",
        "/console/flows/*/edit?done=created",
    ),
    get("/console/apps/{appId}/templates/{template}", READS),
    post_unstored("/console/apps/{appId}/templates/{template}", READS, "", ""),
    get_to("/console/flows/{flowId}", READS, "/console/flows/{flowId}/results"),
    post("/console/flows/{flowId}/duplicate", WRITES, "", "/console/flows/*/edit?done=duplicated"),
    get("/console/flows/{flowId}/archive", READS),
    post(
        "/console/flows/{flowId}/archive",
        WRITES,
        "",
        "/console/apps/{appId}?done=archived.{flowId}",
    ),
    post_unstored(
        "/console/flows/{flowId}/unarchive",
        WRITES,
        "",
        "/console/flows/{flowId}/edit?done=unarchived",
    ),
    post(
        "/console/flows/{flowId}/close",
        WRITES,
        "tab=share",
        "/console/flows/{flowId}/share?done=closed",
    ),
    post_unstored(
        "/console/flows/{flowId}/reopen",
        WRITES,
        "",
        "/console/flows/{flowId}/edit?done=reopened",
    ),
    // The editor.
    get("/console/flows/{flowId}/edit", READS),
    post(
        "/console/flows/{flowId}/edit",
        WRITES,
        "tag={tag}&definition={\"title\":\"Edited\",\"questions\":[]}",
        "/console/flows/{flowId}/edit?done=saved#json",
    ),
    post(
        "/console/flows/{flowId}/draft",
        WRITES,
        "{\"tag\":\"{tag}\",\"definition\":{\"title\":\"Edited\",\"questions\":[]}}",
        "",
    ),
    post_unstored("/console/flows/{flowId}/images", WRITES_WRONGLY, "no image", ""),
    get("/console/flows/{flowId}/preview", READS),
    post_unstored("/console/flows/{flowId}/preview", READS, "", ""),
    get("/console/flows/{flowId}/publish", READS),
    post(
        "/console/flows/{flowId}/publish",
        WRITES,
        "tag={tag}",
        "/console/flows/{flowId}/edit?done=published",
    ),
    get("/console/flows/{flowId}/discard", READS),
    post(
        "/console/flows/{flowId}/discard",
        WRITES,
        "tag={tag}",
        "/console/flows/{flowId}/edit?done=discarded",
    ),
    post(
        "/console/flows/{flowId}/schedule",
        WRITES,
        "name=Renamed&startsAt=&endsAt=&grace=inherited",
        "/console/flows/{flowId}/edit?done=saved#schedule",
    ),
    get("/console/flows/{flowId}/design", READS),
    post(
        "/console/flows/{flowId}/design",
        WRITES,
        "font=serif&font.was=",
        "/console/flows/{flowId}/design?done=saved",
    ),
    post_unstored(
        "/console/flows/{flowId}/design/reset",
        WRITES,
        "",
        "/console/flows/{flowId}/design?done=design-reset",
    ),
    get("/console/apps/{appId}/settings/design", READS),
    post_unstored("/console/apps/{appId}/settings/design/images", WRITES_WRONGLY, "no image", ""),
    post(
        "/console/apps/{appId}/settings/design",
        WRITES,
        "font=serif&font.was=",
        "/console/apps/{appId}/settings/design?done=saved",
    ),
    get("/console/flows/{flowId}/history", READS),
    get("/console/flows/{flowId}/history/{flowVersionId}", READS),
    post(
        "/console/flows/{flowId}/history/{flowVersionId}/republish",
        WRITES,
        "",
        "/console/flows/{flowId}/history?done=published",
    ),
    post(
        "/console/flows/{flowId}/history/{flowVersionId}/retire",
        WRITES,
        "",
        "/console/flows/{flowId}/history?done=withdrawn",
    ),
    // Sharing.
    get("/console/flows/{flowId}/share", READS),
    get("/console/flows/{flowId}/share/code.svg", READS),
    post(
        "/console/flows/{flowId}/share/invitations",
        WRITES,
        "people=ada%40mail.example&until=",
        "/console/flows/{flowId}/share?done=invited#invitations",
    ),
    post(
        "/console/flows/{flowId}/share/path",
        WRITES,
        "path={shortPath}",
        "/console/flows/{flowId}/share?done=path-saved#link-title",
    ),
    post("/console/flows/{flowId}/share/invitations.csv", WRITES_AND_EXPORTS, "", ""),
    post(
        "/console/flows/{flowId}/share/invitations/{flowAssignmentId}/revoke",
        WRITES,
        "",
        "/console/flows/{flowId}/share?done=revoked#invitations",
    ),
    // Responses and results.
    get("/console/flows/{flowId}/responses", READS),
    get("/console/flows/{flowId}/responses/rows", READS),
    get("/console/flows/{flowId}/responses/count", READS),
    get("/console/flows/{flowId}/responses/live", READS),
    post_unstored(
        "/console/flows/{flowId}/responses/layout",
        READS,
        "show=version&density=compact",
        "/console/flows/{flowId}/responses?columns=version&density=compact",
    ),
    post(
        "/console/flows/{flowId}/responses/views",
        READS_AS_USER,
        "name=Mine&query=density%3Dcompact",
        "/console/flows/{flowId}/responses?density=compact&done=saved-view",
    ),
    post_unstored(
        "/console/flows/{flowId}/responses/views/change",
        READS_AS_USER,
        "view=Unknown&do=delete&query=",
        "/console/flows/{flowId}/responses?sort=-receivedAt&done=deleted",
    ),
    Line {
        query: "?format=csv&id={id}",
        ..get("/console/flows/{flowId}/responses/export", EXPORTS)
    },
    get("/console/exports/{id}", DOWNLOADED),
    get("/console/flows/{flowId}/responses/codebook", READS),
    get("/console/flows/{flowId}/responses/tests", READS),
    post(
        "/console/flows/{flowId}/responses/tests/delete",
        WRITES,
        "",
        "/console/flows/{flowId}/responses/tests?done=tests-deleted",
    ),
    Line { to: "/f/{flowId}/test/*", ..get("/console/flows/{flowId}/try", WRITES) },
    get("/console/flows/{flowId}/labels", READS),
    post(
        "/console/flows/{flowId}/labels",
        WRITES,
        "labels=New",
        "/console/apps/{appId}?done=saved",
    ),
    get("/console/flows/{flowId}/responses/{responseId}", READS),
    post(
        "/console/flows/{flowId}/responses/{responseId}/delete",
        OWNS_APP,
        "",
        "/console/flows/{flowId}/responses?sort=-receivedAt&done=deleted",
    ),
    get("/console/flows/{flowId}/results", READS),
    get("/console/flows/{flowId}/results/chart/{file}", READS),
    get("/console/flows/{flowId}/results/crosstab", READS),
    Line { query: "?question=why", ..get("/console/flows/{flowId}/results/answers", READS) },
    get("/console/flows/{flowId}/results/reports", READS),
    post(
        "/console/flows/{flowId}/results/reports",
        READS_AND_EXPORTS,
        "title=Results&show=nps",
        "",
    ),
    get("/console/flows/{flowId}/results/reports/{reportId}", READS_AND_EXPORTS),
    post(
        "/console/flows/{flowId}/results/reports/{reportId}",
        READS_AND_EXPORTS,
        "title=Results&show=nps",
        "/console/flows/{flowId}/results/reports?done=saved#reports",
    ),
    post("/console/flows/{flowId}/results/reports/{reportId}/link", READS_AND_EXPORTS, "", ""),
    post(
        "/console/flows/{flowId}/results/reports/{reportId}/revoke",
        EXPORTS,
        "",
        "/console/flows/{flowId}/results/reports?done=revoked#reports",
    ),
    // A report, for anyone with its link.
    get("/r/{secret}", ANYBODY),
    post_unstored("/r/{secret}", ANYBODY, "password=", "/r/{secret}"),
    get("/console/flows/{flowId}/results/funnel", READS),
    get("/console/flows/{flowId}/results/funnel.svg", READS),
    // Settings of an app.
    get("/console/apps/{appId}/settings", READS),
    post(
        "/console/apps/{appId}/settings",
        WRITES,
        "name=Renamed&spamProtection=yes",
        "/console/apps/{appId}/settings?done=saved",
    ),
    get("/console/apps/{appId}/settings/keys", READS),
    post(
        "/console/apps/{appId}/settings/keys",
        OWNS_APP,
        "",
        "/console/apps/{appId}/settings/keys?done=created",
    ),
    post(
        "/console/apps/{appId}/settings/keys/{apiKey}/revoke",
        OWNS_APP,
        "",
        "/console/apps/{appId}/settings/keys?done=ended",
    ),
    get("/console/apps/{appId}/settings/identity", READS),
    post(
        "/console/apps/{appId}/settings/identity",
        OWNS_APP,
        "mode=observe",
        "/console/apps/{appId}/settings/identity?done=saved",
    ),
    post("/console/apps/{appId}/settings/identity/keys", OWNS_APP, "type=hs256", ""),
    post(
        "/console/apps/{appId}/settings/identity/revoke",
        OWNS_APP,
        "kid={kid}",
        "/console/apps/{appId}/settings/identity?done=ended",
    ),
    get("/console/apps/{appId}/settings/respondents", READS),
    get("/console/apps/{appId}/settings/respondents/{respondentId}", READS),
    post(
        "/console/apps/{appId}/settings/respondents/{respondentId}/export",
        READS_AND_EXPORTS,
        "",
        "",
    ),
    post(
        "/console/apps/{appId}/settings/respondents/{respondentId}/erase",
        OWNS_APP,
        "sure=yes&answers=keep",
        "/console/apps/{appId}/settings/respondents?done=erased",
    ),
    get("/console/apps/{appId}/settings/people", OWNS_APP),
    post(
        "/console/apps/{appId}/settings/people",
        OWNS_APP,
        "email={email}&role=editor",
        "/console/apps/{appId}/settings/people?done=added",
    ),
    post(
        "/console/apps/{appId}/settings/people/role",
        OWNS_APP,
        "userId={userId}&role=editor",
        "/console/apps/{appId}/settings/people?done=saved",
    ),
    get("/console/apps/{appId}/settings/audit", OWNS_APP),
    // Settings of the instance.
    get_to("/console/settings", SIGNED_IN, "/console/settings/apps"),
    get("/console/settings/apps", READS_ANY),
    post("/console/settings/apps", OWNS_INSTANCE, "name=New", "/console/apps/*?done=created"),
    get("/console/settings/users", OWNS_INSTANCE),
    post(
        "/console/settings/users",
        OWNS_INSTANCE,
        "email=new-{email}&name=New&role=viewer&appId=all",
        "",
    ),
    get("/console/settings/users/{userId}", OWNS_INSTANCE),
    post(
        "/console/settings/users/{userId}/role",
        OWNS_INSTANCE,
        "appId={appId}&role=owner",
        "/console/settings/users/{userId}?done=saved",
    ),
    post(
        "/console/settings/users/{userId}/name",
        OWNS_INSTANCE,
        "name=Renamed",
        "/console/settings/users/{userId}?done=saved",
    ),
    post(
        "/console/settings/users/{userId}/state",
        OWNS_INSTANCE,
        "disabled=yes",
        "/console/settings/users/{userId}?done=saved",
    ),
    post("/console/settings/users/{userId}/reset", OWNS_INSTANCE, "", ""),
    post_unstored(
        "/console/settings/users/{userId}/second-factor/reset",
        OWNS_INSTANCE,
        "",
        "/console/settings/users/{userId}?done=saved",
    ),
    get("/console/settings/tokens", OWNS_INSTANCE),
    post("/console/settings/tokens", OWNS_INSTANCE, "name=New&scope=admin&appId=all", ""),
    post(
        "/console/settings/tokens/{tokenId}/revoke",
        OWNS_INSTANCE,
        "",
        "/console/settings/tokens?done=ended",
    ),
    get("/console/settings/audit", OWNS_INSTANCE),
    get("/console/settings/account", READS_ANY),
    post(
        "/console/settings/account",
        IS_A_USER,
        "old=correct+horse+battery&password=quite+another+horse",
        "/console/settings/account?done=password",
    ),
    post_unstored(
        "/console/settings/account/sessions/end",
        IS_A_USER,
        "session=none",
        "/console/settings/account?done=ended",
    ),
    post_unstored(
        "/console/settings/account/sessions/end-others",
        IS_A_USER,
        "",
        "/console/settings/account?done=ended",
    ),
    get("/console/settings/account/second-factor", IS_A_USER),
    // accounts.rs tests a correct code.
    post_unstored("/console/settings/account/second-factor", WRONG_CODE, "", ""),
    post_unstored(
        "/console/settings/account/second-factor/off",
        IS_A_USER,
        "",
        "/console/settings/account?done=saved",
    ),
];
