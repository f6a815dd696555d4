//! A large mailing delays nobody else.

use std::sync::Arc;
use std::time::Duration;

use sluice_engine::mail::{MailOptions, NoticeFrequency};
use sluice_engine::rows::Scope;
use sluice_engine::{Duplicates, Options};

use super::shop::{Inbox, MINUTE_MILLIS, Shop, address, invited, options};
use super::users::reader;
use crate::support::{accepted, submission};

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number:03}")).collect()
}

async fn invite(shop: &Shop, names: &[String]) {
    shop.invite(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

/// Options of a server that looks by itself what is due, after this time and when it starts.
fn sending(inbox: &Arc<Inbox>, interval: Duration) -> Options {
    let options = options(inbox, 1_000);
    let mail = options.mail.map(|mail| MailOptions { interval: Some(interval), ..mail });
    Options { mail, ..options }
}

/// Waits until the mail server has this many e-mails.
async fn until_sent(inbox: &Inbox, count: usize) {
    let enough = async {
        while inbox.mails.lock().unwrap().len() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), enough).await.unwrap();
}

#[tokio::test]
async fn a_notice_does_not_wait_behind_the_invitations_of_a_large_mailing() {
    let shop = Shop::open(20).await;
    let reader = reader(&shop).await;
    let flow = shop.world.engine.flow(&reader, Scope::Read, shop.flow).await.unwrap();
    flow.set_notices(NoticeFrequency::Soon, None).await.unwrap();
    invite(&shop, &names("p", 90)).await;
    shop.pass(1_000);
    let view = shop.world.view(&shop.app).await;
    accepted(shop.world.submit(&view, &submission(shop.version)).await);
    assert_eq!(shop.deliver().await.sent, 18);
    shop.pass(MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 18, "the response is too new for a notice");
    // The invitations use up the minute, and then the notice is due.
    shop.pass(MINUTE_MILLIS - 1_000);
    assert_eq!(shop.deliver().await.sent, 18);
    shop.inbox.take();
    shop.pass(1_000);
    assert_eq!(shop.deliver().await.sent, 1);
    assert_eq!(shop.inbox.take()[0].subject, "New response: Feedback");
}

#[tokio::test]
async fn the_invitations_of_one_app_do_not_delay_those_of_another() {
    let shop = Shop::open(1_000).await;
    invite(&shop, &names("many", 200)).await;
    shop.pass(1);
    // More apps than are read at a time.
    let mut expected = Vec::new();
    for number in 0..25 {
        let app = shop.world.app().await;
        let flow = shop.world.flow(&app).await.flow.flow_id;
        shop.world.publish(flow).await;
        let flow = shop.world.engine.flow(&shop.world.actor, Scope::Write, flow).await.unwrap();
        let name = format!("few{number:02}");
        flow.invite_by_mail(&[invited(&name)], Duplicates::Refuse, false).await.unwrap();
        expected.push(address(&name));
    }
    let inbox = Arc::new(Inbox::default());
    let _server = shop.world.another_with(sending(&inbox, Duration::from_secs(3_600))).await;
    until_sent(&inbox, 225).await;
    let sent: Vec<String> = inbox.take().into_iter().map(|mail| mail.to).collect();
    let mut early: Vec<_> = sent.iter().take(60).filter(|to| to.starts_with("few")).collect();
    early.sort();
    assert_eq!(early, expected.iter().collect::<Vec<_>>(), "{sent:?}");
}

#[tokio::test]
async fn a_full_batch_is_followed_by_the_next_one_without_a_pause() {
    let shop = Shop::open(1_000).await;
    invite(&shop, &names("p", 70)).await;
    let inbox = Arc::new(Inbox::default());
    let _server = shop.world.another_with(sending(&inbox, Duration::from_secs(3_600))).await;
    until_sent(&inbox, 70).await;
    let expected: Vec<_> = names("p", 70).iter().map(|name| address(name)).collect();
    assert_eq!(inbox.recipients(), expected);
}

#[tokio::test]
async fn a_recipient_whose_server_hangs_holds_up_no_other() {
    let shop = Shop::open(1_000).await;
    invite(&shop, &names("hang", 3)).await;
    shop.pass(1);
    invite(&shop, &names("p", 50)).await;
    let inbox = Arc::new(Inbox { hangs_for: "hang", ..Inbox::default() });
    let _server = shop.world.another_with(sending(&inbox, Duration::from_millis(50))).await;
    until_sent(&inbox, 50).await;
    let expected: Vec<_> = names("p", 50).iter().map(|name| address(name)).collect();
    assert_eq!(inbox.recipients(), expected);
}

#[tokio::test]
async fn a_stop_finishes_the_emails_in_progress_and_starts_no_others() {
    let shop = Shop::open(1_000).await;
    // More than are sent at a time.
    invite(&shop, &names("p", 12)).await;
    let inbox = Arc::new(Inbox::slow());
    let server = shop.world.another_with(sending(&inbox, Duration::from_secs(3_600))).await;
    inbox.begun(8).await;
    server.engine.stop_sending(Duration::from_secs(60));
    let closing = tokio::spawn(async move { server.engine.close().await });
    inbox.go_on.add_permits(100);
    closing.await.unwrap();
    assert_eq!(inbox.recipients().len(), 8, "nothing more was started");
    // No time passes: what was sent is recorded, and only the others are left.
    assert_eq!(shop.deliver().await.sent, 4);
}

#[tokio::test]
async fn an_email_without_a_reply_does_not_delay_a_stop() {
    let shop = Shop::open(1_000).await;
    invite(&shop, &names("p", 1)).await;
    let inbox = Arc::new(Inbox::slow());
    let server = shop.world.another_with(sending(&inbox, Duration::from_secs(3_600))).await;
    inbox.begun(1).await;
    server.engine.stop_sending(Duration::ZERO);
    server.engine.close().await;
    assert_eq!(shop.deliver().await.sent, 0, "it is still taken");
    shop.pass(10 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
}
