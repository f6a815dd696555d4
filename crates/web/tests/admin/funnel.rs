//! The funnel over the admin API, with visits from the public API.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::support::{Site, definition};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

async fn report(site: &Site, key: &str, version: &str, steps: Value) {
    let body = json!({"flowVersionId": version, "steps": steps}).to_string();
    let request = Request::post(format!("/api/v1/{key}/visits"));
    assert_eq!(site.raw(request.body(Body::from(body)).unwrap()).await.status, 204);
}

#[tokio::test]
async fn a_funnel_has_the_figures_that_were_reported() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let first = site.publish(&flow).await;
    let path = format!("/flows/{flow}/funnel");
    let empty = site.get(&path).await.ok(200);
    assert_eq!((&empty["opened"], &empty["timeToFinish"]), (&json!(0), &Value::Null));
    let seen = |question: &str| json!({"step": "seen", "question": question});
    let passed = |question: &str| json!({"step": "passed", "question": question});
    let (opened, started) = (json!({"step": "opened"}), json!({"step": "started"}));
    report(&site, &key, &first, json!([opened, seen("nps")])).await;
    let finished = json!({"step": "finished", "seconds": 48.9});
    let whole =
        json!([opened, seen("nps"), started, passed("nps"), seen("why"), passed("why"), finished]);
    report(&site, &key, &first, whole).await;
    site.clock.advance_millis(2 * DAY_MILLIS);
    site.put(&format!("/flows/{flow}/draft"), definition("Two")).await.ok(200);
    let second = site.publish(&flow).await;
    report(&site, &key, &second, json!([opened])).await;

    let funnel = site.get(&path).await.ok(200);
    let figures = (&funnel["opened"], &funnel["started"], &funnel["finished"]);
    assert_eq!(figures, (&json!(3), &json!(1), &json!(1)));
    let nps = json!({"id": "nps", "type": "nps", "prompt": "How likely?", "askedUntil": null,
        "seen": 2, "passed": 1, "left": 1});
    assert_eq!(funnel["questions"][0], nps);
    let time = json!({"times": 1, "medianSeconds": 48, "fromSeconds": 44, "toSeconds": 52});
    assert_eq!(funnel["timeToFinish"], time);
    let versions = funnel["versions"].as_array().unwrap();
    let versions: Vec<_> =
        versions.iter().map(|it| (&it["number"], &it["opened"], &it["finished"])).collect();
    assert_eq!(versions, [(&json!(2), &json!(1), &json!(0)), (&json!(1), &json!(2), &json!(1))]);

    for (query, opened) in [
        (format!("version={first}"), 2),
        (format!("version={second}"), 1),
        ("from=2026-11-16".to_owned(), 1),
        ("to=2026-11-15".to_owned(), 2),
        (format!("version={second}&to=2026-11-15"), 0),
    ] {
        let funnel = site.get(&format!("{path}?{query}")).await.ok(200);
        assert_eq!(funnel["opened"], opened, "{query}");
    }
    let wrong = site.get(&format!("{path}?from=yesterday")).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text);
}
