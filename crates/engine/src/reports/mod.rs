//! Reports: results of a flow that anyone with the link can read, without signing in.
//!
//! A report is live: it stores what to show, never a number, so that an erased response is gone
//! from it too. The secret in the link has 128 random bits; only its hash is stored, and it is
//! shown once. Creating a report shares data outside the app, so it needs the scope `export`.
//! [`reading`] is the reader's side.

mod filters;
mod reading;

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::{FlowId, ReportId, base62};
use sluice_flow::time::Timestamp;
use sluice_store::{ReportRow, Scope, StoreError, Write};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit::actor_names;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::{faultless, name_faults};
use crate::handle::FlowHandle;
use crate::ids::random_bits;
use crate::people::{Refusal, Secret};
use crate::question_history::{self, QuestionHistory};
use crate::tokens::hash_of;

pub use filters::BYTES_MAX as FILTERS_BYTES_MAX;
pub use reading::{LockedReport, OpenReport};

/// The maximum number of reports of one flow. Beyond it, the oldest revoked one is removed.
pub const REPORTS_MAX: usize = 100;

/// Names and values of filters, as in the address of the results page.
pub type Filters = Vec<(String, String)>;

/// A report to create.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewReport {
    pub title: String,
    /// The ids of the questions to show.
    pub questions: Vec<String>,
    pub filters: Filters,
    /// Whether free texts are shown.
    pub shows_texts: bool,
    pub password: Option<String>,
    pub expires_at: Option<Timestamp>,
}

/// Changes to a report; absent ones stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportPatch {
    pub title: Option<String>,
    pub questions: Option<Vec<String>>,
    pub filters: Option<Filters>,
    pub shows_texts: Option<bool>,
    pub password: Option<Option<String>>,
    pub expires_at: Option<Option<Timestamp>>,
}

impl ReportPatch {
    /// The changed report. The password is not set yet.
    fn applied_to(&self, row: ReportRow) -> ReportRow {
        ReportRow {
            title: self.title.as_deref().map_or(row.title, |it| it.trim().to_owned()),
            questions: self.questions.clone().unwrap_or(row.questions),
            filters: self.filters.clone().unwrap_or(row.filters),
            shows_texts: self.shows_texts.unwrap_or(row.shows_texts),
            password: row.password.filter(|_| self.password.is_none()),
            expires_at: self.expires_at.unwrap_or(row.expires_at),
            ..row
        }
    }
}

/// Whether a report can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportState {
    Active,
    Expired,
    Revoked,
}

impl ReportState {
    pub const ALL: [Self; 3] = [Self::Active, Self::Expired, Self::Revoked];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }

    fn at(row: &ReportRow, now: Timestamp) -> Self {
        match (row.revoked_at, row.expires_at) {
            (Some(_), _) => Self::Revoked,
            (None, Some(end)) if end <= now => Self::Expired,
            (None, _) => Self::Active,
        }
    }
}

/// A report as administrators see it: without the secret of its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub report_id: ReportId,
    pub flow_id: FlowId,
    pub title: String,
    pub questions: Vec<String>,
    pub filters: Filters,
    pub shows_texts: bool,
    pub has_password: bool,
    /// The id of the user or token, or another name.
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub state: ReportState,
}

impl Report {
    fn new(row: ReportRow, now: Timestamp) -> Self {
        Self {
            state: ReportState::at(&row, now),
            report_id: row.report_id,
            flow_id: row.flow_id,
            title: row.title,
            questions: row.questions,
            filters: row.filters,
            shows_texts: row.shows_texts,
            has_password: row.password.is_some(),
            created_by: row.created_by,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        }
    }
}

