//! Properties of every valid definition.

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_flow::definition::{Kind, SERVER_SET, check, json_schema};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::payload::{Generation, render};
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::time::Timestamp;

use crate::draft::definition;
use crate::schema::is_valid;

proptest! {
    #[test]
    fn a_definitions_json_checks_to_the_same_definition(draft in definition()) {
        let definition = check(&draft).unwrap_or_else(|faults| panic!("{draft:#}\n{faults:#?}"));
        let canonical = definition.to_json();
        let again = check(&canonical).unwrap();
        prop_assert_eq!(&again, &definition);
        prop_assert_eq!(again.to_json(), canonical);
    }

    #[test]
    fn a_definition_and_its_canonical_json_match_the_schema(draft in definition()) {
        let canonical = check(&draft).unwrap().to_json();
        for value in [&draft, &canonical] {
            prop_assert!(is_valid(value, json_schema(), json_schema()), "{value:#}");
        }
    }

    #[test]
    fn a_payload_is_the_definition_plus_the_server_fields(draft in definition()) {
        let snapshot = published(&draft);
        let mut payload: Value = serde_json::from_slice(&render(&snapshot, Generation::LATEST)).unwrap();
        for name in SERVER_SET {
            prop_assert!(payload.as_object_mut().unwrap().remove(*name).is_some(), "{name}");
        }
        prop_assert_eq!(payload, snapshot.definition().to_json());
    }

    #[test]
    fn one_unknown_field_anywhere_is_one_fault_at_its_pointer(draft in definition(), pick: usize) {
        let mut draft = draft;
        let count = draft["questions"].as_array().unwrap().len();
        let object = match pick % (count + 1) {
            0 => String::new(),
            at => format!("/questions/{}", at - 1),
        };
        draft.pointer_mut(&object).unwrap()["x/y~"] = json!(1);
        let faults = check(&draft).unwrap_err();
        prop_assert_eq!(faults.len(), 1);
        prop_assert_eq!(&faults[0].pointer, &format!("{object}/x~1y~0"));
    }
}

fn published(draft: &Value) -> Snapshot {
    let meta = VersionMeta {
        flow_version_id: "fv_0000000000000000000001".parse::<FlowVersionId>().unwrap(),
        flow_id: "fl_0000000000000000000002".parse::<FlowId>().unwrap(),
        kind: Kind::Survey,
        number: 1,
        published_at: Timestamp::from_millis(1_763_172_000_000),
    };
    Snapshot::new(meta, check(draft).unwrap())
}
