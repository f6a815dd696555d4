//! `sluice backup` and `sluice restore` as an operator runs them: while a server stores responses,
//! from and into both stores, and refused.

use crate::cluster;
use crate::support;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::Cluster;
use sluice_engine::moving;
use sluice_engine::tally::TableTally;
use sluice_flow::id::{AssetId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::conformance::filling;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{AssetRow, At, Change, Record, Store, Table, Write};
use support::{Server, assert_complains, http, run, sluice, submission, submit, text};

const PASSPHRASE: &str = "SLUICE_BACKUP_PASSPHRASE";
const CLIENTS: usize = 4;

fn open(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, Options::default()).unwrap())
}

async fn put(path: &Path, records: impl Iterator<Item = Record>) {
    let store = open(path);
    store.import_records(records.collect()).await.unwrap();
    store.close().await;
}

async fn tables(path: &Path) -> Vec<TableTally> {
    let store = open(path);
    let tally = moving::tally(&store, |_| {}).await.unwrap();
    store.close().await;
    tally.tables()
}

fn assert_done(output: &Output) {
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{complaint}{}", text(&output.stdout));
}

#[tokio::test]
async fn a_restored_backup_is_equal_and_only_its_owner_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(3_000)).await;
    let made = run(here, &["backup", "full.gz", "--data", "a"]);
    assert_done(&made);
    assert!(text(&made.stderr).contains("the master key is not in this backup"));
    assert!(text(&made.stdout).trim_end().ends_with("verified"), "{}", text(&made.stdout));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(here.join("full.gz")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(!here.join("full.gz.partial").exists());
    assert_done(&run(here, &["restore", "full.gz", "--check"]));
    let restored = run(here, &["restore", "full.gz", "--data", "b"]);
    assert_done(&restored);
    assert!(text(&restored.stdout).trim_end().ends_with("equal and sound"));
    assert_eq!(tables(&here.join("b/sluice.db")).await, tables(&here.join("a/sluice.db")).await);
    let left = std::fs::read_dir(here.join("b")).unwrap().flatten().map(|it| it.file_name());
    // The marker is left by every process that opens the database, as this test did.
    let left: Vec<_> = left.filter(|name| name != "sluice.db.marker").collect();
    assert_eq!(left, ["sluice.db"], "only the database");
}

#[tokio::test]
async fn a_backup_on_standard_output_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(300)).await;
    let made = run(here, &["backup", "-", "--data", "a"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    assert!(text(&made.stderr).contains("--check"));
    std::fs::write(here.join("full.gz"), &made.stdout).unwrap();
    assert_done(&run(here, &["restore", "full.gz", "--data", "b"]));
    assert_eq!(tables(&here.join("b/sluice.db")).await, tables(&here.join("a/sluice.db")).await);
}

#[tokio::test]
async fn a_backup_of_one_store_is_restored_into_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(3_000)).await;
    let cluster = Cluster::start(&[]);
    let (url, second) = (cluster.url(&cluster.create_database()), cluster.create_database());
    let second = cluster.url(&second);
    assert_done(&run(here, &["backup", "1.gz", "--data", "a"]));
    assert_done(&run(here, &["restore", "1.gz", "--store", &url]));
    assert_done(&run(here, &["verify", "--store", &url]));
    let again = run(here, &["restore", "1.gz", "--store", &url]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("is not empty"), "{}", text(&again.stderr));
    assert_done(&run(here, &["backup", "2.gz", "--store", &url]));
    assert_done(&run(here, &["restore", "2.gz", "--store", &second]));
    assert_done(&run(here, &["backup", "3.gz", "--store", &second, "--since", "2.gz"]));
    assert_done(&run(here, &["restore", "3.gz", "--base", "2.gz", "--data", "b"]));
    assert_eq!(tables(&here.join("b/sluice.db")).await, tables(&here.join("a/sluice.db")).await);
}

