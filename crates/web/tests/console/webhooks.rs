//! The pages of webhook endpoints and of the event log.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::rows::{DeliveryRow, DeliveryState, Role, Scope};
use sluice_flow::id::{AppId, ResponseId};

use crate::hooks::{failed, hook, put};
use crate::support::{Browser, Site, actor, definition};

async fn shop(site: &Site) -> (AppId, sluice_flow::id::FlowId, ResponseId) {
    let app = site.app("Shop").await;
    let (flow, version) = site.flow(app, definition("Feedback")).await;
    site.clock.advance_millis(1);
    let response = site.respond(app, version, json!({"answers": {"nps": "9"}})).await;
    (app, flow, response)
}

fn list(app: AppId) -> String {
    format!("/console/apps/{app}/settings/webhooks")
}

/// The secret that a page shows.
fn secret(page: &str) -> String {
    let at = page.find("whsec_").unwrap_or_else(|| panic!("no secret: {page}"));
    page[at..].split('<').next().unwrap().to_owned()
}

/// Creates an endpoint with the form, and returns its address in the console.
async fn create(owner: &Browser<'_>, app: AppId, url: &str) -> String {
    let page = owner.post(&list(app), &[("url", url)]).await.ok();
    let start = page.find(&format!("{}/ep_", list(app))).unwrap();
    page[start..].split(['"', '/']).take(7).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn without_endpoints_the_page_explains_webhooks() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let page = owner.get(&list(app)).await.ok();
    assert!(page.contains("No webhook endpoints yet") && page.contains("/docs/events"));
    let editor = site.signed_in(Some(app), Role::Editor).await;
    assert_eq!(editor.get(&list(app)).await.status, 403);
    let settings = editor.get(&format!("/console/apps/{app}/settings")).await.ok();
    assert!(!settings.contains("settings/webhooks"), "the tab is for owners");
}

