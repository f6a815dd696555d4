//! Summaries of a few responses, with expected numbers computed by hand.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_flow::counts::{Contribution, Gathered, TAG_VALUES_ROOM};
use sluice_flow::definition;
use sluice_flow::submission::Admission;

use super::*;

fn day(text: &str) -> Day {
    text.parse().unwrap()
}

fn id(number: u32) -> FlowVersionId {
    FlowVersionId::from_uuid(uuid::Uuid::from_u128(number.into()))
}

/// Published versions, newest last, and responses to them.
#[derive(Default)]
struct Flow {
    versions: Vec<Version>,
    daily: BTreeMap<(Day, FlowVersionId), DailyCounts>,
}

impl Flow {
    fn publish(&mut self, questions: &Value) -> &mut Self {
        let number = self.versions.len() as u32 + 1;
        let definition = definition::check(&json!({"title": "T", "questions": questions})).unwrap();
        let published_at = Timestamp::from_millis(number.into());
        let definition = Some(Arc::new(definition));
        let version = Version { flow_version_id: id(number), number, published_at, definition };
        self.versions.insert(0, version);
        self
    }

    fn answer(&mut self, number: u32, on: &str, answers: &Value) -> &mut Self {
        self.answer_with(number, on, answers, &json!({}), Admission::CollectionOnly)
    }

    fn answer_with(
        &mut self,
        number: u32,
        on: &str,
        answers: &Value,
        tags: &Value,
        admission: Admission,
    ) -> &mut Self {
        let version = self.versions.iter().find(|it| it.number == number).unwrap();
        let added = Contribution::from_stored(
            version.definition.as_deref(),
            &answers.to_string(),
            Some(&tags.to_string()),
            admission,
        );
        let gathered = Gathered::from_delta(added.as_bytes()).unwrap();
        self.daily.entry((day(on), id(number))).or_default().put(&gathered);
        self
    }

    fn summary(&self, filter: &SummaryFilter) -> Summary {
        let daily: Vec<_> =
            self.daily.iter().map(|((day, id), daily)| (*id, *day, daily)).collect();
        add_up(&self.versions, &daily, filter)
    }

    fn question(&self, question: &str) -> QuestionSummary {
        let all = self.summary(&SummaryFilter::default()).questions;
        all.into_iter().find(|it| it.id == question).unwrap()
    }
}

fn question(id: &str, of: &str, own: Value) -> Value {
    let mut question = own;
    question["id"] = json!(id);
    question["type"] = json!(of);
    question["prompt"] = json!(format!("{id}?"));
    question
}

fn choices(ids: &[&str]) -> Value {
    ids.iter().map(|id| json!({"id": id, "label": id.to_uppercase()})).collect()
}

#[test]
fn net_promoter_score_is_promoters_minus_detractors() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("nps", "nps", json!({}))]));
    // Five promoters, two passives, three detractors: 100 × (5 − 3) / 10.
    for mark in [10, 10, 9, 9, 9, 8, 7, 6, 0, 3] {
        flow.answer(1, "2026-11-15", &json!({"nps": mark.to_string()}));
    }
    flow.answer(1, "2026-11-15", &json!({}));
    let summary = flow.question("nps");
    assert_eq!((summary.answered, summary.of), (10, 11));
    let points = [1, 0, 0, 1, 0, 0, 1, 1, 1, 3, 2];
    let expected =
        Distribution::Nps { points, promoters: 5, passives: 2, detractors: 3, score: Some(20.0) };
    assert_eq!(summary.distribution, expected);
    assert_eq!(summary.over_time[0].nps, Some(20.0));
    assert_eq!(summary.over_time[0].parts, points);
}