/// Responses that were deleted, changed and added since; nothing comes back.
#[tokio::test]
async fn an_incremental_backup_restores_exactly_its_instant() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let path = here.join("a/sluice.db");
    put(&path, filling::records(1_000)).await;
    assert_done(&run(here, &["backup", "full.gz", "--data", "a"]));
    let store = open(&path);
    let responses: Vec<_> = filling::records(1_010).filter_map(response_of).collect();
    for number in [0, 1, 2, 500, 701, 998, 999] {
        let (row, _) = &responses[number];
        let expected = store.find_app(row.app_id).await.unwrap().unwrap().revision;
        let delete = vec![Write::DeleteResponse(row.response_id)];
        let at = At::App { app: row.app_id, expected };
        store.apply(at, Change::new(|| delete)).await.unwrap();
    }
    let mut written: Vec<Record> = Vec::new();
    for number in [3, 406, 997, 1_000, 1_005, 1_009] {
        let (mut row, idempotency_key) = responses[number].clone();
        row = row.unlinked(&[]);
        written.push(Record::Response { row, idempotency_key });
    }
    store.import_records(written).await.unwrap();
    store.close().await;
    let made = run(here, &["backup", "day.gz", "--since", "full.gz", "--data", "a"]);
    assert_done(&made);
    let size = |name: &str| std::fs::metadata(here.join(name)).unwrap().len();
    assert!(size("day.gz") * 3 < size("full.gz"), "{} and {}", size("day.gz"), size("full.gz"));
    assert_done(&run(here, &["restore", "day.gz", "--base", "full.gz", "--data", "b"]));
    let (a, b) = (tables(&path).await, tables(&here.join("b/sluice.db")).await);
    assert_eq!(a, b);
    let stored = a.iter().find(|it| it.table == Table::Responses).unwrap().records;
    assert_eq!(stored, 1_000 - 7 + 3);
    for (arguments, parts) in [
        (&["restore", "day.gz", "--data", "c"][..], ["its base is needed", "--base"]),
        (&["restore", "full.gz", "--base", "day.gz", "--data", "c"], ["no base", "leave"]),
        (&["restore", "day.gz", "--base", "day.gz", "--data", "c"], ["not the base", "--base"]),
        (&["backup", "x.gz", "--since", "day.gz", "--data", "a"], ["incremental", "full backup"]),
    ] {
        let refused = run(here, arguments);
        assert_eq!(refused.status.code(), Some(1));
        parts.iter().for_each(|part| assert!(text(&refused.stderr).contains(part), "{part}"));
    }
    assert!(!here.join("c").exists() && !here.join("x.gz").exists());
}

/// An image of an app with bytes that cannot be compressed.
fn image(like: &AssetRow, number: u8) -> AssetRow {
    let mut state = u64::from(number) + 1;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(100_000)
    .collect();
    let asset_id = AssetId::from_uuid(v7(Timestamp::from_millis(i64::from(number)), 0, 0));
    AssetRow { asset_id, digest: AssetRow::digest_of(&bytes), bytes, ..like.clone() }
}

#[tokio::test]
async fn an_incremental_backup_has_only_the_images_that_its_base_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let path = here.join("a/sluice.db");
    let like = filling::records(1_000).find_map(|record| match record {
        Record::Asset(row) => Some(row),
        _ => None,
    });
    let images: Vec<_> = (0..6).map(|number| image(like.as_ref().unwrap(), number)).collect();
    let before = images[..5].iter().cloned().map(Record::Asset);
    put(&path, filling::records(100).chain(before)).await;
    assert_done(&run(here, &["backup", "full.gz", "--data", "a"]));
    // One is deleted, and another one is new.
    let store = open(&path);
    let app = images[0].app_id;
    let expected = store.find_app(app).await.unwrap().unwrap().revision;
    let delete = vec![Write::DeleteAsset(app, images[2].asset_id)];
    store.apply(At::App { app, expected }, Change::new(|| delete)).await.unwrap();
    store.import_records(vec![Record::Asset(images[5].clone())]).await.unwrap();
    store.close().await;
    assert_done(&run(here, &["backup", "day.gz", "--since", "full.gz", "--data", "a"]));
    let size = |name: &str| std::fs::metadata(here.join(name)).unwrap().len();
    let (full, day) = (size("full.gz"), size("day.gz"));
    assert!(full > 500_000 && (100_000..200_000).contains(&day), "{full} and {day}");
    assert_done(&run(here, &["restore", "day.gz", "--base", "full.gz", "--data", "b"]));
    assert_eq!(tables(&path).await, tables(&here.join("b/sluice.db")).await);
}

