//! The list of flows: what it shows, and how to create, duplicate and archive them.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::rows::{Page, Scope};
use sluice_engine::templates::templates;

use crate::desk::Desk;
use crate::shop::{Site, actor, submission, survey};

#[tokio::test]
async fn an_app_without_flows_offers_every_template_at_once() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let page = desk.get(&format!("/console/apps/{}", site.app)).await;
    assert_eq!(page.status, 200);
    for template in templates() {
        assert!(page.text().contains(&format!("value=\"{}\"", template.id)), "{}", template.id);
    }
    assert!(page.text().contains("Four steps to the first result"));
}

#[tokio::test]
async fn a_template_becomes_a_flow_that_is_opened_for_editing() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    for template in templates() {
        let made = desk
            .post(&format!("/console/apps/{}/new", site.app), &[("template", template.id)])
            .await;
        let address = Desk::led_to(&made);
        let flow = address.split('/').nth(3).unwrap().parse().unwrap();
        let draft = site.engine.get_draft(&actor(), flow).await.unwrap();
        assert_eq!(draft.definition, template.definition);
        // It can be published unchanged, unless it is empty.
        if template.id != "empty" {
            site.publish(flow).await;
        }
    }
    let unknown = desk.post(&format!("/console/apps/{}/new", site.app), &[("template", "x")]).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_flow_is_listed_with_its_state_and_responses() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let list = format!("/console/apps/{}", site.app);
    let draft = site.flow(survey()).await;
    assert!(desk.get(&list).await.text().contains("never published"));
    let (flow, version) = site.published().await;
    let text = desk.get(&list).await.text();
    assert!(text.contains("1 version") && text.contains("No responses yet"), "{text}");
    site.submit(&submission(version)).await.assert_accepted();
    let text = desk.get(&list).await.text();
    assert!(text.contains("Last response") && text.contains("2026-11-15T02:00:00.000Z"), "{text}");
    // Newest first.
    let places = [flow, draft].map(|id| text.find(&format!("/console/flows/{id}/edit")).unwrap());
    assert!(places[0] < places[1]);
    site.live_window(flow, Some(crate::shop::START + 1_000), None).await;
    assert!(desk.get(&list).await.text().contains("Scheduled"));
}

#[tokio::test]
async fn many_flows_are_listed_page_by_page_newest_first() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    for _ in 0..60 {
        site.flow(json!({"title": "T", "questions": []})).await;
    }
    let mut address = format!("/console/apps/{}", site.app);
    let mut seen = Vec::new();
    loop {
        let text = desk.get(&address).await.text();
        let flows = text.split("<li class=\"flow\">").skip(1);
        let ids = flows.map(|row| {
            row.split("/console/flows/").nth(1).unwrap().split(['/', '"']).next().unwrap()
        });
        seen.extend(ids.map(str::to_owned));
        let Some(next) = text.split("?after=").nth(1) else { break };
        let next = next.split('"').next().unwrap();
        address = format!("/console/apps/{}?after={next}", site.app);
    }
    assert_eq!(seen.len(), 60);
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.reverse();
    assert_eq!(seen, sorted);
}

#[tokio::test]
async fn a_flow_is_duplicated_and_an_archived_one_is_listed_separately() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, version) = site.published().await;
    let copied = desk.post(&format!("/console/flows/{flow}/duplicate"), &[]).await;
    assert!(Desk::led_to(&copied).ends_with("/edit?done=duplicated"));
    let ask = desk.get(&format!("/console/flows/{flow}/archive")).await;
    assert!(ask.text().contains("responses, results and history are kept"), "{}", ask.text());
    let done = desk.post(&format!("/console/flows/{flow}/archive"), &[]).await;
    let text = desk.follow(&done).await.text();
    assert!(text.contains("Copy of Product feedback"), "{text}");
    assert!(!text.contains(&format!("/console/flows/{flow}/edit")), "{text}");
    let archived = desk.get(&format!("/console/apps/{}?view=archived", site.app)).await.text();
    assert!(archived.contains(&format!("/console/flows/{flow}/")), "{archived}");
    // It is restored as it was.
    assert!(text.contains(&format!("action=\"/console/flows/{flow}/restore\"")), "{text}");
    let done = desk.post(&format!("/console/flows/{flow}/restore"), &[]).await;
    assert_eq!(Desk::led_to(&done), format!("/console/flows/{flow}/edit?done=restored"));
    site.submit(&submission(version)).await.assert_accepted();
}

