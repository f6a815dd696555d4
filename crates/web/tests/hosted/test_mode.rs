//! The test link: the whole way of a response, stored apart and never counted.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::funnel::FunnelFilter;
use sluice_engine::rows::{Page, Scope, TestResponseRow};
use sluice_engine::{FlowPatch, TEST_DAYS, TEST_LINK_DAYS};
use sluice_flow::id::FlowId;

use crate::browser::{Browser, READ, path, stored};
use crate::support::{START, Site, actor, submission, survey};

const BANNER: &str = "Test: this answer is not counted.";
const DAY: i64 = 24 * 60 * 60 * 1000;

async fn link(site: &Site, flow: FlowId) -> String {
    let opened = site.engine.flow(&actor(), Scope::Write, flow).await.unwrap();
    format!("/f/{flow}/test/{}", opened.test_link().unwrap().token)
}

async fn tests(site: &Site, flow: FlowId) -> Vec<TestResponseRow> {
    let opened = site.engine.flow(&actor(), Scope::Read, flow).await.unwrap();
    opened.test_responses(Page { after: None, limit: 100 }).await.unwrap()
}

#[tokio::test]
async fn revoked_test_links_no_longer_work_and_new_ones_do() {
    let site = Site::start().await;
    let (flow, other) = (site.flow(survey()).await, site.flow(survey()).await);
    let (old, elsewhere) = (link(&site, flow).await, link(&site, other).await);
    let mut open = Browser::open(&site, &old).await;
    let handle = site.engine.flow(&actor(), Scope::Write, flow).await.unwrap();
    let reader = site.engine.flow(&actor(), Scope::Read, flow).await.unwrap();
    assert!(reader.revoke_test_links().await.is_err(), "a handle for reading cannot write");
    handle.revoke_test_links().await.unwrap();
    assert_eq!(Browser::open(&site, &old).await.page.status, 404);
    // A form that is open is not stored either.
    site.at(READ);
    open.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(open.page.status, 404);
    assert_eq!(tests(&site, flow).await, []);
    // Links of other flows, and new ones of this flow.
    for address in [elsewhere, link(&site, flow).await] {
        assert_eq!(Browser::open(&site, &address).await.page.status, 200);
    }
    // Again: none of the numbers is used twice.
    let second = link(&site, flow).await;
    handle.revoke_test_links().await.unwrap();
    assert_eq!(Browser::open(&site, &second).await.page.status, 404);
    assert_eq!(Browser::open(&site, &old).await.page.status, 404);
}

/// Nothing of a flow has been counted or stored.
async fn assert_untouched(site: &Site, flow: FlowId) {
    assert_eq!(stored(site, flow).await, []);
    let funnel = site.engine.funnel(&actor(), flow, &FunnelFilter::default()).await.unwrap();
    assert_eq!((funnel.opened, funnel.started, funnel.finished), (0, 0, 0));
    let app = site.engine.app(&actor(), Scope::Read, site.app).await.unwrap();
    let sparks = app.sparks(30).await.unwrap();
    assert_eq!(sparks.iter().map(|spark| spark.responses).sum::<u64>(), 0);
}

fn scored() -> Value {
    json!({
        "title": "How was it?",
        "questions": [
            {"id": "mark", "type": "singleChoice", "prompt": "A mark?", "required": true,
             "options": [{"id": "good", "label": "Good", "score": 2.5}, {"id": "bad", "label": "Bad", "score": -1}]},
            {"id": "why", "type": "shortText", "prompt": "Why {{answer:mark}}?",
             "visibleIf": {"question": "mark", "equals": "bad"}},
        ],
        "endings": [{"id": "sad", "when": {"question": "mark", "equals": "bad"},
                     "title": "Sorry that it was {{answer:mark}}, {{tag:plan|you}}"}],
        "ending": {"title": "Great"},
    })
}

