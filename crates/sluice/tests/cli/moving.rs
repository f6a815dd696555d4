//! `sluice move` as an operator runs it: complete, interrupted by `kill -9`, and refused.

use crate::cluster;
use crate::support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Cluster;
use sluice_engine::moving;
use sluice_engine::tally::TableTally;
use sluice_store::conformance::filling;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{Record, Store, Table};
use support::{Server, assert_complains, http, run, sluice, submission, submit, text};

const MOVE: [&str; 5] = ["move", "--from", "sqlite:from.db", "--to", "sqlite:to.db"];

fn open(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, Options::default()).unwrap())
}

async fn put(path: &Path, mut records: impl Iterator<Item = Record>) {
    const BATCH_RECORDS: usize = 5_000;
    let store = open(path);
    loop {
        let batch: Vec<Record> = records.by_ref().take(BATCH_RECORDS).collect();
        if batch.is_empty() {
            return store.close().await;
        }
        store.import_records(batch).await.unwrap();
    }
}

async fn tables(path: &Path) -> Vec<TableTally> {
    let store = open(path);
    let tally = moving::tally(&store, |_| {}).await.unwrap();
    store.close().await;
    tally.tables()
}

#[tokio::test]
async fn everything_is_moved_compared_and_shown_by_table() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.db"), folder.path().join("to.db"));
    put(&from, filling::records(3_000)).await;
    let output = run(folder.path(), &MOVE);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output_text = text(&output.stdout);
    let tallies = tables(&from).await;
    assert_eq!(tables(&to).await, tallies);
    let rows: Vec<Vec<&str>> =
        output_text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    for (row, tally) in rows.iter().zip(&tallies) {
        let records = tally.records.to_string();
        assert_eq!(row[..3], [tally.table.name(), &records, &records], "{output_text}");
        assert_eq!(row[3], row[4], "{output_text}");
        assert_eq!(row[5], "equal", "{output_text}");
    }
    assert_eq!(
        rows.len(),
        Table::ALL.len() + 1,
        "a row for each table, and one line: {output_text}"
    );
    assert!(output_text.lines().last().unwrap().ends_with("equal"), "{output_text}");
    let stderr = text(&output.stderr);
    let (held, advice) = stderr.split_once('\n').unwrap();
    let mut parts = held.split("; ");
    let first = "this is a copy, so e-mails and webhooks are held: 6 e-mails due, 3 deliveries waiting, \
                 webhook endpoints in 3 apps";
    assert_eq!(parts.next(), Some(first));
    for (number, part) in parts.enumerate() {
        let sink = format!("events for nats/é{number} waiting since 2025-11-15T02:00:00.");
        assert!(part.starts_with(&sink) && part.ends_with(" days behind)"), "{part}");
    }
    assert!(held.contains("nats/é0"), "{held}");
    let expected = "to send them: start the server, then sluice outbound resume --send-waiting; to drop \
                    them and continue with new ones: sluice outbound resume --drop-waiting\n";
    assert_eq!(advice, expected, "nothing else on stderr");
    // A completed move may be run again: nothing is left to copy, and the result is verified again.
    let again = run(folder.path(), &MOVE);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(tables(&to).await, tallies);
}

#[tokio::test]
async fn a_move_that_is_killed_again_and_again_ends_equal() {
    let folder = tempfile::tempdir().unwrap();
    put(&folder.path().join("from.db"), filling::records(30_000)).await;
    kill_until_done(folder.path(), &MOVE);
    let moved = tables(&folder.path().join("to.db")).await;
    assert_eq!(moved, tables(&folder.path().join("from.db")).await);
}

/// Each run gets a quarter more time than the one before, so that the last one finishes, also on a
/// slow machine.
fn kill_until_done(folder: &Path, arguments: &[&str]) {
    let mut time = Duration::from_millis(150);
    let (mut kills, mut gone_on) = (0, 0);
    loop {
        let mut command = sluice();
        command.current_dir(folder).args(arguments);
        let (ended, output_text) = run_for(&mut command, time);
        gone_on += u32::from(output_text.contains("resuming a move"));
        if ended {
            break;
        }
        (kills, time) = (kills + 1, time * 5 / 4);
        assert!(kills < 40, "it never finishes: {output_text}");
    }
    assert!(
        kills >= 2 && gone_on >= 1,
        "{kills} kills, {gone_on} resumed: too few for a meaningful test"
    );
}

