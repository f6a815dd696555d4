//! Public keys in DER, as PEM files hold them: a SubjectPublicKeyInfo (RFC 5280), or an
//! RSAPublicKey (RFC 8017).
//!
//! Parsing is strict: anything but the one canonical encoding of a key of a known type is refused.

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// The content of an AlgorithmIdentifier: `rsaEncryption` with its NULL, `id-ecPublicKey` on
/// `prime256v1`, `id-Ed25519`.
const RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
const P256: &[u8] =
    &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const ED25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x70];

/// A public key, not yet checked for weaknesses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key<'a> {
    Rsa(RsaKey<'a>),
    P256(&'a [u8]),
    Ed25519(&'a [u8]),
}

/// Big-endian numbers without leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RsaKey<'a> {
    pub(super) modulus: &'a [u8],
    pub(super) exponent: &'a [u8],
}

pub(super) fn read(der: &[u8]) -> Option<Key<'_>> {
    rsa_public_key(der).map(Key::Rsa).or_else(|| subject_public_key_info(der))
}

fn subject_public_key_info(der: &[u8]) -> Option<Key<'_>> {
    let mut inner = only(der, SEQUENCE)?;
    let algorithm = next(&mut inner, SEQUENCE)?;
    // The bit string must consist of whole bytes.
    let (0, key) = only(inner, BIT_STRING)?.split_first()? else { return None };
    match algorithm {
        RSA => rsa_public_key(key).map(Key::Rsa),
        P256 => Some(Key::P256(key)),
        ED25519 => Some(Key::Ed25519(key)),
        _ => None,
    }
}

fn rsa_public_key(der: &[u8]) -> Option<RsaKey<'_>> {
    let mut inner = only(der, SEQUENCE)?;
    let modulus = positive(next(&mut inner, INTEGER)?)?;
    let exponent = positive(only(inner, INTEGER)?)?;
    Some(RsaKey { modulus, exponent })
}

impl RsaKey<'_> {
    /// The length of the modulus in bits.
    pub(super) fn bits(&self) -> usize {
        let zeros = self.modulus.first().map_or(0, |first| first.leading_zeros() as usize);
        self.modulus.len() * 8 - zeros
    }

    /// The key as RSAPublicKey.
    pub(super) fn to_pkcs1(self) -> Vec<u8> {
        let numbers = [self.modulus, self.exponent].map(|number| {
            // A set first bit would mean a negative number.
            let sign = number.first().is_none_or(|first| first & 0x80 != 0);
            element(INTEGER, &[if sign { &[0][..] } else { &[] }, number].concat())
        });
        element(SEQUENCE, &numbers.concat())
    }

    /// The key as SubjectPublicKeyInfo.
    pub(super) fn to_spki(self) -> Vec<u8> {
        let bits = element(BIT_STRING, &[&[0][..], &self.to_pkcs1()].concat());
        element(SEQUENCE, &[element(SEQUENCE, RSA), bits].concat())
    }
}

/// Returns the content of the first element, and advances the input past it.
fn next<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let rest = input.strip_prefix(&[tag])?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81 => {
            let (length, rest) = rest.split_first()?;
            (Some(usize::from(*length)).filter(|it| *it >= 0x80)?, rest)
        }
        0x82 => {
            let (length, rest) = rest.split_first_chunk()?;
            (Some(usize::from(u16::from_be_bytes(*length))).filter(|it| *it >= 0x100)?, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some(content)
}

/// The content of the only element in the input.
fn only(mut input: &[u8], tag: u8) -> Option<&[u8]> {
    next(&mut input, tag).filter(|_| input.is_empty())
}

/// The digits of an integer above zero.
fn positive(content: &[u8]) -> Option<&[u8]> {
    match content {
        [0, digits @ ..] => Some(digits).filter(|it| it.first().is_some_and(|it| it & 0x80 != 0)),
        [first, ..] => Some(content).filter(|_| first & 0x80 == 0),
        [] => None,
    }
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    // Keys are far shorter than 64 KiB.
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    let [high, low] = length.to_be_bytes();
    let head: &[u8] = match length {
        0..=0x7f => &[tag, low],
        0x80..=0xff => &[tag, 0x81, low],
        _ => &[tag, 0x82, high, low],
    };
    [head, content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rsa_key_survives_a_round_trip() {
        for (modulus, bits) in [
            (vec![0xc5; 256], 2048),
            (vec![0x05; 256], 2043),
            (vec![0xff; 100], 800),
            (vec![0x03], 2),
        ] {
            let key = RsaKey { modulus: &modulus, exponent: &[1, 0, 1] };
            assert_eq!(key.bits(), bits);
            assert_eq!(read(&key.to_spki()), Some(Key::Rsa(key)), "{bits}");
            assert_eq!(read(&key.to_pkcs1()), Some(Key::Rsa(key)), "{bits}");
        }
    }

    #[test]
    fn non_canonical_encodings_are_refused() {
        let key = RsaKey { modulus: &[0xc5; 256], exponent: &[1, 0, 1] };
        let spki = key.to_spki();
        for end in 0..spki.len() {
            assert_eq!(read(&spki[..end]), None, "{end}");
        }
        assert_eq!(read(&[&spki[..], &[0]].concat()), None);
        let refused: [(&str, &[u8]); 6] = [
            ("a long length", &[0x30, 0x81, 6, 2, 1, 5, 2, 1, 3]),
            ("a negative number", &[0x30, 6, 2, 1, 0x85, 2, 1, 3]),
            ("a padded number", &[0x30, 7, 2, 2, 0, 5, 2, 1, 3]),
            ("zero", &[0x30, 6, 2, 1, 0, 2, 1, 3]),
            ("an empty number", &[0x30, 5, 2, 0, 2, 1, 3]),
            ("a third number", &[0x30, 9, 2, 1, 5, 2, 1, 3, 2, 1, 3]),
        ];
        for (what, der) in refused {
            assert_eq!(read(der), None, "{what}");
        }
        assert!(read(&[0x30, 6, 2, 1, 5, 2, 1, 3]).is_some());
    }

    #[test]
    fn elliptic_keys_are_recognised_by_their_curve() {
        let spki = |algorithm: &[u8], point: &[u8]| {
            let bits = element(BIT_STRING, &[&[0][..], point].concat());
            element(SEQUENCE, &[element(SEQUENCE, algorithm), bits].concat())
        };
        assert_eq!(read(&spki(P256, &[4; 65])), Some(Key::P256(&[4; 65])));
        assert_eq!(read(&spki(ED25519, &[7; 32])), Some(Key::Ed25519(&[7; 32])));
        // X25519, which cannot sign.
        assert_eq!(read(&spki(&[6, 3, 0x2b, 0x65, 0x6e], &[7; 32])), None);
    }
}
