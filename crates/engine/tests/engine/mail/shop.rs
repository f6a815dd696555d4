//! An app with a published flow, and a mail server that the test controls.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sluice_engine::mail::{Delivered, MailOptions, MailStatus, OutgoingMail, SendError, Transport};
use sluice_engine::rows::Scope;
use sluice_engine::verify::MasterKey;
use sluice_engine::{AppDetail, Duplicates, NewInvitation, Options};
use sluice_flow::id::{AssignmentId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::invitation::Invitee;
use sluice_flow::invitation_email::InvitationEmail;
use tokio::sync::Semaphore;

use crate::support::{World, accepted, submission};

pub(crate) const MINUTE_MILLIS: i64 = 60_000;
pub(crate) const DAY_MILLIS: i64 = 24 * 60 * MINUTE_MILLIS;

/// A mail server that keeps what it accepts, and gives the configured answers.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) mails: Mutex<Vec<OutgoingMail>>,
    pub(crate) refusals: Mutex<VecDeque<SendError>>,
    /// Never answers.
    pub(crate) hangs: bool,
    /// Never answers for recipients that start with this, unless it is empty.
    pub(crate) hangs_for: &'static str,
    /// Answers one e-mail for each permit of `go_on`.
    pub(crate) is_slow: bool,
    pub(crate) begun: Semaphore,
    pub(crate) go_on: Semaphore,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            mails: Mutex::default(),
            refusals: Mutex::default(),
            hangs: false,
            hangs_for: "",
            is_slow: false,
            begun: Semaphore::new(0),
            go_on: Semaphore::new(0),
        }
    }
}

impl Inbox {
    pub(crate) fn slow() -> Self {
        Self { is_slow: true, ..Self::default() }
    }

    /// Waits until a slow server was handed this many more e-mails.
    pub(crate) async fn begun(&self, count: u32) {
        self.begun.acquire_many(count).await.unwrap().forget();
    }

    pub(crate) fn refuse(&self, errors: impl IntoIterator<Item = SendError>) {
        self.refusals.lock().unwrap().extend(errors);
    }

    pub(crate) fn take(&self) -> Vec<OutgoingMail> {
        std::mem::take(&mut self.mails.lock().unwrap())
    }

    pub(crate) fn recipients(&self) -> Vec<String> {
        let mut all: Vec<_> = self.take().into_iter().map(|mail| mail.to).collect();
        all.sort();
        all
    }
}

impl Transport for Inbox {
    fn send(
        &self,
        mail: OutgoingMail,
    ) -> Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + '_>> {
        Box::pin(async move {
            let is_stuck = !self.hangs_for.is_empty() && mail.to.starts_with(self.hangs_for);
            if self.hangs || is_stuck {
                std::future::pending::<()>().await;
            }
            if self.is_slow {
                self.begun.add_permits(1);
                self.go_on.acquire().await.unwrap().forget();
            }
            match self.refusals.lock().unwrap().pop_front() {
                Some(error) => Err(error),
                None => {
                    self.mails.lock().unwrap().push(mail);
                    Ok(())
                }
            }
        })
    }
}

pub(crate) fn options(inbox: &Arc<Inbox>, per_minute: u32) -> Options {
    let transport = Arc::clone(inbox) as Arc<dyn Transport>;
    let mail = Some(MailOptions { transport, per_minute, interval: None });
    let master_keys = MasterKey::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").into_iter();
    Options {
        mail,
        // Respondents get links to the first, users of the console to the second.
        public_url: Some("https://s.example".into()),
        admin_url: Some("https://console.example".into()),
        master_keys: Some(Arc::new(master_keys.collect::<Vec<_>>())),
        ..Options::default()
    }
}

pub(crate) struct Shop {
    pub(crate) world: World,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) app: AppDetail,
    pub(crate) flow: FlowId,
    pub(crate) version: FlowVersionId,
}

impl Shop {
    pub(crate) async fn open(per_minute: u32) -> Self {
        let inbox = Arc::new(Inbox::default());
        let world = World::with(options(&inbox, per_minute)).await;
        let app = world.app().await;
        let flow = world.flow(&app).await.flow.flow_id;
        let version = world.publish(flow).await.flow_version_id;
        Self { world, inbox, app, flow, version }
    }

    pub(crate) async fn invite(&self, people: &[&str]) -> Vec<AssignmentId> {
        let new: Vec<_> = people.iter().map(|name| invited(name)).collect();
        let flow =
            self.world.engine.flow(&self.world.actor, Scope::Write, self.flow).await.unwrap();
        let made = flow.invite_by_mail(&new, Duplicates::Refuse, false).await.unwrap();
        made.into_iter().map(|it| it.row.assignment_id).collect()
    }

    pub(crate) async fn set_email(&self, email: InvitationEmail) {
        let flow =
            self.world.engine.flow(&self.world.actor, Scope::Write, self.flow).await.unwrap();
        flow.set_invitation_email(&email).await.unwrap();
    }

    pub(crate) async fn status(&self, id: AssignmentId) -> Option<MailStatus> {
        let opened = self.world.engine.invitation(&self.world.actor, Scope::Read, id).await;
        opened.unwrap().shown_with_mail().await.unwrap().mail
    }

    pub(crate) async fn answer(&self, id: AssignmentId) -> ResponseId {
        let mut body = submission(self.version);
        body["flowAssignmentId"] = json!(id);
        let view = self.world.view(&self.app).await;
        accepted(self.world.submit(&view, &body).await).response_id
    }

    pub(crate) async fn deliver(&self) -> Delivered {
        self.world.engine.upkeep().deliver_mails().await.unwrap()
    }

    pub(crate) fn pass(&self, millis: i64) {
        self.world.clock.advance_millis(millis);
    }
}

pub(crate) fn address(name: &str) -> String {
    format!("{name}@mail.example")
}

pub(crate) fn invited(name: &str) -> NewInvitation {
    let invitee = Invitee { user_id: None, email: Some(address(name)) };
    NewInvitation { invitee, expires_at: None, line: None }
}

/// The id of an e-mail, from its link to unsubscribe.
pub(crate) fn mail_id(mail: &OutgoingMail) -> String {
    mail.unsubscribe.as_ref().unwrap().rsplit('/').next().unwrap().to_owned()
}
