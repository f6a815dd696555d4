//! Counts are exact: after any stores, removals, imports and folds, they match the stored
//! responses.
//!
//! Every case ends by counting all stored responses from scratch.

mod survey;
mod tags;

use std::collections::BTreeSet;

use sluice_flow::id::ResponseId;

use self::survey::{DAY_MILLIS, Survey};
pub(super) use self::tags::{
    a_tag_that_becomes_frequent_is_counted_separately_again,
    counts_by_tag_are_exact_under_concurrent_recounts_and_writes,
    junk_tags_that_come_first_do_not_displace_real_ones,
};
use super::world::{
    Shop, TheStore, apply, flow_row, new_response, public_revision, published_row, response_row,
    revision, try_apply,
};
use crate::{AnswersOnErasure, CompactionCursor, CountsQuery, Outcome, RecordCursor, Write};

/// Runs the background work until nothing is left.
async fn compact(store: &TheStore) {
    for _ in 0..10_000 {
        if store.compact_counts(CompactionCursor::default(), 7).await.unwrap().is_done() {
            return;
        }
    }
    panic!("the background work never finishes");
}

fn nobody() -> BTreeSet<ResponseId> {
    BTreeSet::new()
}

pub(super) async fn a_stored_response_is_counted_immediately(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    for number in 0..12 {
        survey.store(&store, [number]).await;
        survey.assert_exact(&store, &nobody()).await;
    }
    let batch = [survey.response(&store, 12).await, survey.response(&store, 13).await];
    store.commit(batch.to_vec()).await.unwrap();
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 14);
}

