//! Labels of flows: a few short words by which authors find them.
//!
//! A label is compared as it is written, but a flow has no two that differ only by case.

use crate::folding::folded;

/// The most labels of a flow.
pub const LABELS_MAX: usize = 10;
/// The length of a label in characters.
pub const LABEL_CHARS_MAX: usize = 30;

/// The labels without surrounding and repeated spaces, each once, in order.
pub fn cleaned(labels: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for label in labels {
        let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
        if !label.is_empty() && !all.iter().any(|it| folded(it) == folded(&label)) {
            all.push(label);
        }
    }
    all
}

/// What is wrong with labels as they were sent: the JSON Pointer and the reason of each fault.
pub fn faults(labels: &[String]) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    if cleaned(labels).len() > LABELS_MAX {
        faults.push(("/labels".to_owned(), format!("must be at most {LABELS_MAX} labels")));
    }
    for (at, label) in labels.iter().enumerate() {
        faults.extend(fault_of(label).map(|why| (format!("/labels/{at}"), why)));
    }
    faults
}

/// Whether a flow can have this label.
pub fn is_sound(label: &str) -> bool {
    fault_of(label).is_none()
}

fn fault_of(label: &str) -> Option<String> {
    let chars = label.trim().chars().count();
    if chars == 0 || chars > LABEL_CHARS_MAX {
        Some(format!("must have 1 to {LABEL_CHARS_MAX} characters"))
    } else if label.contains(',') || label.chars().any(char::is_control) {
        Some("must not contain commas or control characters".to_owned())
    } else {
        None
    }
}

/// The stored labels after an author has changed those that the page showed: what someone else has
/// added or removed meanwhile is preserved.
pub fn merged(stored: &[String], shown: &[String], sent: &[String]) -> Vec<String> {
    let has =
        |labels: &[String], label: &String| labels.iter().any(|it| folded(it) == folded(label));
    // In the spelling and the order of the author.
    let kept = sent.iter().filter(|it| has(stored, it) || !has(shown, it));
    let of_others = stored.iter().filter(|it| !has(sent, it) && !has(shown, it));
    kept.chain(of_others).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|&label| label.to_owned()).collect()
    }

    #[test]
    fn labels_are_trimmed_and_unique_without_regard_to_case() {
        for (sent, kept) in [
            (&["Onboarding"][..], &["Onboarding"][..]),
            (&[" a  b ", "A b", "c"], &["a b", "c"]),
            (&["É", "é"], &["É"]),
            (&["", " "], &[]),
        ] {
            assert_eq!(cleaned(&texts(sent)), kept, "{sent:?}");
        }
    }

    #[test]
    fn what_someone_else_did_to_the_labels_stays() {
        for (stored, shown, sent, kept) in [
            (&["a"][..], &["a"][..], &["a", "c"][..], &["a", "c"][..]),
            (&["a", "b"], &["a"], &["a", "c"], &["a", "c", "b"]),
            (&["a", "b"], &["a"], &[], &["b"]),
            (&["b"], &["a", "b"], &["a", "b", "c"], &["b", "c"]),
            (&["a", "b"], &["a", "b"], &["B", "a"], &["B", "a"]),
            (&[], &["a"], &["a"], &[]),
        ] {
            let merged = merged(&texts(stored), &texts(shown), &texts(sent));
            assert_eq!(merged, kept, "{stored:?} {shown:?} {sent:?}");
        }
    }

    #[test]
    fn a_label_is_short_and_has_no_comma() {
        let long = "é".repeat(LABEL_CHARS_MAX);
        let longer = "é".repeat(LABEL_CHARS_MAX + 1);
        for (label, is_sound) in [
            ("a", true),
            (&long, true),
            (&longer, false),
            (" ", false),
            ("a,b", false),
            ("a\tb", false),
        ] {
            assert_eq!(faults(&texts(&[label])).is_empty(), is_sound, "{label:?}");
        }
        let many: Vec<String> = (0..=LABELS_MAX).map(|number| number.to_string()).collect();
        assert_eq!(faults(&many)[0].0, "/labels");
        assert_eq!(faults(&many[1..]), []);
        let faulty = faults(&texts(&["a", "", "b,c"]));
        let pointers: Vec<_> = faulty.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(pointers, ["/labels/1", "/labels/2"]);
    }
}
