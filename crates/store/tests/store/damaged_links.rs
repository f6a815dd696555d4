//! Rows of different tables that must belong together: idempotency keys and consents of responses.
//! A row that is missing or changed is found, on both stores.

use crate::support;

use std::path::Path;

use rusqlite::Connection;
use sluice_store::conformance::filling;
use sluice_store::postgres::{self, PgStore};
use sluice_store::roles::*;
use sluice_store::sqlite::{Options, SqliteStore};
use support::Cluster;

const RESPONSES: u32 = 100;

/// The lines that a check finds more than the one before, after each of these faults.
struct Faults {
    before: Vec<String>,
}

impl Faults {
    #[track_caller]
    fn check(&mut self, fault: &str, found: Vec<String>, expected: &[&str]) {
        let mut more: Vec<&String> =
            found.iter().filter(|line| !self.before.contains(line)).collect();
        more.sort_by_key(|line| expected.iter().position(|part| line.contains(part)));
        assert_eq!(more.len(), expected.len(), "{fault}: {more:?}");
        for (line, part) in more.iter().zip(expected) {
            assert!(line.contains("rs_") && line.contains(part), "{fault}: {line}");
        }
        self.before = found;
    }
}

async fn found_in_sqlite(path: &Path) -> Vec<String> {
    let store = SqliteStore::open_to_read(path, Options::default()).unwrap();
    let checked = store.check_pages().await.unwrap();
    store.close().await;
    checked.damaged
}

#[tokio::test]
async fn keys_and_consents_belong_to_responses_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    store.import_records(filling::records(RESPONSES).collect()).await.unwrap();
    store.close().await;
    let mut faults = Faults { before: Vec::new() };
    faults.check("nothing", found_in_sqlite(&path).await, &[]);
    let file = Connection::open(&path).unwrap();
    let one = |number: u32| {
        format!("(SELECT response_id FROM consents ORDER BY response_id LIMIT 1 OFFSET {number})")
    };
    let (set, of) = ("UPDATE consents SET", "WHERE response_id =");
    for (fault, expected) in [
        (format!("DELETE FROM consents {of} {}", one(0)), &["table consents"][..]),
        (format!("{set} respondent_id = randomblob(16) {of} {}", one(1)), &["table consents"]),
        (format!("{set} flow_version_id = randomblob(16) {of} {}", one(2)), &["table consents"]),
        // A consent may outlive its response.
        (format!("DELETE FROM responses {of} {}", one(3)), &[]),
    ] {
        file.execute_batch(&fault).unwrap();
        faults.check(&fault, found_in_sqlite(&path).await, expected);
    }
    let (app, key): (Vec<u8>, Vec<u8>) = file
        .query_row("SELECT app_id, key FROM used_keys LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let stored: Vec<u8> = app.iter().zip(&key).map(|(one, other)| one ^ other).collect();
    let fault = "UPDATE responses SET idempotency_key = ?1 WHERE response_key = \
         (SELECT min(response_key) FROM responses WHERE idempotency_key IS NULL)";
    file.execute(fault, [stored]).unwrap();
    faults.check(fault, found_in_sqlite(&path).await, &["table used_keys"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_consents_belong_to_responses_on_postgresql() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store =
        PgStore::connect(&cluster.url(&database), postgres::Options::default()).await.unwrap();
    store.import_records(filling::records(RESPONSES).collect()).await.unwrap();
    let mut faults = Faults { before: Vec::new() };
    faults.check("nothing", store.check_pages().await.unwrap().damaged, &[]);
    let one = |table: &str, number: u32| {
        format!("(SELECT response_id FROM {table} ORDER BY response_id LIMIT 1 OFFSET {number})")
    };
    let stored = |number: u32| {
        format!(
            "(SELECT response_id FROM responses WHERE idempotency_key IS NOT NULL \
             ORDER BY response_id LIMIT 1 OFFSET {number})"
        )
    };
    let of = "WHERE response_id =";
    let (missing, left) = ("its idempotency key is missing", "not stored with that key");
    for (fault, expected) in [
        (format!("DELETE FROM idempotency {of} {}", stored(0)), &[missing][..]),
        (
            format!(
                "UPDATE idempotency SET response_id = {} {of} {}",
                one("used_keys", 0),
                stored(1)
            ),
            &[missing, left],
        ),
        (format!("DELETE FROM responses {of} {}", stored(2)), &[left]),
        (
            format!("DELETE FROM idempotency {of} {}", one("used_keys", 1)),
            &["its used key is missing"],
        ),
        (format!("DELETE FROM consents {of} {}", one("consents", 4)), &["table consents"]),
        (
            format!(
                "UPDATE consents SET respondent_id = gen_random_uuid() {of} {}",
                one("consents", 5)
            ),
            &["table consents"],
        ),
    ] {
        cluster.sql(&database, &fault).await;
        faults.check(&fault, store.check_pages().await.unwrap().damaged, expected);
    }
    store.close().await;
}
