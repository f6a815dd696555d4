//! How submissions become writes.

use uuid::Uuid;

use super::*;

impl Weighted for () {
    fn weight(&self) -> usize {
        0
    }
}

#[derive(Debug, Clone, Copy)]
struct Bytes(usize);

impl Weighted for Bytes {
    fn weight(&self) -> usize {
        self.0
    }
}

fn by_app(count: usize) -> Batches<()> {
    Batches::new(Lanes { count, by_app: true })
}

fn for_all(count: usize) -> Batches<()> {
    Batches::new(Lanes { count, by_app: false })
}

fn is_added<T>(added: &Added<T>) -> bool {
    !matches!(added, Added::Refused(..))
}

fn needs(app: u128) -> Needs {
    let app = AppId::from_uuid(Uuid::from_u128(app));
    Needs { app, server: None, alone: false, linked: false }
}

fn app_lane(app: u128) -> WriteLane {
    WriteLane::App(needs(app).app)
}

fn add(batches: &mut Batches<()>, apps: impl IntoIterator<Item = u128>) {
    for app in apps {
        assert!(is_added(&batches.add(needs(app), Instant::now(), (), usize::MAX)));
    }
}

fn sizes_at(batches: &mut Batches<()>, now: Instant) -> Vec<(WriteLane, usize)> {
    let next = || batches.next(|| now).map(|it| (it.lane, it.queued.len()));
    std::iter::from_fn(next).collect()
}

fn sizes(batches: &mut Batches<()>) -> Vec<(WriteLane, usize)> {
    sizes_at(batches, Instant::now())
}

#[test]
fn a_write_takes_all_apps() {
    for count in [1, 4] {
        let mut batches = for_all(count);
        add(&mut batches, [1, 2, 1]);
        assert_eq!(sizes(&mut batches), [(WriteLane::All, 3)]);
    }
}

#[test]
fn linked_submissions_do_not_delay_others_unless_there_is_one_writer() {
    let linked = Needs { linked: true, ..needs(1) };
    let mut one = for_all(1);
    one.add(linked, Instant::now(), (), usize::MAX);
    add(&mut one, [1]);
    assert_eq!(sizes(&mut one), [(WriteLane::All, 2)]);
    let mut several = for_all(4);
    several.add(linked, Instant::now(), (), usize::MAX);
    add(&mut several, [1, 2]);
    assert_eq!(sizes(&mut several), [(WriteLane::Linked, 1), (WriteLane::All, 2)]);
}

#[test]
fn a_submission_that_must_wait_for_its_app_does_not_delay_others() {
    let mut batches = for_all(3);
    batches.add(Needs { alone: true, ..needs(1) }, Instant::now(), (), usize::MAX);
    // Further ones of the same app need not wait, once the change is over.
    add(&mut batches, [1, 2]);
    assert_eq!(sizes(&mut batches), [(app_lane(1), 1), (WriteLane::All, 2)]);
}

#[test]
fn apps_that_wait_leave_a_place_for_all_others() {
    let mut batches = for_all(3);
    for app in 1..=3 {
        batches.add(Needs { alone: true, ..needs(app) }, Instant::now(), (), usize::MAX);
    }
    add(&mut batches, [4]);
    assert_eq!(sizes(&mut batches), [(app_lane(1), 1), (app_lane(2), 1), (WriteLane::All, 1)]);
}

#[test]
fn a_slow_write_does_not_hold_up_the_next_one() {
    let mut batches = for_all(3);
    let start = Instant::now();
    add(&mut batches, [1]);
    assert_eq!(sizes_at(&mut batches, start), [(WriteLane::All, 1)]);
    add(&mut batches, [2]);
    assert_eq!(sizes_at(&mut batches, start + SLOW_WRITE / 2), []);
    assert_eq!(sizes_at(&mut batches, start + SLOW_WRITE), [(WriteLane::All, 1)]);
    add(&mut batches, [3]);
    assert_eq!(sizes_at(&mut batches, start + 3 * SLOW_WRITE), [], "a place is left for others");
}

#[test]
fn lanes_by_app_write_one_app_each_and_no_app_holds_every_lane() {
    let mut batches = by_app(3);
    add(&mut batches, [1; 5 * BATCH_MAX]);
    assert_eq!(sizes(&mut batches), [(app_lane(1), BATCH_MAX), (app_lane(1), BATCH_MAX)]);
    add(&mut batches, [2]);
    assert_eq!(sizes(&mut batches), [(app_lane(2), 1)]);
    add(&mut batches, [3]);
    assert_eq!(sizes(&mut batches), [], "every lane is in use");
    batches.ended(app_lane(1), None);
    assert_eq!(sizes(&mut batches), [(app_lane(1), BATCH_MAX)]);
    assert_eq!(batches.count(), 2 * BATCH_MAX + 1);
}

