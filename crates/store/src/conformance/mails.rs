//! E-mails: taken by one server at a time, at the pace of all servers together.

use std::sync::Arc;

use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;

use super::world::{Shop, TheStore, apply, at, flow_row, mail_row, user_row};
use crate::{
    At, FeedPosition, MailEnd, MailKind, MailLane, MailRow, MailWrite, PACE_SKEW_MINUTES,
    PeopleWrite, StoreError, StoreResult, Write,
};

async fn write(store: &TheStore, writes: Vec<MailWrite>) -> StoreResult<()> {
    let writes: Vec<_> = writes.into_iter().map(Write::Mail).collect();
    store.apply(At::Instance, writes.into()).await
}

pub(super) async fn add(store: &TheStore, rows: &[MailRow]) {
    write(store, vec![MailWrite::Add(rows.to_vec())]).await.unwrap();
}

async fn found(store: &TheStore, row: &MailRow) -> Option<MailRow> {
    store.find_mail(row.mail_id).await.unwrap()
}

/// Those of the given rows that are due: cases share a database.
async fn due(store: &TheStore, now: Timestamp, of: &[&MailRow]) -> Vec<MailRow> {
    let mut due = store.list_due_mails(MailLane::Invitations, now, 10_000).await.unwrap();
    due.retain(|row| of.iter().any(|it| it.mail_id == row.mail_id));
    due
}

fn claim(read: &MailRow, until: Timestamp) -> MailWrite {
    MailWrite::Claim { read: read.clone(), until }
}

pub(super) async fn a_mail_reads_back_as_it_was_given(store: TheStore) {
    let shop = Shop::open(&store).await;
    let plain = MailRow { app_id: None, flow_id: None, ..mail_row(&shop.flow) };
    let full = MailRow {
        user_id: Some(UserId::from_uuid(shop.app().uuid())),
        detail: Some("{ \"a\" :\"\u{e9}\"}".into()),
        sent: 3,
        sent_at: Some(at(5)),
        attempts: 2,
        next_at: None,
        ended: Some(MailEnd::Bounced),
        reply: Some("550 5.1.1".into()),
        address: Some([7; 32]),
        revision: 4,
        ..mail_row(&shop.flow)
    };
    let many: Vec<_> = (0..50).map(|_| mail_row(&shop.flow)).collect();
    add(&store, &[plain.clone(), full.clone()]).await;
    add(&store, &many).await;
    // An existing one is left unchanged.
    add(&store, &[MailRow { sent: 9, ..full.clone() }]).await;
    for row in many.iter().chain([&plain, &full]) {
        assert_eq!(found(&store, row).await.as_ref(), Some(row));
    }
    write(&store, vec![MailWrite::Remove(full.app_id, full.mail_id)]).await.unwrap();
    write(&store, vec![MailWrite::Remove(None, plain.mail_id)]).await.unwrap();
    assert_eq!((found(&store, &full).await, found(&store, &plain).await), (None, None));
    assert!(found(&store, &many[0]).await.is_some());
}

pub(super) async fn due_mails_are_listed_in_the_order_of_their_times(store: TheStore) {
    let shop = Shop::open(&store).await;
    let timed = |next_at| MailRow { next_at, ..mail_row(&shop.flow) };
    let (late, early, never) = (timed(Some(at(9))), timed(Some(at(3))), timed(None));
    add(&store, &[late.clone(), early.clone(), never.clone()]).await;
    let of = [&late, &early, &never];
    assert_eq!(due(&store, at(2), &of).await, []);
    assert_eq!(due(&store, at(3), &of).await, std::slice::from_ref(&early));
    assert_eq!(due(&store, at(9), &of).await, [early, late]);
    assert_eq!(store.list_due_mails(MailLane::Invitations, at(9), 1).await.unwrap().len(), 1);
}

