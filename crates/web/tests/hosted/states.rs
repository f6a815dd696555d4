//! Pages without anything to answer: each explains why, and what to do.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::{FlowPatch, NewInvitation};
use sluice_flow::id::FlowId;
use sluice_flow::invitation::{InvitationState, Invitee};
use sluice_flow::time::Timestamp;

use crate::browser::{Browser, READ, attribute, one, path, published, stored};
use crate::support::{START, Site, actor};

fn nps() -> Value {
    one(json!({"id": "nps", "type": "nps", "prompt": "How?"}))
}

#[tokio::test]
async fn an_unknown_archived_or_unpublished_flow_is_not_found() {
    let site = Site::start().await;
    let unpublished = site.flow(nps()).await;
    let archived = published(&site, nps()).await;
    site.engine.archive_flow(&actor(), archived).await.unwrap();
    let retired = published(&site, nps()).await;
    let version =
        site.engine.links().flow(&retired.to_string()).await.unwrap().unwrap().current.id();
    site.engine.retire(&actor(), version).await.unwrap();
    for flow in [
        unpublished.to_string(),
        archived.to_string(),
        retired.to_string(),
        "fl_0000000000000000000000".to_owned(),
        "nonsense".to_owned(),
        "%3Cscript%3E".to_owned(),
    ] {
        let mut browser = Browser::open(&site, &format!("/f/{flow}")).await;
        assert_eq!((browser.page.status, browser.state().as_str()), (404, "missing"), "{flow}");
        browser.press("send", &[("answers.nps", "9")]).await;
        assert_eq!((browser.page.status, browser.state().as_str()), (404, "missing"), "{flow}");
        let done = site.get(&format!("/f/{flow}/done"), &[]).await;
        assert_eq!(done.status, 404, "{flow}");
        assert!(!done.text().contains(&flow), "{flow}");
    }
}

#[tokio::test]
async fn a_closed_flow_shows_its_title_without_marks_and_placeholders() {
    let site = Site::start().await;
    let mut definition = nps();
    definition["title"] = json!("**How** was {{tag:shop|our shop}}?");
    let flow = published(&site, definition).await;
    site.live_window(flow, None, Some(START)).await;
    for (query, title) in [("", "How was our shop?"), ("?tags.shop=Acme", "How was Acme?")] {
        let html = Browser::open(&site, &format!("{}{query}", path(flow))).await.html();
        assert!(html.contains(&format!("<p class=\"detail\" dir=\"auto\">{title}</p>")), "{html}");
        assert!(!html.contains("{{") && !html.contains("**"), "{html}");
    }
}

#[tokio::test]
async fn outside_its_window_a_flow_shows_when_it_is_open() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    for (window, state, time) in [
        ((Some(START + 3_600_000), None), "scheduled", "2026-11-15T03:00:00.000Z"),
        ((None, Some(START)), "closed", "2026-11-15T02:00:00.000Z"),
    ] {
        site.live_window(flow, window.0, window.1).await;
        let page = Browser::open(&site, &path(flow)).await;
        assert_eq!((page.page.status, page.state().as_str()), (200, state));
        assert_eq!(attribute(&page.html(), "datetime=\""), time);
        assert!(!page.html().contains("<form") && page.html().contains("One"));
        site.at(READ);
        for go in ["next", "send"] {
            let form = browser.page.body.clone();
            browser.press(go, &[("answers.nps", "9")]).await;
            assert_eq!(browser.state(), state, "{go}");
            browser.page.body = form;
        }
        site.at(0);
    }
    assert!(stored(&site, flow).await.is_empty());
}

async fn invited(site: &Site, flow: FlowId) -> (String, sluice_flow::id::AssignmentId) {
    let invitee = Invitee { user_id: Some("user-4711".to_owned()), email: None };
    let expires_at = Some(Timestamp::from_millis(START + 1_000_000));
    let new = NewInvitation { invitee, expires_at, line: None };
    let made =
        site.engine.invite(&actor(), flow, &[new], sluice_engine::Duplicates::Allow, false).await;
    let id = made.unwrap()[0].row.assignment_id;
    (format!("/f/{flow}?flowAssignmentId={id}"), id)
}

async fn state_of(site: &Site, id: sluice_flow::id::AssignmentId) -> InvitationState {
    site.engine.get_invitation(&actor(), id).await.unwrap().state
}

