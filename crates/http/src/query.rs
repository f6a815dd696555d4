//! The few query parameters that anybody reads here, and the fields of a form, which are written
//! alike.

use std::borrow::Cow;

/// The first value of a parameter, decoded. Later ones do not count.
pub fn first<'q>(query: Option<&'q str>, name: &str) -> Option<Cow<'q, str>> {
    pairs(query?).find_map(|(key, value)| (key == name).then_some(value))
}

/// All parameters in their order, decoded. Bytes that are no UTF-8 are replaced, since no name or
/// value that counts has any.
pub fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(query.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_parameter_counts_decoded() {
        for (query, value) in [
            ("payload=4", Some("4")),
            ("a=1&payload=4&payload=5", Some("4")),
            ("payload=%34", Some("4")),
            ("%70ayload=4", Some("4")),
            ("payload", Some("")),
            ("payload=a+b", Some("a b")),
            ("PAYLOAD=4", None),
            ("", None),
        ] {
            assert_eq!(first(Some(query), "payload").as_deref(), value, "{query}");
        }
        assert_eq!(first(None, "payload"), None);
    }
}