#[test]
fn without_an_answer_there_is_no_score_mean_or_median() {
    let mut flow = Flow::default();
    let questions = ["nps", "rating", "number"].map(|of| question(of, of, json!({})));
    flow.publish(&json!(questions));
    flow.answer(1, "2026-11-15", &json!({}));
    for distribution in ["nps", "rating", "number"].map(|id| flow.question(id).distribution) {
        match distribution {
            Distribution::Nps { score, .. } => assert_eq!(score, None),
            Distribution::Scale { mean, .. } => assert_eq!(mean, None),
            Distribution::Numbers { bins, mean, median, min, max, .. } => {
                assert_eq!((bins, mean, median, min, max), (Vec::new(), None, None, None, None));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_scale_has_a_mean_and_a_changed_scale_is_a_different_question() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("r", "rating", json!({"max": 5}))]));
    flow.publish(&json!([question("r", "rating", json!({"max": 10}))]));
    for (version, mark) in [(1, 5), (1, 4), (2, 10), (2, 1), (2, 1)] {
        flow.answer(version, "2026-11-15", &json!({"r": mark.to_string()}));
    }
    let questions = flow.summary(&SummaryFilter::default()).questions;
    let reported: Vec<_> = questions.iter().map(|it| (it.asked, it.answered, it.of)).collect();
    assert_eq!(reported, [(AskedUntil::Now, 3, 3), (AskedUntil::Version(1), 2, 2)]);
    let Distribution::Scale { mean, max, points } = &questions[0].distribution else { panic!() };
    assert_eq!((*mean, *max, points.len(), points[9]), (Some(4.0), 10, 10, (10, 1)));
    let Distribution::Scale { mean, max, .. } = &questions[1].distribution else { panic!() };
    assert_eq!((*mean, *max), (Some(4.5), 5));
}

#[test]
fn removed_options_keep_their_labels_and_counts() {
    let mut flow = Flow::default();
    let of = |ids: &[&str]| json!({"options": choices(ids), "allowOther": true});
    flow.publish(&json!([question("c", "multipleChoice", of(&["old", "a", "b"]))]));
    flow.publish(&json!([question("c", "multipleChoice", of(&["b", "new"]))]));
    flow.answer(1, "2026-11-14", &json!({"c": ["old", "b"]}));
    flow.answer(1, "2026-11-14", &json!({"c": ["old", "other:x"]}));
    flow.answer(2, "2026-11-15", &json!({"c": ["b", "new"]}));
    let summary = flow.question("c");
    let Distribution::Options { options, other, several } = &summary.distribution else { panic!() };
    let reported: Vec<_> = options
        .iter()
        .map(|it| (it.id.as_str(), it.label.as_str(), it.count, it.still_offered))
        .collect();
    let expected = [
        ("b", "B", 2, true),
        ("new", "NEW", 1, true),
        ("old", "OLD", 2, false),
        ("a", "A", 0, false),
    ];
    assert_eq!((reported.as_slice(), *other, *several), (expected.as_slice(), 1, true));
    assert_eq!(summary.over_time[0].parts, [1, 0, 2, 0, 1]);
    assert_eq!(summary.over_time[1].parts, [1, 1, 0, 0, 0]);
}

