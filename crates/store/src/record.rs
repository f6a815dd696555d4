//! Records: rows of any table, in an order shared by all backends, for moving a database, backing
//! it up and checking it.
//!
//! The order follows indexes that every backend has anyway: responses are sorted by app, flow and
//! id, as in lists, so no backend needs an index only for moving. A row comes after the rows that
//! it references, so an interrupted copy is consistent up to where it stopped.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{
    AppId, AssetId, AuditId, DeliveryId, EndpointId, EventId, FlowId, FlowVersionId, ReportId,
    RespondentId, ResponseId, TokenId, UserId,
};

use crate::{
    AdminRequestRow, App, AssetRow, AuditRow, ClosingCountsRow, ConsentRow, DeliveryRow,
    EndpointRow, EventRow, FlowRow, GrantRow, IdempotencyKey, IdentityKeyRow, IdentityRow,
    InvitationRow, KeyRow, MailRow, ReportRow, RespondentRow, ResponseRow, SavedViewRow,
    ShortPathRow, SinkPositionRow, StoreResult, TestResponseRow, TokenRow, UsedKeyRow, UserRow,
    VersionRow, VisitCountRow,
};

/// One row of any table, with every column that a backend stores.
///
/// As JSON, in a backup, it has the names of these variants and of the rows' fields. A new field
/// needs `#[serde(default)]` if it is not optional, so that older backups can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    App(App),
    Key(KeyRow),
    IdentityKey(IdentityKeyRow),
    Flow(FlowRow),
    Version(VersionRow),
    Token(TokenRow),
    Audit(AuditRow),
    Respondent(RespondentRow),
    Identity(IdentityRow),
    Response {
        row: ResponseRow,
        #[serde(default, with = "crate::hex")]
        idempotency_key: Option<IdempotencyKey>,
    },
    Consent(ConsentRow),
    UsedKey(UsedKeyRow),
    Invitation(InvitationRow),
    VisitCount(VisitCountRow),
    ClosingCounts(ClosingCountsRow),
    User(UserRow),
    Grant(GrantRow),
    Report(Box<ReportRow>),
    SavedView(SavedViewRow),
    ShortPath(ShortPathRow),
    TestResponse(TestResponseRow),
    Asset(AssetRow),
    Event(EventRow),
    Endpoint(Box<EndpointRow>),
    Delivery(Box<DeliveryRow>),
    Mail(MailRow),
    SinkPosition(SinkPositionRow),
    AdminRequest(AdminRequestRow),
}

/// A page of a [`crate::StoreView`].
#[derive(Debug, Default)]
pub struct RecordPage {
    /// Empty only at the end of the table.
    pub records: Vec<Record>,
    /// The rows among them that cannot be decoded. A row at the end of a page may be listed again
    /// on the next one.
    pub unreadable: Vec<UnreadableRow>,
}

/// A row that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadableRow {
    pub table: Table,
    /// Its flow, if it has one that can be read.
    pub flow: Option<FlowId>,
    /// The ids in the row that can be read.
    pub ids: String,
    pub why: String,
}

impl UnreadableRow {
    /// From the columns of a row that hold 16 bytes, by name.
    pub(crate) fn new(
        table: Table,
        columns: impl Iterator<Item = (String, uuid::Uuid)>,
        why: impl std::fmt::Display,
    ) -> Self {
        let mut flow = None;
        let ids = columns.filter_map(|(name, id)| {
            if name == "flow_id" {
                flow = Some(FlowId::from_uuid(id));
            }
            Some(match name.as_str() {
                "app_id" => AppId::from_uuid(id).to_string(),
                "flow_id" => FlowId::from_uuid(id).to_string(),
                "flow_version_id" => FlowVersionId::from_uuid(id).to_string(),
                "response_id" => ResponseId::from_uuid(id).to_string(),
                "respondent_id" => RespondentId::from_uuid(id).to_string(),
                "token_id" => TokenId::from_uuid(id).to_string(),
                "audit_id" => AuditId::from_uuid(id).to_string(),
                "user_id" => UserId::from_uuid(id).to_string(),
                "asset_id" => AssetId::from_uuid(id).to_string(),
                "report_id" => ReportId::from_uuid(id).to_string(),
                "event_id" => EventId::from_uuid(id).to_string(),
                "endpoint_id" => EndpointId::from_uuid(id).to_string(),
                "delivery_id" => DeliveryId::from_uuid(id).to_string(),
                _ => return None,
            })
        });
        let ids = ids.collect::<Vec<_>>().join(" ");
        Self { table, flow, ids, why: why.to_string() }
    }
}

