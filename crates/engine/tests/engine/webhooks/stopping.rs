//! A server that stops: requests in progress are finished and recorded, and another server
//! continues at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use sluice_engine::rows::DeliveryState;
use sluice_flow::event::EventType;

use super::fair::{becomes, closed};
use super::hooked::{Does, Hooked, URL};

fn ids(it: &Hooked) -> Vec<String> {
    it.receivers.got(URL).iter().map(|body| body["id"].to_string()).collect()
}

#[tokio::test]
async fn a_stop_finishes_the_requests_in_progress_and_releases_the_lease() {
    let it = Hooked::new().await;
    let gate = closed();
    it.receivers.script(URL, &[Does::Until(Arc::clone(&gate), "taken")]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    for _ in 0..3 {
        it.submit().await;
    }
    it.settle();
    becomes("the first one is sent", || it.receivers.got(URL).len() == 1).await;
    it.world.engine.stop_sending(Duration::from_secs(60));
    let engine = Arc::clone(&it.world.engine);
    let closing = tokio::spawn(async move { engine.close().await });
    gate.add_permits(10_000);
    closing.await.unwrap();
    assert_eq!(it.receivers.got(URL).len(), 1, "nothing more was started");
    // No time passes: the lease was released, and the first event is not sent again.
    let it = it.restarted().await;
    let row = it.deliveries(endpoint).await.remove(0);
    assert_eq!((row.state, row.reply.as_deref()), (DeliveryState::Delivered, Some("taken")));
    becomes("the others follow", || it.receivers.got(URL).len() == 3).await;
    it.deliver().await;
    let sent = ids(&it);
    assert_eq!(sent.len(), 3);
    assert_eq!(sent.iter().collect::<HashSet<_>>().len(), 3, "each of them once");
}

#[tokio::test]
async fn a_request_that_takes_longer_than_a_stop_may_is_noted_and_sent_again() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Until(closed(), "")]);
    let endpoint = it.endpoint(URL, &[EventType::ResponseCreated]).await;
    it.submit().await;
    it.settle();
    becomes("it is sent", || it.receivers.got(URL).len() == 1).await;
    it.world.engine.stop_sending(Duration::ZERO);
    it.world.engine.close().await;
    it.receivers.script(URL, &[Does::Reply(200)]);
    let it = it.restarted().await;
    becomes("it is sent again, with no time between", || it.receivers.got(URL).len() == 2).await;
    it.deliver().await;
    let sent = ids(&it);
    assert_eq!(sent[0], sent[1]);
    let row = it.deliveries(endpoint).await.remove(0);
    assert_eq!((row.state, row.attempts), (DeliveryState::Delivered, 1), "no failure was counted");
}
