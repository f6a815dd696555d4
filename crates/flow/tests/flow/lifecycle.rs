//! The states of a version, at the millisecond edges of every condition, and their order in time.
//!
//! Instants are small numbers of milliseconds: nothing here depends on the calendar.

use proptest::option;
use proptest::prelude::*;
use sluice_flow::id::FlowVersionId;
use sluice_flow::lifecycle::{
    Accepting, FlowStatus, FlowTimes, VersionTimes, accepting, flow_status,
};
use sluice_flow::time::{Timestamp, Window};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn window(starts_at: Option<i64>, ends_at: Option<i64>) -> Window {
    Window { starts_at: starts_at.map(at), ends_at: ends_at.map(at) }
}

fn live(starts_at: Option<i64>, ends_at: Option<i64>) -> FlowTimes {
    FlowTimes { live: window(starts_at, ends_at), archived_at: None }
}

fn published(published_at: i64) -> VersionTimes {
    VersionTimes { published_at: Some(at(published_at)), ..VersionTimes::default() }
}

fn superseded(superseded_at: i64, grace_ends_at: i64) -> VersionTimes {
    VersionTimes {
        superseded_at: Some(at(superseded_at)),
        grace_ends_at: Some(at(grace_ends_at)),
        ..published(100)
    }
}

const ALWAYS: FlowTimes =
    FlowTimes { live: Window { starts_at: None, ends_at: None }, archived_at: None };
const OPEN: Accepting = Accepting::Open { until: None };

fn open_until(millis: i64) -> Accepting {
    Accepting::Open { until: Some(at(millis)) }
}

fn in_grace_until(millis: i64) -> Accepting {
    Accepting::InGrace { until: at(millis) }
}

/// Checks the state of a version at each of these instants.
fn check(version: VersionTimes, flow: FlowTimes, expected: &[(i64, Accepting)]) {
    for (now, state) in expected {
        assert_eq!(accepting(&version, &flow, at(*now)), *state, "at {now}: {version:?} {flow:?}");
    }
}

#[test]
fn a_version_that_was_never_published_is_not_open_yet() {
    let draft = VersionTimes::default();
    check(draft, ALWAYS, &[(0, Accepting::NotOpenYet), (i64::MAX, Accepting::NotOpenYet)]);
}

#[test]
fn a_published_version_is_open_also_by_a_clock_that_is_behind() {
    check(published(100), ALWAYS, &[(0, OPEN), (99, OPEN), (100, OPEN), (i64::MAX, OPEN)]);
}

#[test]
fn the_live_window_opens_at_its_start_and_closes_at_its_end() {
    check(published(100), live(Some(200), None), &[(199, Accepting::NotOpenYet), (200, OPEN)]);
    let closing = [(299, open_until(300)), (300, Accepting::NoLonger), (301, Accepting::NoLonger)];
    check(published(100), live(None, Some(300)), &closing);
    let both = [
        (100, Accepting::NotOpenYet),
        (199, Accepting::NotOpenYet),
        (200, open_until(300)),
        (299, open_until(300)),
        (300, Accepting::NoLonger),
    ];
    check(published(100), live(Some(200), Some(300)), &both);
}

#[test]
fn a_superseded_version_is_accepted_until_the_end_of_its_grace() {
    let grace = [
        (199, OPEN),
        (200, in_grace_until(300)),
        (299, in_grace_until(300)),
        (300, Accepting::NoLonger),
    ];
    check(superseded(200, 300), ALWAYS, &grace);
}

#[test]
fn a_grace_of_zero_ends_the_version_with_the_newer_publish() {
    check(superseded(200, 200), ALWAYS, &[(199, OPEN), (200, Accepting::NoLonger)]);
    let without = VersionTimes { grace_ends_at: None, ..superseded(200, 200) };
    check(without, ALWAYS, &[(199, OPEN), (200, Accepting::NoLonger)]);
}

