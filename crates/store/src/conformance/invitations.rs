//! Invitations are listed and counted by state, and completed only once, even concurrently.

use std::sync::Arc;

use sluice_flow::id::{AssignmentId, ResponseId};
use sluice_flow::invitation::{InvitationState, InvitationTimes, Invitee, day_of};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;

use super::world::{Shop, TheStore, apply, at, flow_row, invitation_row, listed, revision};
use crate::{
    At, Change, FlowRow, InvitationCounts, InvitationPosition, InvitationQuery, InvitationRow,
    InvitationStep, Invited, NewResponse, Outcome, Page, StoreError, Write,
};

pub(super) async fn an_invitation_reads_back_as_it_was_given(store: TheStore) {
    let shop = Shop::open(&store).await;
    let bare = InvitationRow {
        invitee: Invitee { user_id: Some("é \u{1F600}".to_owned()), email: None },
        ..invitation_row(&shop.flow)
    };
    let full = InvitationRow {
        times: InvitationTimes {
            expires_at: Some(at(1)),
            opened_at: Some(at(2)),
            completed_at: Some(at(3)),
            revoked_at: Some(at(4)),
        },
        response_id: Some(super::world::response_id(3)),
        ..invitation_row(&shop.flow)
    };
    add(&store, &shop, &[bare.clone(), full.clone()]).await;
    for row in [bare, full] {
        assert_eq!(found(&store, row.assignment_id).await, row);
        // An existing invitation is left unchanged.
        let other = InvitationRow { invitee: Invitee::default(), ..row.clone() };
        add(&store, &shop, &[other]).await;
        assert_eq!(found(&store, row.assignment_id).await, row);
    }
    let absent = invitation_row(&shop.flow).assignment_id;
    assert_eq!(store.find_invitation(absent, None).await.unwrap(), None);
}

pub(super) async fn invitations_are_listed_in_creation_order_page_by_page(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut rows: Vec<InvitationRow> = [3, 1, 2, 1, 3, 2, 2]
        .map(|millis| InvitationRow { created_at: at(millis), ..invitation_row(&shop.flow) })
        .to_vec();
    add(&store, &shop, &rows).await;
    add(&store, &other, &[invitation_row(&other.flow)]).await;
    rows.sort_by_key(position);
    for limit in [1, 3, 7, 100] {
        let mut seen: Vec<InvitationRow> = Vec::new();
        loop {
            let after = seen.last().map(position);
            let page = list(&store, InvitationQuery { after, limit, ..query(&shop) }).await;
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            seen.extend(page);
        }
        assert_eq!(seen, rows, "pages of {limit}");
    }
}

pub(super) async fn a_state_filters_and_is_counted(store: TheStore) {
    let shop = Shop::open(&store).await;
    let of = |expires: Option<i64>, opened: Option<i64>, completed: Option<i64>, revoked| {
        let row = invitation_row(&shop.flow);
        let [expires_at, opened_at, completed_at, revoked_at] =
            [expires, opened, completed, revoked].map(|millis: Option<i64>| millis.map(at));
        let times = InvitationTimes { expires_at, opened_at, completed_at, revoked_at };
        InvitationRow { times, ..row }
    };
    let rows = [
        of(None, None, None, None),
        of(Some(10), None, None, None),
        of(Some(10), Some(1), None, None),
        of(Some(10), Some(1), Some(2), None),
        of(Some(10), Some(1), None, Some(2)),
        of(Some(5), None, Some(2), Some(3)),
    ];
    add(&store, &shop, &rows).await;
    for now in [4, 9, 10, 1_000].map(at) {
        let mut counts = InvitationCounts::default();
        for state in InvitationState::ALL {
            let mut expected: Vec<_> =
                rows.iter().filter(|row| row.times.state(now) == state).cloned().collect();
            expected.sort_by_key(position);
            *counts.of_state(state) = expected.len() as u64;
            let query = InvitationQuery { state: Some(state), now, ..query(&shop) };
            assert_eq!(list(&store, query).await, expected, "{state:?} at {now}");
        }
        let flow = shop.flow.flow_id;
        assert_eq!(store.count_invitations(shop.app(), flow, now).await.unwrap(), counts, "{now}");
    }
}