/// Runs a command, and kills it after its time. Returns whether it succeeded before that.
fn run_for(command: &mut Command, time: Duration) -> (bool, String) {
    let begin = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if begin.elapsed() > time => break None,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    if ended.is_none() {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let output_text = text(&output.stderr);
    assert!(ended.is_none_or(|status| status.success()), "{output_text}");
    (ended.is_some(), output_text)
}

#[tokio::test]
async fn a_server_continues_on_the_moved_database() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let (token, api_key) = (server.token().unwrap(), server.id("pk_"));
    let (flow, version) = (server.id("fl_"), server.id("fv_"));
    let body = submission(&version, "first");
    let first = submit(&http(), &server.submit_url(&api_key), "key 1", &body).await.unwrap();
    assert_eq!(server.stop(), Some(0));

    let arguments = ["move", "--from", "sqlite:sluice-data/sluice.db", "--to", "sqlite:new/it.db"];
    let moved = run(folder.path(), &arguments);
    assert_eq!(moved.status.code(), Some(0), "{}", text(&moved.stderr));

    let store = ["--store", "sqlite:new/it.db"];
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| command.args(store));
    assert_eq!(server.token(), None, "this is not a first start");
    let url = server.submit_url(&api_key);
    let retried = submit(&http(), &url, "key 1", &body).await.unwrap();
    assert_eq!(retried, first, "a retry after the move must get the first answer");
    submit(&http(), &url, "key 2", &body).await.expect("new submissions are stored");
    assert_eq!(server.stored(&token, &flow, None).await.len(), 2);
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test]
async fn an_impossible_move_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |name: &str| folder.path().join(name);
    put(&in_folder("from.db"), filling::records(10)).await;
    put(&in_folder("other.db"), filling::records(11)).await;
    for (from, to, code, parts) in [
        ("sqlite:gone.db", "sqlite:to.db", 1, ["no database gone.db", "name the file"]),
        ("sqlite:from.db", "sqlite:./from.db", 2, ["the same store", "empty destination"]),
        ("sqlite:from.db", "sqlite:other.db", 1, ["not the beginning", "empty destination"]),
        ("sqlite:from.db", "mysql://u:secret@h/d", 2, ["--to is not recognised", "write"]),
        ("from.db", "sqlite:to.db", 2, ["--from is not recognised", "sqlite:"]),
    ] {
        let output = run(folder.path(), &["move", "--from", from, "--to", to]);
        assert_complains(&output, code, &parts);
        assert!(!text(&output.stderr).contains("secret"));
    }
    assert!(!in_folder("gone.db").exists() && !in_folder("to.db").exists());
    let tables = tables(&in_folder("other.db")).await;
    let responses = tables.iter().find(|tally| tally.table == Table::Responses).unwrap();
    assert_eq!(responses.records, 11, "the file must not change");
}

/// On PostgreSQL as packaged by the distribution, and back.
#[tokio::test]
async fn a_move_to_postgresql_and_back_restores_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    put(&path("from.db"), filling::records(6_000)).await;
    let cluster = Cluster::start(&[]);
    let url = cluster.url(&cluster.create_database());
    for (from, to) in [("sqlite:from.db", url.as_str()), (&url, "sqlite:back.db")] {
        let output = run(folder.path(), &["move", "--from", from, "--to", to]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).ends_with("equal\n"), "{}", text(&output.stdout));
    }
    assert_eq!(tables(&path("back.db")).await, tables(&path("from.db")).await);
    let other =
        run(folder.path(), &["move", "--from", "sqlite:from.db", "--to", &cluster.url("gone")]);
    assert_complains(&other, 1, &["does not have the database", "createdb"]);
}

#[tokio::test]
async fn a_move_to_postgresql_that_is_killed_again_and_again_ends_equal() {
    let folder = tempfile::tempdir().unwrap();
    put(&folder.path().join("from.db"), filling::records(20_000)).await;
    let cluster = Cluster::start(&[]);
    let url = cluster.url(&cluster.create_database());
    let there = ["move", "--from", "sqlite:from.db", "--to", &url];
    kill_until_done(folder.path(), &there);
    let back = ["move", "--from", &url, "--to", "sqlite:back.db"];
    let output = run(folder.path(), &back);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let back = tables(&folder.path().join("back.db")).await;
    assert_eq!(back, tables(&folder.path().join("from.db")).await);
}

/// The source may be an empty or an older database; a move must not change it.
#[tokio::test]
async fn a_source_is_opened_without_writing_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(&[]);
    let database = cluster.create_database();
    let url = cluster.url(&database);
    let moved = || run(folder.path(), &["move", "--from", &url, "--to", "sqlite:to.db"]);
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_complains(
        &moved(),
        1,
        &["there is no database of Sluice at 127.0.0.1", "nothing was created"],
    );
    assert_eq!(cluster.psql(&database, tables), ["0"]);
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    let output = run(folder.path(), &["move", "--from", "sqlite:empty.db", "--to", "sqlite:to.db"]);
    assert_complains(
        &output,
        1,
        &["there is no database of Sluice in empty.db", "nothing was created"],
    );
    assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0);
    assert!(!folder.path().join("to.db").exists());

    put(&folder.path().join("from.db"), filling::records(100)).await;
    let there = run(folder.path(), &["move", "--from", "sqlite:from.db", "--to", &url]);
    assert_eq!(there.status.code(), Some(0), "{}", text(&there.stderr));
    // A month for which a server would create a partition.
    let last = "SELECT max(relname) FROM pg_class WHERE relname ~ '^responses_[0-9]{4}_[0-9]{2}$'";
    let partition = cluster.psql(&database, last)[0].clone();
    cluster.psql(&database, &format!("DROP TABLE {partition}"));
    let before = cluster.psql(&database, tables);
    let back = moved();
    assert_eq!(back.status.code(), Some(0), "{}", text(&back.stderr));
    assert_eq!(cluster.psql(&database, tables), before, "nothing was created in it");
}
