//! The images of an app: the list, uploads, and deletions with a question first.

use axum::body::Body;
use serde_json::{Value, json};
use sluice_engine::rows::{Role, Scope};
use sluice_flow::id::AppId;

use crate::png::png;
use crate::support::{Browser, ORIGIN, Reply, Site, actor, definition};
use crate::use_cases::UseCases as _;

/// Sends the form as a browser without a script does.
async fn upload(browser: &Browser<'_>, app: AppId, file: &[u8]) -> Reply {
    let head = "--x\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n\
                Content-Type: image/png\r\n\r\n";
    let body = [head.as_bytes(), file, b"\r\n--x--\r\n"].concat();
    let request = browser.request("POST", &address(app)).header("origin", ORIGIN);
    let request = request.header("content-type", "multipart/form-data; boundary=x");
    browser.send(request.body(Body::from(body)).unwrap()).await
}

fn address(app: AppId) -> String {
    format!("/console/apps/{app}/settings/images")
}

/// The ids of the images, newest first.
async fn stored(site: &Site, app: AppId) -> Vec<String> {
    let app = site.engine.app(&actor(), Scope::Read, app).await.unwrap();
    app.list_assets().await.unwrap().iter().map(|it| it.asset_id.to_string()).collect()
}

fn pictured(title: &str, asset: &str) -> Value {
    let image = json!({"assetId": asset});
    json!({"title": title, "questions": [
        {"id": "a", "type": "shortText", "prompt": "What is <this>?", "image": image},
        {"id": "b", "type": "singleChoice", "prompt": "Which one?",
         "options": [{"id": "x", "label": "X", "image": image}, {"id": "y", "label": "Y"}]},
        {"id": "c", "type": "shortText", "prompt": "Anything else?"},
    ]})
}

#[track_caller]
fn contains(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn an_image_is_uploaded_and_deleted_without_a_script() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    contains(&editor.get(&address(app)).await.ok(), &["No images yet.", "multipart/form-data"]);
    let list = address(app);
    let file = png(1_200, 700, [200, 10, 10]);
    assert_eq!(upload(&editor, app, &file).await.to(), format!("{list}?done=image-stored"));
    assert_eq!(upload(&editor, app, &file).await.to(), format!("{list}?done=image-known"));
    let images = stored(&site, app).await;
    let [image] = images.as_slice() else { panic!("{images:?}") };
    let page = editor.get(&format!("{list}?done=image-stored")).await.ok();
    let shown = format!("<img src=\"/a/{image}\"");
    contains(&page, &[&shown, "1,200 × 700", "PNG", "1 image, ", "Not used", "Uploaded."]);

    let delete = format!("{list}/{image}/delete");
    contains(&page, &[&format!("href=\"{delete}\"")]);
    let asked = editor.get(&delete).await.ok();
    contains(&asked, &["Delete this image?", &format!("action=\"{delete}\"")]);
    assert_eq!(stored(&site, app).await.len(), 1, "asking deletes nothing");
    assert_eq!(editor.post(&delete, &[]).await.to(), format!("{list}?done=deleted"));
    assert_eq!(stored(&site, app).await, Vec::<String>::new());
    assert_eq!(editor.get(&delete).await.status, 404);
}

