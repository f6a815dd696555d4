//! The counts of responses, and what is left when the responses are subtracted.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod limits;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use sluice_flow::counts::{
    Contribution, Counts, DailyCounts, Delta, Gathered, TAG_NAMES_MAX, TAG_NAMES_ROOM,
    TAG_VALUE_BYTES_MAX, TAG_VALUES_MAX, TAG_VALUES_ROOM, TAGS_RECOUNT_RESPONSES_MAX, segment,
};
use sluice_flow::definition::{Definition, check};
use sluice_flow::question::QuestionType;
use sluice_flow::submission::{Admission, parse};

/// The types in the order used by the expected bytes; any other comes after them.
const IN_ORDER: [&str; 17] = [
    "shortText",
    "longText",
    "email",
    "url",
    "phone",
    "number",
    "date",
    "singleChoice",
    "dropdown",
    "multipleChoice",
    "ranking",
    "matrix",
    "rating",
    "nps",
    "yesNo",
    "consent",
    "statement",
];

/// One question of every type, named after it.
fn definition() -> Definition {
    let options =
        json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]);
    let own = |name: &str| match name {
        "singleChoice" | "dropdown" | "multipleChoice" => {
            json!({"options": options, "allowOther": true})
        }
        "ranking" => json!({"options": options}),
        "matrix" => json!({"rows": options, "columns": options}),
        _ => {
            let fields = QuestionType::blank(name).unwrap().choice_fields();
            fields.into_iter().map(|field| (field, options.clone())).collect()
        }
    };
    let others = QuestionType::NAMES.iter().filter(|name| !IN_ORDER.contains(name));
    let questions = IN_ORDER.iter().chain(others).map(|name| {
        let mut question = own(name);
        question["id"] = json!(name);
        question["type"] = json!(name);
        question["prompt"] = json!("?");
        question
    });
    check(&json!({"title": "All", "questions": questions.collect::<Vec<_>>()})).unwrap()
}

fn contribution(answers: &Value, tags: &Value, admission: Admission) -> Contribution {
    Contribution::from_stored(
        Some(&definition()),
        &answers.to_string(),
        Some(&tags.to_string()),
        admission,
    )
}

fn counted<'c>(added: impl IntoIterator<Item = &'c Contribution>) -> DailyCounts {
    let mut delta = Delta::default();
    added.into_iter().for_each(|one| delta.add(one));
    let mut daily = DailyCounts::default();
    daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
    daily
}

/// The same counts after storing and loading them.
fn stored(daily: DailyCounts) -> DailyCounts {
    let mut loaded = DailyCounts::default();
    for part in daily.into_parts() {
        if let Some(body) = part.body {
            loaded.load(&part.segment, &body).unwrap();
        }
    }
    loaded
}

/// Checks what one answer is counted under: the sum, and each key.
fn check_keys(question: &str, answer: Value, sum: i128, keys: &[u32]) {
    let definition = definition();
    let place = definition.questions().iter().position(|it| it.id == question).unwrap();
    let one = contribution(&json!({question: answer}), &json!({}), Admission::CollectionOnly);
    let daily = counted([&one]);
    let counts = &daily.all().questions[&(place as u16)];
    let expected: BTreeMap<u32, i64> = keys.iter().map(|key| (*key, 1)).collect();
    assert_eq!((counts.answered, counts.sum, &counts.keys), (1, sum, &expected), "{question}");
}

#[test]
fn an_answer_is_counted_by_its_type() {
    for text in ["shortText", "longText", "email", "url", "phone"] {
        check_keys(text, json!("x"), 0, &[]);
    }
    check_keys("number", json!("-1.5"), -1_500_000, &[2463]);
    check_keys("date", json!("2026-11-15"), 0, &[2026 * 13 + 11]);
    for choice in ["singleChoice", "dropdown", "multipleChoice"] {
        check_keys(choice, json!("b"), 0, &[1]);
        check_keys(choice, json!("other:my own"), 0, &[3]);
    }
    check_keys("multipleChoice", json!(["c", "a", "other:x"]), 0, &[0, 2, 3]);
    check_keys("ranking", json!(["c", "a", "b"]), 0, &[1, 5, 6]);
    check_keys("matrix", json!(["a:c", "c:a"]), 0, &[2, 6]);
    check_keys("rating", json!("5"), 0, &[5]);
    check_keys("nps", json!("0"), 0, &[0]);
    check_keys("nps", json!("10"), 0, &[10]);
    check_keys("yesNo", json!("no"), 0, &[1]);
    check_keys("consent", json!("accepted"), 0, &[0]);
}

