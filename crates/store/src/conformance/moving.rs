//! Exporting and importing all records.
//!
//! The first case compares records with what the other methods stored. The later cases start from
//! records. Together they show that one store imports unchanged what another exports.

use sluice_flow::closing::ClosingCounts;
use sluice_flow::id::{EventId, RespondentId};
use sluice_flow::invitation::{InvitationTimes, Invitee};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::submission::Admission;
use sluice_flow::time::Window;

use super::world::{
    Shop, TheStore, app_row, apply, asset_row, at, audit_row, draft_row, flow_row, grant_row,
    identity_key_row, invitation_row, key_row, mail_row, public_revision, published_row,
    report_row, request_record, respondent_id, response_row, test_response_row, token_row,
    user_row, visit_count_row, webhook_records,
};
use crate::{
    AnswersOnErasure, App, AppLimits, AppRow, At, Change, ClosingCountsRow, ConsentRow,
    ErasureMark, FeedPosition, FlowRow, IdentityKeyKind, IdentityRow, IdentityVerification,
    ImageType, NewResponse, Outcome, PeopleWrite, Record, RecordCursor, ReportRow, RespondentRow,
    ResponseRow, Role, SavedViewRow, Scope, SecondFactor, ShortPathRow, StoreError, Subject, Table,
    UsedKeyRow, UserRow, Write,
};

pub(super) async fn stored_rows_are_exported_once_and_in_order(store: TheStore) {
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.extend(stored_shop(&store).await);
    }
    let rows = (audit_row(None), token_row(), user_row());
    let grant = grant_row(&rows.2, None, Role::Viewer);
    let people = [PeopleWrite::User(rows.2.clone()), PeopleWrite::Grant(grant)];
    let mut writes = vec![Write::Audit(rows.0.clone()), Write::Token(rows.1.clone())];
    writes.extend(people.map(Write::People));
    store.apply(At::Instance, Change::new(|| writes)).await.unwrap();
    expected.extend([Record::Audit(rows.0), Record::Token(rows.1)]);
    expected.extend([Record::User(rows.2), Record::Grant(grant)]);
    expected.sort_by_key(Record::cursor);
    for page in [1, 2, 7, expected.len(), 10_000] {
        let mut found = all(&store, page).await;
        found.retain(|it| !matches!(it, Record::Event(row) if row.late_response().is_some()));
        assert_eq!(found, expected, "pages of {page}");
    }
}

pub(super) async fn an_empty_store_exports_nothing(store: TheStore) {
    assert_eq!(store.export_records(None, 10).await.unwrap(), []);
    store.import_records(Vec::new()).await.unwrap();
    assert_eq!(store.export_records(None, 10).await.unwrap(), []);
}

pub(super) async fn imported_records_are_exported_unchanged(store: TheStore) {
    let records = records();
    store.import_records(records.clone()).await.unwrap();
    assert_eq!(all(&store, 10_000).await, records);
    for page in [1, 3] {
        assert_eq!(all(&store, page).await, records, "pages of {page}");
    }
}

pub(super) async fn records_may_be_imported_in_parts_and_twice(store: TheStore) {
    let records = records();
    for part in records.chunks(4) {
        store.import_records(part.to_vec()).await.unwrap();
        store.import_records(part.to_vec()).await.unwrap();
    }
    store.import_records(records.clone()).await.unwrap();
    assert_eq!(all(&store, 10_000).await, records);
}

