//! Erased data is in no file: both stores, searched byte by byte.
//!
//! Everything that one person sent contains words that occur nowhere else, among short and long
//! responses of many others. After the erasure the files are searched for these words while the
//! store is open.

use crate::support;

use std::path::Path;
use std::process::Command;

use sluice_flow::counts::Contribution;
use sluice_flow::id::{AssignmentId, AuditId, FormKey, RespondentId, v7};
use sluice_flow::invitation::{InvitationTimes, Invitee};
use sluice_flow::respondent::{Claim, IdentityType, ProfileIdentity};
use sluice_flow::submission::{Admission, Identity, identities_json};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{self, PgStore};
use sluice_store::roles::*;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    AnswersOnErasure, At, AuditRow, Change, CompactionCursor, Erasure, ErasureTarget,
    InvitationRow, NewResponse, Outcome, Store, TestResponseRow, TestWrite, Write,
};
use support::Cluster;
use support::rows::{app_row, flow_row, key, now, response};

const USER: &str = "canary-user-Zq81";
const EMAIL: &str = "canary-zq81@mail.example";
/// The same address, in an invitation.
const SHOUTED: &str = "CANARY-ZQ81@MAIL.EXAMPLE";
/// The same address, in the URL of a page.
const ESCAPED: &str = "canary-zq81%40mail.example";
const ANSWER: &str = "canary-answer-Zq81";
const TAG: &str = "canary-tag-Zq81";
const ASSIGNMENT: &str = "canary-assignment-Zq81";
/// Only next to the address in an invitation, and nowhere else.
const INVITED: &str = "canary-invited-Zq81";
const INVITATIONS: u32 = 500;
/// The tables that the guide lists for an operator to rewrite.
const TABLES: [&str; 8] = [
    "responses",
    "identities",
    "respondents",
    "consents",
    "idempotency",
    "invitations",
    "counts",
    "count_deltas",
];
/// The number of responses, and which of them are the person's.
const RESPONSES: u32 = 1_200;
const EVERY: u32 = 7;

/// The sender of a response: its identities, a tag, and the query string of its page. Some
/// responses of the person have one identity and name the other.
fn sender(number: u32) -> (Vec<Identity<'static>>, String, String) {
    let other = (format!("user-{}", number % 50), format!("user-{}@x.example", number % 50));
    let is_canary = number.is_multiple_of(EVERY);
    let (user, email) = if is_canary { (USER.to_owned(), EMAIL.to_owned()) } else { other };
    let user = Identity { kind: "userId".into(), value: user.into() };
    let email = Identity { kind: "traits.email".into(), value: email.into() };
    match number / EVERY % 3 {
        _ if !is_canary => (vec![user, email], "somebody".to_owned(), "?a=1".to_owned()),
        0 => (vec![user, email], TAG.to_owned(), "?a=1".to_owned()),
        1 => (vec![user], EMAIL.to_owned(), format!("?mail={ESCAPED}")),
        _ => (vec![email], USER.to_owned(), format!("?account={USER}")),
    }
}

/// A response of the person or of another sender; its length depends on the number.
fn sent(number: u32) -> NewResponse {
    let is_canary = number.is_multiple_of(EVERY);
    let (identities, tag, search) = sender(number);
    let words = "because it was quick and ".repeat((number % 61 * number % 97) as usize);
    let answer = if is_canary { ANSWER } else { "nothing" };
    let mut sent = response(now(), number, 1);
    sent.row.admission = Admission::Admitted;
    sent.row.answers = format!("{{\"q\":\"{words}{answer}\"}}");
    sent.row.identities = Some(identities_json(&identities));
    sent.row.flow_assignment_id = is_canary.then(|| ASSIGNMENT.to_owned());
    // It is also in the counts.
    sent.row.tags = Some(format!("{{\"who\":\"{tag}\",\"plan\":\"pro\"}}"));
    sent.row.context = Some(format!("{{\"page\":{{\"search\":\"{search}\"}}}}"));
    let tags = sent.row.tags.as_deref();
    sent.contribution =
        Contribution::from_stored(None, &sent.row.answers, tags, Admission::Admitted);
    sent.row.digest = sent.row.digest_of_content();
    let mut claim = Claim::from_identities(&identities).unwrap();
    claim.new_id = RespondentId::from_uuid(v7(Timestamp::from_millis(now()), number, 7));
    sent.claim = Some(Box::new(claim));
    sent
}

