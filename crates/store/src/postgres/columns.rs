//! Many responses as columns: one array each, so that any number of rows is one statement.

use sluice_flow::id::AppId;
use sluice_flow::submission::Admission;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::{IdempotencyKey, ResponseRow};

/// The columns beside `app_id`, in the order of [`Columns::params`].
pub(super) const NAMES: &str = "flow_id, flow_version_id, response_id, admitted, answers, \
     identities, identity_verified, respondent_id, tags, context, flow_assignment_id, digest, \
     idempotency_key";

/// The rows as a table named `given`; `$1` is the app.
pub(super) const GIVEN: &str = "unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::boolean[], \
     $6::text[], $7::text[], $8::boolean[], $9::uuid[], $10::text[], $11::text[], $12::text[], \
     $13::bytea[], $14::bytea[]) AS given (flow_id, flow_version_id, response_id, admitted, answers, \
     identities, identity_verified, respondent_id, tags, context, flow_assignment_id, digest, \
     idempotency_key)";

/// The rows of one app.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    app: Uuid,
    flow_id: Vec<Uuid>,
    flow_version_id: Vec<Uuid>,
    response_id: Vec<Uuid>,
    admitted: Vec<bool>,
    answers: Vec<&'a str>,
    identities: Vec<Option<&'a str>>,
    identity_verified: Vec<bool>,
    respondent_id: Vec<Option<Uuid>>,
    tags: Vec<Option<&'a str>>,
    context: Vec<Option<&'a str>>,
    flow_assignment_id: Vec<Option<&'a str>>,
    digest: Vec<&'a [u8]>,
    idempotency_key: Vec<Option<&'a [u8]>>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(app: AppId, rows: &[(&'a ResponseRow, Option<&'a IdempotencyKey>)]) -> Self {
        macro_rules! column {
            ($row:ident => $value:expr) => {
                rows.iter().map(|($row, _)| $value).collect()
            };
        }
        Self {
            app: app.uuid(),
            flow_id: column!(row => row.flow_id.uuid()),
            flow_version_id: column!(row => row.flow_version_id.uuid()),
            response_id: column!(row => row.response_id.uuid()),
            admitted: column!(row => row.admission == Admission::Admitted),
            answers: column!(row => row.answers.as_str()),
            identities: column!(row => row.identities.as_deref()),
            identity_verified: column!(row => row.identity_verified),
            respondent_id: column!(row => row.respondent_id.map(|id| id.uuid())),
            tags: column!(row => row.tags.as_deref()),
            context: column!(row => row.context.as_deref()),
            flow_assignment_id: column!(row => row.flow_assignment_id.as_deref()),
            digest: column!(row => row.digest.as_slice()),
            idempotency_key: rows.iter().map(|(_, key)| key.map(|key| key.as_slice())).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.response_id.len()
    }

    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 14] {
        [
            &self.app,
            &self.flow_id,
            &self.flow_version_id,
            &self.response_id,
            &self.admitted,
            &self.answers,
            &self.identities,
            &self.identity_verified,
            &self.respondent_id,
            &self.tags,
            &self.context,
            &self.flow_assignment_id,
            &self.digest,
            &self.idempotency_key,
        ]
    }
}