pub(super) async fn a_record_replaces_the_one_with_its_key(store: TheStore) {
    let mut records = records();
    store.import_records(records.clone()).await.unwrap();
    for record in &mut records {
        match record {
            Record::App(app) => (app.row.name, app.revision) = ("Renamed".into(), 77),
            Record::Key(key) => key.revoked_at = Some(at(9)),
            Record::IdentityKey(key) => key.issuer = Some("https://id.example".into()),
            Record::Flow(flow) => flow.archived_at = Some(at(9)),
            Record::Version(version) => version.times.retired_at = Some(at(9)),
            Record::Token(token) => token.revoked_at = Some(at(9)),
            Record::Audit(audit) => audit.actor = "environment".into(),
            Record::Respondent(row) => {
                let identities = vec![ProfileIdentity::new(IdentityType::UserId, "Ann \u{e9}")];
                row.erasing = Some(ErasureMark { answers: AnswersOnErasure::Keep, identities });
            }
            Record::Identity(row) => row.respondent_id = respondent_id(9),
            Record::Consent(row) => row.respondent_id = respondent_id(9),
            Record::UsedKey(row) => row.key[15] = 1,
            Record::Response { row, idempotency_key } => {
                row.answers = "{}".into();
                *idempotency_key = None;
            }
            Record::Invitation(row) => row.times.revoked_at = Some(at(9)),
            Record::VisitCount(row) => row.visits = 9,
            Record::User(row) => row.disabled_at = Some(at(9)),
            Record::Grant(row) => row.role = Role::Editor,
            Record::Report(row) => row.revoked_at = Some(at(9)),
            Record::ClosingCounts(row) => row.counts.set("other", 3),
            Record::SavedView(row) => row.query = "density=compact".into(),
            Record::ShortPath(row) => row.path += "-2",
            Record::TestResponse(row) => row.answers = "{}".into(),
            Record::Mail(row) => row.sent = 9,
            Record::AdminRequest(row) => row.applied_at = Some(at(9)),
            Record::SinkPosition(row) => row.position = EventId::from_uuid(uuid::Uuid::max()),
            Record::Asset(row) => {
                (row.content_type, row.bytes) = (ImageType::Jpeg, vec![0, 1, 255])
            }
            Record::Event(row) => row.kind = "flow.closed".into(),
            Record::Endpoint(row) => (row.failures, row.disabled_at) = (9, Some(at(9))),
            Record::Delivery(row) => (row.status, row.next_at) = (None, Some(at(9))),
        }
    }
    store.import_records(records.clone()).await.unwrap();
    assert_eq!(all(&store, 10_000).await, records);
}

pub(super) async fn an_export_continues_from_any_cursor(store: TheStore) {
    let records = records();
    store.import_records(records.clone()).await.unwrap();
    for (number, record) in records.iter().enumerate() {
        let rest = store.export_records(Some(&record.cursor()), 10_000).await.unwrap();
        assert_eq!(rest, records[number + 1..], "after {record:?}");
    }
    for table in Table::ALL {
        let before = RecordCursor { table, app: [0; 16], key: Vec::new() };
        let rest = store.export_records(Some(&before), 10_000).await.unwrap();
        let first = records.iter().position(|record| record.table() == table).unwrap();
        assert_eq!(rest, records[first..], "from {table:?}");
        let beyond = RecordCursor { table, app: [0xFF; 16], key: Vec::new() };
        let rest = store.export_records(Some(&beyond), 10_000).await.unwrap();
        let last = records.iter().rposition(|record| record.table() == table).unwrap();
        assert_eq!(rest, records[last + 1..], "beyond {table:?}");
    }
}

pub(super) async fn long_records_are_all_exported(store: TheStore) {
    let mut records = records();
    for record in &mut records {
        match record {
            Record::Version(version) => version.definition = long_json(2),
            Record::Response { row, .. } => row.answers = long_json(2),
            _ => {}
        }
    }
    store.import_records(records.clone()).await.unwrap();
    assert!(all(&store, 10_000).await == records, "long records were changed");
}

