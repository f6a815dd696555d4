//! Labels as the text of a field: separated by commas.

/// What the field expects.
pub(in super::super) const HINT: &str = "Up to 10 short words, separated by commas. They are shown in the list of flows, which can be filtered by them.";

/// The labels in a text.
pub(in super::super) fn in_text(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim);
    parts.filter(|label| !label.is_empty()).map(str::to_owned).collect()
}

pub(in super::super) fn joined(labels: &[String]) -> String {
    labels.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_separated_by_commas() {
        assert_eq!(in_text(" a b,, c ,"), ["a b", "c"]);
        assert_eq!(in_text(" , "), Vec::<String>::new());
        assert_eq!(in_text(&joined(&["x".into(), "y z".into()])), ["x", "y z"]);
    }
}
