//! The score in the results and in the table of responses.

use serde_json::json;
use sluice_engine::rows::Role;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};

use crate::support::Site;

async fn quiz(site: &Site) -> (AppId, FlowId, FlowVersionId) {
    let app = site.app("Shop").await;
    let quiz = json!({"title": "Quiz", "questions": [
        {"id": "plan", "type": "singleChoice", "prompt": "Plan?",
         "options": [{"id": "a", "label": "A", "score": 9.5}, {"id": "b", "label": "B", "score": -2}]},
        {"id": "stars", "type": "rating", "prompt": "Stars?", "score": "value"},
    ]});
    let (flow, version) = site.flow(app, quiz).await;
    (app, flow, version)
}

#[tokio::test]
async fn the_results_show_the_mean_and_the_distribution_of_the_score() {
    let site = Site::start().await;
    let (app, flow, version) = quiz(&site).await;
    for (plan, stars) in [("a", "5"), ("b", "1"), ("b", "5")] {
        let answers = json!({"plan": plan, "stars": stars});
        let more = json!({"answers": answers, "metadata": {"tags": {"team": plan}}});
        site.respond(app, version, more).await;
    }
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    let results = format!("/console/flows/{flow}/results");
    let page = viewer.get(&results).await.ok();
    // 14.5, -1 and 3.
    for part in
        ["<h2 id=\"score\">Score</h2>", "5.5", "mean of 3 responses", "chart/question-.score.svg"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let chart = viewer.get(&format!("{results}/chart/question-.score.svg")).await.ok();
    assert!(chart.contains("<svg") && chart.contains("Score"), "{chart}");
    let compared = viewer.get(&format!("{results}?compare=tag.team")).await.ok();
    let card = compared.split("id=\"score\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(card.contains("14.5") && card.contains("mean of 2 responses"), "{card}");
    // Without scores there is no card.
    let (plain, _) =
        site.flow(app, json!({"title": "T", "description": "D", "questions": []})).await;
    let page = viewer.get(&format!("/console/flows/{plain}/results")).await.ok();
    assert!(!page.contains("id=\"score\""), "{page}");
}

#[tokio::test]
async fn the_table_shows_the_score_and_sorts_by_it_as_a_number() {
    let site = Site::start().await;
    let (app, flow, version) = quiz(&site).await;
    let mut ids = Vec::new();
    for answers in [json!({"plan": "a"}), json!({"plan": "b"}), json!({"plan": "a", "stars": "1"})]
    {
        site.clock.advance_millis(1_000);
        ids.push(site.respond(app, version, json!({"answers": answers})).await.to_string());
    }
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    let list = format!("/console/flows/{flow}/responses");
    let order = |page: &str| -> Vec<usize> {
        let rows = page.split("<tr data-id=\"").skip(1).map(|row| row.split('"').next().unwrap());
        rows.map(|row| ids.iter().position(|id| id == row).unwrap()).collect()
    };
    let page = viewer.get(&list).await.ok();
    assert!(page.contains("data-label=\"Score\"") && page.contains("<bdi>9.5</bdi>"), "{page}");
    assert_eq!(order(&viewer.get(&format!("{list}?sort=score")).await.ok()), [1, 0, 2]);
    assert_eq!(order(&viewer.get(&format!("{list}?sort=-score")).await.ok()), [2, 0, 1]);
    // The column is offered only to flows with scores.
    assert!(page.contains("name=\"show\" value=\"score\""), "{page}");
    let (plain, _) =
        site.flow(app, json!({"title": "T", "description": "D", "questions": []})).await;
    let page = viewer.get(&format!("/console/flows/{plain}/responses")).await.ok();
    assert!(!page.contains("value=\"score\""), "{page}");
}
