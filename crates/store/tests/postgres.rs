//! PostgreSQL keeps every promise of the trait, and those that only a server can make: it is refused
//! where it will not do; it may go away and come back; several nodes share it; nothing is acknowledged
//! that it did not confirm.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests say what fails by failing")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::{FlowId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{ConnectError, Options, PgStore};
use sluice_store::{
    At, Change, FeedPosition, NewResponse, Order, Outcome, Record, ResponseQuery, Store,
    StoreError, Write, conformance,
};
use support::rows::{app_row, key, now, response};
use support::{Cluster, USER};

async fn open(cluster: &Cluster, database: &str) -> PgStore {
    PgStore::connect(&cluster.url(database), Options::default()).await.unwrap()
}

async fn refused(url: &str) -> ConnectError {
    let options = Options { connect_deadline: Duration::from_secs(2), ..Options::default() };
    PgStore::connect(url, options).await.expect_err("should be refused")
}

async fn put_app(store: &PgStore) {
    let rows = vec![Write::App(app_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_every_promise_of_the_trait() {
    let cluster = Cluster::start(&[]);
    conformance::run_all(async || {
        let url = cluster.socket_url(&cluster.database().await);
        Arc::new(PgStore::connect(&url, Options::default()).await.unwrap()) as Arc<dyn Store>
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_nodes_that_start_at_once_one_migrates() {
    let cluster = Cluster::start(&[]);
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
    let history = cluster.sql(&database, "SELECT version FROM refinery_schema_history").await;
    assert_eq!(history, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_killed_half_way_is_begun_again() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    // A type of the name that a table of the schema needs: the migration waits for its fate.
    let other = cluster.client(&database).await;
    other.batch_execute("BEGIN; CREATE TABLE probe (other int)").await.unwrap();
    let url = cluster.url(&database);
    let starting = tokio::spawn(async move { PgStore::connect(&url, Options::default()).await });
    let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
         AND application_name = 'sluice'";
    let pid = loop {
        match cluster.sql(&database, waiting).await.first() {
            Some(pid) => break pid.clone(),
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    cluster.sql(&database, &format!("SELECT pg_terminate_backend({pid})")).await;
    let killed = starting.await.unwrap();
    assert!(matches!(killed, Err(ConnectError::Migration { .. })), "{killed:?}");
    other.batch_execute("ROLLBACK").await.unwrap();
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename IN ('apps', 'responses')";
    assert_eq!(cluster.sql(&database, tables).await, ["0"], "nothing was half done");
    put_app(&open(&cluster, &database).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_or_another_schema_is_refused() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    open(&cluster, &database).await.close().await;
    let add = "INSERT INTO refinery_schema_history VALUES (99, 'later', '', '1')";
    cluster.sql(&database, add).await;
    let told = refused(&cluster.url(&database)).await.to_string();
    assert!(told.contains("newer Sluice (schema 99"), "{told}");
    let change = "DELETE FROM refinery_schema_history WHERE version = 99; \
         UPDATE refinery_schema_history SET checksum = '1'";
    cluster.sql(&database, change).await;
    let error = refused(&cluster.url(&database)).await;
    assert!(matches!(error, ConnectError::OtherSchema { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_will_not_do_is_refused_with_a_reason() {
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
        let told = refused(&url).await.to_string();
        assert!(told.contains(expected), "{parameters}: {told}");
        assert!(!told.contains("secret"), "{told}");
    };
    check(&format!("{USER}:secret-2"), "postgres", "sslmode=disable", "does not let us in").await;
    check(USER, "postgres", "sslmode=disable", "does not let us in").await;
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
    let trusted = format!("sslmode=require&sslrootcert={issuer}");
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
async fn the_next_host_is_used_where_one_is_away_or_read_only() {
    let (away, here) = (Cluster::new(&[]), Cluster::start(&[]));
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

/// Commits one by one, whatever happens, and remembers what was acknowledged.
async fn load(store: Arc<PgStore>, lane: u32, until: Instant) -> Vec<ResponseId> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if Instant::now() >= until {
            break;
        }
        let sent = response(now(), lane << 20 | number, 1);
        match store.commit(vec![sent.clone()]).await {
            Ok(outcomes) => {
                assert_eq!(outcomes, [Outcome::Stored]);
                acknowledged.push(sent.row.response_id);
            }
            Err(StoreError::Failed(_) | StoreError::InDoubt(_)) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_loses_nothing_acknowledged_and_is_found_again() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = Arc::new(open(&cluster, &database).await);
    put_app(&store).await;
    let until = Instant::now() + Duration::from_secs(8);
    let lanes: Vec<_> =
        (1..=3).map(|lane| tokio::spawn(load(Arc::clone(&store), lane, until))).collect();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cluster.control(&["restart", "-m", "immediate"]);
        let back = Instant::now();
        while store.check().await.is_err() {
            assert!(back.elapsed() < Duration::from_secs(5), "not ready again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let mut acknowledged = Vec::new();
    for lane in lanes {
        acknowledged.extend(lane.await.unwrap());
    }
    assert!(acknowledged.len() > 50, "{}", acknowledged.len());
    for id in &acknowledged {
        assert!(store.find_response(*id).await.unwrap().is_some(), "{id} is lost");
    }
    let twice = "SELECT idempotency_key FROM responses GROUP BY 1 HAVING count(*) > 1";
    assert_eq!(cluster.sql(&database, twice).await, [""; 0]);
    store.close().await;
}

/// The sessions of ours whose COMMIT waits for a standby.
const WAITING: &str = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
     AND application_name = 'sluice'";

/// Waits until a COMMIT waits for a standby, and then does this to its session.
async fn to_the_waiting(cluster: &Cluster, function: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    let sql = format!("SELECT {function}(pid) {WAITING}");
    while cluster.sql("postgres", &sql).await.is_empty() {
        assert!(Instant::now() < until, "no commit waits for a standby");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Ends the sessions that were given up at their deadline and still wait.
async fn end_the_waiting(cluster: &Cluster) {
    let sql = format!("SELECT pg_terminate_backend(pid) {WAITING}");
    while !cluster.sql("postgres", &sql).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_standby_confirmed_is_never_acknowledged() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    // A weaker setting of the database must not come into force.
    let weaker = format!("ALTER DATABASE {database} SET synchronous_commit = off");
    cluster.sql("postgres", &weaker).await;
    let options = Options { commit_deadline: Duration::from_secs(2), ..Options::default() };
    let store = PgStore::connect(&cluster.url(&database), options).await.unwrap();
    let store = Arc::new(store);
    put_app(&store).await;
    cluster.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await;
    cluster.sql("postgres", "SELECT pg_reload_conf()").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let commit = |number| {
        let (store, sent) = (Arc::clone(&store), response(now(), number, 1));
        tokio::spawn(async move { store.commit(vec![sent]).await })
    };
    for (number, function) in [(1, "pg_cancel_backend"), (2, "pg_terminate_backend")] {
        let committing = commit(number);
        to_the_waiting(&cluster, function).await;
        let result = committing.await.unwrap();
        assert!(matches!(result, Err(StoreError::InDoubt(_))), "{function}: {result:?}");
        // The row is visible now, and still on no standby: a retry is no acknowledgement either.
        let retried = commit(number).await.unwrap();
        assert!(matches!(retried, Err(StoreError::InDoubt(_))), "{function}: {retried:?}");
        let found = store.find_by_idempotency_key(app_row().app_id, &key(number)).await;
        assert!(matches!(found, Err(StoreError::Failed(_))), "{function}: {found:?}");
        end_the_waiting(&cluster).await;
    }
    let late = commit(3).await.unwrap();
    assert!(matches!(late, Err(StoreError::InDoubt(_))), "at the deadline: {late:?}");
    let began = Instant::now();
    let next = commit(4).await.unwrap();
    assert!(matches!(next, Err(StoreError::Failed(_))), "not even tried: {next:?}");
    assert!(began.elapsed() < Duration::from_secs(1), "refused at once");
    let ready = store.check().await;
    assert!(matches!(ready, Err(StoreError::Failed(_))), "readiness is red: {ready:?}");

    cluster.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''").await;
    cluster.sql("postgres", "SELECT pg_reload_conf()").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
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
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let (one, two) = (open(&cluster, &database).await, open(&cluster, &database).await);
    let deaf = Options { listen: false, ..Options::default() };
    let deaf = PgStore::connect(&cluster.url(&database), deaf).await.unwrap();
    let wait = Duration::from_secs(5);
    // Once for having begun to listen.
    tokio::time::timeout(wait, two.changed()).await.expect("the start of listening is a hint");
    put_app(&one).await;
    tokio::time::timeout(Duration::from_secs(1), two.changed()).await.expect("not announced");
    for node in [&one, &two, &deaf] {
        let seen = node.changes(FeedPosition(0)).await.unwrap();
        assert_eq!(seen.apps, [app_row().app_id]);
    }
    assert_eq!(one.commit(vec![response(now(), 1, 1)]).await.unwrap(), [Outcome::Stored]);
    let quiet = tokio::time::timeout(Duration::from_millis(300), two.changed()).await;
    assert!(quiet.is_err(), "a submission is never announced");

    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    cluster.sql(&database, end).await;
    tokio::time::timeout(wait, two.changed()).await.expect("listening again is a hint");
    put_app(&one).await;
    tokio::time::timeout(wait, two.changed()).await.expect("not announced after reconnecting");
    for node in [one, two, deaf] {
        node.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_not_starved_by_a_stream_of_commits() {
    let cluster = Cluster::start(&[]);
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
                    // Of different lengths, so that one is always under way.
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
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    store.close().await;
}

/// So many milliseconds after the epoch, in the middle of months.
const MARCH_2025: i64 = 1_741_996_800_000;
const FAR_AHEAD: i64 = 7_258_118_400_000;

#[tokio::test(flavor = "multi_thread")]
async fn responses_lie_in_the_partition_of_their_month() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let sent = [now(), MARCH_2025, FAR_AHEAD].into_iter().zip(1..);
    let sent: Vec<_> = sent.map(|(millis, number)| response(millis, number, 1)).collect();
    assert_eq!(store.commit(sent.clone()).await.unwrap(), [Outcome::Stored; 3]);
    for response in &sent {
        let found = store.find_response(response.row.response_id).await.unwrap();
        assert_eq!(found.as_ref(), Some(&response.row));
    }
    let places = "SELECT tableoid::regclass::text FROM responses ORDER BY response_id";
    let month = "SELECT to_char(now() AT TIME ZONE 'UTC', '\"responses_\"YYYY_MM')";
    let month = cluster.sql(&database, month).await.remove(0);
    let lie_in = cluster.sql(&database, places).await;
    assert_eq!(lie_in, ["responses_default", &month, "responses_default"]);
    let ahead = "SELECT count(*) FROM pg_tables WHERE tablename ~ '^responses_[0-9]{4}_'";
    let ahead: u32 = cluster.sql(&database, ahead).await[0].parse().unwrap();
    assert!(ahead >= 3, "{ahead} partitions were made ahead");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_months_are_dropped_with_their_keys() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let month = 31 * 24 * 60 * 60 * 1000;
    let old = [MARCH_2025, MARCH_2025 + month].into_iter().zip(1..);
    let old: Vec<_> = old.map(|(millis, number)| response(millis, number, 1).row).collect();
    let records = old.iter().zip(1..).map(|(row, number)| Record::Response {
        row: row.clone(),
        idempotency_key: Some(key(number)),
    });
    store.write_in(records.collect()).await.unwrap();
    let before = Timestamp::from_millis(MARCH_2025 + month);
    assert_eq!(store.drop_partitions_before(before).await.unwrap(), 1);
    assert_eq!(store.find_response(old[0].response_id).await.unwrap(), None);
    assert!(store.find_response(old[1].response_id).await.unwrap().is_some());
    for (number, left) in [(1, false), (2, true)] {
        let found = store.find_by_idempotency_key(app_row().app_id, &key(number)).await.unwrap();
        assert_eq!(found.is_some(), left, "{number}");
    }
    assert_eq!(store.drop_partitions_before(before).await.unwrap(), 0);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_walks_the_index_of_the_months_that_it_asks_for() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let other = MARCH_2025 + 31 * 24 * 60 * 60 * 1000;
    for millis in [MARCH_2025, other] {
        let rows = (0..4_000).map(|number| response(millis, number, 1).row);
        let records = rows.map(|row| Record::Response { row, idempotency_key: None });
        store.write_in(records.collect()).await.unwrap();
    }
    store.close().await;
    cluster.sql(&database, "ANALYZE").await;
    // What a session did is counted at the latest when it has ended.
    let scans = "SELECT relname || ' ' || (seq_scan > 0) || ' ' || (idx_scan > 0) \
         FROM pg_stat_user_tables WHERE relname ~ '^responses_2025_0' ORDER BY 1";
    cluster.sql(&database, "SELECT pg_stat_reset()").await;
    let store = open(&cluster, &database).await;
    let app = app_row().app_id;
    for order in [Order::Asc, Order::Desc] {
        let query = ResponseQuery {
            app_id: app,
            flow_id: FlowId::from_uuid(app.uuid()),
            version: None,
            from: Some(Timestamp::from_millis(MARCH_2025)),
            to: Some(Timestamp::from_millis(MARCH_2025 + 1)),
            tags: Vec::new(),
            after: None,
            order,
            limit: 10,
        };
        assert_eq!(store.list_responses(&query).await.unwrap().len(), 10);
    }
    store.close().await;
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let told = cluster.sql(&database, scans).await;
        if told == ["responses_2025_03 false true", "responses_2025_04 false false"] {
            break;
        }
        assert!(Instant::now() < until, "{told:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
