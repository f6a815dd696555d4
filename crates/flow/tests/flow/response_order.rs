//! Sorting responses by a value: how values compare, and that the first of many are those of a
//! complete sort.

use std::cmp::Ordering;

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_flow::definition;
use sluice_flow::id::{ResponseId, v7};
use sluice_flow::response_order::{AnswerOrder, Direction, FirstResponses, SortKey};
use sluice_flow::submission::Texts;
use sluice_flow::time::Timestamp;

/// The order of a question, from its drafts in each version, oldest first.
fn order(versions: &[Value]) -> AnswerOrder {
    let definitions: Vec<_> = versions
        .iter()
        .map(|question| {
            let mut question = question.clone();
            question["id"] = json!("q");
            question["prompt"] = json!("?");
            definition::check(&json!({"title": "T", "questions": [question]})).unwrap()
        })
        .collect();
    let types: Vec<_> =
        definitions.iter().map(|it| &it.question("q").unwrap().question_type).collect();
    AnswerOrder::new(&types)
}

fn texts(answer: &str) -> Option<Texts<'static>> {
    let list = |text: &str| Texts::Many(text.split('|').map(|it| it.to_owned().into()).collect());
    match answer {
        "" => None,
        list_of if list_of.contains('|') => Some(list(list_of)),
        one => Some(Texts::One(one.to_owned().into())),
    }
}

/// Checks that answers, given in ascending order with "" for none, sort like this in both
/// directions, and that none is last in both.
fn check(order: &AnswerOrder, ascending: &[&str]) {
    let keys: Vec<SortKey> = ascending.iter().map(|it| order.key(texts(it).as_ref())).collect();
    for (at, one) in keys.iter().enumerate() {
        for (other_at, other) in keys.iter().enumerate() {
            let words = format!("{} and {}", ascending[at], ascending[other_at]);
            let ascends = one.compare(other, Direction::Ascending);
            assert_eq!(ascends, at.cmp(&other_at), "{words}");
            let is_nothing = *one == SortKey::Nothing || *other == SortKey::Nothing;
            let expected = if is_nothing { ascends } else { ascends.reverse() };
            assert_eq!(one.compare(other, Direction::Descending), expected, "{words}");
        }
    }
}

fn options(ids: &[&str]) -> Value {
    ids.iter().map(|id| json!({"id": id, "label": format!("Label {id}")})).collect()
}

#[test]
fn numbers_sort_as_numbers() {
    let nps = order(&[json!({"type": "nps"})]);
    check(&nps, &["0", "2", "9", "10", ""]);
    let rating = order(&[json!({"type": "rating", "max": 10})]);
    check(&rating, &["1", "9", "10", ""]);
    let number = order(&[json!({"type": "number"})]);
    check(&number, &["-10.5", "-9", "0", "0.25", "7", "007.5", "1000000000000000000001", ""]);
    assert_eq!(
        number
            .key(texts("7").as_ref())
            .compare(&number.key(texts("7.0").as_ref()), Direction::Ascending),
        Ordering::Equal
    );
}

#[test]
fn dates_sort_as_dates() {
    let date = order(&[json!({"type": "date"})]);
    check(&date, &["0999-12-31", "2025-12-31", "2026-01-01", "2026-11-02", ""]);
}

#[test]
fn options_sort_in_the_order_of_the_question_and_free_texts_follow() {
    let one =
        json!({"type": "singleChoice", "options": options(&["zoo", "api"]), "allowOther": true});
    let single = order(&[one]);
    check(&single, &["zoo", "api", "other:A", "other:b", "other:C", ""]);
    let yes = order(&[json!({"type": "yesNo"})]);
    check(&yes, &["yes", "no", ""]);
    let several = order(&[json!({"type": "multipleChoice", "options": options(&["c", "b", "a"])})]);
    check(&several, &["c", "c|b", "a|b|c", "c|a", "b", "b|a", "a", ""]);
    let matrix = json!({
        "type": "matrix", "rows": options(&["fast", "nice"]), "columns": options(&["no", "yes"]),
    });
    check(
        &order(&[matrix]),
        &["fast:no", "nice:no|fast:no", "fast:yes", "fast:yes|nice:no", "nice:yes", ""],
    );
}

