//! How often a page reads the store: not more often with more versions and actors. Every page, with
//! more apps and flows: `permissions/reads.rs`.

use serde_json::json;
use sluice_engine::people::NewUser;
use sluice_engine::rows::{Role, Scope};
use sluice_engine::{Actor, NewToken};
use sluice_flow::id::{AppId, FlowId};

use crate::support::{Browser, Site, actor, definition};
use crate::use_cases::UseCases as _;

/// The maximum number of reads for one page.
const READS_MAX: usize = 10;
/// One more than a page of the list of flows.
const FLOWS: usize = 26;
/// One more than a page of the history.
const VERSIONS: usize = 21;

/// An app with a page of flows; the last flow has two versions, and responses with texts to each.
async fn busy_app(site: &Site) -> (AppId, FlowId) {
    let app = site.app("Shop").await;
    let mut last = None;
    for number in 0..FLOWS {
        last = Some(site.flow(app, definition(&format!("Flow {number}"))).await);
        site.clock.advance_millis(1);
    }
    let (flow, first) = last.unwrap();
    let answers = json!({
        "answers": {"nps": "9", "why": "It works."}, "tags": {"plan": "free"},
        "respondentAnalyticsAdmission": "admitted", "identities": [{"type": "userId", "value": "7"}]
    });
    site.respond(app, first, answers.clone()).await;
    site.engine.put_draft(&actor(), flow, definition("Flow again")).await.unwrap();
    let second = site.engine.publish(&actor(), flow).await.unwrap().flow_version_id;
    site.respond(app, second, answers).await;
    (app, flow)
}

async fn reads(site: &Site, browser: &Browser<'_>, path: &str) -> usize {
    site.fewest_reads(async || drop(browser.get(path).await.ok())).await
}

/// Fails for each page that makes many reads, or more of them after the change.
async fn check(site: &Site, pages: &[(&Browser<'_>, String)], change: impl AsyncFnOnce()) {
    let mut before = Vec::new();
    for (browser, path) in pages {
        before.push(reads(site, browser, path).await);
    }
    change().await;
    let mut faults = Vec::new();
    for ((browser, path), before) in pages.iter().zip(before) {
        let after = reads(site, browser, path).await;
        if after > READS_MAX || after != before {
            faults.push(format!("{path}: {before} reads, then {after}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn a_page_makes_few_reads_however_many_versions_and_actors_there_are() {
    let site = Site::start().await;
    let (app, flow) = busy_app(&site).await;
    let root = site.root().await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let history = format!("/console/flows/{flow}/history");
    let pages = [
        history.clone(),
        format!("/console/flows/{flow}/edit"),
        format!("/console/flows/{flow}/results?compare=version"),
        format!("/console/apps/{app}/settings/audit"),
        format!("/console/apps/{app}/settings/people"),
    ];
    let of_root = pages.iter().cloned().chain(["/console/settings/audit".to_owned()]);
    let of_root = of_root.map(|path| (&root, path));
    let all: Vec<_> = of_root.chain(pages.iter().cloned().map(|path| (&owner, path))).collect();
    check(&site, &all, async || {
        for number in 0..VERSIONS {
            let publisher = named_actor(&site, app, number).await;
            site.engine.put_draft(&publisher, flow, definition("More")).await.unwrap();
            site.engine.publish(&publisher, flow).await.unwrap();
            site.clock.advance_millis(60_000);
        }
    })
    .await;
    let html = owner.get(&history).await.ok();
    for number in 1..VERSIONS {
        assert!(html.contains(&format!(" by Actor {number} ·")), "{number}: {html}");
    }
}

/// A new user with a role in the app, or a new token.
async fn named_actor(site: &Site, app: AppId, number: usize) -> Actor {
    let name = format!("Actor {number}");
    let id = if number.is_multiple_of(2) {
        let (email, role) = (format!("actor-{number}@mail.example"), Role::Editor);
        let new = NewUser { email, name, role, app_id: Some(app) };
        site.engine.create_user(&actor(), new).await.unwrap().0.user_id.to_string()
    } else {
        let new = NewToken { name, scopes: vec![Scope::Read], app_id: Some(app), expires_at: None };
        site.engine.create_token(&actor(), new).await.unwrap().0.token_id.to_string()
    };
    Actor::trusted(&id)
}