impl FlowHandle {
    /// Creates a report; its link is returned only here.
    #[boxed]
    pub async fn create_report(&self, new: &NewReport) -> AdminResult<(Report, Secret)> {
        let core = self.permit.core(Scope::Export)?;
        let link = NewLink::random(core);
        let row = ReportRow {
            app_id: self.app_id(),
            flow_id: self.flow_id(),
            report_id: ReportId::from_uuid(core.new_id()),
            hash: link.hash,
            title: new.title.trim().to_owned(),
            questions: new.questions.clone(),
            filters: new.filters.clone(),
            shows_texts: new.shows_texts,
            password: None,
            created_by: self.permit.actor().name.clone(),
            created_at: core.now(),
            expires_at: new.expires_at,
            revoked_at: None,
        };
        let row = self.checked(row, new.password.as_deref()).await?;
        let row = &row;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let rows = core.store.list_reports(self.app_id(), self.flow_id()).await?;
            let mut writes = vec![Write::Report(row.clone())];
            if rows.len() >= REPORTS_MAX {
                let oldest = rows.iter().rev().find(|it| it.revoked_at.is_some());
                let oldest = oldest.ok_or_else(too_many)?;
                writes.push(Write::DeleteReport(self.app_id(), oldest.report_id));
            }
            let detail = json!({"title": row.title, "flowId": row.flow_id});
            let action = AuditAction::ReportCreated;
            writes.push(Write::Audit(self.permit.audit(action, row.report_id, &detail)));
            self.permit.change_quietly(Scope::Export, expected, writes).await
        })
        .await?;
        Ok((Report::new(row.clone(), core.now()), link.url))
    }

    /// The reports of the flow, newest first, revoked and expired ones included.
    #[boxed]
    pub async fn list_reports(&self) -> AdminResult<Vec<Report>> {
        let core = self.permit.core(Scope::Read)?;
        let (now, rows) =
            (core.now(), core.store.list_reports(self.app_id(), self.flow_id()).await?);
        Ok(rows.into_iter().map(|row| Report::new(row, now)).collect())
    }

    /// One report of the flow.
    #[boxed]
    pub async fn get_report(&self, id: ReportId) -> AdminResult<Report> {
        let core = self.permit.core(Scope::Read)?;
        Ok(Report::new(self.report_row(core, id).await?, core.now()))
    }

    /// The same, each with the name of its author.
    #[boxed]
    pub async fn list_reports_named(&self) -> AdminResult<Vec<(Report, String)>> {
        let core = self.permit.core(Scope::Read)?;
        let reports = self.list_reports().await?;
        let names = actor_names(core, reports.iter().map(|it| it.created_by.as_str())).await?;
        Ok(reports.into_iter().zip(names).collect())
    }

    /// Changes what a report shows or who can open it. Its link stays the same.
    #[boxed]
    pub async fn change_report(&self, id: ReportId, patch: &ReportPatch) -> AdminResult<Report> {
        let core = self.permit.core(Scope::Export)?;
        let changed = patch.applied_to(self.report_row(core, id).await?);
        // An expiry that has passed is refused only if it is new.
        let expires_at = patch.expires_at.flatten();
        let password = patch.password.as_ref().and_then(Option::as_deref);
        let checked = self.checked(ReportRow { expires_at, ..changed }, password).await?;
        let row = self.update_report(id, AuditAction::ReportUpdated, |row| {
            let row = patch.applied_to(row);
            let password = match patch.password {
                Some(_) => checked.password.clone(),
                None => row.password,
            };
            ReportRow { password, ..row }
        });
        Ok(Report::new(row.await?, core.now()))
    }

    /// Replaces the link of a report: the previous one ends. The new one is returned only here.
    #[boxed]
    pub async fn replace_report_link(&self, id: ReportId) -> AdminResult<(Report, Secret)> {
        let core = self.permit.core(Scope::Export)?;
        let link = NewLink::random(core);
        let replaced = |row| ReportRow { hash: link.hash, ..row };
        let row = self.update_report(id, AuditAction::ReportLinkReplaced, replaced).await?;
        Ok((Report::new(row, core.now()), link.url))
    }

    /// Ends a report at once; idempotent.
    #[boxed]
    pub async fn revoke_report(&self, id: ReportId) -> AdminResult<()> {
        let core = self.permit.core(Scope::Export)?;
        let revoked = |row| ReportRow { revoked_at: Some(core.now()), ..row };
        match self.update_report(id, AuditAction::ReportRevoked, revoked).await {
            Err(AdminError::Conflict { code: REPORT_REVOKED, .. }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Writes a new state of a report that is not revoked, with an entry in the audit log.
    async fn update_report(
        &self,
        id: ReportId,
        action: AuditAction,
        change: impl Fn(ReportRow) -> ReportRow + Sync,
    ) -> AdminResult<ReportRow> {
        let (core, change) = (self.permit.core(Scope::Export)?, &change);
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let row = self.report_row(core, id).await?;
            if row.revoked_at.is_some() {
                let detail = "this report is revoked; create another one";
                return Err(AdminError::conflict(REPORT_REVOKED, detail));
            }
            let row = change(row);
            let detail = json!({"title": row.title, "flowId": row.flow_id});
            let audit = self.permit.audit(action, id, &detail);
            let writes = vec![Write::Report(row.clone()), Write::Audit(audit)];
            self.permit.change_quietly(Scope::Export, expected, writes).await?;
            Ok(row)
        })
        .await
    }

    async fn report_row(&self, core: &Core, id: ReportId) -> AdminResult<ReportRow> {
        let rows = core.store.list_reports(self.app_id(), self.flow_id()).await?;
        let row = rows.into_iter().find(|row| row.report_id == id);
        row.ok_or(AdminError::NotFound(Missing::Report))
    }

    /// The report with the hash of its new password, or every fault.
    async fn checked(&self, row: ReportRow, password: Option<&str>) -> AdminResult<ReportRow> {
        let core = self.permit.core(Scope::Export)?;
        let (app, flow) = (self.app_id(), self.flow_id());
        let history = question_history::read(&*core.store, &core.definitions, app, flow).await?;
        let mut faults = row_faults(&row, &history, core.now());
        let Some(password) = password else {
            faultless(faults)?;
            return Ok(row);
        };
        let hash = match core.passwords.hash_shared(password, &row.title).await {
            Ok(hash) => Some(hash),
            Err(Refusal::Invalid(more)) => {
                faults.extend(more);
                None
            }
            Err(Refusal::Store(error)) => return Err(error.into()),
            Err(other) => return Err(StoreError::Failed(Box::new(other)).into()),
        };
        faultless(faults)?;
        Ok(ReportRow { password: hash, ..row })
    }
}

