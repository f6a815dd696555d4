//! Access control, for all routes and all kinds of visitors.
//!
//! The [`table`] has the expected outcome for each kind of visitor; a test compares its routes with
//! the console's source. A visitor without permission sends a request that would succeed for
//! another, and a visitor with permission sends the same, so that a mistyped address or form cannot
//! pass for a refusal.

mod below_path;
mod line;
mod reads;
pub(crate) mod source;
mod table;
mod world;

use axum::body::Body;
use sluice_engine::rows::Role;

use self::line::{EVERYONE, Line, Place, Who};
use self::source::{Route, routes};
use self::table::TABLE;
use self::world::{Fixture, Outcome, World};
use crate::support::{HOST, ORIGIN};

const OWNER_OF_ALL: Who = Who::User(Place::All, Role::Owner);
const OWNER: Who = Who::User(Place::Own, Role::Owner);

/// The table's letter for a reply.
fn letter(line: &Line, fixture: &Fixture, outcome: &Outcome) -> char {
    let to = fixture.filled(line.to);
    match outcome.status {
        200 if to.is_empty() => '+',
        303 if !to.is_empty() && leads(&outcome.to, &to) => '+',
        303 if outcome.to.starts_with("/console/sign-in") => 's',
        403 => 'x',
        404 => '0',
        _ => '?',
    }
}

/// Whether an address matches the pattern, in which a star stands for any id.
fn leads(address: &str, named: &str) -> bool {
    match named.split_once('*') {
        None => address == named,
        Some((before, after)) => {
            let id = address.strip_prefix(before).and_then(|it| it.strip_suffix(after));
            id.is_some_and(|id| !id.is_empty() && !id.contains(['/', '?']))
        }
    }
}

#[test]
fn every_route_is_in_the_table_and_nothing_else_is() {
    let listed = |route: &Route| {
        TABLE.iter().filter(|it| it.method == route.method && it.path == route.path).count()
    };
    let missing: Vec<_> = routes().into_iter().filter(|route| listed(route) != 1).collect();
    assert!(
        missing.is_empty(),
        "these routes must be once in the table of tests/console/permissions/table.rs: add a line with the method and \
         path as they are in the source, the row of outcomes, a body that the route accepts, and where it \
         leads: {missing:#?}"
    );
    let there = routes();
    for line in TABLE {
        let is_there = there.iter().any(|it| it.method == line.method && it.path == line.path);
        assert!(is_there, "{} {} is in the table, but is not a route", line.method, line.path);
    }
}

