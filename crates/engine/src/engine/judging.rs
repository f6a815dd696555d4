//! What clients can learn about a submission before they send it.

use std::sync::Arc;

use sluice_flow::identity::Bearer;
use sluice_flow::payload::Generation;
use sluice_store::StoreResult;

use super::Engine;
use crate::boxed;
use crate::encoded_body::EncodedBody;
use crate::intake::SubmitError;
use crate::registry::AppView;
use crate::validation::Validation;

impl Engine {
    /// Judges one submission as [`Engine::submit_as`] does, and stores nothing.
    #[boxed]
    pub async fn validate(
        &self,
        app: &AppView,
        input: Option<&[u8]>,
        bearer: Option<&Bearer>,
    ) -> Result<Validation, SubmitError> {
        self.core.validate(app, input, bearer).await
    }

    /// The JSON Schema of a submission to a published version of this app that is not retired.
    #[boxed]
    pub async fn submission_schema(
        &self,
        app: &AppView,
        flow_version_id: &str,
        generation: Generation,
    ) -> StoreResult<Option<Arc<EncodedBody>>> {
        self.core.registry.submission_schema(app.app_id, flow_version_id, generation).await
    }
}
