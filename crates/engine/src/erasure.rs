//! Erasures: carried out in small parts, by the call that requests one and, if that takes long, in
//! the background.
//!
//! The store records with the first part that an erasure has begun. So an erasure that was
//! interrupted, by a restart or because its call has ended, is found and continued by any node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sluice_flow::id::AuditId;
use sluice_store::{
    AnswersOnErasure, AuditRow, ErasedPart, Erasure, ErasureTarget, RespondentRow, Store,
    StoreResult,
};
use tokio::sync::{Mutex, Notify, watch};

use crate::audit_action::AuditAction;
use crate::background::{is_final, keep_running_after};
use crate::clock::Clock;
use crate::ids::Ids;

/// The number of identities, and of responses, consents and invitations together, in one
/// transaction. Submissions wait for it.
pub(crate) const ERASURE_PART_ROWS: usize = 10;
/// How long one call continues before it reports progress; the background does the rest.
pub(crate) const ERASURE_CALL_MAX: Duration = Duration::from_secs(10);
/// The pause after a part, as a multiple of the time that the part took, so that submissions get
/// most of the time.
const PAUSE_TIMES: u32 = 2;
/// The interval between two checks for interrupted erasures.
const INTERVAL: Duration = Duration::from_secs(30);
/// The number of erasures that one check continues.
const ERASURES_PER_RUN: usize = 100;
/// The actor in audit entries of the background task; the call that began already wrote its entry.
const ACTOR: &str = "erasure";

pub(crate) struct Erasures {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) lost: watch::Sender<bool>,
    /// Serialises parts: many erasures at once slow submissions down no more than one does.
    pub(crate) turn: Mutex<()>,
    /// Signals that a call has left work to do.
    pub(crate) left: Notify,
}

impl Erasures {
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            if let Err(error) = self.finish().await
                && !keep_running_after(&error, "an erasure was not finished", &self.lost)
            {
                return;
            }
            // There may be work after either outcome.
            let _waited = tokio::time::timeout(INTERVAL, self.left.notified()).await;
        }
    }

    /// Carries out one part, then pauses so that other work can use the store.
    pub(crate) async fn part(&self, erasure: &Erasure) -> StoreResult<ErasedPart> {
        let _turn = self.turn.lock().await;
        let begun = Instant::now();
        let removed = self.store.erase(erasure.clone()).await?;
        if !removed.done {
            tokio::time::sleep(begun.elapsed() * PAUSE_TIMES).await;
        }
        Ok(removed)
    }

    /// An erasure that fails does not prevent the others; the last failure is returned.
    pub(crate) async fn finish(&self) -> StoreResult<()> {
        let mut failed = Ok(());
        for row in self.store.list_erasing(ERASURES_PER_RUN).await? {
            let Some(answers) = row.erasing.as_ref().map(|it| it.answers) else { continue };
            let erasure = self.continued(&row, answers);
            loop {
                match self.part(&erasure).await {
                    Ok(ErasedPart { done: false, .. }) => {}
                    Ok(_) => break,
                    Err(error) if is_final(&error) => return Err(error),
                    Err(error) => {
                        failed = Err(error);
                        break;
                    }
                }
            }
        }
        failed
    }

    fn continued(&self, row: &RespondentRow, answers: AnswersOnErasure) -> Erasure {
        let audit = AuditRow {
            audit_id: AuditId::from_uuid(self.ids.next(self.clock.now())),
            app_id: Some(row.app_id),
            actor: ACTOR.to_owned(),
            action: AuditAction::RespondentErased.as_str().to_owned(),
            subject: row.respondent_id.to_string(),
            detail: detail(answers).to_string(),
        };
        let target = ErasureTarget::Respondent(row.respondent_id);
        Erasure { app_id: row.app_id, target, answers, audit, limit: ERASURE_PART_ROWS }
    }
}

/// What the audit log records of an erasure.
pub(crate) fn detail(answers: AnswersOnErasure) -> serde_json::Value {
    json!({"answers": answers.as_str()})
}
