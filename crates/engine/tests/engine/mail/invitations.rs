//! Invitations and their reminders.

use std::sync::Arc;
use std::time::Duration;

use sluice_engine::mail::{Delivered, SendError};
use sluice_engine::rows::{AnswersOnErasure, MailEnd, Scope};
use sluice_engine::{AdminError, Duplicates, FlowPatch, NewInvitation};
use sluice_flow::invitation::Invitee;
use sluice_flow::invitation_email::InvitationEmail;
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::MailStore as _;

use super::shop::{DAY_MILLIS, Inbox, MINUTE_MILLIS, Shop, address, invited, mail_id, options};
use crate::support::{START_MILLIS, UseCases as _, World};

#[tokio::test]
async fn an_invitation_is_sent_once_with_its_link() {
    let shop = Shop::open(60).await;
    let ids = shop.invite(&["ada"]).await;
    assert_eq!(shop.deliver().await.sent, 1);
    assert_eq!(shop.deliver().await, Delivered::default());
    let mails = shop.inbox.take();
    let [mail] = mails.as_slice() else { panic!("{} e-mails", mails.len()) };
    assert_eq!(mail.to, "ada@mail.example");
    assert_eq!(mail.subject, "Invitation: Feedback");
    let link = format!("https://s.example/f/{}?flowAssignmentId={}", shop.flow, ids[0]);
    assert!(mail.text.contains(&link), "{}", mail.text);
    assert!(mail.html.contains(&format!("href=\"{link}\"")), "{}", mail.html);
    let leave = mail.unsubscribe.as_ref().unwrap();
    assert!(mail.text.contains(leave) && mail.text.contains("because Shop invited you"));
    assert!(!mail.message_id.is_empty() && !leave.contains(&mail.message_id));
    let status = shop.status(ids[0]).await.unwrap();
    assert_eq!((status.sent, status.next_at, status.ended), (1, None, None));
    // So does the file about the person.
    let ada = ProfileIdentity { kind: IdentityType::Email, value: "ada@mail.example".to_owned() };
    let (world, app) = (&shop.world, shop.app.row.app_id);
    let file = world.engine.export_known(&world.actor, app, &ada).await.unwrap();
    assert_eq!(file.invitations[0].mail.as_ref().map(|it| it.sent), Some(1));
}

#[tokio::test]
async fn people_without_an_address_are_refused_and_so_is_a_flow_that_is_not_published() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let nobody = Invitee { user_id: Some("7".into()), email: None };
    let new = [invited("ada"), NewInvitation { invitee: nobody, expires_at: None, line: Some(3) }];
    let flow = engine.flow(actor, Scope::Write, shop.flow).await.unwrap();
    match flow.invite_by_mail(&new, Duplicates::Refuse, false).await {
        Err(AdminError::Invalid(faults)) => assert_eq!(faults[0].pointer, "/3"),
        other => panic!("{other:?}"),
    }
    let draft = shop.world.flow(&shop.app).await.flow.flow_id;
    let draft = engine.flow(actor, Scope::Write, draft).await.unwrap();
    let refused = draft.invite_by_mail(&[invited("ada")], Duplicates::Refuse, false).await;
    assert!(matches!(refused, Err(AdminError::Conflict { code: "flow_not_published", .. })));
    let without = World::new().await;
    let app = without.app().await;
    let flow = without.flow(&app).await.flow.flow_id;
    without.publish(flow).await;
    let flow = without.engine.flow(&without.actor, Scope::Write, flow).await.unwrap();
    let refused = flow.invite_by_mail(&[invited("ada")], Duplicates::Refuse, false).await;
    assert!(matches!(refused, Err(AdminError::Conflict { code: "no_mail_server", .. })));
    assert_eq!(shop.deliver().await, Delivered::default());
}

