//! A million undelivered events: what is read at a time, and held in memory, does not grow with
//! them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sluice_engine::EndpointState;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{EventId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{EventRow, MovingStore as _, Record};

use super::hooked::{Does, Hooked, URL};

const EVENTS: usize = 1_000_000;
/// Importing into PostgreSQL takes longer; there are enough to notice growth.
const EVENTS_POSTGRES: usize = 100_000;
/// The most memory that deliveries and pages may add, in bytes. The events have several hundred
/// bytes each, as rows and as payloads: all of them would take more than this many times.
const GROWTH_MAX: u64 = 48 * 1024 * 1024;
/// The rows of a page of the log that a worker reads, and one more that shows whether there are
/// more.
const PAGE: usize = 101;
/// Events that the receiver takes.
const TAKEN: usize = 2_000;
/// Deliveries that are kept of an endpoint: those that wait, and finished ones.
const KEPT_MAX: usize = 2_002;

/// The resident memory of this process.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

impl Hooked {
    /// Writes events of the app into the log, a thousand in each second from now on.
    async fn fill(&self, events: usize) {
        let store = &self.world.faults;
        let begun = self.world.clock_seconds() * 1_000;
        let row = |number: usize| EventRow {
            app_id: self.app.row.app_id,
            event_id: EventId::from_uuid(v7(
                Timestamp::from_millis(begun + number as i64),
                0,
                number as u64,
            )),
            flow_id: Some(self.flow),
            kind: "flow.archived".to_owned(),
            body: format!(r#"{{"appId":"{}","flowId":"{}"}}"#, self.app.row.app_id, self.flow),
        };
        for first in (0..events).step_by(10_000) {
            let rows = (first..first + 10_000).map(|number| Record::Event(row(number)));
            store.import_records(rows.collect()).await.unwrap();
        }
        self.world.clock.advance_millis(events as i64 + 60_000);
    }

    /// The reads and the rows of the page that shows an endpoint in the console.
    async fn page(&self, endpoint: sluice_flow::id::EndpointId) -> (usize, usize) {
        let reads = &self.world.faults.reads;
        let before = reads.load(Ordering::SeqCst);
        let handle = self.handle().await;
        let found = handle.endpoint_overview(endpoint, None, None, 50).await.unwrap();
        let health = handle.list_endpoint_health().await.unwrap();
        let rows = found.sent.len() + found.deliveries.len() + health.len();
        (reads.load(Ordering::SeqCst) - before, rows)
    }
}

#[tokio::test]
async fn a_million_undelivered_events_leave_memory_flat_and_pages_read_bounded_rows() {
    let it = Hooked::new().await;
    it.receivers.script(URL, &[Does::Reply(500)]);
    let endpoint = it.endpoint(URL, &[]).await;
    it.submit().await;
    it.until(URL, 1).await;
    let (reads_before, _) = it.page(endpoint).await;
    let is_postgres = std::env::var_os("SLUICE_TEST_STORE").is_some();
    it.fill(if is_postgres { EVENTS_POSTGRES } else { EVENTS }).await;
    let (log, faults) = (&it.world.faults.log_rows_max, &it.world.faults);
    log.store(0, Ordering::SeqCst);
    let memory = resident_bytes();
    // A receiver that fails, for hours.
    for _ in 0..10 {
        it.pass(1_800).await;
    }
    let (reads, rows) = it.page(endpoint).await;
    assert_eq!(reads, reads_before, "the page reads as often as without a backlog");
    assert!(rows <= KEPT_MAX + 51, "{rows} rows for a page");
    // It works again, gets some of what waited, and wants no more then.
    let sent = it.receivers.got(URL).len();
    let mut script = vec![Does::Reply(200); TAKEN];
    script.push(Does::Reply(410));
    it.receivers.script(URL, &script);
    it.pass(24 * 3_600).await;
    it.until(URL, sent + TAKEN + 1).await;
    assert_eq!(it.state(endpoint).await, EndpointState::Disabled);
    let (reads, rows) = it.page(endpoint).await;
    assert_eq!(reads, reads_before);
    assert!(rows <= KEPT_MAX + 51, "{rows} rows for a page");
    assert!(faults.log_reads.load(Ordering::SeqCst) > 20);
    assert!(log.load(Ordering::SeqCst) <= PAGE, "{} rows at once", log.load(Ordering::SeqCst));
    let growth = resident_bytes().saturating_sub(memory);
    assert!(growth <= GROWTH_MAX, "{growth} bytes more in memory");
}

#[tokio::test]
async fn a_reader_that_waits_keeps_its_deadline_over_a_long_gap() {
    let it = Hooked::new().await;
    it.fill(20_000).await;
    let filter = EventFilter { types: vec![EventType::FlowClosed], flows: vec![] };
    let handle = it.handle().await;
    let reads = &it.world.faults.log_reads;
    let before = reads.load(Ordering::SeqCst);
    let mut watch = handle.watch_events(filter, None, 10).unwrap();
    let first = watch.next(Duration::ZERO).await.unwrap();
    assert!(first.events.is_empty() && first.has_more, "nothing matches, and there is more");
    assert_eq!(reads.load(Ordering::SeqCst) - before, 1, "its time is over after one page");
    let second = watch.next(Duration::ZERO).await.unwrap();
    assert!(second.next > first.next, "it continues there");
}