#[tokio::test]
async fn an_invitation_is_opened_by_the_script_or_the_first_step_and_never_by_a_get() {
    let site = Site::start().await;
    let flow = published(
        &site,
        json!({"title": "t", "questions": [
            {"id": "a", "type": "nps", "prompt": "?"}, {"id": "b", "type": "nps", "prompt": "?"},
        ]}),
    )
    .await;
    let (address, id) = invited(&site, flow).await;
    let mut browser = Browser::open(&site, &address).await;
    assert_eq!(state_of(&site, id).await, InvitationState::Sent);
    browser.press("next", &[]).await;
    assert_eq!(state_of(&site, id).await, InvitationState::Opened);

    let (address, id) = invited(&site, flow).await;
    let page = Browser::open(&site, &address).await;
    let opened = attribute(&page.html(), "data-opened=\"");
    let post = |path: &str, body: &'static str| {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        crate::support::request(http::Method::POST, path, &form, axum::body::Body::from(body))
    };
    assert_eq!(site.send(post(&opened, "")).await.status, 204);
    assert_eq!(state_of(&site, id).await, InvitationState::Opened);
    // The page does not reveal whether an id exists.
    let unknown = format!("/f/{flow}/opened");
    let body = "flowAssignmentId=fa_0000000000000000000000";
    assert_eq!(site.send(post(&unknown, body)).await.status, 204);
    assert_eq!(site.get(&opened, &[]).await.status, 405);
}

#[tokio::test]
async fn a_closed_invitation_is_explained_and_accepts_no_answers() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let (used, _) = invited(&site, flow).await;
    let (revoked, revoked_id) = invited(&site, flow).await;
    let (expired, _) = invited(&site, flow).await;
    let mut late = Browser::open(&site, &expired).await;
    let mut twice = Browser::open(&site, &used).await;
    let mut browser = Browser::open(&site, &used).await;
    assert_eq!(browser.state(), "asking");
    site.at(READ);
    browser.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(browser.page.status, 303);
    twice.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(twice.state(), "invitation-used");
    site.engine.revoke_invitation(&actor(), revoked_id).await.unwrap();
    site.at(1_000_000);
    late.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(late.state(), "invitation-expired");
    for (address, state) in [
        (used, "invitation-used"),
        (revoked, "invitation-revoked"),
        (expired, "invitation-expired"),
    ] {
        let page = Browser::open(&site, &address).await;
        assert_eq!((page.page.status, page.state().as_str()), (410, state));
    }
    assert_eq!(stored(&site, flow).await.len(), 1);
}

#[tokio::test]
async fn the_ending_is_the_authors_and_redirects_as_configured() {
    let site = Site::start().await;
    let mut definition = nps();
    definition["ending"] =
        json!({"title": "Cheers", "body": "Bye.", "redirectUrl": "https://shop.example/a?b=c"});
    let flow = published(&site, definition).await;
    for (query, headers, location) in [
        ("", vec![], Some("https://shop.example/a?b=c".to_owned())),
        ("?embed=1&theme=dark&context.locale=en", vec![], None),
        ("", vec![("sluice-script", "1")], None),
    ] {
        site.at(0);
        let mut browser = Browser::open_with(&site, &format!("/f/{flow}{query}"), &headers).await;
        site.at(READ);
        browser.press("send", &[("answers.nps", "9")]).await;
        let page = match browser.page.header("location") {
            Some(address) if location.is_some() => {
                assert_eq!(Some(address), location);
                continue;
            }
            Some(address) => {
                assert!(
                    address.contains("&embed=1&theme=dark&context%2Elocale=en")
                        || address.contains("&embed=1&theme=dark&context.locale=en"),
                    "{address}"
                );
                site.get(&address, &[]).await.text()
            }
            None => browser.html(),
        };
        for part in [
            "<h1 dir=\"auto\">Cheers</h1>",
            "Bye.",
            "data-redirect=\"https://shop.example/a?b=c\"",
            "href=\"https://shop.example/a?b=c\"",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}

#[tokio::test]
async fn a_flow_with_all_its_responses_is_closed() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let patch = FlowPatch {
        close_after: Some(Some(1)),
        quotas: Some(
            json!([{"id": "low", "when": {"question": "nps", "lessThan": 7}, "limit": 1}]),
        ),
        ..FlowPatch::default()
    };
    // The window is open, and would be for an hour.
    site.live_window(flow, None, Some(START + 3_600_000)).await;
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let mut first = Browser::open(&site, &path(flow)).await;
    let mut second = Browser::open(&site, &path(flow)).await;
    site.at(READ);
    first.press("send", &[("answers.nps", "3")]).await;
    assert_eq!(stored(&site, flow).await.len(), 1);
    // One that was filled in meanwhile, and one that is opened now.
    second.press("send", &[("answers.nps", "9")]).await;
    assert_eq!((second.page.status, second.state().as_str()), (200, "closed"));
    assert!(!second.html().contains("datetime="), "it did not close by its window");
    let late = Browser::open(&site, &path(flow)).await;
    assert_eq!((late.page.status, late.state().as_str()), (200, "closed"));
    // With room in total, the quota closes it for these answers only.
    let patch = FlowPatch { close_after: Some(None), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let mut low = Browser::open(&site, &path(flow)).await;
    let mut high = Browser::open(&site, &path(flow)).await;
    site.at(2 * READ);
    low.press("send", &[("answers.nps", "2")]).await;
    assert_eq!((low.page.status, low.state().as_str()), (200, "closed"));
    high.press("send", &[("answers.nps", "8")]).await;
    assert_eq!(high.page.status, 303);
    assert_eq!(stored(&site, flow).await.len(), 2);
}