pub(super) async fn responses_that_are_not_stored_are_not_counted(store: TheStore) {
    let survey = Survey::open(&store).await;
    let mut first = survey.response(&store, 0).await;
    first.idempotency_key = Some([1; 16]);
    let mut again = survey.response(&store, 0).await;
    again.idempotency_key = Some([1; 16]);
    again.row.digest = first.row.digest;
    let mut reused = survey.response(&store, 1).await;
    reused.idempotency_key = Some([1; 16]);
    let mut stale = survey.response(&store, 2).await;
    stale.public_revision -= 1;
    let id = first.row.response_id;
    let outcomes = store.commit(vec![first, again.clone(), reused, stale]).await.unwrap();
    let replayed = Outcome::Replayed(id);
    assert_eq!(outcomes, [Outcome::Stored, replayed, Outcome::KeyReused, Outcome::Stale]);
    assert_eq!(store.commit(vec![again]).await.unwrap(), [replayed]);
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn folding_does_not_change_what_is_read(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 0..30).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let before = store.read_counts(app, flow, &CountsQuery::default()).await.unwrap();
    compact(&store).await;
    assert_eq!(store.read_counts(app, flow, &CountsQuery::default()).await.unwrap(), before);
    survey.store(&store, 30..40).await;
    survey.assert_exact(&store, &nobody()).await;
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn counts_are_read_for_the_requested_days(store: TheStore) {
    let survey = Survey::open(&store).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    survey.store(&store, 0..12).await;
    compact(&store).await;
    survey.store(&store, 12..24).await;
    let read = async |from, to| {
        let query = CountsQuery { from, to, segment: None };
        store.read_counts(app, flow, &query).await.unwrap().daily
    };
    let all = read(None, None).await;
    let days: BTreeSet<_> = all.iter().map(|(_, day, _)| *day).collect();
    let days: Vec<_> = days.into_iter().collect();
    assert_eq!(days.len(), 3);
    for (from, to) in [
        (None, Some(days[0])),
        (Some(days[1]), Some(days[1])),
        (Some(days[1]), None),
        (Some(days[2].plus(1)), None),
    ] {
        let mut expected = all.clone();
        expected.retain(|(_, day, _)| {
            from.is_none_or(|from| *day >= from) && to.is_none_or(|to| *day <= to)
        });
        assert_eq!(read(from, to).await, expected, "{from:?} to {to:?}");
    }
}

pub(super) async fn folding_one_flow_does_not_delay_other_flows_or_scans(store: TheStore) {
    let (busy, quiet, moved) =
        (Survey::open(&store).await, Survey::open(&store).await, Survey::open(&store).await);
    busy.store(&store, 0..20).await;
    quiet.store(&store, 0..3).await;
    moved.move_in(&store, 0..5).await;
    let compacted = store.compact_counts(CompactionCursor::default(), 2).await.unwrap();
    assert!(
        compacted.folded >= 23 && compacted.scanned > 0 && !compacted.is_done(),
        "{compacted:?}"
    );
    // More responses arrive meanwhile; it still finishes.
    for number in 20..40 {
        busy.store(&store, [number]).await;
        if store.compact_counts(CompactionCursor::default(), 2).await.unwrap().is_done() {
            break;
        }
    }
    let compacted = store.compact_counts(CompactionCursor::default(), 2).await.unwrap();
    assert!(compacted.is_done(), "{compacted:?}");
    for survey in [busy, quiet, moved] {
        survey.assert_exact(&store, &nobody()).await;
    }
}

pub(super) async fn every_flow_is_compacted_however_many_are_busy(store: TheStore) {
    // More than one call visits, and more than any earlier limit.
    const FLOWS: usize = 1_200;
    let shop = Shop::open(&store).await;
    let flows: Vec<_> = (0..FLOWS).map(|_| flow_row(shop.app())).collect();
    let flows: Vec<_> = flows.into_iter().map(|flow| (published_row(&flow, 1), flow)).collect();
    let rows = flows
        .iter()
        .flat_map(|(version, flow)| [Write::Flow(flow.clone()), Write::Version(version.clone())]);
    apply(&store, shop.app(), rows.collect()).await;
    let public_revision = public_revision(&store, shop.app()).await;
    let respond = async |flows: &[(crate::VersionRow, crate::FlowRow)]| {
        let rows = flows
            .iter()
            .map(|(version, flow)| new_response(response_row(flow, version, 1), public_revision));
        let outcomes = store.commit(rows.collect()).await.unwrap();
        assert!(outcomes.iter().all(|it| *it == Outcome::Stored));
    };
    respond(&flows).await;
    let (mut cursor, mut folded, mut busy) = (CompactionCursor::default(), 0, 0);
    loop {
        let part = store.compact_counts(cursor, 10).await.unwrap();
        folded += part.folded;
        let Some(next) = part.next else { break };
        assert_ne!(next, CompactionCursor::default(), "nothing was left of a flow");
        cursor = next;
        // The first flows stay busy; none of the others waits for them.
        respond(&flows[..10]).await;
        busy += 10;
    }
    assert_eq!(folded, FLOWS as u64, "in one round, once each");
    let mut part = store.compact_counts(CompactionCursor::default(), 10).await.unwrap();
    assert_eq!((part.folded, part.next), (busy, None), "only the busy flows have changes");
    part = store.compact_counts(CompactionCursor::default(), 10).await.unwrap();
    assert_eq!((part.folded, part.next), (0, None));
    let totals = store.count_by_day(shop.app(), None).await.unwrap();
    assert_eq!(totals.iter().map(|it| it.responses).sum::<i64>(), FLOWS as i64 + busy as i64);
}

pub(super) async fn deleted_responses_are_subtracted(store: TheStore) {
    let survey = Survey::open(&store).await;
    let ids = survey.store(&store, 0..10).await;
    survey.delete(&store, ids[3]).await;
    survey.assert_exact(&store, &nobody()).await;
    compact(&store).await;
    for id in ids {
        survey.delete(&store, id).await;
        survey.assert_exact(&store, &nobody()).await;
    }
    // Deleting it twice has no further effect.
    survey.delete(&store, ResponseId::from_uuid(uuid::Uuid::nil())).await;
    compact(&store).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    assert_eq!(store.read_counts(app, flow, &CountsQuery::default()).await.unwrap().daily, []);
}

pub(super) async fn erased_responses_are_subtracted_with_their_tags(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 0..6).await;
    for (user, answers) in
        [("user-keep", AnswersOnErasure::Keep), ("user-delete", AnswersOnErasure::Delete)]
    {
        for number in 0..5 {
            let response = survey.response_of(&store, number, user).await;
            assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        }
        if user == "user-keep" {
            compact(&store).await;
        }
        survey.assert_exact(&store, &nobody()).await;
        let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
        let query = CountsQuery::default();
        let reported = format!("{:?}", store.read_counts(app, flow, &query).await.unwrap());
        assert!(reported.contains(user), "{reported}");
        survey.erase(&store, user, answers).await;
        survey.assert_exact(&store, &nobody()).await;
        let reported =
            format!("{:?}", store.read_counts(app, flow, &CountsQuery::default()).await.unwrap());
        assert!(!reported.contains(user), "{reported}");
    }
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 11);
}

