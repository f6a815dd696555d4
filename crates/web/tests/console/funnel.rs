//! The page of the funnel: the figures that were reported, filters, and what to do without visits.

use serde_json::json;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::visit::Visit;

use crate::support::{Site, actor, definition};
use crate::use_cases::UseCases as _;

const DAY_MILLIS: i64 = 86_400_000;

async fn count(site: &Site, flow: FlowId, version: FlowVersionId, steps: &[(&str, &str)]) {
    let step = |(step, question): &(&str, &str)| match *step {
        "finished" => json!({"step": step, "seconds": 48}),
        _ if question.is_empty() => json!({"step": step}),
        _ => json!({"step": step, "question": question}),
    };
    let steps: Vec<_> = steps.iter().map(step).collect();
    let body = json!({"flowVersionId": version, "steps": steps}).to_string();
    let hosted = site.engine.links().flow(&flow.to_string()).await.unwrap().unwrap();
    let counted = hosted.count_visit(&Visit::parse(body.as_bytes()).unwrap()).await.unwrap();
    assert_eq!(counted, Ok(()));
}

#[track_caller]
fn has_row(page: &str, name: &str, cells: [&str; 3]) {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    let row = format!("<th scope=\"row\" dir=\"auto\">{name}</th>{cells}");
    assert!(page.contains(&row), "{row} is not in {page}");
}

#[tokio::test]
async fn the_page_shows_how_far_people_came_and_where_they_left() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, version) = site.flow(app, definition("Feedback")).await;
    let root = site.root().await;
    let results = root.get(&format!("/console/flows/{flow}/results")).await.ok();
    let address = format!("/console/flows/{flow}/results/funnel");
    assert!(results.contains(&format!("href=\"{address}\"")), "{results}");
    let page = root.get(&address).await.ok();
    assert!(page.contains("No visits yet") && page.contains(&version.to_string()), "{page}");
    let all = [
        ("opened", ""),
        ("seen", "nps"),
        ("started", ""),
        ("passed", "nps"),
        ("seen", "why"),
        ("passed", "why"),
        ("finished", ""),
    ];
    for end in [2, 2, 5, 7] {
        count(&site, flow, version, &all[..end]).await;
    }
    let page = root.get(&address).await.ok();
    has_row(&page, "Opened", ["4", "100%", "–"]);
    has_row(&page, "1. How likely?", ["4", "100%", "2"]);
    has_row(&page, "Started", ["2", "50%", "–"]);
    has_row(&page, "2. Why?", ["2", "50%", "1"]);
    has_row(&page, "Finished", ["1", "25%", "–"]);
    assert!(page.contains("≈ 48 s") && page.contains("between 44 s and 52 s"), "{page}");
    assert!(page.contains(">How likely?</strong>, where 2 of 4 visits ended."), "{page}");
    let file = root.get(&format!("{address}.svg")).await.ok();
    assert!(file.starts_with("<?xml") && file.contains("1. How likely?"), "{file}");
}

#[tokio::test]
async fn the_period_and_the_version_narrow_the_funnel() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, one) = site.flow(app, definition("Feedback")).await;
    count(&site, flow, one, &[("opened", "")]).await;
    site.clock.advance_millis(10 * DAY_MILLIS);
    site.engine.put_draft(&actor(), flow, definition("Again")).await.unwrap();
    let two = site.engine.publish(&actor(), flow).await.unwrap().flow_version_id;
    for _ in 0..2 {
        count(&site, flow, two, &[("opened", "")]).await;
    }
    let root = site.root().await;
    let address = format!("/console/flows/{flow}/results/funnel");
    for (query, opened) in [
        (String::new(), "3"),
        ("?period=7d".to_owned(), "2"),
        (format!("?version={one}"), "1"),
        // Visits have neither tags nor answers.
        (format!("?version={two}&tag.plan=pro&answer.nps=9"), "2"),
    ] {
        let page = root.get(&format!("{address}{query}")).await.ok();
        has_row(&page, "Opened", [opened, "100%", "–"]);
    }
    let page = root.get(&format!("{address}?period=7d&version={one}")).await.ok();
    assert!(page.contains("No visits here") && page.contains("Show all"), "{page}");
}

#[tokio::test]
async fn the_results_start_with_how_many_finished_and_how_long_it_took() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, version) = site.flow(app, definition("Feedback")).await;
    let answers = json!({"answers": {"nps": "9", "why": "It works."}, "tags": {"plan": "free"}});
    site.respond(app, version, answers).await;
    let root = site.root().await;
    let address = format!("/console/flows/{flow}/results");
    let page = root.get(&address).await.ok();
    assert!(page.contains("<dt>Net promoter score</dt><dd class=\"big\">+100</dd>"), "{page}");
    assert!(!page.contains("Completion rate"), "{page}");
    for steps in [&[("opened", "")][..], &[("opened", ""), ("finished", "")]] {
        count(&site, flow, version, steps).await;
    }
    // The funnel writes what was counted.
    root.get(&format!("{address}/funnel")).await.ok();
    for (query, shown) in [("", true), ("?period=7d", false), ("?tag.plan=free", false)] {
        let page = root.get(&format!("{address}{query}")).await.ok();
        let rate = "<dt>Completion rate</dt><dd class=\"big\">50%</dd><dd class=\"hint\">1 of 2 visits finished</dd>";
        assert_eq!(page.contains(rate), shown, "{query}: {page}");
        assert_eq!(page.contains("≈ 48 s"), shown, "{query}: {page}");
    }
}

/// A question that only some are asked is not shown as if all others had left before it.
#[tokio::test]
async fn a_question_that_not_everyone_is_asked_has_a_share_of_its_own() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, version) = site.flow(app, definition("Feedback")).await;
    let root = site.root().await;
    let address = format!("/console/flows/{flow}/results/funnel");
    let all =
        [("opened", ""), ("seen", "nps"), ("started", ""), ("passed", "nps"), ("finished", "")];
    for _ in 0..9 {
        count(&site, flow, version, &all).await;
    }
    count(&site, flow, version, &[("seen", "why"), ("passed", "why")]).await;
    let page = root.get(&address).await.ok();
    assert!(page.contains(">1 asked</text>") && page.contains("A grey bar is"), "{page}");
    has_row(&page, "2. Why?", ["1", "11%", "0"]);
}
