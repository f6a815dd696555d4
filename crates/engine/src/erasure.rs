//! Erasures: carried out in small parts, by the call that asks for one and, if that takes long, in
//! the background.
//!
//! The store notes with the first part that an erasure has begun. So one that was cut short, by a
//! restart or because its call has ended, is found again and continued, by whichever node finds it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sluice_flow::id::AuditId;
use sluice_store::{
    Answers, AuditRow, Erasure, Person, Removed, RespondentRow, Store, StoreResult,
};
use tokio::sync::{Mutex, Notify, watch};

use crate::audit_action::AuditAction;
use crate::clock::Clock;
use crate::ids::Ids;
use crate::upkeep::{goes_on_after, is_the_end};

/// Identities, and responses, consents and invitations together, that one transaction takes:
/// submissions wait for it.
pub(crate) const ERASURE_PART_ROWS: usize = 20;
/// How long one call continues before it reports how far it is; the rest is done in the background.
pub(crate) const ERASURE_CALL_MAX: Duration = Duration::from_secs(10);
/// The pause after a part, as a multiple of the time that the part took: most of the time is for
/// submissions.
const PAUSE_TIMES: u32 = 2;
/// Between two looks for erasures that were cut short.
const INTERVAL: Duration = Duration::from_secs(30);
/// Erasures that one look continues.
const ERASURES_A_LOOK: usize = 100;
/// The actor of an audit entry of the background; the entry of the call that began is there
/// already.
const ACTOR: &str = "erasure";

pub(crate) struct Erasures {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) lost: watch::Sender<bool>,
    /// One part at a time: many erasures at once slow submissions down no more than one does.
    pub(crate) turn: Mutex<()>,
    /// A call has left something to do.
    pub(crate) left: Notify,
}

impl Erasures {
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            if let Err(error) = self.finish().await
                && !goes_on_after(&error, "an erasure was not finished", &self.lost)
            {
                return;
            }
            // Either way there may be something to do.
            let _waited = tokio::time::timeout(INTERVAL, self.left.notified()).await;
        }
    }

    /// Carries out one part, and then leaves the store to others.
    pub(crate) async fn part(&self, erasure: &Erasure) -> StoreResult<Removed> {
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
        for row in self.store.list_erasing(ERASURES_A_LOOK).await? {
            let Some(answers) = row.erasing.as_ref().map(|it| it.answers) else { continue };
            let erasure = self.continued(&row, answers);
            loop {
                match self.part(&erasure).await {
                    Ok(Removed { done: false, .. }) => {}
                    Ok(_) => break,
                    Err(error) if is_the_end(&error) => return Err(error),
                    Err(error) => {
                        failed = Err(error);
                        break;
                    }
                }
            }
        }
        failed
    }

    fn continued(&self, row: &RespondentRow, answers: Answers) -> Erasure {
        let audit = AuditRow {
            audit_id: AuditId::from_uuid(self.ids.next(self.clock.now())),
            app_id: Some(row.app_id),
            actor: ACTOR.to_owned(),
            action: AuditAction::RespondentErased.as_str().to_owned(),
            subject: row.respondent_id.to_string(),
            detail: detail(answers).to_string(),
        };
        let person = Person::Respondent(row.respondent_id);
        Erasure { app_id: row.app_id, person, answers, audit, limit: ERASURE_PART_ROWS }
    }
}

/// What the audit log records of an erasure.
pub(crate) fn detail(answers: Answers) -> serde_json::Value {
    let what = match answers {
        Answers::Keep => "keep",
        Answers::Delete => "delete",
    };
    json!({"answers": what})
}
