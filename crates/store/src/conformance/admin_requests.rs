//! Requests with an idempotency key: claimed by one, and applied with their changes or not at all.

use std::sync::Arc;

use uuid::Uuid;

use super::world::{Shop, TheStore, at, request_row, token_row};
use crate::{
    AdminRequestRow, AdminRequestUse, AdminRequestWrite, At, Change, FeedPosition, StoreError,
    StoreResult, Write,
};

async fn write(store: &TheStore, write: AdminRequestWrite) -> StoreResult<()> {
    store.apply(At::Instance, vec![Write::AdminRequest(write)].into()).await
}

async fn claim(store: &TheStore, row: &AdminRequestRow) -> StoreResult<()> {
    write(store, AdminRequestWrite::Claim(row.clone())).await
}

async fn found(store: &TheStore, row: &AdminRequestRow) -> Option<AdminRequestRow> {
    store.find_admin_request(row.request_id).await.unwrap()
}

/// The same request, attempted again later.
fn later(row: &AdminRequestRow, millis: i64) -> AdminRequestRow {
    let claim = request_row().claim;
    AdminRequestRow {
        claim,
        claimed_at: at(millis),
        expires_at: at(millis + 8),
        fingerprint: [4; 32],
        ..row.clone()
    }
}

fn applied(row: &AdminRequestRow, millis: i64) -> AdminRequestWrite {
    let AdminRequestRow { request_id, claim, .. } = *row;
    AdminRequestWrite::Apply { request_id, claim, at: at(millis) }
}

fn finished(row: &AdminRequestRow, reply: &[u8]) -> AdminRequestWrite {
    let AdminRequestRow { request_id, claim, .. } = *row;
    AdminRequestWrite::Finish { request_id, claim, reply: reply.to_vec() }
}

fn released(row: &AdminRequestRow) -> AdminRequestWrite {
    AdminRequestWrite::Release { request_id: row.request_id, claim: row.claim }
}

fn taken_over(row: AdminRequestRow, from: Uuid) -> AdminRequestWrite {
    AdminRequestWrite::TakeOver { row, from }
}

#[track_caller]
fn conflicts(result: StoreResult<()>) {
    assert!(matches!(result, Err(StoreError::Conflict)), "{result:?}");
}

pub(super) async fn a_request_is_claimed_once(store: TheStore) {
    let row = request_row();
    assert_eq!(found(&store, &row).await, None);
    claim(&store, &row).await.unwrap();
    assert_eq!(found(&store, &row).await, Some(row.clone()));
    conflicts(claim(&store, &later(&row, 8)).await);
    assert_eq!(found(&store, &row).await, Some(row.clone()));
    write(&store, released(&row)).await.unwrap();
    assert_eq!(found(&store, &row).await, None);
    claim(&store, &later(&row, 3)).await.unwrap();
}

pub(super) async fn an_expired_request_is_claimed_again(store: TheStore) {
    let row = request_row();
    claim(&store, &row).await.unwrap();
    write(&store, applied(&row, 2)).await.unwrap();
    write(&store, finished(&row, b"reply")).await.unwrap();
    let again = later(&row, 9);
    claim(&store, &again).await.unwrap();
    assert_eq!(found(&store, &row).await, Some(again));
}

pub(super) async fn a_claim_without_effect_is_taken_over_once(store: TheStore) {
    let row = request_row();
    claim(&store, &row).await.unwrap();
    let (second, third) = (later(&row, 3), later(&row, 4));
    write(&store, taken_over(second.clone(), row.claim)).await.unwrap();
    conflicts(write(&store, taken_over(third, row.claim)).await);
    assert_eq!(found(&store, &row).await, Some(second.clone()));
    // The first can do nothing any more.
    conflicts(write(&store, applied(&row, 5)).await);
    write(&store, finished(&row, b"late")).await.unwrap();
    write(&store, released(&row)).await.unwrap();
    assert_eq!(found(&store, &row).await, Some(second));
}

pub(super) async fn a_claim_that_was_applied_is_never_taken_over_or_released(store: TheStore) {
    let row = request_row();
    claim(&store, &row).await.unwrap();
    write(&store, applied(&row, 2)).await.unwrap();
    let expected = AdminRequestRow { applied_at: Some(at(2)), ..row.clone() };
    conflicts(write(&store, taken_over(later(&row, 3), row.claim)).await);
    write(&store, released(&row)).await.unwrap();
    assert_eq!(found(&store, &row).await, Some(expected));
    // Nor one that was replied to without an effect.
    let row = request_row();
    claim(&store, &row).await.unwrap();
    write(&store, finished(&row, b"nothing to do")).await.unwrap();
    conflicts(write(&store, taken_over(later(&row, 3), row.claim)).await);
}

