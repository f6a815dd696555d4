//! Publishing to a sink: order, repetition, refusals, and the change of nodes, with a clock that
//! the test sets. The sink is scripted; `crates/sluice/tests/cli/nats` has a real one.

use crate::support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluice_engine::clock::Clock as _;
use sluice_engine::outbound::{self, ResumeChoice, SinkState};
use sluice_engine::rows::Scope;
use sluice_engine::sink::{EventSink, PublishFuture, SinkError, SinkOptions, TooLarge};
use sluice_engine::{AppView, Options, Store};
use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::{Payload, created_id};
use sluice_flow::id::{AppId, EventId, FlowVersionId, v7};
use sluice_store::{AdminStore as _, At, Change, EventRow, SinkLease, SinkStore as _, Write};
use support::{World, accepted, submission};

/// A sink that remembers what it got, and refuses what the test says.
#[derive(Debug, Default)]
struct Recorder {
    got: Mutex<Vec<(AppId, EventId)>>,
    refuses: Mutex<Option<(Option<AppId>, SinkError)>>,
    /// What it cannot take as a whole, and whether it takes nothing of it.
    too_large: Mutex<Option<(EventId, bool)>>,
    /// It never answers.
    hangs: AtomicBool,
}

impl Recorder {
    fn got(&self, app: AppId) -> Vec<EventId> {
        let got = self.got.lock().unwrap();
        got.iter().filter(|(of, _)| *of == app).map(|(_, id)| *id).collect()
    }

    fn refuse(&self, app: Option<AppId>, error: Option<SinkError>) {
        *self.refuses.lock().unwrap() = error.map(|error| (app, error));
    }
}

impl EventSink for Recorder {
    fn name(&self) -> &str {
        "test/one"
    }

    fn publish<'s>(&'s self, app: AppId, events: &'s [Payload]) -> PublishFuture<'s> {
        Box::pin(async move {
            if self.hangs.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            match &*self.refuses.lock().unwrap() {
                Some((of, error)) if of.is_none_or(|of| of == app) => return Err(error.clone()),
                _ => {}
            }
            let mut got = self.got.lock().unwrap();
            got.extend(events.iter().map(|event| (app, event.id)));
            let too_large = *self.too_large.lock().unwrap();
            let of_page = too_large.filter(|(id, _)| events.iter().any(|event| event.id == *id));
            let too_large = of_page.map(|(event, is_skipped)| TooLarge {
                event,
                bytes: 9,
                bytes_max: 8,
                is_skipped,
                advice: "raise it",
            });
            Ok(too_large.into_iter().collect())
        })
    }
}

fn options(sink: &Arc<Recorder>) -> Options {
    let sink = Arc::clone(sink) as Arc<dyn EventSink>;
    Options { sink: Some(SinkOptions { sink, apps: Vec::new() }), ..Options::default() }
}

/// An app with a published flow.
struct Shop {
    app: AppId,
    view: Arc<AppView>,
    version: FlowVersionId,
}

impl Shop {
    async fn open(world: &World) -> Self {
        let app = world.app().await;
        let flow = world.flow(&app).await.flow.flow_id;
        let version = world.publish(flow).await.flow_version_id;
        Self { app: app.row.app_id, view: world.view(&app).await, version }
    }

    async fn submit(&self, world: &World) -> EventId {
        let receipt = world.submit(&self.view, &submission(self.version)).await;
        created_id(accepted(receipt).response_id)
    }

    async fn log(&self, world: &World) -> Vec<EventId> {
        let handle = world.engine.app(&world.actor, Scope::Read, self.app).await.unwrap();
        let page = handle.read_events(&EventFilter::default(), None, 1_000).await.unwrap();
        page.events.iter().map(|event| event.payload.id).collect()
    }
}

/// Publishes until the condition holds.
async fn until(world: &World, condition: impl Fn() -> bool) {
    let enough = async {
        while !condition() {
            world.clock.advance_millis(500);
            world.engine.upkeep().publish_events().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), enough).await.unwrap();
}

fn unavailable() -> Option<SinkError> {
    Some(SinkError::Unavailable("away".to_owned()))
}

