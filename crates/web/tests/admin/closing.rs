//! The limits on the number of responses of a flow.

use serde_json::{Value, json};
use sluice_engine::Receipt;

use crate::support::{Site, definition, submission, text};

fn detractors(limit: u64) -> Value {
    json!({"id": "detractors", "when": {"question": "nps", "lessThan": 7}, "limit": limit})
}

fn scored(version: &str, nps: &str) -> Value {
    let mut submission = submission(version);
    submission["answers"]["nps"] = json!(nps);
    submission
}

#[tokio::test]
async fn limits_are_set_with_the_responses_that_are_stored() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    // Long ago, and just now.
    for seconds in [600, 1] {
        for nps in ["1", "9"] {
            site.submit(&key, &scored(&version, nps)).await;
        }
        site.clock.advance_millis(seconds * 1_000);
    }
    let path = format!("/flows/{flow}");
    let limits = json!({"closeAfter": 200, "quotas": [detractors(50)]});
    let changed = site.patch(&path, limits).await.ok(200);
    assert_eq!(
        (&changed["closeAfter"], &changed["quotas"]),
        (&json!(200), &json!([detractors(50)]))
    );
    assert_eq!(changed["counted"], json!({"responses": 4, "quotas": {"detractors": 2}}));
    site.submit(&key, &scored(&version, "2")).await;
    let counted = json!({"responses": 5, "quotas": {"detractors": 3}});
    let read = site.get(&path).await.ok(200);
    assert_eq!(read["counted"], counted);
    let listed = site.get(&format!("/apps/{app}/flows")).await.ok(200);
    assert_eq!(listed["items"], json!([read]));
    // What is not named stays; other limits keep what was counted.
    let changed = site.patch(&path, json!({"closeAfter": 3})).await.ok(200);
    assert_eq!((&changed["counted"], &changed["quotas"]), (&counted, &json!([detractors(50)])));
    let changed = site.patch(&path, json!({"quotas": []})).await.ok(200);
    assert_eq!(changed["counted"], json!({"responses": 5, "quotas": {}}));
    let changed = site.patch(&path, json!({"closeAfter": null})).await.ok(200);
    assert_eq!((&changed["closeAfter"], &changed["counted"]), (&Value::Null, &Value::Null));
    let audit = site.get(&format!("/audit?appId={app}")).await.ok(200);
    assert_eq!(audit["items"][0]["detail"], json!({"closeAfter": null}));
    assert_eq!(audit["items"][3]["detail"]["quotas"], json!([detractors(50)]));
}

#[tokio::test]
async fn wrong_limits_are_refused_with_every_fault() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}");
    let number = ("/closeAfter", "must be a whole number from 1 to 1000000000, or null");
    for wrong in [json!(0), json!(-1), json!(1.5), json!("5"), json!(1_000_000_001), json!([])] {
        site.patch(&path, json!({"closeAfter": wrong})).await.faults(&[number]);
    }
    let unknown = json!({"question": "age", "equals": 1});
    let wrong = json!({
        "name": "", "closeAfter": 0,
        "quotas": [{"id": "old", "when": unknown, "limit": 0}, {"id": "?"}]
    });
    site.patch(&path, wrong).await.faults(&[
        ("/name", "must be a text"),
        number,
        ("/quotas/0/limit", "must be a whole number from 1 to"),
        ("/quotas/1/id", "must be letters, digits"),
        ("/quotas/1/when", "when is required"),
        ("/quotas/1/limit", "limit is required"),
        ("/quotas/0/when/question", "must be the id of a question"),
    ]);
    site.patch(&path, json!({"quotas": null})).await.faults(&[("/quotas", "must be a list")]);
    assert_eq!(site.get(&path).await.ok(200)["quotas"], json!([]));
}

#[tokio::test]
async fn a_version_must_have_the_questions_of_the_quotas() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let (path, draft) = (format!("/flows/{flow}"), format!("/flows/{flow}/draft"));
    let old = site.publish(&flow).await;
    // A quota may ask about the draft, too.
    let mut newer = definition("Two");
    newer["questions"][1] = json!({"id": "ok", "type": "yesNo", "prompt": "Ok?"});
    site.put(&draft, newer).await.ok(200);
    let fine = json!({"id": "fine", "when": {"question": "ok", "equals": "yes"}, "limit": 1});
    site.patch(&path, json!({"quotas": [detractors(5), fine]})).await.ok(200);
    // A version without the question is not limited by it.
    site.store(&key, &old, json!({})).await;
    let new = site.publish(&flow).await;
    let yes = json!({"answers": {"nps": "9", "ok": "yes"}});
    site.store(&key, &new, yes.clone()).await;
    let mut again = submission(&new);
    again["answers"] = yes["answers"].clone();
    assert!(matches!(site.submit(&key, &again).await, Receipt::Refused(_)));
    let mut without = definition("Three");
    without["questions"] = json!([{"id": "ok", "type": "yesNo", "prompt": "Ok?"}]);
    site.put(&draft, without).await.ok(200);
    let fault = ("/questions", "the quota detractors does not fit these questions (must be");
    site.post(&format!("{path}/publish"), Value::Null).await.faults(&[fault]);
    site.post(&format!("/flow_versions/{old}/republish"), Value::Null)
        .await
        .faults(&[("/questions", "the quota fine does not fit")]);
    site.patch(&path, json!({"quotas": [fine]})).await.ok(200);
    site.publish(&flow).await;
}

#[tokio::test]
async fn a_deleted_response_makes_room() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let first = site.store(&key, &version, json!({"answers": {"nps": "1"}})).await;
    let limits = json!({"closeAfter": 2, "quotas": [detractors(1)]});
    site.patch(&format!("/flows/{flow}"), limits).await.ok(200);
    let public = format!("/api/v1/{key}/flows/{flow}");
    let status = async || {
        let request = http::Request::get(&public).body(axum::body::Body::empty()).unwrap();
        text(&site.raw(request).await.ok(200)["status"])
    };
    site.store(&key, &version, json!({})).await;
    assert_eq!(status().await, "closed");
    assert_eq!(site.delete(&format!("/responses/{first}")).await.status, 204);
    assert_eq!(status().await, "open");
    let counted = site.get(&format!("/flows/{flow}")).await.ok(200)["counted"].clone();
    assert_eq!(counted, json!({"responses": 1, "quotas": {"detractors": 0}}));
    site.store(&key, &version, json!({"answers": {"nps": "1"}})).await;
    assert!(matches!(site.submit(&key, &submission(&version)).await, Receipt::Refused(_)));
}

#[tokio::test]
async fn two_deletions_of_a_response_make_room_once() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let first = site.store(&key, &version, json!({})).await;
    site.store(&key, &version, json!({})).await;
    site.patch(&format!("/flows/{flow}"), json!({"closeAfter": 2})).await.ok(200);
    let path = format!("/responses/{first}");
    let (one, other) = tokio::join!(site.delete(&path), site.delete(&path));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404]);
    let counted = site.get(&format!("/flows/{flow}")).await.ok(200)["counted"].clone();
    assert_eq!(counted["responses"], 1);
}