/// The result of [`crate::MovingStore::check_pages`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageCheck {
    /// One line for each damaged place.
    pub damaged: Vec<String>,
    /// What was not checked, and why.
    pub skipped: Option<String>,
}

/// The tables, in the order of their records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    Apps,
    Keys,
    #[serde(rename = "identity_keys")]
    IdentityKeys,
    Flows,
    Versions,
    Tokens,
    Audit,
    Respondents,
    Identities,
    Responses,
    Consents,
    #[serde(rename = "used-keys")]
    UsedKeys,
    Invitations,
    #[serde(rename = "visit-counts")]
    VisitCounts,
    #[serde(rename = "closing-counts")]
    ClosingCounts,
    Users,
    Grants,
    Reports,
    #[serde(rename = "saved-views")]
    SavedViews,
    #[serde(rename = "short-paths")]
    ShortPaths,
    #[serde(rename = "test-responses")]
    TestResponses,
    Assets,
    Events,
    Endpoints,
    Deliveries,
    Mails,
    #[serde(rename = "sink-positions")]
    SinkPositions,
    #[serde(rename = "admin-requests")]
    AdminRequests,
}

impl Table {
    pub const ALL: [Self; 28] = [
        Self::Apps,
        Self::Keys,
        Self::IdentityKeys,
        Self::Flows,
        Self::Versions,
        Self::Tokens,
        Self::Audit,
        Self::Respondents,
        Self::Identities,
        Self::Responses,
        Self::Consents,
        Self::UsedKeys,
        Self::Invitations,
        Self::VisitCounts,
        Self::ClosingCounts,
        Self::Users,
        Self::Grants,
        Self::Reports,
        Self::SavedViews,
        Self::ShortPaths,
        Self::TestResponses,
        Self::Assets,
        Self::Events,
        Self::Endpoints,
        Self::Deliveries,
        Self::Mails,
        Self::SinkPositions,
        Self::AdminRequests,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Apps => "apps",
            Self::Keys => "keys",
            Self::IdentityKeys => "identity_keys",
            Self::Flows => "flows",
            Self::Versions => "versions",
            Self::Tokens => "tokens",
            Self::Audit => "audit",
            Self::Respondents => "respondents",
            Self::Identities => "identities",
            Self::Responses => "responses",
            Self::Consents => "consents",
            Self::UsedKeys => "used-keys",
            Self::Invitations => "invitations",
            Self::VisitCounts => "visit-counts",
            Self::ClosingCounts => "closing-counts",
            Self::Users => "users",
            Self::Grants => "grants",
            Self::Reports => "reports",
            Self::SavedViews => "saved-views",
            Self::ShortPaths => "short-paths",
            Self::TestResponses => "test-responses",
            Self::Assets => "assets",
            Self::Events => "events",
            Self::Endpoints => "endpoints",
            Self::Deliveries => "deliveries",
            Self::Mails => "mails",
            Self::SinkPositions => "sink-positions",
            Self::AdminRequests => "admin-requests",
        }
    }
}

/// The position of a [`Record`] in the order of all records: tables in the order of the enum, then
/// the app's id (the nil id if it belongs to no app), then the row's key as bytes.
///
/// The key of an app is empty, of an API key its text, of an identity key its `kid`, of a response
/// its flow's id followed by its own id, of an identity its type and value separated by a zero
/// byte, of a consent or a used key the id of its response, of a visit count its flow, day, version
/// and counter ([`VisitCountRow::key`]), of a grant the id of its user, of a saved view the ids of
/// its flow and its user followed by its name, of a short path and of the counts of a limited flow
/// the id of the flow, of a test response the id of its flow followed by its form key, of a
/// delivery the id of its endpoint followed by its own id, of a position the name of its sink. For
/// all other tables it is the row's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordCursor {
    pub table: Table,
    pub app: [u8; 16],
    pub key: Vec<u8>,
}

impl RecordCursor {
    /// The position before the first record of a table.
    pub fn start_of(table: Table) -> Self {
        Self { table, app: [0; 16], key: Vec::new() }
    }
}

