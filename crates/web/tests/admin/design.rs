//! The design of a flow: what it replaces of its app's.

use serde_json::{Value, json};

use crate::support::Site;

const SVG: &str = "data:image/svg+xml;base64,PHN2Zy8+";

/// A design with these parts.
fn design(parts: Value) -> Value {
    let mut design = json!({
        "accentColor": null, "background": null, "font": null, "corners": null, "theme": null,
        "logo": null, "darkLogo": null, "nextText": null, "backText": null, "sendText": null
    });
    for (name, value) in parts.as_object().unwrap() {
        design[name] = value.clone();
    }
    design
}

#[tokio::test]
async fn absent_parts_stay_and_null_restores_those_of_the_app() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}");
    assert_eq!(site.get(&path).await.ok(200)["design"], design(json!({})));
    let kept = json!({"accentColor": "#ffcc00", "logo": SVG, "nextText": ""});
    for (patch, expected) in [
        (json!({"accentColor": "#FC0", "logo": SVG, "nextText": " "}), kept.clone()),
        (json!({}), kept),
        (
            json!({"logo": "none", "font": "serif", "accentColor": null}),
            json!({"logo": "none", "font": "serif", "nextText": ""}),
        ),
        (Value::Null, json!({})),
    ] {
        let changed = site.patch(&path, json!({"design": patch})).await.ok(200);
        assert_eq!(changed["design"], design(expected), "{patch}");
        assert_eq!(site.get(&path).await.ok(200), changed);
        // Lists have no pictures.
        let listed = site.get(&format!("/apps/{app}/flows")).await.ok(200);
        let mut expected = changed.clone();
        if expected["design"]["logo"] == SVG {
            expected["design"]["logo"] = Value::Null;
        }
        assert_eq!(listed["items"][0], expected);
    }
    let trail = site.get("/audit").await.ok(200);
    assert_eq!(trail["items"][0]["detail"], json!({"design": null}));
    let trail = trail.to_string();
    assert!(trail.contains("image/svg+xml, 6 bytes") && !trail.contains("PHN2Zy8"), "{trail}");
}

#[tokio::test]
async fn a_wrong_design_is_refused_with_every_fault() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/flows/{}", site.flow(&app).await);
    let wrong = json!({"design": {
        "accentColor": "red", "background": "url(x)", "font": "Arial", "corners": "", "theme": "x",
        "logo": "https://x", "sendText": "x".repeat(41)
    }});
    site.patch(&path, wrong).await.faults(&[
        ("/design/accentColor", "must be a colour"),
        ("/design/background", "must be a colour such as #0a7d4f, the id of an image, or none"),
        ("/design/font", "must be one of system, "),
        ("/design/corners", "must be one of square, "),
        ("/design/theme", "must be one of auto, "),
        ("/design/logo", "must be a picture as data:"),
        ("/design/sendText", "must have at most 40"),
    ]);
    for (patch, fault) in [
        (json!({"color": "#fff"}), ("/design/color", "is not known here; known are accentColor, ")),
        (json!({"spamProtection": true}), ("/design/spamProtection", "is not known here")),
        (json!({"font": 1}), ("/design/font", "must be a string")),
        (json!("red"), ("/design", "must be an object")),
        (
            json!({"background": "as_0000000000000000000000"}),
            ("/design/background", "must be an image of this app"),
        ),
    ] {
        site.patch(&path, json!({"design": patch})).await.faults(&[fault]);
    }
    assert_eq!(site.get(&path).await.ok(200)["design"], design(json!({})));
}