pub(super) async fn a_page_stays_within_its_byte_limit_whichever_text_is_long(store: TheStore) {
    const LONG_BYTES: usize = 1_000_000;
    /// The bound of a backend, plus the record that exceeds it, plus data that is not text.
    const PAGE_BYTES_MAX: usize = 10_000_000;
    let (app, long) = (app_row(), || "x".repeat(LONG_BYTES));
    let flow = flow_row(app.app_id);
    let version = published_row(&flow, 1);
    let mut records = vec![
        Record::App(App { row: app, revision: 1, public_revision: 1 }),
        Record::Flow(flow.clone()),
        Record::Version(version.clone()),
    ];
    for number in 0..12 {
        let subject = long();
        records.push(Record::Audit(crate::AuditRow { subject, ..audit_row(None) }));
        for column in 0..5 {
            let mut row = response_row(&flow, &version, 10 + number * 5 + column);
            match column {
                0 => row.answers = long(),
                1 => row.identities = Some(long()),
                2 => row.tags = Some(long()),
                3 => row.context = Some(long()),
                _ => row.flow_assignment_id = Some(long()),
            }
            records.push(Record::Response { row, idempotency_key: None });
        }
    }
    for part in records.chunks(8) {
        store.import_records(part.to_vec()).await.unwrap();
    }
    let (mut after, mut read) = (None, 0);
    loop {
        let page = store.export_records(after.as_ref(), 10_000).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.cursor());
        read += page.len();
        // The debug text contains everything in a record.
        let bytes: usize = page.iter().map(|record| format!("{record:?}").len()).sum();
        assert!(bytes < PAGE_BYTES_MAX, "{} records of {bytes} bytes in a page", page.len());
    }
    assert_eq!(read, records.len());
}

pub(super) async fn records_are_imported_all_or_none(store: TheStore) {
    let mut records = records();
    let orphan = Record::Flow(flow_row(app_row().app_id));
    records.push(orphan);
    let result = store.import_records(records.clone()).await;
    assert!(matches!(result, Err(StoreError::Failed(_))), "a flow without an app: {result:?}");
    assert_eq!(store.export_records(None, 10).await.unwrap(), []);
    records.pop();
    store.import_records(records.clone()).await.unwrap();
    assert_eq!(all(&store, 10_000).await, records, "the store still works");
}

pub(super) async fn a_retry_after_a_move_is_replayed(store: TheStore) {
    store.import_records(records()).await.unwrap();
    let moved = records_with_key(&all(&store, 10_000).await);
    for (row, key) in moved {
        let found = store.find_by_idempotency_key(row.app_id, &key).await.unwrap();
        assert_eq!(found, Some((row.response_id, Some(row.digest))));
        let public_revision = public_revision(&store, row.app_id).await;
        let row_again =
            crate::ResponseRow { response_id: super::world::response_id(50), ..row.clone() };
        let retry = NewResponse {
            idempotency_key: Some(key),
            ..super::world::new_response(row_again, public_revision)
        };
        let outcomes = store.commit(vec![retry]).await.unwrap();
        assert_eq!(outcomes, [Outcome::Replayed(row.response_id)]);
    }
}

pub(super) async fn writes_continue_from_the_imported_revisions(store: TheStore) {
    let records = records();
    store.import_records(records.clone()).await.unwrap();
    let apps: Vec<&App> = records
        .iter()
        .filter_map(|record| match record {
            Record::App(app) => Some(app),
            _ => None,
        })
        .collect();
    let newest = apps.iter().map(|app| app.public_revision).max().unwrap();
    let feed = store.changes(FeedPosition(0)).await.unwrap();
    assert_eq!(feed.apps.len(), apps.len(), "the feed from its start does not list every app");
    for app in apps {
        let id = app.row.app_id;
        assert_eq!(store.find_app(id).await.unwrap().as_ref(), Some(app));
        let at = At::App { app: id, expected: app.revision };
        let rows = vec![Write::App(app.row.clone())];
        store.apply(at, Change::new(|| rows)).await.unwrap();
        assert!(public_revision(&store, id).await > app.public_revision);
    }
    let after = store.changes(feed.position).await.unwrap();
    assert!(after.position.0 > newest, "a feed position was reused");
    assert_eq!(after.apps.len(), feed.apps.len(), "a change after the import is missing");
}

