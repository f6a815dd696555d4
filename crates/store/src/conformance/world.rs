//! The rows used in the cases: small, valid, all different.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sluice_flow::counts::Contribution;
use sluice_flow::definition::Kind;
use sluice_flow::id::{
    ApiKey, AppId, AssetId, AssignmentId, AuditId, DeliveryId, EndpointId, EventId, FlowId,
    FlowVersionId, FormKey, MailId, ReportId, RespondentId, ResponseId, TokenId, UserId, v7,
};
use sluice_flow::invitation::{InvitationTimes, Invitee};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::time::{Day, Timestamp, Window};

use super::rows::empty_response;
use crate::{
    AdminRequestRow, AppLimits, AppRow, AssetRow, At, AuditRow, Change, DeliveryRow, DeliveryState,
    EndpointRow, EventRow, FlowRow, GrantRow, IdentityKeyKind, IdentityKeyRow,
    IdentityVerification, ImageType, InvitationRow, KeyRow, MailKind, MailRow, NewResponse,
    Outcome, Record, ReportRow, ResponseQuery, ResponseRow, Role, Scope, SinkPositionRow, Store,
    StoreResult, TestResponseRow, TokenRow, UserRow, VersionRow, VisitCountRow, Write,
};

pub(super) type TheStore = Arc<dyn Store>;

/// The instant that cases count from.
const START_MILLIS: i64 = 1_763_172_000_000;

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START_MILLIS + millis)
}

fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An id that sorts after all earlier ones made for the same time.
macro_rules! new_id {
    ($kind:ident, $millis:expr) => {
        $kind::from_uuid(v7(at($millis), next(), 0))
    };
}

pub(super) fn app_row() -> AppRow {
    AppRow {
        app_id: new_id!(AppId, 0),
        name: "Shop".to_owned(),
        identity_verification: IdentityVerification::Off,
        allowed_origins: Vec::new(),
        grace_window_seconds: None,
        retention_days: None,
        token_lifetime_seconds: None,
        hosted: None,
        limits: AppLimits::default(),
        created_at: at(0),
    }
}

pub(super) fn key_row(app_id: AppId) -> KeyRow {
    let api_key = ApiKey::from_random(u128::from(next()));
    KeyRow { app_id, api_key, created_at: at(0), revoked_at: None }
}

pub(super) fn identity_key_row(app_id: AppId) -> IdentityKeyRow {
    IdentityKeyRow {
        app_id,
        kid: format!("ik_{}", next()),
        kind: IdentityKeyKind::Hs256,
        material: "sealed".to_owned(),
        issuer: None,
        created_at: at(0),
        revoked_at: None,
    }
}

pub(super) fn flow_row(app_id: AppId) -> FlowRow {
    FlowRow {
        app_id,
        flow_id: new_id!(FlowId, 0),
        kind: Kind::Survey,
        name: "Feedback".to_owned(),
        live: Window::default(),
        grace_window_seconds: None,
        closing: None,
        invitation_email: None,
        key: None,
        labels: Vec::new(),
        design: None,
        test_links: 0,
        created_at: at(0),
        archived_at: None,
    }
}

pub(super) fn draft_row(flow: &FlowRow) -> VersionRow {
    VersionRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        flow_version_id: new_id!(FlowVersionId, 0),
        number: 0,
        times: VersionTimes::default(),
        definition: r#"{"title":"Hello"}"#.to_owned(),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(super) fn published_row(flow: &FlowRow, number: u32) -> VersionRow {
    let times = VersionTimes { published_at: Some(at(0)), ..VersionTimes::default() };
    VersionRow { number, times, ..draft_row(flow) }
}

pub(super) fn visit_count_row(
    version: &VersionRow,
    day: Day,
    counter: &str,
    visits: u64,
) -> VisitCountRow {
    VisitCountRow {
        app_id: version.app_id,
        flow_id: version.flow_id,
        day,
        flow_version_id: version.flow_version_id,
        counter: counter.to_owned(),
        visits,
    }
}

pub(super) fn token_row() -> TokenRow {
    let token_id = new_id!(TokenId, 0);
    let mut hash = [7; 32];
    hash[..16].copy_from_slice(token_id.uuid().as_bytes());
    TokenRow {
        token_id,
        name: "laptop".to_owned(),
        hash,
        scopes: vec![Scope::Read, Scope::Admin],
        app_id: None,
        created_at: at(0),
        expires_at: None,
        revoked_at: None,
    }
}

pub(super) fn audit_row(app_id: Option<AppId>) -> AuditRow {
    AuditRow {
        audit_id: new_id!(AuditId, 0),
        app_id,
        actor: "first-start".to_owned(),
        action: "flow.published".to_owned(),
        subject: "fl_1".to_owned(),
        detail: r#"{"number":1}"#.to_owned(),
    }
}

/// A user with only a name.
pub(super) fn user_row() -> UserRow {
    UserRow {
        user_id: new_id!(UserId, 0),
        email: format!("user-{}@mail.example", next()),
        name: "Ann".to_owned(),
        password: None,
        subject: None,
        second_factor: None,
        epoch: 0,
        created_at: at(0),
        disabled_at: None,
    }
}

