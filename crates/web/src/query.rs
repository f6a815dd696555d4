//! The few query parameters that anybody reads here, and the fields of a form, which are written alike.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// The first value of a parameter, decoded. Later ones do not count.
pub(crate) fn first<'q>(query: Option<&'q str>, name: &str) -> Option<Cow<'q, str>> {
    query?.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key) == name).then(|| decoded(value))
    })
}

/// All parameters in their order, decoded.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key), decoded(value))
    })
}

/// A space may be written as `+`; bytes that are no UTF-8 are replaced, since no name or value that
/// counts has any.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(percent_decode(spaced.as_bytes()).decode_utf8_lossy().into_owned())
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