/// The error code for changes to a revoked report.
const REPORT_REVOKED: &str = "report_revoked";

fn too_many() -> AdminError {
    let detail = format!("a flow has at most {REPORTS_MAX} reports; revoke one first");
    AdminError::conflict("too_many_reports", detail)
}

/// A new secret for a link, and its hash.
struct NewLink {
    url: Secret,
    hash: [u8; 32],
}

impl NewLink {
    fn random(core: &Core) -> Self {
        let secret = base62(random_bits());
        let hash = hash_of(&secret);
        Self { url: Secret(format!("{}/r/{secret}", core.public_url)), hash }
    }
}

fn row_faults(row: &ReportRow, history: &QuestionHistory, now: Timestamp) -> Vec<Fault> {
    let mut faults: Vec<Fault> = name_faults("/title", &row.title).into_iter().collect();
    if row.questions.is_empty() {
        faults.push(Fault::new("/questions", "must name at least one question"));
    }
    for (at, id) in row.questions.iter().enumerate() {
        let message = if !history.questions.iter().any(|it| it.id == *id) {
            "is not a question that this flow has asked"
        } else if row.questions.iter().take(at).any(|it| it == id) {
            "occurs twice"
        } else {
            continue;
        };
        faults.push(Fault::new(format!("/questions/{at}"), message));
    }
    faults.extend(filters::faults(&row.filters, history));
    if row.expires_at.is_some_and(|end| end <= now) {
        faults.push(Fault::new("/expiresAt", "must be in the future"));
    }
    faults
}