pub(super) fn grant_row(user: &UserRow, app_id: Option<AppId>, role: Role) -> GrantRow {
    GrantRow { user_id: user.user_id, app_id, role }
}

/// An open invitation to a flow, for a person with no other invitation.
pub(super) fn invitation_row(flow: &FlowRow) -> InvitationRow {
    let number = next();
    InvitationRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        assignment_id: AssignmentId::from_random(u128::from(number).wrapping_mul(u128::MAX / 77)),
        invitee: Invitee {
            user_id: Some(format!("user {number}")),
            email: Some(format!("user-{number}@mail.example")),
        },
        created_at: at(0),
        times: InvitationTimes::default(),
        response_id: None,
    }
}

pub(super) fn report_row(flow: &FlowRow) -> ReportRow {
    let report_id = new_id!(ReportId, 0);
    let mut hash = [9; 32];
    hash[..16].copy_from_slice(report_id.uuid().as_bytes());
    ReportRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        report_id,
        hash,
        title: "Results".to_owned(),
        questions: Vec::new(),
        filters: Vec::new(),
        shows_texts: false,
        password: None,
        created_by: "first-start".to_owned(),
        created_at: at(0),
        expires_at: None,
        revoked_at: None,
    }
}

/// An event of a flow, this many milliseconds after the start.
pub(super) fn event_row(flow: &FlowRow, millis: i64) -> EventRow {
    let event_id = new_id!(EventId, millis);
    EventRow {
        app_id: flow.app_id,
        event_id,
        flow_id: Some(flow.flow_id),
        kind: "flow.archived".to_owned(),
        body: format!(r#"{{"number":"{event_id}"}}"#),
    }
}

/// An endpoint that receives some types of events.
pub(super) fn endpoint_row(app_id: AppId) -> EndpointRow {
    EndpointRow {
        app_id,
        endpoint_id: new_id!(EndpointId, 0),
        url: "https://hooks.example/a?b=c".to_owned(),
        description: "CRM \u{e9}".to_owned(),
        format: "standard".to_owned(),
        batch: false,
        types: vec!["response.created".to_owned(), "flow.closed".to_owned()],
        flows: Vec::new(),
        secret: "sealed".to_owned(),
        previous_secret: None,
        previous_until: None,
        created_at: at(0),
        cursor: new_id!(EventId, 0),
        failing_since: None,
        failures: 0,
        disabled_at: None,
        disabled_reason: None,
        due_at: at(0),
        removals: 0,
    }
}

/// A delivery that succeeded, first sent this many milliseconds after the start.
pub(super) fn delivery_row(endpoint: &EndpointRow, millis: i64) -> DeliveryRow {
    DeliveryRow {
        app_id: endpoint.app_id,
        endpoint_id: endpoint.endpoint_id,
        delivery_id: new_id!(DeliveryId, millis),
        event_id: new_id!(EventId, millis),
        kind: "response.created".to_owned(),
        state: DeliveryState::Delivered,
        attempts: 1,
        next_at: None,
        attempted_at: at(millis),
        status: Some(204),
        latency_millis: 12,
        reply: Some("ok \u{e9}".to_owned()),
        error: None,
        batch_id: None,
    }
}

/// An event, an endpoint with a delivery, and the position in a sink.
pub(super) fn webhook_records(flow: &FlowRow) -> [Record; 4] {
    let endpoint = endpoint_row(flow.app_id);
    let delivery = delivery_row(&endpoint, 3);
    [
        Record::Event(event_row(flow, 3)),
        Record::Endpoint(endpoint.into()),
        Record::Delivery(delivery.into()),
        Record::SinkPosition(SinkPositionRow {
            app_id: flow.app_id,
            sink: "nats/\u{e9}".to_owned(),
            position: event_row(flow, 4).event_id,
        }),
    ]
}

/// A request that was claimed one millisecond after the start, and expires at nine.
pub(super) fn request_row() -> AdminRequestRow {
    AdminRequestRow {
        request_id: new_uuid(),
        holder: format!("tk_{}", next()),
        fingerprint: [3; 32],
        claim: new_uuid(),
        claimed_at: at(1),
        applied_at: None,
        expires_at: at(9),
        reply: None,
    }
}

/// One with every column filled, or one that was only claimed.
pub(super) fn request_record(full: bool) -> Record {
    Record::AdminRequest(AdminRequestRow {
        applied_at: full.then(|| at(2)),
        reply: full.then(|| b"sealed \xff".to_vec()),
        ..request_row()
    })
}

fn new_uuid() -> uuid::Uuid {
    v7(at(0), next(), 0)
}

/// An invitation that is sent by e-mail, due one millisecond after the start.
pub(super) fn mail_row(flow: &FlowRow) -> MailRow {
    let mail_id = new_id!(MailId, 0);
    MailRow {
        app_id: Some(flow.app_id),
        flow_id: Some(flow.flow_id),
        assignment_id: Some(new_id!(AssignmentId, 0)),
        ..MailRow::new(mail_id, MailKind::Invitation, at(1))
    }
}

/// A minimal test response, received this many milliseconds after the start.
pub(super) fn test_response_row(flow: &FlowRow, millis: i64) -> TestResponseRow {
    TestResponseRow {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        form_key: new_id!(FormKey, 0),
        number: 0,
        received_at: at(millis),
        answers: r#"{"q":"yes"}"#.to_owned(),
        tags: None,
        score: None,
    }
}

/// A small asset whose bytes no other has.
pub(super) fn asset_row(app_id: AppId) -> AssetRow {
    let asset_id = new_id!(AssetId, 0);
    let bytes = asset_id.to_string().into_bytes();
    AssetRow {
        app_id,
        asset_id,
        content_type: ImageType::Png,
        width: 4_000,
        height: 3,
        digest: AssetRow::digest_of(&bytes),
        created_at: at(0),
        bytes,
    }
}

/// The id of a response received this many milliseconds after the start.
pub(super) fn response_id(millis: i64) -> ResponseId {
    new_id!(ResponseId, millis)
}

/// A minimal response to a version, received this many milliseconds after the start.
pub(super) fn response_row(flow: &FlowRow, version: &VersionRow, millis: i64) -> ResponseRow {
    let response_id = response_id(millis);
    ResponseRow {
        answers: r#"{"q":"yes"}"#.to_owned(),
        digest: response_id.uuid().into_bytes(),
        ..empty_response(flow.app_id, flow.flow_id, version.flow_version_id, response_id)
    }
}

/// A response to be stored. It is counted without a definition: the one in these cases has no
/// questions.
pub(super) fn new_response(row: ResponseRow, public_revision: u64) -> NewResponse {
    let contribution =
        Contribution::from_stored(None, &row.answers, row.tags.as_deref(), row.admission);
    NewResponse {
        row,
        idempotency_key: None,
        public_revision,
        claim: None,
        invitation: None,
        limits: Vec::new(),
        contribution,
    }
}

/// The id of a respondent first seen this many milliseconds after the start.
pub(super) fn respondent_id(millis: i64) -> RespondentId {
    new_id!(RespondentId, millis)
}

/// An app with a key, a flow and its first published version.
pub(super) struct Shop {
    pub(super) key: KeyRow,
    pub(super) flow: FlowRow,
    pub(super) version: VersionRow,
}

impl Shop {
    pub(super) async fn open(store: &TheStore) -> Self {
        let app = app_row();
        let key = key_row(app.app_id);
        let flow = flow_row(app.app_id);
        let version = published_row(&flow, 1);
        let rows = vec![
            Write::App(app),
            Write::Key(key.clone()),
            Write::Flow(flow.clone()),
            Write::Version(version.clone()),
        ];
        store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
        Self { key, flow, version }
    }

    pub(super) fn app(&self) -> AppId {
        self.flow.app_id
    }

    /// A response of this shop, received this many milliseconds after the start, judged at the
    /// app's newest public revision.
    pub(super) async fn response(&self, store: &TheStore, millis: i64) -> NewResponse {
        let row = response_row(&self.flow, &self.version, millis);
        let public_revision = public_revision(store, self.app()).await;
        new_response(row, public_revision)
    }

    /// Stores a response with these tags and returns its id.
    pub(super) async fn store(&self, store: &TheStore, millis: i64, tags: &str) -> ResponseId {
        let mut response = self.response(store, millis).await;
        response.row.tags = (!tags.is_empty()).then(|| tags.to_owned());
        let response = new_response(response.row, response.public_revision);
        let id = response.row.response_id;
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        id
    }

    /// All responses of the flow, oldest first.
    pub(super) fn query(&self) -> ResponseQuery {
        all_of(&self.flow)
    }
}

/// All responses of a flow, oldest first.
pub(super) fn all_of(flow: &FlowRow) -> ResponseQuery {
    ResponseQuery::new(flow.app_id, flow.flow_id, 100)
}

pub(super) async fn revision(store: &TheStore, app: AppId) -> u64 {
    store.find_app(app).await.unwrap().unwrap().revision
}

pub(super) async fn public_revision(store: &TheStore, app: AppId) -> u64 {
    store.find_app(app).await.unwrap().unwrap().public_revision
}

/// Applies rows at the app's newest revision.
pub(super) async fn try_apply(store: &TheStore, app: AppId, rows: Vec<Write>) -> StoreResult<()> {
    let expected = revision(store, app).await;
    store.apply(At::App { app, expected }, Change::new(|| rows)).await
}

pub(super) async fn apply(store: &TheStore, app: AppId, rows: Vec<Write>) {
    try_apply(store, app, rows).await.unwrap();
}

/// The ids that the query finds on one page.
pub(super) async fn listed(store: &TheStore, query: &ResponseQuery) -> Vec<ResponseId> {
    let page = store.list_responses(query).await.unwrap();
    page.rows.iter().map(|row| row.response_id).collect()
}
