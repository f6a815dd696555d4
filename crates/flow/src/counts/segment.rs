//! The names of segments: the responses of a version and day with one value of a tag.

/// The key under which the counts of a tag's value are stored; the key for all responses is empty.
pub fn segment(name: &str, value: &str) -> Vec<u8> {
    // Submissions cannot contain a zero byte.
    [name.as_bytes(), &[0], value.as_bytes()].concat()
}
