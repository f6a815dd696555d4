//! What is wrong in a draft: in words, with links to the fields, and not before it matters.

use serde_json::json;

use crate::desk::Desk;
use crate::editor::{saved, tag};
use crate::shop::{Site, actor, survey};
use crate::use_cases::UseCases as _;

#[tokio::test]
async fn a_draft_with_faults_is_not_published_and_its_faults_are_shown() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(json!({"title": "", "questions": []})).await;
    let seen = tag(&desk, flow).await;
    let refused = desk.post(&format!("/console/flows/{flow}/publish"), &[("tag", &seen)]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("/title"), "{}", refused.text());
    assert!(refused.text().contains("must not be empty"));
}

#[tokio::test]
async fn the_review_says_in_words_what_to_fix_and_links_to_the_fields() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let mut draft = survey();
    let questions = draft["questions"].as_array_mut().unwrap();
    questions[1]["visibleIf"] = json!({"question": "nps", "lessThan": 7});
    questions.remove(0);
    draft["endings"] =
        json!([{"id": "low", "title": "Sorry", "when": {"question": "nps", "lessThan": 7}}]);
    saved(&desk, flow, &tag(&desk, flow).await, &draft).await;
    let review = desk.get(&format!("/console/flows/{flow}/publish")).await.text();
    assert!(review.contains("<h2>Fix 2 problems first</h2>"), "{review}");
    assert!(!review.contains("Nothing to publish") && !review.contains("Publish version"));
    let link = |pointer: &str, words: &str| {
        let why = "condition: depends on a question that was deleted";
        format!("<a href=\"/console/flows/{flow}/edit#{pointer}\">{words}, {why}</a>")
    };
    assert!(review.contains(&link("/questions/0/visibleIf/question", "Question 1 “Why?”")));
    assert!(review.contains(&link("/endings/0/when/question", "Ending 1 “Sorry”")), "{review}");
}

#[tokio::test]
async fn a_new_flow_shows_no_problems_and_begins_with_its_questions() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(json!({"title": "Untitled", "questions": []})).await;
    let page = desk.get(&format!("/console/flows/{flow}/edit")).await.text();
    assert!(page.contains("aria-label=\"Needs fixing\" hidden>"), "{page}");
    let share = desk.get(&format!("/console/flows/{flow}/share")).await.text();
    assert!(share.contains("Add questions") && !share.contains("Write</strong><span"), "{share}");
    let flow = site.flow(survey()).await;
    let share = desk.get(&format!("/console/flows/{flow}/share")).await.text();
    assert!(share.contains("Write</strong><span class=\"unseen\"> (done)"), "{share}");
}

#[tokio::test]
async fn an_empty_flow_is_not_published() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(json!({"title": "Empty", "questions": []})).await;
    let publish = format!("/console/flows/{flow}/publish");
    let review = desk.get(&publish).await.text();
    assert!(review.contains("add a question") && !review.contains("Publish version"), "{review}");
    let seen = tag(&desk, flow).await;
    let refused = desk.post(&publish, &[("tag", &seen)]).await;
    assert_eq!(refused.status, 422);
    assert_eq!(site.engine.get_flow(&actor(), flow).await.unwrap().last_number, 0);
}
