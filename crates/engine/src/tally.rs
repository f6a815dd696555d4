//! Counts and digests by table: compares the content of two databases, whatever their backends.
//!
//! A digest is BLAKE3 over every record in the order of [`sluice_store::RecordCursor`], each
//! encoded column by column so that no two different records have the same bytes: a number has
//! eight bytes, a text is preceded by its length, and an optional value by a byte that indicates
//! whether it is present.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, AssignmentId, FlowId, UserId};
use sluice_flow::time::Timestamp;
use sluice_store::{
    AdminRequestRow, App, AssetRow, AuditRow, DeliveryRow, EndpointRow, EventRow, FlowRow,
    IdentityKeyRow, InvitationRow, KeyRow, MailRow, Record, ReportRow, Table, TestResponseRow,
    TokenRow, UserRow, VersionRow, VisitCountRow,
};

/// The tally of records, which must be added in order.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    tables: [Sum; Table::ALL.len()],
    /// A reused buffer for one record.
    bytes: Bytes,
}

#[derive(Debug, Clone, Default)]
struct Sum {
    records: u64,
    digest: blake3::Hasher,
}

/// The count and the digest of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableTally {
    pub table: Table,
    pub records: u64,
    #[serde(with = "sluice_store::hex")]
    pub digest: [u8; 32],
}

impl TableTally {
    /// Whether both have the same number of records of the same table.
    pub(crate) fn has_same_count(&self, other: &Self) -> bool {
        (self.table, self.records) == (other.table, other.records)
    }
}

impl Tally {
    pub fn add(&mut self, record: &Record) {
        self.bytes.0.clear();
        self.bytes.record(record);
        let sum = &mut self.tables[record.table() as usize];
        sum.records += 1;
        sum.digest.update(&self.bytes.0);
    }

    /// The number of records of all tables so far.
    pub fn records(&self) -> u64 {
        self.tables.iter().map(|sum| sum.records).sum()
    }

    /// Every table in order, including empty ones.
    pub fn tables(&self) -> Vec<TableTally> {
        let sums = Table::ALL.into_iter().zip(&self.tables);
        sums.map(|(table, sum)| TableTally {
            table,
            records: sum.records,
            digest: *sum.digest.finalize().as_bytes(),
        })
        .collect()
    }
}

