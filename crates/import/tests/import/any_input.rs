//! Whatever a file contains, an import ends with a valid definition or a reason.

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_flow::definition;
use sluice_import::responses::{FileKind, ImportTarget, Mapping, Plan, Rows};
use sluice_import::{FORMATS, import};

/// Words that the formats look for, so that generated files reach their code.
const WORDS: &[&str] = &[
    "fields",
    "items",
    "questions",
    "blocks",
    "pages",
    "elements",
    "type",
    "title",
    "name",
    "ref",
    "id",
    "properties",
    "validations",
    "choices",
    "label",
    "value",
    "text",
    "logic",
    "actions",
    "action",
    "jump",
    "details",
    "to",
    "condition",
    "conditions",
    "op",
    "vars",
    "is",
    "and",
    "or",
    "field",
    "connector",
    "leftOperand",
    "rightOperand",
    "operator",
    "equals",
    "visibleIf",
    "triggers",
    "expression",
    "complete",
    "skip",
    "gotoName",
    "short_text",
    "multiple_choice",
    "matrix",
    "group",
    "openText",
    "rating",
    "multipleChoiceMulti",
    "radiogroup",
    "checkbox",
    "panel",
    "TEXT",
    "GRID",
    "MULTIPLE_CHOICE",
    "PAGE_BREAK",
    "navigation",
    "GO_TO_PAGE",
    "goToPage",
    "rows",
    "columns",
    "endings",
    "thankyou_screens",
    "default",
    "de",
    "headline",
    "html",
    "range",
    "steps",
    "required",
    "{a} = 'b'",
    "{{field:a}}",
    "#recall:a/fallback:b#",
    "{a}",
    "a",
    "b",
    "max_length",
    "charLimit",
    "reasons",
    "values",
    "key",
];

fn json_value() -> impl Strategy<Value = Value> {
    let word = proptest::sample::select(WORDS).prop_map(str::to_owned);
    let text = prop_oneof![4 => word.clone(), 1 => ".{0,20}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        text.clone().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 120, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((word.clone(), inner), 0..10)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A sample with values replaced at random places.
fn mutated() -> impl Strategy<Value = Value> {
    let samples: Vec<Value> = [
        include_str!("../fixtures/typeform/logic.json"),
        include_str!("../fixtures/typeform/every-type.json"),
        include_str!("../fixtures/formbricks/logic-blocks.json"),
        include_str!("../fixtures/formbricks/every-type.json"),
        include_str!("../fixtures/surveyjs/logic.json"),
        include_str!("../fixtures/surveyjs/every-type.json"),
        include_str!("../fixtures/google-forms/logic-quiz.json"),
        include_str!("../fixtures/google-forms/every-type.json"),
    ]
    .iter()
    .map(|text| serde_json::from_str(text).unwrap())
    .collect();
    let changes = prop::collection::vec((any::<u32>(), json_value()), 1..6);
    (proptest::sample::select(samples), changes).prop_map(|(mut value, changes)| {
        for (at, replacement) in changes {
            let count = count(&value);
            replace(&mut value, &mut (at as usize % count), &replacement);
        }
        value
    })
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Replaces the value with this number, counted in the order of reading.
fn replace(value: &mut Value, left: &mut usize, replacement: &Value) -> bool {
    if *left == 0 {
        *value = replacement.clone();
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, left, replacement)),
        Value::Object(map) => map.values_mut().any(|item| replace(item, left, replacement)),
        _ => false,
    }
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    for format in FORMATS {
        if let Ok(imported) = import(format, bytes) {
            let checked = definition::check_new(&imported.definition.to_json());
            prop_assert!(checked.is_ok(), "{}: {checked:?}", format.name);
        }
    }
    Ok(())
}

/// Reads rows of every kind, and makes submissions of them.
fn check_rows(bytes: &[u8]) -> Result<(), TestCaseError> {
    let choice = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B, or c"}]);
    let definition = definition::check(&json!({"title": "t", "questions": [
        {"id": "a", "type": "multipleChoice", "prompt": "Many", "options": choice, "allowOther": true},
        {"id": "b", "type": "matrix", "prompt": "Grid", "rows": choice, "columns": choice},
        {"id": "value", "type": "date", "prompt": "Day"},
        {"id": "is", "type": "consent", "prompt": "Agree"},
    ]}))
    .unwrap();
    let goal = ImportTarget { definition: &definition, flow_id: "fl", flow_version_id: "fv" };
    for kind in [FileKind::Csv, FileKind::Jsonl] {
        let Ok(rows) = Rows::new(kind, bytes, b',') else { continue };
        let header = rows.names().to_vec();
        let mut rows: Vec<_> = rows.filter_map(Result::ok).collect();
        let named = rows.iter().flat_map(|row| row.cells.keys().cloned());
        let names: Vec<String> = header.into_iter().chain(named).collect();
        let mut plan = Plan::new(goal, &names, Mapping::default(), false);
        let mut keys = std::collections::HashSet::new();
        for row in &mut rows {
            if let Ok(submission) = plan.submission(row, "4") {
                let key = submission["idempotencyKey"].as_str().unwrap().to_owned();
                let of_id = submission["metadata"]["tags"].get("import.id").is_some();
                prop_assert!(keys.insert(key) || of_id, "two rows share a key");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_json_gives_a_valid_definition_or_a_reason(value in json_value()) {
        check(&serde_json::to_vec(&value).unwrap())?;
    }

    #[test]
    fn a_changed_sample_gives_a_valid_definition_or_a_reason(value in mutated()) {
        check(&serde_json::to_vec(&value).unwrap())?;
    }

    #[test]
    fn any_bytes_give_a_reason(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes)?;
    }

    #[test]
    fn any_rows_become_submissions_or_reasons(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        text in "(a|b|value|is|submittedAt|tag.x|,|;|:|\n|\"|'|=|\\\\|[0-9]|\\PC){0,80}",
        values in prop::collection::vec(json_value(), 0..5),
    ) {
        check_rows(&bytes)?;
        check_rows(text.as_bytes())?;
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        check_rows(lines.join("\n").as_bytes())?;
    }

    #[test]
    fn a_damaged_workbook_gives_a_valid_definition_or_a_reason(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = include_bytes!("../fixtures/xlsform/logic.xlsx").to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&bytes)?;
    }
}