fn response_of(
    record: Record,
) -> Option<(sluice_store::ResponseRow, Option<sluice_store::IdempotencyKey>)> {
    match record {
        Record::Response { row, idempotency_key } => Some((row, idempotency_key)),
        _ => None,
    }
}

#[tokio::test]
async fn a_backup_that_was_cut_off_or_changed_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(500)).await;
    assert_done(&run(here, &["backup", "full.gz", "--data", "a"]));
    let whole = std::fs::read(here.join("full.gz")).unwrap();
    let plain = gunzip(&whole);
    let lines: Vec<&str> = plain.lines().collect();
    let edited = plain.replacen("Because it was quick", "Because it was quiet", 1);
    let missing = [&lines[..100], &lines[101..]].concat().join("\n") + "\n";
    let half = lines[..lines.len() / 2].join("\n") + "\n";
    let newer = plain.replacen("\"sluice_backup\":1", "\"sluice_backup\":2", 1);
    let swapped =
        [&lines[..50], &lines[51..52], &lines[50..51], &lines[52..]].concat().join("\n") + "\n";
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    for (what, bytes) in [
        ("cut off", whole[..whole.len() / 2].to_vec()),
        ("cut off", whole[..whole.len() - 1].to_vec()),
        ("cut off", gzip(&half)),
        ("damaged", flipped),
        ("damaged", gzip(&edited)),
        ("damaged", gzip(&missing)),
        ("damaged", gzip(&swapped)),
        ("damaged", [whole.clone(), b"x".to_vec()].concat()),
        ("newer Sluice", gzip(&newer)),
        ("not a backup", b"not gzip".to_vec()),
        ("not a backup", gzip("{}\n")),
        ("not a backup", Vec::new()),
    ] {
        std::fs::write(here.join("other.gz"), bytes).unwrap();
        for arguments in
            [&["restore", "other.gz", "--data", "b"][..], &["restore", "other.gz", "--check"]]
        {
            let refused = run(here, arguments);
            assert_complains(&refused, 1, &["other.gz", what]);
        }
        assert!(!here.join("b").exists(), "{what}");
    }
}

#[tokio::test]
async fn an_existing_store_or_file_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(10)).await;
    assert_done(&run(here, &["backup", "full.gz", "--data", "a"]));
    let before = std::fs::read(here.join("full.gz")).unwrap();
    assert_complains(
        &run(here, &["backup", "full.gz", "--data", "a"]),
        1,
        &["exists already", "another name"],
    );
    assert_eq!(std::fs::read(here.join("full.gz")).unwrap(), before);
    let content = tables(&here.join("a/sluice.db")).await;
    for (folder, file) in [("a", None), ("c", Some("master.key")), ("d", Some("sluice.db-wal"))] {
        if let Some(file) = file {
            std::fs::create_dir(here.join(folder)).unwrap();
            std::fs::write(here.join(folder).join(file), "x").unwrap();
        }
        let refused = run(here, &["restore", "full.gz", "--data", folder]);
        assert_complains(&refused, 1, &["not empty", "does not exist"]);
    }
    assert_eq!(tables(&here.join("a/sluice.db")).await, content);
    assert!(!here.join("c/sluice.db").exists() && !here.join("d/sluice.db").exists());
    // What an interrupted restore left is replaced; an empty folder is used.
    std::fs::create_dir(here.join("e")).unwrap();
    std::fs::write(here.join("e/sluice.db.restoring"), "x").unwrap();
    assert_done(&run(here, &["restore", "full.gz", "--data", "e"]));
    assert_eq!(tables(&here.join("e/sluice.db")).await, content);
    let gone = run(here, &["backup", "x.gz", "--data", "gone"]);
    assert!(text(&gone.stderr).contains("no database"), "{}", text(&gone.stderr));
    assert!(!here.join("gone").exists() && !here.join("x.gz").exists());
}