#[test]
fn absent_answers_are_not_counted() {
    let nothing = json!({"nps": "", "multipleChoice": [], "unknown": "x", "statement": "x"});
    let one = contribution(&nothing, &json!({}), Admission::Admitted);
    let daily = counted([&one]);
    let expected = Counts { responses: 1, admitted: 1, ..Counts::default() };
    assert_eq!(daily.all(), &expected);
}

/// The bytes must never change accidentally: see the module documentation.
#[test]
fn the_bytes_of_a_contribution_never_change() {
    let answers = json!({
        "nps": "9", "number": "12.5", "date": "2026-11-15", "yesNo": "no", "matrix": ["b:a"],
        "multipleChoice": ["a", "other:x"], "ranking": ["b", "c", "a"], "shortText": "text",
    });
    let tags = json!({"plan": ["pro", "beta"], "long": "x".repeat(TAG_VALUE_BYTES_MAX + 1)});
    let one = contribution(&answers, &tags, Admission::Admitted);
    let expected = [
        b"\x01\x05long\x79\x05plan\x03pro\x05plan\x04beta\0".as_slice(),
        // date, matrix, multipleChoice, nps, number with its sum, ranking, shortText, yesNo
        b"\x0d\xee\xcd\x01\0\x17\x04\0\x13\x01\x04\0\x1b\x0a\0\x0c\xc0\xf0\xf5\x0b\xa3\x16\0",
        b"\x15\x04\x08\x03\0\x01\0\x1d\x02\0\0",
    ]
    .concat();
    assert_eq!(one.as_bytes(), expected);
}

#[test]
fn a_submission_and_its_stored_form_add_the_same() {
    let answers = json!({"nps": "9", "multipleChoice": ["a", "other:\"q\""], "shortText": "ü\n"});
    let tags = json!({"plan": "pro", "of": ["a", "b"]});
    let sent = json!({
        "flowVersionId": "fv_1", "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted", "answers": answers,
        "metadata": {"tags": tags},
    })
    .to_string();
    let submission = parse(sent.as_bytes()).unwrap();
    let definition = definition();
    let at_intake = Contribution::from_submission(
        &definition,
        &submission.answers,
        &submission.tags,
        submission.admission,
    );
    let from_stored = Contribution::from_stored(
        Some(&definition),
        &submission.answers_json(),
        submission.tags_json().as_deref(),
        Admission::Admitted,
    );
    assert_eq!(at_intake, from_stored);
}

fn tagged(tags: &Value) -> Contribution {
    contribution(&json!({"nps": "9"}), tags, Admission::CollectionOnly)
}

fn put_all(shelf: &mut Shelf, added: &[Contribution], taken: &[Contribution]) {
    let mut delta = Delta::default();
    added.iter().for_each(|one| delta.add(one));
    taken.iter().for_each(|one| delta.take_away(one));
    let mut daily = shelf.load();
    daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
    shelf.keep(daily);
}

/// They would grow with every value of a tag such as a session.
#[test]
fn counts_that_are_only_read_remember_no_removed_values() {
    for mut daily in [DailyCounts::to_read(None), DailyCounts::to_read_tag("n")] {
        let mut delta = Delta::default();
        for number in 0..2 * TAG_VALUES_ROOM {
            delta.add(&tagged(&json!({"n": format!("v{number:05}")})));
        }
        daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
        let parts = daily.into_parts();
        assert!(parts.iter().all(|part| part.body.is_some()), "removed values are kept");
        assert!(parts.len() <= 1 + TAG_VALUES_MAX, "{}", parts.len());
    }
}

