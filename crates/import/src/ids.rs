//! Ids of questions, options, endings and sections, made from the names of the source.

use std::collections::HashSet;

use sluice_flow::definition::limits::ID_CHARS_MAX;

/// Room for a number that makes an id unique.
const STEM_CHARS_MAX: usize = ID_CHARS_MAX - 8;

/// Ids that are in use.
#[derive(Debug, Default)]
pub(crate) struct Ids(HashSet<String>);

impl Ids {
    /// An id for a question, an ending or a section: the name itself if it can be one.
    pub(crate) fn named(&mut self, name: &str, fallback: &str) -> String {
        let stem = stem(name);
        let stem = match stem.chars().next() {
            None => fallback.to_owned(),
            Some(first) if first.is_ascii_alphabetic() => stem,
            Some(_) => format!("{}{stem}", &fallback[..1]),
        };
        self.unique(stem)
    }

    /// An id for an option, a row or a column, which may start with a digit.
    pub(crate) fn choice(&mut self, name: &str, fallback: &str) -> String {
        let stem = stem(name).trim_start_matches(['_', '-']).to_owned();
        self.unique(if stem.is_empty() { fallback.to_owned() } else { stem })
    }

    pub(crate) fn reserve(&mut self, id: &str) {
        self.0.insert(id.to_owned());
    }

    fn unique(&mut self, stem: String) -> String {
        let mut id = stem.clone();
        let mut number = 2;
        while self.0.contains(&id) {
            id = format!("{stem}_{number}");
            number += 1;
        }
        self.0.insert(id.clone());
        id
    }
}

/// The letters, digits, `_` and `-` of a name; each run of other characters is one `_`.
fn stem(name: &str) -> String {
    let mut stem = String::new();
    for character in name.trim().chars() {
        if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') {
            stem.push(character);
        } else if !stem.is_empty() && !stem.ends_with('_') {
            stem.push('_');
        }
        if stem.len() >= STEM_CHARS_MAX {
            break;
        }
    }
    stem.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_name_if_it_can_be_one() {
        let mut ids = Ids::default();
        for (name, id) in [
            ("nps", "nps"),
            ("How old?", "How_old"),
            ("nps", "nps_2"),
            ("01FN-x", "q01FN-x"),
            ("年齢", "q1"),
            ("_x", "q_x"),
            ("", "q1_2"),
        ] {
            assert_eq!(ids.named(name, "q1"), id, "{name}");
        }
        assert_eq!(ids.choice("3", "o1"), "3");
        assert_eq!(ids.choice("- ja!", "o2"), "ja");
        assert_eq!(ids.named(&"x".repeat(100), "q1").len(), STEM_CHARS_MAX);
    }
}
