//! Identity keys on several nodes: a revocation on one is in force on the others within a second.

use std::time::Duration;

use super::edges::{IN_FORCE_MAX, cut_announcements, until};
use super::identity::{Secret, change, demo_app, enforce, resolve};
use super::{Node, Site, TOKEN, p99};
use reqwest::Method;

/// The master key that every node gets, as the guide says.
const MASTER_KEY: &str = "qT1B9y7fXkz0wq3cU5lq0m8r2S4v6x8z0A2C4E6G8I0=";
/// Keys to revoke, half of them with the notifications cut off.
const REVOCATIONS: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_identity_key_is_refused_on_the_other_node_within_a_second() {
    let mut site = Site::empty();
    let url = site.url();
    site.nodes.extend((0..2).map(|_| {
        Node::start_by(|command| {
            command.args(["--store", &url]).env("SLUICE_MASTER_KEY", MASTER_KEY)
        })
    }));
    let [one, two] = [0, 1].map(|node| &site.nodes[node].server);
    let (key, flow) = (one.id("pk_"), one.id("fl_"));
    let app = demo_app(one, TOKEN).await;
    let lasting = Secret::make(one, TOKEN, &app).await;
    enforce(one, TOKEN, &app).await;
    let mut times = Vec::new();
    for revocation in 0..REVOCATIONS {
        // First waits until the notifications are connected again.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let secret = Secret::make(one, TOKEN, &app).await;
        let token = secret.token("u-1");
        until(async || resolve(two, &key, &flow, &token).await == 200).await;
        if revocation >= REVOCATIONS / 2 {
            cut_announcements(&site);
        }
        let path = format!("/apps/{app}/identity-keys/{}", secret.kid);
        change(one, TOKEN, Method::DELETE, &path, None).await;
        assert_eq!(
            resolve(one, &key, &flow, &token).await,
            401,
            "at once on the node that revoked it"
        );
        times.push(until(async || resolve(two, &key, &flow, &token).await == 401).await);
        assert_eq!(resolve(two, &key, &flow, &lasting.token("u-1")).await, 200);
    }
    let worst = *times.iter().max().unwrap();
    p99("from the reply to a revocation to its effect on the other node", times);
    assert!(worst < IN_FORCE_MAX, "{worst:?}");
}