pub(super) async fn a_change_and_its_claim_are_written_together_or_not_at_all(store: TheStore) {
    let shop = Shop::open(&store).await;
    let revision = async || store.find_app(shop.app()).await.unwrap().unwrap().revision;
    let (row, token) = (request_row(), token_row());
    claim(&store, &row).await.unwrap();
    let rows = |row: &AdminRequestRow, token| {
        vec![Write::Token(token), Write::AdminRequest(applied(row, 2))]
    };
    // A change that is refused applies nothing.
    let at_app = |expected| At::App { app: shop.app(), expected };
    let before = revision().await;
    let stale = store.apply(at_app(before + 1), rows(&row, token.clone()).into()).await;
    conflicts(stale);
    assert_eq!(found(&store, &row).await, Some(row.clone()));
    // The change of a claim that was taken over is not written.
    let other = later(&row, 3);
    write(&store, taken_over(other.clone(), row.claim)).await.unwrap();
    conflicts(store.apply(at_app(before), rows(&row, token.clone()).into()).await);
    assert_eq!(store.find_token(&token.hash).await.unwrap(), None);
    assert_eq!(revision().await, before);
    store.apply(at_app(before), rows(&other, token.clone()).into()).await.unwrap();
    assert_eq!(store.find_token(&token.hash).await.unwrap(), Some(token));
    assert_eq!(found(&store, &row).await.unwrap().applied_at, Some(at(2)));
}

pub(super) async fn a_change_that_makes_no_rows_applies_nothing(store: TheStore) {
    let row = request_row();
    claim(&store, &row).await.unwrap();
    store.apply(At::Instance, Change::new(Vec::new)).await.unwrap();
    assert_eq!(found(&store, &row).await, Some(row));
}

pub(super) async fn a_reply_reads_back_and_only_its_claim_stores_it(store: TheStore) {
    for reply in [&b""[..], b"\0\xff sealed", &vec![7; 300_000]] {
        let row = request_row();
        claim(&store, &row).await.unwrap();
        write(&store, finished(&later(&row, 2), b"of another claim")).await.unwrap();
        assert_eq!(found(&store, &row).await, Some(row.clone()));
        write(&store, finished(&row, reply)).await.unwrap();
        let expected = AdminRequestRow { reply: Some(reply.to_vec()), ..row.clone() };
        assert_eq!(found(&store, &row).await, Some(expected));
    }
}

pub(super) async fn one_of_many_claims_succeeds(store: TheStore) {
    let row = request_row();
    let attempts: Vec<_> = (0..8)
        .map(|_| {
            let (store, row) = (Arc::clone(&store), later(&row, 1));
            tokio::spawn(async move { (claim(&store, &row).await, row) })
        })
        .collect();
    let mut winners = Vec::new();
    for attempt in attempts {
        match attempt.await.unwrap() {
            (Ok(()), row) => winners.push(row),
            (refused, _) => conflicts(refused),
        }
    }
    let [winner] = winners.as_slice() else { panic!("{} claims succeeded", winners.len()) };
    assert_eq!(found(&store, &row).await.as_ref(), Some(winner));
}

pub(super) async fn requests_are_counted_by_holder_until_they_expire(store: TheStore) {
    let first = request_row();
    let used = |now| store.admin_request_use(&first.holder, at(now));
    assert_eq!(used(2).await.unwrap(), AdminRequestUse::default());
    let second =
        AdminRequestRow { holder: first.holder.clone(), expires_at: at(20), ..request_row() };
    for row in [&first, &second, &request_row()] {
        claim(&store, row).await.unwrap();
    }
    write(&store, finished(&first, b"12345")).await.unwrap();
    assert_eq!(used(2).await.unwrap(), AdminRequestUse { count: 2, reply_bytes: 5 });
    assert_eq!(used(9).await.unwrap(), AdminRequestUse { count: 1, reply_bytes: 0 });
    assert_eq!(used(20).await.unwrap(), AdminRequestUse::default());
}

pub(super) async fn expired_requests_are_removed_in_batches(store: TheStore) {
    // Earlier than those of other cases, which share the database.
    let expiring = |millis| AdminRequestRow { expires_at: at(millis), ..request_row() };
    let rows = [expiring(-30), expiring(-20), expiring(-25), expiring(-10)];
    for row in &rows {
        claim(&store, row).await.unwrap();
    }
    assert_eq!(store.expire_admin_requests(at(-31), 10).await.unwrap(), 0);
    assert_eq!(store.expire_admin_requests(at(-20), 2).await.unwrap(), 2);
    let mut left = Vec::new();
    for row in &rows {
        left.push(found(&store, row).await.is_some());
    }
    assert_eq!(left, [false, true, false, true], "those that expired first go first");
    assert_eq!(store.expire_admin_requests(at(-20), 10).await.unwrap(), 1);
    assert_eq!(store.expire_admin_requests(at(-20), 10).await.unwrap(), 0);
    assert!(found(&store, &rows[3]).await.is_some());
}

pub(super) async fn requests_move_no_revision_and_no_feed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap();
    let position = store.changes(FeedPosition::END).await.unwrap().position;
    let row = request_row();
    claim(&store, &row).await.unwrap();
    write(&store, applied(&row, 2)).await.unwrap();
    write(&store, finished(&row, b"reply")).await.unwrap();
    assert_eq!(store.find_app(shop.app()).await.unwrap(), before);
    let changes = store.changes(position).await.unwrap();
    assert!(!changes.apps.contains(&shop.app()), "{changes:?}");
}