#[tokio::test]
async fn what_cannot_be_stored_is_explained_beside_the_field() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    for (file, status, message) in [
        (Vec::new(), 422, "Choose a file first."),
        (b"GIF89a".to_vec(), 422, "Image must be"),
        (vec![0; 2 * 1024 * 1024 + 5_000], 413, "Image must have at most 2 MB"),
    ] {
        let refused = upload(&editor, app, &file).await;
        assert_eq!(refused.status, status);
        contains(&refused.text, &[message, "<a href=\"#image\">", "id=\"image-error\""]);
    }
    assert_eq!(editor.post(&address(app), &[("image", "x")]).await.status, 422);
    assert_eq!(stored(&site, app).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_image_in_use_names_its_flows_and_cannot_be_deleted() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    upload(&editor, app, &png(9, 9, [1; 3])).await.to();
    upload(&editor, app, &png(9, 9, [2; 3])).await.to();
    let images = stored(&site, app).await;
    let (flow, _) = site.flow(app, pictured("Pictures", &images[1])).await;
    let page = editor.get(&address(app)).await.ok();
    let link = format!("<a href=\"/console/flows/{flow}/edit\">Pictures</a>");
    contains(&page, &[&link, "“What is &lt;this&gt;?”, “Which one?”", "Not used"]);
    assert!(!page.contains("Anything else?") && !page.contains("<this>"), "{page}");
    let delete = format!("{}/{}/delete", address(app), images[1]);
    let asked = editor.get(&delete).await.ok();
    contains(&asked, &["This image is in use", &link]);
    assert!(!asked.contains(&format!("action=\"{delete}\"")), "{asked}");
    let refused = editor.post(&delete, &[]).await;
    assert_eq!(refused.status, 409);
    contains(&refused.text, &["The image is used in"]);

    // The next version has no image, but the earlier one still accepts responses.
    site.engine.put_draft(&actor(), flow, definition("Two")).await.unwrap();
    site.engine.publish(&actor(), flow).await.unwrap();
    let page = editor.get(&address(app)).await.ok();
    contains(&page, &[&link, "Only in an earlier version, which accepts responses until"]);
    site.clock.advance_millis(365 * 24 * 60 * 60 * 1000);
    let editor = site.signed_in(Some(app), Role::Editor).await;
    assert!(!editor.get(&address(app)).await.ok().contains(&link));
    assert_eq!(editor.post(&delete, &[]).await.to(), format!("{}?done=deleted", address(app)));
}

#[tokio::test]
async fn a_background_counts_as_a_use() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    upload(&editor, app, &png(9, 9, [1; 3])).await.to();
    let image = stored(&site, app).await.remove(0);
    let (flow, _) = site.flow(app, definition("Plain")).await;
    let background =
        [("background", "image"), ("background.was", ""), ("background.image", &image)];
    editor.post(&format!("/console/flows/{flow}/design"), &background).await.to();
    editor.post(&format!("/console/apps/{app}/settings/design"), &background).await.to();
    let page = editor.get(&address(app)).await.ok();
    let link = format!("<a href=\"/console/flows/{flow}/design\">Plain</a>");
    contains(&page, &["The app’s design", &link]);
    assert_eq!(page.matches("<p class=\"muted\">Background</p>").count(), 2, "{page}");
    let delete = format!("{}/{image}/delete", address(app));
    assert_eq!(editor.post(&delete, &[]).await.status, 409);
}

#[tokio::test]
async fn a_reader_sees_the_images_but_changes_none() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    upload(&editor, app, &png(9, 9, [1; 3])).await.to();
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    let page = viewer.get(&address(app)).await.ok();
    contains(&page, &["9 × 9", "Not used"]);
    assert!(!page.contains("type=\"file\"") && !page.contains("/delete"), "{page}");
    assert_eq!(upload(&viewer, app, &png(9, 9, [2; 3])).await.status, 403);
    // An image of another app is not found here.
    let other = site.app("Other").await;
    let owner = site.signed_in(Some(other), Role::Owner).await;
    let image = stored(&site, app).await.remove(0);
    assert_eq!(owner.get(&format!("{}/{image}/delete", address(other))).await.status, 404);
    assert_eq!(owner.post(&format!("{}/{image}/delete", address(other)), &[]).await.status, 404);
}

#[tokio::test]
async fn many_images_are_shown_on_pages() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let editor = site.signed_in(Some(app), Role::Editor).await;
    for number in 0..26 {
        upload(&editor, app, &png(9, 9, [number; 3])).await.to();
    }
    let all = stored(&site, app).await;
    let shown = |page: &str| all.iter().filter(|id| page.contains(&format!("/a/{id}\""))).count();
    let first = editor.get(&address(app)).await.ok();
    let older = format!("{}?after={}", address(app), all[24]);
    assert_eq!(shown(&first), 25);
    contains(&first, &["26 images, ", &format!("href=\"{older}\">Older")]);
    let second = editor.get(&older).await.ok();
    assert_eq!(shown(&second), 1);
    contains(&second, &[&all[25], ">Newest<"]);
    assert!(!second.contains(">Older<"));
}
