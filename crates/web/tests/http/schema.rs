//! The JSON Schema of a submission: errors, caching, and who may read it. `tests/clients` compares
//! its verdicts with those of the server.

use crate::use_cases::UseCases as _;
use serde_json::json;

use crate::support::{Site, actor, survey};

fn path(version: &impl std::fmt::Display) -> String {
    format!("flow_versions/{version}/schema?payload=4")
}

#[tokio::test]
async fn a_schema_names_its_version_and_can_be_cached() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let reply = site.get(&site.path(&path(&version)), &[]).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type").as_deref(), Some("application/schema+json"));
    assert_eq!(reply.header("cache-control").as_deref(), Some("public, max-age=3600"));
    let schema = reply.json();
    assert_eq!(schema["properties"]["flowVersionId"]["const"], version.to_string());
    assert_eq!(schema["properties"]["flowVersionPayloadGeneration"]["const"], "4");
    let etag = reply.header("etag").unwrap();
    let again = site.get(&site.path(&path(&version)), &[("if-none-match", &etag)]).await;
    assert_eq!(again.status, 304);
    let packed = site.get(&site.path(&path(&version)), &[("accept-encoding", "gzip")]).await;
    assert_eq!(packed.header("content-encoding").as_deref(), Some("gzip"));
    // A superseded version is served, a retired one is not.
    site.publish_again(flow).await;
    assert_eq!(site.get(&site.path(&path(&version)), &[]).await.json(), schema);
    site.engine.retire(&actor(), version).await.unwrap();
    let retired = site.get(&site.path(&path(&version)), &[]).await;
    retired.assert_problem(404, "flow_version_not_found");
}

#[tokio::test]
async fn an_unavailable_schema_is_refused_with_a_reason() {
    let site = Site::start().await;
    let (_, version) = site.published().await;
    let draft = site.flow(survey()).await;
    let draft = site.engine.get_draft(&actor(), draft).await.unwrap().flow_version_id;
    for (rest, status, code) in [
        (format!("flow_versions/{version}/schema"), 400, "payload_generation_required"),
        (
            format!("flow_versions/{version}/schema?payload=3"),
            400,
            "payload_generation_unsupported",
        ),
        (path(&draft), 404, "flow_version_not_found"),
        (path(&"fv_0000000000000000000001"), 404, "flow_version_not_found"),
        (format!("flow_versions/{version}/nothing?payload=4"), 404, "route_not_found"),
    ] {
        site.get(&site.path(&rest), &[]).await.assert_problem(status, code);
    }
    let other = site.other_app().await;
    let reply = other.get(&other.path(&path(&version)), &[]).await;
    reply.assert_problem(404, "flow_version_not_found");
}

#[tokio::test]
async fn conditions_of_a_version_are_in_its_schema() {
    let site = Site::start().await;
    let definition = json!({"title": "t", "questions": [
        {"id": "a", "type": "yesNo", "prompt": "?",
         "next": [{"when": {"question": "a", "equals": "no"}, "to": "end"}]},
        {"id": "b", "type": "shortText", "prompt": "?", "required": true},
    ]});
    let flow = site.flow(definition).await;
    let version = site.publish(flow).await;
    let schema = site.get(&site.path(&path(&version)), &[]).await.json();
    let way = &schema["$defs"]["answers"]["allOf"][0]["allOf"][0];
    assert_eq!(way["then"], true);
    assert_eq!(way["else"]["$ref"], "#/$defs/from.1");
    assert_eq!(schema["$defs"]["from.1"]["allOf"][0]["required"], json!(["b"]));
}
