//! Rows of CSV (with a comma or a semicolon) or JSON Lines; the first byte selects which.
//!
//! A row becomes a submission of the right shape, or reasons. The rows of one file have different
//! keys unless they have the same id. The line of a refused row becomes the same submission.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition};
use sluice_flow::payload::Generation;
use sluice_flow::submission::{self, ParseError};
use sluice_import::responses::{FileKind, ID_TAG, ImportTarget, Mapping, Plan, Row, Rows};

fn survey() -> &'static Definition {
    static SURVEY: OnceLock<Definition> = OnceLock::new();
    SURVEY.get_or_init(|| {
        let choice = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B, or c"}]);
        let draft = json!({"title": "t", "questions": [
            {"id": "many", "type": "multipleChoice", "prompt": "Many", "options": choice, "allowOther": true},
            {"id": "grid", "type": "matrix", "prompt": "Grid", "rows": choice, "columns": choice},
            {"id": "day", "type": "date", "prompt": "Day"},
            {"id": "agree", "type": "consent", "prompt": "Agree"},
            {"id": "nps", "type": "nps", "prompt": "How likely?"},
            {"id": "why", "type": "longText", "prompt": "Why?"},
        ]});
        definition::check(&draft).expect("the survey is valid")
    })
}

pub(super) fn run(data: &[u8]) {
    let Some((&selector, file)) = data.split_first() else { return };
    let (kind, delimiter) = match selector % 3 {
        0 => (FileKind::Csv, b','),
        1 => (FileKind::Csv, b';'),
        _ => (FileKind::Jsonl, b','),
    };
    let Ok(rows) = Rows::new(kind, file, delimiter) else { return };
    let header = rows.names().to_vec();
    let mut rows: Vec<_> = rows.filter_map(Result::ok).collect();
    let named = rows.iter().flat_map(|row| row.cells.keys().cloned());
    let names: Vec<String> = header.into_iter().chain(named).collect();
    let goal = ImportTarget { definition: survey(), flow_id: "fl", flow_version_id: "fv" };
    let new_plan = || Plan::new(goal, &names, Mapping::default(), selector & 0x80 != 0);
    let (mut plan, mut of_lines) = (new_plan(), new_plan());
    let mut keys = HashSet::new();
    for row in &mut rows {
        let submitted = plan.submission(row, Generation::LATEST.as_str());
        match &submitted {
            Ok(submitted) => {
                let key = submitted["idempotencyKey"].as_str().expect("a key").to_owned();
                let has_id = submitted["metadata"]["tags"].get(ID_TAG).is_some();
                assert!(keys.insert(key) || has_id, "two rows share a key");
                check_shape(submitted);
            }
            Err(reasons) => assert!(!reasons.is_empty(), "refused without a reason"),
        }
        if let Some(mut line) = as_line(row) {
            let again = of_lines.submission(&mut line, Generation::LATEST.as_str());
            assert_eq!(again, submitted, "another submission of {line:?}");
        }
    }
}

/// The row as a file of refused rows has it. `None` if JSON does not keep its values: some numbers
/// with many digits are read as their neighbours, and a value can be too deep inside of the line.
fn as_line(row: &Row) -> Option<Row> {
    let values = row.to_refused_json(&[]);
    let line = values.to_string();
    serde_json::from_str::<Value>(&line).ok().filter(|read| *read == values)?;
    let mut rows = Rows::new(FileKind::Jsonl, line.as_bytes(), b',').expect("a file");
    Some(rows.next().expect("a row").expect("a row that can be read"))
}

/// The server understands it. Whether it is refused depends on the values of the row.
fn check_shape(submitted: &Value) {
    match submission::parse(submitted.to_string().as_bytes()) {
        Ok(_) => {}
        Err(ParseError::Refused(issues)) => assert!(!issues.is_empty()),
        Err(ParseError::Malformed(reason)) => panic!("{reason}: {submitted}"),
    }
}