#[tokio::test]
async fn an_e_mail_that_was_delayed_is_sent_again_with_the_same_id() {
    let shop = Shop::open(60).await;
    let ids = shop.invite(&["ada"]).await;
    shop.inbox.refuse([SendError::Delayed("451 4.7.1".into())]);
    assert_eq!(shop.deliver().await.failed, 1);
    let status = shop.status(ids[0]).await.unwrap();
    assert_eq!((status.sent, status.reply.as_deref()), (0, Some("451 4.7.1")));
    assert_eq!(shop.deliver().await, Delivered::default(), "not before its pause");
    shop.pass(MINUTE_MILLIS);
    shop.inbox.refuse([SendError::Unreachable("away".into())]);
    assert!(shop.deliver().await.is_unreachable);
    shop.pass(5 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    let status = shop.status(ids[0]).await.unwrap();
    assert_eq!((status.sent, status.reply, status.ended), (1, None, None));
    assert_eq!(shop.inbox.take().len(), 1);
}

#[tokio::test]
async fn a_bounced_address_is_noted_and_not_reminded() {
    let shop = Shop::open(60).await;
    shop.set_email(InvitationEmail { reminders: 1, ..InvitationEmail::default() }).await;
    let ids = shop.invite(&["ada", "bob"]).await;
    shop.inbox.refuse([SendError::Bounced("550 5.1.1".into())]);
    let done = shop.deliver().await;
    assert_eq!((done.sent, done.failed), (1, 1));
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(shop.status(id).await.unwrap());
    }
    let bounced: Vec<_> = statuses.iter().filter(|it| it.ended == Some(MailEnd::Bounced)).collect();
    assert_eq!(bounced.len(), 1);
    assert_eq!(bounced[0].reply.as_deref(), Some("550 5.1.1"));
    shop.inbox.take();
    shop.pass(8 * DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1, "only the other one is reminded");
}

#[tokio::test]
async fn a_minute_has_no_more_e_mails_than_the_pace_allows_on_all_servers() {
    let shop = Shop::open(2).await;
    let other = shop.world.another_with(options(&shop.inbox, 2)).await;
    shop.invite(&["a", "b", "c", "d", "e"]).await;
    let mut by_minute = Vec::new();
    for _ in 0..3 {
        for _ in 0..3 {
            shop.deliver().await;
            other.engine.upkeep().deliver_mails().await.unwrap();
        }
        by_minute.push(shop.inbox.take().len());
        shop.pass(MINUTE_MILLIS);
    }
    assert_eq!(by_minute, [2, 2, 1]);
}