pub(super) async fn one_of_many_servers_takes_a_mail(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = mail_row(&shop.flow);
    add(&store, std::slice::from_ref(&row)).await;
    let tries = (0..8).map(|number| {
        let (store, row) = (Arc::clone(&store), row.clone());
        tokio::spawn(async move { write(&store, vec![claim(&row, at(100 + number))]).await })
    });
    let tries: Vec<_> = tries.collect();
    let mut taken = 0;
    for attempt in tries {
        match attempt.await.unwrap() {
            Ok(()) => taken += 1,
            Err(StoreError::Conflict) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(taken, 1);
    assert_eq!(found(&store, &row).await.unwrap().attempts, 1);
}

pub(super) async fn a_mail_of_a_stopped_server_becomes_due_again(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = mail_row(&shop.flow);
    add(&store, std::slice::from_ref(&row)).await;
    write(&store, vec![claim(&row, at(100))]).await.unwrap();
    assert_eq!(due(&store, at(99), &[&row]).await, []);
    let again = due(&store, at(100), &[&row]).await;
    assert_eq!((again[0].attempts, again[0].next_at), (1, Some(at(100))));
    write(&store, vec![claim(&again[0], at(200))]).await.unwrap();
    assert_eq!(due(&store, at(100), &[&row]).await, []);
}

/// Minutes that no other case uses.
fn own_minute(shop: &Shop) -> i64 {
    (shop.app().uuid().as_u128() & 0xFFFF_FFFF) as i64 + (1 << 40)
}

pub(super) async fn the_pace_of_a_minute_is_shared_by_all_servers(store: TheStore) {
    let shop = Shop::open(&store).await;
    let minute = own_minute(&shop);
    let pace = |minute| vec![MailWrite::Pace { minute, max: 3 }];
    let tries = (0..6).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { write(&store, pace(minute)).await })
    });
    let tries: Vec<_> = tries.collect();
    let mut counted = 0;
    for attempt in tries {
        counted += u32::from(attempt.await.unwrap().is_ok());
    }
    assert_eq!(counted, 3);
    write(&store, pace(minute + 1)).await.unwrap();
    let full = write(&store, vec![MailWrite::Pace { minute: minute + 1, max: 1 }]).await;
    assert!(matches!(full, Err(StoreError::Conflict)), "{full:?}");
}

pub(super) async fn a_claim_beyond_the_pace_takes_nothing(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = mail_row(&shop.flow);
    add(&store, std::slice::from_ref(&row)).await;
    let minute = own_minute(&shop);
    let pace = || MailWrite::Pace { minute, max: 1 };
    write(&store, vec![pace()]).await.unwrap();
    let refused = write(&store, vec![claim(&row, at(100)), pace()]).await;
    assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
    assert_eq!(found(&store, &row).await, Some(row));
}

pub(super) async fn a_late_settlement_changes_nothing(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = mail_row(&shop.flow);
    add(&store, std::slice::from_ref(&row)).await;
    write(&store, vec![claim(&row, at(100))]).await.unwrap();
    let read = found(&store, &row).await.unwrap();
    write(&store, vec![claim(&read, at(200))]).await.unwrap();
    let sent = MailRow { sent: 1, sent_at: Some(at(9)), attempts: 0, next_at: None, ..row.clone() };
    let settle = |revision| vec![MailWrite::Settle { row: sent.clone(), revision }];
    let is_late =
        async |revision| matches!(write(&store, settle(revision)).await, Err(StoreError::Conflict));
    assert!(is_late(1).await);
    assert_eq!(found(&store, &row).await.unwrap().sent, 0, "another server has it");
    write(&store, settle(2)).await.unwrap();
    assert_eq!(found(&store, &row).await, Some(MailRow { revision: 3, ..sent.clone() }));
    // The attempts are those of the beginning again, and yet it is not as it was then.
    assert!(is_late(0).await);
    assert!(is_late(2).await);
    assert_eq!(found(&store, &row).await.unwrap().revision, 3);
    // A removed one does not come back.
    write(&store, vec![MailWrite::Remove(row.app_id, row.mail_id)]).await.unwrap();
    assert!(is_late(3).await);
    assert_eq!(found(&store, &row).await, None);
}

pub(super) async fn reminders_are_set_for_the_invitations_of_one_flow(store: TheStore) {
    let shop = Shop::open(&store).await;
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    let sent = |sent, flow| MailRow { sent, sent_at: Some(at(5)), next_at: None, ..mail_row(flow) };
    let once = sent(1, &shop.flow);
    let twice = MailRow { next_at: Some(at(7)), ..sent(2, &shop.flow) };
    let elsewhere = sent(1, &sibling);
    let over = MailRow { ended: Some(MailEnd::Bounced), ..sent(1, &shop.flow) };
    let taken = MailRow { attempts: 1, next_at: Some(at(50)), ..sent(1, &shop.flow) };
    let waiting = mail_row(&shop.flow);
    let first = MailRow { attempts: 1, next_at: Some(at(50)), ..mail_row(&shop.flow) };
    let notice = MailRow { kind: MailKind::Notice, ..sent(1, &shop.flow) };
    let others = [elsewhere, over, waiting, notice];
    let in_flight = [taken, first];
    add(&store, &[once.clone(), twice.clone()]).await;
    add(&store, &others).await;
    add(&store, &in_flight).await;
    let remind = |after_millis, count| {
        let (app_id, flow_id) = (shop.app(), shop.flow.flow_id);
        vec![MailWrite::Remind { app_id, flow_id, after_millis, count }]
    };
    for (after, count, expected) in [
        (Some(10), 3, (Some(at(15)), Some(at(15)))),
        (Some(20), 2, (Some(at(25)), None)),
        (None, 3, (None, None)),
        (Some(10), 0, (None, None)),
    ] {
        write(&store, remind(after, count)).await.unwrap();
        let next = (found(&store, &once).await.unwrap(), found(&store, &twice).await.unwrap());
        assert_eq!((next.0.next_at, next.1.next_at), expected, "{after:?} {count}");
    }
    for row in others {
        assert_eq!(found(&store, &row).await, Some(row));
    }
    for row in in_flight {
        // Its sender learns of the change.
        assert_eq!(found(&store, &row).await, Some(MailRow { revision: 4, ..row }));
    }
}

