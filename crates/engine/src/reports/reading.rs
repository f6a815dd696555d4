//! Opening a report with the secret of its link.
//!
//! Unknown, expired and revoked look the same. A report with a password is locked until a reader
//! presents the password, or the pass that the password was exchanged for. The pass is signed with
//! the stored hash of the password, so that every node accepts it, and a new password or a new link
//! ends it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use sluice_flow::id::ReportId;
use sluice_flow::time::{HOUR_MILLIS, Timestamp};
use sluice_store::{ReportRow, Scope};

use super::{Filters, ReportState};
use crate::actor::{Actor, Grant};
use crate::admin::AdminResult;
use crate::boxed;
use crate::core::Core;
use crate::handle::FlowHandle;
use crate::people::{Refusal, Secret};
use crate::tokens::hash_of;

/// How long a pass is valid, in milliseconds: until then the password is not needed again.
const PASS_MILLIS: i64 = 4 * HOUR_MILLIS;

/// A report that can be opened, perhaps with a password.
pub struct LockedReport {
    core: Arc<Core>,
    row: ReportRow,
}

impl std::fmt::Debug for LockedReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LockedReport").field(&self.row.report_id).finish()
    }
}

/// An opened report: what to show, and a handle that reads the results.
#[derive(Debug)]
pub struct OpenReport {
    pub title: String,
    /// The ids of the questions to show; no other may be shown.
    pub questions: Vec<String>,
    pub filters: Filters,
    pub shows_texts: bool,
    pub flow: FlowHandle,
}

impl Core {
    /// The report of a link, if it can be opened now.
    pub(crate) async fn report(
        self: &Arc<Self>,
        secret: &str,
    ) -> AdminResult<Option<LockedReport>> {
        // Looked up by hash: the timing of comparisons can only reveal the hash.
        let found = self.store.find_report(&hash_of(secret)).await?;
        let active = found.filter(|row| ReportState::at(row, self.now()) == ReportState::Active);
        Ok(active.map(|row| LockedReport { core: Arc::clone(self), row }))
    }
}

impl LockedReport {
    pub fn id(&self) -> ReportId {
        self.row.report_id
    }

    pub fn needs_password(&self) -> bool {
        self.row.password.is_some()
    }

    /// Opens the report, if it has no password or the pass is valid; `None` if it stays locked.
    #[boxed]
    pub async fn open(&self, pass: Option<&str>) -> AdminResult<Option<OpenReport>> {
        if self.needs_password() && !pass.is_some_and(|pass| self.accepts(pass)) {
            return Ok(None);
        }
        let row = self.row.clone();
        let grant = Grant { app_id: Some(row.app_id), scopes: vec![Scope::Read] };
        let (name, grants) = (row.report_id.to_string(), vec![grant]);
        let reader = Actor { name, grants, is_fresh: false };
        let flow = FlowHandle::open(&self.core, &reader, Scope::Read, row.flow_id).await?;
        let ReportRow { title, questions, filters, shows_texts, .. } = row;
        Ok(Some(OpenReport { title, questions, filters, shows_texts, flow }))
    }

    /// Exchanges the password for a pass, and its lifetime in seconds.
    #[boxed]
    pub async fn unlock(&self, password: &str) -> Result<(Secret, i64), Refusal> {
        let is_right = self.core.passwords.verify(password, self.row.password.clone()).await?;
        let key = self.key().filter(|_| is_right).ok_or(Refusal::Wrong(None))?;
        let until = self.core.now().as_millis() + PASS_MILLIS;
        let tag = hmac::sign(&key, &self.message(until));
        let pass = format!("{until}.{}", URL_SAFE_NO_PAD.encode(tag));
        Ok((Secret(pass), PASS_MILLIS / 1000))
    }

    fn accepts(&self, pass: &str) -> bool {
        let Some((until, tag)) = pass.split_once('.') else { return false };
        let (Ok(until), Ok(tag)) = (until.parse::<i64>(), URL_SAFE_NO_PAD.decode(tag)) else {
            return false;
        };
        let is_signed =
            self.key().is_some_and(|key| hmac::verify(&key, &self.message(until), &tag).is_ok());
        is_signed && self.core.now() < Timestamp::from_millis(until)
    }

    /// The stored hash of the password has 256 bits that no one outside knows.
    fn key(&self) -> Option<hmac::Key> {
        let password = self.row.password.as_ref()?;
        Some(hmac::Key::new(hmac::HMAC_SHA256, password.as_bytes()))
    }

    fn message(&self, until: i64) -> Vec<u8> {
        [b"report pass", self.row.hash.as_slice(), &until.to_be_bytes()].concat()
    }
}
