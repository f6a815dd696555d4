//! Moving a database: the copy equals the source, and no difference goes unnoticed.

use std::path::Path;
use std::sync::Arc;

use sluice_engine::moving::{self, Beginning, MoveError};
use sluice_engine::tally::{TableTally, Tally};
use sluice_flow::definition::Kind;
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AssignmentId, AuditId, EventId, FlowId, FlowVersionId, FormKey, MailId,
    ReportId, RespondentId, ResponseId, TokenId, UserId, v7,
};
use sluice_flow::respondent::IdentityType;
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use sluice_store::conformance::filling;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    AnswersOnErasure, ErasureMark, IdentityKeyKind, IdentityVerification, ImageType, MailEnd,
    MailKind, Record, RecordCursor, Role, Scope, Store, Subject,
};

/// More than two pages.
const RESPONSES: u32 = 4_500;

fn open(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, Options::default()).unwrap())
}

async fn filled(path: &Path, responses: u32) -> Arc<dyn Store> {
    let store = open(path);
    store.import_records(filling::records(responses).collect()).await.unwrap();
    store
}

async fn tables(store: &Arc<dyn Store>) -> Vec<TableTally> {
    moving::tally(store, |_| {}).await.unwrap().tables()
}

#[tokio::test]
async fn a_complete_move_is_equal_and_every_record_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(&folder.path().join("from.db"), RESPONSES).await;
    let to = open(&folder.path().join("to.db"));
    let seen = std::sync::atomic::AtomicU64::new(0);
    let count = |records| {
        seen.fetch_add(records, std::sync::atomic::Ordering::Relaxed);
    };
    let copied = moving::copy(&from, &to, None, count).await.unwrap();
    assert_eq!(copied, filling::records(RESPONSES).count() as u64);
    assert_eq!(seen.into_inner(), copied);
    let tallies = tables(&from).await;
    assert_eq!(tables(&to).await, tallies);
    assert_eq!(tallies.iter().map(|tally| tally.records).sum::<u64>(), copied);
    assert!(tallies.iter().all(|tally| tally.records > 0), "no table is empty: {tallies:?}");
    let mut expected: Vec<Record> = filling::records(RESPONSES).collect();
    expected.sort_by_key(Record::cursor);
    let mut tally = Tally::default();
    expected.iter().for_each(|record| tally.add(record));
    assert_eq!(tally.tables(), tallies, "the source has the generated records");
}

#[tokio::test]
async fn an_interrupted_move_can_be_resumed_anywhere() {
    const RESPONSES: u32 = 15;
    let folder = tempfile::tempdir().unwrap();
    let from = filled(&folder.path().join("from.db"), RESPONSES).await;
    let all = from.export_records(None, 10_000).await.unwrap();
    // Within each table after its first and before its last record, between tables, and some more.
    let is_edge = |cut: usize| {
        let tables = &all[cut.saturating_sub(2)..all.len().min(cut + 2)];
        tables.iter().any(|record| record.table() != tables[0].table())
    };
    for cut in (0..=all.len()).filter(|&cut| cut % 10 == 0 || cut == all.len() || is_edge(cut)) {
        let to = open(&folder.path().join(format!("to-{cut}.db")));
        to.import_records(all[..cut].to_vec()).await.unwrap();
        let there = moving::beginning(&from, &to, |_| {}).await.unwrap();
        let last: Option<RecordCursor> = all[..cut].last().map(Record::cursor);
        assert_eq!(there, Beginning { records: cut as u64, last: last.clone() });
        let copied = moving::copy(&from, &to, last, |_| {}).await.unwrap();
        assert_eq!(copied, (all.len() - cut) as u64);
        assert_eq!(tables(&to).await, tables(&from).await, "interrupted at {cut}");
        to.close().await;
    }
}

#[tokio::test]
async fn a_destination_that_holds_anything_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(&folder.path().join("from.db"), 10).await;
    let all = from.export_records(None, 10_000).await.unwrap();
    let mut changed = all.clone();
    for record in &mut changed {
        if let Record::Response { row, .. } = record {
            row.answers.push(' ');
            row.digest = row.digest_of_content();
            break;
        }
    }
    let longer: Vec<Record> = filling::records(11).collect();
    let gap = [&all[..1], &all[2..3]].concat();
    for (number, records) in [changed, longer, gap].into_iter().enumerate() {
        let to = open(&folder.path().join(format!("to-{number}.db")));
        to.import_records(records).await.unwrap();
        let result = moving::beginning(&from, &to, |_| {}).await;
        assert!(matches!(result, Err(MoveError::NotTheBeginning)), "{number}: {result:?}");
    }
}