pub(super) async fn an_unsubscribed_address_is_found_in_its_app_only(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let row = mail_row(&shop.flow);
    add(&store, std::slice::from_ref(&row)).await;
    let is_over = async |app: AppId, address| store.is_unsubscribed(app, &address).await.unwrap();
    assert!(!is_over(shop.app(), [3; 32]).await);
    let (app_id, mail_id) = (shop.app(), row.mail_id);
    let over = MailWrite::Unsubscribe { app_id, mail_id, address: [3; 32] };
    for _ in 0..2 {
        write(&store, vec![over.clone()]).await.unwrap();
        assert!(is_over(shop.app(), [3; 32]).await);
        let now = found(&store, &row).await.unwrap();
        assert_eq!((now.ended, now.next_at), (Some(MailEnd::Unsubscribed), None));
    }
    assert!(!is_over(shop.app(), [4; 32]).await);
    assert!(!is_over(other.app(), [3; 32]).await);
    // A server that was sending it does not undo that.
    let sent = MailRow { sent: 1, ..row.clone() };
    let late = write(&store, vec![MailWrite::Settle { row: sent, revision: 0 }]).await;
    assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
    assert!(is_over(shop.app(), [3; 32]).await);
}

pub(super) async fn mails_of_invitations_and_users_are_found(store: TheStore) {
    let shop = Shop::open(&store).await;
    let user = user_row();
    let people = vec![Write::People(PeopleWrite::User(user.clone()))];
    store.apply(At::Instance, people.into()).await.unwrap();
    let invited = mail_row(&shop.flow);
    let to_user = |flow_id| MailRow {
        user_id: Some(user.user_id),
        assignment_id: None,
        flow_id,
        kind: MailKind::Notice,
        ..mail_row(&shop.flow)
    };
    let (notice, password) = (to_user(Some(shop.flow.flow_id)), to_user(None));
    add(&store, &[invited.clone(), notice.clone(), password.clone()]).await;
    let id = invited.assignment_id.unwrap();
    let other = mail_row(&shop.flow).assignment_id.unwrap();
    let of = store.list_mails_of(shop.app(), &[other, id]).await.unwrap();
    assert_eq!(of, [invited]);
    assert_eq!(store.list_mails_of(shop.app(), &[]).await.unwrap(), []);
    let to = async |flow| store.list_mails_to(user.user_id, flow).await.unwrap();
    assert_eq!(to(Some(shop.flow.flow_id)).await, std::slice::from_ref(&notice));
    assert_eq!(to(None).await, std::slice::from_ref(&password));
    let older = MailRow { created_at: at(0), ..to_user(None) };
    add(&store, std::slice::from_ref(&older)).await;
    let mut newest = vec![notice, password];
    newest.sort_by_key(|row| std::cmp::Reverse(row.mail_id));
    assert_eq!(store.list_newest_mails_to(user.user_id, 2).await.unwrap(), newest);
    newest.push(older);
    assert_eq!(store.list_newest_mails_to(user.user_id, 9).await.unwrap(), newest);
}

pub(super) async fn mails_move_no_revision_and_no_feed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap();
    let position = store.changes(FeedPosition::END).await.unwrap().position;
    let row = mail_row(&shop.flow);
    add(&store, std::slice::from_ref(&row)).await;
    write(&store, vec![claim(&row, at(100))]).await.unwrap();
    assert_eq!(store.find_app(shop.app()).await.unwrap(), before);
    assert_eq!(store.changes(FeedPosition::END).await.unwrap().position, position);
}

