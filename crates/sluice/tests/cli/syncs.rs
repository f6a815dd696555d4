//! The order of writes and syncs of SQLite's files, as the system sees it: a reply only after the
//! sync of the log, the database only after the log, and on a slow disk no sync that does nothing.

#![cfg(target_os = "linux")]
use crate::support;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use support::{Server, http, submission, submit};

/// What a sync takes longer. `sluice_vfs` calls 50 ms slow.
const DELAY_MICROS: u32 = 120_000;
const SUBMISSIONS: usize = 3;

/// Traces the server into this file, and delays its syncs. Stops with the server.
fn trace(server: &Server, into: &Path) -> Child {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "64", "-p", &server.pid().to_string(), "-o"]).arg(into);
    strace.args(["-e", "trace=fsync,fdatasync,pwrite64,sendto,write,writev"]);
    strace.args(["-e", &format!("inject=fsync,fdatasync:delay_enter={DELAY_MICROS}")]);
    let strace = strace.stderr(Stdio::null()).spawn();
    let child = strace.expect("strace is needed; on Debian: apt-get install strace");
    server.until_traced();
    child
}

#[derive(Debug, Default)]
struct Seen {
    /// The log has what was not synced.
    is_log_dirty: bool,
    log_syncs: usize,
    /// Of these, those with nothing new in the log.
    needless: usize,
    checkpoints: usize,
    /// Replies to submissions.
    replies: usize,
}

impl Seen {
    fn in_trace(file: &Path) -> Self {
        let mut seen = Self::default();
        for line in std::fs::read_to_string(file).unwrap().lines() {
            seen.note(line);
        }
        seen
    }

    fn note(&mut self, line: &str) {
        let Some((_, call)) = line.split_once(' ') else { return };
        // The second part of a call that another thread interrupted.
        let call = call.trim_start();
        if call.starts_with("<...") {
            return;
        }
        let is_sync = call.starts_with("fsync") || call.starts_with("fdatasync");
        let is_write = call.starts_with("pwrite64");
        if call.contains("sluice.db-wal>") {
            if is_sync {
                self.log_syncs += 1;
                self.needless += usize::from(!self.is_log_dirty);
                self.is_log_dirty = false;
            } else if is_write {
                self.is_log_dirty = true;
            }
        } else if call.contains("sluice.db>") {
            assert!(!self.is_log_dirty, "the database before its log: {line}");
            self.checkpoints += usize::from(is_sync);
        } else if call.contains("HTTP/1.1 200") && !is_sync {
            self.replies += 1;
            assert!(self.replies <= self.log_syncs, "a reply before its sync: {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_follow_syncs_and_a_slow_checkpoint_syncs_the_log_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let (token, version, key) = (server.token().unwrap(), server.id("fv_"), server.id("pk_"));
    let file = folder.path().join("trace");
    let mut strace = trace(&server, &file);
    let mut ids = Vec::new();
    for number in 0..SUBMISSIONS {
        let name = format!("answer {number}");
        let body = submission(&version, &name);
        ids.push(submit(&http(), &server.submit_url(&key), &name, &body).await.unwrap());
    }
    // What is removed leaves the log at once: a checkpoint follows.
    for id in ids {
        let url = format!("{}/api/admin/v1/responses/{id}", server.base);
        let removed = server.http.delete(url).bearer_auth(&token).send().await.unwrap();
        assert!(removed.status().is_success(), "{removed:?}");
    }
    server.kill();
    strace.wait().unwrap();
    let seen = Seen::in_trace(&file);
    assert!(seen.replies >= SUBMISSIONS, "{seen:?}");
    assert!(seen.checkpoints >= SUBMISSIONS - 1, "{seen:?}");
    assert_eq!(seen.needless, 0, "{seen:?}");
}
