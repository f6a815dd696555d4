//! One node upgrades the schema while others wait or keep working.

use reqwest::Method;

use super::support::{assert_complains, http, run, submission, submit};
use super::{Node, Site};

const HISTORY: &str = "SELECT version FROM schema_history ORDER BY version";

#[tokio::test(flavor = "multi_thread")]
async fn of_two_nodes_that_start_concurrently_on_an_empty_database_one_migrates() {
    let mut site = Site::empty();
    let starts = [(); 2].map(|()| {
        let url = site.url();
        std::thread::spawn(move || Node::start(&url))
    });
    site.nodes.extend(starts.map(|start| start.join().expect("it starts")));
    for node in &site.nodes {
        assert_eq!(node.health(&http(), "/readyz").await, 200);
    }
    let versions = site.cluster.psql(&site.database, HISTORY);
    let expected: Vec<String> = (1..=versions.len()).map(|version| version.to_string()).collect();
    assert!(!versions.is_empty() && versions == expected, "each once, in order: {versions:?}");
}

#[test]
fn a_newer_schema_is_refused_with_a_remedy() {
    let (site, _) = Site::start(1);
    newer_schema(&site);
    let folder = tempfile::tempdir().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--store", &site.url()];
    let refused = run(folder.path(), &serve);
    assert_complains(&refused, 1, &["newer Sluice (schema 99", "upgrade this binary"]);
}

/// The old binary keeps running after a newer one has added to the schema: the first step of an
/// upgrade.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_keeps_working_after_a_newer_one_has_added_to_the_schema() {
    let (site, demo) = Site::start(2);
    let http = http();
    for (turn, node) in site.nodes.iter().enumerate() {
        let (url, key) = (node.server.submit_url(&demo.api_key), format!("before {turn}"));
        submit(&http, &url, &key, &submission(&demo.version, &key)).await.expect("stored");
    }
    newer_schema(&site);
    for (turn, node) in site.nodes.iter().enumerate() {
        let path = format!("/flow_versions/{}/republish", demo.version);
        let published = node.admin(Method::POST, &path, None).await;
        let version = published["flowVersionId"].as_str().unwrap();
        let (url, key) = (node.server.submit_url(&demo.api_key), format!("after {turn}"));
        submit(&http, &url, &key, &submission(version, &key)).await.expect("stored");
        assert_eq!(node.health(&http, "/readyz").await, 200);
    }
    assert_eq!(site.nodes[0].list(&format!("/flows/{}/responses", demo.flow)).await.len(), 4);
}

/// What a later migration may do: add tables, indexes, and columns that have a default or may be
/// null.
fn newer_schema(site: &Site) {
    for table in ["apps", "api_keys", "flows", "versions", "responses", "idempotency", "feed"] {
        let add =
            format!("ALTER TABLE {table} ADD later text, ADD later_too int NOT NULL DEFAULT 7");
        site.cluster.psql(&site.database, &add);
    }
    let add = "CREATE TABLE later (id uuid PRIMARY KEY); CREATE INDEX ON responses (app_id, later); \
         INSERT INTO schema_history VALUES (99, 'later', '1', 0)";
    site.cluster.psql(&site.database, add);
}