#[tokio::test]
async fn a_draft_is_answered_without_script_and_stored_as_a_test() {
    let site = Site::start().await;
    let flow = site.flow(scored()).await;
    let address = format!("{}?tags.plan=pro", link(&site, flow).await);
    let mut browser = Browser::open(&site, &address).await;
    assert_eq!((browser.page.status, browser.state().as_str()), (200, "asking"));
    assert!(browser.html().contains(BANNER), "{}", browser.html());
    assert!(!browser.html().contains("data-visits") && !browser.html().contains("og:title"));
    site.at(READ);
    // The rules, the logic and the texts are those of the public page.
    let refused = browser.press("next", &[]).await;
    assert_eq!(refused.status, 422);
    browser.press("next", &[("answers.mark", "bad")]).await;
    assert!(browser.html().contains("name=\"answers.why\""), "{}", browser.html());
    assert!(browser.html().contains(BANNER) && !browser.html().contains("{{"));
    browser.press("send", &[("answers.why", "Slow.")]).await;
    assert_eq!((browser.page.status, browser.state().as_str()), (200, "stored"));
    let title = "<title>Sorry that it was Bad, pro</title>";
    assert!(browser.html().contains(title), "{}", browser.html());
    assert!(browser.html().contains(BANNER) && !browser.html().contains("Your answers are saved"));
    let found = tests(&site, flow).await;
    assert_eq!(found.len(), 1);
    let test = &found[0];
    assert_eq!((test.number, test.score.as_deref()), (0, Some("-1")));
    assert_eq!(test.received_at.as_millis(), START + READ);
    let answers: Value = serde_json::from_str(&test.answers).unwrap();
    assert_eq!(answers, json!({"mark": "bad", "why": "Slow."}));
    let tags: Value = serde_json::from_str(test.tags.as_ref().unwrap()).unwrap();
    assert_eq!(tags, json!({"plan": "pro"}));
    assert_untouched(&site, flow).await;
}

#[tokio::test]
async fn a_form_that_is_sent_twice_is_one_test() {
    let site = Site::start().await;
    let flow = site.flow(survey()).await;
    let address = link(&site, flow).await;
    let mut browser = Browser::open_with(&site, &address, &[("sluice-script", "1")]).await;
    site.at(READ);
    let key = browser.hidden("key");
    for _ in 0..2 {
        let body = [("key", key.as_str()), ("answers.nps", "9")];
        browser.press("send", &body).await;
        assert_eq!(browser.state(), "stored", "{}", browser.html());
        assert!(browser.html().contains(BANNER));
    }
    assert_eq!(tests(&site, flow).await.len(), 1);
    let mut other = Browser::open(&site, &address).await;
    site.at(2 * READ);
    other.press("send", &[("answers.nps", "3")]).await;
    let found = tests(&site, flow).await;
    assert_eq!(found.len(), 2);
    assert!(found[0].answers.contains('3') && found[1].answers.contains('9'), "{found:?}");
}

#[tokio::test]
async fn the_published_version_is_tested_unless_the_draft_differs() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let address = link(&site, flow).await;
    let mut changed = survey();
    changed["title"] = json!("Changed");
    for (draft, title, number) in [
        (None, "Product feedback", 1),
        (Some(survey()), "Product feedback", 1),
        (Some(changed), "Changed", 0),
    ] {
        if let Some(draft) = draft {
            site.engine.put_draft(&actor(), flow, draft).await.unwrap();
        }
        let mut browser = Browser::open(&site, &address).await;
        assert!(browser.html().contains(&format!("<title>{title}</title>")), "{title}");
        site.clock.advance_millis(READ);
        browser.press("send", &[("answers.nps", "9")]).await;
        assert_eq!(browser.state(), "stored");
        assert_eq!(tests(&site, flow).await[0].number, number, "{title}");
    }
    assert_untouched(&site, flow).await;
}

