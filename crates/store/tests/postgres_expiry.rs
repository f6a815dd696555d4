//! Expiry where several nodes share a database: what one has not finished, no other takes for done.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests say what fails by failing")]

#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::{AuditId, RespondentId, v7};
use sluice_flow::respondent::Claim;
use sluice_flow::submission::{Admission, Identity};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::{At, AuditRow, Change, Expiry, ExpiryPlace, Next, Outcome, Page, Store, Write};
use support::Cluster;
use support::rows::{app_row, flow_row, now, response};

/// How long a busy machine may take for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);
const RESPONSES: u32 = 4;

/// A store with so many responses, each of somebody else.
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
        let mut claim = Claim::of(&[identity]).unwrap();
        claim.new_id = RespondentId::from_uuid(v7(Timestamp::from_millis(now()), number, 7));
        sent.claim = Some(Box::new(claim));
        assert_eq!(store.commit(vec![sent]).await.unwrap(), [Outcome::Stored]);
    }
    store
}

fn expiry(place: ExpiryPlace) -> Expiry {
    let app_id = app_row().app_id;
    let audit = AuditRow {
        audit_id: AuditId::from_uuid(v7(Timestamp::from_millis(now()), 1, 1)),
        app_id: Some(app_id),
        actor: "test".to_owned(),
        action: "retention.enforced".to_owned(),
        subject: app_id.to_string(),
        detail: "{}".to_owned(),
    };
    Expiry { app_id, before: Timestamp::from_millis(now()), place, audit, limit: 2 }
}

/// Waits until somebody waits for a lock.
async fn until_it_waits(cluster: &Cluster, database: &str) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
         AND application_name = 'sluice'";
    let deadline = Instant::now() + PATIENCE;
    while cluster.sql(database, waiting).await != ["1"] {
        assert!(Instant::now() < deadline, "nobody waits");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_another_node_took_first_is_not_the_end_of_the_responses() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = filled(&cluster, &database).await;
    let other = cluster.client(&database).await;
    let take = "BEGIN; DELETE FROM responses WHERE response_id IN \
         (SELECT response_id FROM responses ORDER BY response_id LIMIT 2)";
    other.batch_execute(take).await.unwrap();
    let expiring = Arc::clone(&store);
    let part =
        tokio::spawn(async move { expiring.expire(expiry(ExpiryPlace::default())).await.unwrap() });
    until_it_waits(&cluster, &database).await;
    other.batch_execute("COMMIT").await.unwrap();
    let part = part.await.unwrap();
    assert_eq!(part.responses, 0, "the other was quicker");
    let Next::At(place @ ExpiryPlace::Responses(Some(_))) = part.next else {
        panic!("two responses are left: {part:?}");
    };
    let part = store.expire(expiry(place)).await.unwrap();
    assert_eq!(part.responses, 2);
    let page = Page { after: None, limit: 10 };
    let left = store.list_respondents(app_row().app_id, page).await.unwrap();
    assert_eq!(left.len(), 4, "profiles come after the last response");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_another_node_is_at_is_left_to_it() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = filled(&cluster, &database).await;
    // A part that waits for a row is under way, and holds the app's turn.
    let other = cluster.client(&database).await;
    other.batch_execute("BEGIN; SELECT FROM responses FOR UPDATE").await.unwrap();
    let expiring = Arc::clone(&store);
    let first =
        tokio::spawn(async move { expiring.expire(expiry(ExpiryPlace::default())).await.unwrap() });
    until_it_waits(&cluster, &database).await;
    let second = store.expire(expiry(ExpiryPlace::default())).await.unwrap();
    assert_eq!((second.rows, second.next), (0, Next::LeftToAnother));
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(first.await.unwrap().responses, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_go_on_while_invitations_are_forgotten_and_consents_are_kept() {
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
    // As long as this is held, whoever wants the app for itself waits.
    let other = cluster.client(&database).await;
    let submitting = format!("BEGIN; SELECT pg_advisory_xact_lock_shared({})", queue_of_app());
    other.batch_execute(&submitting).await.unwrap();
    for place in [ExpiryPlace::Consents(None), ExpiryPlace::Keys(None)] {
        let part = store.expire(expiry(place)).await.unwrap();
        assert_eq!(part.rows, 0, "{place:?}: all are still invited");
    }
    let part = store.expire(expiry(ExpiryPlace::Invitations(None))).await.unwrap();
    assert_eq!(part.invitations, 2, "so many at a time, and nobody was waited for");
    other.batch_execute("COMMIT").await.unwrap();
}

/// The number under which submissions to the app queue.
fn queue_of_app() -> i64 {
    let bits = app_row().app_id.uuid().as_u128();
    ((bits >> 64) as u64 ^ bits as u64).cast_signed()
}
