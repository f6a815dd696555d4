//! The names of segments: the responses of a version and day with one value of a tag.

/// The name under which the part of a tag's value is kept; that of all responses is empty.
pub fn segment(name: &str, value: &str) -> Vec<u8> {
    // No text of a submission has a zero in it.
    [name.as_bytes(), &[0], value.as_bytes()].concat()
}
