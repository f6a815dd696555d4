//! Code samples of every operation in curl, TypeScript and Python: `x-codeSamples` of the document,
//! which the reference page shows too.
//!
//! They are generated from the path, the parameters and the example body of the operation, so that
//! none can be missing or outdated. An SDK is used for the calls that it has, and otherwise what
//! the language brings. Deliberately absent: samples written by hand.

mod call;
mod curl;
mod literal;
mod python;
mod typescript;

use serde_json::{Value, json};

/// The address of the server in the samples of the document, as in the guides.
pub(super) const URL: &str = "https://feedback.example.com";

/// Adds the samples to every operation, for a server at these addresses.
pub(super) fn add_to(document: &mut Value, public_url: &str, admin_url: &str) {
    let calls = call::all_of(document, public_url, admin_url);
    for call in calls {
        let samples = [
            ("Shell", "curl", curl::sample(&call)),
            ("TypeScript", "TypeScript", typescript::sample(&call)),
            ("Python", "Python", python::sample(&call)),
        ];
        document["paths"][&call.path][&call.method]["x-codeSamples"] = samples
            .into_iter()
            .map(|(lang, label, source)| json!({"lang": lang, "label": label, "source": source}))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<(String, Vec<Value>)> {
        let document = crate::openapi::document();
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|item| item.as_object().unwrap().values());
        operations
            .map(|operation| {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                (id, operation["x-codeSamples"].as_array().unwrap().clone())
            })
            .collect()
    }

    #[test]
    fn every_operation_has_a_sample_in_each_language_with_nothing_left_to_fill_in() {
        for (id, samples) in samples() {
            let labels: Vec<&str> =
                samples.iter().map(|it| it["label"].as_str().unwrap()).collect();
            assert_eq!(labels, ["curl", "TypeScript", "Python"], "{id}");
            for sample in samples {
                let source = sample["source"].as_str().unwrap();
                assert!(source.contains(URL), "{id}: {source}");
                let address = source.split(URL).nth(1).unwrap().split(['"', '\'', ' ', '\n']);
                let address = address.into_iter().next().unwrap();
                let is_plain = |it: char| it.is_ascii_alphanumeric() || "/-_.,?=&".contains(it);
                assert!(address.chars().all(is_plain), "{id}: {address}");
                assert!(!address.contains("=&") && !address.ends_with('='), "{id}: {address}");
            }
        }
    }

    #[test]
    fn the_sdks_are_used_for_the_calls_that_they_have() {
        let uses = |label: usize, part: &str| {
            let samples = samples().into_iter();
            let with =
                samples.filter(|(_, it)| it[label]["source"].as_str().unwrap().contains(part));
            with.map(|(id, _)| id).collect::<Vec<_>>()
        };
        let public = ["fetchVersion", "resolveFlow", "submitResponse", "validateResponse"];
        assert_eq!(uses(1, "from \"sluice\""), public);
        assert_eq!(uses(2, "import Sluice"), public);
        assert_eq!(uses(2, "import Admin"), ["listEvents", "listResponses"]);
    }

    #[test]
    fn the_example_of_a_submission_has_no_field_that_the_sample_in_python_leaves_out() {
        let document = crate::openapi::document();
        let example = &document["components"]["schemas"]["Submission"]["example"];
        for name in example.as_object().unwrap().keys() {
            let known = [
                "flowVersionId",
                "flowVersionPayloadGeneration",
                "answers",
                "respondentAnalyticsAdmission",
                "identities",
                "metadata",
                "context",
                "flowAssignmentId",
            ];
            assert!(known.contains(&name.as_str()), "{name}");
        }
    }
}
