//! E-mails to users of the console: password links and notices.

use serde_json::json;
use sluice_engine::clock::Clock as _;
use sluice_engine::mail::{Delivered, NoticeFrequency, OutgoingMail, SendError};
use sluice_engine::people::NewUser;
use sluice_engine::rows::{Role, Scope};
use sluice_engine::verify::IdClaims;
use sluice_engine::{Accounts, Actor, AdminError, Refusal};
use sluice_store::MailStore as _;

use super::shop::{DAY_MILLIS, MINUTE_MILLIS, Shop, mail_id, options};
use crate::support::{UseCases as _, World, accepted, submission};

fn user(email: &str) -> NewUser {
    NewUser { email: email.into(), name: "Ann".into(), role: Role::Owner, app_id: None }
}

/// Whether a link can set a password. A refused password does not use it up.
async fn is_valid_link(accounts: Accounts<'_>, secret: &str) -> bool {
    match accounts.set_password_by_link(secret, "short", None).await {
        Err(Refusal::Invalid(_)) => true,
        Err(Refusal::LinkOver) => false,
        other => panic!("{other:?}"),
    }
}

/// The secret in the link of an e-mail.
fn secret_in(mail: &OutgoingMail) -> String {
    let (_, rest) = mail.text.split_once("https://console.example/console/welcome#").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_new_user_gets_a_link_that_sets_their_password() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    engine
        .instance(actor)
        .unwrap()
        .create_user_by_mail(user("ann@mail.example"), None)
        .await
        .unwrap();
    assert_eq!(shop.deliver().await.sent, 1);
    let mail = shop.inbox.take().remove(0);
    assert_eq!(
        (mail.to.as_str(), mail.subject.as_str()),
        ("ann@mail.example", "Set your password")
    );
    assert_eq!(mail.unsubscribe, None);
    assert!(!format!("{mail:?}").contains("ann@"), "not in a log");
    let secret = secret_in(&mail);
    let password = "a few words to remember";
    engine.accounts().set_password_by_link(&secret, password, None).await.unwrap();
    assert_eq!(shop.deliver().await, Delivered::default());
}

#[tokio::test]
async fn a_forgotten_password_is_reset_by_e_mail_and_others_learn_nothing() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let (made, link) = engine.create_user(actor, user("ann@mail.example")).await.unwrap();
    engine.accounts().set_password_by_link(&link.0, "a few words to remember", None).await.unwrap();
    engine.accounts().forgot_password("nobody@mail.example", Some("de"));
    engine.accounts().forgot_password(" ANN@mail.example", Some("de-AT"));
    let mut sent = 0;
    while sent == 0 {
        tokio::task::yield_now().await;
        sent = shop.deliver().await.sent;
    }
    let mails = shop.inbox.take();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].subject, "Passwort zurücksetzen");
    // The next e-mail has another link, and the one before no longer works.
    engine.instance(actor).unwrap().reset_user_by_mail(made.user_id, None).await.unwrap();
    assert_eq!(shop.deliver().await.sent, 1);
    let second = secret_in(&shop.inbox.take()[0]);
    assert!(!is_valid_link(engine.accounts(), &secret_in(&mails[0])).await);
    assert!(is_valid_link(engine.accounts(), &second).await);
}

/// The actor of a user.
pub(crate) async fn reader(shop: &Shop) -> Actor {
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let app_id = Some(shop.app.row.app_id);
    let new = NewUser { role: Role::Viewer, app_id, ..user("eve@mail.example") };
    let (made, _) = engine.create_user(actor, new).await.unwrap();
    let grants = vec![sluice_engine::Grant { app_id, scopes: vec![Scope::Read] }];
    Actor { name: made.user_id.to_string(), grants, is_fresh: true }
}

