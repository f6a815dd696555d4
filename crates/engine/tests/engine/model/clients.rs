//! Clients: carry out their operations one after the other, and note what they see.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use sluice_engine::idempotency::IdempotencyKey;
use sluice_engine::recount::{self, RecountScope};
use sluice_engine::rows::{AnswersOnErasure, ResponseRow, Scope};
use sluice_engine::{
    Actor, AdminError, AdminResult, AppPatch, Engine, Missing, Receipt, Results, StoreError,
    SubmitError, SummaryFilter,
};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};

use super::history::{Action, Did, Outcome, Seen, Sent};
use super::nodes::{Node, Running};
use super::operations::{Operation, Pick, Step};
use super::recorder::Recorder;
use super::settings::{observe, set};
use crate::support::UseCases as _;

/// What clients know of each other.
pub(super) struct Board {
    pub(super) apps: Vec<(AppId, String)>,
    pub(super) flows: Vec<FlowId>,
    /// By flow.
    pub(super) versions: Vec<Mutex<Versions>>,
    /// Submissions with a key, by client.
    pub(super) sent: Vec<Mutex<Vec<Sent>>>,
    /// By client.
    pub(super) accepted: Vec<Mutex<Vec<ResponseId>>>,
}

#[derive(Default)]
pub(super) struct Versions {
    /// Oldest first.
    pub(super) published: Vec<FlowVersionId>,
    pub(super) draft: Option<FlowVersionId>,
}

impl Board {
    pub(super) fn version(&self, flow: usize, pick: Pick) -> Option<FlowVersionId> {
        let versions = self.versions[flow].lock().unwrap();
        let published = &versions.published;
        match pick {
            Pick::Newest => published.last().copied(),
            Pick::Before(count) => published.iter().rev().nth(usize::from(count)).copied(),
            Pick::Draft => versions.draft,
            Pick::Any(which) => published.get(usize::from(which) % published.len()).copied(),
        }
    }

    pub(super) fn app_of(&self, flow: usize) -> usize {
        flow % self.apps.len()
    }
}

pub(super) struct Client {
    pub(super) number: usize,
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) board: Arc<Board>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) actor: Actor,
    /// How many submissions it has made, over all segments.
    pub(super) made: Arc<AtomicU32>,
}

impl Client {
    pub(super) async fn run(self, steps: Vec<Step>) {
        for Step { operation, node } in steps {
            let node = &self.nodes[(node % self.nodes.len() as u64) as usize];
            self.recorder.count(operation.kind());
            self.carry_out(operation, node).await;
        }
    }

    async fn carry_out(&self, operation: Operation, node: &Arc<Node>) {
        let running = node.running().await;
        match operation {
            Operation::Submit { flow, pick, keyed, person, invalid } => {
                let Some(version) = self.board.version(flow, pick) else { return };
                let sent = self.fresh(flow, version, keyed, person, invalid);
                self.submit(&running, sent, false).await;
            }
            Operation::Abandon { flow } => {
                let Some(version) = self.board.version(flow, Pick::Newest) else { return };
                let sent = self.fresh(flow, version, true, None, false);
                self.submit(&running, sent, true).await;
            }
            Operation::Retry { whose, which, other_content } => {
                let Some(mut sent) = chosen(&self.board.sent[whose], which) else { return };
                if other_content {
                    sent.content.push('x');
                }
                self.submit(&running, sent, false).await;
            }
            Operation::Set { flow, setting } => set(self, node, &running, flow, setting).await,
            Operation::Recount { flow } => self.recount(node, &running, flow).await,
            Operation::Retain { app, days } => self.retain(node, &running, app, days).await,
            Operation::Expire => self.expire(&running).await,
            Operation::Erase { app, person, delete } => {
                self.erase(&running, app, person, delete).await;
            }
            Operation::Delete { whose, which } => {
                let Some(id) = chosen(&self.board.accepted[whose], which) else { return };
                self.delete(&running, id).await;
            }
            Operation::Read { whose, which } => {
                let Some(id) = chosen(&self.board.accepted[whose], which) else { return };
                self.read(&running, id).await;
            }
            Operation::Count { flow } => self.count(&running, flow).await,
            Operation::Compact => {
                // These may fail; nothing may depend on them.
                let _compacted = running.engine.upkeep().compact_counts().await;
                let _built = running.engine.upkeep().build_skip_index().await;
            }
            Operation::Tick { millis } => self.recorder.clock.advance(millis),
            Operation::Crash => node.crash().await,
        }
    }

