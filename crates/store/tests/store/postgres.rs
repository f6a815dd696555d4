//! The promises that are specific to a server (`postgres_promises` has the others): an unsuitable
//! server is refused; it may go down and come back; several nodes share it; nothing is acknowledged
//! that it did not confirm.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sluice_flow::id::{ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{ConnectError, Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{At, Change, FeedPosition, NewResponse, Outcome, StoreError, Write};
use support::rows::{app_row, key, now, response};
use support::{Cluster, USER};

/// Deadline for what must happen, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often to create another server if one does not start, as when its port was taken.
const STARTS: usize = 3;

/// A server on a separate port.
pub(crate) fn start() -> Cluster {
    for _ in 1..STARTS {
        let cluster = Cluster::new(&[]);
        if std::panic::catch_unwind(|| cluster.control(&["start"])).is_ok() {
            return cluster;
        }
    }
    Cluster::start(&[])
}

/// Polls until there is a result, up to a deadline.
pub(crate) async fn until<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn ready(store: &PgStore) {
    until("the store is ready", async || store.check().await.ok()).await;
}

pub(crate) async fn open(cluster: &Cluster, database: &str) -> PgStore {
    PgStore::connect(&cluster.url(database), Options::default()).await.unwrap()
}

async fn refused(url: &str) -> ConnectError {
    let options = Options { connect_deadline: Duration::from_secs(20), ..Options::default() };
    PgStore::connect(url, options).await.expect_err("should be refused")
}

