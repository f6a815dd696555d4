//! Hashes that responses are stored with: of their content, and of their idempotency key.

/// A digest of the content of a response: its app and version, and every column that came from the
/// client.
///
/// Half of a BLAKE3 hash, as is [`IdempotencyKey`], because every response stores it. 128 bits are
/// enough: among 10^12 responses the chance that any two agree by accident is 10^-15. A client
/// that could find two equal ones (2^64 hashes) would only answer its own retry wrongly.
pub type Digest = [u8; 16];

/// Half of the BLAKE3 hash of an app's id and an idempotency key; the key itself is not stored.
pub type IdempotencyKey = [u8; 16];

/// The first half of a hash.
pub fn first_half(hash: blake3::Hash) -> [u8; 16] {
    std::array::from_fn(|index| hash.as_bytes()[index])
}