#[tokio::test]
async fn the_log_is_published_from_its_beginning_in_order() {
    let sink = Arc::new(Recorder::default());
    let world = World::with(options(&sink)).await;
    let shop = Shop::open(&world).await;
    for _ in 0..300 {
        shop.submit(&world).await;
        world.clock.advance_millis(1);
    }
    until(&world, || sink.got(shop.app).len() > 300).await;
    let log = shop.log(&world).await;
    assert_eq!(log.len(), 301, "one was the publish");
    assert_eq!(sink.got(shop.app), log);
    let text = world.engine.health().metrics_text();
    assert!(text.contains("sluice_sink_events_total{outcome=\"published\"} 301"), "{text}");
    assert!(text.contains("sluice_sink_lag_seconds 0.0"), "{text}");
}

#[tokio::test]
async fn nothing_is_skipped_while_the_sink_takes_nothing() {
    let sink = Arc::new(Recorder::default());
    let world = World::with(options(&sink)).await;
    let shop = Shop::open(&world).await;
    until(&world, || sink.got(shop.app).len() == 1).await;
    sink.refuse(None, unavailable());
    let waiting = shop.submit(&world).await;
    world.clock.advance_millis(90_000);
    assert!(!world.engine.upkeep().publish_events().await.unwrap());
    let text = world.engine.health().metrics_text();
    let lag = text.lines().find_map(|line| line.strip_prefix("sluice_sink_lag_seconds "));
    assert_eq!(lag.unwrap().parse::<f64>().unwrap(), 90.0);
    sink.refuse(None, None);
    until(&world, || sink.got(shop.app).len() == 2).await;
    assert_eq!(sink.got(shop.app)[1], waiting);
}

#[tokio::test]
async fn a_refusal_holds_up_its_app_only() {
    let sink = Arc::new(Recorder::default());
    let world = World::with(options(&sink)).await;
    let (one, two) = (Shop::open(&world).await, Shop::open(&world).await);
    sink.refuse(Some(one.app), Some(SinkError::Refused("too long".to_owned())));
    two.submit(&world).await;
    until(&world, || sink.got(two.app).len() == 2).await;
    assert_eq!(sink.got(one.app), []);
    sink.refuse(None, None);
    until(&world, || sink.got(one.app).len() == 1).await;
}

#[tokio::test]
async fn only_chosen_apps_are_published() {
    let sink = Arc::new(Recorder::default());
    let world = World::new().await;
    let (one, two) = (Shop::open(&world).await, Shop::open(&world).await);
    let mut chosen = options(&sink);
    chosen.sink.as_mut().unwrap().apps = vec![two.app];
    let world = world.another_with(chosen).await;
    until(&world, || !sink.got(two.app).is_empty()).await;
    assert_eq!(sink.got(one.app), []);
}

#[tokio::test]
async fn one_node_publishes_and_another_continues_where_it_stopped() {
    let sinks = [(); 3].map(|()| Arc::new(Recorder::default()));
    let first = World::with(options(&sinks[0])).await;
    let shop = Shop::open(&first).await;
    until(&first, || sinks[0].got(shop.app).len() == 1).await;
    let second = first.another_with(options(&sinks[1])).await;
    assert!(!second.engine.upkeep().publish_events().await.unwrap(), "the first one has the lease");
    let of_first = shop.submit(&first).await;
    until(&first, || sinks[0].got(shop.app).len() == 2).await;
    assert_eq!(sinks[0].got(shop.app)[1], of_first);
    assert_eq!(sinks[1].got(shop.app), []);
    // It stops in order: the lease is given back at once.
    first.engine.close().await;
    let of_second = shop.submit(&second).await;
    until(&second, || sinks[1].got(shop.app).len() == 1).await;
    assert_eq!(sinks[1].got(shop.app), [of_second]);
    // It is killed: the lease ends by itself.
    let third = second.another_with(options(&sinks[2])).await;
    drop(second);
    let of_third = shop.submit(&third).await;
    assert!(!third.engine.upkeep().publish_events().await.unwrap(), "still leased");
    third.clock.advance_millis(15_000);
    until(&third, || sinks[2].got(shop.app).contains(&of_third)).await;
}

#[tokio::test]
async fn a_node_that_cannot_reach_the_sink_leaves_it_to_another() {
    let sinks = [(); 2].map(|()| Arc::new(Recorder::default()));
    let first = World::with(options(&sinks[0])).await;
    sinks[0].refuse(None, unavailable());
    let shop = Shop::open(&first).await;
    first.clock.advance_millis(1_000);
    assert!(!first.engine.upkeep().publish_events().await.unwrap());
    let second = first.another_with(options(&sinks[1])).await;
    until(&second, || sinks[1].got(shop.app).len() == 1).await;
    assert_eq!(sinks[0].got(shop.app), []);
}