#[test]
fn with_too_many_values_the_most_frequent_stay_and_the_rest_are_others() {
    let mut shelf = Shelf::default();
    let value = |number: usize| tagged(&json!({"n": format!("v{number:05}")}));
    let fitting: Vec<_> = (0..TAG_VALUES_ROOM).map(value).collect();
    put_all(&mut shelf, &fitting, &[]);
    let daily = shelf.load();
    let (_, tag) = daily.tags().next().unwrap();
    assert_eq!((tag.values.len(), tag.others), (TAG_VALUES_ROOM, None));
    // One more than fits, and one that occurs twice.
    put_all(&mut shelf, &[value(TAG_VALUES_ROOM), value(1_000)], &[]);
    let daily = shelf.load();
    let (_, tag) = daily.tags().next().unwrap();
    let others = (TAG_VALUES_ROOM + 2 - TAG_VALUES_MAX - 1) as i64;
    assert_eq!((tag.values.len(), tag.others), (TAG_VALUES_MAX, Some(others)));
    assert_eq!(tag.values["v01000"], 2);
    assert_eq!(shelf.0.len(), 1 + TAG_VALUES_MAX, "removed segments are still stored");
    // Hidden values stay hidden, whether added or subtracted; new ones are counted.
    put_all(&mut shelf, &[value(500), value(9_000)], &[value(501), value(1_000)]);
    let daily = shelf.load();
    let (_, tag) = daily.tags().next().unwrap();
    assert_eq!((tag.values.len(), tag.others), (TAG_VALUES_MAX + 1, Some(others)));
    assert_eq!((tag.values["v01000"], tag.values["v09000"]), (1, 1));
    assert!(daily.may_hide("n", "v00500") && !daily.may_hide("n", "v09000"));
}

#[test]
fn with_too_many_names_the_most_frequent_stay() {
    let mut shelf = Shelf::default();
    let name = |number: usize| tagged(&json!({format!("t{number:05}"): "x"}));
    let junk: Vec<_> = (0..=TAG_NAMES_ROOM).map(name).collect();
    put_all(&mut shelf, &junk[..TAG_NAMES_ROOM], &[]);
    assert_eq!(shelf.load().tags().count(), TAG_NAMES_ROOM);
    let last = &junk[TAG_NAMES_ROOM..];
    put_all(&mut shelf, &[last, last].concat(), &[]);
    let daily = shelf.load();
    assert_eq!(daily.tags().count(), TAG_NAMES_MAX);
    assert!(daily.tags().any(|(name, tag)| name == "t00064" && tag.values["x"] == 2));
    assert!(daily.may_hide("t00063", "x") && !daily.may_hide("t00001", "x"));
    put_all(&mut shelf, &[name(63)], &[name(62)]);
    assert_eq!(shelf.load().tags().count(), TAG_NAMES_MAX, "hidden names came back");
}

#[test]
fn junk_tags_that_come_first_do_not_displace_real_ones() {
    let mut shelf = Shelf::default();
    let junk: Vec<_> = (0..10_000)
        .map(|n| tagged(&json!({"plan": format!("junk {n}"), format!("junk {n}"): "x"})))
        .collect();
    junk.chunks(100).for_each(|some| put_all(&mut shelf, some, &[]));
    let real = tagged(&json!({"plan": "pro", "source": "mail"}));
    for more in junk.chunks(100).take(30) {
        // More junk arrives meanwhile.
        put_all(&mut shelf, &[more, &vec![real.clone(); 10]].concat(), &[]);
    }
    let daily = shelf.load();
    let (_, plan) = daily.tags().find(|(name, _)| *name == "plan").unwrap();
    assert_eq!((plan.values["pro"], plan.all()), (300, 13_300));
    let (_, source) = daily.tags().find(|(name, _)| *name == "source").unwrap();
    assert_eq!(source.values["mail"], 300);
    assert_eq!(daily.of_segment(&segment("source", "mail")).unwrap().responses, 300);
    // All of it can be subtracted.
    for some in junk.chunks(100).take(30).chain(junk.chunks(100)) {
        put_all(&mut shelf, &[], some);
    }
    put_all(&mut shelf, &[], &vec![real; 300]);
    assert!(shelf.0.is_empty(), "{} parts are left", shelf.0.len());
}