pub(super) async fn an_open_invitation_of_the_same_person_is_found(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let person = |user: Option<&str>, email: Option<&str>| Invitee {
        user_id: user.map(str::to_owned),
        email: email.map(str::to_owned),
    };
    let invite = |invitee: Invitee, times: InvitationTimes| InvitationRow {
        invitee,
        times,
        ..invitation_row(&shop.flow)
    };
    let open = InvitationTimes { expires_at: Some(at(10)), ..InvitationTimes::default() };
    let rows = [
        invite(person(Some("1"), Some("Ada@Mail.example")), open),
        invite(person(Some("2"), None), InvitationTimes { completed_at: Some(at(1)), ..open }),
        invite(person(Some("3"), None), InvitationTimes { revoked_at: Some(at(1)), ..open }),
        invite(person(None, Some("\u{d6}@mail.example")), open),
    ];
    add(&store, &shop, &rows).await;
    let asked = [
        (person(Some("1"), None), true),
        (person(Some("9"), None), false),
        (person(Some("9"), Some("aDA@mail.EXAMPLE")), true),
        (person(Some("1"), Some("nobody@mail.example")), true),
        (person(Some("2"), None), false),
        (person(Some("3"), None), false),
        (person(None, Some("\u{d6}@MAIL.example")), true),
        (person(None, Some("\u{f6}@mail.example")), false),
    ];
    let (invitees, expected): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let invited = async |shop: &Shop, now| {
        let invitees = invitees.clone();
        store.are_invited(shop.app(), shop.flow.flow_id, now, invitees).await.unwrap()
    };
    assert_eq!(invited(&shop, at(9)).await, expected);
    assert_eq!(
        invited(&shop, at(10)).await,
        vec![false; expected.len()],
        "an expired invitation counts"
    );
    assert_eq!(
        invited(&other, at(9)).await,
        vec![false; expected.len()],
        "an invitation of another flow counts"
    );
}

pub(super) async fn an_invitation_is_opened_once_without_raising_a_revision(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = invitation_row(&shop.flow);
    let (app, assignment) = (shop.app(), row.assignment_id);
    add(&store, &shop, &[row]).await;
    let before = revision(&store, app).await;
    for millis in [1, 2] {
        let step = InvitationStep::Open { app, assignment, at: at(millis) };
        let rows = vec![Write::Invitation(step)];
        store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    }
    assert_eq!(found(&store, assignment).await.times.opened_at, Some(at(1)));
    assert_eq!(revision(&store, app).await, before);
}

pub(super) async fn a_revoked_invitation_stays_revoked_and_a_completed_one_cannot_be_revoked(
    store: TheStore,
) {
    let shop = Shop::open(&store).await;
    let rows = [invitation_row(&shop.flow), invitation_row(&shop.flow)];
    add(&store, &shop, &rows).await;
    let [one, two] = rows.map(|row| row.assignment_id);
    let response = invited(&shop, &store, 1, two).await;
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    for (assignment, millis, is_revoked) in [(one, 2, true), (one, 3, false), (two, 3, false)] {
        let step = InvitationStep::Revoke { app: shop.app(), assignment, at: at(millis) };
        let expected = revision(&store, shop.app()).await;
        let position = At::App { app: shop.app(), expected };
        let revoked = store.apply(position, vec![Write::Invitation(step)].into()).await;
        assert_eq!(matches!(revoked, Err(StoreError::Conflict)), !is_revoked, "{revoked:?}");
    }
    assert_eq!(found(&store, one).await.times.revoked_at, Some(at(2)));
    assert_eq!(found(&store, two).await.times.revoked_at, None);
}

