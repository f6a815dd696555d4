//! A copy sends neither e-mails nor webhooks until its operator decides what happens to what waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluice_engine::clock::Clock as _;
use sluice_engine::mail::{Delivered, NoticeFrequency, SendError};
use sluice_engine::outbound::{self, OutboundHold, OutboundState, ResumeChoice};
use sluice_engine::people::NewUser;
use sluice_engine::rows::{DeliveryState, MailEnd, Role, Scope};
use sluice_engine::webhooks::{SendFuture, WebhookReply, WebhookRequest, WebhookSender};
use sluice_engine::{Actor, AdminError, Engine, Grant, NewEndpoint, Options, Store};
use sluice_flow::id::EndpointId;

use super::shop::{DAY_MILLIS, MINUTE_MILLIS, Shop, address, options};
use crate::support::{UseCases as _, World, accepted, submission};

/// A receiver that counts requests, and refuses the first one.
#[derive(Debug, Default)]
struct Receiver(Mutex<usize>);

impl WebhookSender for Receiver {
    fn permits(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn send(&self, _: WebhookRequest) -> SendFuture<'_> {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        let status = if *count == 1 { 500 } else { 204 };
        Box::pin(async move { Ok(WebhookReply { status, retry_after: None, body: vec![] }) })
    }
}

/// A server on a copy: an invitation, a notice and a delivery were due when it was made.
struct Copied {
    shop: Shop,
    receiver: Arc<Receiver>,
    copy: World,
    endpoint: EndpointId,
    reader: Actor,
    invitation: sluice_flow::id::AssignmentId,
}

impl Copied {
    async fn open(is_marked: bool, hold_outbound: bool) -> Self {
        let shop = Shop::open(60).await;
        let receiver = Arc::new(Receiver::default());
        let sender = Arc::clone(&receiver) as Arc<dyn WebhookSender>;
        let options = Options { webhook_sender: Some(sender), ..options(&shop.inbox, 60) };
        let original = shop.world.another_with(options.clone()).await;
        let reader = reader(&shop).await;
        let flow = original.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
        flow.set_notices(NoticeFrequency::Soon, None).await.unwrap();
        // What happened so far is over when the endpoint is created.
        shop.pass(1_000);
        let new = NewEndpoint { url: "https://one.example/hook".into(), ..NewEndpoint::default() };
        let app = original.engine.app(&original.actor, Scope::Admin, shop.app.row.app_id).await;
        let endpoint = app.unwrap().create_endpoint(&new).await.unwrap().0.endpoint_id;
        shop.pass(1_000);
        let view = original.view(&shop.app).await;
        accepted(original.submit(&view, &submission(shop.version)).await);
        until(&original.engine, &shop, || *receiver.0.lock().unwrap() > 0).await;
        original.engine.close().await;
        let invitation = shop.invite(&["ada"]).await[0];
        // What is there so far was made before the copy.
        shop.pass(1);
        if is_marked {
            let state = hold(&shop).await;
            assert_eq!((state.deliveries, state.apps_with_endpoints), (1, 1));
        }
        shop.pass(DAY_MILLIS);
        let copy = shop.world.another_with(Options { hold_outbound, ..options }).await;
        Self { shop, receiver, copy, endpoint, reader, invitation }
    }

    async fn work(&self) -> Delivered {
        for _ in 0..3 {
            self.shop.pass(1_000);
            self.copy.engine.upkeep().deliver_webhooks().await.unwrap();
        }
        self.copy.engine.upkeep().deliver_mails().await.unwrap()
    }

    fn requests(&self) -> usize {
        *self.receiver.0.lock().unwrap()
    }

    async fn resume(&self, waiting: ResumeChoice) -> (u64, u64) {
        let instance = self.copy.engine.instance(&self.copy.actor).unwrap();
        let resumed = instance.resume_outbound(waiting).await.unwrap();
        // Once it is resumed, nothing is dropped any more.
        assert_eq!(instance.resume_outbound(ResumeChoice::Drop).await.unwrap(), (0, 0));
        resumed
    }
}