#[test]
fn a_day_that_hides_tags_is_due_for_a_recount_when_its_responses_have_doubled() {
    let mut shelf = Shelf::default();
    let name = |number: usize| tagged(&json!({format!("t{number:05}"): "x"}));
    let plain = |responses: i64| vec![tagged(&json!({})); responses as usize];
    let mut put = |added: &[Contribution], taken: &[Contribution]| {
        put_all(&mut shelf, added, taken);
        shelf.load().is_due_for_recount()
    };
    let fitting: Vec<_> = (0..TAG_NAMES_ROOM).map(name).collect();
    assert!(!put(&fitting, &[]) && !put(&plain(200), &[]), "due although nothing is hidden");
    let long = tagged(&json!({"t00000": "x".repeat(TAG_VALUE_BYTES_MAX + 1)}));
    assert!(
        !put(std::slice::from_ref(&long), &[]) && !put(&plain(400), &[]),
        "due although a long value is not hidden"
    );
    assert!(!put(&[], &[plain(400), vec![long]].concat()));
    assert!(!put(&[name(TAG_NAMES_ROOM)], &plain(200)));
    // There are 65 now. Hiding more in between does not delay the recount.
    let more: Vec<_> = (100..150).map(name).collect();
    assert!(!put(&more, &[]) && !put(&plain(14), &[]));
    assert!(put(&plain(1), &[]) && !put(&[], &plain(1)));
    let most = TAGS_RECOUNT_RESPONSES_MAX - 129;
    assert!(put(&plain(most), &[]) && !put(&plain(1), &[]), "the limit for a recount is wrong");
}

#[test]
fn a_value_that_no_response_has_any_more_is_dropped() {
    let one = contribution(&json!({}), &json!({"mail": "eve@example.org"}), Admission::Admitted);
    let two = contribution(&json!({}), &json!({"plan": "pro"}), Admission::Admitted);
    let mut daily = stored(counted([&one, &two]));
    let mut delta = Delta::default();
    delta.take_away(&one);
    daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
    for part in daily.into_parts() {
        let gone = part.segment == segment("mail", "eve@example.org");
        assert_eq!(part.body.is_none(), gone, "{:?}", part.segment);
        let body = String::from_utf8_lossy(part.body.as_deref().unwrap_or_default()).into_owned();
        assert!(!body.contains("eve"), "{body}");
    }
}

#[test]
fn damaged_bytes_are_an_error_and_never_a_panic() {
    let one =
        contribution(&json!({"nps": "3", "number": "7"}), &json!({"a": "b"}), Admission::Admitted);
    let parts = counted([&one]).into_parts();
    let body = parts[0].body.clone().unwrap();
    for length in 0..body.len() {
        assert!(DailyCounts::default().load(&[], &body[..length]).is_err(), "{length}");
    }
    for length in 1..one.as_bytes().len() {
        assert!(Gathered::from_delta(&one.as_bytes()[..length]).is_err(), "{length}");
    }
}

#[test]
fn equal_tags_are_written_once_in_a_row() {
    let tagged = |tags: Value| contribution(&json!({"nps": "3"}), &tags, Admission::Admitted);
    let (pro, free) = (tagged(json!({"plan": "pro"})), tagged(json!({"plan": "free"})));
    let mut delta = Delta::default();
    [&pro, &pro, &free, &pro].into_iter().for_each(|one| delta.add(one));
    let tags = b"plan\x03pro";
    let found = delta.as_bytes().windows(tags.len()).filter(|bytes| bytes == tags).count();
    assert_eq!(found, 2);
    let mut apart = DailyCounts::default();
    for one in [&pro, &pro, &free, &pro] {
        apart.put(&Gathered::from_delta(one.as_bytes()).unwrap());
    }
    assert_eq!(stored(counted([&pro, &pro, &free, &pro])), stored(apart));
    assert!(Gathered::from_delta(&[4, 0]).is_err(), "no tags come before");
}

fn any_contribution() -> impl Strategy<Value = Contribution> {
    let answers = (
        proptest::option::of(0..=10_u8),
        proptest::option::of("-?[0-9]{1,5}(\\.[0-9]{1,8})?"),
        proptest::sample::subsequence(vec!["a", "b", "c", "other:x"], 0..=4),
        proptest::option::of(select(vec!["yes", "no"])),
    );
    let tags = vec((0..120_u8, 0..40_u8), 0..5);
    (answers, tags, any::<bool>()).prop_map(|((nps, number, chosen, yes_no), tags, admitted)| {
        let mut answers = json!({"multipleChoice": chosen});
        if let Some(nps) = nps {
            answers["nps"] = json!(nps.to_string());
        }
        if let Some(number) = number {
            answers["number"] = json!(number);
        }
        if let Some(word) = yes_no {
            answers["yesNo"] = json!(word);
        }
        let tags: serde_json::Map<_, _> = tags
            .into_iter()
            .map(|(name, value)| (format!("t{name}"), json!(format!("v{value}"))))
            .collect();
        let admission = if admitted { Admission::Admitted } else { Admission::CollectionOnly };
        contribution(&answers, &tags.into(), admission)
    })
}

