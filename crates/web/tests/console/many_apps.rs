//! More apps than a list shows at once: each can be reached, and users can be given a role in each.

use crate::use_cases::UseCases as _;
use sluice_engine::rows::Role;
use sluice_flow::id::{AppId, v7};

use crate::support::{Browser, Site, actor};

const FIELD: &str = "<input class=\"input\" id=\"appId\" name=\"appId\"";
const SELECT: &str = "<select class=\"input\" id=\"appId\"";

/// This number of apps, oldest first.
async fn apps(site: &Site, count: usize) -> Vec<AppId> {
    let mut apps = Vec::new();
    for number in 0..count {
        apps.push(site.app(&format!("App {number:03}")).await);
        site.clock.advance_millis(1);
    }
    apps
}

#[tokio::test]
async fn apps_are_paged_and_the_sidebar_links_to_them() {
    let site = Site::start().await;
    let apps = apps(&site, 203).await;
    let root = site.root().await;
    let path = "/console/settings/apps";
    let mut address = path.to_owned();
    for (first, last) in [(0, 99), (100, 199), (200, 202)] {
        let page = root.get(&address).await.ok();
        let list = page.split("aria-label=\"Apps\"").last().unwrap();
        assert!(list.contains(&format!("App {first:03}")), "{list}");
        assert!(list.contains(&format!("App {last:03}")), "{list}");
        assert!(!list.contains(&format!("App {:03}", last + 1)), "{list}");
        assert!(page.contains("<span class=\"name\">All apps</span>"), "{page}");
        let next = list.split(&format!("{path}?after=")).nth(1);
        assert_eq!(next.is_some(), last < 202, "{list}");
        let next = next.and_then(|rest| rest.split('"').next()).unwrap_or_default();
        address = format!("{path}?after={next}");
    }
    root.get(&format!("/console/apps/{}", apps[202])).await.ok();
}

/// Sends the form with this app id: returns the status, and whether the field has a fault and keeps
/// the typed value.
async fn sent(root: &Browser<'_>, path: &str, place: &str) -> (u16, bool) {
    let form = [
        ("email", "ann@mail.example"),
        ("name", "Ann"),
        ("role", "viewer"),
        ("scope", "read"),
        ("appId", place),
    ];
    let reply = root.post(path, &form).await;
    let has_fault = reply.text.contains("-error\">");
    if has_fault {
        assert!(reply.text.contains(&format!("value=\"{place}\"")), "{path}: {}", reply.text);
    }
    (reply.status, has_fault)
}

#[tokio::test]
async fn with_too_many_apps_to_list_an_id_is_typed_and_checked() {
    let site = Site::start().await;
    let apps = apps(&site, 101).await;
    let user = site.user("bob@mail.example", None, Role::Viewer).await;
    let root = site.root().await;
    let (of_user, users) = (format!("/console/settings/users/{user}"), "/console/settings/users");
    let of_roles = format!("{of_user}/role");
    for path in [users, "/console/settings/tokens"] {
        let page = root.get(path).await.ok();
        assert!(page.contains(FIELD) && !page.contains(SELECT), "{path}: {page}");
    }
    assert!(root.get(&of_user).await.ok().contains("id=\"new-place\" name=\"appId\" value"));
    let unknown = AppId::from_uuid(v7(site.engine.now(), 0, 0)).to_string();
    for path in [users, "/console/settings/tokens", &of_roles] {
        for wrong in ["App 100", "app_", &unknown] {
            assert_eq!(sent(&root, path, wrong).await, (422, true), "{path} {wrong}");
        }
    }
    let last = apps[100].to_string();
    assert_eq!(sent(&root, users, &last).await, (200, false));
    assert_eq!(sent(&root, "/console/settings/tokens", &last).await, (200, false));
    assert_eq!(sent(&root, &of_roles, &last).await, (303, false));
    let grants = site.engine.get_user(&actor(), user).await.unwrap().grants;
    assert!(grants.iter().any(|grant| grant.app_id == Some(apps[100])), "{grants:?}");
}

#[tokio::test]
async fn up_to_a_hundred_apps_are_chosen_from_a_list_and_none_chosen_is_a_fault() {
    let site = Site::start().await;
    apps(&site, 100).await;
    let root = site.root().await;
    for path in ["/console/settings/users", "/console/settings/tokens"] {
        let page = root.get(path).await.ok();
        assert!(page.contains(SELECT) && !page.contains(FIELD), "{path}: {page}");
        assert!(!page.contains("<span class=\"name\">All apps</span>"), "{path}: {page}");
        let form = [("email", "ann@mail.example"), ("name", "Ann"), ("scope", "read")];
        let reply = root.post(path, &form).await;
        assert_eq!(reply.status, 422);
        assert!(reply.text.contains("id=\"appId-error\""), "{path}: {}", reply.text);
    }
}

fn reads(site: &Site) -> usize {
    site.faults.reads.load(std::sync::atomic::Ordering::SeqCst)
}

#[tokio::test]
async fn a_search_covers_a_bounded_number_of_apps_and_says_so() {
    let site = Site::start().await;
    let apps = apps(&site, 202).await;
    let (flow, _) = site.flow(apps[201], crate::support::definition("Needle")).await;
    let root = site.root().await;
    let search = async |query: &str| -> serde_json::Value {
        let path = format!("/console/search?{query}");
        serde_json::from_str(&root.get(&path).await.ok()).unwrap()
    };
    let before = reads(&site);
    let found = search("q=needle").await;
    assert!(reads(&site) - before < 220, "{} reads", reads(&site) - before);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["name"], "There may be more");
    // The app of the page comes first.
    let found = search(&format!("q=needle&app={}", apps[201])).await;
    assert_eq!(found[0]["address"], format!("/console/flows/{flow}"));
}

#[tokio::test]
async fn a_search_finds_flows_of_every_app() {
    let site = Site::start().await;
    let apps = apps(&site, 130).await;
    let (flow, _) = site.flow(apps[129], crate::support::definition("Needle")).await;
    let root = site.root().await;
    let found: serde_json::Value =
        serde_json::from_str(&root.get("/console/search?q=needle").await.ok()).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["address"], format!("/console/flows/{flow}"));
    assert_eq!(found[0]["hint"], "App 129");
}
