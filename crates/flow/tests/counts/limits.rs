//! More keys than daily counts have room for.

use std::collections::BTreeMap;

use serde_json::json;
use sluice_flow::counts::{
    Contribution, Delta, Gathered, KEYS_MAX, OTHERS, SEGMENT_KEYS_MAX, segment,
};
use sluice_flow::definition::check;
use sluice_flow::submission::Admission;

use super::Shelf;

/// Numbers that are all counted under different keys.
fn different_numbers() -> Vec<String> {
    let mut numbers: Vec<String> = (1..1_000).map(|number| number.to_string()).collect();
    for zeros in 2..60 {
        numbers.extend((10..100).map(|digits| format!("{digits}{}", "0".repeat(zeros))));
    }
    let negative: Vec<String> = numbers.iter().map(|number| format!("-{number}")).collect();
    numbers.extend(negative);
    numbers
}

#[test]
fn keys_beyond_the_limit_are_counted_and_subtracted_as_others() {
    let ids = ["a", "b", "c", "d", "e"];
    let questions = ids.map(|id| json!({"id": id, "type": "number", "prompt": "?"}));
    let definition = check(&json!({"title": "N", "questions": questions})).unwrap();
    let added: Vec<Contribution> = different_numbers()
        .iter()
        .map(|number| {
            let answers = ids.map(|id| format!("\"{id}\":\"{number}\"")).join(",");
            let tags = Some("{\"plan\":\"pro\"}");
            let answers = format!("{{{answers}}}");
            let admission = Admission::CollectionOnly;
            Contribution::from_stored(Some(&definition), &answers, tags, admission)
        })
        .collect();
    assert!(added.len() * ids.len() > KEYS_MAX, "not more than fit");
    let mut shelf = Shelf::default();
    for part in added.chunks(1_000) {
        let mut daily = shelf.load();
        let mut delta = Delta::default();
        part.iter().for_each(|one| delta.add(one));
        daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
        shelf.keep(daily);
    }
    let daily = shelf.load();
    let plan = segment("plan", "pro");
    for (counts, keys_max) in
        [(daily.all(), KEYS_MAX), (daily.of_segment(&plan).unwrap(), SEGMENT_KEYS_MAX)]
    {
        let keys = counts.questions.values().map(|it| it.keys.len()).sum::<usize>();
        assert!((keys_max..=keys_max + ids.len()).contains(&keys), "{keys}");
        for question in counts.questions.values() {
            assert_eq!(question.answered, added.len() as i64);
            assert_eq!(question.keys.values().sum::<i64>(), added.len() as i64);
            assert_eq!(question.sum, 0);
        }
        assert!(counts.questions.values().any(|it| it.keys.contains_key(&OTHERS)));
    }
    assert!(shelf.0[&Vec::new()].len() < 600_000 && shelf.0[&plan].len() < 120_000);
    // The last ones, which had no room, are removed first.
    for part in added.rchunks(700) {
        let mut daily = shelf.load();
        let mut delta = Delta::default();
        part.iter().for_each(|one| delta.take_away(one));
        daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
        shelf.keep(daily);
    }
    assert_eq!(shelf.0, BTreeMap::new());
}