pub(super) async fn expired_responses_are_subtracted(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 0..20).await;
    compact(&store).await;
    survey.store(&store, 20..30).await;
    survey.expire(&store, DAY_MILLIS, 4).await;
    survey.assert_exact(&store, &nobody()).await;
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 20);
}

pub(super) async fn imported_responses_are_counted_by_a_scan(store: TheStore) {
    let survey = Survey::open(&store).await;
    let moved: BTreeSet<_> = survey.move_in(&store, 0..30).await.into_iter().collect();
    survey.assert_exact(&store, &moved).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let scan = store.read_counts(app, flow, &CountsQuery::default()).await.unwrap().scan;
    assert_eq!(scan.map(|scan| scan.passed), Some(None));
    assert_eq!(survey.rows(&store).await.len(), 30);
    compact(&store).await;
    assert_eq!(store.read_counts(app, flow, &CountsQuery::default()).await.unwrap().scan, None);
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn a_scan_is_exact_under_concurrent_writes(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, [100]).await;
    let mut moved: BTreeSet<_> = survey.move_in(&store, 0..40).await.into_iter().collect();
    // Responses that were counted before must be scanned as well.
    moved.extend(survey.rows(&store).await.iter().map(|row| row.response_id));
    for round in 0..60_u32 {
        store.compact_counts(CompactionCursor::default(), 3).await.unwrap();
        survey.store(&store, [200 + round]).await;
        let rows = survey.rows(&store).await;
        let old: Vec<_> =
            rows.iter().map(|row| row.response_id).filter(|id| moved.contains(id)).collect();
        // One from the front, which may be scanned already, and one from the end.
        for id in [old.first(), old.last()].into_iter().flatten().take(1 + round as usize % 2) {
            survey.delete(&store, *id).await;
        }
        survey.assert_exact(&store, &moved).await;
    }
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn responses_imported_twice_are_counted_once(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 50..60).await;
    compact(&store).await;
    let mut records = Vec::new();
    let mut after: Option<RecordCursor> = None;
    loop {
        let page = store.export_records(after.as_ref(), 1_000).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.cursor());
        records.extend(page);
    }
    store.import_records(records.clone()).await.unwrap();
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    store.import_records(records).await.unwrap();
    store.compact_counts(CompactionCursor::default(), 3).await.unwrap();
    survey.store(&store, 60..62).await;
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 12);
}