#[test]
fn yes_no_and_consent_are_options() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("y", "yesNo", json!({})), question("c", "consent", json!({}))]));
    flow.answer(1, "2026-11-15", &json!({"y": "no", "c": "accepted"}));
    flow.answer(1, "2026-11-15", &json!({"y": "no"}));
    let reported = |id: &str| match flow.question(id).distribution {
        Distribution::Options { options, .. } => {
            options.into_iter().map(|it| (it.id, it.label, it.count)).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let of = |id: &str, label: &str, count| (id.to_owned(), label.to_owned(), count);
    assert_eq!(reported("y"), [of("yes", "Yes", 0), of("no", "No", 2)]);
    assert_eq!(reported("c"), [of("accepted", "Accepted", 1)]);
}

#[test]
fn a_ranking_has_ranks_and_a_mean_rank() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("r", "ranking", json!({"options": choices(&["a", "b", "c"])}))]));
    for order in [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]] {
        flow.answer(1, "2026-11-15", &json!({"r": order}));
    }
    let Distribution::Ranking { options } = flow.question("r").distribution else { panic!() };
    let reported: Vec<_> =
        options.iter().map(|it| (it.id.as_str(), it.places.clone(), it.mean_place)).collect();
    let expected = [
        ("a", vec![2, 1, 0], Some(4.0 / 3.0)),
        ("b", vec![1, 1, 1], Some(2.0)),
        ("c", vec![0, 1, 2], Some(8.0 / 3.0)),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn a_matrix_is_counted_by_row_and_column_over_versions() {
    let of = |rows: &[&str], columns: &[&str]| {
        json!([question(
            "m",
            "matrix",
            json!({"rows": choices(rows), "columns": choices(columns)})
        )])
    };
    let mut flow = Flow::default();
    flow.publish(&of(&["r1", "r2"], &["x", "y"])).publish(&of(&["r2", "r3"], &["y", "z"]));
    flow.answer(1, "2026-11-15", &json!({"m": ["r1:x", "r2:y"]}));
    flow.answer(2, "2026-11-15", &json!({"m": ["r2:y", "r3:z"]}));
    let Distribution::Matrix { rows, columns, cells } = flow.question("m").distribution else {
        panic!()
    };
    let ids =
        |labels: &[(String, String)]| labels.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(
        (ids(&rows), ids(&columns)),
        (vec!["r2".into(), "r3".into(), "r1".into()], vec!["y".into(), "z".into(), "x".into()],)
    );
    assert_eq!(cells, [[2, 0, 0], [0, 1, 0], [0, 0, 1]]);
}

/// Checks the mean, the median and the ends of some numbers, and the first and the last bin.
fn check_numbers(numbers: &[&str], mean: f64, median: f64, ends: (f64, f64), bins: (Bin, Bin)) {
    let mut flow = Flow::default();
    flow.publish(&json!([question("n", "number", json!({}))]));
    for number in numbers {
        flow.answer(1, "2026-11-15", &json!({"n": number}));
    }
    let summary = flow.question("n");
    assert_eq!(summary.over_time[0].mean, Some(mean), "{numbers:?}");
    let Distribution::Numbers { bins: all, values, mean: reported, median: middle, min, max } =
        summary.distribution
    else {
        panic!()
    };
    assert_eq!((reported, middle), (Some(mean), Some(median)), "{numbers:?}");
    assert_eq!((min, max), (Some(ends.0), Some(ends.1)), "{numbers:?}");
    assert_eq!((all.first(), all.last()), (Some(&bins.0), Some(&bins.1)), "{numbers:?}");
    for bins in [&all, &values] {
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), numbers.len() as u64);
    }
    assert!(values.is_sorted_by(|one, other| one.from < other.from), "{values:?}");
}

