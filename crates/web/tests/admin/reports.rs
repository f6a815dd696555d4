//! Reports over the admin API: made, listed, changed, and revoked.

use serde_json::{Value, json};

use crate::support::{Site, text};

async fn published(site: &Site) -> String {
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    site.publish(&flow).await;
    format!("/flows/{flow}/reports")
}

fn new_report() -> Value {
    json!({
        "title": "Results", "questions": ["nps"], "filters": "period=30d&answer.nps%5Blt%5D=7",
        "expiresAt": "2027-01-01T00:00:00.000Z"
    })
}

#[tokio::test]
async fn a_report_is_made_with_a_link_that_is_shown_once() {
    let site = Site::start().await;
    let reports = published(&site).await;
    let mut made = site.post(&reports, new_report()).await.ok(201);
    let link = text(&made["link"]);
    let secret = link.rsplit('/').next().unwrap();
    assert!(link.contains("/r/") && secret.len() == 22, "{link}");
    assert_eq!(made["filters"], "period=30d&answer.nps%5Blt%5D=7");
    assert_eq!((&made["state"], &made["hasPassword"]), (&json!("active"), &json!(false)));
    assert_eq!((&made["showTexts"], &made["revokedAt"]), (&json!(false), &Value::Null));
    made.as_object_mut().unwrap().remove("link");
    assert_eq!(site.get(&reports).await.ok(200), json!({"items": [made], "next": null}));
    assert!(!site.get("/audit").await.text.contains(secret));
}

#[tokio::test]
async fn a_report_is_changed_replaced_and_revoked() {
    let site = Site::start().await;
    let reports = published(&site).await;
    let made = site.post(&reports, new_report()).await.ok(201);
    let report = format!("{reports}/{}", text(&made["reportId"]));
    let patch = json!({
        "title": "Other", "showTexts": true, "filters": "", "expiresAt": null,
        "password": "blue lamp under the stairs"
    });
    let changed = site.patch(&report, patch).await.ok(200);
    assert_eq!((&changed["title"], &changed["filters"]), (&json!("Other"), &json!("")));
    assert_eq!((&changed["hasPassword"], &changed["expiresAt"]), (&json!(true), &Value::Null));
    let open = site.patch(&report, json!({"password": null})).await.ok(200);
    assert_eq!((&open["hasPassword"], &open["showTexts"]), (&json!(false), &json!(true)));
    let replaced = site.post(&format!("{report}/link"), Value::Null).await.ok(201);
    assert_ne!(replaced["link"], made["link"]);
    for _ in 0..2 {
        assert_eq!(site.delete(&report).await.status, 204);
    }
    assert_eq!(site.get(&reports).await.ok(200)["items"][0]["state"], "revoked");
    site.patch(&report, json!({"title": "x"})).await.problem(409, "report_revoked");
    site.post(&format!("{report}/link"), Value::Null).await.problem(409, "report_revoked");
    let unknown = format!("{reports}/rep_0000000000000000000000");
    site.delete(&unknown).await.problem(404, "report_not_found");
}

#[tokio::test]
async fn faults_point_to_their_members() {
    let site = Site::start().await;
    let reports = published(&site).await;
    let bad = json!({
        "title": "", "questions": ["nope"], "filters": "period=1d", "password": "short",
        "expiresAt": "2001-01-01T00:00:00.000Z"
    });
    site.post(&reports, bad).await.faults(&[
        ("/title", "must be a text"),
        ("/questions/0", "is not a question"),
        ("/filters", "period: must be 7d, 30d or 90d"),
        ("/expiresAt", "must be in the future"),
        ("/password", "must have at least 10 characters"),
    ]);
}
