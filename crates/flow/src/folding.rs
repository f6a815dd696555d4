//! The form of texts in searches: case is ignored, in any script.

/// The form of a text used in searches.
pub fn folded(text: &str) -> String {
    let mut folded = String::new();
    fold_into(&mut folded, text);
    folded
}

/// The same into a buffer, which is emptied first.
///
/// Upper case first, so that letters with several lower-case forms (ß and ss, ς and σ) become
/// equal.
pub fn fold_into(room: &mut String, text: &str) {
    room.clear();
    if text.is_ascii() {
        room.push_str(text);
        room.make_ascii_lowercase();
        return;
    }
    for letter in text.chars() {
        if letter.is_ascii() {
            room.push(letter.to_ascii_lowercase());
        } else {
            room.extend(letter.to_uppercase().flat_map(char::to_lowercase));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_ignores_case() {
        for (one, other) in [
            ("Grün", "GRÜN"),
            ("Straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("ПРИВЕТ", "привет"),
            ("İstanbul", "İSTANBUL"),
            ("日本", "日本"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} and {other}");
        }
        assert_ne!(folded("grun"), folded("grün"));
    }
}
