//! Nodes whose clocks differ agree on what is open, because all of them follow the database's
//! clock.

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use reqwest::Method;

use super::support::{http, sluice, submission, submit};
use super::{Demo, Node, Site, grace};

/// Debian's package `faketime`, on any architecture.
fn library() -> String {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|it| it.path());
    let mut candidates = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    let found = candidates.find(|it| it.exists());
    found
        .expect("libfaketime is missing; on Debian: apt-get install faketime")
        .display()
        .to_string()
}

/// Sets the clock of a process that starts: `+300s`, `-300s`.
fn set_clock<'c>(command: &'c mut Command, offset: &str) -> &'c mut Command {
    let shared = [("LD_PRELOAD", library().as_str()), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    command.envs(shared).env("FAKETIME", offset)
}

fn node_at(site: &Site, offset: &str) -> Node {
    Node::start_by(|command| set_clock(command, offset).args(["--store", &site.url()]))
}

async fn publish(node: &Node, demo: &Demo) -> String {
    let definition = node.definition(demo).await;
    let draft = format!("/flows/{}/draft", demo.flow);
    let draft = node.admin(Method::PUT, &draft, Some(&definition)).await;
    node.admin(Method::POST, &format!("/flows/{}/publish", demo.flow), None).await;
    draft["flowVersionId"].as_str().unwrap().to_owned()
}

/// The version that a node resolves.
async fn resolved(node: &Node, http: &reqwest::Client, demo: &Demo) -> String {
    let path = format!("flows/{}", demo.flow);
    let (status, flow) = node.get(http, &demo.api_key, &path).await;
    assert_eq!(status, 200, "{flow}");
    flow["flowVersionId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_node_refuses_a_version_that_it_resolves_as_open() {
    let (mut site, demo) = Site::start(1);
    site.nodes.push(node_at(&site, "+300s"));
    site.nodes.push(node_at(&site, "-300s"));
    let http = http();
    site.nodes[0].set(&demo, grace(60)).await;
    for (publisher, node) in site.nodes.iter().enumerate() {
        let before = resolved(node, &http, &demo).await;
        let published = publish(node, &demo).await;
        for (number, other) in site.nodes.iter().enumerate() {
            // Also the version before it, which has a minute of grace.
            let now = resolved(other, &http, &demo).await;
            for version in [&now, &published, &before] {
                let url = other.server.submit_url(&demo.api_key);
                let key = format!("{publisher}-{number}-{version}");
                let stored = submit(&http, &url, &key, &submission(version, "")).await;
                assert!(stored.is_some(), "node {number} refused what node {publisher} published");
            }
        }
    }
    for node in &site.nodes {
        let reply = http.get(format!("{}/healthz", node.server.base)).send().await.unwrap();
        let date = reply.headers()["date"].to_str().unwrap();
        let date = httpdate::parse_http_date(date).unwrap();
        let apart = match date.duration_since(SystemTime::now()) {
            Ok(ahead) => ahead,
            Err(behind) => behind.duration(),
        };
        assert!(apart < Duration::from_secs(120), "the Date header is {apart:?} off");
        let metrics = format!("{}/metrics", node.server.base);
        let metrics = http.get(metrics).send().await.unwrap().text().await.unwrap();
        assert!(metrics.contains("sluice_clock_offset_seconds"), "{metrics}");
    }
}

#[test]
fn a_node_whose_clock_is_far_off_is_refused_at_its_start() {
    let site = Site::empty();
    let folder = tempfile::tempdir().unwrap();
    let mut command = sluice();
    command.current_dir(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--store", &site.url()]).stdout(Stdio::null());
    let output = set_clock(&mut command, "+3600s").output().unwrap();
    assert!(!output.status.success());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("differs from that of the database by 3"), "{printed}");
    assert!(printed.contains("synchronise"), "{printed}");
}