    fn fresh(
        &self,
        flow: usize,
        version: FlowVersionId,
        keyed: bool,
        person: Option<u8>,
        invalid: bool,
    ) -> Sent {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let content = format!("c{}-{made}", self.number);
        let key = keyed.then(|| format!("k{}-{made}", self.number));
        let sent =
            Sent { app: self.board.app_of(flow), flow, version, key, content, person, invalid };
        if keyed && !invalid {
            self.board.sent[self.number].lock().unwrap().push(sent.clone());
        }
        sent
    }

    async fn submit(&self, running: &Running, sent: Sent, abandons: bool) {
        let invoked = self.recorder.moment();
        let call = submit(&running.engine, &self.board.apps[sent.app].1, &sent);
        let outcome = if abandons {
            let _polled = call.now_or_never();
            Outcome::Abandoned
        } else {
            call.await
        };
        if let Outcome::Accepted { id, .. } = outcome {
            self.board.accepted[self.number].lock().unwrap().push(id);
        }
        let action = Action::Submit(sent);
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }

    async fn recount(&self, node: &Node, running: &Running, flow: usize) {
        let invoked = self.recorder.moment();
        let scope = RecountScope::Flow(self.board.flows[flow]);
        let counted = recount::recount(&*running.store, scope, |_| {}).await;
        let did = if counted.is_ok() { Did::Done } else { Did::Unknown };
        let (after, counter, _) = observe(self, node, flow).await;
        let outcome = Outcome::Changed { did, after, counter };
        let action = Action::Recount { flow };
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }

    async fn retain(&self, node: &Node, running: &Running, app: usize, days: Option<u32>) {
        let invoked = self.recorder.moment();
        let patch = AppPatch { retention_days: Some(days), ..AppPatch::default() };
        let id = self.board.apps[app].0;
        let did = did(&running.engine.update_app(&self.actor, id, &patch).await);
        let after = loop {
            let running = node.running().await;
            match running.engine.get_app(&self.actor, id).await {
                Ok(found) => break found.row.retention_days,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let outcome = Outcome::Retained { did, after };
        let action = Action::Retain { app, days };
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }

    async fn expire(&self, running: &Running) {
        let invoked = self.recorder.moment();
        let left = || running.tampering.left.load(Ordering::SeqCst);
        let before = left();
        let expired = running.engine.upkeep().enforce_retention().await;
        let complete = expired.is_ok_and(|it| it.failed == 0) && left() == before;
        let outcome = Outcome::Expired { complete };
        self.recorder.note(self.number, running.number, invoked, Action::Expire, outcome);
    }

    async fn erase(&self, running: &Running, app: usize, person: u8, delete: bool) {
        let invoked = self.recorder.moment();
        let known = ProfileIdentity::new(IdentityType::UserId, &name_of(person));
        let answers = if delete { AnswersOnErasure::Delete } else { AnswersOnErasure::Keep };
        let id = self.board.apps[app].0;
        let outcome = match running.engine.erase_known(&self.actor, id, known, answers).await {
            Ok(erased) => Outcome::Erased { done: erased.remaining.is_none() },
            Err(AdminError::NotFound(_)) => Outcome::NoRespondent,
            Err(_) => Outcome::Erased { done: false },
        };
        let action = Action::Erase { app, person, delete };
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }

    async fn delete(&self, running: &Running, id: ResponseId) {
        let invoked = self.recorder.moment();
        let outcome =
            Outcome::Deleted(match running.engine.delete_response(&self.actor, id).await {
                Ok(()) => Did::Done,
                Err(AdminError::NotFound(Missing::Response)) => Did::Refused,
                Err(_) => Did::Unknown,
            });
        let action = Action::Delete { id };
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }

    async fn read(&self, running: &Running, id: ResponseId) {
        let invoked = self.recorder.moment();
        let outcome = match running.engine.get_response(&self.actor, id).await {
            Ok(row) => Outcome::Present(seen(&self.board, &row)),
            Err(AdminError::NotFound(_)) => Outcome::Absent,
            Err(_) => Outcome::Unknown,
        };
        let action = Action::Read { id };
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }

    async fn count(&self, running: &Running, flow: usize) {
        let invoked = self.recorder.moment();
        let counted = responses(&running.engine, &self.actor, self.board.flows[flow]).await;
        let outcome = match counted {
            Ok((counted, true)) => Outcome::Counted(counted),
            Ok((counted, false)) => Outcome::CountedSoFar(counted),
            Err(_) => Outcome::Unknown,
        };
        let action = Action::Count { flow };
        self.recorder.note(self.number, running.number, invoked, action, outcome);
    }
}

/// How many responses the results of a flow show, and whether that is all: after a move, responses
/// are counted again in the background, and the results say so.
pub(super) async fn responses(
    engine: &Engine,
    actor: &Actor,
    flow: FlowId,
) -> AdminResult<(u64, bool)> {
    let flow = engine.flow(actor, Scope::Read, flow).await?;
    match flow.summary(&SummaryFilter::default()).await? {
        Results::Ready(summary) => Ok((summary.responses, summary.counting.is_none())),
        Results::Computing(_) => panic!("results without a filter are not computed"),
    }
}

/// What a change did, by its result. After an error of the store it is not known.
pub(super) fn did<T>(result: &AdminResult<T>) -> Did {
    match result {
        Ok(_) => Did::Done,
        Err(AdminError::Store(StoreError::Conflict)) => Did::Refused,
        Err(AdminError::Store(_)) => Did::Unknown,
        Err(_) => Did::Refused,
    }
}

fn chosen<T: Clone>(of: &Mutex<Vec<T>>, which: u32) -> Option<T> {
    let of = of.lock().unwrap();
    // Half of the time one of the last: others may just be about it.
    let recent = of.len().min(20);
    let at = match which % 2 {
        0 => (which / 2) as usize % of.len().max(1),
        _ => of.len() - recent + (which / 2) as usize % recent.max(1),
    };
    of.get(at).cloned()
}

fn name_of(person: u8) -> String {
    format!("person-{person}")
}

/// An answer that follows from the content, so that it can be compared.
fn answer_of(content: &str) -> u64 {
    content.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))) % 11
}

