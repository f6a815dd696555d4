//! How often a page reads the store. A page reads each row once and passes it on, so the number of
//! reads does not depend on the number of apps, flows and versions.

use std::sync::atomic::Ordering;

use serde_json::json;
use sluice_engine::rows::Role;
use sluice_flow::id::{AppId, FlowId};

use crate::support::{Browser, Site, actor, definition};
use crate::use_cases::UseCases as _;

/// The maximum number of reads for one page.
const READS_MAX: usize = 10;
/// One more than a page of the list of flows.
const FLOWS: usize = 26;

/// An app with a page of flows; the last flow has two versions, and responses with texts to each.
async fn busy_app(site: &Site) -> (AppId, FlowId) {
    let app = site.app("Shop").await;
    let mut last = None;
    for number in 0..FLOWS {
        last = Some(site.flow(app, definition(&format!("Flow {number}"))).await);
        site.clock.advance_millis(1);
    }
    let (flow, first) = last.unwrap();
    let answers = json!({"answers": {"nps": "9", "why": "It works."}, "tags": {"plan": "free"}});
    site.respond(app, first, answers.clone()).await;
    site.engine.put_draft(&actor(), flow, definition("Flow again")).await.unwrap();
    let second = site.engine.publish(&actor(), flow).await.unwrap().flow_version_id;
    site.respond(app, second, answers).await;
    (app, flow)
}

/// The number of store reads that a page makes, once published flows are cached.
async fn reads(site: &Site, browser: &Browser<'_>, path: &str) -> usize {
    browser.get(path).await.ok();
    let before = site.faults.reads.load(Ordering::SeqCst);
    browser.get(path).await.ok();
    site.faults.reads.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn a_page_makes_few_reads_however_many_apps_there_are() {
    let site = Site::start().await;
    let (app, flow) = busy_app(&site).await;
    let root = site.root().await;
    // A user with a role in several apps, but not in the instance.
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let pages = [
        format!("/console/flows/{flow}/results"),
        format!("/console/flows/{flow}/results?period=7d"),
        format!("/console/flows/{flow}/results?from=2026-01-01&to=2026-01-31"),
        format!("/console/flows/{flow}/results?period=7d&compare=period"),
        format!("/console/flows/{flow}/results?from=2026-01-01&to=2026-11-15&compare=period"),
        format!("/console/flows/{flow}/results?compare=version"),
        format!("/console/flows/{flow}/results?compare=period"),
        format!("/console/flows/{flow}/responses"),
        format!("/console/flows/{flow}/responses?search=works"),
        format!("/console/apps/{app}"),
        format!("/console/apps/{app}?view=archived"),
        format!("/console/flows/{flow}/edit"),
        format!("/console/flows/{flow}/publish"),
        format!("/console/flows/{flow}/share"),
        format!("/console/apps/{app}/settings"),
        format!("/console/apps/{app}/settings/keys"),
        "/console/settings/apps".to_owned(),
    ];
    let mut few_apps = Vec::new();
    for browser in [&root, &owner] {
        for path in &pages {
            few_apps.push(reads(&site, browser, path).await);
        }
    }
    let user = site.engine.list_users(&actor(), FIRST_USERS).await.unwrap()[0].user_id;
    for number in 0..40 {
        let other = site.app(&format!("App {number}")).await;
        site.engine.set_role(&actor(), user, Some(other), Some(Role::Viewer)).await.unwrap();
        site.clock.advance_millis(1);
    }
    let mut at = few_apps.iter();
    for browser in [&root, &owner] {
        for path in &pages {
            let many = reads(&site, browser, path).await;
            assert!(many <= READS_MAX, "{path}: {many} reads");
            assert_eq!(at.next(), Some(&many), "{path}: it depends on the number of apps");
        }
    }
}

const FIRST_USERS: sluice_engine::rows::Page<sluice_flow::id::UserId> =
    sluice_engine::rows::Page { after: None, limit: 1 };