#[tokio::test]
async fn the_master_key_is_restored_with_its_passphrase_only() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    assert_eq!(Server::start(here).stop(), Some(0));
    let key = std::fs::read(here.join("sluice-data/master.key")).unwrap();
    let with = |passphrase: &str, arguments: &[&str]| {
        let mut command = sluice();
        command.current_dir(here).env(PASSPHRASE, passphrase).args(arguments);
        command.output().unwrap()
    };
    let made = with("a long passphrase", &["backup", "full.gz"]);
    assert_done(&made);
    assert_eq!(text(&made.stderr), "", "no warning");
    let plain = gunzip(&std::fs::read(here.join("full.gz")).unwrap());
    assert!(!plain.contains(text(&key).trim()), "the key is not in the file as it is");
    let wrong = with("a wrong passphrase", &["restore", "full.gz", "--data", "b"]);
    assert_complains(&wrong, 1, &["does not open the master key", "nothing was written"]);
    assert!(!here.join("b").exists());
    let short = with("short", &["backup", "x.gz"]);
    assert_complains(&short, 2, &["too short", "12 characters"]);
    let without = run(here, &["restore", "full.gz", "--data", "c"]);
    assert_done(&without);
    assert!(text(&without.stderr).contains("not restored"), "{}", text(&without.stderr));
    assert!(!here.join("c/master.key").exists());
    assert_done(&with("a long passphrase", &["restore", "full.gz", "--data", "d"]));
    assert_eq!(std::fs::read(here.join("d/master.key")).unwrap(), key);
    let server = Server::start_with(here, "127.0.0.1:0", |command| command.args(["--data", "d"]));
    assert_eq!(server.token(), None, "the restored tokens are valid, so no new one is made");
    assert_eq!(server.stop(), Some(0));
    // The secrets of this store were sealed with a key that is not in its folder.
    put(&here.join("e/sluice.db"), filling::records(5)).await;
    std::fs::copy(here.join("sluice-data/master.key"), here.join("e/master.key")).unwrap();
    let other = with("a long passphrase", &["backup", "e.gz", "--data", "e"]);
    assert_complains(&other, 1, &["does not open the secrets", "SLUICE_MASTER_KEY"]);
    assert!(!here.join("e.gz").exists() && !here.join("e.gz.partial").exists());
}

/// Clients that submit until they are stopped; what was acknowledged, by id.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<Mutex<Vec<String>>>,
    clients: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(server: &Server) -> Self {
        let (url, version) = (server.submit_url(&server.id("pk_")), server.id("fv_"));
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let client = |number: usize| {
            let (stop, acknowledged) = (Arc::clone(&stop), Arc::clone(&acknowledged));
            let (url, version) = (url.clone(), version.clone());
            tokio::spawn(async move {
                let http = http();
                for count in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let key = format!("{number}-{count}");
                    let id = submit(&http, &url, &key, &submission(&version, &key)).await;
                    let into: &Mutex<Vec<String>> = &acknowledged;
                    into.lock().unwrap().push(id.expect("every submission is stored"));
                }
            })
        };
        let clients = (0..CLIENTS).map(client).collect();
        Self { stop, acknowledged, clients }
    }

    /// Waits until there are this many more, and returns all so far.
    async fn wait_for(&self, more: usize) -> Vec<String> {
        let wanted = self.acknowledged.lock().unwrap().len() + more;
        loop {
            let so_far = self.acknowledged.lock().unwrap().clone();
            if so_far.len() >= wanted {
                return so_far;
            }
            assert!(self.clients.iter().all(|client| !client.is_finished()), "a client has failed");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.unwrap();
        }
        self.acknowledged.lock().unwrap().len()
    }
}

