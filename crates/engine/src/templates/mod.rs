//! Templates to start a flow from: one file each, with a name, a purpose, and a definition that
//! could be published unchanged. One is empty.
//!
//! Deliberately absent: user-defined templates. Any flow can be duplicated.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use sluice_flow::definition::Kind;

/// In the order in which they are offered.
const FILES: [(&str, &str); 12] = [
    ("nps", include_str!("nps.json")),
    ("csat", include_str!("csat.json")),
    ("ces", include_str!("ces.json")),
    ("product-market-fit", include_str!("product-market-fit.json")),
    ("feature-feedback", include_str!("feature-feedback.json")),
    ("cancellation", include_str!("cancellation.json")),
    ("pulse", include_str!("pulse.json")),
    ("contact", include_str!("contact.json")),
    ("bug-report", include_str!("bug-report.json")),
    ("event", include_str!("event.json")),
    ("announcement", include_str!("announcement.json")),
    ("empty", include_str!("empty.json")),
];

/// A template for a new flow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Template {
    /// The name of its file.
    #[serde(skip)]
    pub id: &'static str,
    pub name: String,
    /// One line on what it is for.
    pub purpose: String,
    pub kind: Kind,
    pub definition: Value,
}

/// Every template, in the order in which they are offered.
pub fn templates() -> &'static [Template] {
    static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
        let read = |(id, text): (&'static str, &str)| {
            let template: Option<Template> = serde_json::from_str(text).ok();
            template.map(|template| Template { id, ..template })
        };
        FILES.into_iter().filter_map(read).collect()
    });
    &TEMPLATES
}

/// The template with this name.
pub fn template(id: &str) -> Option<&'static Template> {
    templates().iter().find(|template| template.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sluice_flow::definition;

    use super::*;

    #[test]
    fn every_template_parses_and_could_be_published_unchanged() {
        assert_eq!(templates().len(), FILES.len());
        for template in templates() {
            let checked = definition::check(&template.definition);
            let definition =
                checked.unwrap_or_else(|faults| panic!("{}: {faults:#?}", template.id));
            let is_empty = definition.questions().is_empty();
            assert_eq!(is_empty, template.id == "empty", "{}", template.id);
            // Templates are complete: no text is left as a placeholder.
            assert!(!template.purpose.is_empty() && template.purpose.len() < 90, "{}", template.id);
        }
    }

    #[test]
    fn template_names_are_unique() {
        let names: BTreeSet<&str> = templates().iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), FILES.len());
        assert!(template("nps").is_some() && template("nosuch").is_none());
    }
}