#[test]
fn numbers_have_a_mean_a_median_and_bins() {
    let bin = |from, to, count| Bin { from, to, count };
    let one = |number, count| bin(number, number, count);
    check_numbers(&["7"], 7.0, 7.0, (7.0, 7.0), (one(7.0, 1), one(7.0, 1)));
    check_numbers(&["1", "2", "2", "7"], 3.0, 2.0, (1.0, 7.0), (one(1.0, 1), one(7.0, 1)));
    check_numbers(&["10", "1", "4", "5"], 5.0, 4.5, (1.0, 10.0), (one(1.0, 1), one(10.0, 1)));
    let halves = ["-1.5", "0", "2.25"];
    check_numbers(&halves, 0.25, 0.0, (-1.5, 2.2), (bin(-1.6, -1.5, 1), bin(2.2, 2.3, 1)));
    // 0 to 99, each once: bins of ten, and the median between 49 and 50.
    let all: Vec<String> = (0..100).map(|number: u32| number.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    check_numbers(&all, 49.5, 49.5, (0.0, 99.0), (bin(0.0, 10.0, 10), bin(90.0, 100.0, 10)));
}

#[test]
fn a_number_is_in_the_bin_that_has_it() {
    let check = |numbers: &[String], from: f64, to: f64, count: u64| {
        let mut flow = Flow::default();
        flow.publish(&json!([question("n", "number", json!({}))]));
        for number in numbers {
            flow.answer(1, "2026-11-15", &json!({"n": number}));
        }
        let Distribution::Numbers { bins, .. } = flow.question("n").distribution else { panic!() };
        assert!(bins.contains(&Bin { from, to, count }), "{bins:?}");
    };
    // From -60.5 to -29.5 and whole: -40.5 is below -40, and so is -40, which ends its bin.
    let below = (-60..-29).flat_map(|whole| [format!("{whole}"), format!("{whole}.5")]);
    check(&below.collect::<Vec<_>>(), -42.0, -40.0, 4);
    // From 1,000 on they are counted by hundreds, so no bin is narrower.
    let large = (950..1_000).chain((1_000..1_450).step_by(10)).map(|number| number.to_string());
    check(&large.collect::<Vec<_>>(), 1_000.0, 1_100.0, 10);
}

#[test]
fn dates_are_counted_by_month() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("d", "date", json!({}))]));
    for date in ["2026-11-15", "2026-11-01", "1850-05-05", "2025-01-31"] {
        flow.answer(1, "2026-11-15", &json!({"d": date}));
    }
    let months = [("1850", 1), ("2025-01", 1), ("2026-11", 2)];
    let months = months.map(|(month, count)| (month.to_owned(), count)).to_vec();
    assert_eq!(flow.question("d").distribution, Distribution::Dates { months });
}

#[test]
fn a_question_is_tracked_over_changes_of_text_and_type_and_its_removal() {
    let worded = |prompt: &str, of: &str| json!({"id": "q", "type": of, "prompt": prompt});
    let gone = question("gone", "shortText", json!({}));
    let mut flow = Flow::default();
    flow.publish(&json!([worded("First?", "shortText"), gone]));
    flow.publish(&json!([worded("Second?", "shortText"), gone]));
    flow.publish(&json!([worded("First?", "shortText")]));
    flow.publish(&json!([worded("How many?", "number"), question("new", "nps", json!({}))]));
    for version in 1..=3 {
        flow.answer(version, "2026-11-15", &json!({"q": "text", "gone": "x"}));
    }
    flow.answer(4, "2026-11-15", &json!({"q": "4"}));
    let questions = flow.summary(&SummaryFilter::default()).questions;
    let reported: Vec<_> = questions
        .iter()
        .map(|it| (it.id.as_str(), it.question_type, it.asked, it.answered, it.of))
        .collect();
    assert_eq!(
        reported,
        [
            ("q", "number", AskedUntil::Now, 1, 1),
            ("new", "nps", AskedUntil::Now, 0, 1),
            ("q", "shortText", AskedUntil::Version(3), 3, 3),
            ("gone", "shortText", AskedUntil::Version(2), 2, 2),
        ]
    );
    let text = &questions[2];
    assert_eq!(text.prompt, "First?");
    assert_eq!(text.worded_before, [(2, "Second?".to_owned())]);
    assert_eq!(text.distribution, Distribution::Text);
}

#[test]
fn statements_are_not_summarised() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("s", "statement", json!({}))]));
    assert_eq!(flow.summary(&SummaryFilter::default()).questions, []);
}

