//! The design of an app and of its flows.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::rows::Role;

use crate::desk::Desk;
use crate::shop::{Site, actor};

#[tokio::test]
async fn a_flow_replaces_a_part_and_shows_what_the_app_has() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let of_app = format!("/console/apps/{}/settings/design", site.app);
    let app = [("accentColor", "own"), ("accentColor.own", "#0A7"), ("accentColor.was", "")];
    assert_eq!(Desk::led_to(&desk.post(&of_app, &app).await), format!("{of_app}?done=saved"));
    let path = format!("/console/flows/{flow}/design");
    let page = desk.get(&path).await.text();
    for part in [
        "aria-current=\"page\">Design</a>",
        "Same as the app (#00aa77)",
        "Same as the app (no logo)",
        "Button texts are black: contrast 7.0 to 1, very easy to read.",
        "id=\"reset\" method=\"post\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let own = [("corners", "round"), ("corners.was", ""), ("theme", ""), ("theme.was", "")];
    assert_eq!(Desk::led_to(&desk.post(&path, &own).await), format!("{path}?done=saved"));
    let stored = async || site.engine.get_flow(&actor(), flow).await.unwrap().flow.design;
    assert_eq!(stored().await.as_deref(), Some(r#"{"corners":"round"}"#));
    // What is wrong is shown beside its field, as typed.
    let wrong = [("accentColor", "own"), ("accentColor.own", "blue"), ("accentColor.was", "")];
    let refused = desk.post(&path, &wrong).await;
    assert_eq!(refused.status, 422);
    let page = refused.text();
    for part in ["<a href=\"#accentColor-own\">Accent colour must be", "value=\"blue\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let reset = desk.post(&format!("{path}/reset"), &[]).await;
    assert_eq!(Desk::led_to(&reset), format!("{path}?done=design-reset"));
    assert_eq!(stored().await, None);
}

#[tokio::test]
async fn a_save_never_undoes_what_someone_else_changed() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let path = format!("/console/flows/{flow}/design");
    let stored = async || {
        let row = site.engine.get_flow(&actor(), flow).await.unwrap().flow;
        row.design.map_or(Value::Null, |design| serde_json::from_str(&design).unwrap())
    };
    let theirs = "font=serif&font.was=";
    desk.send_form_for_json(&path, theirs).await;
    // This page was opened before: for it the font is still that of the app.
    let mine = "font=&font.was=&corners=square&corners.was=&accentColor=own&accentColor.own=%23fc0&accentColor.was=";
    let reply = desk.send_form_for_json(&path, mine).await.json();
    assert_eq!(reply["was"], json!({"accentColor": "=#ffcc00", "corners": "=square"}));
    assert_eq!((&reply["faults"], &reply["isOwn"]), (&json!([]), &json!(true)));
    let note = reply["notes"]["accentColor"].as_str().unwrap();
    assert!(note.starts_with("Button texts are black: contrast 13.8 to 1"), "{note}");
    let both = json!({"font": "serif", "corners": "square", "accentColor": "#ffcc00"});
    assert_eq!(stored().await, both);
    let wrong = desk.send_form_for_json(&path, "background=own&background.own=x&background.was=");
    let wrong = wrong.await;
    assert_eq!(wrong.status, 422);
    assert_eq!(wrong.json()["faults"][0]["field"], "background-own");
    assert_eq!(stored().await, both);
}

#[tokio::test]
async fn a_reader_sees_the_design_but_cannot_change_it() {
    let site = crate::support::Site::start().await;
    let app = site.app("Shop").await;
    let (flow, _) = site.flow(app, crate::support::definition("Flow")).await;
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    for path in
        [format!("/console/flows/{flow}/design"), format!("/console/apps/{app}/settings/design")]
    {
        let page = viewer.get(&path).await.ok();
        assert!(page.contains("<fieldset class=\"stack\" disabled>"), "{page}");
        assert!(!page.contains("id=\"reset\"") && !page.contains("Save design"), "{page}");
        assert_eq!(viewer.post(&path, &[("font", "serif")]).await.status, 403);
    }
}
