//! The form of texts in searches: case is ignored, in any script.

/// The form of a text used in searches.
pub fn folded(text: &str) -> String {
    let mut folded = String::new();
    fold_into(&mut folded, text);
    folded
}

/// The same into a buffer, which is emptied first.
///
/// By way of upper case, so that letters with several lower-case forms (ß and ss, ς and σ) become
/// equal; and by way of lower case before that, for letters that only it changes (ẞ).
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
            let lower = letter.to_lowercase();
            room.extend(lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase));
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
            ("Straße", "STRAẞE"),
            ("ΟΔΟΣ", "οδος"),
            ("ПРИВЕТ", "привет"),
            ("İstanbul", "İSTANBUL"),
            ("日本", "日本"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} and {other}");
        }
        assert_ne!(folded("grun"), folded("grün"));
    }

    #[test]
    fn a_folded_text_is_folded_and_both_cases_of_a_letter_are_equal() {
        for letter in '\0'..=char::MAX {
            let text = folded(letter.encode_utf8(&mut [0; 4]));
            assert_eq!(folded(&text), text, "{letter}");
            let lower: String = letter.to_lowercase().collect();
            let upper: String = letter.to_uppercase().collect();
            assert_eq!((folded(&lower), folded(&upper)), (text.clone(), text), "{letter}");
        }
    }
}