/// An invitation for the person, by user id, by address or by both, or for another person.
fn invited(number: u32) -> InvitationRow {
    let flow = flow_row();
    let other = format!("invited-{number}");
    let (user_id, email) = match number % EVERY {
        0 => (Some(USER.to_owned()), None),
        1 => (None, Some(SHOUTED.to_owned())),
        2 => (Some(INVITED.to_owned()), Some(EMAIL.to_owned())),
        _ => (Some(other.clone()), Some(format!("{other}@x.example"))),
    };
    InvitationRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        assignment_id: AssignmentId::from_random(
            u128::from(number + 1).wrapping_mul(u128::MAX / 77),
        ),
        invitee: Invitee { user_id, email },
        created_at: Timestamp::from_millis(now()),
        times: InvitationTimes::default(),
        response_id: None,
    }
}

async fn fill(store: &dyn Store) {
    let rows = vec![
        Write::App(app_row()),
        Write::Flow(flow_row()),
        Write::Invitations((0..INVITATIONS).map(invited).collect()),
    ];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    let all: Vec<NewResponse> = (0..RESPONSES).map(sent).collect();
    for (number, batch) in all.chunks(100).enumerate() {
        let outcomes = store.commit(batch.to_vec()).await.unwrap();
        assert!(outcomes.iter().all(|it| *it == Outcome::Stored), "{outcomes:?}");
        // Some are folded, and some are not.
        if number == 4 {
            while !store.compact_counts(CompactionCursor::default(), 100).await.unwrap().is_done() {
            }
        }
    }
}

async fn erase(store: &dyn Store, answers: AnswersOnErasure) {
    let app_id = app_row().app_id;
    let known = ProfileIdentity::new(IdentityType::UserId, USER);
    let respondent_id = store.find_respondent_by(app_id, &known).await.unwrap().unwrap();
    let audit = AuditRow {
        audit_id: AuditId::from_uuid(v7(Timestamp::from_millis(now()), 1, 1)),
        app_id: Some(app_id),
        actor: "test".to_owned(),
        action: "respondent.erased".to_owned(),
        subject: respondent_id.to_string(),
        detail: "{}".to_owned(),
    };
    let target = ErasureTarget::Respondent(respondent_id);
    let erasure = Erasure { app_id, target, answers, audit, limit: 50 };
    while !store.erase(erasure.clone()).await.unwrap().done {}
    // A late retry is answered, and stores nothing.
    let retry = sent(0);
    let outcomes = store.commit(vec![retry]).await.unwrap();
    assert!(matches!(outcomes[..], [Outcome::Replayed(_)]), "{outcomes:?}");
    assert!(store.find_by_idempotency_key(app_id, &key(0)).await.unwrap().is_some());
}

/// The files below a folder that contain the word, except in folders with one of these names.
fn holding(folder: &Path, word: &str, but: &[&str]) -> Vec<String> {
    let mut search = Command::new("grep");
    search.env("LC_ALL", "C").args(["--recursive", "--files-with-matches", "--no-messages"]);
    search.args(["--text", "--fixed-strings"]);
    search.args(but.iter().map(|name| format!("--exclude-dir={name}")));
    let found = search.args(["-e", word]).arg(folder).output().unwrap().stdout;
    String::from_utf8(found).unwrap().lines().map(str::to_owned).collect()
}

fn is_nowhere(folder: &Path, words: &[&str], but: &[&str]) {
    for word in words {
        assert_eq!(holding(folder, word, but), Vec::<String>::new(), "{word}");
    }
}