/// Checks each value that is counted separately, and the total of each name that has room.
fn assert_exact(daily: &DailyCounts, left: &[&Contribution]) {
    assert_eq!(daily.all(), counted(left.iter().copied()).all());
    for (name, tag) in daily.tags() {
        let of_name = |name: &str, value: Option<&str>| {
            let needle = |one: &Contribution| {
                let alone = counted([one]);
                alone.tags().any(|(its, tag)| {
                    its == name && value.is_none_or(|value| tag.values.contains_key(value))
                })
            };
            left.iter().filter(|one| needle(one)).count() as i64
        };
        for (value, count) in &tag.values {
            assert_eq!(*count, of_name(name, Some(value)), "{name}={value}");
            let own: Vec<_> = left
                .iter()
                .filter(|one| counted([**one]).of_segment(&segment(name, value)).is_some())
                .copied()
                .collect();
            let expected = counted(own.iter().copied());
            assert_eq!(
                daily.of_segment(&segment(name, value)).cloned().unwrap_or_default(),
                *expected.all()
            );
        }
        let reported: i64 = tag.values.values().sum();
        assert_eq!(reported + tag.others.unwrap_or(0), of_name(name, None), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn parts_sum_up_to_the_whole(all in vec(any_contribution(), 0..60), cut in 0..60_usize) {
        let cut = cut.min(all.len());
        let mut merged = counted(&all[..cut]).all().clone();
        merged.merge(counted(&all[cut..]).all());
        let whole = counted(&all);
        prop_assert_eq!(&merged, whole.all());
        let one_by_one = all.iter().fold(DailyCounts::default(), |daily, one| {
            let mut daily = stored(daily);
            daily.put(&Gathered::from_delta(one.as_bytes()).unwrap());
            daily
        });
        prop_assert_eq!(one_by_one.all(), whole.all());
    }

    #[test]
    fn adding_and_subtracting_leaves_nothing(all in vec(any_contribution(), 1..60)) {
        let mut daily = stored(counted(&all));
        let mut delta = Delta::default();
        all.iter().for_each(|one| delta.take_away(one));
        daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
        daily.tidy();
        prop_assert!(daily.is_zero());
        for part in daily.into_parts() {
            prop_assert_eq!((part.responses, part.body), (0, None));
        }
    }

    #[test]
    fn daily_counts_read_back_as_they_were_stored(all in vec(any_contribution(), 0..60)) {
        let daily = counted(&all);
        let loaded = stored(daily.clone());
        prop_assert_eq!(loaded.all(), daily.all());
        prop_assert_eq!(loaded.tags().collect::<Vec<_>>(), daily.tags().collect::<Vec<_>>());
    }

    #[test]
    fn limits_stay_exact_under_removal(
        all in vec((any_contribution(), any::<bool>()), 1..120), cuts in vec(1..40_usize, 1..4)
    ) {
        let mut shelf = Shelf::default();
        let mut left: Vec<&Contribution> = Vec::new();
        let mut rest = all.as_slice();
        for cut in cuts {
            let (part, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            let mut delta = Delta::default();
            part.iter().for_each(|(one, _)| delta.add(one));
            left.extend(part.iter().map(|(one, _)| one));
            // Every second one of those to be removed, of this part and of earlier ones.
            for (one, goes) in part {
                if *goes {
                    let at = left.iter().position(|it| *it == one).unwrap();
                    delta.take_away(left.remove(at));
                }
            }
            let mut daily = shelf.load();
            daily.put(&Gathered::from_delta(delta.as_bytes()).unwrap());
            shelf.keep(daily);
            assert_exact(&shelf.load(), &left);
        }
    }
}

/// A store for daily counts: only changed parts are written.
#[derive(Default)]
struct Shelf(BTreeMap<Vec<u8>, Vec<u8>>);

impl Shelf {
    fn load(&self) -> DailyCounts {
        let mut daily = DailyCounts::default();
        for (segment, body) in &self.0 {
            daily.load(segment, body).unwrap();
        }
        daily
    }

    fn keep(&mut self, daily: DailyCounts) {
        for part in daily.into_parts() {
            match part.body {
                Some(body) => self.0.insert(part.segment, body),
                None => self.0.remove(&part.segment),
            };
        }
    }
}
