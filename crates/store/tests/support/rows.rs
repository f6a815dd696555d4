//! The rows used by backend tests: one app, and responses that differ by number.

use sluice_flow::counts::Contribution;
use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::conformance::rows::empty_response;
use sluice_store::{AppLimits, AppRow, FlowRow, IdentityVerification, NewResponse, ResponseRow};

pub(crate) fn app_row() -> AppRow {
    AppRow {
        app_id: AppId::from_uuid(v7(Timestamp::from_millis(1), 0, 1)),
        name: "Shop".to_owned(),
        identity_verification: IdentityVerification::Off,
        allowed_origins: Vec::new(),
        grace_window_seconds: None,
        retention_days: None,
        token_lifetime_seconds: None,
        hosted: None,
        limits: AppLimits::default(),
        created_at: Timestamp::from_millis(1),
    }
}

pub(crate) fn flow_row() -> FlowRow {
    let app_id = app_row().app_id;
    FlowRow {
        app_id,
        flow_id: FlowId::from_uuid(app_id.uuid()),
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
        created_at: Timestamp::from_millis(1),
        archived_at: None,
    }
}

pub(crate) fn response(millis: i64, number: u32, public_revision: u64) -> NewResponse {
    let app = app_row().app_id;
    let (flow, version) = (FlowId::from_uuid(app.uuid()), FlowVersionId::from_uuid(app.uuid()));
    let id = ResponseId::from_uuid(v7(Timestamp::from_millis(millis), number, 0));
    let row = ResponseRow { digest: [1; 16], ..empty_response(app, flow, version, id) };
    let contribution =
        Contribution::from_stored(None, &row.answers, row.tags.as_deref(), row.admission);
    NewResponse {
        row,
        idempotency_key: Some(key(number)),
        public_revision,
        claim: None,
        invitation: None,
        limits: Vec::new(),
        contribution,
    }
}

pub(crate) fn key(number: u32) -> [u8; 16] {
    let mut key = [7; 16];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key
}

pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
