//! Closing, reopening and restoring flows, and their labels.

use serde_json::{Value, json};
use sluice_engine::Receipt;

use crate::support::{Site, at, submission, text};

async fn actions(site: &Site, app: &str) -> Vec<String> {
    let audit = site.get(&format!("/audit?appId={app}")).await.ok(200);
    audit["items"].as_array().unwrap().iter().map(|entry| text(&entry["action"])).collect()
}

#[tokio::test]
async fn a_flow_is_closed_and_opened_again() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let accepts = async || {
        let receipt = site.submit(&key, &submission(&version)).await;
        matches!(receipt, Receipt::Accepted(_))
    };
    let path = |action: &str| format!("/flows/{flow}/{action}");
    site.clock.advance_millis(1_000);
    let closed = site.post(&path("close"), Value::Null).await.ok(200);
    let end = closed["liveWindow"]["endsAt"].clone();
    assert!(text(&end) >= at(1_000), "{closed}");
    site.clock.advance_millis(1_000);
    assert!(!accepts().await);
    // Again, nothing changes and nothing is recorded.
    let entries = actions(&site, &app).await;
    assert_eq!(site.post(&path("close"), json!({})).await.ok(200), closed);
    assert_eq!(actions(&site, &app).await, entries);
    let open = site.post(&path("reopen"), Value::Null).await.ok(200);
    assert_eq!(open["liveWindow"], json!({"startsAt": null, "endsAt": null}));
    assert!(accepts().await);
    assert_eq!(site.post(&path("reopen"), Value::Null).await.ok(200), open);
    assert_eq!(actions(&site, &app).await[..2], ["flow.updated", "flow.updated"]);
    // A window that has not started cannot be ended.
    let later = json!({"liveWindow": {"startsAt": at(1_000_000)}});
    site.patch(&format!("/flows/{flow}"), later).await.ok(200);
    site.post(&path("close"), Value::Null).await.problem(409, "flow_not_open");
    for action in ["close", "reopen", "restore"] {
        site.post(&path(action), json!({"x": 1})).await.faults(&[("/x", "")]);
    }
}

#[tokio::test]
async fn an_archived_flow_is_restored_as_it_was() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let before = site.get(&format!("/flows/{flow}")).await.ok(200);
    assert_eq!(site.delete(&format!("/flows/{flow}")).await.status, 204);
    for action in ["close", "reopen"] {
        let refused = site.post(&format!("/flows/{flow}/{action}"), Value::Null).await;
        refused.problem(409, "flow_archived");
    }
    for _ in 0..2 {
        let restored = site.post(&format!("/flows/{flow}/restore"), Value::Null).await.ok(200);
        assert_eq!(restored, before);
    }
    site.store(&key, &version, json!({})).await;
    assert_eq!(actions(&site, &app).await[..2], ["flow.restored", "flow.archived"]);
}

#[tokio::test]
async fn labels_are_set_listed_and_filtered_by() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let (one, two) = (site.flow(&app).await, site.flow(&app).await);
    let path = format!("/flows/{one}");
    assert_eq!(site.get(&path).await.ok(200)["labels"], json!([]));
    let labels = json!({"labels": [" Team  A ", "team a", "Q4"]});
    let changed = site.patch(&path, labels).await.ok(200);
    assert_eq!(changed["labels"], json!(["Team A", "Q4"]));
    site.patch(&format!("/flows/{two}"), json!({"labels": ["Q4"]})).await.ok(200);
    // Other changes leave them alone.
    let renamed = site.patch(&path, json!({"name": "Renamed"})).await.ok(200);
    assert_eq!(renamed["labels"], json!(["Team A", "Q4"]));
    let listed = async |query: &str| {
        let page = site.get(&format!("/apps/{app}/flows?{query}")).await.ok(200);
        let items = page["items"].as_array().unwrap().iter();
        (items.map(|flow| text(&flow["flowId"])).collect::<Vec<_>>(), page["next"].clone())
    };
    assert_eq!(listed("label=Team%20A").await.0, [&*one]);
    assert_eq!(listed("label=Q4").await.0, [one.clone(), two.clone()]);
    assert_eq!(listed("label=q4").await.0, Vec::<String>::new());
    assert_eq!(listed("").await.0, [one.clone(), two.clone()]);
    let (first, next) = listed("label=Q4&limit=1").await;
    assert_eq!(first, [&*one]);
    assert_eq!(listed(&format!("label=Q4&limit=1&after={}", text(&next))).await.0, [two]);
    let audit = site.get(&format!("/audit?appId={app}")).await.ok(200);
    assert_eq!(audit["items"][2]["detail"], json!({"labels": ["Team A", "Q4"]}));
    let faulty = json!({"labels": ["ok", "a,b", ""]});
    site.patch(&path, faulty)
        .await
        .faults(&[("/labels/1", "must not contain commas"), ("/labels/2", "must have 1 to 30")]);
    let many: Vec<String> = (0..11).map(|number| number.to_string()).collect();
    site.patch(&path, json!({"labels": many})).await.faults(&[("/labels", "must be at most 10")]);
    site.patch(&path, json!({"labels": null})).await.problem(422, "invalid");
    assert_eq!(site.patch(&path, json!({"labels": []})).await.ok(200)["labels"], json!([]));
}