#[test]
fn in_grace_it_accepts_until_the_earlier_of_grace_end_and_live_end() {
    for (live_end, until) in [(250, 250), (299, 299), (300, 300), (301, 300), (900, 300)] {
        let expected = [
            (200, in_grace_until(until)),
            (until - 1, in_grace_until(until)),
            (until, Accepting::NoLonger),
        ];
        check(superseded(200, 300), live(None, Some(live_end)), &expected);
    }
}

#[test]
fn the_newest_publish_decides_for_all_older_versions() {
    // The instant of each publish, and when the grace that it gives ends.
    for (publishes, ends_at) in [
        (&[(200, 300)][..], 300),
        (&[(200, 300), (250, 260)], 260),
        (&[(200, 300), (250, 250)], 250),
        // A longer grace neither extends a running one nor reopens one that has ended.
        (&[(200, 300), (250, 900)], 300),
        (&[(200, 210), (250, 900)], 210),
        (&[(200, 300), (250, 260), (255, 900)], 260),
    ] {
        let after = publishes.iter().fold(published(100), |version, &(now, ends_at)| {
            version.superseded(at(now), at(ends_at))
        });
        assert_eq!(after, superseded(200, ends_at), "{publishes:?}");
    }
    let without = VersionTimes { grace_ends_at: None, ..superseded(200, 200) };
    assert_eq!(without.superseded(at(250), at(900)), superseded(200, 200));
    let retired = VersionTimes { retired_at: Some(at(150)), ..published(100) };
    assert_eq!(retired.superseded(at(200), at(300)).retired_at, Some(at(150)));
}

#[test]
fn retiring_and_archiving_make_a_version_unknown_from_that_millisecond() {
    let retired = VersionTimes { retired_at: Some(at(200)), ..published(100) };
    check(retired, ALWAYS, &[(199, OPEN), (200, Accepting::Gone), (i64::MAX, Accepting::Gone)]);
    let archived = FlowTimes { archived_at: Some(at(200)), ..ALWAYS };
    check(published(100), archived, &[(199, OPEN), (200, Accepting::Gone)]);
}

#[test]
fn conditions_are_checked_in_order_gone_not_open_yet_no_longer() {
    // All apply at once: retired, before the start, past the end, past the grace.
    let flow = live(Some(900), Some(950));
    let ended = superseded(200, 300);
    let retired = VersionTimes { retired_at: Some(at(200)), ..ended };
    check(retired, flow, &[(500, Accepting::Gone)]);
    check(
        VersionTimes::default(),
        FlowTimes { archived_at: Some(at(1)), ..flow },
        &[(500, Accepting::Gone)],
    );
    check(ended, flow, &[(500, Accepting::NotOpenYet), (900, Accepting::NoLonger)]);
    check(VersionTimes::default(), live(None, Some(300)), &[(500, Accepting::NotOpenYet)]);
}

#[test]
fn each_refusal_has_the_contracts_code_and_text_about_the_version_id() {
    let newer = FlowVersionId::from_uuid(uuid::Uuid::from_u128(7));
    let not_found = "Flow version not found";
    let not_open_yet = "This survey is not open yet.";
    let superseded = "This survey version is no longer accepting responses. \
                      Fetch the latest published version and try again.";
    let closed = "This survey version is no longer accepting responses. The survey is closed.";
    for (state, latest, code, text, named) in [
        (Accepting::Gone, Some(newer), "flow_version_not_found", not_found, None),
        (Accepting::NotOpenYet, Some(newer), "not_open_yet", not_open_yet, None),
        (Accepting::NoLonger, Some(newer), "no_longer_accepting", superseded, Some(newer)),
        (Accepting::NoLonger, None, "no_longer_accepting", closed, None),
    ] {
        let issue = state.refusal(|| latest).unwrap();
        assert_eq!((issue.code.as_str(), issue.message.as_ref()), (code, text));
        assert_eq!(issue.latest_flow_version_id, named);
        assert_eq!(serde_json::json!(issue.path), serde_json::json!(["flowVersionId"]));
        assert_eq!((state.until(), state.accepts()), (None, false));
    }
    for state in [OPEN, in_grace_until(1)] {
        assert_eq!((state.refusal(|| Some(newer)), state.accepts()), (None, true));
    }
    assert_eq!(in_grace_until(1).until(), Some(at(1)));
}