#[tokio::test]
async fn two_servers_send_each_e_mail_once() {
    let shop = Shop::open(1_000).await;
    let other = shop.world.another_with(options(&shop.inbox, 1_000)).await;
    let names: Vec<String> = (0..30).map(|number| format!("p{number:02}")).collect();
    shop.invite(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for _ in 0..100 {
        let passes = tokio::join!(shop.deliver(), other.engine.upkeep().deliver_mails());
        let idle = Delivered::default();
        if passes.0 == idle && passes.1.unwrap() == idle {
            break;
        }
    }
    let expected: Vec<String> = names.iter().map(|name| address(name)).collect();
    assert_eq!(shop.inbox.recipients(), expected);
}

#[tokio::test]
async fn an_e_mail_of_a_server_that_stopped_is_sent_by_another() {
    let shop = Shop::open(60).await;
    let hanging = Arc::new(Inbox { hangs: true, ..Inbox::default() });
    let other = shop.world.another_with(options(&hanging, 60)).await;
    let ids = shop.invite(&["ada"]).await;
    let engine = Arc::clone(&other.engine);
    let sending = tokio::spawn(async move { engine.upkeep().deliver_mails().await });
    // Until the other server has taken it.
    while shop.status(ids[0]).await.unwrap().next_at == Some(Timestamp::from_millis(START_MILLIS)) {
        tokio::task::yield_now().await;
    }
    sending.abort();
    assert_eq!(shop.deliver().await, Delivered::default(), "it still belongs to the other one");
    shop.pass(3 * MINUTE_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    assert_eq!(shop.inbox.recipients(), [address("ada")]);
}

#[tokio::test]
async fn people_who_have_not_answered_are_reminded_a_few_times() {
    let shop = Shop::open(60).await;
    let email = InvitationEmail {
        subject: "Three questions".into(),
        text: "Hello **you**".into(),
        reminders: 2,
        reminder_days: 3,
        ..InvitationEmail::default()
    };
    shop.set_email(email).await;
    let ids = shop.invite(&["ada", "bob", "cai"]).await;
    assert_eq!(shop.deliver().await.sent, 3);
    let first = shop.inbox.take();
    assert!(first.iter().all(|mail| mail.subject == "Three questions"));
    assert!(first.iter().all(|mail| mail.html.contains("<strong>you</strong>")));
    shop.answer(ids[0]).await;
    shop.world.engine.revoke_invitation(&shop.world.actor, ids[1]).await.unwrap();
    shop.pass(3 * DAY_MILLIS - 1);
    assert_eq!(shop.deliver().await, Delivered::default());
    shop.pass(1);
    let done = shop.deliver().await;
    assert_eq!((done.sent, done.dropped), (1, 2));
    let reminder = shop.inbox.take().remove(0);
    assert_eq!(
        (reminder.to.as_str(), reminder.subject.as_str()),
        ("cai@mail.example", "Reminder: Three questions")
    );
    assert!(first.iter().all(|mail| mail.message_id != reminder.message_id));
    shop.pass(3 * DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    shop.pass(30 * DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default(), "no third one");
    assert_eq!(shop.status(ids[2]).await.unwrap().sent, 3);
}

#[tokio::test]
async fn reminders_that_are_chosen_later_reach_people_who_were_invited_before() {
    let shop = Shop::open(60).await;
    shop.invite(&["ada"]).await;
    shop.deliver().await;
    shop.pass(DAY_MILLIS);
    let email = InvitationEmail { reminders: 1, reminder_days: 2, ..InvitationEmail::default() };
    shop.set_email(email).await;
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    shop.set_email(InvitationEmail::default()).await;
    shop.pass(30 * DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
}

#[tokio::test]
async fn a_closed_flow_sends_nothing_and_a_scheduled_one_waits() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let at = |millis| Some(Timestamp::from_millis(START_MILLIS + millis));
    let window = |starts_at, ends_at| FlowPatch {
        live_window: Some(Window { starts_at, ends_at }),
        ..FlowPatch::default()
    };
    engine
        .update_flow(actor, shop.flow, &window(at(DAY_MILLIS), at(2 * DAY_MILLIS)))
        .await
        .unwrap();
    let ids = shop.invite(&["ada"]).await;
    assert_eq!(shop.deliver().await, Delivered::default());
    assert_eq!(shop.status(ids[0]).await.unwrap().next_at, at(DAY_MILLIS));
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
    let late = shop.invite(&["bob"]).await;
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await.dropped, 1);
    assert_eq!(shop.status(late[0]).await.unwrap().ended, Some(MailEnd::Closed));
}

#[tokio::test]
async fn an_unsubscribed_address_is_never_mailed_again_by_its_app() {
    let shop = Shop::open(60).await;
    shop.invite(&["ada"]).await;
    shop.deliver().await;
    let id = mail_id(&shop.inbox.take()[0]);
    let engine = &shop.world.engine;
    let found = engine.links().unsubscription(&id).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.is_done), ("Shop", false));
    assert!(engine.links().unsubscription("ml_0000000000000000000000").await.unwrap().is_none());
    for _ in 0..2 {
        found.confirm().await.unwrap();
    }
    assert!(engine.links().unsubscription(&id).await.unwrap().unwrap().is_done);
    // Also with other letters, and for another flow.
    let flow = shop.world.flow(&shop.app).await.flow.flow_id;
    shop.world.publish(flow).await;
    let opened = engine.flow(&shop.world.actor, Scope::Write, flow).await.unwrap();
    let mut new = [invited("ADA"), invited("bob")];
    new[0].invitee.email = Some("Ada@Mail.Example".into());
    let made = opened.invite_by_mail(&new, Duplicates::Refuse, false).await.unwrap();
    let done = shop.deliver().await;
    assert_eq!((done.sent, done.dropped), (1, 1));
    assert_eq!(shop.inbox.recipients(), [address("bob")]);
    let status = shop.status(made[0].row.assignment_id).await.unwrap();
    assert_eq!(status.ended, Some(MailEnd::Unsubscribed));
    // Another app may.
    let other = shop.world.app().await;
    let flow = shop.world.flow(&other).await.flow.flow_id;
    shop.world.publish(flow).await;
    let opened = engine.flow(&shop.world.actor, Scope::Write, flow).await.unwrap();
    opened.invite_by_mail(&[invited("ada")], Duplicates::Refuse, false).await.unwrap();
    assert_eq!(shop.deliver().await.sent, 1);
}

