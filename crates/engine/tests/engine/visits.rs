//! Visits: counted in memory, written together, and read as a funnel that is exact.

use crate::support;

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_engine::funnel::{Funnel, FunnelFilter};
use sluice_engine::summary::AskedUntil;
use sluice_engine::{AppView, VisitRefused};
use sluice_flow::definition::limits::QUESTIONS_MAX;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::visit::Visit;
use support::{Mood, UseCases as _, World};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// The most different counts that are held in memory.
const COUNTS_MAX: usize = 20_000;

fn survey(ids: &[&str]) -> Value {
    let question = |id: &&str| json!({"id": id, "type": "nps", "prompt": format!("{id}?")});
    json!({"title": "t", "questions": ids.iter().map(question).collect::<Vec<_>>()})
}

/// Steps as words: `opened`, `seen:a`, `finished:7`.
fn visit(version: FlowVersionId, steps: &str) -> Visit {
    let step = |step: &str| match step.split_once(':') {
        Some(("finished", seconds)) => {
            json!({"step": "finished", "seconds": seconds.parse::<u32>().unwrap()})
        }
        Some((step, question)) => json!({"step": step, "question": question}),
        None => json!({"step": step}),
    };
    let steps: Vec<Value> = steps.split_whitespace().map(step).collect();
    Visit::parse(json!({"flowVersionId": version, "steps": steps}).to_string().as_bytes()).unwrap()
}

struct Shop {
    world: World,
    app: Arc<AppView>,
    flow: FlowId,
    version: FlowVersionId,
}

impl Shop {
    async fn open(definition: Value) -> Self {
        let world = World::new().await;
        let detail = world.app().await;
        let flow = world.flow(&detail).await.flow.flow_id;
        let app = world.view(&detail).await;
        world.engine.put_draft(&world.actor, flow, definition).await.unwrap();
        let version = world.publish(flow).await.flow_version_id;
        Self { world, app, flow, version }
    }

    async fn publish(&self, definition: Value) -> FlowVersionId {
        let (engine, actor) = (&self.world.engine, &self.world.actor);
        engine.put_draft(actor, self.flow, definition).await.unwrap();
        self.world.publish(self.flow).await.flow_version_id
    }

    async fn count(&self, version: FlowVersionId, steps: &str) {
        let counted = self.world.engine.count_visit(&self.app, &visit(version, steps)).await;
        assert_eq!(counted.unwrap(), Ok(()), "{steps}");
    }

    async fn funnel(&self, filter: &FunnelFilter) -> Funnel {
        self.world.engine.funnel(&self.world.actor, self.flow, filter).await.unwrap()
    }
}

/// Opened, started, each question as seen and left, finished.
fn figures(funnel: &Funnel) -> (u64, u64, Vec<(&str, u64, u64)>, u64) {
    let questions = funnel.questions.iter();
    let questions = questions.map(|it| (it.id.as_str(), it.seen, it.left())).collect();
    (funnel.opened, funnel.started, questions, funnel.finished)
}

#[tokio::test]
async fn a_funnel_counts_every_step_of_every_visit() {
    let shop = Shop::open(survey(&["a", "b"])).await;
    let all = FunnelFilter::default();
    let nothing = shop.funnel(&all).await;
    assert_eq!(figures(&nothing), (0, 0, vec![("a", 0, 0), ("b", 0, 0)], 0));
    assert_eq!(nothing.time_to_finish, None);
    shop.count(shop.version, "opened seen:a").await;
    shop.count(shop.version, "opened seen:a started passed:a seen:b").await;
    shop.count(shop.version, "opened seen:a started passed:a seen:b passed:b finished:10").await;
    // One visit in two reports, as when a page is hidden in between.
    shop.count(shop.version, "opened seen:a started").await;
    shop.count(shop.version, "passed:a seen:b passed:b finished:11").await;
    let funnel = shop.funnel(&all).await;
    assert_eq!(figures(&funnel), (4, 3, vec![("a", 4, 1), ("b", 3, 1)], 2));
    let median = funnel.time_to_finish.unwrap();
    assert_eq!((median.times, median.from_seconds, median.to_seconds), (2, 10, Some(12)));
    assert_eq!(figures(&shop.funnel(&all).await), figures(&funnel), "read again");
}

