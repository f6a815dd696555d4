//! Ed25519 public keys that prove nothing.
//!
//! For a point of small order, anyone can create valid signatures without a private key. There are
//! eight such points, and some have a second encoding with an unreduced coordinate. No honest key
//! is one of them, and no honest encoding is unreduced, so both are refused.

/// The bytes of a point: its y coordinate, little endian, and the sign of x in the last bit.
const POINT_BYTES: usize = 32;
const SIGN: u8 = 0x80;

/// The y coordinates of the points of order 8; the others are -1, 0 and 1.
const ORDER_8: [[u8; POINT_BYTES]; 2] = [
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
];

/// Whether a key, raw or in DER, ends in a point of small order or in a non-canonical encoding.
pub(super) fn is_weak(key: &[u8]) -> bool {
    let Some((_, point)) = key.split_last_chunk::<POINT_BYTES>() else { return false };
    let mut y = *point;
    y[POINT_BYTES - 1] &= !SIGN;
    let (first, rest) = (y[0], &y[1..]);
    let is_small = first <= 1 && rest.iter().all(|byte| *byte == 0);
    // The prime is 2^255 - 19: from -1, which has small order too, upwards only the first byte
    // differs.
    let is_high = first >= 0xec
        && rest[..POINT_BYTES - 2].iter().all(|byte| *byte == 0xff)
        && y[POINT_BYTES - 1] == !SIGN;
    is_small || is_high || ORDER_8.contains(&y)
}

#[cfg(test)]
pub(super) mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::super::keys::PublicKey;
    use super::*;

    /// What precedes the point in a DER-encoded SubjectPublicKeyInfo.
    const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

    fn hex(text: &str) -> [u8; POINT_BYTES] {
        let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
        std::array::from_fn(byte)
    }

    /// The eight points of small order, then their other encodings, then one that is only
    /// unreduced.
    pub(in super::super) fn weak_points() -> Vec<[u8; POINT_BYTES]> {
        let (zeros, ones) = ("00".repeat(30), "ff".repeat(30));
        let order_8 = [
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03",
        ];
        let texts = [
            format!("01{zeros}00"),
            format!("ec{ones}7f"),
            format!("00{zeros}00"),
            format!("00{zeros}80"),
            format!("{}05", order_8[0]),
            format!("{}85", order_8[0]),
            format!("{}7a", order_8[1]),
            format!("{}fa", order_8[1]),
            format!("01{zeros}80"),
            format!("ec{ones}ff"),
            format!("ed{ones}7f"),
            format!("ed{ones}ff"),
            format!("ee{ones}7f"),
            format!("ee{ones}ff"),
            format!("ff{ones}7f"),
        ];
        texts.iter().map(|text| hex(text)).collect()
    }

    #[test]
    fn weak_ed25519_keys_are_refused_as_pem_and_as_jwk() {
        for point in weak_points() {
            let jwk = json!({
                "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(point), "kid": "k",
            });
            let why = PublicKey::from_jwk(&jwk).err().unwrap_or_default();
            assert!(why.contains("anyone can sign for"), "JWK {point:02x?}: {why:?}");
            let der = STANDARD.encode([&SPKI_PREFIX[..], &point].concat());
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
            let why = PublicKey::from_pem(&pem).err().unwrap_or_default();
            assert!(why.contains("anyone can sign for"), "PEM {point:02x?}: {why:?}");
        }
    }

    #[test]
    fn stored_weak_ed25519_keys_are_not_used() {
        for point in weak_points() {
            let stored = json!({"alg": "EdDSA", "key": STANDARD.encode(point)});
            let stored: PublicKey = serde_json::from_value(stored).unwrap();
            assert!(stored.verifier().is_none(), "{point:02x?}");
        }
    }
}