impl Record {
    pub fn table(&self) -> Table {
        match self {
            Self::App(_) => Table::Apps,
            Self::Key(_) => Table::Keys,
            Self::IdentityKey(_) => Table::IdentityKeys,
            Self::Flow(_) => Table::Flows,
            Self::Version(_) => Table::Versions,
            Self::Token(_) => Table::Tokens,
            Self::Audit(_) => Table::Audit,
            Self::Respondent(_) => Table::Respondents,
            Self::Identity(_) => Table::Identities,
            Self::Response { .. } => Table::Responses,
            Self::Consent(_) => Table::Consents,
            Self::UsedKey(_) => Table::UsedKeys,
            Self::Invitation(_) => Table::Invitations,
            Self::VisitCount(_) => Table::VisitCounts,
            Self::ClosingCounts(_) => Table::ClosingCounts,
            Self::User(_) => Table::Users,
            Self::Grant(_) => Table::Grants,
            Self::Report(_) => Table::Reports,
            Self::SavedView(_) => Table::SavedViews,
            Self::ShortPath(_) => Table::ShortPaths,
            Self::TestResponse(_) => Table::TestResponses,
            Self::Asset(_) => Table::Assets,
            Self::Event(_) => Table::Events,
            Self::Endpoint(_) => Table::Endpoints,
            Self::Delivery(_) => Table::Deliveries,
            Self::Mail(_) => Table::Mails,
            Self::SinkPosition(_) => Table::SinkPositions,
            Self::AdminRequest(_) => Table::AdminRequests,
        }
    }

    /// An error if its content does not match its digest. Most tables have none.
    pub fn check_intact(&self) -> StoreResult<()> {
        match self {
            Self::Response { row, .. } => row.check_intact(),
            Self::Asset(row) => row.check_intact(),
            _ => Ok(()),
        }
    }

    pub fn cursor(&self) -> RecordCursor {
        let cursor = |app: Option<AppId>, key: &[u8]| RecordCursor {
            table: self.table(),
            app: app.map_or([0; 16], |app| *app.uuid().as_bytes()),
            key: key.to_vec(),
        };
        match self {
            Self::App(app) => cursor(Some(app.row.app_id), &[]),
            Self::Key(key) => cursor(Some(key.app_id), key.api_key.as_str().as_bytes()),
            Self::IdentityKey(key) => cursor(Some(key.app_id), key.kid.as_bytes()),
            Self::Flow(flow) => cursor(Some(flow.app_id), flow.flow_id.uuid().as_bytes()),
            Self::Version(version) => {
                cursor(Some(version.app_id), version.flow_version_id.uuid().as_bytes())
            }
            Self::Token(token) => cursor(token.app_id, token.token_id.uuid().as_bytes()),
            Self::Audit(audit) => cursor(audit.app_id, audit.audit_id.uuid().as_bytes()),
            Self::Respondent(row) => cursor(Some(row.app_id), row.respondent_id.uuid().as_bytes()),
            Self::Identity(row) => {
                let key = [row.known.kind.as_str(), "\0", &row.known.value].concat();
                cursor(Some(row.app_id), key.as_bytes())
            }
            Self::Consent(row) => cursor(Some(row.app_id), row.response_id.uuid().as_bytes()),
            Self::UsedKey(row) => cursor(Some(row.app_id), row.response_id.uuid().as_bytes()),
            Self::Response { row, .. } => {
                let ids = [row.flow_id.uuid(), row.response_id.uuid()];
                cursor(Some(row.app_id), ids.map(uuid::Uuid::into_bytes).as_flattened())
            }
            Self::Invitation(row) => cursor(Some(row.app_id), row.assignment_id.uuid().as_bytes()),
            Self::VisitCount(row) => cursor(Some(row.app_id), &row.key()),
            Self::ClosingCounts(row) => cursor(Some(row.app_id), row.flow_id.uuid().as_bytes()),
            Self::User(row) => cursor(None, row.user_id.uuid().as_bytes()),
            Self::Grant(row) => cursor(row.app_id, row.user_id.uuid().as_bytes()),
            Self::ShortPath(row) => cursor(Some(row.app_id), row.flow_id.uuid().as_bytes()),
            Self::TestResponse(row) => {
                let ids = [row.flow_id.uuid(), row.form_key.uuid()];
                cursor(Some(row.app_id), ids.map(uuid::Uuid::into_bytes).as_flattened())
            }
            Self::Asset(row) => cursor(Some(row.app_id), row.asset_id.uuid().as_bytes()),
            Self::Event(row) => cursor(Some(row.app_id), row.event_id.uuid().as_bytes()),
            Self::Endpoint(row) => cursor(Some(row.app_id), row.endpoint_id.uuid().as_bytes()),
            Self::Delivery(row) => {
                let ids = [row.endpoint_id.uuid(), row.delivery_id.uuid()];
                cursor(Some(row.app_id), ids.map(uuid::Uuid::into_bytes).as_flattened())
            }
            Self::Mail(row) => cursor(row.app_id, row.mail_id.uuid().as_bytes()),
            Self::SinkPosition(row) => cursor(Some(row.app_id), row.sink.as_bytes()),
            Self::AdminRequest(row) => cursor(None, row.request_id.as_bytes()),
            Self::Report(row) => cursor(Some(row.app_id), row.report_id.uuid().as_bytes()),
            Self::SavedView(row) => {
                let ids = [row.flow_id.uuid(), row.user_id.uuid()].map(uuid::Uuid::into_bytes);
                cursor(Some(row.app_id), &[ids.as_flattened(), row.name.as_bytes()].concat())
            }
        }
    }