/// A destination in which one row differs in one column, is missing, or is surplus.
#[tokio::test]
async fn a_damaged_copy_is_not_equal() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(&folder.path().join("from.db"), 12).await;
    let whole = tables(&from).await;
    let all = from.export_records(None, 10_000).await.unwrap();
    let mut changed = all.clone();
    for record in &mut changed {
        if let Record::Response { row, .. } = record {
            row.answers.push(' ');
            row.digest = row.digest_of_content();
            break;
        }
    }
    let missing = all[..all.len() - 1].to_vec();
    let surplus = filling::records(13).collect();
    for (number, (records, equal)) in
        [(all, true), (changed, false), (missing, false), (surplus, false)].into_iter().enumerate()
    {
        let to = open(&folder.path().join(format!("to-{number}.db")));
        to.import_records(records).await.unwrap();
        assert_eq!(tables(&to).await == whole, equal, "{number}");
    }
}

/// Changes to one column each, with the column's name.
macro_rules! columns {
    ($($record:pat => $($place:expr => $value:expr),+;)+) => {
        [$($((
            stringify!($place),
            (|record: &mut Record| match record {
                $record => { $place = $value; true }
                _ => false,
            }) as fn(&mut Record) -> bool,
        )),+),+]
    };
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of every column")]
fn every_column_of_every_table_is_in_the_digest() {
    let changes = columns! {
        Record::App(app) =>
            app.row.app_id => id(), app.row.name => text(), app.row.allowed_origins => vec![text()],
            app.row.identity_verification => IdentityVerification::Observe,
            app.row.grace_window_seconds => Some(7), app.row.created_at => at(),
            app.row.token_lifetime_seconds => Some(7), app.row.retention_days => Some(7),
            app.row.limits.calls_per_second => Some(7), app.row.limits.bytes_per_day => Some(7),
            app.revision => 7, app.public_revision => 7;
        Record::Key(row) =>
            row.app_id => id(), row.api_key => ApiKey::from_random(7),
            row.created_at => at(), row.revoked_at => Some(at());
        Record::IdentityKey(row) =>
            row.app_id => id(), row.kid => text(), row.kind => IdentityKeyKind::PublicKey,
            row.material => text(), row.issuer => Some(text()),
            row.created_at => at(), row.revoked_at => Some(at());
        Record::Flow(row) =>
            row.app_id => id(), row.flow_id => flow(), row.name => text(),
            row.kind => Kind::Message,
            row.live.starts_at => Some(at()), row.live.ends_at => Some(at()),
            row.grace_window_seconds => Some(7), row.created_at => at(),
            row.archived_at => Some(at()), row.invitation_email => Some(text()), row.design => Some(text()), row.labels => vec![text()],
            row.key => Some(text());
        Record::Version(row) =>
            row.app_id => id(), row.flow_id => flow(), row.flow_version_id => version(),
            row.number => 7, row.times.published_at => Some(at()),
            row.times.superseded_at => Some(at()), row.times.grace_ends_at => Some(at()),
            row.times.retired_at => Some(at()), row.definition => text(),
            row.created_at => at(), row.updated_at => at();
        Record::Token(row) =>
            row.token_id => TokenId::from_uuid(bits()), row.name => text(),
            row.hash => [7; 32], row.scopes => vec![Scope::Read], row.app_id => None,
            row.created_at => at(), row.expires_at => Some(at()), row.revoked_at => Some(at());
        Record::Audit(row) =>
            row.audit_id => AuditId::from_uuid(bits()), row.app_id => None,
            row.actor => text(), row.action => text(), row.subject => text(), row.detail => text();
        Record::Respondent(row) =>
            row.app_id => id(), row.respondent_id => whose(), row.erasing => Some(mark());
        Record::Identity(row) =>
            row.app_id => id(), row.known.kind => IdentityType::Email, row.known.value => text(),
            row.respondent_id => whose();
        Record::Consent(row) =>
            row.app_id => id(), row.response_id => ResponseId::from_uuid(bits()),
            row.respondent_id => whose(), row.flow_id => flow(),
            row.flow_version_id => version();
        Record::UsedKey(row) =>
            row.app_id => id(), row.response_id => ResponseId::from_uuid(bits()),
            row.key => [7; 16];
        Record::Response { row, .. } =>
            row.app_id => id(), row.flow_id => flow(), row.flow_version_id => version(),
            row.response_id => ResponseId::from_uuid(bits()),
            row.admission => Admission::CollectionOnly,
            row.answers => text(), row.identities => None, row.identity_verified => false,
            row.respondent_id => Some(whose()), row.tags => Some(text()),
            row.context => None, row.flow_assignment_id => Some(text()),
            row.score => Some(text()), row.digest => [7; 16];
        Record::Response { idempotency_key, .. } => *idempotency_key => None;
        Record::Invitation(row) =>
            row.app_id => id(), row.flow_id => flow(),
            row.assignment_id => AssignmentId::from_random(7),
            row.invitee.user_id => Some(text()), row.invitee.email => Some(text()),
            row.created_at => at(), row.times.expires_at => Some(at()),
            row.times.opened_at => Some(at()), row.times.completed_at => Some(at()),
            row.times.revoked_at => Some(at()),
            row.response_id => Some(ResponseId::from_uuid(bits()));
        Record::User(row) =>
            row.user_id => UserId::from_uuid(bits()), row.email => text(), row.name => text(),
            row.password => Some(text()), row.subject => Some(Subject { issuer: text(), subject: text() }),
            row.epoch => 7, row.created_at => at(), row.disabled_at => Some(at());
        Record::Grant(row) =>
            row.user_id => UserId::from_uuid(bits()), row.app_id => Some(id()),
            row.role => Role::Viewer;
        Record::Report(row) =>
            row.app_id => id(), row.flow_id => flow(), row.report_id => ReportId::from_uuid(bits()),
            row.hash => [7; 32], row.title => text(), row.questions => vec![text()],
            row.filters => vec![(text(), text())], row.shows_texts => true,
            row.password => Some(text()), row.created_by => text(), row.created_at => at(),
            row.expires_at => Some(at()), row.revoked_at => Some(at());
        Record::ShortPath(row) =>
            row.app_id => id(), row.flow_id => flow(), row.path => text();
        Record::TestResponse(row) =>
            row.app_id => id(), row.flow_id => flow(), row.form_key => FormKey::from_uuid(bits()),
            row.number => 7, row.received_at => at(), row.answers => text(),
            row.tags => Some(text()), row.score => Some(text());
        Record::Mail(row) =>
            row.app_id => Some(id()), row.mail_id => MailId::from_uuid(bits()),
            row.kind => MailKind::Notice, row.flow_id => Some(flow()),
            row.assignment_id => Some(AssignmentId::from_uuid(bits())),
            row.user_id => Some(UserId::from_uuid(bits())), row.detail => Some(text()),
            row.created_at => at(), row.sent => 7, row.sent_at => Some(at()), row.attempts => 7,
            row.next_at => Some(at()), row.ended => Some(MailEnd::Bounced),
            row.reply => Some(text()), row.address => Some([8; 32]);
        Record::AdminRequest(row) =>
            row.request_id => bits(), row.holder => text(), row.fingerprint => [8; 32],
            row.claim => bits(), row.claimed_at => at(), row.applied_at => Some(at()),
            row.expires_at => at(), row.reply => Some(vec![8]);
        Record::SinkPosition(row) =>
            row.app_id => id(), row.sink => text(), row.position => EventId::from_uuid(bits());
        Record::Asset(row) =>
            row.app_id => id(), row.asset_id => AssetId::from_uuid(bits()),
            row.content_type => ImageType::WebP, row.width => 77, row.height => 77,
            row.digest => [7; 32], row.created_at => at(), row.bytes => vec![7];
        Record::SavedView(row) =>
            row.app_id => id(), row.flow_id => flow(), row.user_id => UserId::from_uuid(bits()),
            row.name => text(), row.query => text(), row.is_default => !row.is_default;
    };
    let all: Vec<Record> = filling::records(5).collect();
    let whole = tally_of(&all).tables();
    for (column, change) in changes {
        let mut changed = all.clone();
        assert!(changed.iter_mut().any(change), "no record has {column}");
        assert_ne!(tally_of(&changed).tables(), whole, "a change of {column} was not noticed");
    }
}

fn tally_of(records: &[Record]) -> Tally {
    let mut tally = Tally::default();
    records.iter().for_each(|record| tally.add(record));
    tally
}

fn bits() -> uuid::Uuid {
    v7(at(), 1, 1)
}

fn at() -> Timestamp {
    Timestamp::from_millis(77)
}

fn id() -> AppId {
    AppId::from_uuid(bits())
}

fn flow() -> FlowId {
    FlowId::from_uuid(bits())
}

fn version() -> FlowVersionId {
    FlowVersionId::from_uuid(bits())
}

fn mark() -> ErasureMark {
    ErasureMark { answers: AnswersOnErasure::Keep, identities: Vec::new() }
}

fn whose() -> RespondentId {
    RespondentId::from_uuid(bits())
}

fn text() -> String {
    "another".to_owned()
}
