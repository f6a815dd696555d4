//! Events of a newer release, while nodes of both releases run on one database.

use sluice_engine::clock::Clock as _;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{EventId, v7};
use sluice_store::{AdminStore as _, At, Change, EventRow, Write};

use super::hooked::{Hooked, URL};

const FILTERED: &str = "https://filtered.example/";

impl Hooked {
    /// Writes an event of a type that this release does not know.
    async fn write_newer(&self) -> EventId {
        self.world.clock.advance_millis(1_000);
        let event_id = EventId::from_uuid(v7(self.world.clock.now(), 0, 7));
        let app_id = self.app.row.app_id;
        let (kind, body) = ("planet.discovered".to_owned(), "{}".to_owned());
        let row = EventRow { app_id, event_id, flow_id: None, kind, body };
        let change = Change::new(|| vec![Write::Event(row)]);
        self.world.faults.apply(At::Instance, change).await.unwrap();
        self.world.clock.advance_millis(1_000);
        event_id
    }

    /// The types in the log after a position, and where to continue.
    async fn log_after(&self, after: Option<EventId>) -> (Vec<&'static str>, EventId) {
        let all = EventFilter::default();
        let page = self.handle().await.read_events(&all, after, 100).await.unwrap();
        assert!(!page.has_more, "{page:?}");
        (page.events.iter().map(|it| it.payload.kind.as_str()).collect(), page.next)
    }
}

#[tokio::test]
async fn an_event_of_a_newer_release_is_left_to_its_nodes_for_an_hour() {
    let it = Hooked::new().await;
    it.endpoint(URL, &[]).await;
    it.endpoint(FILTERED, &[EventType::ResponseCreated]).await;
    it.submit().await;
    it.until(URL, 1).await;
    it.until(FILTERED, 1).await;
    let newer = it.write_newer().await;
    it.submit().await;
    for _ in 0..5 {
        it.pass(600).await;
    }
    assert_eq!((it.receivers.got(URL).len(), it.receivers.got(FILTERED).len()), (1, 1));
    let (types, next) = it.log_after(None).await;
    assert_eq!(types, ["flow.published", "response.created"]);
    assert!(next < newer, "a newer node continues with the event");
    assert_eq!(it.log_after(Some(next)).await, (vec![], next));
    // There was no newer node: an older one continues without the event.
    it.pass(900).await;
    it.until(URL, 2).await;
    it.until(FILTERED, 2).await;
    let (types, next) = it.log_after(Some(next)).await;
    assert_eq!(types, ["response.created"]);
    assert!(next > newer);
}
