//! Visits: the form of a report, the names of counters, the bins of times and their median.

use serde_json::{Value, json};
use sluice_flow::definition;
use sluice_flow::visit::VisitStep::{Finished, Opened, Passed, Seen, Started};
use sluice_flow::visit::{STEPS_MAX, TimeBin, Times, Visit, VisitCounter};

fn report(steps: &Value) -> Value {
    json!({"flowVersionId": "fv_1", "steps": steps})
}

#[test]
fn a_report_is_read_step_by_step() {
    let body = report(&json!([
        {"step": "opened", "more": 1}, {"step": "seen", "question": "nps"}, {"step": "started"},
        {"step": "passed", "question": "nps"}, {"step": "finished", "seconds": 7.9},
    ]));
    let visit = Visit::parse(body.to_string().as_bytes()).unwrap();
    assert_eq!(visit.flow_version_id, "fv_1");
    let question = || "nps".to_owned();
    let finished = Finished { seconds: Some(7) };
    assert_eq!(visit.steps, [Opened, Seen(question()), Started, Passed(question()), finished]);
}

#[test]
fn the_first_fault_of_a_report_says_what_is_required() {
    let many = vec![json!({"step": "opened"}); STEPS_MAX + 1];
    for (body, fault) in [
        (json!([]), "The body must be a JSON object."),
        (json!({"steps": []}), "flowVersionId must be the id of a version."),
        (json!({"flowVersionId": "x"}), "steps must be a list of 1 to 603 steps."),
        (report(&json!([])), "steps must be a list of 1 to 603 steps."),
        (report(&json!(many)), "steps must be a list of 1 to 603 steps."),
        (report(&json!(["opened"])), "steps[0] must be an object such as {\"step\":\"opened\"}."),
        (
            report(&json!([{"step": "opened"}, {"step": "left"}])),
            "steps[1].step must be opened, started, seen, passed or finished.",
        ),
        (report(&json!([{"step": "seen"}])), "steps[0].question must be the id of a question."),
        (
            report(&json!([{"step": "finished", "seconds": -1}])),
            "steps[0].seconds must be a number, 0 or more.",
        ),
        (
            report(&json!([{"step": "finished", "seconds": "7"}])),
            "steps[0].seconds must be a number, 0 or more.",
        ),
        (
            report(&json!([{"step": "finished"}, {"step": "finished", "seconds": 1}])),
            "steps[1] must not repeat an earlier step.",
        ),
        (
            report(&json!([{"step": "seen", "question": "a"}, {"step": "seen", "question": "a"}])),
            "steps[1] must not repeat an earlier step.",
        ),
    ] {
        let refused = Visit::parse(body.to_string().as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), fault, "{body}");
        assert!(!refused.is_unknown_question);
    }
    assert!(Visit::parse(b"{").is_err());
}

#[test]
fn every_question_of_a_report_is_one_of_the_version() {
    let asked = json!({"title": "t", "questions": [{"id": "a", "type": "nps", "prompt": "?"}]});
    let definition = definition::check(&asked).unwrap();
    let steps = |question: &str| {
        let steps = json!([{"step": "opened"}, {"step": "passed", "question": question}]);
        Visit::parse(report(&steps).to_string().as_bytes()).unwrap()
    };
    assert_eq!(steps("a").check(&definition), Ok(()));
    let fault = steps("b").check(&definition).unwrap_err();
    assert!(fault.is_unknown_question);
    let text = "steps[1].question must be the id of a question of this version.";
    assert_eq!(fault.to_string(), text);
}

#[test]
fn a_counter_is_read_back_from_its_text() {
    let counters = |step: sluice_flow::visit::VisitStep| {
        step.counters().map(|counter| counter.to_string()).collect::<Vec<_>>()
    };
    for (step, texts) in [
        (Opened, vec!["opened"]),
        (Started, vec!["started"]),
        (Seen("nps".into()), vec!["seen:nps"]),
        (Passed("nps".into()), vec!["passed:nps"]),
        (Finished { seconds: None }, vec!["finished"]),
        (Finished { seconds: Some(11) }, vec!["finished", "time:10"]),
    ] {
        assert_eq!(counters(step), texts);
        for text in texts {
            assert_eq!(text.parse::<VisitCounter>().unwrap().to_string(), text);
        }
    }
    for text in ["", "left", "time:", "time:x", "answered:nps"] {
        assert!(text.parse::<VisitCounter>().is_err(), "{text}");
    }
}

#[test]
fn a_bin_is_at_most_a_fifth_longer_than_it_starts() {
    for (seconds, from, to) in [
        (0, 0, Some(1)),
        (1, 1, Some(2)),
        (9, 9, Some(10)),
        (10, 10, Some(12)),
        (11, 10, Some(12)),
        (12, 12, Some(14)),
        (60, 52, Some(62)),
        (3600, 3313, Some(3975)),
        (86_399, 73_459, Some(86_400)),
        (86_400, 86_400, None),
        (u32::MAX, 86_400, None),
    ] {
        let bin = TimeBin::containing(seconds);
        assert_eq!((bin.from_seconds(), bin.to_seconds()), (from, to), "{seconds}");
    }
    let mut bin = TimeBin::containing(0);
    while let Some(next) = bin.to_seconds() {
        let from = bin.from_seconds();
        assert!(next - from <= (from / 5).max(1), "{from}");
        assert_eq!(TimeBin::containing(next - 1), bin);
        bin = TimeBin::containing(next);
    }
}

#[test]
fn the_median_is_in_the_bin_of_the_middle_time() {
    for (seconds, expected) in [
        (vec![], None),
        (vec![5], Some((5, 5, Some(6)))),
        (vec![1, 2, 3], Some((2, 2, Some(3)))),
        (vec![1, 2, 3, 4], Some((2, 2, Some(3)))),
        (vec![3, 60, 60, 60, 4000], Some((57, 52, Some(62)))),
        (vec![7, 100_000, 200_000], Some((86_400, 86_400, None))),
    ] {
        let mut times = Times::default();
        for time in &seconds {
            times.add(TimeBin::containing(*time), 1);
        }
        let median = times.median();
        let found = median.map(|it| (it.about_seconds, it.from_seconds, it.to_seconds));
        assert_eq!(found, expected, "{seconds:?}");
        assert_eq!(median.map_or(0, |it| it.times), seconds.len() as u64);
    }
}
