//! What every page has: its files, its policy, and the redirect from the root.

use crate::desk::Desk;
use crate::shop::Site;

/// The URLs of the style sheet and the scripts in a page.
fn files(page: &str) -> Vec<&str> {
    page.split('"').filter(|text| text.starts_with("/console/assets/")).collect()
}

#[tokio::test]
async fn the_root_redirects_to_the_console_and_that_to_the_first_app() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    assert_eq!(Desk::led_to(&desk.get("/").await), "/console");
    assert_eq!(Desk::led_to(&desk.get("/console").await), format!("/console/apps/{}", site.app));
}

#[tokio::test]
async fn a_file_is_immutable_at_its_version_and_missing_at_others() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let page = desk.get(&format!("/console/apps/{}", site.app)).await.text();
    assert!(files(&page).len() >= 2, "{page}");
    for file in files(&page) {
        let reply = desk.get(file).await;
        assert_eq!(reply.status, 200, "{file}");
        assert!(reply.header("cache-control").unwrap().contains("immutable"), "{file}");
        let name = file.rsplit('/').next().unwrap();
        let elsewhere = desk.get(&format!("/console/assets/0000000000000000/{name}")).await;
        assert_eq!(elsewhere.status, 404, "{file}");
        assert_eq!(elsewhere.header("cache-control").unwrap(), "no-store", "{file}");
    }
}

#[tokio::test]
async fn a_page_loads_only_our_files_and_is_neither_cached_nor_framed() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    for path in [format!("/console/apps/{}", site.app), "/console/nothing".to_owned()] {
        let page = desk.get(&path).await;
        let policy = page.header("content-security-policy").unwrap().to_owned();
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(page.header("cache-control").unwrap(), "no-store", "{path}");
        assert!(!page.text().contains("style=\"") && !page.text().contains(" onclick="), "{path}");
    }
}
