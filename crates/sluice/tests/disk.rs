//! A disk that fails to sync: nothing more is acknowledged, and the process ends with its own code.
//!
//! The failure is real as far as the process can tell: `strace` makes its sync calls fail.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::{Server, http, submission, submit};

/// The exit code of a process whose store lost track of a write.
const LOST_TRACK: i32 = 4;
/// Readiness believes a write that is younger than this.
const READY_FRESH: Duration = Duration::from_millis(1_100);

/// From here on, every sync of the server fails. Ends with the server.
fn break_syncs(server: &Server) -> Child {
    let syncs = "fsync,fdatasync,sync_file_range,msync";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-p", &server.pid().to_string()]);
    strace.args(["-e", &format!("trace={syncs}"), "-e", &format!("inject={syncs}:error=EIO")]);
    let strace = strace.stderr(Stdio::null()).spawn();
    let child = strace.expect("strace is needed; on Debian: apt-get install strace");
    // It says nothing once it has attached.
    std::thread::sleep(Duration::from_millis(700));
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
async fn a_readiness_check_that_meets_a_failed_sync_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    tokio::time::sleep(READY_FRESH).await;
    let mut strace = break_syncs(&server);
    let ready = http().get(format!("{}/readyz", server.base)).send().await.unwrap();
    assert_eq!(ready.status().as_u16(), 503);
    assert_eq!(server.wait(), Some(LOST_TRACK));
    strace.wait().unwrap();
}
