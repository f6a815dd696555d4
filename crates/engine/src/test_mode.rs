//! Test mode: an author answers a flow at its test link, before or after it is published.
//!
//! The link carries a token that the server has sealed for this flow, with its end inside and the
//! number of times that the links of the flow were revoked. Only that number is stored, with the
//! flow, so that every node refuses a revoked link at once. It leads to what the editor shows: the
//! draft, or the published version if there is no draft. Its answers are judged as any others and
//! stored as test responses, in a separate table. So they are in no count, list, export, limit or
//! result, and the intake does not know of them. Deliberately absent: identities, invitations, live
//! windows and limits.

use std::fmt;
use std::sync::Arc;

use serde_json::json;
use sluice_flow::definition::Definition;
use sluice_flow::id::{FlowId, FormKey, ResponseId};
use sluice_flow::judge::{canonicalise, judge};
use sluice_flow::snapshot::VersionMeta;
use sluice_flow::submission::Submission;
use sluice_flow::time::{DAY_SECONDS, Timestamp};
use sluice_store::{
    At, FlowRow, FlowState, Page, Scope, StoreResult, TestCursor, TestResponseRow, TestWrite,
    VersionRow, Write,
};

use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::definitions::shown_definition;
use crate::handle::{FlowHandle, must_be_in_use};
use crate::hosted::HostedFlow;
use crate::intake::{Accepted, Receipt, SubmitError};
use crate::unavailable::Unavailable;
use crate::verify::SecretPurpose;

/// How long a test link works, in days.
pub const TEST_LINK_DAYS: i64 = 7;
/// The maximum number of test responses of a flow; the oldest are deleted first.
pub const TESTS_MAX: u32 = 1_000;
/// How long test responses are kept, in days; less if the app keeps responses for less.
pub const TEST_DAYS: u32 = 30;

/// The token of a test link, and when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestLink {
    pub token: String,
    pub expires_at: Timestamp,
}

impl FlowHandle {
    /// A new test link, for actors who may change the flow; earlier ones work until they end or are
    /// revoked. It stores nothing, so a handle for reading is enough.
    pub fn test_link(&self) -> AdminResult<TestLink> {
        let core = self.permit.core(Scope::Read)?;
        if !self.may(Scope::Write) {
            return Err(AdminError::Forbidden { scope: Scope::Write });
        }
        must_be_in_use(&self.flow)?;
        let expires_at = core.now().plus_seconds(TEST_LINK_DAYS * DAY_SECONDS);
        let purpose = SecretPurpose::TestLink(self.flow_id());
        let sealed = SealedLink { expires_at, revocations: self.flow.test_links };
        let token = core.verifying.vault.seal(purpose, &sealed.to_string());
        let token = token.map_err(|why| AdminError::conflict("master_key_missing", why))?;
        Ok(TestLink { token, expires_at })
    }

    /// Revokes all test links of the flow; new ones can be created.
    #[boxed]
    pub async fn revoke_test_links(&self) -> AdminResult<()> {
        self.change(Scope::Write, |_, state| {
            let test_links = state.flow.test_links.saturating_add(1);
            let row = FlowRow { test_links, ..state.flow.clone() };
            let action = AuditAction::TestLinksRevoked;
            let audit = self.permit.audit(action, row.flow_id, &json!({}));
            Ok((vec![Write::Flow(row), Write::Audit(audit)].into(), ()))
        })
        .await
    }

    /// A page of the test responses, newest first.
    #[boxed]
    pub async fn test_responses(
        &self,
        page: Page<TestCursor>,
    ) -> AdminResult<Vec<TestResponseRow>> {
        let core = self.permit.core(Scope::Read)?;
        let (app, flow) = (self.app_id(), self.flow_id());
        Ok(core.store.list_test_responses(app, flow, page.after, page.limit).await?)
    }

    /// Deletes all test responses of the flow.
    #[boxed]
    pub async fn delete_test_responses(&self) -> AdminResult<()> {
        self.permit.core(Scope::Write)?;
        retry_on_conflict(|_| async move {
            let expected = self.permit.current_revision().await?;
            let action = AuditAction::TestResponsesDeleted;
            let audit = self.permit.audit(action, self.flow_id(), &json!({}));
            let removal = TestWrite::RemoveAll(self.app_id(), self.flow_id());
            let rows = vec![Write::Test(removal), Write::Audit(audit)];
            self.permit.change_quietly(Scope::Write, expected, rows).await
        })
        .await
    }
}