#[test]
fn days_versions_and_tags_filter() {
    let mut flow = Flow::default();
    let questions = json!([question("nps", "nps", json!({}))]);
    flow.publish(&questions).publish(&questions);
    let nps = json!({"nps": "9"});
    for (version, on, plan) in [
        (1, "2026-11-10", "pro"),
        (1, "2026-11-12", "free"),
        (2, "2026-11-12", "pro"),
        (2, "2026-11-13", "pro"),
    ] {
        let tags = json!({"plan": plan});
        flow.answer_with(version, on, &nps, &tags, Admission::Admitted);
    }
    let check = |filter: SummaryFilter,
                 responses: u64,
                 days: &[u64],
                 of_versions: [u64; 2],
                 tags: &[(&str, u64)]| {
        let summary = flow.summary(&filter);
        assert_eq!((summary.responses, summary.admitted), (responses, responses), "{filter:?}");
        let reported: Vec<_> = summary.days.iter().map(|it| it.responses).collect();
        assert_eq!(reported, days, "{filter:?}");
        let reported: Vec<_> = summary.versions.iter().map(|it| it.responses).collect();
        assert_eq!(reported, of_versions, "{filter:?}");
        assert_eq!(summary.questions[0].answered, responses, "{filter:?}");
        let values = summary.tags.first().map(|tag| tag.values.clone()).unwrap_or_default();
        let values: Vec<_> = values.iter().map(|(value, count)| (value.as_str(), *count)).collect();
        assert_eq!(values, tags, "{filter:?}");
    };
    let none = SummaryFilter::default;
    let both = [("pro", 3), ("free", 1)];
    check(none(), 4, &[1, 0, 2, 1], [2, 2], &both);
    let from = Some(day("2026-11-11"));
    check(SummaryFilter { from, ..none() }, 3, &[2, 1], [2, 1], &[("pro", 2), ("free", 1)]);
    let to = Some(day("2026-11-12"));
    check(SummaryFilter { from: to, to, ..none() }, 2, &[2], [1, 1], &[("free", 1), ("pro", 1)]);
    let versions = vec![id(1)];
    check(SummaryFilter { versions, ..none() }, 2, &[1, 0, 1], [2, 2], &[("free", 1), ("pro", 1)]);
    let tags = vec![("plan".to_owned(), "pro".to_owned())];
    check(SummaryFilter { tags, ..none() }, 3, &[1, 0, 1, 1], [2, 1], &both);
    let tags = vec![("plan".to_owned(), "unheard of".to_owned())];
    check(SummaryFilter { tags, ..none() }, 0, &[], [0, 0], &both);
}

#[test]
fn an_unreadable_version_is_summarised_without_its_questions() {
    let mut flow = Flow::default();
    let questions = json!([question("nps", "nps", json!({}))]);
    flow.publish(&questions).publish(&questions);
    flow.answer(1, "2026-11-10", &json!({"nps": "9"}));
    flow.versions[0].definition = None;
    flow.answer(2, "2026-11-11", &json!({"nps": "0"}));
    let summary = flow.summary(&SummaryFilter::default());
    assert_eq!(summary.responses, 2);
    let versions: Vec<_> = summary.versions.iter().map(|it| (it.number, it.responses)).collect();
    assert_eq!(versions, [(2, 1), (1, 1)]);
    let reported: Vec<_> =
        summary.questions.iter().map(|it| (it.asked, it.answered, it.of)).collect();
    assert_eq!(reported, [(AskedUntil::Version(1), 1, 1)]);
    let versions = vec![id(2)];
    let summary = flow.summary(&SummaryFilter { versions, ..SummaryFilter::default() });
    assert_eq!((summary.responses, summary.questions), (1, Vec::new()));
}

#[test]
fn a_summary_by_tag_is_partial_if_the_value_may_be_among_the_others() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("nps", "nps", json!({}))]));
    let mut answer = |on: &str, plan: &str| {
        let (answers, tags) = (json!({"nps": "9"}), json!({"plan": plan}));
        flow.answer_with(1, on, &answers, &tags, Admission::CollectionOnly);
    };
    answer("2026-11-10", "rare");
    for number in 0..TAG_VALUES_ROOM {
        answer("2026-11-11", &format!("plan {number}"));
    }
    answer("2026-11-11", "rare");
    let check = |name: &str, value: &str, from: Option<&str>, responses: u64, partial: bool| {
        let tags = vec![(name.to_owned(), value.to_owned())];
        let from = from.map(day);
        let summary = flow.summary(&SummaryFilter { tags, from, ..SummaryFilter::default() });
        assert_eq!((summary.responses, summary.partial), (responses, partial), "{name}={value}");
    };
    check("plan", "rare", None, 1, true);
    check("plan", "rare", Some("2026-11-12"), 0, false);
    // This value is always counted separately.
    check("plan", "plan 0", None, 1, false);
    check("plan", "unheard of", None, 0, true);
    check("another", "tag", None, 0, false);
    assert!(!flow.summary(&SummaryFilter::default()).partial);
}

