//! Images of questions and options on the page.

use serde_json::{Value, json};
use sluice_engine::rows::Scope;

use crate::browser::{Browser, READ, path, published};
use crate::png::png;
use crate::support::{Site, actor};

async fn upload(site: &Site, width: u32, height: u32) -> String {
    let app = site.engine.app(&actor(), Scope::Write, site.app).await.unwrap();
    let stored = app.upload_asset(png(width, height, [9; 3]).into()).await.unwrap();
    stored.asset.asset_id.to_string()
}

fn survey(question: &Value, option: &Value) -> Value {
    json!({
        "title": "Pictures",
        "questions": [
            {"id": "name", "type": "shortText", "prompt": "Name?"},
            {"id": "which", "type": "singleChoice", "prompt": "Which?", "image": question, "allowOther": true,
             "options": [{"id": "a", "label": "A", "image": option}, {"id": "b", "label": "B"}]},
        ],
        "translations": {"de": {"questions": {"which": {"imageAlt": "Wie {{answer:name}}"}}}},
    })
}

#[tokio::test]
async fn images_have_their_place_size_and_text() {
    let site = Site::start().await;
    let (wide, small) = (upload(&site, 1_600, 400).await, upload(&site, 30, 40).await);
    let question = json!({"assetId": wide, "alt": "Like \"{{answer:name|you}}\""});
    let flow = published(&site, survey(&question, &json!({"assetId": small}))).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    // The page of the first question has the second one in a template: its images are not loaded
    // yet.
    assert!(browser.html().contains(&format!("/a/{wide}")));
    site.at(READ);
    browser.press("next", &[("answers.name", "<Ada>")]).await;
    let html = browser.html();
    let above = format!(
        "<img class=\"picture\" src=\"/a/{wide}\" alt=\"Like &quot;&lt;Ada&gt;&quot;\" \
         data-parts=\"[&quot;Like \\&quot;&quot;,[&quot;name&quot;,&quot;you&quot;],&quot;\\&quot;&quot;]\" \
         width=\"640\" height=\"160\" loading=\"lazy\" decoding=\"async\" dir=\"auto\"><fieldset"
    );
    assert!(html.contains(&above), "{html}");
    let beside = format!(
        "<div class=\"pictures\"><label class=\"choice\"><img src=\"/a/{small}\" alt=\"\" \
         width=\"30\" height=\"40\" loading=\"lazy\" decoding=\"async\" dir=\"auto\"><input type=\"radio\""
    );
    assert!(html.contains(&beside), "{html}");
    let german = Browser::open_with(&site, &path(flow), &[("accept-language", "de")]).await;
    assert!(german.html().contains("alt=\"Wie \""), "{}", german.html());
}

#[tokio::test]
async fn only_a_flow_with_images_has_their_style() {
    let site = Site::start().await;
    let mut plain = survey(&Value::Null, &Value::Null);
    plain.as_object_mut().unwrap().remove("translations");
    let plain = published(&site, plain).await;
    let image = json!({"assetId": upload(&site, 9, 9).await, "alt": "x"});
    let pictured = published(&site, survey(&image, &Value::Null)).await;
    for (flow, styles) in [(plain, 1), (pictured, 2)] {
        let reply = site.get(&path(flow), &[]).await;
        assert_eq!(reply.text().matches("<style>").count(), styles);
        let policy = reply.header("content-security-policy").unwrap();
        assert_eq!(policy.matches("'sha256-").count(), styles, "{policy}");
    }
}
