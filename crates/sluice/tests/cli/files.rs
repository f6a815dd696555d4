//! The data folder of a running server is taken away: it stops at once, names what happened, and
//! the next start does not put an empty database in its place. SIGHUP does not stop it.

#![cfg(unix)]
use crate::support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{Server, assert_complains, http, run, submission, submit};

/// The exit code after which a supervisor should not start the server again.
const LOST_TRACK: i32 = 4;

fn database(folder: &Path) -> PathBuf {
    folder.join("sluice-data/sluice.db")
}

fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("server.log")).unwrap()
}

/// Waits until the log contains the text.
async fn logged(folder: &Path, text: &str) {
    for _ in 0..4_000 {
        if log(folder).contains(text) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{text:?} is not in {}", log(folder));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_after_the_database_was_removed_is_not_acknowledged_and_the_server_exits() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let (key, version) = (server.id("pk_"), server.id("fv_"));
    let url = server.submit_url(&key);
    submit(&http(), &url, "before", &submission(&version, "before")).await.unwrap();
    std::fs::remove_file(database(folder.path())).unwrap();
    let after = submit(&http(), &url, "after", &submission(&version, "after")).await;
    assert_eq!(after, None, "acknowledged, and gone");
    assert_eq!(server.wait(), Some(LOST_TRACK));
    let log = log(folder.path());
    assert!(
        log.contains("sluice.db was removed or renamed while this server had it open"),
        "{log}"
    );
    assert!(log.contains("sluice verify"), "{log}");

    let again = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_complains(&again, 1, &["there is no database", "sluice.db", "--create", "mounted"]);
    assert!(!database(folder.path()).exists());
    let server =
        Server::start_with(folder.path(), "127.0.0.1:0", |command| command.arg("--create"));
    assert!(server.token().is_some(), "a new database has a new token");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_whose_database_is_replaced_exits_and_never_creates_one_if_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let copy = folder.path().join("copy.db");
    std::fs::copy(database(folder.path()), &copy).unwrap();
    std::fs::rename(&copy, database(folder.path())).unwrap();
    assert_eq!(server.wait(), Some(LOST_TRACK));
    let log = log(folder.path());
    assert!(log.contains("sluice.db was replaced by another file"), "{log}");

    // An empty folder, as the mount point of a volume that is not mounted.
    std::fs::rename(folder.path().join("sluice-data"), folder.path().join("volume")).unwrap();
    let refused = run(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--create=false"]);
    assert_complains(&refused, 1, &["there is no database", "--create=false"]);
    assert!(!database(folder.path()).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_applies_the_log_filter_and_names_what_needs_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sluice.toml");
    std::fs::write(&file, "log = 'warn,sluice=info'\n").unwrap();
    let mut server = Server::start(folder.path());
    let health = format!("{}/livez", server.base);
    let alive = async || server.http.get(&health).send().await.unwrap().status().as_u16();
    assert_eq!(alive().await, 200);
    assert!(!log(folder.path()).contains("/livez"));
    std::fs::write(&file, "log = 'debug'\ndrain-timeout = 7\n").unwrap();
    server.signal("-HUP");
    logged(folder.path(), "the configuration was read again applied=\"log\"").await;
    logged(folder.path(), "changed settings that need a restart settings=\"drain-timeout\"").await;
    assert_eq!(alive().await, 200);
    logged(folder.path(), "route=\"/livez\"").await;
    std::fs::write(&file, "drain-timeot = 7\n").unwrap();
    server.signal("-HUP");
    logged(folder.path(), "the configuration was not reloaded; nothing was changed").await;
    assert_eq!(alive().await, 200);
    assert!(server.is_running());
    assert_eq!(server.stop(), Some(0));
}