pub(super) async fn a_response_completes_its_invitation(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = invitation_row(&shop.flow);
    add(&store, &shop, std::slice::from_ref(&row)).await;
    let mut response = invited(&shop, &store, 7, row.assignment_id).await;
    response.row.admission = Admission::Admitted;
    response.row.flow_assignment_id = Some(row.assignment_id.to_string());
    let id = response.row.response_id;
    // Other responses in the batch are not affected.
    let batch = vec![shop.response(&store, 8).await, response, shop.response(&store, 9).await];
    assert_eq!(store.commit(batch).await.unwrap(), [Outcome::Stored; 3]);
    let now = found(&store, row.assignment_id).await;
    assert_eq!((now.times.completed_at, now.response_id), (Some(at(7)), Some(id)));
    let stored = store.find_response(id).await.unwrap().unwrap();
    assert_eq!(stored.flow_assignment_id, Some(row.assignment_id.to_string()));
}

pub(super) async fn an_unlinked_response_leaves_only_the_day_of_completion(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = invitation_row(&shop.flow);
    add(&store, &shop, std::slice::from_ref(&row)).await;
    let mut response = invited(&shop, &store, 7, row.assignment_id).await;
    response.invitation = Some(Invited { assignment_id: row.assignment_id, linked: false });
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    let now = found(&store, row.assignment_id).await;
    assert_eq!((now.times.completed_at, now.response_id), (Some(day_of(at(7))), None));
    assert_eq!(
        found(&store, row.assignment_id).await.times.state(at(7)),
        InvitationState::Completed
    );
}

pub(super) async fn an_invitation_that_is_not_open_accepts_no_response(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let with = |times: InvitationTimes| InvitationRow { times, ..invitation_row(&shop.flow) };
    let none = InvitationTimes::default();
    let rows = [
        with(InvitationTimes { completed_at: Some(at(0)), ..none }),
        with(InvitationTimes { revoked_at: Some(at(0)), ..none }),
        with(InvitationTimes { expires_at: Some(at(7)), ..none }),
        with(InvitationTimes { expires_at: Some(at(8)), ..none }),
        with(InvitationTimes { opened_at: Some(at(0)), ..none }),
    ];
    add(&store, &shop, &rows).await;
    let mut ids = rows.each_ref().map(|row| row.assignment_id).to_vec();
    let elsewhere = invitation_row(&other.flow);
    add(&store, &other, std::slice::from_ref(&elsewhere)).await;
    ids.extend([elsewhere.assignment_id, invitation_row(&shop.flow).assignment_id]);
    let mut batch = Vec::new();
    for id in &ids {
        batch.push(invited(&shop, &store, 7, *id).await);
    }
    let mut of_another_flow = invited(&shop, &store, 7, ids[4]).await;
    of_another_flow.row.flow_id = other.flow.flow_id;
    batch.insert(0, of_another_flow);
    use Outcome::{Stored, Uninvited};
    let expected =
        [Uninvited, Uninvited, Uninvited, Uninvited, Stored, Stored, Uninvited, Uninvited];
    assert_eq!(store.commit(batch).await.unwrap(), expected);
    assert_eq!(listed(&store, &shop.query()).await.len(), 2);
    assert_eq!(found(&store, elsewhere.assignment_id).await, elsewhere);
    for row in &rows[..3] {
        assert_eq!(found(&store, row.assignment_id).await, *row);
    }
}

pub(super) async fn only_the_first_row_of_a_call_with_the_same_invitation_is_stored(
    store: TheStore,
) {
    let shop = Shop::open(&store).await;
    let row = invitation_row(&shop.flow);
    add(&store, &shop, std::slice::from_ref(&row)).await;
    let first = invited(&shop, &store, 1, row.assignment_id).await;
    let second = invited(&shop, &store, 2, row.assignment_id).await;
    let id = first.row.response_id;
    let outcomes = store.commit(vec![first, second]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Uninvited]);
    assert_eq!(listed(&store, &shop.query()).await, [id]);
    assert_eq!(found(&store, row.assignment_id).await.response_id, Some(id));
}