async fn put_app(store: &PgStore) {
    let rows = vec![Write::App(app_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_nodes_that_start_at_once_migrates() {
    let cluster = start();
    let database = cluster.database().await;
    let url = cluster.url(&database);
    let starts = [(); 6].map(|()| {
        let url = url.clone();
        tokio::spawn(async move { PgStore::connect(&url, Options::default()).await })
    });
    let mut nodes = Vec::new();
    for start in starts {
        nodes.push(start.await.unwrap().unwrap());
    }
    put_app(&nodes[0]).await;
    for node in &nodes {
        assert!(node.find_app(app_row().app_id).await.unwrap().is_some());
    }
    let history = cluster.sql(&database, "SELECT version FROM schema_history").await;
    let history: Vec<u32> = history.iter().map(|version| version.parse().unwrap()).collect();
    assert!(!history.is_empty() && history.is_sorted_by(|one, next| one < next), "{history:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_was_killed_starts_again() {
    let cluster = start();
    let database = cluster.database().await;
    // A type with the name of a table of the schema: the migration waits for this transaction.
    let other = cluster.client(&database).await;
    other.batch_execute("BEGIN; CREATE TABLE probe (other int)").await.unwrap();
    let url = cluster.url(&database);
    let starting = tokio::spawn(async move { PgStore::connect(&url, Options::default()).await });
    let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
         AND application_name = 'sluice'";
    let pid = until("the migration waits", async || {
        cluster.sql(&database, waiting).await.into_iter().next()
    })
    .await;
    cluster.sql(&database, &format!("SELECT pg_terminate_backend({pid})")).await;
    let killed = starting.await.unwrap();
    assert!(matches!(killed, Err(ConnectError::Migration { .. })), "{killed:?}");
    other.batch_execute("ROLLBACK").await.unwrap();
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename IN ('apps', 'responses')";
    assert_eq!(cluster.sql(&database, tables).await, ["0"], "a killed migration left tables");
    put_app(&open(&cluster, &database).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_or_another_schema_is_refused() {
    let cluster = start();
    let database = cluster.database().await;
    open(&cluster, &database).await.close().await;
    let add = "INSERT INTO schema_history VALUES (99, 'later', '1', 0)";
    cluster.sql(&database, add).await;
    let reported = refused(&cluster.url(&database)).await.to_string();
    assert!(reported.contains("newer Sluice (schema 99"), "{reported}");
    let change = "DELETE FROM schema_history WHERE version = 99; \
         UPDATE schema_history SET checksum = '1'";
    cluster.sql(&database, change).await;
    let error = refused(&cluster.url(&database)).await;
    assert!(matches!(error, ConnectError::OtherSchema { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsuitable_server_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let [_, certificate, private] = support::certificates(folder.path());
    let issuer = folder.path().join("ca.pem").display().to_string();
    let cluster = Cluster::new(&[]);
    cluster.put("pg_hba.conf", "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
    cluster.control(&["start"]);
    cluster.sql("postgres", "ALTER ROLE sluice PASSWORD 'secret-1'").await;
    cluster.sql("postgres", "CREATE DATABASE locked").await;
    cluster.sql("postgres", "ALTER DATABASE locked SET default_transaction_read_only = on").await;
    cluster.sql("postgres", "CREATE ROLE guest LOGIN PASSWORD 'guest'").await;
    let user = format!("{USER}:secret-1");
    let check = async |user: &str, database: &str, parameters: &str, expected: &str| {
        let url = cluster.url_with(user, database, parameters);
        let reported = refused(&url).await.to_string();
        assert!(reported.contains(expected), "{parameters}: {reported}");
        assert!(!reported.contains("secret"), "{reported}");
    };
    check(&format!("{USER}:secret-2"), "postgres", "sslmode=disable", "refused the connection")
        .await;
    check(USER, "postgres", "sslmode=disable", "refused the connection").await;
    check(&user, "absent", "sslmode=disable", "does not have the database").await;
    check(&user, "locked", "sslmode=disable", "is read-only").await;
    check("guest:guest", "postgres", "sslmode=disable", "needs the right to create tables").await;
    check(&user, "postgres", "sslmode=require", "offers no TLS").await;
    check(&user, "postgres", "sslrootcert=/absent.pem", "cannot read certificates").await;

    cluster.put("server.crt", &certificate);
    cluster.put("server.key", &private);
    cluster.put("postgresql.auto.conf", "ssl = on\n");
    cluster.control(&["restart", "-m", "fast"]);
    check(&user, "postgres", "sslmode=require", "TLS with PostgreSQL").await;
    check(&user, "postgres", "sslmode=prefer", "sslrootcert=FILE").await;
    let trusted = format!("sslmode=require&sslrootcert={issuer}&channel_binding=require");
    let url = cluster.url_with(&user, "postgres", &trusted);
    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    store.check().await.unwrap();
    let secure = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = 'sluice' AND NOT ssl";
    assert_eq!(cluster.sql("postgres", secure).await, ["0"]);
    store.close().await;

    cluster.control(&["stop", "-m", "fast"]);
    check(&user, "postgres", "sslmode=disable", "cannot reach PostgreSQL").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_host_is_used_if_one_is_down_or_read_only() {
    let (away, here) = (Cluster::new(&[]), start());
    let database = here.database().await;
    let place = |cluster: &Cluster| {
        let url = cluster.url(&database);
        url.split(['@', '/']).nth(3).unwrap().to_owned()
    };
    let hosts = format!("{},{}", place(&away), place(&here));
    let url = format!("postgres://{USER}@{hosts}/{database}?target_session_attrs=read-write");
    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    put_app(&store).await;
    store.close().await;
}

/// Commits one row after another, retrying each until it is acknowledged, and returns their ids.
async fn load(store: Arc<PgStore>, lane: u32, under_way: Arc<UnderWay>) -> Vec<ResponseId> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if under_way.ends.load(Ordering::Relaxed) {
            break;
        }
        let sent = response(now(), lane << 20 | number, 1);
        let id = sent.row.response_id;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match store.commit(vec![sent.clone()]).await {
                Ok(outcomes) => {
                    let known = [[Outcome::Stored], [Outcome::Replayed(id)]];
                    assert!(known.iter().any(|it| outcomes == it), "{id}: {outcomes:?}");
                    break;
                }
                Err(StoreError::Failed(_) | StoreError::InDoubt(_)) => {
                    assert!(Instant::now() < deadline, "{id} is never acknowledged");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        under_way.acknowledged.fetch_add(1, Ordering::Relaxed);
        acknowledged.push(id);
    }
    acknowledged
}

#[derive(Default)]
struct UnderWay {
    acknowledged: AtomicUsize,
    ends: AtomicBool,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_loses_nothing_acknowledged_and_the_store_reconnects() {
    let cluster = start();
    let database = cluster.database().await;
    let store = Arc::new(open(&cluster, &database).await);
    put_app(&store).await;
    let under_way = Arc::new(UnderWay::default());
    let lane = |lane| tokio::spawn(load(Arc::clone(&store), lane, Arc::clone(&under_way)));
    let lanes: Vec<_> = (1..=3).map(lane).collect();
    for restart in 0..4 {
        let before = under_way.acknowledged.load(Ordering::Relaxed);
        until("rows are acknowledged", async || {
            (under_way.acknowledged.load(Ordering::Relaxed) >= before + 20).then_some(())
        })
        .await;
        if restart < 3 {
            cluster.control(&["restart", "-m", "immediate"]);
            ready(&store).await;
        }
    }
    under_way.ends.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for lane in lanes {
        acknowledged.extend(lane.await.unwrap().iter().map(|id| id.uuid().to_string()));
    }
    acknowledged.sort();
    let stored = "SELECT response_id FROM responses ORDER BY 1";
    assert_eq!(cluster.sql(&database, stored).await, acknowledged, "rows are missing or twice");
    let keys = "SELECT response_id FROM idempotency ORDER BY 1";
    assert_eq!(cluster.sql(&database, keys).await, acknowledged, "keys and responses differ");
    store.close().await;
}

/// Our sessions with a COMMIT that waits for a standby.
const WAITING: &str = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
     AND application_name = 'sluice'";

/// Waits until a COMMIT waits for a standby, and then calls this function on its session.
async fn to_the_waiting(cluster: &Cluster, function: &str) {
    let sql = format!("SELECT {function}(pid) {WAITING}");
    until("a commit waits for a standby", async || {
        (!cluster.sql("postgres", &sql).await.is_empty()).then_some(())
    })
    .await;
}

/// Ends the sessions that were given up at their deadline and still wait.
async fn end_the_waiting(cluster: &Cluster, store: &PgStore) {
    let sql = format!("SELECT pg_terminate_backend(pid) {WAITING}");
    until("no commit waits", async || cluster.sql("postgres", &sql).await.is_empty().then_some(()))
        .await;
    // Readiness needs a commit itself. A change that has lost its race begins only if commits are
    // tried, and ends without one.
    let late = At::App { app: app_row().app_id, expected: 1_000_000 };
    let tried = async || store.apply(late, Change::new(Vec::new)).await;
    let is_late = async || matches!(tried().await, Err(StoreError::Conflict)).then_some(());
    until("commits are tried again", is_late).await;
}

/// While commits are not confirmed, anything that needs one is refused without using a connection.
async fn only_reading_goes_on(store: &PgStore, known: u32) {
    for _ in 0..Options::default().connections_max {
        let found = store.find_by_idempotency_key(app_row().app_id, &key(known)).await;
        assert!(matches!(found, Err(StoreError::Failed(_))), "{found:?}");
        let rows = vec![Write::App(app_row())];
        let changed = store.apply(At::Instance, Change::new(|| rows)).await;
        assert!(matches!(changed, Err(StoreError::Failed(_))), "{changed:?}");
    }
    assert!(store.find_app(app_row().app_id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_without_the_standby() {
    without_a_standby(Options::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_without_the_standby_in_distributed_mode() {
    without_a_standby(Options { distributed: true, ..Options::default() }).await;
}

async fn without_a_standby(options: Options) {
    let cluster = start();
    let database = cluster.database().await;
    // Weaker settings of the database and the role must not take effect: one would not wait, the
    // other would hide that a wait was cancelled.
    for weaker in [
        format!("ALTER DATABASE {database} SET synchronous_commit = off"),
        format!("ALTER ROLE {USER} SET client_min_messages = error"),
    ] {
        cluster.sql("postgres", &weaker).await;
    }
    let options = Options { commit_deadline: Duration::from_secs(2), ..options };
    let store = PgStore::connect(&cluster.url(&database), options).await.unwrap();
    let store = Arc::new(store);
    put_app(&store).await;
    cluster.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await;
    cluster.sql("postgres", "SELECT pg_reload_conf()").await;
    let commit = |number| {
        let (store, sent) = (Arc::clone(&store), response(now(), number, 1));
        tokio::spawn(async move { store.commit(vec![sent]).await })
    };
    let mut probes = 1000..;
    until("the server waits for its standby", async || {
        commit(probes.next().unwrap()).await.unwrap().err()
    })
    .await;
    end_the_waiting(&cluster, &store).await;
    for (number, function) in [(1, "pg_cancel_backend"), (2, "pg_terminate_backend")] {
        let committing = commit(number);
        to_the_waiting(&cluster, function).await;
        let result = committing.await.unwrap();
        assert!(matches!(result, Err(StoreError::InDoubt(_))), "{function}: {result:?}");
        // The row is visible now but on no standby: a retry must not be acknowledged either.
        let retried = commit(number).await.unwrap();
        assert!(matches!(retried, Err(StoreError::InDoubt(_))), "{function}: {retried:?}");
        only_reading_goes_on(&store, number).await;
        end_the_waiting(&cluster, &store).await;
        let asked = store.find_by_idempotency_key(app_row().app_id, &key(number)).await;
        assert!(asked.is_err(), "a lookup acknowledged it: {asked:?}");
        end_the_waiting(&cluster, &store).await;
    }
    let plain = NewResponse { idempotency_key: None, ..response(now(), 5, 1) };
    let committing = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.commit(vec![plain]).await }
    });
    to_the_waiting(&cluster, "pg_cancel_backend").await;
    let result = committing.await.unwrap();
    assert!(matches!(result, Err(StoreError::InDoubt(_))), "without a key: {result:?}");
    end_the_waiting(&cluster, &store).await;
    let late = commit(3).await.unwrap();
    assert!(matches!(late, Err(StoreError::InDoubt(_))), "at the deadline: {late:?}");
    let next = commit(4).await.unwrap();
    assert!(matches!(next, Err(StoreError::Failed(_))), "not even tried: {next:?}");
    let red = store.check().await;
    assert!(matches!(red, Err(StoreError::Failed(_))), "readiness is red: {red:?}");

    cluster.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''").await;
    cluster.sql("postgres", "SELECT pg_reload_conf()").await;
    ready(&store).await;
    for number in 1..=3 {
        let outcome = commit(number).await.unwrap().unwrap();
        assert!(matches!(outcome[..], [Outcome::Replayed(_)]), "{number}: {outcome:?}");
    }
    assert_eq!(commit(4).await.unwrap().unwrap(), [Outcome::Stored]);
    store.check().await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_on_one_node_is_announced_to_the_others() {
    let cluster = start();
    let database = cluster.database().await;
    let (one, two) = (open(&cluster, &database).await, open(&cluster, &database).await);
    let deaf = Options { listen: false, ..Options::default() };
    let deaf = PgStore::connect(&cluster.url(&database), deaf).await.unwrap();
    // Once because listening has started.
    tokio::time::timeout(PATIENCE, two.changed()).await.expect("the start of listening is a hint");
    put_app(&one).await;
    tokio::time::timeout(PATIENCE, two.changed()).await.expect("not announced");
    for node in [&one, &two, &deaf] {
        let seen = node.changes(FeedPosition(0)).await.unwrap();
        assert_eq!(seen.apps, [app_row().app_id]);
    }
    assert_eq!(one.commit(vec![response(now(), 1, 1)]).await.unwrap(), [Outcome::Stored]);
    let quiet = tokio::time::timeout(Duration::from_millis(300), two.changed()).await;
    assert!(quiet.is_err(), "a submission is never announced");

    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    cluster.sql(&database, end).await;
    tokio::time::timeout(PATIENCE, two.changed()).await.expect("listening again is a hint");
    put_app(&one).await;
    tokio::time::timeout(PATIENCE, two.changed()).await.expect("not announced after reconnecting");
    for node in [one, two, deaf] {
        node.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_not_starved_by_a_stream_of_commits() {
    let cluster = start();
    let database = cluster.database().await;
    let store = Arc::new(open(&cluster, &database).await);
    put_app(&store).await;
    let until = Instant::now() + Duration::from_secs(3);
    let lanes: Vec<_> = (1..=4)
        .map(|lane| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for number in 0..4096 {
                    if Instant::now() >= until {
                        return;
                    }
                    // Of different lengths, so that one is always in progress.
                    let rows = (0..lane * 200).map(|row| {
                        let number = lane << 22 | number << 10 | row;
                        NewResponse { idempotency_key: None, ..response(now(), number, 1) }
                    });
                    store.commit(rows.collect()).await.unwrap();
                }
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let app = store.find_app(app_row().app_id).await.unwrap().unwrap();
        let at = At::App { app: app.row.app_id, expected: app.revision };
        let token = Write::Audit(sluice_store::AuditRow {
            audit_id: sluice_flow::id::AuditId::from_uuid(v7(Timestamp::from_millis(now()), 0, 0)),
            app_id: Some(app.row.app_id),
            actor: "first-start".to_owned(),
            action: "app.looked".to_owned(),
            subject: String::new(),
            detail: "{}".to_owned(),
        });
        let began = Instant::now();
        store.apply(at, Change::new(|| vec![token])).await.unwrap();
        slowest = slowest.max(began.elapsed());
    }
    for lane in lanes {
        lane.await.unwrap();
    }
    assert!(slowest < PATIENCE, "{slowest:?}");
    store.close().await;
}

/// As another client of a pooler may leave the session.
const WEAKEN: &str = "CREATE TABLE seen (durable text, reported text); \
     CREATE FUNCTION weaken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     INSERT INTO seen VALUES (current_setting('synchronous_commit'), \
     current_setting('client_min_messages')); \
     PERFORM set_config('synchronous_commit', 'off', false); \
     PERFORM set_config('client_min_messages', 'error', false); RETURN NEW; END $$; \
     CREATE TRIGGER weaken BEFORE INSERT ON idempotency FOR EACH ROW EXECUTE FUNCTION weaken()";

#[tokio::test(flavor = "multi_thread")]
async fn every_transaction_sets_its_own_settings() {
    let cluster = start();
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    cluster.sql(&database, WEAKEN).await;
    for number in 0..4 {
        let stored = store.commit(vec![response(now(), number, 1)]).await.unwrap();
        assert_eq!(stored, [Outcome::Stored]);
    }
    let seen = "SELECT durable || ' ' || reported FROM seen";
    assert_eq!(cluster.sql(&database, seen).await, ["on warning"; 4]);
    store.close().await;
}