#[tokio::test]
async fn an_erased_person_is_not_mailed() {
    let shop = Shop::open(60).await;
    let ids = shop.invite(&["ada"]).await;
    let known = ProfileIdentity::new(IdentityType::Email, &address("ada"));
    let erased = shop.world.engine.erase_known(
        &shop.world.actor,
        shop.app.row.app_id,
        known,
        AnswersOnErasure::Delete,
    );
    erased.await.unwrap();
    assert_eq!(shop.deliver().await.sent, 0);
    assert_eq!(shop.status(ids[0]).await, None, "nothing is left to send");
    assert!(shop.inbox.take().is_empty());
}

#[tokio::test]
async fn a_person_who_was_erased_can_still_unsubscribe() {
    let shop = Shop::open(60).await;
    let ids = shop.invite(&["ada"]).await;
    shop.deliver().await;
    let id = mail_id(&shop.inbox.take()[0]);
    let known = ProfileIdentity::new(IdentityType::Email, &address("ada"));
    let app = shop.app.row.app_id;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    engine.erase_known(actor, app, known, AnswersOnErasure::Delete).await.unwrap();
    let row = shop.world.faults.find_mail(id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(row.address, None);
    assert!(!row.detail.unwrap_or_default().contains(&address("ada")));
    engine.links().unsubscription(&id).await.unwrap().unwrap().confirm().await.unwrap();
    assert_eq!(shop.status(ids[0]).await.unwrap().ended, Some(MailEnd::Unsubscribed));
    // A later invitation to the same address is not sent.
    let again = shop.invite(&["ada"]).await;
    assert_eq!(shop.deliver().await.dropped, 1);
    assert_eq!(shop.status(again[0]).await.unwrap().ended, Some(MailEnd::Unsubscribed));
    assert!(shop.inbox.take().is_empty());
}

#[tokio::test]
async fn invitations_move_with_the_start_of_their_flow() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let at = |days: i64| Some(Timestamp::from_millis(START_MILLIS + days * DAY_MILLIS));
    let set = async |starts_at, ends_at| {
        let live_window = Some(Window { starts_at, ends_at });
        let patch = FlowPatch { live_window, ..FlowPatch::default() };
        engine.update_flow(actor, shop.flow, &patch).await.unwrap();
    };
    set(at(5), at(9)).await;
    let ids = shop.invite(&["ada", "bob"]).await;
    let next = async |id| shop.status(id).await.unwrap().next_at;
    shop.deliver().await;
    assert_eq!(next(ids[0]).await, at(5));
    set(at(7), at(9)).await;
    assert_eq!((next(ids[0]).await, next(ids[1]).await), (at(7), at(7)));
    set(at(2), at(9)).await;
    shop.pass(2 * DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 2);
    // One that opens at once sends at once; one that has ended sends nothing.
    set(at(4), at(9)).await;
    let late = shop.invite(&["cai"]).await;
    shop.deliver().await;
    set(None, at(9)).await;
    assert_eq!(shop.deliver().await.sent, 1);
    set(at(4), at(9)).await;
    let over = shop.invite(&["dan"]).await;
    shop.deliver().await;
    set(at(1), at(2)).await;
    assert_eq!(shop.deliver().await.dropped, 1);
    assert_eq!(shop.status(late[0]).await.unwrap().sent, 1);
    assert_eq!(shop.status(over[0]).await.unwrap().ended, Some(MailEnd::Closed));
}