pub(super) async fn counts_are_exact_under_concurrent_writes_and_folds(store: TheStore) {
    let survey = std::sync::Arc::new(Survey::open(&store).await);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4_u32 {
        let (store, survey) = (store.clone(), survey.clone());
        tasks.spawn(async move {
            for round in 0..15 {
                let ids = survey.store(&store, [task * 100 + round, task * 100 + round + 1]).await;
                // Other writers change the app as well.
                while try_apply(&store, survey.flow.app_id, vec![Write::DeleteResponse(ids[0])])
                    .await
                    .is_err()
                {}
            }
        });
    }
    for _ in 0..2 {
        let store = store.clone();
        tasks.spawn(async move {
            for _ in 0..30 {
                store.compact_counts(CompactionCursor::default(), 10).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    survey.assert_exact(&store, &nobody()).await;
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 60);
}

pub(super) async fn a_recount_is_exact_at_every_cursor_of_a_scan(store: TheStore) {
    let survey = Survey::open(&store).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    assert_eq!(store.recount(app, flow).await.unwrap(), 0);
    survey.store(&store, 0..9).await;
    assert_eq!(store.recount(app, flow).await.unwrap(), 9);
    survey.assert_exact(&store, &nobody()).await;
    survey.move_in(&store, 9..30).await;
    let moved = survey.rows(&store).await.iter().map(|row| row.response_id).collect();
    survey.store(&store, 30..36).await;
    while !store.compact_counts(CompactionCursor::default(), 4).await.unwrap().is_done() {
        store.recount(app, flow).await.unwrap();
        survey.assert_exact(&store, &moved).await;
    }
    assert_eq!(store.recount(app, flow).await.unwrap(), 36);
    survey.assert_exact(&store, &nobody()).await;
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
}

/// With an unreadable definition, only responses and their tags are counted.
pub(super) async fn an_unreadable_version_is_counted_and_subtracted_without_its_answers(
    store: TheStore,
) {
    let survey = Survey::open_unreadable(&store).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let ids = survey.move_in(&store, 0..10).await;
    compact(&store).await;
    let reported = store.read_counts(app, flow, &CountsQuery::default()).await.unwrap();
    let counts = || reported.daily.iter().map(|(_, _, daily)| daily.all());
    assert_eq!(counts().map(|it| it.responses).sum::<i64>(), 10);
    assert!(counts().all(|it| it.questions.is_empty()), "{reported:?}");
    for id in ids {
        survey.delete(&store, id).await;
    }
    compact(&store).await;
    assert_eq!(store.read_counts(app, flow, &CountsQuery::default()).await.unwrap().daily, []);
}

pub(super) async fn counts_are_exact_under_concurrent_scans_erasures_expiries_and_recounts(
    store: TheStore,
) {
    let survey = std::sync::Arc::new(Survey::open(&store).await);
    for number in 0..40 {
        let user = format!("user-{}", number % 4);
        let response = survey.response_of(&store, number, &user).await;
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    }
    survey.move_in(&store, 40..100).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let store = store.clone();
        tasks.spawn(async move {
            for _ in 0..40 {
                store.compact_counts(CompactionCursor::default(), 3).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    for task in 0..3_u32 {
        let (store, survey) = (store.clone(), survey.clone());
        tasks.spawn(async move {
            for round in 0..4_u32 {
                match task {
                    0 => {
                        survey.store(&store, round * 3 + 200..round * 3 + 203).await;
                    }
                    1 => {
                        let answers =
                            [AnswersOnErasure::Keep, AnswersOnErasure::Delete][round as usize % 2];
                        survey.erase(&store, &format!("user-{round}"), answers).await;
                        survey.expire(&store, i64::from(round) * 25 + 10, 3).await;
                    }
                    _ => {
                        let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
                        store.recount(app, flow).await.unwrap();
                    }
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    let left = survey.rows(&store).await.len();
    assert!((60..112).contains(&left), "{left} are left; some should be removed, most kept");
}

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

pub(super) async fn counts_are_exact_after_random_operations(store: TheStore) {
    let survey = Survey::open(&store).await;
    let mut dice = Dice(42);
    let mut moved = BTreeSet::new();
    for step in 0..150_u32 {
        let rows = survey.rows(&store).await;
        let any = |dice: &mut Dice| {
            let at = dice.below(rows.len().max(1) as u64) as usize;
            rows.get(at).map(|row| row.response_id)
        };
        match dice.below(12) {
            0..=3 => {
                let mut batch = Vec::new();
                for number in 0..=dice.below(5) {
                    let number = step * 10 + number as u32;
                    let mut one = match dice.below(3) {
                        0 => {
                            survey
                                .response_of(&store, number, &format!("user-{}", number % 4))
                                .await
                        }
                        _ => survey.response(&store, number).await,
                    };
                    // Now and then, a key that was used before.
                    one.idempotency_key =
                        number.is_multiple_of(2).then(|| [dice.below(40) as u8; 16]);
                    batch.push(one);
                }
                store.commit(batch).await.unwrap();
            }
            4 | 5 => {
                if let Some(id) = any(&mut dice) {
                    survey.delete(&store, id).await;
                }
            }
            6 => {
                let answers = if dice.below(2) == 0 {
                    AnswersOnErasure::Keep
                } else {
                    AnswersOnErasure::Delete
                };
                survey.erase(&store, &format!("user-{}", dice.below(4)), answers).await;
            }
            7 if dice.below(6) == 0 => {
                survey.expire(&store, dice.below(3) as i64 * DAY_MILLIS + 700, 3).await;
            }
            8 if dice.below(3) == 0 => {
                survey.move_in(&store, [step * 10, step * 10 + 1]).await;
                moved = survey.rows(&store).await.iter().map(|row| row.response_id).collect();
            }
            9 => compact(&store).await,
            _ => {
                store.compact_counts(CompactionCursor::default(), 5).await.unwrap();
            }
        }
        if step % 10 == 9 {
            survey.assert_exact(&store, &moved).await;
        }
    }
    compact(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert!(revision(&store, survey.flow.app_id).await > 10, "too few responses were deleted");
}
