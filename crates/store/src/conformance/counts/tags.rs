//! Which tags of a day are counted separately if there are too many, and that their counts are
//! exact.

use serde_json::{Value, json};
use sluice_flow::counts::segment;

use super::super::world::{TheStore, try_apply};
use super::compact;
use super::survey::{Survey, has_tag};
use crate::{CompactionCursor, CountsQuery, Write};

/// One client makes up 10,000 tags before any real tag arrives.
pub(in super::super) async fn junk_tags_that_come_first_do_not_displace_real_ones(store: TheStore) {
    const JUNK: u32 = 500;
    const REAL: u32 = 300;
    let survey = Survey::open(&store).await;
    let junk = |response: u32| -> Value {
        let own = |number: u32| format!("junk {}", response * 10 + number);
        let plans: Vec<_> = (0..10).map(own).collect();
        let names = (0..10).map(|number| (own(number), json!("x")));
        names.chain([("plan".to_owned(), json!(plans))]).collect::<serde_json::Map<_, _>>().into()
    };
    let junk: Vec<_> = survey.store_tagged(&store, (0..JUNK).map(junk)).await;
    let tags = |_| json!({"plan": "pro", "source": ["mail", "web"]});
    let real = survey.store_tagged(&store, (0..REAL).map(tags)).await;
    let values = i64::from(JUNK) * 10;
    assert_real(&store, &survey, i64::from(REAL), values).await;
    compact(&store).await;
    assert_real(&store, &survey, i64::from(REAL), values).await;
    for id in [junk[0], junk[1], real[0]] {
        survey.delete(&store, id).await;
    }
    assert_real(&store, &survey, i64::from(REAL) - 1, values - 20).await;
    compact(&store).await;
    assert_real(&store, &survey, i64::from(REAL) - 1, values - 20).await;
}

/// Checks that this many responses with real tags are counted separately, and this many values of
/// "plan" are junk.
async fn assert_real(store: &TheStore, survey: &Survey, real: i64, junk: i64) {
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    for (name, value, rest) in [("plan", "pro", junk), ("source", "mail", real)] {
        let segment = segment(name, value);
        let query = CountsQuery { segment: Some(segment.clone()), ..CountsQuery::default() };
        let counts = store.read_counts(app, flow, &query).await.unwrap();
        let [(_, _, daily)] = counts.daily.as_slice() else { panic!("one version and day") };
        let tag = daily.tags().find(|(its, _)| *its == name).unwrap().1;
        assert_eq!((tag.values[value], tag.all()), (real, real + rest), "{name}");
        assert_eq!(daily.of_segment(&segment).unwrap().responses, real, "{name}");
        assert!(!daily.may_hide(name, value));
    }
}

/// A tag that is rare when the limit is reached is hidden; it returns once it is frequent.
pub(in super::super) async fn a_tag_that_becomes_frequent_is_counted_separately_again(
    store: TheStore,
) {
    let survey = Survey::open(&store).await;
    let pro = |count: usize| std::iter::repeat_n(json!({"plan": "pro"}), count);
    let names = |prefix: &str, numbers: std::ops::Range<u32>| -> Value {
        let names = numbers.map(|number| (format!("{prefix}{number}"), json!("1")));
        names.collect::<serde_json::Map<_, _>>().into()
    };
    let mut real = survey.store_tagged(&store, pro(5)).await;
    compact(&store).await;
    let junk = (0..8).flat_map(|_| [names("junk", 0..50), names("junk", 50..60)]);
    let junk = survey.store_tagged(&store, junk).await;
    compact(&store).await;
    survey.store_tagged(&store, [names("new", 0..10)].into_iter()).await;
    compact(&store).await;
    assert_eq!(responses_with_pro(&store, &survey).await, None, "it is not hidden");
    real.extend(survey.store_tagged(&store, pro(200)).await);
    compact(&store).await;
    assert_eq!(responses_with_pro(&store, &survey).await, Some(205));
    assert_shown_is_exact(&store, &survey).await;
    for id in [real[0], real[1], real[204], junk[0], junk[1], junk[15]] {
        survey.delete(&store, id).await;
    }
    assert_eq!(responses_with_pro(&store, &survey).await, Some(202));
    assert_shown_is_exact(&store, &survey).await;
    compact(&store).await;
    assert_eq!(responses_with_pro(&store, &survey).await, Some(202));
    assert_shown_is_exact(&store, &survey).await;
}

pub(in super::super) async fn counts_by_tag_are_exact_under_concurrent_recounts_and_writes(
    store: TheStore,
) {
    let survey = std::sync::Arc::new(Survey::open(&store).await);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..3_u32 {
        let (store, survey) = (store.clone(), survey.clone());
        tasks.spawn(async move {
            for round in 0..8_u32 {
                let own = |number: u32| format!("junk {}", (task * 8 + round) * 20 + number);
                let tags = (0..20).map(|number| json!({own(number): "x", "plan": "pro"}));
                let ids = survey.store_tagged(&store, tags).await;
                // Other writers change the app as well.
                while try_apply(&store, survey.flow.app_id, vec![Write::DeleteResponse(ids[0])])
                    .await
                    .is_err()
                {}
                store.compact_counts(CompactionCursor::default(), 10).await.unwrap();
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_shown_is_exact(&store, &survey).await;
    compact(&store).await;
    assert_shown_is_exact(&store, &survey).await;
    assert_eq!(responses_with_pro(&store, &survey).await, Some(3 * 8 * 19));
}

/// How many responses have the plan "pro"; `None` if it is not counted separately.
async fn responses_with_pro(store: &TheStore, survey: &Survey) -> Option<i64> {
    let segment = segment("plan", "pro");
    let query = CountsQuery { segment: Some(segment.clone()), ..CountsQuery::default() };
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let counts = store.read_counts(app, flow, &query).await.unwrap();
    let [(_, _, daily)] = counts.daily.as_slice() else { panic!("one version and day") };
    let tag = daily.tags().find(|(name, _)| *name == "plan")?.1;
    let shown = *tag.values.get("pro")?;
    assert_eq!(daily.of_segment(&segment).unwrap().responses, shown);
    assert_eq!((tag.all(), daily.may_hide("plan", "pro")), (shown, false));
    Some(shown)
}

/// Checks every value that is counted separately against the stored responses.
async fn assert_shown_is_exact(store: &TheStore, survey: &Survey) {
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let counts = store.read_counts(app, flow, &CountsQuery::default()).await.unwrap();
    let [(_, _, daily)] = counts.daily.as_slice() else { panic!("one version and day") };
    let rows = survey.rows(store).await;
    assert_eq!(daily.all().responses, rows.len() as i64);
    for (name, tag) in daily.tags() {
        for (value, count) in &tag.values {
            let expected = rows.iter().filter(|row| has_tag(row, name, Some(value))).count();
            assert_eq!(*count, expected as i64, "{name}={value}");
        }
    }
}