pub(super) async fn every_kind_has_its_lane(store: TheStore) {
    let shop = Shop::open(&store).await;
    let invited = mail_row(&shop.flow);
    let later = MailRow { next_at: Some(at(5)), ..mail_row(&shop.flow) };
    let password = MailRow { kind: MailKind::Password, ..later };
    let notice = MailRow { kind: MailKind::Notice, ..mail_row(&shop.flow) };
    let endpoint = MailRow { kind: MailKind::Endpoint, ..mail_row(&shop.flow) };
    let all = [&invited, &password, &notice, &endpoint];
    add(&store, &all.map(Clone::clone)).await;
    for (lane, expected) in [
        (MailLane::Passwords, vec![&password]),
        (MailLane::Notices, vec![&notice, &endpoint]),
        (MailLane::Invitations, vec![&invited]),
    ] {
        let mut listed = store.list_due_mails(lane, at(5), 10_000).await.unwrap();
        listed.retain(|row| all.iter().any(|it| it.mail_id == row.mail_id));
        let mut expected: Vec<_> = expected.into_iter().cloned().collect();
        expected.sort_by_key(|row| (row.next_at, row.mail_id));
        assert_eq!(listed, expected, "{lane:?}");
        let earlier = store.list_due_mails(lane, at(4), 10_000).await.unwrap();
        assert!(!earlier.contains(&password));
    }
    let count = async |millis| store.count_due_mails(at(millis)).await.unwrap();
    assert_eq!(count(5).await - count(4).await, 1);
}

pub(super) async fn apps_with_due_invitations_are_listed_in_order(store: TheStore) {
    let mut shops = Vec::new();
    for _ in 0..4 {
        shops.push(Shop::open(&store).await);
    }
    shops.sort_by_key(Shop::app);
    let next = |shop: &Shop, millis| MailRow { next_at: Some(at(millis)), ..mail_row(&shop.flow) };
    // The second one has only a notice, and the third one is due later.
    let due = [next(&shops[0], 7), next(&shops[0], 6), next(&shops[3], 5)];
    let notice = MailRow { kind: MailKind::Notice, ..next(&shops[1], 5) };
    add(&store, &due).await;
    add(&store, &[notice, next(&shops[2], 8)]).await;
    let listed = async |now, after: Option<&Shop>, limit| {
        let after = after.map(Shop::app);
        let mut apps = store.list_apps_with_due_invitations(at(now), after, limit).await.unwrap();
        apps.retain(|app| shops.iter().any(|shop| shop.app() == *app));
        apps
    };
    assert_eq!(listed(4, None, 10_000).await, []);
    assert_eq!(listed(7, None, 10_000).await, [shops[0].app(), shops[3].app()]);
    assert_eq!(listed(8, None, 10_000).await, [0, 2, 3].map(|it: usize| shops[it].app()));
    assert_eq!(listed(7, Some(&shops[0]), 10_000).await, [shops[3].app()]);
    assert_eq!(listed(8, Some(&shops[1]), 1).await, [shops[2].app()]);
    let of = async |now, limit| {
        store.list_due_invitations(shops[0].app(), at(now), limit).await.unwrap()
    };
    assert_eq!(of(7, 10).await, [due[1].clone(), due[0].clone()]);
    assert_eq!(of(6, 10).await, std::slice::from_ref(&due[1]));
    assert_eq!(of(7, 1).await, std::slice::from_ref(&due[1]));
    assert_eq!(of(5, 10).await, []);
}

pub(super) async fn the_pace_goes_by_the_clock_that_is_ahead(store: TheStore) {
    let shop = Shop::open(&store).await;
    let minute = own_minute(&shop);
    let pace = async |minute| write(&store, vec![MailWrite::Pace { minute, max: 2 }]).await.is_ok();
    assert!(pace(minute).await);
    // A server that is behind counts in the same minute, and does not begin one again.
    assert!(pace(minute - 1).await);
    assert!(!pace(minute).await && !pace(minute - 1).await);
    assert!(!pace(minute - PACE_SKEW_MINUTES).await);
    assert!(pace(minute + 1).await);
    // The clock was wrong, and was set back.
    assert!(pace(minute - PACE_SKEW_MINUTES).await);
}

pub(super) async fn invitations_that_wait_for_a_start_move_with_it(store: TheStore) {
    let shop = Shop::open(&store).await;
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    let next = |next, flow| MailRow { next_at: Some(at(next)), ..mail_row(flow) };
    let waiting = next(90, &shop.flow);
    let others = [
        next(80, &shop.flow),
        next(90, &sibling),
        MailRow { attempts: 1, ..next(90, &shop.flow) },
        MailRow { kind: MailKind::Notice, ..next(90, &shop.flow) },
    ];
    add(&store, std::slice::from_ref(&waiting)).await;
    add(&store, &others).await;
    let (app_id, flow_id) = (shop.app(), shop.flow.flow_id);
    let moved = MailWrite::Reschedule { app_id, flow_id, from: at(90), to: at(70) };
    write(&store, vec![moved]).await.unwrap();
    let expected = MailRow { next_at: Some(at(70)), revision: 1, ..waiting.clone() };
    assert_eq!(found(&store, &waiting).await, Some(expected));
    for row in others {
        assert_eq!(found(&store, &row).await, Some(row));
    }
}

