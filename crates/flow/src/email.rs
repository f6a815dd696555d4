//! The format of an e-mail address, in answers, identities and invitations.
//!
//! The check covers what people type: one `@`, a local part of the usual characters, a domain of at
//! least two labels. Quoted local parts and address literals are refused; letters beyond ASCII are
//! accepted on both sides.

/// The most bytes of an address, of its local part, and of one label of its domain.
pub const EMAIL_BYTES_MAX: usize = 254;
const LOCAL_BYTES_MAX: usize = 64;
const LABEL_BYTES_MAX: usize = 63;

/// Whether a text is an e-mail address that could receive mail.
pub fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    text.len() <= EMAIL_BYTES_MAX
        && local.len() <= LOCAL_BYTES_MAX
        && local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_local))
        && domain.contains('.')
        && domain.split('.').all(is_label)
}

fn is_local(letter: char) -> bool {
    if letter.is_ascii() {
        letter.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(letter)
    } else {
        letter.is_alphanumeric()
    }
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.len() <= LABEL_BYTES_MAX
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.chars().all(|letter| letter.is_alphanumeric() || letter == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_usual_local_part_and_a_domain_of_two_labels() {
        let long_local = format!("{}@example.com", "a".repeat(65));
        let long = format!("a@{}com", "abcdefghi.".repeat(26));
        for (text, accepted) in [
            ("ada@example.com", true),
            ("ada.lovelace+tag@mail.example.co.uk", true),
            ("o'neil_{x}@example.org", true),
            ("jörg@müller.example", true),
            ("a@xn--mller-kva.example", true),
            ("", false),
            ("ada", false),
            ("@example.com", false),
            ("ada@", false),
            ("ada@localhost", false),
            ("ada@@example.com", false),
            ("a da@example.com", false),
            (" ada@example.com", false),
            (".ada@example.com", false),
            ("ada.@example.com", false),
            ("a..da@example.com", false),
            ("ada@example..com", false),
            ("ada@-example.com", false),
            ("ada@example.com.", false),
            ("ada@[127.0.0.1]", false),
            ("\"a b\"@example.com", false),
            ("ada@example.com\n", false),
            (&long_local, false),
            (&long, false),
        ] {
            assert_eq!(is_email(text), accepted, "{text:?}");
        }
    }
}
