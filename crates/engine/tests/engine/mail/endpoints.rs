//! The e-mail when a webhook endpoint was disabled: to those who can enable it again, once.

use std::sync::Arc;

use sluice_engine::clock::Clock as _;
use sluice_engine::mail::SendError;
use sluice_engine::people::NewUser;
use sluice_engine::rows::{Role, Scope};
use sluice_engine::verify::MasterKey;
use sluice_engine::webhooks::{SendFuture, WebhookReply, WebhookRequest, WebhookSender};
use sluice_engine::{EndpointPatch, EndpointState, NewEndpoint, Options};
use sluice_flow::id::{AppId, EndpointId};
use sluice_store::MailStore as _;

use super::shop::{Inbox, options};
use crate::support::{UseCases as _, World, accepted, submission};

/// A receiver that wants nothing.
#[derive(Debug)]
struct Gone;

impl WebhookSender for Gone {
    fn permits(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn send(&self, _: WebhookRequest) -> SendFuture<'_> {
        Box::pin(async { Ok(WebhookReply { status: 410, retry_after: None, body: Vec::new() }) })
    }
}

async fn user(world: &World, name: &str, role: Role, app_id: Option<AppId>) {
    let email = format!("{name}@mail.example");
    let new = NewUser { email, name: name.into(), role, app_id };
    world.engine.create_user(&world.actor, new).await.unwrap();
}

/// An app with an endpoint that is disabled because its receiver is gone.
async fn disabled(options: Options) -> (World, AppId, EndpointId) {
    let webhooks = Options {
        master_keys: Some(Arc::new(vec![MasterKey::random()])),
        webhook_sender: Some(Arc::new(Gone)),
        ..options
    };
    let world = World::with(webhooks).await;
    let (app, other) = (world.app().await, world.app().await);
    let (id, other) = (app.row.app_id, other.row.app_id);
    user(&world, "owner", Role::Owner, Some(id)).await;
    user(&world, "all", Role::Owner, None).await;
    user(&world, "editor", Role::Editor, Some(id)).await;
    user(&world, "elsewhere", Role::Owner, Some(other)).await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    world.clock.advance_millis(1_000);
    let handle = world.engine.app(&world.actor, Scope::Admin, id).await.unwrap();
    let url = "https://hooks.example/secret-path".to_owned();
    let new = NewEndpoint { url, ..NewEndpoint::default() };
    let endpoint = handle.create_endpoint(&new).await.unwrap().0.endpoint_id;
    let view = world.view(&app).await;
    accepted(world.submit(&view, &submission(version)).await);
    let is_disabled = async || {
        let handle = world.engine.app(&world.actor, Scope::Admin, id).await.unwrap();
        handle.endpoint(endpoint).await.unwrap().state == EndpointState::Disabled
    };
    while !is_disabled().await {
        world.clock.advance_millis(500);
        world.engine.upkeep().deliver_webhooks().await.unwrap();
    }
    (world, id, endpoint)
}

#[tokio::test]
async fn a_disabled_endpoint_is_reported_to_those_who_can_enable_it() {
    let inbox = Arc::new(Inbox::default());
    let (world, app, endpoint) = disabled(options(&inbox, 60)).await;
    assert_eq!(world.engine.upkeep().deliver_mails().await.unwrap().sent, 2);
    let mut mails = inbox.take();
    mails.sort_by(|one, other| one.to.cmp(&other.to));
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["all@mail.example", "owner@mail.example"]);
    assert_eq!(mails[0].subject, "Webhook endpoint disabled: Shop");
    let link = format!("https://console.example/console/apps/{app}/settings/webhooks/{endpoint}");
    for text in [&mails[0].text, &mails[0].html] {
        assert!(text.contains("hooks.example") && text.contains(&link), "{text}");
        assert!(!text.contains("secret-path"), "a path may be a secret");
    }
    assert_eq!(world.engine.upkeep().deliver_mails().await.unwrap().sent, 0, "once");
}