#[tokio::test]
async fn a_new_endpoint_shows_its_secret_once() {
    let site = Site::start().await;
    let (app, flow, _) = shop(&site).await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let flow_id = flow.to_string();
    let form = [
        ("url", "https://hooks.example/a?key=1"),
        ("description", "CRM <b>"),
        ("types", "response.created"),
        ("types", "flow.closed"),
        ("flows", flow_id.as_str()),
    ];
    let page = owner.post(&list(app), &form).await.ok();
    assert!(secret(&page).len() > 30);
    assert!(page.contains("CRM &lt;b&gt;") && page.contains("Response stored, Flow closed"));
    assert!(page.contains("of Feedback"), "{page}");
    let opened = site.engine.app(&actor(), Scope::Admin, app).await.unwrap();
    let endpoint = &opened.list_endpoints().await.unwrap()[0];
    assert_eq!((endpoint.filter.types.len(), &endpoint.filter.flows[..]), (2, &[flow][..]));
    let one = format!("{}/{}", list(app), endpoint.endpoint_id);
    for path in [list(app), one.clone(), format!("{one}/edit")] {
        let page = owner.get(&path).await.ok();
        assert!(page.contains("https://hooks.example/a?key=1") && !page.contains("whsec_"));
    }
    let edit = owner.get(&format!("{one}/edit")).await.ok();
    assert!(edit.contains(r#"value="flow.closed" checked"#), "{edit}");
    assert!(edit.contains(&format!(r#"value="{flow}" checked"#)), "{edit}");

    let form = [("url", "https://hooks.example/b"), ("description", "")];
    let saved = owner.post(&format!("{one}/edit"), &form).await;
    assert_eq!(saved.to(), format!("{one}?done=saved"));
    let page = owner.get(&one).await.ok();
    assert!(page.contains("https://hooks.example/b") && page.contains("All events"));
}

#[tokio::test]
async fn a_wrong_endpoint_is_explained_and_what_was_typed_stays() {
    let site = Site::start().await;
    let (app, _, _) = shop(&site).await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let other = site.app("Other").await;
    let (foreign, _) = site.flow(other, definition("Foreign")).await;
    let foreign = foreign.to_string();
    let form = [("url", "http://10.0.0.1/x"), ("description", "Kept"), ("flows", &foreign)];
    let refused = owner.post(&list(app), &form).await;
    assert_eq!(refused.status, 422);
    let page = &refused.text;
    assert!(page.contains(r##"href="#url""##) && page.contains(r#"value="Kept""#), "{page}");
    assert!(page.contains(&format!("Flows contain “{foreign}”")), "{page}");
    let form = [("url", "https://hooks.example/a"), ("otherFlows", "fl_nonsense")];
    let refused = owner.post(&list(app), &form).await;
    assert!(refused.status == 422 && refused.text.contains("contain “fl_nonsense”"));
    let opened = site.engine.app(&actor(), Scope::Admin, app).await.unwrap();
    assert!(opened.list_endpoints().await.unwrap().is_empty());
}

#[tokio::test]
async fn batches_are_chosen_in_the_form_and_only_with_a_format_that_has_them() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let form = [("url", "https://hooks.example/a"), ("format", "slack"), ("batch", "yes")];
    let refused = owner.post(&list(app), &form).await;
    assert_eq!(refused.status, 422);
    let page = &refused.text;
    assert!(page.contains("Batches must be false with the format Slack"), "{page}");
    assert!(page.contains(r#"name="batch" value="yes" checked"#), "{page}");
    let form = [("url", "https://hooks.example/a"), ("format", "standard"), ("batch", "yes")];
    let page = owner.post(&list(app), &form).await.ok();
    assert!(page.contains("Up to 100 events in one request"), "{page}");
    let opened = site.engine.app(&actor(), Scope::Admin, app).await.unwrap();
    assert!(opened.list_endpoints().await.unwrap()[0].batch);
}

#[tokio::test]
async fn a_test_event_shows_what_came_back() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    for (url, done, shown) in [
        ("https://hooks.example/a", "test-delivered", &["Delivered", "202", "queued"][..]),
        ("https://hooks.example/broken", "test-failed", &["500", "&lt;h1&gt;Broken &amp; sorry"]),
        ("https://hooks.example/away", "test-failed", &["No reply", "the connection was refused"]),
    ] {
        let one = create(&owner, app, url).await;
        let sent = owner.post(&format!("{one}/test"), &[]).await;
        let delivery = sent.to().to_owned();
        assert!(delivery.ends_with(&format!("?done={done}")), "{url}: {delivery}");
        let page = owner.get(&delivery).await.ok();
        for text in shown {
            assert!(page.contains(text), "{url}: no {text}: {page}");
        }
        assert!(page.contains("endpoint.test") && !page.contains("/redeliver\""), "{page}");
        assert!(owner.get(&one).await.ok().contains("Test event"));
    }
}

#[tokio::test]
async fn deliveries_are_paged_filtered_and_sent_again() {
    let site = Site::start().await;
    let (app, _, response) = shop(&site).await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let (endpoint, delivery) = hook(&site, app, response).await;
    let many = (2..=30).map(|number| DeliveryRow {
        state: DeliveryState::Delivered,
        status: Some(204),
        ..failed(&site, app, endpoint, response, number)
    });
    put(&site, many.collect()).await;
    let one = format!("{}/{endpoint}", list(app));
    let page = owner.get(&one).await.ok();
    assert_eq!(page.matches("/deliveries/").count(), 25);
    assert!(page.contains("Older") && !page.contains(&delivery.to_string()));
    let older = page.split("after=").nth(1).unwrap().split('#').next().unwrap();
    let second = owner.get(&format!("{one}?after={older}")).await.ok();
    assert_eq!(second.matches("/deliveries/").count(), 5);
    assert!(second.contains(&delivery.to_string()) && second.contains("Newest"));
    let of_failed = owner.get(&format!("{one}?state=failed")).await.ok();
    assert_eq!(of_failed.matches("/deliveries/").count(), 1);
    assert!(owner.get(&format!("{one}?state=waiting")).await.ok().contains("No deliveries here."));

    let path = format!("{one}/deliveries/{delivery}");
    let page = owner.get(&path).await.ok();
    for text in ["503", "1,234 ms", "try &lt;later&gt;", "response.created", &response.to_string()]
    {
        assert!(page.contains(text), "no {text}: {page}");
    }
    let again = owner.post(&format!("{path}/redeliver"), &[]).await;
    assert_eq!(again.to(), format!("{path}?done=redelivering"));
    let page = owner.get(&path).await.ok();
    assert!(page.contains("Waiting") && page.contains("Next attempt"), "{page}");
    let listed = owner.get(&list(app)).await.ok();
    assert!(listed.contains("<td data-label=\"Waiting\">1</td>"), "{listed}");

    // Failed again, and sent again with all others since a time.
    put(&site, vec![failed(&site, app, endpoint, response, 1)]).await;
    let all = owner.post(&format!("{one}/redeliver"), &[("since", "hour")]).await;
    assert_eq!(all.to(), format!("{one}?done=redelivering-failed"));
    assert!(owner.get(&format!("{one}?state=failed")).await.ok().contains("No deliveries here."));
    assert_eq!(owner.post(&format!("{one}/redeliver"), &[("since", "x")]).await.status, 422);
}

#[tokio::test]
async fn a_delivery_whose_event_is_gone_cannot_be_sent_again() {
    let site = Site::start().await;
    let (app, _, response) = shop(&site).await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let (endpoint, delivery) = hook(&site, app, response).await;
    site.engine.delete_response(&actor(), response).await.unwrap();
    let path = format!("{}/{endpoint}/deliveries/{delivery}", list(app));
    let page = owner.get(&path).await.ok();
    assert!(page.contains("The event no longer exists") && !page.contains("Redeliver"), "{page}");
    assert_eq!(owner.post(&format!("{path}/redeliver"), &[]).await.status, 409);
}

#[tokio::test]
async fn an_endpoint_is_replayed_from_a_time_or_an_event() {
    let site = Site::start().await;
    let (app, _, response) = shop(&site).await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let (endpoint, _) = hook(&site, app, response).await;
    let one = format!("{}/{endpoint}", list(app));
    let opened = site.engine.app(&actor(), Scope::Admin, app).await.unwrap();
    let cursor = async || opened.endpoint(endpoint).await.unwrap().cursor;
    let replayed = owner.post(&format!("{one}/replay"), &[("since", "day"), ("after", "")]).await;
    assert_eq!(replayed.to(), format!("{one}?done=replaying"));
    assert_eq!(cursor().await.made_at(), site.engine.now().plus_seconds(-24 * 60 * 60));
    let event = sluice_flow::event::payload::created_id(response);
    let text = event.to_string();
    owner.post(&format!("{one}/replay"), &[("since", "day"), ("after", &text)]).await.to();
    assert_eq!(cursor().await, event);
    let wrong =
        owner.post(&format!("{one}/replay"), &[("since", "week"), ("after", "7 <i>")]).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("7 &lt;i&gt;") && wrong.text.contains(r##"href="#after""##));
    assert!(wrong.text.contains(r#"value="week" selected"#), "{}", wrong.text);
    assert_eq!(cursor().await, event);
}

#[tokio::test]
async fn a_secret_is_replaced_and_the_page_shows_how_long_the_old_one_is_valid() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let one = create(&owner, app, "https://hooks.example/a").await;
    let page = owner.post(&format!("{one}/secret"), &[("keep", "86400")]).await.ok();
    assert!(secret(&page).len() > 30 && page.contains("2026-11-16 02:00 UTC"), "{page}");
    let page = owner.get(&one).await.ok();
    assert!(!page.contains("whsec_") && page.contains("stays valid until"), "{page}");
    assert!(owner.get(&format!("{one}/secret")).await.ok().contains("was replaced recently"));
    owner.post(&format!("{one}/secret"), &[("keep", "0")]).await.ok();
    assert!(!owner.get(&one).await.ok().contains("stays valid until"));
    assert_eq!(owner.post(&format!("{one}/secret"), &[("keep", "5")]).await.status, 422);
}

#[tokio::test]
async fn an_endpoint_is_disabled_enabled_and_deleted() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let owner = site.signed_in(Some(app), Role::Owner).await;
    let one = create(&owner, app, "https://hooks.example/a").await;
    let off = owner.post(&format!("{one}/state"), &[("enabled", "no")]).await;
    assert_eq!(off.to(), format!("{one}?done=endpoint-disabled"));
    let page = owner.get(&one).await.ok();
    assert!(page.contains("Disabled, ") && page.contains(">Enable</button>"), "{page}");
    owner.post(&format!("{one}/state"), &[("enabled", "yes")]).await.to();
    assert!(owner.get(&one).await.ok().contains(">Disable</button>"));
    let gone = owner.post(&format!("{one}/delete"), &[]).await;
    assert_eq!(gone.to(), format!("{}?done=deleted", list(app)));
    assert_eq!(owner.get(&one).await.status, 404);
}

#[tokio::test]
async fn the_log_of_events_is_shown_newest_first_within_a_time_and_after_an_event() {
    let site = Site::start().await;
    let (app, flow, response) = shop(&site).await;
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    let log = format!("/console/apps/{app}/settings/events");
    // Pages end shortly before the present.
    site.clock.advance_millis(90_000);
    let page = viewer.get(&log).await.ok();
    let (published, stored) = (page.find("Flow published"), page.find("Response stored"));
    let first = page.find("<tbody").unwrap();
    assert!(published.is_some() && stored.is_some(), "{page}");
    assert!(page[first..].find("Response stored") < page[first..].find("Flow published"));
    assert!(page.contains(&format!("/console/flows/{flow}/responses/{response}")), "{page}");
    let only = viewer.get(&format!("{log}?type=flow.published")).await.ok();
    assert!(!only.contains(&response.to_string()) && only.contains("flow.published"));
    let (other, _) = site.flow(app, definition("Another")).await;
    site.clock.advance_millis(90_000);
    let of_flow = viewer.get(&format!("{log}?flow={other}")).await.ok();
    assert!(!of_flow.contains(&response.to_string()), "{of_flow}");
    let after = sluice_flow::event::payload::created_id(response);
    let later = viewer.get(&format!("{log}?after={after}")).await.ok();
    assert!(!later.contains(&format!("/responses/{response}")) && later.contains("Another"));
    site.clock.advance_millis(2 * 60 * 60 * 1_000);
    assert!(viewer.get(&format!("{log}?since=hour")).await.ok().contains("No events"));
    assert!(viewer.get(&log).await.ok().contains("Flow published"), "any time by default");
    let until = |seconds: i64| {
        let text = after.made_at().plus_seconds(seconds).to_string();
        format!("{log}?until={}", text[..16].replace(':', "%3A"))
    };
    assert!(viewer.get(&until(-600)).await.ok().contains("No events"));
    let then = viewer.get(&until(600)).await.ok();
    assert!(then.contains(&response.to_string()), "{then}");
    assert!(viewer.get(&format!("{log}?until=soon")).await.ok().contains("Flow published"));
}

/// The responses that a page of the log links to, in order.
fn responses_on(page: &str) -> Vec<String> {
    let links = page.split("/responses/rs_").skip(1);
    links.map(|rest| rest.chars().take(22).collect()).collect()
}

/// The address of a link with this text.
fn link(page: &str, text: &str) -> Option<String> {
    let (before, _) = page.split_once(&format!("\">{text}</a>"))?;
    let (_, address) = before.rsplit_once("href=\"")?;
    Some(address.replace("&amp;", "&"))
}

#[tokio::test]
async fn the_pages_of_the_log_lead_to_older_and_newer_events() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (_, version) = site.flow(app, definition("Feedback")).await;
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    let mut expected = Vec::new();
    for _ in 0..120 {
        site.clock.advance_millis(10);
        let id = site.respond(app, version, json!({"answers": {"nps": "9"}})).await.to_string();
        expected.push(id.trim_start_matches("rs_").to_owned());
    }
    expected.reverse();
    site.clock.advance_millis(90_000);
    let log = format!("/console/apps/{app}/settings/events?type=response.created");
    let first = viewer.get(&log).await.ok();
    assert_eq!(responses_on(&first), expected[..50]);
    assert_eq!((link(&first, "Newer"), link(&first, "Newest")), (None, None));
    let second = viewer.get(&link(&first, "Older").unwrap()).await.ok();
    assert_eq!(responses_on(&second), expected[50..100]);
    let third = viewer.get(&link(&second, "Older").unwrap()).await.ok();
    assert_eq!(responses_on(&third), expected[100..]);
    assert_eq!(link(&third, "Older"), None);
    let back = viewer.get(&link(&third, "Newer").unwrap()).await.ok();
    assert_eq!(responses_on(&back), expected[50..100]);
    let top = viewer.get(&link(&back, "Newer").unwrap()).await.ok();
    assert_eq!(responses_on(&top), expected[..50]);
    assert_eq!(link(&top, "Newer"), None);
    let down = viewer.get(&link(&top, "Older").unwrap()).await.ok();
    assert_eq!(responses_on(&down), expected[50..100]);
    let newest = viewer.get(&link(&down, "Newest").unwrap()).await.ok();
    assert_eq!(responses_on(&newest), expected[..50]);
}