#[tokio::test]
async fn flows_are_found_by_name_title_and_question() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let other = json!({"title": "Kantine", "questions": [
        {"id": "q", "type": "shortText", "prompt": "Wie war das Essen?"}]});
    let other = site.flow(other).await;
    let list = format!("/console/apps/{}", site.app);
    for (search, found) in [
        // All flows of the tests have this name; the newest is first.
        ("PRODUCT", vec![other, flow]),
        ("what%20USE", vec![flow]),
        ("kantine", vec![other]),
        ("essen%20war", vec![other]),
        ("nothing", vec![]),
    ] {
        let page = desk.get(&format!("{list}?q={search}")).await.text();
        let rows = page.split("<li class=\"flow\">").skip(1);
        let ids: Vec<String> = rows
            .map(|row| row.split("/console/flows/").nth(1).unwrap())
            .map(|row| row.split(['/', '"']).next().unwrap().to_owned())
            .collect();
        assert_eq!(ids, found.iter().map(ToString::to_string).collect::<Vec<_>>(), "{search}");
        let hits = desk.get(&format!("/console/search?q={search}")).await.json();
        assert_eq!(hits.as_array().unwrap().len(), found.len(), "{search}: {hits}");
    }
    let hits = desk.get("/console/search?q=essen").await.json();
    assert_eq!(hits[0]["address"], format!("/console/flows/{other}"));
    assert!(hits[0]["hint"].as_str().unwrap().ends_with("Wie war das Essen?"), "{hits}");
    assert_eq!(desk.get("/console/search").await.json(), json!([]));
}

#[tokio::test]
async fn a_viewer_is_offered_and_allowed_only_reading() {
    let site = Site::start().await;
    let viewer = Desk::sign_in(&site, &[Scope::Read], true).await;
    let list = format!("/console/apps/{}", site.app);
    assert!(!viewer.get(&list).await.text().contains("value=\"nps\""));
    let (flow, _) = site.published().await;
    let text = viewer.get(&list).await.text();
    assert!(!text.contains("/duplicate") && !text.contains("/archive"), "{text}");
    for (path, fields) in [
        (format!("{list}/new"), vec![("template", "nps")]),
        (format!("/console/flows/{flow}/duplicate"), vec![]),
        (format!("/console/flows/{flow}/archive"), vec![]),
    ] {
        assert_eq!(viewer.post(&path, &fields).await.status, 403, "{path}");
    }
    let page = Page { after: None, limit: 10 };
    let flows = site.engine.newest_flows(&actor(), site.app, false, page).await.unwrap();
    assert_eq!(flows.len(), 1);
    // And sees nothing in another app.
    let other = site.other_app().await;
    let theirs = viewer.get(&format!("/console/apps/{}", other.app)).await;
    assert_eq!(theirs.status, 404);
}

#[tokio::test]
async fn labels_are_chips_that_filter_the_list_and_are_searched() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (one, two) = (site.flow(survey()).await, site.flow(survey()).await);
    let list = format!("/console/apps/{}", site.app);
    let labels = |flow| format!("/console/flows/{flow}/labels");
    let page = desk.get(&labels(one)).await.text();
    assert!(page.contains("data-dialog-body") && page.contains("name=\"labels\""), "{page}");
    let saved = desk.post(&labels(one), &[("labels", " Team A, q4 ,q4,")]).await;
    assert_eq!(Desk::led_to(&saved), format!("{list}?done=saved"));
    assert!(desk.get(&labels(one)).await.text().contains("value=\"Team A, q4\""));
    // Also among the settings, which keep what they do not show.
    let schedule = format!("/console/flows/{two}/schedule");
    let stored = desk.send_form_for_json(&schedule, "name=Other&labels=q4,%3Cb%3E").await;
    assert_eq!(stored.status, 200, "{}", stored.text());
    let refused = desk.send_form_for_json(&schedule, &format!("labels={}", "x".repeat(31))).await;
    assert_eq!(refused.json()["faults"][0]["field"], "labels");
    desk.send_form_for_json(&schedule, "name=Other").await;
    let edit = desk.get(&format!("/console/flows/{two}/edit")).await.text();
    assert!(edit.contains("value=\"q4, &lt;b&gt;\""), "{edit}");

    let shown = async |query: &str| {
        let page = desk.get(&format!("{list}?{query}")).await.text();
        let of = |flow| page.contains(&format!("<h2><a href=\"/console/flows/{flow}\">"));
        (of(one), of(two))
    };
    let page = desk.get(&list).await.text();
    assert!(
        page.contains(&format!("{list}?label=Team%20A")) && page.contains("&lt;b&gt;"),
        "{page}"
    );
    assert_eq!(shown("label=Team%20A").await, (true, false));
    assert_eq!(shown("label=q4").await, (true, true));
    assert_eq!(shown("label=Q4").await, (false, false));
    assert_eq!(shown("label=q4&view=archived").await, (false, false));
    assert_eq!(shown("q=team").await, (true, false));
    assert_eq!(shown("q=other&label=q4").await, (false, true));
    assert_eq!(shown("q=other&label=Team%20A").await, (false, false));
    let none = desk.get(&format!("{list}?label=nothing")).await.text();
    assert!(none.contains("No flows with this label"), "{none}");
    let found = desk.get("/console/search?q=team").await.json();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    let refused = desk.post(&labels(one), &[("labels", &"x".repeat(31))]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("must have 1 to 30 characters"), "{}", refused.text());
    // A copy keeps them.
    let copy = desk.post(&format!("/console/flows/{one}/duplicate"), &[]).await;
    let copy = Desk::led_to(&copy).split('/').nth(3).unwrap().parse().unwrap();
    let copied = site.engine.get_flow(&actor(), copy).await.unwrap();
    assert_eq!(copied.flow.labels, ["Team A", "q4"]);
}
