//! How often each page reads the store. A page reads each row once and passes it on, so the number
//! of reads does not depend on the number of apps and flows.
//!
//! The pages are the GET lines of the [`super::table`], so a new page is checked, too.

use serde_json::json;
use sluice_engine::people::NewUser;
use sluice_engine::rows::Role;

use super::line::{Line, Who};
use super::table::TABLE;
use super::world::World;
use super::{OWNER, OWNER_OF_ALL};
use crate::support::{Browser, PASSWORD, actor, definition};
use crate::use_cases::UseCases as _;

/// The maximum number of reads for one page.
const READS_MAX: usize = 10;
/// One more than a page of the list of flows, with the flow of the fixture.
const MORE_FLOWS: usize = 25;

/// Routes that may read more: how often, and the reason.
const MORE_READS: &[(&str, usize, &str)] = &[(
    "/console/flows/{flowId}/share",
    11,
    "it shows the app's keys, the short path, and invitations with their counts and e-mails",
)];

/// Queries that change what a page reads.
const QUERIES: &[(&str, &[&str])] = &[
    ("/console/apps/{appId}", &["?label=x", "?view=archived"]),
    ("/console/apps/{appId}/settings/webhooks/{webhookId}", &["?state=failed"]),
    ("/console/flows/{flowId}/responses", &["?search=works"]),
    ("/console/flows/{flowId}/preview", &["?version={flowVersionId}"]),
    (
        "/console/flows/{flowId}/results",
        &[
            "?period=7d",
            "?from=2026-01-01&to=2026-01-31",
            "?period=7d&compare=period",
            "?from=2026-01-01&to=2026-11-15&compare=period",
            "?compare=version",
            "?compare=period",
        ],
    ),
];

/// The pages that this visitor may open, with the queries of each.
fn pages(who: Who) -> impl Iterator<Item = Line> {
    let lines = TABLE.iter().filter(move |line| line.method == "GET" && line.letter(who) == '+');
    lines.flat_map(|line| {
        let more = QUERIES.iter().find(|(path, _)| *path == line.path);
        let more = more.map(|(_, queries)| *queries).unwrap_or_default();
        let queries = [line.query].into_iter().chain(more.iter().copied());
        queries.map(|query| Line { query, ..*line })
    })
}

async fn reads(world: &World, browser: &Browser<'_>, line: &Line) -> usize {
    let request = async || {
        let outcome = world.ask(browser, line, &world.own).await;
        assert!(outcome.status < 400, "{}: {outcome:?}", line.path);
    };
    world.site.fewest_reads(request).await
}

#[test]
fn every_exception_and_query_is_of_a_route() {
    let more = MORE_READS.iter().map(|(path, ..)| path);
    for path in more.chain(QUERIES.iter().map(|(path, _)| path)) {
        assert!(TABLE.iter().any(|it| it.method == "GET" && it.path == *path), "{path}");
    }
}

#[tokio::test]
async fn a_page_makes_few_reads_however_many_apps_and_flows_there_are() {
    let world = World::new().await;
    let (site, app) = (&world.site, world.own.app);
    let flow = world.own.ids["flowId"].parse().unwrap();
    for version in site.engine.list_versions(&actor(), flow, None, 9).await.unwrap() {
        let answers = json!({
            "answers": {"nps": "9", "why": "It works."}, "tags": {"plan": "free"},
            "respondentAnalyticsAdmission": "admitted",
            "identities": [{"type": "userId", "value": "7"}]
        });
        site.respond(app, version.flow_version_id, answers).await;
    }
    // The owner of an app gets roles in more apps, but none in the instance.
    let email = "owner@mail.example".to_owned();
    let new = NewUser { email, name: "Owner".into(), role: Role::Owner, app_id: Some(app) };
    let (user, link) = site.engine.create_user(&actor(), new).await.unwrap();
    let begun = site.engine.accounts().set_password_by_link(&link.0, PASSWORD, None).await;
    let owner = site.with_session(&begun.unwrap().0);
    let owner_of_all = world.visitor(OWNER_OF_ALL, app).await;
    let visitors = [(OWNER, &owner), (OWNER_OF_ALL, &owner_of_all)];
    let mut before = Vec::new();
    for (who, browser) in visitors {
        for line in pages(who) {
            before.push((browser, line, reads(&world, browser, &line).await));
        }
    }
    assert!(before.len() > 100, "only {} pages", before.len());
    for number in 0..MORE_FLOWS {
        site.flow(app, definition(&format!("Flow {number}"))).await;
        let other = site.app(&format!("App {number}")).await;
        let role = Some(Role::Viewer);
        site.engine.set_role(&actor(), user.user_id, Some(other), role).await.unwrap();
        site.clock.advance_millis(1);
    }
    let mut faults = Vec::new();
    for (browser, line, before) in before {
        let after = reads(&world, browser, &line).await;
        let more = MORE_READS.iter().find(|(path, ..)| *path == line.path);
        let most = more.map_or(READS_MAX, |(_, most, _)| *most);
        if after > most || after != before {
            faults.push(format!("{}{}: {before} reads, then {after}", line.path, line.query));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