#[test]
fn an_app_with_its_own_line_leaves_room_for_others() {
    let alone = |app| Needs { alone: true, ..needs(app) };
    for (mut batches, own) in [(for_all(4), alone(1)), (by_app(4), needs(1))] {
        for _ in 0..100 {
            batches.add(own, Instant::now(), (), usize::MAX);
        }
        assert!(!is_added(&batches.add(own, Instant::now(), (), 100)));
        assert!(is_added(&batches.add(own, Instant::now(), (), 101)));
        assert!(is_added(&batches.add(alone(2), Instant::now(), (), 1)), "another finds room");
    }
    let mut shared = for_all(4);
    add(&mut shared, [1; 100]);
    let added = shared.add(needs(1), Instant::now(), (), 1);
    assert!(is_added(&added), "the line of all apps may fill the queue");
}

#[test]
fn the_bytes_of_a_line_count_as_well_as_its_rows() {
    let large = Bytes(100 * overload::ROW_BYTES);
    let mut batches = Batches::new(Lanes { count: 4, by_app: true });
    assert!(is_added(&batches.add(needs(1), Instant::now(), large, 101)));
    assert!(!is_added(&batches.add(needs(1), Instant::now(), large, 100)));
    assert!(batches.next(Instant::now).is_some());
    let added = batches.add(needs(1), Instant::now(), large, 100);
    assert!(is_added(&added), "they were taken");
}

#[test]
fn apps_take_turns() {
    let mut batches = by_app(8);
    add(&mut batches, [1; BATCH_MAX + FURTHER_ROWS_MIN]);
    add(&mut batches, [2, 3]);
    let last = (app_lane(1), FURTHER_ROWS_MIN);
    assert_eq!(
        sizes(&mut batches),
        [(app_lane(1), BATCH_MAX), (app_lane(2), 1), (app_lane(3), 1), last]
    );
}

#[test]
fn a_second_write_of_an_app_waits_for_enough_responses() {
    let mut batches = by_app(4);
    let now = Instant::now();
    add(&mut batches, [1]);
    assert_eq!(sizes_at(&mut batches, now), [(app_lane(1), 1)]);
    add(&mut batches, [1; FURTHER_ROWS_MIN - 1]);
    assert_eq!(sizes_at(&mut batches, now), []);
    batches.ended(app_lane(1), None);
    assert_eq!(sizes_at(&mut batches, now), [(app_lane(1), FURTHER_ROWS_MIN - 1)]);
}

/// Apps 1 to 99 are on server 0, 100 to 199 on server 1, and so on.
fn on_server(app: u128) -> Needs {
    Needs { server: Some(u32::try_from(app / 100).unwrap()), ..needs(app) }
}

fn add_on_servers(batches: &mut Batches<()>, apps: impl IntoIterator<Item = u128>) {
    for app in apps {
        assert!(is_added(&batches.add(on_server(app), Instant::now(), (), usize::MAX)));
    }
}

#[test]
fn a_write_takes_the_apps_of_one_server() {
    let mut batches = by_app(4);
    add_on_servers(&mut batches, [1, 101, 2, 102, 1]);
    assert_eq!(sizes(&mut batches), [(WriteLane::Server(0), 3), (WriteLane::Server(1), 2)]);
    assert_eq!(
        WriteLane::Server(0).if_busy(),
        IfBusy::Skip,
        "an app that is changed delays no other"
    );
}

#[test]
fn on_a_server_what_links_or_waits_is_written_by_app() {
    let mut batches = by_app(4);
    let linked = Needs { linked: true, ..on_server(1) };
    let alone = Needs { alone: true, ..on_server(2) };
    for needs in [linked, alone] {
        batches.add(needs, Instant::now(), (), usize::MAX);
    }
    add_on_servers(&mut batches, [1, 2]);
    assert_eq!(
        sizes(&mut batches),
        [(app_lane(1), 1), (app_lane(2), 1), (WriteLane::Server(0), 2)]
    );
}

#[test]
fn single_apps_leave_a_place_to_those_of_a_server() {
    let mut batches = by_app(3);
    for app in 1..=3 {
        let alone = Needs { alone: true, ..on_server(app) };
        batches.add(alone, Instant::now(), (), usize::MAX);
    }
    add_on_servers(&mut batches, [4]);
    assert_eq!(
        sizes(&mut batches),
        [(app_lane(1), 1), (app_lane(2), 1), (WriteLane::Server(0), 1)]
    );
}

#[test]
fn a_server_that_hangs_leaves_a_lane_and_room_to_others() {
    let mut batches = by_app(3);
    let start = Instant::now();
    add_on_servers(&mut batches, [1; 5 * BATCH_MAX]);
    let full = (WriteLane::Server(0), BATCH_MAX);
    assert_eq!(sizes_at(&mut batches, start + 10 * SLOW_WRITE), [full, full]);
    assert!(!is_added(&batches.add(on_server(1), start, (), 100)), "its line is long enough");
    assert!(is_added(&batches.add(on_server(101), start, (), 1)), "another finds room");
    assert_eq!(sizes_at(&mut batches, start + 20 * SLOW_WRITE), [(WriteLane::Server(1), 1)]);
}