/// Exports everything in pages of this many records; fails if the order or the end is wrong.
async fn all(store: &TheStore, page: usize) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map(Record::cursor);
        let next = store.export_records(after.as_ref(), page).await.unwrap();
        assert!(next.len() <= page, "{} records in a page of {page}", next.len());
        if next.is_empty() {
            break;
        }
        records.extend(next);
    }
    assert!(records.is_sorted_by(|one, two| one.cursor() < two.cursor()), "out of order");
    records
}

/// A shop with everything that the other methods can store, and its records.
async fn stored_shop(store: &TheStore) -> Vec<Record> {
    let shop = Shop::open(store).await;
    let other = flow_row(shop.app());
    let draft = draft_row(&other);
    let token = crate::TokenRow { app_id: Some(shop.app()), ..token_row() };
    let audit = audit_row(Some(shop.app()));
    let invited = invitation_row(&shop.flow);
    let identity_key = identity_key_row(shop.app());
    let report = report_row(&shop.flow);
    let (path, asset) = (path_row(&shop.flow), asset_row(shop.app()));
    let writes = vec![
        Write::ShortPath(path.clone()),
        Write::Asset(asset.clone()),
        Write::Report(report.clone()),
        Write::Invitations(vec![invited.clone()]),
        Write::IdentityKey(identity_key.clone()),
        Write::Flow(other.clone()),
        Write::Version(draft.clone()),
        Write::Token(token.clone()),
        Write::Audit(audit.clone()),
    ];
    apply(store, shop.app(), writes).await;
    let counters = ["opened", "seen:a"];
    let visits = counters.map(|it| visit_count_row(&shop.version, at(0).day(), it, 3));
    store.add_visit_counts(visits.to_vec()).await.unwrap();
    let mut records = Vec::from(visits.map(Record::VisitCount));
    for millis in [5, 3, 4, 1] {
        let mut response = shop.response(store, millis).await;
        if millis % 2 == 0 {
            response.row.flow_id = other.flow_id;
            response.idempotency_key = Some([u8::try_from(millis).unwrap(); 16]);
        }
        let NewResponse { row, idempotency_key, .. } = response.clone();
        records.push(Record::Response { row, idempotency_key });
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    }
    records.push(Record::App(store.find_app(shop.app()).await.unwrap().unwrap()));
    records.extend([Record::Flow(shop.flow), Record::Flow(other)]);
    records.extend([Record::Version(shop.version), Record::Version(draft)]);
    records.extend([Record::Key(shop.key), Record::Token(token), Record::Audit(audit)]);
    records.extend([Record::Invitation(invited), Record::Report(report.into())]);
    records.extend([Record::IdentityKey(identity_key), Record::ShortPath(path)]);
    records.push(Record::Asset(asset));
    records
}

fn path_row(flow: &FlowRow) -> ShortPathRow {
    let path = flow.flow_id.to_string().replace('_', "-");
    ShortPathRow { app_id: flow.app_id, flow_id: flow.flow_id, path }
}