    /// Approximate memory use of the record: its texts, and a little for the rest.
    pub fn weight_bytes(&self) -> usize {
        const REST_BYTES: usize = 256;
        let texts = match self {
            Self::App(app) => {
                let origins = app.row.allowed_origins.iter().map(String::len).sum::<usize>();
                app.row.name.len() + origins + app.row.hosted.as_ref().map_or(0, String::len)
            }
            Self::Key(_)
            | Self::Respondent(_)
            | Self::Consent(_)
            | Self::UsedKey(_)
            | Self::Grant(_) => 0,
            Self::Identity(row) => row.known.value.len(),
            Self::IdentityKey(key) => {
                key.kid.len() + key.material.len() + key.issuer.as_ref().map_or(0, String::len)
            }
            Self::Flow(flow) => {
                let labels = flow.labels.iter().map(String::len).sum::<usize>();
                let settings = [&flow.closing, &flow.key, &flow.design, &flow.invitation_email]
                    .into_iter()
                    .flatten();
                flow.name.len() + labels + settings.map(String::len).sum::<usize>()
            }
            Self::TestResponse(row) => {
                let texts = [&row.tags, &row.score].into_iter().flatten();
                row.answers.len() + texts.map(String::len).sum::<usize>()
            }
            Self::ClosingCounts(row) => {
                row.counts.iter().map(|(counter, _)| counter.len() + 8).sum()
            }
            Self::ShortPath(row) => row.path.len(),
            Self::Asset(row) => row.bytes.len(),
            Self::Event(row) => row.kind.len() + row.body.len(),
            Self::Endpoint(row) => {
                let previous = row.previous_secret.as_ref().map_or(0, String::len);
                row.url.len() + row.description.len() + row.secret.len() + previous
            }
            Self::Delivery(row) => {
                let texts = [&row.reply, &row.error].into_iter().flatten();
                row.kind.len() + texts.map(String::len).sum::<usize>()
            }
            Self::Mail(row) => present_len([&row.detail, &row.reply]),
            Self::SinkPosition(row) => row.sink.len(),
            Self::AdminRequest(row) => row.holder.len() + row.reply.as_ref().map_or(0, Vec::len),
            Self::SavedView(row) => row.name.len() + row.query.len(),
            Self::Version(version) => version.definition.len(),
            Self::Token(token) => token.name.len(),
            Self::Audit(audit) => {
                let texts = [&audit.actor, &audit.action, &audit.subject, &audit.detail];
                texts.into_iter().map(String::len).sum()
            }
            Self::Response { row, .. } => row.texts_len(),
            Self::Invitation(row) => present_len([&row.invitee.user_id, &row.invitee.email]),
            Self::VisitCount(row) => row.counter.len(),
            Self::User(row) => {
                let subject =
                    row.subject.as_ref().map_or(0, |it| it.issuer.len() + it.subject.len());
                let password = row.password.as_ref().map_or(0, String::len);
                row.email.len() + row.name.len() + password + subject
            }
            Self::Report(row) => {
                let questions = row.questions.iter().map(String::len).sum::<usize>();
                let filters = row.filters.iter().map(|(name, value)| name.len() + value.len());
                let password = row.password.as_ref().map_or(0, String::len);
                let texts = row.title.len() + row.created_by.len() + password;
                texts + questions + filters.sum::<usize>()
            }
        };
        REST_BYTES + texts
    }
}

/// The length of the texts that are present.
fn present_len<const COUNT: usize>(texts: [&Option<String>; COUNT]) -> usize {
    texts.into_iter().flatten().map(String::len).sum()
}