#[test]
fn the_status_of_a_flow_follows_its_live_window_and_names_the_next_edge() {
    use FlowStatus::{Closed, Open, Scheduled};
    for (live, now, expected) in [
        (window(None, None), 0, (Open, None)),
        (window(Some(200), None), 199, (Scheduled, Some(at(200)))),
        (window(Some(200), None), 200, (Open, None)),
        (window(None, Some(300)), 299, (Open, Some(at(300)))),
        (window(None, Some(300)), 300, (Closed, None)),
        (window(Some(200), Some(300)), 199, (Scheduled, Some(at(200)))),
        (window(Some(200), Some(300)), 200, (Open, Some(at(300)))),
        (window(Some(200), Some(300)), 300, (Closed, None)),
    ] {
        assert_eq!(flow_status(&live, at(now)), expected, "at {now}: {live:?}");
    }
}

/// The stage of a version in its life: it never goes back.
fn stage(state: Accepting) -> u8 {
    match state {
        Accepting::NotOpenYet => 0,
        Accepting::Open { .. } => 1,
        Accepting::InGrace { .. } => 2,
        Accepting::NoLonger => 3,
        Accepting::Gone => 4,
    }
}

prop_compose! {
    fn any_instant()(millis in 0..40_i64) -> Timestamp { at(millis) }
}

prop_compose! {
    fn any_version()(
        published_at in option::weighted(0.9, any_instant()),
        superseded in option::of((any_instant(), 0..20_i64)),
        retired_at in option::weighted(0.2, any_instant()),
    ) -> VersionTimes {
        VersionTimes {
            published_at,
            superseded_at: superseded.map(|(at, _)| at),
            grace_ends_at: superseded.map(|(superseded, grace)| at(superseded.as_millis() + grace)),
            retired_at,
        }
    }
}

prop_compose! {
    fn any_flow()(
        starts_at in option::of(any_instant()),
        ends_at in option::of(any_instant()),
        archived_at in option::weighted(0.2, any_instant()),
    ) -> FlowTimes {
        FlowTimes { live: Window { starts_at, ends_at }, archived_at }
    }
}

proptest! {
    #[test]
    fn a_publish_changes_nothing_before_its_instant_and_accepts_nothing_that_was_refused(
        version in any_version(), flow in any_flow(), now in any_instant(), grace in 0..20_i64
    ) {
        // A publish comes after all earlier events of the version.
        let known = [version.published_at, version.superseded_at];
        prop_assume!(known.iter().flatten().all(|known| *known <= now));
        let after = version.superseded(now, at(now.as_millis() + grace));
        for instant in (0..64).map(at) {
            let (was, is) = (accepting(&version, &flow, instant), accepting(&after, &flow, instant));
            if instant < now {
                prop_assert_eq!(was.accepts(), is.accepts());
            }
            prop_assert!(was.accepts() || !is.accepts());
            let in_time = instant.as_millis() < now.as_millis() + grace;
            prop_assert!(!is.accepts() || in_time);
        }
    }

    #[test]
    fn a_version_never_goes_back_to_an_earlier_stage_of_its_life(
        version in any_version(), flow in any_flow()
    ) {
        let stages: Vec<u8> = (0..64).map(|now| stage(accepting(&version, &flow, at(now)))).collect();
        prop_assert!(stages.is_sorted(), "{stages:?}");
    }

    #[test]
    fn until_is_the_first_instant_at_which_it_no_longer_accepts(
        version in any_version(), flow in any_flow(), now in any_instant()
    ) {
        // Neither retirement nor a newer version can be known in advance.
        let version = VersionTimes {
            retired_at: None,
            superseded_at: version.superseded_at.filter(|superseded| *superseded <= now),
            ..version
        };
        let flow = FlowTimes { archived_at: None, ..flow };
        let state = accepting(&version, &flow, now);
        if let Some(until) = state.until() {
            let last = at(until.as_millis() - 1);
            prop_assert_eq!(accepting(&version, &flow, last), state);
            prop_assert_eq!(accepting(&version, &flow, until), Accepting::NoLonger);
        }
    }
}
