//! Invitations to a flow that is closed, or has all its responses.

use sluice_engine::FlowPatch;
use sluice_engine::mail::Delivered;
use sluice_engine::rows::{MailEnd, Scope};
use sluice_flow::invitation_email::InvitationEmail;
use sluice_flow::time::Window;

use super::shop::{DAY_MILLIS, MINUTE_MILLIS, Shop, address};
use crate::support::UseCases as _;

#[tokio::test]
async fn invitations_wait_while_their_flow_is_closed_and_end_if_it_is_archived() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let flow = async || engine.flow(actor, Scope::Write, shop.flow).await.unwrap();
    let ids = shop.invite(&["ada", "bob"]).await;
    let close = async || {
        flow().await.close().await.unwrap();
        shop.pass(MINUTE_MILLIS);
        shop.deliver().await;
    };
    close().await;
    for id in &ids {
        let status = shop.status(*id).await.unwrap();
        assert_eq!((status.ended, status.next_at), (Some(MailEnd::Closed), None));
    }
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
    flow().await.reopen(None).await.unwrap();
    assert_eq!(shop.deliver().await.sent, 2);
    assert_eq!(shop.inbox.recipients(), [address("ada"), address("bob")]);
    assert_eq!(shop.status(ids[0]).await.unwrap().ended, None);
    // A window that is changed opens it as well.
    let late = shop.invite(&["cai", "dan"]).await;
    close().await;
    let open = FlowPatch { live_window: Some(Window::default()), ..FlowPatch::default() };
    engine.update_flow(actor, shop.flow, &open).await.unwrap();
    assert_eq!(shop.deliver().await.sent, 2);
    assert_eq!(shop.status(late[0]).await.unwrap().sent, 1);
    // And a new version of a flow whose last one was retired.
    let eve = shop.invite(&["eve"]).await[0];
    let version = engine.version(actor, Scope::Write, shop.version).await.unwrap();
    version.retire().await.unwrap();
    shop.deliver().await;
    assert_eq!(shop.status(eve).await.unwrap().ended, Some(MailEnd::Closed));
    engine.version(actor, Scope::Write, shop.version).await.unwrap().republish().await.unwrap();
    assert_eq!(shop.deliver().await.sent, 1);
    let last = shop.invite(&["fay"]).await[0];
    close().await;
    flow().await.archive().await.unwrap();
    assert_eq!(shop.status(last).await.unwrap().ended, Some(MailEnd::Stopped));
}

#[tokio::test]
async fn a_flow_with_all_its_responses_sends_neither_invitations_nor_reminders() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let close_after = async |count| {
        let patch = FlowPatch { close_after: Some(count), ..FlowPatch::default() };
        engine.update_flow(actor, shop.flow, &patch).await.unwrap();
    };
    shop.set_email(InvitationEmail { reminders: 1, ..InvitationEmail::default() }).await;
    close_after(Some(1)).await;
    let ids = shop.invite(&["ada", "bob"]).await;
    assert_eq!(shop.deliver().await.sent, 2);
    shop.answer(ids[0]).await;
    let late = shop.invite(&["cai"]).await[0];
    shop.pass(30 * DAY_MILLIS);
    assert_eq!(shop.deliver().await.sent, 0);
    for id in [ids[1], late] {
        assert_eq!(shop.status(id).await.unwrap().ended, Some(MailEnd::Closed));
    }
    shop.pass(DAY_MILLIS);
    assert_eq!(shop.deliver().await, Delivered::default());
    // With a higher limit it is open again.
    shop.inbox.take();
    close_after(Some(5)).await;
    assert_eq!(shop.deliver().await.sent, 2);
    assert_eq!(shop.inbox.recipients(), [address("bob"), address("cai")]);
}

#[tokio::test]
async fn a_deletion_that_makes_room_sends_the_invitation_that_waited_longest() {
    let shop = Shop::open(60).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let ids = shop.invite(&["ada"]).await;
    assert_eq!(shop.deliver().await.sent, 1);
    let response = shop.answer(ids[0]).await;
    let patch = FlowPatch { close_after: Some(Some(1)), ..FlowPatch::default() };
    engine.update_flow(actor, shop.flow, &patch).await.unwrap();
    let late = shop.invite(&["bob"]).await[0];
    shop.pass(MINUTE_MILLIS);
    let later = shop.invite(&["cai"]).await[0];
    assert_eq!(shop.deliver().await.sent, 0);
    assert_eq!(shop.status(late).await.unwrap().ended, Some(MailEnd::Closed));
    engine.delete_response(actor, response).await.unwrap();
    assert_eq!(shop.deliver().await.sent, 1);
    assert_eq!(shop.status(late).await.unwrap().ended, None);
    // There is room for one.
    assert_eq!(shop.status(later).await.unwrap().ended, Some(MailEnd::Closed));
}