#[test]
fn a_day_without_responses_left_is_neither_first_nor_last() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("r", "rating", json!({}))]));
    flow.answer(1, "2026-11-15", &json!({"r": "5"}));
    // What a deletion leaves.
    flow.daily.entry((day("2026-11-01"), id(1))).or_default();
    let summary = flow.summary(&SummaryFilter::default());
    assert_eq!(summary.days, [DayCount { day: day("2026-11-15"), responses: 1 }]);
    assert_eq!(summary.ends, Some((day("2026-11-15"), day("2026-11-15"))));
}

#[test]
fn more_than_two_hundred_days_are_summarised_by_week() {
    let mut flow = Flow::default();
    flow.publish(&json!([question("r", "rating", json!({}))]));
    let answer = |mark: u32| json!({"r": mark.to_string()});
    flow.answer(1, "2026-01-01", &answer(5));
    flow.answer(1, "2026-07-19", &answer(1));
    let summary = flow.summary(&SummaryFilter::default());
    assert_eq!((summary.step, summary.days.len()), (Step::Day, 200));
    flow.answer(1, "2026-07-20", &answer(3)).answer(1, "2026-07-21", &answer(2));
    let summary = flow.summary(&SummaryFilter::default());
    assert_eq!((summary.step, summary.days.len()), (Step::Week, 30));
    // New Year was a Thursday, and 20 July is a Monday.
    assert_eq!(summary.days[0], DayCount { day: day("2025-12-29"), responses: 1 });
    assert_eq!(summary.days[29], DayCount { day: day("2026-07-20"), responses: 2 });
    assert_eq!(summary.ends, Some((day("2026-01-01"), day("2026-07-21"))));
    let over_time = &summary.questions[0].over_time;
    let reported: Vec<_> = over_time.iter().map(|it| (it.day, it.answered, it.mean)).collect();
    assert_eq!(
        reported,
        [
            (day("2025-12-29"), 1, Some(5.0)),
            (day("2026-07-13"), 1, Some(1.0)),
            (day("2026-07-20"), 2, Some(2.5)),
        ]
    );
}

#[test]
fn days_end_with_the_last_one_of_the_year_9999() {
    let of_day = BTreeMap::from([(day("9999-12-30"), 2), (day("9999-12-31"), 3)]);
    let (step, days) = gap_free(&of_day);
    let reported: Vec<_> = days.iter().map(|it| (it.day, it.responses)).collect();
    assert_eq!(step, Step::Day);
    assert_eq!(reported, [(day("9999-12-30"), 2), (day("9999-12-31"), 3)]);
}

#[test]
fn the_last_day_of_a_spark_is_today() {
    let flow = |number| FlowId::from_uuid(uuid::Uuid::from_u128(number));
    let today = day("2026-11-15");
    let total = |of, back: i32, responses| DayTotal {
        flow_id: flow(of),
        day: today.plus(-back),
        responses,
    };
    let totals = [total(1, 40, 7), total(1, 2, 3), total(1, 0, 1), total(2, 3, 5), total(2, -1, 2)];
    let reported = sparks(&totals, today, 3);
    assert_eq!(
        reported,
        [
            Spark { flow_id: flow(1), responses: 11, days: vec![3, 0, 1] },
            Spark { flow_id: flow(2), responses: 7, days: vec![0, 0, 0] },
        ]
    );
}