#[tokio::test]
async fn new_responses_are_bundled_into_one_notice() {
    let shop = Shop::open(60).await;
    let reader = reader(&shop).await;
    let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
    assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Off));
    let view = shop.world.view(&shop.app).await;
    accepted(shop.world.submit(&view, &submission(shop.version)).await);
    shop.pass(1_000);
    flow.set_notices(NoticeFrequency::Soon, None).await.unwrap();
    assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Soon));
    let mut body = submission(shop.version);
    body["answers"]["why"] = "<b>Because & so\nsecond line".into();
    body["respondentAnalyticsAdmission"] = "admitted".into();
    body["identities"] = json!([{"type": "userId", "value": "canary-person"}]);
    for _ in 0..2 {
        shop.pass(1_000);
        accepted(shop.world.submit(&view, &body).await);
    }
    assert_eq!(shop.deliver().await, Delivered::default());
    shop.pass(3 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    let mail = shop.inbox.take().remove(0);
    assert_eq!(
        (mail.to.as_str(), mail.subject.as_str()),
        ("eve@mail.example", "2 new responses: Feedback")
    );
    assert!(mail.text.contains("Why?\n> <b>Because & so\n> second line"), "{}", mail.text);
    assert!(mail.html.contains("&lt;b&gt;Because &amp; so"), "{}", mail.html);
    assert!(!mail.text.contains("canary-person") && !mail.text.contains("quick"));
    assert!(mail.text.contains(&format!("/console/flows/{}/responses/rs_", shop.flow)));
    shop.pass(3 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 0, "each response is in one notice");
    // One click in the e-mail ends it.
    let found = shop.world.engine.links().unsubscription(&mail_id(&mail)).await.unwrap().unwrap();
    assert!(found.is_notice());
    found.confirm().await.unwrap();
    assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Off));
}

#[tokio::test]
async fn a_digest_comes_once_a_day_and_not_to_people_without_access() {
    let shop = Shop::open(60).await;
    let reader = reader(&shop).await;
    let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
    flow.set_notices(NoticeFrequency::Daily, Some("fr-CA")).await.unwrap();
    let view = shop.world.view(&shop.app).await;
    shop.pass(1);
    accepted(shop.world.submit(&view, &submission(shop.version)).await);
    // It is 2:00.
    shop.pass(4 * 60 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
    shop.pass(60 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    let subject = shop.inbox.mails.lock().unwrap()[0].subject.clone();
    assert_eq!(subject, "Nouvelle réponse : Feedback", "in the language of their browser");
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default(), "nothing is new");
    accepted(shop.world.submit(&view, &submission(shop.version)).await);
    let user = reader.name.parse().unwrap();
    let app = Some(shop.app.row.app_id);
    shop.world.engine.set_role(&shop.world.actor, user, app, None).await.unwrap();
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 0);
    assert_eq!(shop.inbox.take().len(), 1);
}

#[tokio::test]
async fn a_test_e_mail_is_sent_at_once_and_says_what_is_wrong() {
    let shop = Shop::open(60).await;
    let instance = shop.world.engine.instance(&shop.world.actor).unwrap();
    instance.send_test_mail(" ann@mail.example ").await.unwrap().unwrap();
    assert_eq!(shop.inbox.recipients(), ["ann@mail.example"]);
    assert!(matches!(instance.send_test_mail("ann").await, Err(AdminError::Invalid(_))));
    shop.inbox.refuse([SendError::Unreachable("it refused to sign in (535)".into())]);
    let refused = instance.send_test_mail("ann@mail.example").await.unwrap().unwrap_err();
    assert!(refused.contains("535"), "{refused}");
    let without = World::new().await;
    let instance = without.engine.instance(&without.actor).unwrap();
    let refused = instance.send_test_mail("ann@mail.example").await.unwrap().unwrap_err();
    assert!(refused.contains("no mail server"), "{refused}");
}

/// A user with a password.
async fn ann(shop: &Shop) {
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let (_, link) = engine.create_user(actor, user("ann@mail.example")).await.unwrap();
    engine.accounts().set_password_by_link(&link.0, "a few words to remember", None).await.unwrap();
}

async fn forgot(world: &World) {
    world.engine.accounts().forgot_password("ann@mail.example", Some("en")).await.unwrap();
}

