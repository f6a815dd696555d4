//! The two columns of a design: without its pictures, for lists, and the whole one.
//!
//! A picture has up to 87 KB of text, and a list of flows or apps shows none. So it reads a column
//! that has no pictures; the whole text is in a second column, only if it differs.

use serde_json::{Map, Value};
use sluice_flow::design::{DesignField, DesignValue, NONE};

/// A design as its two columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DesignColumns {
    /// For lists.
    pub(crate) without_pictures: Option<String>,
    /// The whole design; absent if it has no pictures.
    pub(crate) whole: Option<String>,
}

impl DesignColumns {
    /// `design` is a JSON object, or absent.
    pub(crate) fn new(design: Option<&String>) -> Self {
        let parsed = design.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        let Some(mut rest) = parsed else {
            return Self { without_pictures: design.cloned(), whole: None };
        };
        let before = rest.len();
        let pictures = DesignField::ALL.into_iter().filter(|it| it.value() == DesignValue::Picture);
        let names: Vec<_> = pictures.map(DesignField::name).collect();
        rest.retain(|name, value| !names.contains(&name.as_str()) || value == NONE);
        if rest.len() == before {
            return Self { without_pictures: design.cloned(), whole: None };
        }
        // Even if nothing is left: a flow with a design is not one without.
        Self { without_pictures: Some(Value::from(rest).to_string()), whole: design.cloned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_for_lists_has_no_pictures() {
        for (design, listed) in [
            (None, None),
            (Some(r#"{ "font": "serif" }"#), None),
            (Some("not JSON"), None),
            (Some(r#"{"logo":"none"}"#), None),
            (Some(r#"{"logo":"data:,"}"#), Some("{}")),
            (
                Some(r#"{"darkLogo":"data:,","font":"mono","logo":"none"}"#),
                Some(r#"{"font":"mono","logo":"none"}"#),
            ),
        ] {
            let design = design.map(str::to_owned);
            let columns = DesignColumns::new(design.as_ref());
            let expected = match listed {
                None => DesignColumns { without_pictures: design, whole: None },
                Some(listed) => {
                    DesignColumns { without_pictures: Some(listed.to_owned()), whole: design }
                }
            };
            assert_eq!(columns, expected);
        }
    }
}