/// What the token of a test link holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SealedLink {
    expires_at: Timestamp,
    /// How often the links of the flow had been revoked.
    revocations: u32,
}

impl SealedLink {
    fn read(text: &str) -> Option<Self> {
        let (end, revocations) = text.split_once(' ')?;
        let expires_at = Timestamp::from_millis(end.parse().ok()?);
        Some(Self { expires_at, revocations: revocations.parse().ok()? })
    }
}

impl fmt::Display for SealedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.expires_at.as_millis(), self.revocations)
    }
}

/// A flow that was opened by its test link.
#[derive(Debug, Clone)]
pub struct TestedFlow {
    pub flow: HostedFlow,
    /// The number of the version; 0 for a draft.
    number: u32,
}

impl Core {
    /// The flow of a test link, unless the link has ended or was revoked, or the flow is archived.
    pub(crate) async fn tested_flow(
        self: &Arc<Self>,
        flow_id: &str,
        token: &str,
    ) -> StoreResult<Option<TestedFlow>> {
        let Ok(flow_id) = flow_id.parse::<FlowId>() else { return Ok(None) };
        let opened = self.verifying.vault.open(SecretPurpose::TestLink(flow_id), token);
        let link = opened.ok().and_then(|text| SealedLink::read(&text));
        let Some(link) = link.filter(|link| link.expires_at > self.now()) else {
            return Ok(None);
        };
        let is_open = |state: &FlowState| {
            state.flow.archived_at.is_none() && state.flow.test_links == link.revocations
        };
        let state = self.store.find_flow(flow_id).await?;
        let Some(state) = state.filter(is_open) else { return Ok(None) };
        let Some((row, definition)) = tested(&state) else { return Ok(None) };
        let meta = VersionMeta {
            flow_version_id: row.flow_version_id,
            flow_id,
            kind: state.flow.kind,
            number: if row.number == 0 { state.last_number + 1 } else { row.number },
            published_at: self.now(),
        };
        let number = row.number;
        let flow = self.previewed(state.flow.app_id, meta, definition).await?;
        let Some(mut flow) = flow else { return Ok(None) };
        flow.branding = self.registry.branding_of(&state.flow).await?;
        Ok(Some(TestedFlow { flow, number }))
    }
}

/// What is tested: the draft, unless it is equal to the published version. Parts with faults are
/// left out, as in the preview.
fn tested(state: &FlowState) -> Option<(&VersionRow, Definition)> {
    let shown = |row| shown_definition(row).map(|definition| (row, definition));
    let (draft, current) =
        (state.draft.as_ref().and_then(shown), state.current.as_ref().and_then(shown));
    match (draft, current) {
        (Some(draft), Some(current)) if draft.1 != current.1 => Some(draft),
        (draft, current) => current.or(draft),
    }
}

impl TestedFlow {
    /// Judges the answers of a form by the rules of every submission, and stores them as a test
    /// response. The same form is stored once, with the answers that were sent last.
    pub async fn submit(
        &self,
        parts: Submission<'_>,
        form_key: FormKey,
    ) -> Result<Receipt, SubmitError> {
        let core = &self.flow.core;
        let mut submission = match parts.checked() {
            Ok(submission) => submission,
            Err(issues) => return Ok(Receipt::Refused(issues)),
        };
        submission.withhold(None);
        let Some(snapshot) = self.flow.current.snapshot() else {
            return Err(Unavailable::STORE_DOWN.into());
        };
        canonicalise(snapshot.definition(), &mut submission.answers);
        let issues = judge(snapshot, &submission.answers);
        if !issues.is_empty() {
            return Ok(Receipt::Refused(issues));
        }
        // Below the reserve, the rest of the disk is for administration.
        if core.store.disk_space().is_some_and(|it| it.free_bytes < it.reserve_bytes) {
            return Err(Unavailable::DISK_RESERVE.into());
        }
        let score = snapshot.definition().score(&submission.answers);
        let row = TestResponseRow {
            app_id: self.flow.app().app_id,
            flow_id: self.flow.flow_id,
            form_key,
            number: self.number,
            received_at: core.now(),
            answers: submission.answers_json(),
            tags: submission.tags_json(),
            score: score.map(|score| score.to_string()),
        };
        let rows = vec![Write::Test(TestWrite::Add { row, keep: TESTS_MAX })];
        core.apply(At::Instance, rows).await?;
        let response_id = ResponseId::from_uuid(form_key.uuid());
        Ok(Receipt::Accepted(Accepted { response_id, grace: None, replayed: false, score }))
    }
}