#[tokio::test]
async fn an_account_gets_one_password_link_in_ten_minutes_from_all_servers() {
    let shop = Shop::open(60).await;
    ann(&shop).await;
    let other = shop.world.another_with(options(&shop.inbox, 60)).await;
    tokio::join!(forgot(&shop.world), forgot(&other));
    assert_eq!(shop.deliver().await.sent, 1);
    for (millis, sent) in [(10 * MINUTE_MILLIS - 1, 0), (1, 1), (MINUTE_MILLIS, 0)] {
        shop.pass(millis);
        tokio::join!(forgot(&shop.world), forgot(&other));
        assert_eq!(shop.deliver().await.sent, sent, "{millis}");
    }
    // Each of them works: a second one does not end what is still on its way.
    let mails = shop.inbox.take();
    assert_eq!(mails.len(), 2);
    let accounts = shop.world.engine.accounts();
    for mail in &mails {
        assert!(is_valid_link(accounts, &secret_in(mail)).await);
    }
    let password = "other words to remember";
    accounts.set_password_by_link(&secret_in(&mails[0]), password, None).await.unwrap();
    for mail in &mails {
        assert!(!is_valid_link(accounts, &secret_in(mail)).await);
    }
}

#[tokio::test]
async fn a_newer_request_is_not_swallowed_by_an_e_mail_that_waits_for_a_retry() {
    let shop = Shop::open(60).await;
    ann(&shop).await;
    shop.inbox.refuse((0..4).map(|_| SendError::Delayed("451".into())));
    forgot(&shop.world).await;
    for minutes in [0, 1, 5, 15] {
        shop.pass(minutes * MINUTE_MILLIS);
        assert_eq!(shop.deliver().await.failed, 1);
    }
    // The next attempt is in an hour.
    shop.pass(MINUTE_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
    forgot(&shop.world).await;
    assert_eq!(shop.deliver().await.sent, 1);
    assert_eq!(shop.inbox.take().len(), 1, "one e-mail for both requests");
}

#[tokio::test]
async fn a_password_link_does_not_wait_behind_invitations() {
    let shop = Shop::open(20).await;
    ann(&shop).await;
    let names: Vec<String> = (0..60).map(|number| format!("p{number:02}")).collect();
    shop.invite(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // The minute is used up by invitations, except for what is left for password links.
    assert_eq!(shop.deliver().await.sent, 18);
    assert_eq!(shop.deliver().await.sent, 0);
    shop.pass(1);
    forgot(&shop.world).await;
    assert_eq!(shop.deliver().await.sent, 1);
    let last = shop.inbox.take().pop().unwrap();
    assert_eq!(last.subject, "Reset your password");
}

#[tokio::test]
async fn a_notice_that_is_refused_for_its_content_comes_without_answers() {
    for refusal in [SendError::Delayed("554 5.7.1".into()), SendError::Bounced("550".into())] {
        let shop = Shop::open(60).await;
        let reader = reader(&shop).await;
        let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
        flow.set_notices(NoticeFrequency::Soon, None).await.unwrap();
        let view = shop.world.view(&shop.app).await;
        shop.pass(1_000);
        accepted(shop.world.submit(&view, &submission(shop.version)).await);
        shop.pass(3 * MINUTE_MILLIS);
        shop.inbox.refuse([refusal]);
        assert_eq!(shop.deliver().await.failed, 1);
        shop.pass(MINUTE_MILLIS);
        assert_eq!(shop.deliver().await.sent, 1);
        let mail = shop.inbox.take().remove(0);
        assert_eq!(mail.subject, "New response: Feedback");
        assert!(!mail.text.contains("> ") && !mail.text.contains("more"), "{}", mail.text);
        assert!(mail.text.contains("Open all responses"), "{}", mail.text);
        assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Soon));
        // The next one quotes answers again.
        accepted(shop.world.submit(&view, &submission(shop.version)).await);
        shop.pass(3 * MINUTE_MILLIS);
        assert_eq!(shop.deliver().await.sent, 1);
        assert!(shop.inbox.take()[0].text.contains("> "));
    }
}

#[tokio::test]
async fn an_outage_of_days_ends_no_subscription_and_loses_no_response() {
    let shop = Shop::open(60).await;
    let reader = reader(&shop).await;
    let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
    flow.set_notices(NoticeFrequency::Soon, None).await.unwrap();
    let view = shop.world.view(&shop.app).await;
    shop.pass(1_000);
    accepted(shop.world.submit(&view, &submission(shop.version)).await);
    shop.pass(3 * MINUTE_MILLIS);
    for _ in 0..12 {
        shop.inbox.refuse([SendError::Unreachable("away".into())]);
        assert!(shop.deliver().await.is_unreachable);
        shop.pass(DAY_MILLIS);
    }
    assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Soon));
    assert_eq!(shop.deliver().await.sent, 1);
    assert_eq!(shop.inbox.take()[0].subject, "New response: Feedback");
    // An address that does not exist ends it.
    accepted(shop.world.submit(&view, &submission(shop.version)).await);
    shop.inbox.refuse((0..2).map(|_| SendError::Bounced("550 5.1.1".into())));
    for _ in 0..2 {
        shop.pass(3 * MINUTE_MILLIS);
        assert_eq!(shop.deliver().await.failed, 1);
    }
    assert_eq!(flow.notices().await.unwrap(), Some(NoticeFrequency::Off));
}

