//! The preview: the hosted page of an unpublished draft, which stores nothing.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::funnel::FunnelFilter;
use sluice_engine::rows::{Order, Scope};
use sluice_engine::templates::templates;
use sluice_engine::{Paging, ResponseFilter};

use crate::desk::Desk;
use crate::shop::{Site, actor, survey};

#[tokio::test]
async fn a_draft_can_be_previewed_and_answered_and_nothing_is_stored() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(survey()).await;
    let address = format!("/console/flows/{flow}/preview");
    let page = desk.get(&address).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("How likely are you to recommend us?"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.ends_with("frame-ancestors 'self'"), "{policy}");
    assert!(page.text().contains(&format!("action=\"{address}\"")));
    // The rules are those of the hosted page.
    let refused = desk.post(&address, &[("go", "send"), ("step", "nps")]).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("Answer this question."));
    let ended = desk.post(&address, &[("go", "send"), ("answers.nps", "9")]).await;
    assert_eq!(ended.status, 200);
    assert!(ended.text().contains("Preview: answers are not saved."), "{}", ended.text());
    assert!(!ended.text().contains("Your answers are saved"));
    // Nor is it a visit, with or without script.
    assert!(!page.text().contains("data-visits") && !page.text().contains("<noscript>"));
    let funnel = site.engine.funnel(&actor(), flow, &FunnelFilter::default()).await.unwrap();
    assert_eq!((funnel.started, funnel.finished), (0, 0));
    let paging = Paging { after: None, order: Order::Asc, limit: 10 };
    let stored =
        site.engine.list_responses(&actor(), flow, &ResponseFilter::default(), paging).await;
    assert!(stored.unwrap().rows.is_empty());
}

#[tokio::test]
async fn a_draft_with_faults_is_shown_without_its_faulty_questions() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site
        .flow(json!({"questions": [
            {"id": "a", "type": "nps", "prompt": ""},
            {"id": "b", "type": "singleChoice", "prompt": "Broken", "options": []},
            {"id": "c", "type": "yesNo", "prompt": "Whole"},
        ]}))
        .await;
    let text = desk.get(&format!("/console/flows/{flow}/preview")).await.text();
    assert!(text.contains("Whole") && !text.contains("Broken"), "{text}");
}

#[tokio::test]
async fn the_question_that_is_being_edited_comes_first_whatever_the_answers() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let mut definition = survey();
    definition["questions"][1]["visibleIf"] = json!({"question": "nps", "lessThan": 3});
    definition["translations"] = json!({"de": {"title": "Rückmeldung"}});
    let flow = site.flow(definition).await;
    let address = format!("/console/flows/{flow}/preview?question=why&context.locale=de");
    let text = desk.get(&address).await.text();
    assert!(text.contains("data-preview=\"why\""), "{text}");
    assert!(text.contains("name=\"step\" value=\"why\""), "{text}");
    assert!(text.contains("Rückmeldung") && text.contains("lang=\"de\""), "{text}");
}

#[tokio::test]
async fn an_older_version_can_be_previewed_and_one_of_another_flow_cannot() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, version) = site.published().await;
    let mut next = survey();
    next["title"] = json!("Another title");
    site.engine.put_draft(&actor(), flow, next).await.unwrap();
    let address = format!("/console/flows/{flow}/preview");
    assert!(desk.get(&address).await.text().contains("Another title"));
    let old = desk.get(&format!("{address}?version={version}")).await.text();
    assert!(old.contains("Product feedback") && !old.contains("Another title"));
    let (other, _) = site.published().await;
    let foreign = desk.get(&format!("/console/flows/{other}/preview?version={version}")).await;
    assert_eq!(foreign.status, 404);
}

#[tokio::test]
async fn only_readers_of_the_app_see_its_drafts() {
    let site = Site::start().await;
    let flow = site.other_app().await.flow(survey()).await;
    let viewer = Desk::sign_in(&site, &[Scope::Read], true).await;
    let address = format!("/console/flows/{flow}/preview");
    assert_eq!(viewer.get(&address).await.status, 404);
    let stranger = site.get(&address, &[]).await;
    assert_eq!(stranger.status, 303);
}

#[tokio::test]
async fn every_template_can_be_previewed() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    for template in templates() {
        let address = format!("/console/apps/{}/templates/{}", site.app, template.id);
        let page = desk.get(&address).await;
        assert_eq!(page.status, 200, "{}", template.id);
        assert!(page.text().contains(&format!("action=\"{address}\"")));
    }
    let unknown = desk.get(&format!("/console/apps/{}/templates/x", site.app)).await;
    assert_eq!(unknown.status, 404);
}