pub(super) async fn invitations_of_a_closed_flow_wait_until_it_opens(store: TheStore) {
    let shop = Shop::open(&store).await;
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    let ended = |ended, flow| MailRow { ended, next_at: None, ..mail_row(flow) };
    let closed = ended(Some(MailEnd::Closed), &shop.flow);
    let others = [
        ended(Some(MailEnd::Stopped), &shop.flow),
        ended(Some(MailEnd::Closed), &sibling),
        ended(None, &shop.flow),
    ];
    add(&store, std::slice::from_ref(&closed)).await;
    add(&store, &others).await;
    let reopen = |at| {
        let (app_id, flow_id) = (shop.app(), shop.flow.flow_id);
        vec![MailWrite::Reopen { app_id, flow_id, at }]
    };
    write(&store, reopen(Some(at(70)))).await.unwrap();
    let open = MailRow { ended: None, next_at: Some(at(70)), revision: 1, ..closed.clone() };
    assert_eq!(found(&store, &closed).await, Some(open.clone()));
    // One that does not wait for it is left as it is.
    write(&store, reopen(None)).await.unwrap();
    assert_eq!(found(&store, &closed).await, Some(open.clone()));
    let settle =
        MailWrite::Settle { row: MailRow { next_at: None, ..closed.clone() }, revision: 1 };
    write(&store, vec![settle]).await.unwrap();
    write(&store, reopen(None)).await.unwrap();
    let over = found(&store, &closed).await.unwrap();
    assert_eq!((over.ended, over.next_at), (Some(MailEnd::Stopped), None));

    // One at a time, the oldest first.
    let made = |minute: i64| MailRow {
        created_at: at(minute),
        ..ended(Some(MailEnd::Closed), &shop.flow)
    };
    let waiting = [made(3), made(1), made(2)];
    add(&store, &waiting).await;
    for sent in [1, 2, 3] {
        let (app_id, flow_id) = (shop.app(), shop.flow.flow_id);
        write(&store, vec![MailWrite::ReopenOne { app_id, flow_id, at: at(80) }]).await.unwrap();
        for row in &waiting {
            let is_sent = row.created_at <= at(sent);
            let found = found(&store, row).await.unwrap();
            assert_eq!(found.next_at, is_sent.then(|| at(80)), "{sent}");
            assert_eq!(found.ended.is_none(), is_sent, "{sent}");
        }
    }
    for row in others {
        assert_eq!(found(&store, &row).await, Some(row));
    }
}

pub(super) async fn waiting_mails_from_before_a_time_are_listed_by_id(store: TheStore) {
    let shop = Shop::open(&store).await;
    let made = |created: i64, next, attempts| MailRow {
        created_at: at(created),
        next_at: next,
        attempts,
        ..mail_row(&shop.flow)
    };
    let due = made(5, Some(at(20)), 0);
    let again = made(5, Some(at(90)), 2);
    let others = [
        made(5, Some(at(21)), 0),
        made(5, None, 2),
        made(10, Some(at(20)), 0),
        made(11, Some(at(90)), 1),
    ];
    let mut expected = vec![due.clone(), again.clone()];
    expected.sort_by_key(|row| row.mail_id);
    add(&store, &expected).await;
    add(&store, &others).await;
    let listed = async |after, limit| {
        let mut rows = store.list_waiting_mails(at(10), at(20), after, limit).await.unwrap();
        rows.retain(|row| row.flow_id == Some(shop.flow.flow_id));
        rows
    };
    assert_eq!(listed(None, 10_000).await, expected);
    assert_eq!(listed(Some(expected[0].mail_id), 10_000).await, expected[1..]);
    assert_eq!(store.list_waiting_mails(at(10), at(20), None, 1).await.unwrap().len(), 1);
}

pub(super) async fn a_store_is_held_until_it_is_released(store: TheStore) {
    assert_eq!(store.outbound_held_at().await.unwrap(), None);
    for held in [Some(at(5)), Some(at(6)), None] {
        store.apply(At::Instance, vec![Write::HoldOutbound(held)].into()).await.unwrap();
        assert_eq!(store.outbound_held_at().await.unwrap(), held);
    }
}