/// Marks the store as a copy that was made now.
async fn hold(shop: &Shop) -> OutboundState {
    let store = Arc::clone(&shop.world.faults) as Arc<dyn Store>;
    outbound::hold(&store, shop.world.clock.now()).await.unwrap()
}

/// The actor of a user who may read the app.
async fn reader(shop: &Shop) -> Actor {
    let app_id = Some(shop.app.row.app_id);
    let new = NewUser { email: address("eve"), name: "Eve".into(), role: Role::Viewer, app_id };
    let (made, _) = shop.world.engine.create_user(&shop.world.actor, new).await.unwrap();
    let grants = vec![Grant { app_id, scopes: vec![Scope::Read] }];
    Actor { name: made.user_id.to_string(), grants, is_fresh: true }
}

/// Delivers webhooks until something holds.
async fn until(engine: &Engine, shop: &Shop, holds: impl Fn() -> bool) {
    let delivering = async {
        while !holds() {
            shop.pass(500);
            engine.upkeep().deliver_webhooks().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), delivering).await.unwrap();
}

#[tokio::test]
async fn a_copy_sends_nothing_and_says_so() {
    for (is_marked, hold_outbound) in [(true, false), (false, true)] {
        let it = Copied::open(is_marked, hold_outbound).await;
        assert_eq!(it.work().await, Delivered::default());
        assert_eq!((it.requests(), it.shop.inbox.take().len()), (1, 0));
        let (engine, actor) = (&it.copy.engine, &it.copy.actor);
        let instance = engine.instance(actor).unwrap();
        let refused = instance.send_test_mail("ann@mail.example").await.unwrap().unwrap_err();
        assert!(refused.contains("held"), "{refused}");
        let app = engine.app(actor, Scope::Admin, it.shop.app.row.app_id).await.unwrap();
        let refused = app.send_test_event(it.endpoint).await;
        assert!(matches!(refused, Err(AdminError::Conflict { code: "outbound_held", .. })));
        let state = instance.outbound().await.unwrap();
        assert_eq!((state.held_at.is_some(), state.is_held_here), (is_marked, hold_outbound));
        assert_eq!((state.mails, state.deliveries), (2, 1));
        let why = instance.outbound_hold().await.unwrap();
        let expected = state.held_at.map_or(OutboundHold::Here, OutboundHold::Since);
        assert_eq!(why, Some(expected));
    }
}

#[tokio::test]
async fn what_waits_in_a_copy_is_sent_if_the_operator_says_so() {
    let it = Copied::open(true, false).await;
    assert_eq!(it.resume(ResumeChoice::Send).await, (0, 0));
    until(&it.copy.engine, &it.shop, || it.requests() > 1).await;
    assert_eq!((it.requests(), it.work().await.sent), (2, 2));
    assert_eq!(it.shop.inbox.recipients(), [address("ada"), address("eve")]);
}

#[tokio::test]
async fn what_waits_in_a_copy_is_dropped_if_the_operator_says_so() {
    let it = Copied::open(true, false).await;
    it.work().await;
    assert_eq!(it.resume(ResumeChoice::Drop).await, (2, 1));
    assert_eq!(it.work().await, Delivered::default());
    assert_eq!((it.requests(), it.shop.inbox.take().len()), (1, 0));
    let status = it.shop.status(it.invitation).await.unwrap();
    assert_eq!(status.ended, Some(MailEnd::Stopped));
    let app = it.copy.engine.app(&it.copy.actor, Scope::Admin, it.shop.app.row.app_id).await;
    let log = app.unwrap().list_deliveries(it.endpoint, None, None, 10).await.unwrap();
    assert_eq!((log.len(), log[0].state), (1, DeliveryState::Failed));
    assert!(log[0].error.as_ref().unwrap().contains("dropped"));
    // What happens from now on is sent: the subscription and the endpoint continue.
    let view = it.copy.view(&it.shop.app).await;
    accepted(it.copy.submit(&view, &submission(it.shop.version)).await);
    until(&it.copy.engine, &it.shop, || it.requests() > 1).await;
    assert_eq!(it.requests(), 2);
    it.shop.pass(3 * MINUTE_MILLIS);
    it.shop.inbox.refuse([SendError::Delayed("451".into())]);
    assert_eq!(it.work().await.failed, 1);
    it.shop.pass(MINUTE_MILLIS);
    assert_eq!(it.work().await.sent, 1);
    assert_eq!(it.shop.inbox.take()[0].subject, "New response: Feedback");
    let flow = it.copy.engine.flow(&it.reader, Scope::Read, it.shop.flow).await.unwrap();
    assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Soon));
}