#[tokio::test]
async fn a_funnel_is_by_version_and_by_day() {
    let shop = Shop::open(survey(&["a", "b"])).await;
    let (one, today) = (shop.version, shop.world.engine.now().day());
    shop.count(one, "opened seen:a").await;
    shop.world.clock.advance_millis(DAY_MILLIS);
    let two = shop.publish(survey(&["b", "c"])).await;
    shop.count(one, "opened seen:a started passed:a seen:b").await;
    shop.count(two, "opened seen:b started passed:b seen:c passed:c finished").await;
    let day = |number| Some(today.plus(number));
    let all = FunnelFilter::default();
    let old = FunnelFilter { version: Some(one), ..all.clone() };
    let new = FunnelFilter { version: Some(two), ..all.clone() };
    for (filter, expected) in [
        (&all, (3, 2, vec![("b", 2, 1), ("c", 1, 0), ("a", 2, 1)], 1)),
        (&old, (2, 1, vec![("a", 2, 1), ("b", 1, 1)], 0)),
        (&new, (1, 1, vec![("b", 1, 0), ("c", 1, 0)], 1)),
        (
            &FunnelFilter { to: day(0), ..all.clone() },
            (1, 0, vec![("b", 0, 0), ("c", 0, 0), ("a", 1, 1)], 0),
        ),
        (
            &FunnelFilter { from: day(1), to: day(1), ..old.clone() },
            (1, 1, vec![("a", 1, 0), ("b", 1, 1)], 0),
        ),
        (&FunnelFilter { from: day(2), ..new.clone() }, (0, 0, vec![("b", 0, 0), ("c", 0, 0)], 0)),
    ] {
        assert_eq!(figures(&shop.funnel(filter).await), expected, "{filter:?}");
    }
    let funnel = shop.funnel(&all).await;
    assert_eq!(funnel.questions[2].asked, AskedUntil::Version(1));
    let versions = funnel.versions.iter().map(|it| (it.number, it.opened, it.finished));
    assert_eq!(versions.collect::<Vec<_>>(), [(2, 1, 1), (1, 2, 0)]);
}

#[tokio::test]
async fn only_published_versions_of_the_app_and_their_questions_are_counted() {
    let shop = Shop::open(survey(&["a"])).await;
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let other = shop.world.app().await;
    let other = shop.world.view(&other).await;
    engine.put_draft(actor, shop.flow, survey(&["z"])).await.unwrap();
    let draft = engine.get_draft(actor, shop.flow).await.unwrap().flow_version_id;
    let refused = async |app: &AppView, version, steps| {
        engine.count_visit(app, &visit(version, steps)).await.unwrap().unwrap_err()
    };
    let unknown: FlowVersionId = "fv_0000000000000000000001".parse().unwrap();
    for (app, version) in [(&shop.app, unknown), (&shop.app, draft), (&other, shop.version)] {
        assert_eq!(refused(app, version, "opened").await, VisitRefused::VersionNotFound);
    }
    let fault = refused(&shop.app, shop.version, "opened seen:z").await;
    assert!(matches!(fault, VisitRefused::Fault(fault) if fault.is_unknown_question));
    engine.retire(actor, shop.version).await.unwrap();
    let retired = refused(&shop.app, shop.version, "opened").await;
    assert_eq!(retired, VisitRefused::VersionNotFound);
    let funnel = shop.funnel(&FunnelFilter::default()).await;
    assert_eq!((funnel.opened, funnel.questions[0].seen), (0, 0), "nothing of a refused visit");
}

#[tokio::test]
async fn what_one_node_counted_is_read_by_all_once_it_is_written() {
    let shop = Shop::open(survey(&["a"])).await;
    let node = shop.world.another().await;
    shop.count(shop.version, "opened").await;
    let all = FunnelFilter::default();
    let opened = async |world: &World| {
        world.engine.funnel(&world.actor, shop.flow, &all).await.unwrap().opened
    };
    assert_eq!(opened(&shop.world).await, 1);
    assert_eq!(opened(&node).await, 1);
    shop.count(shop.version, "opened").await;
    shop.world.engine.close().await;
    assert_eq!(opened(&node).await, 2, "a server that stops writes what it has counted");
}

#[tokio::test]
async fn counts_that_could_not_be_written_are_written_once_later() {
    let shop = Shop::open(survey(&["a"])).await;
    let all = FunnelFilter::default();
    shop.world.faults.set(Mood::Failing);
    shop.count(shop.version, "opened seen:a").await;
    assert_eq!(shop.funnel(&all).await.opened, 0, "a funnel can be read meanwhile");
    shop.count(shop.version, "opened").await;
    shop.world.faults.set(Mood::Well);
    for _ in 0..2 {
        let funnel = shop.funnel(&all).await;
        assert_eq!((funnel.opened, funnel.questions[0].seen), (2, 1));
    }
}

#[tokio::test]
async fn the_number_of_counts_in_memory_is_bounded() {
    let ids: Vec<String> = (0..QUESTIONS_MAX).map(|at| format!("q{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let shop = Shop::open(survey(&ids)).await;
    let of = |id: &&str| format!("seen:{id} passed:{id}");
    let steps = ids.iter().map(of).collect::<Vec<_>>().join(" ");
    let days = COUNTS_MAX / (2 * QUESTIONS_MAX) + 1;
    shop.world.faults.set(Mood::Failing);
    for _ in 0..days {
        shop.count(shop.version, &steps).await;
        shop.world.clock.advance_millis(DAY_MILLIS);
    }
    let all = FunnelFilter::default();
    shop.funnel(&all).await;
    let dropped = days * 2 * QUESTIONS_MAX - COUNTS_MAX;
    let metric = format!("sluice_dropped_visit_steps_total {dropped}\n");
    let metrics = shop.world.engine.health().metrics_text();
    assert!(metrics.contains(&metric), "{metric} is not in {metrics}");
    shop.world.faults.set(Mood::Well);
    let funnel = shop.funnel(&all).await;
    let counted: u64 = funnel.questions.iter().map(|it| it.seen + it.passed).sum();
    assert_eq!(counted, COUNTS_MAX as u64);
}