pub(super) async fn a_retry_with_its_key_is_replayed_although_its_invitation_is_used(
    store: TheStore,
) {
    let shop = Shop::open(&store).await;
    let row = invitation_row(&shop.flow);
    add(&store, &shop, std::slice::from_ref(&row)).await;
    let keyed = async |millis| {
        let mut response = invited(&shop, &store, millis, row.assignment_id).await;
        response.idempotency_key = Some([9; 16]);
        response.row.digest = [1; 16];
        response
    };
    let (first, again) = (keyed(1).await, keyed(2).await);
    let id = first.row.response_id;
    let outcomes = store.commit(vec![first, again]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Replayed(id)]);
    assert_eq!(store.commit(vec![keyed(3).await]).await.unwrap(), [Outcome::Replayed(id)]);
    let mut other = keyed(4).await;
    other.row.digest = [2; 16];
    assert_eq!(store.commit(vec![other]).await.unwrap(), [Outcome::KeyReused]);
    assert_eq!(listed(&store, &shop.query()).await, [id]);
}

pub(super) async fn a_refused_row_leaves_its_invitation_and_its_key_free(store: TheStore) {
    let shop = Shop::open(&store).await;
    let rows = [invitation_row(&shop.flow), invitation_row(&shop.flow)];
    add(&store, &shop, &rows).await;
    let [one, two] = rows.map(|row| row.assignment_id);
    let first = invited(&shop, &store, 1, one).await;
    // A new key, but a used invitation.
    let mut late = invited(&shop, &store, 2, one).await;
    late.idempotency_key = Some([9; 16]);
    let mut stale = invited(&shop, &store, 3, two).await;
    stale.public_revision += 1;
    let mut taker = shop.response(&store, 4).await;
    taker.idempotency_key = Some([9; 16]);
    let outcomes = store.commit(vec![first, late, stale, taker]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Uninvited, Outcome::Stale, Outcome::Stored]);
    // A used key leaves the invitation open.
    let mut reused = invited(&shop, &store, 5, two).await;
    reused.idempotency_key = Some([9; 16]);
    assert_eq!(store.commit(vec![reused]).await.unwrap(), [Outcome::KeyReused]);
    assert_eq!(found(&store, two).await.times.completed_at, None);
    let last = invited(&shop, &store, 6, two).await;
    assert_eq!(store.commit(vec![last]).await.unwrap(), [Outcome::Stored]);
}

pub(super) async fn one_of_many_concurrent_responses_with_one_invitation_is_stored(
    store: TheStore,
) {
    let shop = Shop::open(&store).await;
    let row = invitation_row(&shop.flow);
    add(&store, &shop, std::slice::from_ref(&row)).await;
    let mut callers = Vec::new();
    for millis in 0..40 {
        let mut response = invited(&shop, &store, millis, row.assignment_id).await;
        response.idempotency_key = (millis % 2 == 0).then(|| [u8::try_from(millis).unwrap(); 16]);
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move { store.commit(vec![response]).await }));
    }
    let mut outcomes = Vec::new();
    for caller in callers {
        outcomes.extend(caller.await.unwrap().unwrap());
    }
    let stored = listed(&store, &shop.query()).await;
    assert_eq!(stored.len(), 1);
    assert_eq!(found(&store, row.assignment_id).await.response_id, Some(stored[0]));
    assert_eq!(outcomes.iter().filter(|it| **it == Outcome::Stored).count(), 1);
    assert_eq!(outcomes.iter().filter(|it| **it == Outcome::Uninvited).count(), 39);
}

