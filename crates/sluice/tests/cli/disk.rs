//! A disk that fails to sync: nothing more is acknowledged, and the process ends with a dedicated
//! exit code. A disk that is nearly full: submissions are refused, and everything else keeps
//! working.
//!
//! The failures are real for the process: `strace` makes its sync calls fail, and the small disk is
//! a mounted one, which needs root.

#![expect(clippy::print_stderr, reason = "a skipped test prints why")]

use crate::support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Server, http, submission, submit};

/// The exit code of a process if the outcome of a write is unknown.
const LOST_TRACK: i32 = 4;
/// Readiness relies on a write younger than this.
const READY_FRESH: Duration = Duration::from_millis(5_200);

/// From here on, every sync of the server fails. Stops with the server.
fn break_syncs(server: &Server) -> Child {
    let syncs = "fsync,fdatasync,sync_file_range,msync";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-p", &server.pid().to_string()]);
    strace.args(["-e", &format!("trace={syncs}"), "-e", &format!("inject={syncs}:error=EIO")]);
    let strace = strace.stderr(Stdio::null()).spawn();
    let child = strace.expect("strace is needed; on Debian: apt-get install strace");
    server.until_traced();
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_whose_sync_failed_is_not_acknowledged_and_a_retry_stores_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let (token, flow, version) = (server.token().unwrap(), server.id("fl_"), server.id("fv_"));
    let key = server.id("pk_");
    let body = submission(&version, "before");
    submit(&http(), &server.submit_url(&key), "before", &body).await.unwrap();
    let mut strace = break_syncs(&server);
    let during = submission(&version, "during");
    assert_eq!(submit(&http(), &server.submit_url(&key), "during", &during).await, None);
    assert_eq!(server.wait(), Some(LOST_TRACK));
    strace.wait().unwrap();

    let server = Server::start(folder.path());
    let url = server.submit_url(&key);
    let id = submit(&http(), &url, "during", &during).await.unwrap();
    let again = submit(&http(), &url, "during", &during).await.unwrap();
    assert_eq!(id, again);
    let stored = server.stored(&token, &flow, None).await;
    assert_eq!(stored.len(), 2, "{stored:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_during_a_readiness_check_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    tokio::time::sleep(READY_FRESH).await;
    let mut strace = break_syncs(&server);
    let ready = http().get(format!("{}/readyz", server.base)).send().await.unwrap();
    assert_eq!(ready.status().as_u16(), 503);
    assert_eq!(server.wait(), Some(LOST_TRACK));
    strace.wait().unwrap();
}

/// A disk of 64 MiB.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None if this process may not mount.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "sluice-test"]).arg(folder.path());
        mount.stderr(Stdio::null()).status().ok()?.success().then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn ballast(&self) -> std::path::PathBuf {
        self.path().join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

const RESERVE_BYTES: &str = "8388608";
const BALLAST_BYTES: usize = 48 * 1024 * 1024;
/// Calls in one request.
const CALLS: usize = 50;
/// Far more requests than are needed to fill the disk.
const REQUESTS_MAX: usize = 5_000;
/// A checkpoint of the log may free space again; after this many refusals in a row none is left.
const REFUSALS: usize = 3;

/// Submits until the disk's reserve is reached. Returns the last refusal.
async fn fill(server: &Server, key: &str, version: &str) -> Value {
    let calls = vec!["response.submit"; CALLS].join(",");
    let url = format!("{}/api/v1/{key}/trpc/{calls}?batch=1", server.base);
    let one = submission(version, &"x".repeat(1_500));
    let body: serde_json::Map<String, Value> =
        (0..CALLS).map(|index| (index.to_string(), one.clone())).collect();
    let mut refusals = 0;
    for _ in 0..REQUESTS_MAX {
        let reply = server.http.post(&url).json(&body).send().await.unwrap();
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let items: Value = serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap();
        match status {
            200 => assert_eq!(items[0]["result"]["data"]["success"], true, "{items}"),
            207 => {}
            other => {
                assert_eq!(other, 503, "{items}");
                assert_eq!(headers["retry-after"], "30");
                refusals += 1;
            }
        }
        if status != 503 {
            refusals = 0;
        } else if refusals == REFUSALS {
            return items[0].clone();
        }
    }
    panic!("the disk did not fill up");
}

/// The status of an admin call.
async fn admin(server: &Server, token: &str, method: &str, path: &str, body: Value) -> u16 {
    let url = format!("{}/api/admin/v1{path}", server.base);
    let request = server.http.request(method.parse().unwrap(), url).bearer_auth(token);
    let request = if body.is_null() { request } else { request.json(&body) };
    request.send().await.unwrap().status().as_u16()
}

/// Signs in to the console with an admin token.
async fn signs_in(server: &Server, token: &str) -> bool {
    let client = support::client_builder().no_proxy();
    let client = client.redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let request = client.post(format!("{}/console/sign-in", server.base));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let request = request.header("sec-fetch-site", "same-origin").header("origin", &server.base);
    let request = request.body(format!("token={token}"));
    let reply = request.send().await.unwrap();
    reply.status().as_u16() == 303 && reply.headers().contains_key("set-cookie")
}

#[tokio::test(flavor = "multi_thread")]
async fn below_the_disk_reserve_submissions_are_refused_and_everything_else_works() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    };
    std::fs::write(disk.ballast(), vec![0; BALLAST_BYTES]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        let command = command.arg("--data").arg(disk.path());
        // The ballast is in the folder.
        command.args(["--disk-reserve", RESERVE_BYTES, "--create"])
    });
    let (token, flow, version) = (server.token().unwrap(), server.id("fl_"), server.id("fv_"));
    let key = server.id("pk_");
    let url = server.submit_url(&key);
    let ready = async || {
        let reply = server.http.get(format!("{}/readyz", server.base)).send().await.unwrap();
        (reply.status().as_u16(), reply.text().await.unwrap())
    };
    assert_eq!(ready().await.0, 200);

    let refused = fill(&server, &key, &version).await;
    assert_eq!(refused["error"]["data"]["code"], "SERVICE_UNAVAILABLE", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("disk space"), "{refused}");
    let (status, reply) = ready().await;
    assert!(status == 503 && reply.contains("disk_reserve"), "{reply}");
    let metrics = server.http.get(format!("{}/metrics", server.base)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("sluice_limited_requests_total{reason=\"disk\"}"), "{metrics}");
    assert!(metrics.contains("sluice_disk_reserve_bytes 8388608"), "{metrics}");
    assert!(metrics.contains("sluice_disk_free_bytes "), "{metrics}");

    let (_, apps) = server.admin(&token, "/apps").await;
    let app = format!("/apps/{}", apps["items"][0]["appId"].as_str().unwrap());
    let patch = json!({"name": "Renamed", "retentionDays": 30});
    assert_eq!(admin(&server, &token, "PATCH", &app, patch).await, 200);
    assert!(signs_in(&server, &token).await);
    let stored = server.stored(&token, &flow, None).await;
    for id in stored.keys().take(1_000) {
        let path = format!("/responses/{id}");
        assert_eq!(admin(&server, &token, "DELETE", &path, Value::Null).await, 204);
    }
    // Deleted responses leave free pages in the database, which count as space.
    assert!(submit(&http(), &url, "in-free-pages", &submission(&version, "x")).await.is_some());
    assert_eq!(ready().await.0, 200);

    fill(&server, &key, &version).await;
    std::fs::remove_file(disk.ballast()).unwrap();
    assert!(submit(&http(), &url, "with-room", &submission(&version, "x")).await.is_some());
    assert_eq!(ready().await.0, 200);
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
    let times = |text: &str| log.matches(text).count();
    let (ends, begins) = (times("the disk has room"), times("the disk is nearly full"));
    assert!(begins >= 2 && begins == ends, "one line for each change: {log}");
}