/// The commands of the guide, while a server stores responses.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_drill_works_under_load_and_nothing_acknowledged_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let server = Server::start(here);
    let (token, flow) = (server.token().unwrap(), server.id("fl_"));
    let load = Load::start(&server);
    let before = load.wait_for(200).await;
    std::fs::create_dir(here.join("backups")).unwrap();
    let drill = sh_block("## The drill");
    let drilled = {
        let here = here.to_owned();
        tokio::task::spawn_blocking(move || sh(&here, &drill, &[])).await.unwrap()
    };
    assert_done(&drilled);
    let seen = load.wait_for(1).await.len();
    assert!(seen > before.len(), "the server stored responses meanwhile");
    let all = load.stop().await;
    assert_eq!(server.stop(), Some(0));
    let restored =
        Server::start_with(here, "127.0.0.1:0", |command| command.args(["--data", "new"]));
    let stored = restored.stored(&token, &flow, None).await;
    for id in &before {
        assert!(stored.contains_key(id), "{id} was acknowledged before the backup");
    }
    assert!(stored.len() <= all, "{} of {all}", stored.len());
    assert_eq!(restored.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_postgresql_under_load_has_everything_acknowledged_before() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let cluster = Cluster::start(&[]);
    let url = cluster.url(&cluster.create_database());
    let server = Server::start_with(here, "127.0.0.1:0", |command| command.args(["--store", &url]));
    let (token, flow) = (server.token().unwrap(), server.id("fl_"));
    let load = Load::start(&server);
    let before = load.wait_for(200).await;
    let made = {
        let (here, url) = (here.to_owned(), url.clone());
        let backup = move || run(&here, &["backup", "full.gz", "--store", &url]);
        tokio::task::spawn_blocking(backup).await.unwrap()
    };
    assert_done(&made);
    load.wait_for(1).await;
    load.stop().await;
    assert_eq!(server.stop(), Some(0));
    let second = cluster.url(&cluster.create_database());
    assert_done(&run(here, &["restore", "full.gz", "--store", &second]));
    assert_done(&run(here, &["verify", "--store", &second]));
    let restored =
        Server::start_with(here, "127.0.0.1:0", |command| command.args(["--store", &second]));
    let stored = restored.stored(&token, &flow, None).await;
    for id in &before {
        assert!(stored.contains_key(id), "{id} was acknowledged before the backup");
    }
    assert_eq!(restored.stop(), Some(0));
}

/// The script of the guide.
#[tokio::test]
async fn the_documented_script_keeps_the_newest_backups() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("data/sluice.db"), filling::records(10)).await;
    std::fs::create_dir(here.join("kept")).unwrap();
    std::fs::write(here.join("kept/notes.txt"), "x").unwrap();
    let script = sh_block("## Every night");
    let mut names = Vec::new();
    for _ in 0..4 {
        assert_done(&sh(here, &script, &["kept", "2"]));
        let entries = std::fs::read_dir(here.join("kept")).unwrap();
        names = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
    }
    assert_eq!(names.len(), 3, "two backups and the other file: {names:?}");
    for name in names.iter().filter(|name| name.ends_with(".gz")) {
        assert_done(&run(here, &["restore", &format!("kept/{name}"), "--check"]));
    }
}

/// The first block of commands after a heading of the guide.
fn sh_block(heading: &str) -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/backup.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let section = guide.split(heading).nth(1).unwrap();
    let block = section.split("```sh\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// Runs commands with `sluice` in the path.
fn sh(folder: &Path, commands: &str, arguments: &[&str]) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_sluice")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-euc", commands, "sh"]).args(arguments).current_dir(folder).env("PATH", path);
    command.env("SLUICE_DATA", "data");
    command.envs([("DATA", "sluice-data"), ("BACKUPS", "backups"), ("NEW", "new")]);
    command.output().unwrap()
}

fn gunzip(bytes: &[u8]) -> String {
    let mut plain = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut plain).unwrap();
    plain
}

fn gzip(plain: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