#[tokio::test]
async fn a_sent_e_mail_about_an_endpoint_is_not_kept() {
    let inbox = Arc::new(Inbox::default());
    let (world, app, _) = disabled(options(&inbox, 60)).await;
    let waiting = async || {
        let now = world.clock.now().plus_seconds(1);
        world.faults.list_waiting_mails(now, now, None, 100).await.unwrap()
    };
    let before = waiting().await;
    assert_eq!(before.len(), 2);
    assert!(before.iter().all(|row| row.app_id == Some(app)));
    inbox.refuse([SendError::Bounced("550 5.1.1".into())]);
    let done = world.engine.upkeep().deliver_mails().await.unwrap();
    assert_eq!((done.sent, done.failed), (1, 1));
    for row in before {
        assert_eq!(world.faults.find_mail(row.mail_id).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_disabled_endpoint_is_reported_in_the_language_of_the_user() {
    let inbox = Arc::new(Inbox::default());
    let (world, ..) = disabled(options(&inbox, 60)).await;
    world.engine.accounts().forgot_password("owner@mail.example", Some("de-AT")).await.unwrap();
    assert_eq!(world.engine.upkeep().deliver_mails().await.unwrap().sent, 3);
    let mut mails = inbox.take();
    mails.sort_by(|one, other| (&one.to, &one.subject).cmp(&(&other.to, &other.subject)));
    let subjects: Vec<&str> = mails.iter().map(|mail| mail.subject.as_str()).collect();
    let expected = [
        "Webhook endpoint disabled: Shop",
        "Legen Sie Ihr Passwort fest",
        "Webhook-Endpunkt deaktiviert: Shop",
    ];
    assert_eq!(subjects, expected);
    assert!(mails[2].text.contains("Der Webhook-Endpunkt auf hooks.example wurde deaktiviert."));
}

#[tokio::test]
async fn nothing_is_sent_about_an_endpoint_that_was_enabled_again() {
    let inbox = Arc::new(Inbox::default());
    let (world, app, endpoint) = disabled(options(&inbox, 60)).await;
    let handle = world.engine.app(&world.actor, Scope::Admin, app).await.unwrap();
    let enable = EndpointPatch { enabled: Some(true), ..EndpointPatch::default() };
    handle.change_endpoint(endpoint, &enable).await.unwrap();
    assert_eq!(world.engine.upkeep().deliver_mails().await.unwrap().sent, 0);
    assert!(inbox.take().is_empty());
}

/// Enabled and disabled again before anything was sent: only the last time is reported.
#[tokio::test]
async fn an_endpoint_that_was_disabled_twice_is_reported_once() {
    let inbox = Arc::new(Inbox::default());
    let (world, app, endpoint) = disabled(options(&inbox, 60)).await;
    let handle = async || world.engine.app(&world.actor, Scope::Admin, app).await.unwrap();
    let enabled = |enabled| EndpointPatch { enabled: Some(enabled), ..EndpointPatch::default() };
    handle().await.change_endpoint(endpoint, &enabled(true)).await.unwrap();
    world.clock.advance_millis(1_000);
    let since = sluice_flow::time::Timestamp::from_millis(0);
    handle().await.redeliver_failed(endpoint, since).await.unwrap();
    while handle().await.endpoint(endpoint).await.unwrap().state != EndpointState::Disabled {
        world.clock.advance_millis(500);
        world.engine.upkeep().deliver_webhooks().await.unwrap();
    }
    assert_eq!(
        world.engine.upkeep().deliver_mails().await.unwrap().sent,
        2,
        "one for each of two people"
    );
    let mut to: Vec<String> = inbox.take().into_iter().map(|mail| mail.to).collect();
    to.sort_unstable();
    assert_eq!(to, ["all@mail.example", "owner@mail.example"]);
}

/// A person disabled it: the reason of the e-mail would be wrong.
#[tokio::test]
async fn nothing_is_sent_about_an_endpoint_that_a_person_disabled_in_the_meantime() {
    let inbox = Arc::new(Inbox::default());
    let (world, app, endpoint) = disabled(options(&inbox, 60)).await;
    let handle = async || world.engine.app(&world.actor, Scope::Admin, app).await.unwrap();
    for is_enabled in [true, false] {
        world.clock.advance_millis(1_000);
        let enabled = Some(is_enabled);
        let patch = EndpointPatch { enabled, ..EndpointPatch::default() };
        handle().await.change_endpoint(endpoint, &patch).await.unwrap();
    }
    assert_eq!(world.engine.upkeep().deliver_mails().await.unwrap().sent, 0);
    assert!(inbox.take().is_empty());
}

#[tokio::test]
async fn without_a_mail_server_an_endpoint_is_disabled_all_the_same() {
    let (world, app, endpoint) = disabled(Options::default()).await;
    let handle = world.engine.app(&world.actor, Scope::Admin, app).await.unwrap();
    let found = handle.endpoint(endpoint).await.unwrap();
    assert_eq!(found.disabled_reason.as_deref(), Some("gone"));
}
