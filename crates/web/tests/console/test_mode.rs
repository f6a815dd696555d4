//! The test link in the console, and the page of test responses.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::rows::Scope;

use crate::desk::Desk;
use crate::shop::{Site, actor, submission, survey};

/// Answers a flow at its test link, as the button of the editor leads to it.
async fn try_it(site: &Site, desk: &Desk<'_>, flow: &str, nps: &str) {
    let to = Desk::led_to(&desk.get(&format!("/console/flows/{flow}/try")).await);
    assert!(to.starts_with(&format!("/f/{flow}/test/v1.")), "{to}");
    let page = site.get(&to, &[]).await.text();
    let key = page.split("name=\"key\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    site.clock.advance_millis(5_000);
    let body = format!("key={key}&go=send&answers.nps={nps}");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let sent = crate::shop::request(http::Method::POST, &to, &form, body.into());
    assert!(site.send(sent).await.text().contains("data-state=\"stored\""));
}

#[tokio::test]
async fn an_author_tries_a_flow_sees_the_tests_and_deletes_them_all() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, version) = site.published().await;
    let (id, base) = (flow.to_string(), format!("/console/flows/{flow}"));
    assert!(desk.get(&format!("{base}/edit")).await.text().contains(&format!("{base}/try")));
    assert!(
        desk.get(&format!("{base}/share")).await.text().contains(&format!("/f/{flow}/test/v1."))
    );
    let tests = format!("{base}/responses/tests");
    assert!(desk.get(&format!("{base}/responses")).await.text().contains(&tests));
    let page = desk.get(&tests).await.text();
    assert!(page.contains("No test responses") && !page.contains("Delete all test responses"));

    try_it(&site, &desk, &id, "9").await;
    let mut changed = survey();
    changed["questions"][0]["prompt"] = json!("Would you?");
    site.engine.put_draft(&actor(), flow, changed).await.unwrap();
    try_it(&site, &desk, &id, "2").await;
    site.submit(&submission(version)).await.assert_accepted();

    let page = desk.get(&tests).await.text();
    assert!(page.contains("2 test responses") && page.contains("Would you?"), "{page}");
    let (draft, first) = (page.find(">Draft<").unwrap(), page.find(">1<").unwrap());
    assert!(draft < first, "newest first");
    // The page of the responses has only the real one.
    let real = desk.get(&format!("{base}/responses")).await.text();
    assert!(real.contains("1 response") && real.contains("It works."), "{real}");
    let export = desk.get(&format!("{base}/responses/export?format=csv&id=x")).await.text();
    assert_eq!(export.trim_end().lines().count(), 2, "{export}");

    let deleted = desk.post(&format!("{tests}/delete"), &[]).await;
    assert_eq!(Desk::led_to(&deleted), format!("{tests}?done=tests-deleted"));
    let page = desk.get(&format!("{tests}?done=tests-deleted")).await.text();
    assert!(page.contains("All test responses are deleted.") && page.contains("No test responses"));
    assert!(desk.get(&format!("{base}/responses")).await.text().contains("1 response"));
    let audit = desk.get(&format!("/console/apps/{}/settings/audit", site.app)).await.text();
    assert!(audit.contains("deleted all test responses to <a href="), "{audit}");
}

#[tokio::test]
async fn test_links_are_revoked_with_one_click() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let base = format!("/console/flows/{flow}");
    let old = Desk::led_to(&desk.get(&format!("{base}/try")).await);
    let action = format!("{base}/share/test-links/revoke");
    assert!(desk.get(&format!("{base}/share")).await.text().contains(&action));
    let viewer = Desk::sign_in(&site, &[Scope::Read], true).await;
    assert_eq!(viewer.post(&action, &[]).await.status, 403);
    assert_eq!(site.get(&old, &[]).await.status, 200);
    let done = Desk::led_to(&desk.post(&action, &[]).await);
    assert_eq!(done, format!("{base}/share?done=test-links-revoked#test-link-title"));
    assert_eq!(site.get(&old, &[]).await.status, 404);
    let new = Desk::led_to(&desk.get(&format!("{base}/try")).await);
    assert_eq!(site.get(&new, &[]).await.status, 200);
    let audit = desk.get(&format!("/console/apps/{}/settings/audit", site.app)).await.text();
    assert!(audit.contains("revoked the test links of <a href="), "{audit}");
}

#[tokio::test]
async fn tests_beyond_a_page_follow_on_the_next() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    for _ in 0..101 {
        try_it(&site, &desk, &flow.to_string(), "9").await;
    }
    let rows = |page: &str| page.matches("<tr class=\"test\"").count();
    let first = desk.get(&format!("/console/flows/{flow}/responses/tests")).await.text();
    assert_eq!(rows(&first), 100);
    let older = first.split("responses/tests?after=").nth(1).unwrap().split('"').next().unwrap();
    let second = desk.get(&format!("/console/flows/{flow}/responses/tests?after={older}")).await;
    assert_eq!(rows(&second.text()), 1);
    assert!(second.text().contains("Newest") && !second.text().contains("?after="));
}

#[tokio::test]
async fn a_viewer_reads_tests_and_neither_makes_nor_deletes_them() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    try_it(&site, &desk, &flow.to_string(), "9").await;
    let viewer = Desk::sign_in(&site, &[Scope::Read], true).await;
    let base = format!("/console/flows/{flow}");
    let page = viewer.get(&format!("{base}/responses/tests")).await.text();
    assert!(page.contains("1 test response.") && !page.contains("Delete all"), "{page}");
    for place in ["edit", "share", "responses/tests"] {
        let page = viewer.get(&format!("{base}/{place}")).await.text();
        assert!(!page.contains("/try") && !page.contains("/test/v1."), "{place}");
    }
    assert_eq!(viewer.get(&format!("{base}/try")).await.status, 403);
    assert_eq!(viewer.post(&format!("{base}/responses/tests/delete"), &[]).await.status, 403);
    assert!(
        viewer.get(&format!("{base}/responses/tests")).await.text().contains("1 test response.")
    );
}

#[tokio::test]
async fn an_archived_flow_keeps_its_tests_and_makes_none() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    try_it(&site, &desk, &flow.to_string(), "9").await;
    site.engine.archive_flow(&actor(), flow).await.unwrap();
    let base = format!("/console/flows/{flow}");
    let page = desk.get(&format!("{base}/responses/tests")).await.text();
    assert!(page.contains("1 test response.") && !page.contains("/try"), "{page}");
    assert_eq!(desk.get(&format!("{base}/try")).await.status, 409);
    desk.post(&format!("{base}/responses/tests/delete"), &[]).await;
    assert!(
        desk.get(&format!("{base}/responses/tests")).await.text().contains("No test responses")
    );
}