pub(super) async fn batches_that_share_many_invitations_complete_each_once(store: TheStore) {
    const BATCHES: usize = 12;
    let shop = Shop::open(&store).await;
    let rows: Vec<InvitationRow> = (0..30).map(|_| invitation_row(&shop.flow)).collect();
    add(&store, &shop, &rows).await;
    let mut callers = Vec::new();
    for number in 0..BATCHES {
        let mut batch = Vec::new();
        for row in &rows {
            batch.push(invited(&shop, &store, 1, row.assignment_id).await);
        }
        // Each batch in a different order, which would expose a deadlock.
        batch.rotate_left(number * 7 % rows.len());
        if number % 2 == 0 {
            batch.reverse();
        }
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move { store.commit(batch).await }));
    }
    let mut stored = 0;
    for caller in callers {
        let outcomes = caller.await.unwrap().unwrap();
        stored += outcomes.iter().filter(|outcome| **outcome == Outcome::Stored).count();
        assert!(outcomes.iter().all(|it| matches!(it, Outcome::Stored | Outcome::Uninvited)));
    }
    assert_eq!(stored, rows.len());
    let mut named: Vec<ResponseId> = Vec::new();
    for row in &rows {
        named.extend(found(&store, row.assignment_id).await.response_id);
    }
    named.sort();
    assert_eq!(named, listed(&store, &shop.query()).await);
}

pub(super) async fn invitations_of_a_person_are_listed_across_flows_page_by_page(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let flow = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(flow.clone())]).await;
    let of = |flow: &FlowRow, user: &str, email: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let invitee = Invitee { user_id: some(user), email: some(email) };
        InvitationRow { invitee, ..invitation_row(flow) }
    };
    let mut theirs = vec![
        of(&shop.flow, "1", "other@mail.example"),
        of(&flow, "", "ADA@mail.example"),
        of(&shop.flow, "1", "ada@mail.example"),
        of(&flow, "9", "Ada@Mail.example"),
    ];
    add(&store, &shop, &theirs).await;
    let others =
        [of(&shop.flow, "2", "bob@mail.example"), of(&shop.flow, "", "other@mail.example")];
    add(&store, &shop, &others).await;
    add(&store, &other, &[of(&other.flow, "1", "ada@mail.example")]).await;
    theirs.sort_by_key(|row| row.assignment_id);
    let known = [
        ProfileIdentity::new(IdentityType::UserId, "1"),
        ProfileIdentity::new(IdentityType::Email, "ada@mail.example"),
    ];
    for limit in [1, 3, 10] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = Page { after, limit };
            let page = store.list_invitations_of(shop.app(), &known, page).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.assignment_id);
            all.extend(page);
        }
        assert_eq!(all, theirs, "pages of {limit}");
    }
    let page = Page { after: None, limit: 10 };
    assert_eq!(store.list_invitations_of(shop.app(), &[], page).await.unwrap(), []);
}

async fn add(store: &TheStore, shop: &Shop, rows: &[InvitationRow]) {
    apply(store, shop.app(), vec![Write::Invitations(rows.to_vec())]).await;
}

async fn found(store: &TheStore, id: AssignmentId) -> InvitationRow {
    store.find_invitation(id, None).await.unwrap().unwrap()
}

async fn list(store: &TheStore, query: InvitationQuery) -> Vec<InvitationRow> {
    store.list_invitations(&query).await.unwrap()
}

/// All invitations of the shop's flow.
fn query(shop: &Shop) -> InvitationQuery {
    let now: Timestamp = at(0);
    let (app_id, flow_id) = (shop.app(), shop.flow.flow_id);
    InvitationQuery { app_id, flow_id, state: None, now, after: None, limit: 100 }
}

fn position(row: &InvitationRow) -> InvitationPosition {
    InvitationPosition { created_at: row.created_at, assignment_id: row.assignment_id }
}

/// A response with an invitation that may reference it.
async fn invited(shop: &Shop, store: &TheStore, millis: i64, id: AssignmentId) -> NewResponse {
    let invitation = Some(Invited { assignment_id: id, linked: true });
    NewResponse { invitation, ..shop.response(store, millis).await }
}
