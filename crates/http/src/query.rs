//! Query parameters, and form fields, which have the same encoding.

use std::borrow::Cow;

/// The first value of a parameter, decoded. Later ones are ignored.
pub fn first<'q>(query: Option<&'q str>, name: &str) -> Option<Cow<'q, str>> {
    pairs(query?).find_map(|(key, value)| (key == name).then_some(value))
}

/// All parameters in order, decoded. Invalid UTF-8 is replaced, since no known name or value
/// contains any.
pub fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(query.as_bytes())
}

/// These parameters as text, encoded.
pub fn text<T: AsRef<str>>(pairs: &[(T, T)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_parameter_is_decoded_and_used() {
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

    #[test]
    fn written_parameters_are_read_back() {
        for list in [vec![], vec![("a b", "=&é"), ("answer.nps[lt]", "7"), ("a b", "")]] {
            let list: Vec<_> = list
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let text = text(&list);
            let read = pairs(&text).map(|(name, value)| (name.into_owned(), value.into_owned()));
            assert_eq!(read.collect::<Vec<_>>(), list);
        }
    }
}