/// Records with every column filled in one and empty in another, in order.
fn records() -> Vec<Record> {
    let mut records = vec![Record::Audit(audit_row(None)), Record::Token(token_row())];
    let owner = owner();
    records.push(Record::Grant(grant_row(&owner, None, Role::Owner)));
    records.extend([Record::User(owner.clone()), Record::User(user_row())]);
    for number in [1_u8, 2] {
        let full = number == 1;
        let mut app = App { row: app_row(), revision: 41, public_revision: 10 + u64::from(number) };
        let mut flow = flow_row(app.row.app_id);
        records.push(limited(&mut flow));
        let mut retired = published_row(&flow, 1);
        let mut token = token_row();
        let mut key = key_row(app.row.app_id);
        let mut identity_key = identity_key_row(app.row.app_id);
        let mut rich = response_row(&flow, &retired, 7);
        let plain = response_row(&flow, &retired, 6);
        records.extend(visit_counts(&retired, if full { u64::MAX >> 1 } else { 0 }));
        let (plain_flow, plain_version) = (flow.clone(), retired.clone());
        let (mut invited, mut report) = (invitation_row(&flow), report_row(&flow));
        if full {
            fill_app(&mut app.row);
            identity_key.kind = IdentityKeyKind::Jwks;
            identity_key.material = "https://id.example/keys".into();
            identity_key.issuer = Some("https://id.example".into());
            identity_key.revoked_at = Some(at(6));
            flow.live = Window { starts_at: Some(at(-5)), ends_at: Some(at(5)) };
            flow.grace_window_seconds = Some(3600);
            flow.labels = vec!["Team \u{e9}".into(), "x".into()];
            retired.times = VersionTimes {
                published_at: Some(at(1)),
                superseded_at: Some(at(2)),
                grace_ends_at: Some(at(3)),
                retired_at: Some(at(4)),
            };
            retired.definition = "{ \"title\" :\"\u{e9}\u{1F600}\", \"b\":1.0, \"a\":null }".into();
            key.revoked_at = Some(at(8));
            token.scopes = vec![Scope::Export, Scope::Erase];
            token.expires_at = Some(at(100));
            token.app_id = Some(app.row.app_id);
            fill_response(&mut rich);
            invited.times = InvitationTimes {
                expires_at: Some(at(9)),
                opened_at: Some(at(5)),
                completed_at: Some(at(6)),
                revoked_at: Some(at(7)),
            };
            invited.response_id = Some(rich.response_id);
            fill_report(&mut report);
        } else {
            invited.invitee = Invitee::default();
        }
        records.extend([Record::ShortPath(path_row(&flow)), Record::Mail(mail_row(&flow))]);
        records.extend(webhook_records(&flow));
        records.extend([Record::TestResponse(test_response_row(&flow, 2)), request_record(full)]);
        records.extend([(); 2].map(|()| Record::Asset(asset_row(app.row.app_id))));
        records.extend([Record::Version(draft_row(&flow)), Record::Version(retired)]);
        records.extend([Record::Audit(audit_row(Some(app.row.app_id))), Record::Key(key)]);
        let id = app.row.app_id;
        records.push(Record::Grant(grant_row(&owner, Some(id), Role::Viewer)));
        records.extend([view_row(&flow, &owner, "b \u{e9}"), view_row(&flow, &owner, "a")]);
        records.extend([identity_key, identity_key_row(id)].map(Record::IdentityKey));
        records.extend([Record::Key(key_row(id)), Record::Flow(flow), Record::Flow(flow_row(id))]);
        records.extend([Record::App(app), Record::Token(token)]);
        records.push(Record::Response { row: rich, idempotency_key: Some([9; 16]) });
        let erased = response_row(&plain_flow, &plain_version, 8);
        records.extend(of_a_respondent(&plain, &erased));
        records.push(Record::Response { row: plain, idempotency_key: None });
        records.extend([Record::Invitation(invited), Record::Report(report.into())]);
    }
    records.sort_by_key(Record::cursor);
    records
}