#[tokio::test]
async fn a_reminder_that_is_chosen_while_an_e_mail_is_sent_is_not_lost() {
    let shop = Shop::open(60).await;
    let slow = Arc::new(Inbox::slow());
    let other = shop.world.another_with(options(&slow, 60)).await;
    let ids = shop.invite(&["ada"]).await;
    let engine = Arc::clone(&other.engine);
    let sending = tokio::spawn(async move { engine.upkeep().deliver_mails().await });
    slow.begun(1).await;
    let email = InvitationEmail { reminders: 1, reminder_days: 2, ..InvitationEmail::default() };
    shop.set_email(email).await;
    slow.go_on.add_permits(1);
    assert_eq!(sending.await.unwrap().unwrap().sent, 1);
    let due = Timestamp::from_millis(START_MILLIS + 2 * DAY_MILLIS);
    let status = shop.status(ids[0]).await.unwrap();
    assert_eq!((status.sent, status.next_at), (1, Some(due)));
    // And one that is no longer wanted is not sent, although it waits for another attempt.
    shop.pass(2 * DAY_MILLIS);
    shop.inbox.refuse([SendError::Delayed("451".into())]);
    assert_eq!(shop.deliver().await.failed, 1);
    shop.set_email(InvitationEmail::default()).await;
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
    assert_eq!(shop.status(ids[0]).await.unwrap().next_at, None);
}

#[tokio::test]
async fn a_reply_that_takes_minutes_keeps_the_e_mail_from_other_servers() {
    let shop = Shop::open(60).await;
    let slow = Arc::new(Inbox::slow());
    let other = shop.world.another_with(options(&slow, 60)).await;
    let ids = shop.invite(&["ada"]).await;
    let engine = Arc::clone(&other.engine);
    let sending = tokio::spawn(async move { engine.upkeep().deliver_mails().await });
    slow.begun(1).await;
    let next_at = async || shop.status(ids[0]).await.unwrap().next_at.unwrap();
    for _ in 0..3 {
        let before = next_at().await;
        shop.pass(2 * MINUTE_MILLIS);
        while next_at().await == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(shop.deliver().await, Delivered::default(), "it belongs to the other server");
    }
    // Reminders that are chosen meanwhile apply.
    let email = InvitationEmail { reminders: 1, reminder_days: 2, ..InvitationEmail::default() };
    shop.set_email(email).await;
    let before = next_at().await;
    shop.pass(2 * MINUTE_MILLIS);
    while next_at().await == before {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    slow.go_on.add_permits(1);
    assert_eq!(sending.await.unwrap().unwrap().sent, 1);
    let status = shop.status(ids[0]).await.unwrap();
    assert_eq!((status.sent, status.ended), (1, None));
    let due = Timestamp::from_millis(START_MILLIS + 2 * DAY_MILLIS);
    assert_eq!(status.next_at, Some(due));
    assert_eq!((slow.take().len(), shop.inbox.take().len()), (1, 0));
}

#[tokio::test]
async fn an_e_mail_without_a_reply_is_sent_once_more_and_settles() {
    let shop = Shop::open(60).await;
    let ids = shop.invite(&["ada", "bob"]).await;
    shop.inbox.refuse((0..3).map(|_| SendError::Unanswered));
    let done = shop.deliver().await;
    assert_eq!((done.failed, done.is_unreachable), (2, false), "the others go on");
    shop.pass(MINUTE_MILLIS);
    let done = shop.deliver().await;
    assert_eq!((done.failed, done.sent), (1, 1));
    let mut ends = Vec::new();
    for id in ids {
        let status = shop.status(id).await.unwrap();
        ends.push((status.sent, status.ended, status.reply));
    }
    ends.sort_by_key(|it| it.0);
    assert_eq!(ends[0], (0, Some(MailEnd::Failed), Some("no reply".to_owned())));
    assert_eq!(ends[1], (1, None, None));
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
}

#[tokio::test]
async fn an_invitation_that_was_tried_moves_with_the_start_of_its_flow() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let ids = shop.invite(&["ada"]).await;
    shop.inbox.refuse([SendError::Delayed("451".into())]);
    assert_eq!(shop.deliver().await.failed, 1);
    let start = |days: i64| Some(Timestamp::from_millis(START_MILLIS + days * DAY_MILLIS));
    for (days, sent) in [(5, 0), (2, 0)] {
        let window = Window { starts_at: start(days), ends_at: None };
        let patch = FlowPatch { live_window: Some(window), ..FlowPatch::default() };
        engine.update_flow(actor, shop.flow, &patch).await.unwrap();
        shop.pass(MINUTE_MILLIS);
        assert_eq!(shop.deliver().await.sent, sent);
        assert_eq!(shop.status(ids[0]).await.unwrap().next_at, start(days));
    }
    shop.pass(2 * DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 1);
}