#[tokio::test]
async fn nothing_is_written_while_nothing_is_new() {
    let sink = Arc::new(Recorder::default());
    let world = World::with(options(&sink)).await;
    let shop = Shop::open(&world).await;
    until(&world, || sink.got(shop.app).len() == 1).await;
    let of = |count: &std::sync::atomic::AtomicUsize| count.load(Ordering::Relaxed);
    let (writes, reads) = (of(&world.faults.webhook_writes), of(&world.faults.log_reads));
    // Reads of an idle log are half a second apart, and writes were a second apart.
    let idle = async {
        while of(&world.faults.log_reads) < reads + 6 {
            world.clock.advance_millis(1_000);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), idle).await.unwrap();
    assert_eq!(of(&world.faults.webhook_writes), writes, "an idle log was noted");
    // The lease has ended meanwhile: it is taken again for the next event.
    let next = shop.submit(&world).await;
    let published = async {
        while !sink.got(shop.app).contains(&next) {
            world.clock.advance_millis(500);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), published).await.unwrap();
    assert_eq!(sink.got(shop.app).len(), 2, "nothing is published again");
    assert!(of(&world.faults.webhook_writes) > writes);
}

#[tokio::test]
async fn nodes_that_wait_publish_nothing_twice() {
    let sinks = [(); 2].map(|()| Arc::new(Recorder::default()));
    let first = World::with(options(&sinks[0])).await;
    let shop = Shop::open(&first).await;
    let second = first.another_with(options(&sinks[1])).await;
    let mut submitted = Vec::new();
    for _ in 0..6 {
        // Neither has the lease any more, and both see the next event.
        first.clock.advance_millis(60_000);
        submitted.push(shop.submit(&first).await);
        let all = || sinks.iter().map(|sink| sink.got(shop.app).len()).sum::<usize>();
        let published = async {
            while all() < submitted.len() + 1 {
                // As fast as the time of the interval in which positions are saved.
                first.clock.advance_millis(20);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), published).await.unwrap();
        let saved = first.engine.upkeep().publish_events().await.unwrap();
        assert!(saved || second.engine.upkeep().publish_events().await.unwrap());
    }
    let mut got: Vec<EventId> = sinks.iter().flat_map(|sink| sink.got(shop.app)).collect();
    got.sort();
    assert_eq!(got, shop.log(&first).await);
}

#[tokio::test]
async fn an_event_that_is_too_large_is_named_and_the_position_moves() {
    for (is_skipped, outcome) in [(false, "without_contents"), (true, "skipped")] {
        let sink = Arc::new(Recorder::default());
        let world = World::with(options(&sink)).await;
        let shop = Shop::open(&world).await;
        until(&world, || sink.got(shop.app).len() == 1).await;
        let large = shop.submit(&world).await;
        *sink.too_large.lock().unwrap() = Some((large, is_skipped));
        until(&world, || sink.got(shop.app).len() == 2).await;
        let after = shop.submit(&world).await;
        until(&world, || sink.got(shop.app).contains(&after)).await;
        assert_eq!(sink.got(shop.app), shop.log(&world).await, "nothing is published again");
        let text = world.engine.health().metrics_text();
        let count = |outcome| format!("sluice_sink_events_total{{outcome=\"{outcome}\"}}");
        assert!(text.contains(&format!("{} 1", count(outcome))), "{text}");
        assert!(text.contains(&format!("{} 2", count("published"))), "{text}");
    }
}