async fn submit(engine: &Engine, api_key: &str, sent: &Sent) -> Outcome {
    let Ok(app) = engine.app_by_key(api_key).await else { return Outcome::NotStored };
    let app = app.unwrap();
    let nps = if sent.invalid { 11 } else { answer_of(&sent.content) };
    let mut body = json!({
        "flowVersionId": sent.version,
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": {"nps": nps.to_string(), "why": sent.content},
    });
    if let Some(person) = sent.person {
        body["respondentAnalyticsAdmission"] = json!("admitted");
        body["identities"] = json!([{"type": "userId", "value": name_of(person)}]);
    }
    let key = sent.key.as_ref().map(|key| IdempotencyKey::parse(key.as_bytes()).unwrap());
    match engine.submit_as(&app, Some(body.to_string().as_bytes()), key.as_ref(), None).await {
        Ok(Receipt::Accepted(it)) => {
            Outcome::Accepted { id: it.response_id, replayed: it.replayed }
        }
        Ok(Receipt::Refused(issues)) => Outcome::Refused(issues[0].code.as_str().to_owned()),
        // The only text that promises nothing.
        Err(SubmitError::Unavailable(why)) if why.reason.contains("cannot say") => Outcome::Unknown,
        Err(SubmitError::Unavailable(_)) => Outcome::NotStored,
        Err(other) => panic!("{other:?}"),
    }
}

/// A stored response as the checker compares it.
pub(super) fn seen(board: &Board, row: &ResponseRow) -> Seen {
    let answers: Value = serde_json::from_str(&row.answers).unwrap_or_default();
    let content = answers["why"].as_str().unwrap_or_default().to_owned();
    let flow = board.flows.iter().position(|it| *it == row.flow_id).unwrap();
    let is_as_sent = answers["nps"].as_str() == Some(&answer_of(&content).to_string())
        && answers.as_object().is_some_and(|it| it.len() == 2)
        && row.app_id == board.apps[board.app_of(flow)].0;
    Seen {
        id: row.response_id,
        flow,
        version: row.flow_version_id,
        linked: row.respondent_id.is_some() || row.identities.is_some(),
        intact: is_as_sent && row.check_intact().is_ok(),
        content,
    }
}