fn limited(flow: &mut FlowRow) -> Record {
    flow.closing = Some(r#"{ "closeAfter": 7 }"#.into());
    flow.design = Some("{ \"sendText\": \"\u{e9}\u{1F600}\" }".into());
    let mut counts = ClosingCounts::default();
    counts.set("\u{e9} quota", u64::MAX);
    counts.set("", 3);
    let (app_id, flow_id) = (flow.app_id, flow.flow_id);
    Record::ClosingCounts(ClosingCountsRow { app_id, flow_id, counts })
}

fn fill_response(row: &mut ResponseRow) {
    row.admission = Admission::Admitted;
    row.answers = "{\"q\": \"\u{e9}\u{1F600}\\u0000 '\\\"\",\"n\":1.50 }".into();
    row.identities = Some(r#"[{"type":"userId","value":"7"}]"#.into());
    row.identity_verified = true;
    row.respondent_id = Some(RespondentId::from_uuid(row.flow_id.uuid()));
    row.tags = Some(r#"{"plan": ["pro","x"]}"#.into());
    row.context = Some(r#"{"locale":"de"}"#.into());
    row.flow_assignment_id = Some("assignment 1".into());
}

fn fill_app(row: &mut AppRow) {
    row.identity_verification = IdentityVerification::Enforce;
    row.allowed_origins = vec!["https://a.example".into(), "https://b.example".into()];
    row.grace_window_seconds = Some(0);
    row.retention_days = Some(90);
    row.token_lifetime_seconds = Some(86_400);
    row.hosted = Some(r#"{"spamProtection":false}"#.into());
    row.limits = AppLimits { calls_per_second: Some(1), bytes_per_day: Some(1 << 50) };
}

fn fill_report(row: &mut ReportRow) {
    row.questions = vec!["nps".into(), "\u{e9}".into()];
    row.filters = vec![("tag.plan".into(), "pro".into())];
    (row.shows_texts, row.password) = (true, Some("$argon2id$".into()));
    (row.expires_at, row.revoked_at) = (Some(at(8)), Some(at(9)));
}

/// Counts on several days, one of them before the epoch.
fn visit_counts(version: &crate::VersionRow, visits: u64) -> impl Iterator<Item = Record> {
    let keys = [(0, "opened"), (0, "seen:q"), (-1, "opened"), (-30_000, "x")];
    let row =
        move |(day, counter)| visit_count_row(version, at(0).day().plus(day), counter, visits);
    keys.into_iter().map(move |key| Record::VisitCount(row(key)))
}

fn view_row(flow: &FlowRow, user: &UserRow, name: &str) -> Record {
    Record::SavedView(SavedViewRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        user_id: user.user_id,
        name: name.into(),
        query: "sort=receivedAt".into(),
        is_default: name == "a",
    })
}

/// A user with every column filled.
fn owner() -> UserRow {
    UserRow {
        password: Some("$argon2id$".into()),
        subject: Some(Subject { issuer: "https://id.example".into(), subject: "7".into() }),
        second_factor: Some(SecondFactor {
            sealed: "v1.0.x".into(),
            used_step: 7,
            recovery: vec![[3; 32]],
        }),
        epoch: 3,
        disabled_at: Some(at(4)),
        ..user_row()
    }
}

/// A respondent with two identities, a consent, and the key of an erased response.
fn of_a_respondent(row: &crate::ResponseRow, erased: &crate::ResponseRow) -> Vec<Record> {
    let (app_id, respondent_id) = (row.app_id, respondent_id(5));
    let (flow_id, flow_version_id) = (row.flow_id, row.flow_version_id);
    let known = [
        ProfileIdentity::new(IdentityType::UserId, "Ann \u{e9}"),
        ProfileIdentity::new(IdentityType::Email, "Ann@mail.example"),
    ];
    let known = known.map(|known| Record::Identity(IdentityRow { app_id, known, respondent_id }));
    let mut records = Vec::from(known);
    records.push(Record::Respondent(RespondentRow { app_id, respondent_id, erasing: None }));
    let response_id = row.response_id;
    let consent = ConsentRow { app_id, response_id, respondent_id, flow_id, flow_version_id };
    records.push(Record::Consent(consent));
    let response_id = erased.response_id;
    records.push(Record::UsedKey(UsedKeyRow { app_id, response_id, key: [8; 16] }));
    records
}

fn records_with_key(records: &[Record]) -> Vec<(crate::ResponseRow, crate::IdempotencyKey)> {
    let keyed = records.iter().filter_map(|record| match record {
        Record::Response { row, idempotency_key } => Some((row.clone(), (*idempotency_key)?)),
        _ => None,
    });
    let keyed: Vec<_> = keyed.collect();
    assert_eq!(keyed.len(), 2);
    keyed
}

/// A JSON object of this many megabytes.
fn long_json(megabytes: usize) -> String {
    format!("{{\"q\":\"{}\"}}", "x".repeat(megabytes * 1_000_000))
}