#[tokio::test]
async fn what_is_made_while_held_is_sent_although_what_waits_is_dropped() {
    let it = Copied::open(true, false).await;
    it.work().await;
    // An invitation, a response with its webhook and notice, and a password link.
    let invited = it.shop.invite(&["bob"]).await[0];
    let view = it.copy.view(&it.shop.app).await;
    accepted(it.copy.submit(&view, &submission(it.shop.version)).await);
    it.copy.engine.accounts().forgot_password(&address("eve"), None).await.unwrap();
    it.shop.pass(3 * MINUTE_MILLIS);
    assert_eq!(it.work().await, Delivered::default());
    assert_eq!(it.resume(ResumeChoice::Drop).await, (2, 1), "only what is older than the hold");
    until(&it.copy.engine, &it.shop, || it.requests() > 1).await;
    assert_eq!(it.requests(), 2, "the response that was submitted while held");
    it.shop.pass(3 * MINUTE_MILLIS);
    it.work().await;
    let mut mails = it.shop.inbox.take();
    mails.sort_by(|one, other| (&one.to, &one.subject).cmp(&(&other.to, &other.subject)));
    let sent: Vec<_> = mails.iter().map(|it| (it.to.as_str(), it.subject.as_str())).collect();
    let expected = [
        ("bob@mail.example", "Invitation: Feedback"),
        ("eve@mail.example", "New response: Feedback"),
        ("eve@mail.example", "Set your password"),
    ];
    assert_eq!(sent, expected);
    assert_eq!(it.shop.status(invited).await.unwrap().sent, 1);
    let dropped = it.shop.status(it.invitation).await.unwrap();
    assert_eq!((dropped.sent, dropped.ended), (0, Some(MailEnd::Stopped)));
}

#[tokio::test]
async fn an_e_mail_that_waits_for_another_attempt_is_dropped_too() {
    let shop = Shop::open(60).await;
    let invited = shop.invite(&["ada"]).await[0];
    shop.inbox.refuse((0..4).map(|_| SendError::Delayed("451".into())));
    for minutes in [0, 1, 5, 15] {
        shop.pass(minutes * MINUTE_MILLIS);
        assert_eq!(shop.deliver().await.failed, 1);
    }
    // The next attempt is in an hour.
    shop.pass(1);
    hold(&shop).await;
    let copy = shop.world.another_with(options(&shop.inbox, 60)).await;
    let instance = copy.engine.instance(&copy.actor).unwrap();
    assert_eq!(instance.resume_outbound(ResumeChoice::Drop).await.unwrap(), (1, 0));
    shop.pass(DAY_MILLIS);
    assert_eq!(copy.engine.upkeep().deliver_mails().await.unwrap(), Delivered::default());
    assert_eq!(shop.status(invited).await.unwrap().ended, Some(MailEnd::Stopped));
    assert!(shop.inbox.take().is_empty());
}

#[tokio::test]
async fn a_redelivery_that_was_asked_for_while_held_is_sent() {
    let it = Copied::open(true, false).await;
    let app = it.shop.app.row.app_id;
    let app = it.copy.engine.app(&it.copy.actor, Scope::Admin, app).await.unwrap();
    let waiting = app.list_deliveries(it.endpoint, None, None, 10).await.unwrap()[0].delivery_id;
    app.redeliver(it.endpoint, waiting).await.unwrap();
    assert_eq!(it.resume(ResumeChoice::Drop).await, (2, 0));
    until(&it.copy.engine, &it.shop, || it.requests() > 1).await;
    assert_eq!(it.requests(), 2);
}