#[test]
fn rankings_sort_by_their_first_option_first() {
    let ranking = order(&[json!({"type": "ranking", "options": options(&["c", "b", "a"])})]);
    check(&ranking, &["c|b|a", "c|a|b", "b|c|a", "a|c|b", "a|b|c", ""]);
}

#[test]
fn options_that_only_older_versions_offer_are_last() {
    let choice = |ids: &[&str]| json!({"type": "dropdown", "options": options(ids)});
    let changed = order(&[choice(&["x", "old", "a"]), choice(&["a", "b", "x"])]);
    check(&changed, &["a", "b", "x", "old", "gone", ""]);
}

#[test]
fn texts_sort_without_regard_to_case() {
    let text = order(&[json!({"type": "longText"})]);
    check(&text, &["10", "9", "Anna", "bert", "Carl", "other:x", "straße", ""]);
    let same = |one: &str, other: &str| {
        let key = |text: &str| text.to_owned();
        let (one, other) = (SortKey::text(&key(one)), SortKey::text(&key(other)));
        one.compare(&other, Direction::Ascending) == Ordering::Equal
    };
    assert!(same("Straße", "STRASSE"));
    let long = "x".repeat(200);
    assert!(same(&format!("{long}a"), &format!("{long}b")), "only the start is compared");
    assert!(!same(&format!("{}a", &long[1..]), &format!("{}b", &long[1..])));
}

#[test]
fn a_question_of_several_types_has_numbers_dates_options_and_then_texts() {
    let mixed = order(&[
        json!({"type": "shortText"}),
        json!({"type": "number"}),
        json!({"type": "date"}),
        json!({"type": "singleChoice", "options": options(&["b", "a"])}),
    ]);
    check(&mixed, &["9", "10", "2026-01-01", "b", "a", "again", ""]);
}

#[test]
fn tags_sort_as_numbers_or_as_texts() {
    let keys: Vec<SortKey> = ["2", "10", "Free", "free|x", "pro", ""]
        .iter()
        .map(|tag| SortKey::tag(texts(tag).as_ref()))
        .collect();
    for pair in keys.windows(2) {
        let ordering = pair[0].compare(&pair[1], Direction::Ascending);
        assert_eq!(ordering, Ordering::Less, "{pair:?}");
    }
}

#[test]
fn empty_answers_are_no_answers() {
    let several = order(&[json!({"type": "multipleChoice", "options": options(&["a", "b"])})]);
    for answer in [Texts::Many(Vec::new()), Texts::One("".into()), Texts::Many(vec!["".into()])] {
        assert_eq!(several.key(Some(&answer)), SortKey::Nothing, "{answer:?}");
    }
}

fn response(number: usize) -> ResponseId {
    let at = Timestamp::from_millis(1_000 + i64::try_from(number).unwrap());
    ResponseId::from_uuid(v7(at, 0, 0))
}

proptest! {
    #[test]
    fn the_first_of_many_are_those_of_a_complete_sort(
        answers in prop::collection::vec(prop::option::of(0_u32..40), 0..300),
        limit in 1_usize..50,
        descends in any::<bool>(),
    ) {
        let direction = if descends { Direction::Descending } else { Direction::Ascending };
        let mut first = FirstResponses::new(limit, direction);
        let mut all = Vec::new();
        for (number, answer) in answers.iter().enumerate() {
            let key = answer.map_or(SortKey::Nothing, SortKey::number);
            first.add(key, response(number));
            all.push((number, *answer));
        }
        // Without the rules above: unanswered last, then by value, then newest first.
        all.sort_by_key(|(number, answer)| {
            let value = answer.map_or(0, |it| if descends { -i64::from(it) } else { i64::from(it) });
            (answer.is_none(), value, std::cmp::Reverse(*number))
        });
        let expected: Vec<_> = all.iter().take(limit).map(|(number, _)| response(*number)).collect();
        prop_assert_eq!(first.in_order(), expected);
        prop_assert_eq!(first.len(), answers.len().min(limit));
    }
}
