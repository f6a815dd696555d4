//! A restore that was killed half way: what it left is no store, and every command refuses it.

use crate::cluster;
use crate::support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cluster::Cluster;
use sluice_store::conformance::filling;
use sluice_store::postgres::{self, PgStore};
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{MovingStore as _, UpkeepStore as _};
use support::{run, sluice, text};

const RESPONSES: u32 = 5_000;
/// The longest time that a test waits for something.
const DEADLINE: Duration = Duration::from_secs(60);

/// A backup `full.gz` in this folder.
async fn make_backup(here: &Path) {
    let store = SqliteStore::open(&here.join("a/sluice.db"), Options::default()).unwrap();
    store.import_records(filling::records(RESPONSES).collect()).await.unwrap();
    store.close().await;
    let made = run(here, &["backup", "full.gz", "--data", "a"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
}

#[track_caller]
fn assert_refused(output: &Output, code: i32, parts: &[&str]) {
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    for part in parts {
        assert!(complaint.contains(part), "{part:?} is not in {complaint}");
    }
}

#[tokio::test]
async fn a_killed_restore_leaves_no_store_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    make_backup(here).await;
    // The limit on the size of files kills the process in the middle of its writes.
    let killed = Command::new("sh")
        .args(["-c", "ulimit -c 0; ulimit -f 600; exec \"$0\" restore full.gz --data b"])
        .arg(env!("CARGO_BIN_EXE_sluice"))
        .current_dir(here)
        .output()
        .unwrap();
    assert_eq!(killed.status.code(), None, "{}", text(&killed.stderr));
    assert!(here.join("b/sluice.db.restoring").exists());
    assert_refused(&run(here, &["serve", "--data", "b"]), 1, &["interrupted", "sluice restore"]);
    let refused = run(here, &["backup", "x.gz", "--data", "b"]);
    assert_refused(&refused, 1, &["there is no database"]);
    // Nothing is removed unless the place is empty otherwise.
    std::fs::write(here.join("b/notes.txt"), "x").unwrap();
    let refused = run(here, &["restore", "full.gz", "--data", "b"]);
    assert_refused(&refused, 1, &["notes.txt", "nothing was changed"]);
    assert!(here.join("b/sluice.db.restoring").exists());
    std::fs::remove_file(here.join("b/notes.txt")).unwrap();
    let restored = run(here, &["restore", "full.gz", "--data", "b"]);
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored.stderr));
    assert!(!here.join("b/sluice.db.restoring").exists());
}

#[tokio::test]
async fn only_one_restore_to_a_place_runs_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    make_backup(here).await;
    std::fs::create_dir(here.join("b")).unwrap();
    let lock = std::fs::File::create(here.join("b/sluice.db.restoring.lock")).unwrap();
    lock.lock().unwrap();
    let restore = ["restore", "full.gz", "--data", "b"];
    assert_refused(&run(here, &restore), 1, &["another process is restoring", "nothing was"]);
    assert!(!here.join("b/sluice.db").exists());
    drop(lock);
    let restored = run(here, &restore);
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored.stderr));
}

#[tokio::test]
async fn a_mark_of_damage_is_not_taken_over_by_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    make_backup(here).await;
    std::fs::create_dir(here.join("b")).unwrap();
    std::fs::write(here.join("b/sluice.db.damaged"), "page 7").unwrap();
    let restore = ["restore", "full.gz", "--store", "sqlite:b/sluice.db"];
    assert_refused(&run(here, &restore), 1, &["not empty", "nothing was changed"]);
    let moved = ["move", "--from", "sqlite:a/sluice.db", "--to", "sqlite:b/sluice.db"];
    assert_refused(&run(here, &moved), 1, &["damage", "page 7", "nothing was moved"]);
}

#[tokio::test]
async fn a_killed_restore_leaves_no_store_on_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    make_backup(here).await;
    let cluster = Cluster::start(&[]);
    let name = cluster.create_database();
    let url = cluster.url(&name);
    PgStore::connect(&url, postgres::Options::default()).await.unwrap().close().await;
    // The second transaction hangs.
    cluster.psql(
        &name,
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \
         IF EXISTS (SELECT FROM responses WHERE xmin::text <> pg_current_xact_id()::text) \
         THEN PERFORM pg_sleep(600); END IF; RETURN NULL; END'; \
         CREATE TRIGGER hang BEFORE INSERT ON responses FOR EACH STATEMENT EXECUTE FUNCTION hang()",
    );
    let mut restore = sluice();
    restore.current_dir(here).args(["restore", "full.gz", "--data", "b", "--store", &url]);
    let mut restore = restore.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while cluster.psql(&name, "SELECT count(*) FROM responses") == ["0"] {
        assert!(begun.elapsed() < DEADLINE, "the restore writes nothing");
        assert!(restore.try_wait().unwrap().is_none(), "the restore has ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    restore.kill().unwrap();
    restore.wait().unwrap();
    let source = format!("sqlite:{}", here.join("a/sluice.db").display());
    for (code, arguments) in [
        (1, &["serve", "--listen", "127.0.0.1:0", "--store", &url][..]),
        (1, &["backup", "x.gz", "--store", &url]),
        (2, &["verify", "--store", &url]),
        (1, &["move", "--from", &url, "--to", "sqlite:c.db"]),
        (1, &["move", "--from", &source, "--to", &url]),
        (1, &["restore", "full.gz", "--data", "b", "--store", &url]),
    ] {
        let refused = run(here, arguments);
        assert_refused(&refused, code, &["part of a backup", "drop the database"]);
    }
    assert!(!here.join("c.db").exists() && !here.join("x.gz").exists());
    // The documented way out.
    let fresh = cluster.url(&cluster.create_database());
    let restored = run(here, &["restore", "full.gz", "--data", "b", "--store", &fresh]);
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored.stderr));
    let verified = run(here, &["verify", "--store", &fresh]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
}

#[tokio::test]
async fn a_restore_without_its_master_key_is_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    assert_eq!(support::Server::start(here).stop(), Some(0));
    let with_key = |arguments: &[&str]| {
        let mut command = sluice();
        command.current_dir(here).env("SLUICE_BACKUP_PASSPHRASE", "a long passphrase");
        command.args(arguments).output().unwrap()
    };
    assert_eq!(with_key(&["backup", "full.gz"]).status.code(), Some(0));
    // As left by a restore that was killed after it had written the key.
    std::fs::create_dir(here.join("keys")).unwrap();
    std::fs::copy(here.join("sluice-data/master.key"), here.join("keys/master.key")).unwrap();
    // No folder can be made below a file.
    std::fs::write(here.join("file"), "x").unwrap();
    let cluster = Cluster::start(&[]);
    let url = cluster.url(&cluster.create_database());
    let refused = with_key(&["restore", "full.gz", "--data", "file/keys", "--store", &url]);
    let parts = ["the master key cannot be written", "the backup is not restored", "drop it"];
    assert_refused(&refused, 1, &parts);
    let refused = run(here, &["verify", "--store", &url]);
    assert_refused(&refused, 2, &["part of a backup"]);
    let fresh = cluster.url(&cluster.create_database());
    let restored = with_key(&["restore", "full.gz", "--data", "keys", "--store", &fresh]);
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored.stderr));
}