#[tokio::test]
async fn a_digest_counts_every_response_of_a_busy_day_and_does_not_fall_behind() {
    const RESPONSES: usize = 1_030;
    let shop = Shop::open(60).await;
    let reader = reader(&shop).await;
    let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
    flow.set_notices(NoticeFrequency::Daily, None).await.unwrap();
    let view = shop.world.view(&shop.app).await;
    for number in 0..RESPONSES {
        shop.pass(1);
        let mut body = submission(shop.version);
        body["answers"]["why"] = format!("answer {number}").into();
        accepted(shop.world.submit(&view, &body).await);
    }
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    let mail = shop.inbox.take().remove(0);
    assert_eq!(mail.subject, "1030 new responses: Feedback");
    assert!(mail.text.contains("> answer 1029") && mail.text.contains("> answer 1010"));
    assert!(!mail.text.contains("> answer 1009"), "the newest are quoted");
    assert!(mail.text.contains("… and 1010 more"));
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default(), "nothing is left for the next day");
}

#[tokio::test]
async fn a_waiting_password_e_mail_does_not_survive_the_setting_of_a_password() {
    for is_tried in [true, false] {
        let shop = Shop::open(60).await;
        ann(&shop).await;
        forgot(&shop.world).await;
        assert_eq!(shop.deliver().await.sent, 1);
        let secret = secret_in(&shop.inbox.take()[0]);
        shop.pass(10 * MINUTE_MILLIS);
        forgot(&shop.world).await;
        if is_tried {
            shop.inbox.refuse([SendError::Delayed("451".into())]);
            assert_eq!(shop.deliver().await.failed, 1);
        }
        let accounts = shop.world.engine.accounts();
        accounts.set_password_by_link(&secret, "other words to remember", None).await.unwrap();
        shop.pass(DAY_MILLIS);
        assert_eq!(shop.deliver().await, Delivered::default());
        assert!(shop.inbox.take().is_empty());
        // A new request is answered.
        forgot(&shop.world).await;
        assert_eq!(shop.deliver().await.sent, 1);
    }
}

#[tokio::test]
async fn a_waiting_password_e_mail_does_not_survive_the_first_sign_in_with_a_provider() {
    let shop = Shop::open(60).await;
    ann(&shop).await;
    forgot(&shop.world).await;
    let claims = IdClaims {
        issuer: "https://id.example".into(),
        subject: "42".into(),
        verified_email: Some("ann@mail.example".into()),
        authenticated_at: None,
    };
    shop.world.engine.accounts().sign_in_with_subject(&claims, None).await.unwrap();
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
    assert!(shop.inbox.take().is_empty());
}

#[tokio::test]
async fn only_the_chosen_language_of_a_browser_is_stored() {
    let shop = Shop::open(60).await;
    ann(&shop).await;
    let header = "<script>de-AT-x-canary";
    shop.world.engine.accounts().forgot_password("ann@mail.example", Some(header)).await.unwrap();
    let reader = reader(&shop).await;
    let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
    flow.set_notices(NoticeFrequency::Soon, Some("fr-CA-x-canary")).await.unwrap();
    shop.pass(DAY_MILLIS);
    let now = shop.world.clock.now();
    let rows = shop.world.faults.list_waiting_mails(now, now, None, 100).await.unwrap();
    let details: Vec<_> = rows.into_iter().filter_map(|row| row.detail).collect();
    assert_eq!(details.len(), 2);
    assert!(details.iter().all(|it| !it.contains("canary")), "{details:?}");
    for language in ["\"language\":\"en\"", "\"language\":\"fr\""] {
        assert!(details.iter().any(|it| it.contains(language)), "{details:?}");
    }
}