#[tokio::test]
async fn a_link_works_only_for_its_flow_until_it_ends() {
    let site = Site::start().await;
    let (flow, _) = site.published().await;
    let (other, _) = site.published().await;
    let address = link(&site, flow).await;
    let token = address.rsplit('/').next().unwrap();
    let cut = &token[..token.len() - 1];
    for path in [
        format!("/f/{other}/test/{token}"),
        format!("/f/{flow}/test/{cut}"),
        format!("/f/{flow}/test/x"),
        format!("/f/nothing/test/{token}"),
    ] {
        assert_eq!(site.get(&path, &[]).await.status, 404, "{path}");
        let mut browser = Browser::open(&site, &address).await;
        site.clock.advance_millis(READ);
        let key = browser.hidden("key");
        browser = Browser::open(&site, &path).await;
        browser.press("send", &[("key", &key), ("answers.nps", "9")]).await;
        assert_eq!(browser.page.status, 404, "{path}");
    }
    site.at(TEST_LINK_DAYS * DAY - 1);
    assert_eq!(site.get(&address, &[]).await.status, 200);
    site.at(TEST_LINK_DAYS * DAY);
    assert_eq!(site.get(&address, &[]).await.status, 404);
    let renewed = link(&site, flow).await;
    assert_eq!(site.get(&renewed, &[]).await.status, 200);
    site.engine.archive_flow(&actor(), flow).await.unwrap();
    assert_eq!(site.get(&renewed, &[]).await.status, 404);
    assert_eq!((tests(&site, flow).await, tests(&site, other).await), (vec![], vec![]));
}

#[tokio::test]
async fn tests_use_up_no_place_and_need_no_open_flow() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let patch = FlowPatch { close_after: Some(Some(1)), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let address = link(&site, flow).await;
    let test = async || {
        let mut browser = Browser::open(&site, &address).await;
        site.clock.advance_millis(READ);
        browser.press("send", &[("answers.nps", "9")]).await;
        assert_eq!(browser.state(), "stored", "{}", browser.html());
    };
    test().await;
    test().await;
    assert_untouched(&site, flow).await;
    site.submit(&submission(version)).await.assert_accepted();
    assert_eq!(Browser::open(&site, &path(flow)).await.state(), "closed");
    // Its last place is taken, and a test is still possible; also after its window has ended.
    test().await;
    site.live_window(flow, None, Some(START)).await;
    test().await;
    assert_eq!(tests(&site, flow).await.len(), 4);
    assert_eq!(stored(&site, flow).await.len(), 1);
}

#[tokio::test]
async fn a_test_redirects_as_the_ending_says() {
    let site = Site::start().await;
    let mut definition = survey();
    definition["ending"] = json!({"redirectUrl": "https://shop.example/thanks"});
    let flow = site.flow(definition).await;
    let address = link(&site, flow).await;
    let mut browser = Browser::open(&site, &address).await;
    site.at(READ);
    browser.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(browser.page.header("location").unwrap(), "https://shop.example/thanks");
    assert_eq!(tests(&site, flow).await.len(), 1);
}

#[tokio::test]
async fn old_tests_are_deleted_as_the_app_keeps_responses() {
    let site = Site::start().await;
    let short = site.other_app().await;
    let flows = [site.flow(survey()).await, short.flow(survey()).await];
    let patch = sluice_engine::AppPatch { retention_days: Some(Some(2)), ..Default::default() };
    site.engine.update_app(&actor(), short.app, &patch).await.unwrap();
    for flow in flows {
        let address = link(&site, flow).await;
        let mut browser = Browser::open(&site, &address).await;
        site.clock.advance_millis(READ);
        browser.press("send", &[("answers.nps", "9")]).await;
    }
    for (day, left) in [(1, [1, 1]), (3, [1, 0]), (i64::from(TEST_DAYS) + 1, [0, 0])] {
        site.at(day * DAY);
        site.engine.upkeep().enforce_retention().await.unwrap();
        let found = [tests(&site, flows[0]).await.len(), tests(&site, flows[1]).await.len()];
        assert_eq!(found, left, "after {day} days");
    }
}