#[tokio::test]
async fn without_permission_a_request_is_refused_and_nothing_is_stored() {
    let world = World::new().await;
    // A download that another user has requested.
    let owner = world.visitor(OWNER_OF_ALL, world.own.app).await;
    let export = world.own.filled("/console/flows/{flowId}/responses/export?format=csv&id=walls");
    owner.get(&export).await.ok();
    let mut visitors = Vec::new();
    for who in EVERYONE {
        visitors.push((who, world.visitor(who, world.own.app).await));
    }
    let mut before = world.stored().await;
    let mut wrong = Vec::new();
    for line in TABLE {
        for (who, visitor) in &visitors {
            let expected = line.letter(*who);
            if expected == '+' {
                continue;
            }
            let outcome = world.ask(visitor, line, &world.own).await;
            if letter(line, &world.own, &outcome) != expected {
                wrong.push(format!(
                    "{} {}: {who:?}: not {expected}: {outcome:?}",
                    line.method, line.path
                ));
            }
        }
        let after = world.stored().await;
        if after != before {
            wrong.push(format!("{} {}: something was stored", line.method, line.path));
            before = after;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn with_permission_a_page_is_shown() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    for who in EVERYONE {
        let visitor = world.visitor(who, world.own.app).await;
        for line in TABLE.iter().filter(|it| it.method == "GET" && it.letter(who) == '+') {
            let outcome = world.ask(&visitor, line, &world.own).await;
            if letter(line, &world.own, &outcome) != '+' {
                wrong.push(format!("{} {}: {who:?}: {outcome:?}", line.method, line.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn with_permission_a_write_is_stored_and_redirects() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    for line in TABLE.iter().filter(|it| it.method != "GET") {
        for who in EVERYONE.into_iter().filter(|who| line.letter(*who) == '+') {
            // A new app each time: an earlier visitor may have deleted the resource.
            let fixture = world.fixture().await;
            let visitor = world.visitor(who, fixture.app).await;
            let before = world.last_change().await;
            let outcome = world.ask(&visitor, line, &fixture).await;
            let has_stored = world.last_change().await != before;
            if letter(line, &fixture, &outcome) != '+' || has_stored != line.stores {
                wrong.push(format!(
                    "{} {}: {who:?}: {outcome:?}, stored: {has_stored}",
                    line.method, line.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ids of resources inside an app, which follow another id in paths.
const INNER: &[&str] = &[
    "flowVersionId",
    "responseId",
    "respondentId",
    "apiKey",
    "flowAssignmentId",
    "reportId",
    "webhookId",
];

/// Routes that name an inner resource in the query or the body instead of the path.
const INNER_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("/console/flows/{flowId}/preview", "?version={flowVersionId}", ""),
    ("/console/apps/{appId}/settings/identity/revoke", "", "kid={kid}"),
];

#[tokio::test]
async fn an_id_of_another_app_or_flow_is_not_found_under_this_apps_path() {
    let world = World::new().await;
    let sibling = Fixture::open(&world.site, world.own.app, "Sibling").await;
    let mut visitors = Vec::new();
    for who in [OWNER, OWNER_OF_ALL] {
        visitors.push((who, world.visitor(who, world.own.app).await));
    }
    let in_path = TABLE.iter().copied().filter(|line| {
        line.path.contains("Id}/")
            && INNER.iter().any(|it| line.path.contains(&format!("{{{it}}}")))
    });
    let elsewhere = INNER_ELSEWHERE.iter().map(|&(path, query, body)| {
        let line = TABLE.iter().find(|it| it.path == path).unwrap();
        Line { query, body, ..*line }
    });
    let lines: Vec<Line> = in_path.chain(elsewhere).collect();
    assert!(lines.len() >= 11, "{lines:#?}");
    let before = world.stored().await;
    let mut wrong = Vec::new();
    for line in lines {
        for strangers in [&world.other, &sibling] {
            let same_app = strangers.app == world.own.app;
            if same_app && line.path.contains("{appId}") {
                continue;
            }
            let mut mixed = Fixture { app: world.own.app, ids: strangers.ids.clone() };
            for outer in ["appId", "flowId"] {
                mixed.ids.insert(outer, world.own.ids[outer].clone());
            }
            for (who, visitor) in &visitors {
                let outcome = world.ask(visitor, &line, &mixed).await;
                if outcome.status != 404 {
                    wrong.push(format!("{} {}: {who:?}: {outcome:?}", line.method, line.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(world.stored().await == before, "something was stored");
}

#[tokio::test]
async fn no_page_of_the_instance_names_an_app_without_access() {
    let world = World::new().await;
    let owner = world.visitor(OWNER, world.own.app).await;
    for line in TABLE.iter().filter(|it| it.method == "GET" && !it.path.contains('{')) {
        let reply = owner.get(line.path).await;
        assert!(!reply.text.contains(&world.other.app.to_string()), "{}", line.path);
    }
    for part in ["responses", "results"] {
        let strange = &world.other.ids["flowVersionId"];
        let address = world.own.filled(&format!("/console/flows/{{flowId}}/{part}"));
        let reply = owner.get(&format!("{address}?version={strange}")).await;
        assert!(!reply.text.contains(&world.other.ids["flowId"]), "{part}");
        assert!(!reply.text.contains(&world.other.ids["responseId"]), "{part}");
    }
}

#[tokio::test]
async fn a_write_from_another_site_is_refused_everywhere() {
    let world = World::new().await;
    let owner = world.visitor(OWNER_OF_ALL, world.own.app).await;
    let before = world.stored().await;
    for line in TABLE.iter().filter(|line| line.method != "GET") {
        let address = world.own.filled(line.path);
        for (origin, site) in [
            (Some("https://evil.example"), ""),
            (Some("https://evil.example"), "cross-site"),
            (Some("https://sub.ask.example"), "same-site"),
            (Some("null"), ""),
            (Some(ORIGIN), "cross-site"),
            (Some(ORIGIN), "same-site"),
            (Some(ORIGIN), "none"),
            (None, ""),
            (None, "none"),
        ] {
            let request = http::Request::builder().method(line.method).uri(&address);
            let mut request = request
                .header("host", HOST)
                .header("cookie", format!("__Host-sluice={}", owner.session()));
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            if !site.is_empty() {
                request = request.header("sec-fetch-site", site);
            }
            let sent = request.body(Body::from(world.own.filled(line.body))).unwrap();
            let reply = world.site.raw(sent).await;
            assert_eq!(reply.status, 403, "{} {origin:?} {site}", line.path);
            assert!(reply.text.contains("Request refused"), "{} {origin:?}", line.path);
        }
    }
    assert!(world.stored().await == before, "something was stored");
    owner.get("/console/settings/users").await.ok();
}
