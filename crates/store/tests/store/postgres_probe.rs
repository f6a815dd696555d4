//! The readiness check needs space on the server's disk, as a submission does.

#![expect(clippy::print_stderr, reason = "a skipped test prints why")]

use crate::support;

use std::path::Path;
use std::process::{Command, Stdio};

use sluice_store::StoreError;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use support::Cluster;

async fn open(cluster: &Cluster, database: &str) -> PgStore {
    PgStore::connect(&cluster.url(database), Options::default()).await.unwrap()
}

/// A disk of 1 MiB in the server's folder.
struct SmallDisk<'c>(&'c Path);

impl<'c> SmallDisk<'c> {
    /// None if this process may not mount.
    fn mount(folder: &'c Path, owned_as: &Path) -> Option<Self> {
        std::fs::create_dir(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "sluice-test"]).arg(folder);
        let disk = mount.stderr(Stdio::null()).status().ok()?.success().then_some(Self(folder))?;
        let mut chown = Command::new("chown");
        chown.arg("--reference").arg(owned_as).arg(folder).status().ok()?.success().then_some(disk)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_server_is_noticed_and_so_is_space_that_returns() {
    let cluster = Cluster::start(&[]);
    let folder = cluster.folder().join("small");
    let Some(_disk) = SmallDisk::mount(&folder, &cluster.data()) else {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    };
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    let location = format!("CREATE TABLESPACE small LOCATION '{}'", folder.display());
    cluster.sql("postgres", &location).await;
    cluster.sql(&database, "ALTER TABLE probe SET TABLESPACE small").await;
    store.check().await.unwrap();
    let ballast = folder.join("ballast");
    // Ends when the disk is full.
    let _full = std::fs::write(&ballast, vec![0; 2 * 1024 * 1024]);
    let full = store.check().await;
    assert!(matches!(full, Err(StoreError::Failed(_))), "{full:?}");
    // A row that is rolled back fits into a page that is there, and would prove nothing.
    cluster.sql(&database, "BEGIN; INSERT INTO probe (filler) VALUES (''); ROLLBACK").await;
    std::fs::remove_file(ballast).unwrap();
    store.check().await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_do_not_pile_up() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    let bytes = async || -> u64 {
        cluster.sql(&database, "SELECT pg_relation_size('probe')").await[0].parse().unwrap()
    };
    let mut before = 0;
    for _ in 0..3 {
        store.check().await.unwrap();
        assert!(bytes().await > before, "a probe needs no space");
        before = bytes().await;
    }
    let many = "INSERT INTO probe SELECT repeat('x', 1900) FROM generate_series(1, 40000)";
    cluster.sql(&database, many).await;
    assert!(bytes().await > 64 * 1024 * 1024);
    // A dump of the database holds this lock for as long as it takes.
    let dump = cluster.client(&database).await;
    dump.batch_execute("BEGIN; LOCK TABLE probe IN ACCESS SHARE MODE").await.unwrap();
    store.check().await.unwrap();
    assert!(bytes().await > 64 * 1024 * 1024, "it was emptied beside a dump");
    dump.batch_execute("COMMIT").await.unwrap();
    store.check().await.unwrap();
    assert_eq!(bytes().await, 0);
    store.close().await;
}
