//! The PostgreSQL settings take effect, as seen by the database server and by how long a client
//! waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;

use super::support::{http, submission, submit};
use super::{Demo, Node, Site};

/// The sessions of the node, in any state.
const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice'";
const LISTENING: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice' AND query LIKE 'LISTEN%'";
/// A deadline of one second, on a busy machine; the default is ten.
const ABOUT_A_SECOND: std::ops::Range<Duration> =
    Duration::from_millis(900)..Duration::from_millis(9_500);

fn number(site: &Site, sql: &str) -> usize {
    site.cluster.psql(&site.database, sql)[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_limited_and_changes_arrive_without_listening() {
    let (mut site, demo) = Site::start(1);
    let writer = site.nodes.pop().unwrap();
    let tuned = ["--pg-connections", "3", "--pg-write-lanes", "2", "--pg-listen=off"];
    let node = Node::start_with(&site.url(), &tuned);
    let http = http();
    // Far more concurrent reads than connections, none of them cached.
    let reads: Vec<_> = (0..40)
        .map(|number| {
            let url = format!("{}/api/v1/pk_{number:022}/flows/{}", node.server.base, demo.flow);
            let http = http.clone();
            tokio::spawn(async move { http.get(url).send().await.unwrap().status().as_u16() })
        })
        .collect();
    for read in reads {
        assert_eq!(read.await.unwrap(), 401);
    }
    let url = node.server.submit_url(&demo.api_key);
    submit(&http, &url, "tuned", &submission(&demo.version, "tuned")).await.expect("stored");
    let began = Instant::now();
    while number(&site, LISTENING) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "no node listens");
    }
    assert_eq!(number(&site, LISTENING), 1, "only the other node may listen");

    let path = format!("/flow_versions/{}/republish", demo.version);
    let version = writer.admin(Method::POST, &path, None).await["flowVersionId"].take();
    let published = Instant::now();
    let resolve = format!("flows/{}", demo.flow);
    while node.get(&http, &demo.api_key, &resolve).await.1["flowVersionId"] != version {
        assert!(published.elapsed() < Duration::from_secs(60), "the publish is not seen");
    }
    // Without the other node, all sessions are those of this one.
    drop(writer);
    let stopped = Instant::now();
    while !(1..=3).contains(&number(&site, SESSIONS)) {
        assert!(stopped.elapsed() < Duration::from_secs(60), "{}", number(&site, SESSIONS));
    }
}

/// How long a submission takes that is refused temporarily.
async fn refused_after(node: &Node, api_key: &str, demo: &Demo) -> Duration {
    let began = Instant::now();
    let request = http().post(node.server.submit_url(api_key));
    let reply = request.json(&submission(&demo.version, "late")).send().await.unwrap();
    assert_eq!(reply.status(), 503);
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_and_commits_end_after_the_configured_time() {
    let (site, demo) = Site::start(1);
    let site = Arc::new(site);
    let tuned = ["--pg-statement-timeout", "1", "--pg-commit-timeout", "1"];
    let node = Node::start_with(&site.url(), &tuned);
    let url = node.server.submit_url(&demo.api_key);
    submit(&http(), &url, "before", &submission(&demo.version, "x")).await.expect("stored");

    let lock = "BEGIN; LOCK TABLE app_directory IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12)";
    let of_holder = Arc::clone(&site);
    let holder = tokio::task::spawn_blocking(move || {
        of_holder.cluster.psql(&of_holder.database, lock);
    });
    let held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    while number(&site, held) == 0 {
        assert!(!holder.is_finished(), "the lock is not held");
    }
    let took = refused_after(&node, &format!("pk_{:022}", 7), &demo).await;
    assert!(ABOUT_A_SECOND.contains(&took), "a statement timed out after {took:?}");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    site.cluster.psql(&site.database, end);
    holder.await.expect_err("its session was terminated");

    site.cluster.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    site.cluster.psql("postgres", "SELECT pg_reload_conf()");
    let began = Instant::now();
    let took = loop {
        // Commits are confirmed until the server has reloaded its settings.
        let request = http().post(node.server.submit_url(&demo.api_key));
        let asked = Instant::now();
        let reply = request.json(&submission(&demo.version, "late")).send().await.unwrap();
        if reply.status() == 503 {
            break asked.elapsed();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "every commit is confirmed");
    };
    assert!(ABOUT_A_SECOND.contains(&took), "a commit timed out after {took:?}");
    site.cluster.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''");
    site.cluster.psql("postgres", "SELECT pg_reload_conf()");
}
