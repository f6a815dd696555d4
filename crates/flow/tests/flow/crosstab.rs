//! Cross-tabulation: the totals of a table agree with its cells, whatever is answered.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sluice_flow::crosstab::{ANSWERED, CrosstabCounts, CrosstabSide, NOT_ANSWERED};
use sluice_flow::definition::{self, Definition};

fn definition() -> Definition {
    let options =
        json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]);
    let questions = json!([
        {"id": "one", "type": "singleChoice", "prompt": "?", "options": options},
        {"id": "some", "type": "multipleChoice", "prompt": "?", "options": options},
        {"id": "rank", "type": "ranking", "prompt": "?", "options": options},
        {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
        {"id": "text", "type": "shortText", "prompt": "?"},
    ]);
    definition::check(&json!({"title": "T", "questions": questions})).unwrap()
}

fn counted(rows: &str, columns: &str, responses: &[Value]) -> CrosstabCounts {
    let definition = definition();
    let (rows, columns) = (CrosstabSide::parse(rows), CrosstabSide::parse(columns));
    let mut counts = CrosstabCounts::default();
    for answers in responses {
        counts.add(Some(&definition), &rows, &columns, &answers.to_string());
    }
    counts
}

#[test]
fn an_answer_counts_by_its_group() {
    let responses = [
        json!({"one": "b", "rank": ["c", "a", "b"], "grid": ["b:a", "a:c"], "some": ["a", "c"]}),
        json!({"one": "b", "text": "x"}),
        json!({"one": "", "some": ["a"]}),
        json!({}),
    ];
    let of = |rows, columns| counted(rows, columns, &responses);
    // The option that is ranked first has rank 0: its key is its index times three.
    assert_eq!(of("one", "rank").cells, [((1, 6), 1)].into());
    // The second row and the first column: one times three plus zero.
    assert_eq!(of("one", "grid:b").cells, [((1, 3), 1)].into());
    assert_eq!(of("one", "grid:c").both, 0);
    assert_eq!(of("one", "text").cells, [((1, ANSWERED), 1), ((1, NOT_ANSWERED), 1)].into());
    let some = of("one", "some");
    assert_eq!(some.cells, [((1, 0), 1), ((1, 2), 1)].into());
    assert_eq!((some.both, some.only_rows, some.only_columns, some.neither), (1, 1, 1, 1));
    let text = of("one", "text");
    assert_eq!((text.both, text.only_rows, text.neither, text.counted), (1, 1, 2, 2));
    let text = of("text", "some");
    assert_eq!((text.both, text.only_rows, text.only_columns, text.counted), (0, 1, 2, 2));
    // A version that does not ask a question has no answers to it.
    let expected = CrosstabCounts { only_rows: 2, neither: 2, ..CrosstabCounts::default() };
    assert_eq!(of("one", "unknown"), expected);
}

fn any_response() -> impl Strategy<Value = Value> {
    let one = option::of(prop::sample::select(vec!["a", "b", "c"]));
    let some = option::of(prop::sample::subsequence(vec!["a", "b", "c"], 0..=3));
    (one, some, option::of("[a-z]{0,3}")).prop_map(|(one, some, text)| {
        let mut answers = Map::new();
        answers.extend(one.map(|it| ("one".to_owned(), json!(it))));
        answers.extend(some.map(|it| ("some".to_owned(), json!(it))));
        answers.extend(text.map(|it| ("text".to_owned(), json!(it))));
        Value::Object(answers)
    })
}

proptest! {
    #[test]
    fn totals_agree_with_cells(responses in vec(any_response(), 0..40)) {
        for (rows, columns) in [("one", "text"), ("text", "one"), ("one", "some"), ("some", "text")] {
            let counts = counted(rows, columns, &responses);
            let all = counts.both + counts.only_rows + counts.only_columns + counts.neither;
            prop_assert_eq!(all, responses.len() as u64);
            for (row, total) in &counts.rows {
                let cells = counts.cells.iter().filter(|((own, _), _)| own == row);
                let sum: u64 = cells.map(|(_, count)| count).sum();
                // A response with several answers is in several cells.
                let fits = if columns == "some" { sum >= *total } else { sum == *total };
                prop_assert!(fits, "row {} of {} by {}", row, rows, columns);
            }
            if rows != "some" {
                prop_assert_eq!(counts.rows.values().sum::<u64>(), counts.counted);
            }
        }
    }

    #[test]
    fn exchanging_rows_and_columns_transposes_the_table(responses in vec(any_response(), 0..40)) {
        let (one, other) = (counted("one", "some", &responses), counted("some", "one", &responses));
        let transposed = other.cells.iter().map(|((row, column), count)| ((*column, *row), *count));
        prop_assert_eq!(one.cells, transposed.collect());
        prop_assert_eq!((one.rows, one.only_rows), (other.columns, other.only_columns));
    }
}