/// A record as bytes.
#[derive(Debug, Clone, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn record(&mut self, record: &Record) {
        match record {
            Record::App(app) => self.app(app),
            Record::Key(row) => self.key(row),
            Record::IdentityKey(row) => self.identity_key(row),
            Record::Flow(row) => self.flow(row),
            Record::Version(row) => self.version(row),
            Record::Token(row) => self.token(row),
            Record::Audit(row) => self.audit(row),
            Record::Respondent(row) => {
                self.ids(&[row.app_id.uuid(), row.respondent_id.uuid()]);
                self.optional(row.erasing.as_ref(), |it, mark| it.variant(mark));
            }
            Record::Identity(row) => {
                self.ids(&[row.app_id.uuid(), row.respondent_id.uuid()]);
                self.text(row.known.kind.as_str());
                self.text(&row.known.value);
            }
            Record::Consent(row) => self.ids(&[
                row.app_id.uuid(),
                row.response_id.uuid(),
                row.respondent_id.uuid(),
                row.flow_id.uuid(),
                row.flow_version_id.uuid(),
            ]),
            Record::UsedKey(row) => {
                self.ids(&[row.app_id.uuid(), row.response_id.uuid()]);
                self.put(&row.key);
            }
            Record::Response { row, idempotency_key } => {
                row.write_bytes(&mut self.0);
                self.optional(idempotency_key.as_ref(), |it, key| it.put(key));
            }
            Record::Invitation(row) => self.invitation(row),
            Record::VisitCount(row) => self.visit_count(row),
            Record::ClosingCounts(row) => {
                self.ids(&[row.app_id.uuid(), row.flow_id.uuid()]);
                for (counter, count) in row.counts.iter() {
                    self.text(counter);
                    self.number(count);
                }
            }
            Record::User(row) => self.user(row),
            Record::Grant(row) => {
                self.put(row.user_id.uuid().as_bytes());
                self.optional_app(row.app_id);
                self.variant(&row.role);
            }
            Record::Report(row) => self.report(row),
            Record::ShortPath(row) => {
                self.ids(&[row.app_id.uuid(), row.flow_id.uuid()]);
                self.text(&row.path);
            }
            Record::TestResponse(row) => self.test_response(row),
            Record::Asset(row) => self.asset(row),
            Record::Event(row) => self.event(row),
            Record::Endpoint(row) => self.endpoint(row),
            Record::Delivery(row) => self.delivery(row),
            Record::Mail(row) => self.mail(row),
            Record::AdminRequest(row) => self.admin_request(row),
            Record::SinkPosition(row) => {
                self.ids(&[row.app_id.uuid(), row.position.uuid()]);
                self.text(&row.sink);
            }
            Record::SavedView(row) => {
                self.ids(&[row.app_id.uuid(), row.flow_id.uuid(), row.user_id.uuid()]);
                self.text(&row.name);
                self.text(&row.query);
                self.0.push(u8::from(row.is_default));
            }
        }
    }

    fn admin_request(&mut self, row: &AdminRequestRow) {
        self.ids(&[row.request_id, row.claim]);
        self.text(&row.holder);
        self.put(&row.fingerprint);
        self.time(row.claimed_at);
        self.optional_time(row.applied_at);
        self.time(row.expires_at);
        self.optional(row.reply.as_deref(), |it, reply| {
            it.number(reply.len() as u64);
            it.put(reply);
        });
    }

    fn test_response(&mut self, row: &TestResponseRow) {
        self.ids(&[row.app_id.uuid(), row.flow_id.uuid(), row.form_key.uuid()]);
        self.number(u64::from(row.number));
        self.time(row.received_at);
        self.text(&row.answers);
        self.optional_text(row.tags.as_deref());
        self.optional_text(row.score.as_deref());
    }

    fn event(&mut self, row: &EventRow) {
        self.ids(&[row.app_id.uuid(), row.event_id.uuid()]);
        self.optional(row.flow_id, |it, id| it.put(id.uuid().as_bytes()));
        self.text(&row.kind);
        self.text(&row.body);
    }

    fn asset(&mut self, row: &AssetRow) {
        self.ids(&[row.app_id.uuid(), row.asset_id.uuid()]);
        self.text(row.content_type.as_str());
        self.number(row.width.into());
        self.number(row.height.into());
        self.put(&row.digest);
        self.time(row.created_at);
        self.number(row.bytes.len() as u64);
        self.put(&row.bytes);
    }

    fn mail(&mut self, row: &MailRow) {
        self.optional_app(row.app_id);
        self.put(row.mail_id.uuid().as_bytes());
        self.variant(&row.kind);
        let ids = [
            row.flow_id.map(FlowId::uuid),
            row.assignment_id.map(AssignmentId::uuid),
            row.user_id.map(UserId::uuid),
        ];
        for id in ids {
            self.optional(id, |it, id| it.put(id.as_bytes()));
        }
        self.optional_text(row.detail.as_deref());
        self.time(row.created_at);
        self.number(row.sent.into());
        self.optional_time(row.sent_at);
        self.number(row.attempts.into());
        self.optional_time(row.next_at);
        self.optional(row.ended, |it, ended| it.variant(&ended));
        self.optional_text(row.reply.as_deref());
        self.optional(row.address, |it, address| it.put(&address));
        self.number(row.revision.into());
    }

    fn app(&mut self, app: &App) {
        let App { row, revision, public_revision } = app;
        self.put(row.app_id.uuid().as_bytes());
        self.text(&row.name);
        self.variant(&row.identity_verification);
        self.number(row.allowed_origins.len() as u64);
        for origin in &row.allowed_origins {
            self.text(origin);
        }
        self.seconds(row.grace_window_seconds);
        self.seconds(row.retention_days);
        self.seconds(row.token_lifetime_seconds);
        self.optional_text(row.hosted.as_deref());
        self.seconds(row.limits.calls_per_second);
        self.optional(row.limits.bytes_per_day, Self::number);
        self.time(row.created_at);
        self.number(*revision);
        self.number(*public_revision);
    }

    fn key(&mut self, row: &KeyRow) {
        self.put(row.app_id.uuid().as_bytes());
        self.text(row.api_key.as_str());
        self.time(row.created_at);
        self.optional_time(row.revoked_at);
    }

    fn identity_key(&mut self, row: &IdentityKeyRow) {
        self.put(row.app_id.uuid().as_bytes());
        self.text(&row.kid);
        self.variant(&row.kind);
        self.text(&row.material);
        self.optional_text(row.issuer.as_deref());
        self.time(row.created_at);
        self.optional_time(row.revoked_at);
    }

    fn flow(&mut self, row: &FlowRow) {
        self.put(row.app_id.uuid().as_bytes());
        self.put(row.flow_id.uuid().as_bytes());
        self.variant(&row.kind);
        self.text(&row.name);
        self.optional_time(row.live.starts_at);
        self.optional_time(row.live.ends_at);
        self.seconds(row.grace_window_seconds);
        self.optional_text(row.closing.as_deref());
        self.optional_text(row.key.as_deref());
        self.number(row.labels.len() as u64);
        row.labels.iter().for_each(|label| self.text(label));
        self.optional_text(row.design.as_deref());
        self.number(u64::from(row.test_links));
        self.optional_text(row.invitation_email.as_deref());
        self.time(row.created_at);
        self.optional_time(row.archived_at);
    }

    fn version(&mut self, row: &VersionRow) {
        self.put(row.app_id.uuid().as_bytes());
        self.put(row.flow_id.uuid().as_bytes());
        self.put(row.flow_version_id.uuid().as_bytes());
        self.number(u64::from(row.number));
        self.optional_time(row.times.published_at);
        self.optional_time(row.times.superseded_at);
        self.optional_time(row.times.grace_ends_at);
        self.optional_time(row.times.retired_at);
        self.text(&row.definition);
        self.time(row.created_at);
        self.time(row.updated_at);
    }

    fn token(&mut self, row: &TokenRow) {
        self.put(row.token_id.uuid().as_bytes());
        self.text(&row.name);
        self.put(&row.hash);
        self.number(row.scopes.len() as u64);
        for scope in &row.scopes {
            self.variant(scope);
        }
        self.optional_app(row.app_id);
        self.time(row.created_at);
        self.optional_time(row.expires_at);
        self.optional_time(row.revoked_at);
    }

    fn audit(&mut self, row: &AuditRow) {
        self.put(row.audit_id.uuid().as_bytes());
        self.optional_app(row.app_id);
        self.text(&row.actor);
        self.text(&row.action);
        self.text(&row.subject);
        self.text(&row.detail);
    }

    fn ids(&mut self, ids: &[uuid::Uuid]) {
        ids.iter().for_each(|id| self.put(id.as_bytes()));
    }

    fn invitation(&mut self, row: &InvitationRow) {
        self.put(row.app_id.uuid().as_bytes());
        self.put(row.flow_id.uuid().as_bytes());
        self.put(row.assignment_id.uuid().as_bytes());
        self.optional_text(row.invitee.user_id.as_deref());
        self.optional_text(row.invitee.email.as_deref());
        self.time(row.created_at);
        self.optional_time(row.times.expires_at);
        self.optional_time(row.times.opened_at);
        self.optional_time(row.times.completed_at);
        self.optional_time(row.times.revoked_at);
        self.optional(row.response_id, |it, id| it.put(id.uuid().as_bytes()));
    }

    fn endpoint(&mut self, row: &EndpointRow) {
        self.ids(&[row.app_id.uuid(), row.endpoint_id.uuid(), row.cursor.uuid()]);
        for text in [&row.url, &row.description, &row.format, &row.secret] {
            self.text(text);
        }
        self.number(row.types.len() as u64);
        row.types.iter().for_each(|name| self.text(name));
        self.number(row.flows.len() as u64);
        row.flows.iter().for_each(|flow| self.put(flow.uuid().as_bytes()));
        self.optional_text(row.previous_secret.as_deref());
        self.optional_time(row.previous_until);
        self.time(row.created_at);
        self.optional_time(row.failing_since);
        self.number(u64::from(row.failures));
        self.optional_time(row.disabled_at);
        self.optional_text(row.disabled_reason.as_deref());
        self.time(row.due_at);
    }

    fn delivery(&mut self, row: &DeliveryRow) {
        let ids = (row.endpoint_id.uuid(), row.delivery_id.uuid(), row.event_id.uuid());
        self.ids(&[row.app_id.uuid(), ids.0, ids.1, ids.2]);
        self.text(&row.kind);
        self.variant(&row.state);
        self.number(u64::from(row.attempts));
        self.optional_time(row.next_at);
        self.time(row.attempted_at);
        self.optional(row.status, |it, status| it.number(u64::from(status)));
        self.number(u64::from(row.latency_millis));
        self.optional_text(row.reply.as_deref());
        self.optional_text(row.error.as_deref());
    }

    fn report(&mut self, row: &ReportRow) {
        self.ids(&[row.app_id.uuid(), row.flow_id.uuid(), row.report_id.uuid()]);
        self.put(&row.hash);
        self.text(&row.title);
        self.number(row.questions.len() as u64);
        for question in &row.questions {
            self.text(question);
        }
        self.number(row.filters.len() as u64);
        for (name, value) in &row.filters {
            self.text(name);
            self.text(value);
        }
        self.number(row.shows_texts.into());
        self.optional_text(row.password.as_deref());
        self.text(&row.created_by);
        self.time(row.created_at);
        self.optional_time(row.expires_at);
        self.optional_time(row.revoked_at);
    }

    fn visit_count(&mut self, row: &VisitCountRow) {
        self.ids(&[row.app_id.uuid(), row.flow_id.uuid(), row.flow_version_id.uuid()]);
        self.put(&row.day.number().to_le_bytes());
        self.text(&row.counter);
        self.number(row.visits);
    }

    fn user(&mut self, row: &UserRow) {
        self.put(row.user_id.uuid().as_bytes());
        self.text(&row.email);
        self.text(&row.name);
        self.optional_text(row.password.as_deref());
        self.optional(row.subject.as_ref(), |it, subject| {
            it.text(&subject.issuer);
            it.text(&subject.subject);
        });
        self.optional(row.second_factor.as_ref(), |it, factor| {
            it.text(&factor.sealed);
            it.number(factor.used_step.cast_unsigned());
            it.put(&factor.recovery.concat());
        });
        self.number(u64::from(row.epoch));
        self.time(row.created_at);
        self.optional_time(row.disabled_at);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn number(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.put(text.as_bytes());
    }

    /// A value as serde writes it. For an enum that is a name, which does not depend on the order
    /// of the variants.
    fn variant(&mut self, value: &impl serde::Serialize) {
        self.text(&serde_json::to_string(value).unwrap_or_default());
    }

    fn time(&mut self, time: Timestamp) {
        self.put(&time.as_millis().to_le_bytes());
    }

    fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.put(&[u8::from(value.is_some())]);
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn optional_time(&mut self, time: Option<Timestamp>) {
        self.optional(time, Self::time);
    }

    fn optional_text(&mut self, text: Option<&str>) {
        self.optional(text, Self::text);
    }

    fn optional_app(&mut self, app: Option<AppId>) {
        self.optional(app, |it, app| it.put(app.uuid().as_bytes()));
    }

    fn seconds(&mut self, seconds: Option<u32>) {
        self.optional(seconds, |it, seconds| it.number(u64::from(seconds)));
    }
}
