//! The short path of a flow's page.

use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn a_short_path_is_set_read_and_removed() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let (flow, other) = (site.flow(&app).await, site.flow(&app).await);
    let at = |flow: &str| format!("/flows/{flow}/short-path");
    assert_eq!(site.get(&at(&flow)).await.ok(200), json!({"path": null}));
    let set = site.put(&at(&flow), json!({"path": "My-Survey"})).await.ok(200);
    assert_eq!(set, json!({"path": "my-survey"}));
    assert_eq!(site.get(&at(&flow)).await.ok(200), set);
    let taken = site.put(&at(&other), json!({"path": "my-survey"})).await;
    taken.faults(&[("/path", "is already used by another flow")]);
    let reserved = site.put(&at(&other), json!({"path": "assets"})).await;
    reserved.faults(&[("/path", "is used by Sluice itself")]);
    site.put(&at(&other), json!({})).await.problem(422, "invalid");
    site.put(&at(&other), json!({"path": null, "more": 1})).await.problem(422, "invalid");
    assert_eq!(site.put(&at(&flow), json!({"path": null})).await.ok(200), json!({"path": null}));
    site.put(&at(&other), json!({"path": "my-survey"})).await.ok(200);
    site.delete(&format!("/flows/{other}")).await;
    site.put(&at(&other), json!({"path": "x-y-z"})).await.problem(409, "flow_archived");
}
