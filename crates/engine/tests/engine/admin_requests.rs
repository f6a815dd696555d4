//! Requests with an idempotency key, over two processes on one database: attempts that stop at any
//! point, and those that come after them.

use bytes::Bytes;
use sluice_engine::admin_requests::{
    Claimed, KEPT_SECONDS, LEASE_SECONDS, RequestClaim, StoredReply,
};
use sluice_engine::idempotency::IdempotencyKey;
use sluice_engine::{AdminResult, AppDetail};
use sluice_store::Page;

use crate::support::World;

const LEASE_MILLIS: i64 = LEASE_SECONDS * 1_000;

async fn claim(world: &World, body: &str) -> Claimed {
    let key = IdempotencyKey::parse(b"one").unwrap();
    let parts = [&b"POST"[..], body.as_bytes()];
    world.engine.requests().claim(&world.actor, "secret", &key, &parts).await.unwrap()
}

#[track_caller]
fn new(claimed: Claimed) -> RequestClaim {
    match claimed {
        Claimed::New(claim) => claim,
        other => panic!("not to be carried out: {other:?}"),
    }
}

async fn create_app(world: &World, claim: &RequestClaim) -> AdminResult<AppDetail> {
    let instance = world.engine.instance(&world.actor).unwrap();
    claim.scope().run(instance.create_app("Acme")).await
}

async fn apps(world: &World) -> usize {
    let page = Page { after: None, limit: 100 };
    world.engine.list_apps(&world.actor, page).await.unwrap().len()
}

fn reply() -> StoredReply {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    StoredReply { status: 201, headers, body: Bytes::from_static(b"{\n\"token\":\"s\"}") }
}

#[tokio::test]
async fn a_finished_request_is_replayed_by_every_process() {
    let world = World::new().await;
    let other = world.another().await;
    let claim_of_first = new(claim(&world, "a").await);
    assert!(matches!(claim(&other, "a").await, Claimed::InProgress));
    create_app(&world, &claim_of_first).await.unwrap();
    assert!(claim_of_first.was_applied());
    claim_of_first.finish(&reply()).await.unwrap();
    for world in [&world, &other] {
        match claim(world, "a").await {
            Claimed::Replay(stored) => assert_eq!(stored, reply()),
            other => panic!("{other:?}"),
        }
        assert!(matches!(claim(world, "b").await, Claimed::Reused));
    }
    world.clock.advance_millis(KEPT_SECONDS * 1_000);
    new(claim(&other, "b").await);
}

#[tokio::test]
async fn an_attempt_that_stopped_before_its_write_is_taken_over_and_can_write_no_more() {
    let world = World::new().await;
    let other = world.another().await;
    let stalled = new(claim(&world, "a").await);
    world.clock.advance_millis(LEASE_MILLIS - 1);
    assert!(matches!(claim(&other, "a").await, Claimed::InProgress));
    world.clock.advance_millis(1);
    let second = new(claim(&other, "a").await);
    create_app(&world, &stalled).await.unwrap_err();
    assert_eq!(apps(&world).await, 0, "the first attempt has no effect any more");
    assert!(!stalled.was_applied());
    create_app(&other, &second).await.unwrap();
    // What the first attempt still does about its reply changes nothing.
    stalled.finish(&reply()).await.unwrap();
    stalled.give_up().await.unwrap();
    assert!(matches!(claim(&world, "a").await, Claimed::InProgress));
    second.finish(&reply()).await.unwrap();
    assert!(matches!(claim(&world, "a").await, Claimed::Replay(_)));
    assert_eq!(apps(&world).await, 1);
}

#[tokio::test]
async fn a_request_that_stopped_after_its_write_is_never_carried_out_again() {
    let world = World::new().await;
    let stopped = new(claim(&world, "a").await);
    world.clock.advance_millis(5_000);
    create_app(&world, &stopped).await.unwrap();
    drop(stopped);
    let other = world.another().await;
    world.clock.advance_millis(LEASE_MILLIS - 1);
    assert!(matches!(claim(&other, "a").await, Claimed::InProgress));
    let written_at = world.engine.now();
    world.clock.advance_millis(1);
    match claim(&other, "a").await {
        Claimed::ReplyLost { at } => assert!(at < written_at),
        other => panic!("{other:?}"),
    }
    assert_eq!(apps(&world).await, 1);
}

#[tokio::test]
async fn a_failed_request_may_be_sent_again_at_once_unless_it_has_written() {
    let world = World::new().await;
    new(claim(&world, "a").await).give_up().await.unwrap();
    // Even another request: nothing was done with the key.
    let second = new(claim(&world, "b").await);
    create_app(&world, &second).await.unwrap();
    second.give_up().await.unwrap();
    assert!(matches!(claim(&world, "b").await, Claimed::ReplyLost { .. }));
    assert_eq!(apps(&world).await, 1);
}

#[tokio::test]
async fn a_reply_that_is_too_long_is_not_stored() {
    let world = World::new().await;
    let claimed = new(claim(&world, "a").await);
    create_app(&world, &claimed).await.unwrap();
    let body = Bytes::from(vec![b'x'; 8 * 1024 * 1024 + 1]);
    claimed.finish(&StoredReply { body, ..reply() }).await.unwrap();
    assert!(matches!(claim(&world, "a").await, Claimed::ReplyLost { .. }));
}

#[tokio::test]
async fn the_replies_of_a_token_are_limited() {
    let world = World::new().await;
    let body = Bytes::from(vec![b'x'; 8 * 1024 * 1024 - 100]);
    for number in 0..9 {
        let key = IdempotencyKey::parse(format!("key {number}").as_bytes()).unwrap();
        let claimed =
            world.engine.requests().claim(&world.actor, "secret", &key, &[]).await.unwrap();
        new(claimed).finish(&StoredReply { body: body.clone(), ..reply() }).await.unwrap();
    }
    assert!(matches!(claim(&world, "a").await, Claimed::TooMany));
    world.clock.advance_millis(KEPT_SECONDS * 1_000);
    new(claim(&world, "a").await);
}
