//! Expiry with several nodes on one database: no node treats another's unfinished work as done.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluice_flow::id::{AuditId, RespondentId, v7};
use sluice_flow::respondent::Claim;
use sluice_flow::submission::{Admission, Identity};
use sluice_flow::time::Timestamp;
use sluice_store::conformance::filling;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{
    At, AuditRow, Change, Expiry, ExpiryCursor, Next, Outcome, Page, Record, Write,
};
use support::Cluster;
use support::rows::{app_row, flow_row, now, response};

/// Deadline for what must happen, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
const RESPONSES: u32 = 4;

/// A store with this many responses, each from a different sender.
async fn filled(cluster: &Cluster, database: &str) -> Arc<PgStore> {
    let url = cluster.url(database);
    let store = Arc::new(PgStore::connect(&url, Options::default()).await.unwrap());
    let rows = vec![Write::App(app_row()), Write::Flow(flow_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    for number in 0..RESPONSES {
        let mut sent = response(now() - 1_000, number, 1);
        sent.row.admission = Admission::Admitted;
        let user = format!("user-{number}");
        let identity = Identity { kind: "userId".into(), value: user.as_str().into() };
        let mut claim = Claim::from_identities(&[identity]).unwrap();
        claim.new_id = RespondentId::from_uuid(v7(Timestamp::from_millis(now()), number, 7));
        sent.claim = Some(Box::new(claim));
        assert_eq!(store.commit(vec![sent]).await.unwrap(), [Outcome::Stored]);
    }
    store
}

fn expiry(cursor: ExpiryCursor) -> Expiry {
    let app_id = app_row().app_id;
    let audit = AuditRow {
        audit_id: AuditId::from_uuid(v7(Timestamp::from_millis(now()), 1, 1)),
        app_id: Some(app_id),
        actor: "test".to_owned(),
        action: "retention.enforced".to_owned(),
        subject: app_id.to_string(),
        detail: "{}".to_owned(),
    };
    Expiry {
        app_id,
        retention_days: None,
        before: Timestamp::from_millis(now()),
        cursor,
        audit,
        limit: 2,
    }
}

/// Waits until a session waits for a lock.
async fn until_it_waits(cluster: &Cluster, database: &str) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
         AND application_name = 'sluice'";
    let deadline = Instant::now() + PATIENCE;
    while cluster.sql(database, waiting).await != ["1"] {
        assert!(Instant::now() < deadline, "no session waits for a lock");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_taken_by_another_node_is_not_the_end_of_the_responses() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = filled(&cluster, &database).await;
    let other = cluster.client(&database).await;
    let take = "BEGIN; DELETE FROM responses WHERE response_id IN \
         (SELECT response_id FROM responses ORDER BY response_id LIMIT 2)";
    other.batch_execute(take).await.unwrap();
    let expiring = Arc::clone(&store);
    let part =
        tokio::spawn(
            async move { expiring.expire(expiry(ExpiryCursor::default())).await.unwrap() },
        );
    until_it_waits(&cluster, &database).await;
    other.batch_execute("COMMIT").await.unwrap();
    let part = part.await.unwrap();
    assert_eq!(part.responses, 2, "the next two were not taken instead");
    let Next::At(cursor @ ExpiryCursor::Responses(Some(_))) = part.next else {
        panic!("a full batch ended the expiry: {part:?}");
    };
    let part = store.expire(expiry(cursor)).await.unwrap();
    assert_eq!((part.responses, part.next), (0, Next::At(ExpiryCursor::Consents(None))));
    let page = Page { after: None, limit: 10 };
    let left = store.list_respondents(app_row().app_id, page).await.unwrap();
    assert_eq!(left.len(), 4, "profiles were removed before the last response");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_locked_by_another_node_is_left_to_it() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = filled(&cluster, &database).await;
    // A batch that waits for a row is in progress, and holds the app's lock.
    let other = cluster.client(&database).await;
    other.batch_execute("BEGIN; SELECT FROM responses FOR UPDATE").await.unwrap();
    let expiring = Arc::clone(&store);
    let first =
        tokio::spawn(
            async move { expiring.expire(expiry(ExpiryCursor::default())).await.unwrap() },
        );
    until_it_waits(&cluster, &database).await;
    let second = store.expire(expiry(ExpiryCursor::default())).await.unwrap();
    assert_eq!((second.rows, second.next), (0, Next::LeftToAnother));
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(first.await.unwrap().responses, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_are_not_blocked_by_the_expiry_of_invitations_or_kept_consents() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = filled(&cluster, &database).await;
    let invite = "INSERT INTO invitations (app_id, flow_id, assignment_id, user_id, created_at, expires_at) \
         SELECT app_id, app_id, gen_random_uuid(), 'user-' || number, 1, NULL \
         FROM apps, generate_series(0, 3) AS number; \
         INSERT INTO invitations (app_id, flow_id, assignment_id, user_id, created_at, expires_at) \
         SELECT app_id, app_id, gen_random_uuid(), 'over-' || number, 1, 5 \
         FROM apps, generate_series(0, 3) AS number";
    cluster.client(&database).await.batch_execute(invite).await.unwrap();
    // While this is held, anything that needs the app's exclusive lock waits.
    let other = cluster.client(&database).await;
    let submitting = format!("BEGIN; SELECT pg_advisory_xact_lock_shared({})", queue_of_app());
    other.batch_execute(&submitting).await.unwrap();
    for cursor in [ExpiryCursor::Consents(None), ExpiryCursor::Keys(None)] {
        let part = store.expire(expiry(cursor)).await.unwrap();
        assert_eq!(part.rows, 0, "{cursor:?}: all are still invited");
    }
    let part = store.expire(expiry(ExpiryCursor::Invitations(None))).await.unwrap();
    assert_eq!(part.invitations, 2, "not two at a time");
    other.batch_execute("COMMIT").await.unwrap();
}

/// The advisory lock number under which submissions to the app queue.
fn queue_of_app() -> i64 {
    let bits = app_row().app_id.uuid().as_u128();
    ((bits >> 64) as u64 ^ bits as u64).cast_signed()
}

/// Commits one response after another until stopped; returns how long each took.
async fn submitting(store: Arc<PgStore>, stop: Arc<AtomicBool>, first: u32) -> Vec<Duration> {
    let mut took = Vec::new();
    for number in first.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let began = Instant::now();
        let outcomes = store.commit(vec![response(now(), number, 1)]).await.unwrap();
        assert_eq!(outcomes, [Outcome::Stored]);
        took.push(began.elapsed());
    }
    took.sort();
    took
}

#[expect(clippy::print_stdout, reason = "prints measurements")]
fn reported(what: &str, took: &[Duration]) {
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize];
    println!("{what}: {} of {:?} p50, {:?} p99, {:?} max", took.len(), at(0.5), at(0.99), at(1.0));
}

/// Runs an expiry to its end as the engine does, and prints how long its batches took.
async fn expire_all(store: &PgStore, what: &str) {
    let (mut cursor, mut took) = (ExpiryCursor::default(), Vec::new());
    loop {
        let began = Instant::now();
        let before = Timestamp::from_millis(now() - 3_600_000);
        let part = store.expire(Expiry { before, limit: 500, ..expiry(cursor) }).await.unwrap();
        took.push((cursor, began.elapsed(), part.rows));
        match part.next {
            Next::At(next) => cursor = next,
            Next::Done => break,
            Next::LeftToAnother | Next::SettingChanged => panic!("there is no other node"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for parts in
        took.chunk_by(|one, next| std::mem::discriminant(&one.0) == std::mem::discriminant(&next.0))
    {
        let name = format!("{:?}", parts[0].0);
        let rows: u64 = parts.iter().map(|(_, _, rows)| rows).sum();
        let mut took: Vec<Duration> = parts.iter().map(|(_, took, _)| *took).collect();
        took.sort();
        reported(
            &format!("{what}, batches of {}, {rows} rows", name.split('(').next().unwrap()),
            &took,
        );
    }
}

/// 300,000 ended invitations, and 100,000 consents, first of people who are all still invited and
/// then of people who are not: `cargo test -p sluice-store --test postgres_expiry -- --ignored
/// --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark that takes minutes"]
async fn how_long_submissions_wait_for_an_expiry() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = filled(&cluster, &database).await;
    let id =
        |kind: u32| format!("('00000000-{kind:04}-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid");
    let (response, respondent) = (id(1), id(2));
    let fill = format!(
        "INSERT INTO invitations (app_id, flow_id, assignment_id, user_id, email, created_at, expires_at) \
         SELECT app_id, app_id, gen_random_uuid(), 'over-' || n, 'over-' || n || '@x.example', 1, 5 \
         FROM apps, generate_series(1, 300000) AS n; \
         INSERT INTO invitations (app_id, flow_id, assignment_id, user_id, email, created_at, expires_at) \
         SELECT app_id, app_id, gen_random_uuid(), 'kept-' || n, NULL, 1, NULL \
         FROM apps, generate_series(1, 100000) AS n; \
         INSERT INTO respondents (app_id, respondent_id) \
         SELECT app_id, {respondent} FROM apps, generate_series(1, 100000) AS n; \
         INSERT INTO identities (app_id, type, value, respondent_id) \
         SELECT app_id, 'userId', 'kept-' || n, {respondent} FROM apps, generate_series(1, 100000) AS n; \
         INSERT INTO identities (app_id, type, value, respondent_id) \
         SELECT app_id, 'traits.email', 'kept-' || n || '@x.example', {respondent} \
         FROM apps, generate_series(1, 100000) AS n; \
         INSERT INTO consents (app_id, response_id, respondent_id, flow_id, flow_version_id) \
         SELECT app_id, {response}, {respondent}, app_id, app_id \
         FROM apps, generate_series(1, 100000) AS n"
    );
    let client = cluster.client(&database).await;
    client.batch_execute(&fill).await.unwrap();
    let measure = async |what: &'static str, first: u32, expires: bool| {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = [0, 1, 2, 3].map(|caller| {
            let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
            tokio::spawn(submitting(store, stop, first + caller * 1_000_000))
        });
        match expires {
            true => expire_all(&store, what).await,
            false => tokio::time::sleep(Duration::from_secs(5)).await,
        }
        stop.store(true, Ordering::Relaxed);
        let mut took = Vec::new();
        for task in tasks {
            took.extend(task.await.unwrap());
        }
        took.sort();
        reported(&format!("{what}, submissions"), &took);
    };
    measure("nothing expires", 10_000_000, false).await;
    measure("invitations expire and consents stay", 20_000_000, true).await;
    client.batch_execute("UPDATE invitations SET expires_at = 6").await.unwrap();
    measure("all goes", 30_000_000, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_reads_only_the_responses_that_it_removes() {
    const LIMIT: usize = 10;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let url = cluster.url(&database);
    let open = || PgStore::connect(&url, Options::default());
    let store = open().await.unwrap();
    let records: Vec<Record> = filling::records(6_000).collect();
    let of_app = |record: &Record| match record {
        Record::App(app) => Some(app.row.app_id),
        _ => None,
    };
    let app_id = records.iter().find_map(of_app).unwrap();
    store.import_records(records).await.unwrap();
    store.close().await;
    // As the server does by itself: the planner guesses otherwise.
    cluster.sql(&database, "ANALYZE").await;
    cluster.sql(&database, "SELECT count(pg_stat_reset()) FROM (SELECT 1) AS once").await;
    let store = open().await.unwrap();
    let expiry = Expiry { app_id, limit: LIMIT, ..expiry(ExpiryCursor::default()) };
    assert_eq!(store.expire(expiry).await.unwrap().responses, LIMIT as u64);
    store.close().await;
    let read = "SELECT coalesce(sum(idx_tup_read), 0)::bigint + (SELECT \
             coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables \
             WHERE relname LIKE 'responses%') FROM pg_stat_user_indexes \
             WHERE relname LIKE 'responses%'";
    // The statistics of a session are complete at the latest when it has ended.
    let deadline = Instant::now() + PATIENCE;
    let reported = loop {
        let reported: usize = cluster.sql(&database, read).await[0].parse().unwrap();
        if reported >= 3 * LIMIT || Instant::now() >= deadline {
            break reported;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    // To find them in both flows, to lock them and to delete them.
    let expected = 3 * LIMIT..=8 * LIMIT;
    assert!(expected.contains(&reported), "{reported} entries were read to remove {LIMIT}");
}