#[tokio::test]
async fn an_event_of_a_newer_release_stops_its_app_and_no_other() {
    let sink = Arc::new(Recorder::default());
    let world = World::new().await;
    let (one, two) = (Shop::open(&world).await, Shop::open(&world).await);
    world.clock.advance_millis(1_000);
    let before = one.log(&world).await;
    let newer = EventRow {
        app_id: one.app,
        event_id: EventId::from_uuid(v7(world.clock.now(), 0, 7)),
        flow_id: None,
        kind: "flow.renamed".to_owned(),
        body: "{}".to_owned(),
    };
    let change = Change::new(|| vec![Write::Event(newer)]);
    world.faults.apply(At::Instance, change).await.unwrap();
    world.clock.advance_millis(1_000);
    one.submit(&world).await;
    two.submit(&world).await;
    let world = world.another_with(options(&sink)).await;
    until(&world, || sink.got(two.app).len() == 2).await;
    until(&world, || sink.got(one.app).len() == 1).await;
    world.clock.advance_millis(60_000);
    two.submit(&world).await;
    until(&world, || sink.got(two.app).len() == 3).await;
    assert_eq!(sink.got(one.app), before, "what precedes it, once");
    // The lease is free for a node that knows the type.
    let sink = EventSink::name(&*sink).to_owned();
    let now = world.clock.now();
    let lease = SinkLease { sink, worker: [7; 16], now, until: now.plus_seconds(15) };
    let taken = async {
        while !world.faults.lease_sink(lease.clone()).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), taken).await.unwrap();
}

#[tokio::test]
async fn a_sink_that_hangs_is_left_before_the_lease_ends() {
    let sink = Arc::new(Recorder::default());
    let world = World::with(options(&sink)).await;
    let shop = Shop::open(&world).await;
    sink.hangs.store(true, Ordering::Relaxed);
    world.clock.advance_millis(1_000);
    assert!(!world.engine.upkeep().publish_events().await.unwrap());
    let text = world.engine.health().metrics_text();
    assert!(text.contains("sluice_sink_events_total{outcome=\"failed\"} "), "{text}");
    // The lease was given back: another node gets it while its time still runs.
    let other = Arc::new(Recorder::default());
    let another = world.another_with(options(&other)).await;
    while !another.engine.upkeep().publish_events().await.unwrap() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(other.got(shop.app).len(), 1);
}

/// Publishes, stores one more response, and marks the store as a copy; another server runs on it.
async fn copied(sink: &Arc<Recorder>) -> (World, Shop, EventId) {
    let of_original = Arc::new(Recorder::default());
    let original = World::with(options(&of_original)).await;
    let shop = Shop::open(&original).await;
    until(&original, || of_original.got(shop.app).len() == 1).await;
    original.engine.close().await;
    let quiet = original.another().await;
    quiet.clock.advance_millis(1_000);
    let old = shop.submit(&quiet).await;
    quiet.clock.advance_millis(1_000);
    let store = Arc::clone(&quiet.faults) as Arc<dyn Store>;
    outbound::hold(&store, quiet.clock.now()).await.unwrap();
    let copy = quiet.another_with(options(sink)).await;
    copy.clock.advance_millis(15_000);
    (copy, shop, old)
}

#[tokio::test]
async fn a_copy_that_drops_what_waits_publishes_what_happened_since_the_hold() {
    for (waiting, includes_old) in [(ResumeChoice::Drop, false), (ResumeChoice::Send, true)] {
        let sink = Arc::new(Recorder::default());
        let (copy, shop, old) = copied(&sink).await;
        let new = shop.submit(&copy).await;
        copy.clock.advance_millis(1_000);
        assert!(!copy.engine.upkeep().publish_events().await.unwrap());
        assert_eq!(sink.got(shop.app), []);
        let instance = copy.engine.instance(&copy.actor).unwrap();
        instance.resume_outbound(waiting).await.unwrap();
        until(&copy, || sink.got(shop.app).contains(&new)).await;
        assert_eq!(sink.got(shop.app).contains(&old), includes_old, "{waiting:?}");
    }
}

#[tokio::test]
async fn a_held_sink_is_named_with_its_real_lag() {
    let sink = Arc::new(Recorder::default());
    let (copy, _, old) = copied(&sink).await;
    let instance = copy.engine.instance(&copy.actor).unwrap();
    let name = "test/one".to_owned();
    let waits = SinkState { name: name.clone(), waiting_since: Some(old.made_at()) };
    assert_eq!(instance.outbound().await.unwrap().sinks, [waits]);
    assert!(!copy.engine.upkeep().publish_events().await.unwrap());
    let text = copy.engine.health().metrics_text();
    let lag = text.lines().find_map(|line| line.strip_prefix("sluice_sink_lag_seconds "));
    assert_eq!(lag.unwrap().parse::<f64>().unwrap(), 16.0);
    instance.resume_outbound(ResumeChoice::Drop).await.unwrap();
    let state = SinkState { name, waiting_since: None };
    assert_eq!(instance.outbound().await.unwrap().sinks, [state]);
}