/// The words that must be in no file after an erasure. Kept answers keep the tags that do not name
/// the person.
fn erased(answers: AnswersOnErasure) -> Vec<&'static str> {
    let mut words = vec![USER, EMAIL, SHOUTED, ESCAPED, INVITED, ASSIGNMENT];
    if answers == AnswersOnErasure::Delete {
        words.extend([ANSWER, TAG]);
    }
    words
}

#[tokio::test]
async fn an_erased_person_is_in_no_file_of_sqlite() {
    for answers in [AnswersOnErasure::Delete, AnswersOnErasure::Keep] {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(&folder.path().join("sluice.db"), Options::default()).unwrap();
        fill(&store).await;
        for word in erased(AnswersOnErasure::Delete) {
            assert_ne!(holding(folder.path(), word, &[]), Vec::<String>::new(), "{word}");
        }
        erase(&store, answers).await;
        is_nowhere(folder.path(), &erased(answers), &[]);
        store.close().await;
        is_nowhere(folder.path(), &erased(answers), &[]);
    }
}

#[tokio::test]
async fn a_deleted_test_response_is_in_no_file_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("sluice.db"), Options::default()).unwrap();
    let (app, flow) = (app_row(), flow_row());
    let (app_id, flow_id) = (flow.app_id, flow.flow_id);
    store.apply(At::FirstApp, vec![Write::App(app), Write::Flow(flow)].into()).await.unwrap();
    let row = TestResponseRow {
        app_id,
        flow_id,
        form_key: FormKey::from_uuid(v7(Timestamp::from_millis(now()), 1, 1)),
        number: 0,
        received_at: Timestamp::from_millis(now()),
        answers: format!(r#"{{"q":"{ANSWER}"}}"#),
        tags: None,
        score: None,
    };
    let write = |write| store.apply(At::Instance, vec![Write::Test(write)].into());
    write(TestWrite::Add { row, keep: 10 }).await.unwrap();
    assert_ne!(holding(folder.path(), ANSWER, &[]), Vec::<String>::new());
    write(TestWrite::RemoveAll(app_id, flow_id)).await.unwrap();
    // The log is emptied after the answer, and before the next write.
    write(TestWrite::RemoveAll(app_id, flow_id)).await.unwrap();
    is_nowhere(folder.path(), &[ANSWER], &[]);
    store.close().await;
}

/// Follows the guide for operators.
#[tokio::test(flavor = "multi_thread")]
async fn an_erased_person_is_in_no_file_of_postgresql_once_it_is_rewritten() {
    let cluster = Cluster::start(&["wal_recycle=off", "min_wal_size=32MB", "max_wal_size=32MB"]);
    for answers in [AnswersOnErasure::Delete, AnswersOnErasure::Keep] {
        let database = cluster.database().await;
        let store =
            PgStore::connect(&cluster.url(&database), postgres::Options::default()).await.unwrap();
        fill(&store).await;
        cluster.sql(&database, "CHECKPOINT").await;
        // Long answers are compressed, so their words are not found.
        for word in erased(AnswersOnErasure::Keep) {
            assert_ne!(holding(&cluster.data(), word, &["pg_wal"]), Vec::<String>::new(), "{word}");
        }
        erase(&store, answers).await;
        for table in TABLES {
            cluster.sql(&database, &format!("VACUUM FULL {table}")).await;
            // The planner's statistics contain values of the rows, if the server has analysed the
            // table.
            cluster.sql(&database, &format!("ANALYZE {table}")).await;
        }
        cluster.sql(&database, "VACUUM FULL pg_statistic").await;
        // The second checkpoint releases what the first one still needed.
        for _ in 0..2 {
            cluster.sql(&database, "SELECT pg_switch_wal()").await;
            cluster.sql(&database, "CHECKPOINT").await;
        }
        is_nowhere(&cluster.data(), &erased(answers), &[]);
        store.close().await;
        cluster.sql("postgres", &format!("DROP DATABASE {database}")).await;
    }
}
