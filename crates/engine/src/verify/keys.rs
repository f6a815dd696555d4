//! Keys for verifying signatures, each with its only algorithm.
//!
//! A key is parsed once, when its app is loaded or its set is fetched, not for every token.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::agreement::{self, ECDH_P256, EphemeralPrivateKey};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::der::{self, Key, RsaKey};
use super::outcome::Invalid;
use super::token::{Algorithm, KID_CHARS_MAX, Token};
use super::weak_point;

/// The minimum length of an RSA key, in bits.
const RSA_BITS_MIN: usize = 2048;
/// The maximum length of an RSA key, in bits.
const RSA_BITS_MAX: usize = 8192;
/// The maximum length of an RSA key's public exponent, in bytes; nearly all have 3.
const RSA_EXPONENT_BYTES_MAX: usize = 4;
/// The length of an Ed25519 key.
const ED25519_BYTES: usize = 32;
/// The first byte of an uncompressed point.
const UNCOMPRESSED: u8 = 4;
/// Members of a JWK that only private or secret keys have.
const PRIVATE_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// A key that can verify a signature.
pub(crate) enum Verifier {
    Secret(Box<hmac::Key>),
    Public(Algorithm, UnparsedPublicKey<Vec<u8>>),
}

impl Verifier {
    pub(crate) fn from_secret(secret: &str) -> Self {
        Self::Secret(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())))
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Secret(_) => Algorithm::Hs256,
            Self::Public(algorithm, _) => *algorithm,
        }
    }

    /// Whether this key signed the token, with the key's algorithm and no other.
    pub(crate) fn check(&self, token: &Token<'_>) -> Result<(), Invalid> {
        if token.algorithm != self.algorithm() {
            return Err(Invalid::AlgorithmRefused);
        }
        let right = match self {
            Self::Secret(key) => hmac::verify(key, token.signed, &token.signature).is_ok(),
            Self::Public(_, key) => key.verify(token.signed, &token.signature).is_ok(),
        };
        if right { Ok(()) } else { Err(Invalid::SignatureWrong) }
    }
}

/// A public key as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PublicKey {
    alg: String,
    /// DER, a point, or 32 bytes, depending on the algorithm; in base64.
    key: String,
    /// The `kid` of its JWK.
    #[serde(skip)]
    pub(crate) kid: Option<String>,
}

impl PublicKey {
    fn new(algorithm: Algorithm, bytes: &[u8]) -> Self {
        Self { alg: algorithm.name().to_owned(), key: STANDARD.encode(bytes), kid: None }
    }

    pub(crate) fn algorithm_name(&self) -> &str {
        &self.alg
    }

    /// The key ready for use; `None` if the stored key is invalid.
    pub(crate) fn verifier(&self) -> Option<Verifier> {
        let algorithm = Algorithm::named(&self.alg)?;
        let bytes = STANDARD.decode(&self.key).ok()?;
        let key = match (algorithm, der::read(&bytes)) {
            (Algorithm::Hs256, _) => return None,
            (Algorithm::Rs256, Some(Key::Rsa(key))) => {
                check_rsa(key).ok()?;
                UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.to_pkcs1())
            }
            (Algorithm::Rs256, _) => return None,
            (Algorithm::Es256, key) => {
                let point = if let Some(Key::P256(point)) = key { point } else { &bytes };
                check_p256(point).ok()?;
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.to_vec())
            }
            (Algorithm::EdDsa, key) => {
                let point = if let Some(Key::Ed25519(point)) = key { point } else { &bytes };
                check_ed25519(point).ok()?;
                UnparsedPublicKey::new(&ED25519, point.to_vec())
            }
        };
        Some(Verifier::Public(algorithm, key))
    }

    pub(crate) fn from_pem(pem: &str) -> Result<Self, &'static str> {
        let pem = pem.trim();
        if pem.contains("PRIVATE KEY") {
            return Err("is a private key: keep it to yourself, and send the public one \
                        (openssl pkey -in key.pem -pubout)");
        }
        if pem.contains("BEGIN CERTIFICATE") {
            return Err(
                "is a certificate: send its public key (openssl x509 -in cert.pem -pubkey -noout)",
            );
        }
        let body = ["PUBLIC KEY", "RSA PUBLIC KEY"].iter().find_map(|label| {
            let inner = pem.strip_prefix(&format!("-----BEGIN {label}-----"))?;
            inner.strip_suffix(&format!("-----END {label}-----"))
        });
        let body = body.ok_or("must be one public key in PEM: -----BEGIN PUBLIC KEY----- …")?;
        let text: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(text).map_err(|_| "is not readable: its base64 is broken")?;
        Self::from_der(&der)
    }

    fn from_der(der: &[u8]) -> Result<Self, &'static str> {
        match der::read(der).ok_or(UNREADABLE)? {
            Key::Rsa(key) => {
                check_rsa(key)?;
                Ok(Self::new(Algorithm::Rs256, &key.to_spki()))
            }
            Key::P256(point) => {
                check_p256(point)?;
                Ok(Self::new(Algorithm::Es256, point))
            }
            Key::Ed25519(point) => {
                check_ed25519(point)?;
                Ok(Self::new(Algorithm::EdDsa, point))
            }
        }
    }

    /// Parses a JWK. Refuses keys that are not for verifying signatures with a supported algorithm.
    pub(crate) fn from_jwk(jwk: &Value) -> Result<Self, &'static str> {
        if PRIVATE_MEMBERS.iter().any(|name| jwk.get(name).is_some()) {
            return Err("has a private or secret part: send the public key only");
        }
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return Err("is not for signatures (its \"use\" is not \"sig\")");
        }
        let operations = jwk.get("key_ops").and_then(Value::as_array);
        if operations.is_some_and(|them| !them.iter().any(|one| one == "verify")) {
            return Err("is not for checking signatures (its \"key_ops\" lack \"verify\")");
        }
        let bytes = |name: &str| {
            let decoded = text(name).map(|text| URL_SAFE_NO_PAD.decode(text));
            decoded
                .and_then(Result::ok)
                .ok_or("lacks a member of its type, or has one that is not base64url")
        };
        let key = match (text("kty"), text("crv")) {
            (Some("RSA"), _) => {
                let (modulus, exponent) = (unpadded(bytes("n")?), unpadded(bytes("e")?));
                let key = RsaKey { modulus: &modulus, exponent: &exponent };
                check_rsa(key)?;
                Self::new(Algorithm::Rs256, &key.to_spki())
            }
            (Some("EC"), Some("P-256")) => {
                let point = [vec![UNCOMPRESSED], bytes("x")?, bytes("y")?].concat();
                check_p256(&point)?;
                Self::new(Algorithm::Es256, &point)
            }
            (Some("OKP"), Some("Ed25519")) => {
                let point = bytes("x")?;
                check_ed25519(&point)?;
                Self::new(Algorithm::EdDsa, &point)
            }
            _ => return Err("must be an RSA key, an EC key on P-256, or an OKP key on Ed25519"),
        };
        if text("alg").is_some_and(|name| name != key.alg) {
            return Err("names an algorithm that does not go with its type: RS256, ES256 or EdDSA");
        }
        let kid = text("kid").filter(|kid| (1..=KID_CHARS_MAX).contains(&kid.chars().count()));
        Ok(Self { kid: kid.map(str::to_owned), ..key })
    }
}

const UNREADABLE: &str =
    "is no readable public key: RSA with at least 2048 bits, P-256, or Ed25519";

const WEAK: &str = "is an Ed25519 key that anyone can sign for (a point of small order, or not in canonical \
     form): make a new key pair (openssl genpkey -algorithm ed25519)";

fn unpadded(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

fn check_rsa(key: RsaKey<'_>) -> Result<(), &'static str> {
    let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
    let is_exponent = (1..=RSA_EXPONENT_BYTES_MAX).contains(&key.exponent.len())
        && is_odd(key.exponent)
        && key.exponent != [1];
    match key.bits() {
        ..RSA_BITS_MIN => Err("is too short: an RSA key must have at least 2048 bits"),
        ..=RSA_BITS_MAX if is_exponent && is_odd(key.modulus) => Ok(()),
        _ => Err(UNREADABLE),
    }
}

/// Whether a point is on the curve: a key agreement with any other fails.
fn check_p256(point: &[u8]) -> Result<(), &'static str> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new());
    let other = agreement::UnparsedPublicKey::new(&ECDH_P256, point);
    own.and_then(|own| agreement::agree_ephemeral(own, &other, |_| ())).map_err(|_| UNREADABLE)
}

fn check_ed25519(point: &[u8]) -> Result<(), &'static str> {
    match point.len() {
        ED25519_BYTES if weak_point::is_weak(point) => Err(WEAK),
        ED25519_BYTES => Ok(()),
        _ => Err(UNREADABLE),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_rsa_key_has_2048_to_8192_bits_and_an_odd_exponent() {
        let jwk = |bytes: usize, first: u8, last: u8, exponent: &[u8]| {
            let mut modulus = vec![0xa5; bytes];
            (modulus[0], modulus[bytes - 1]) = (first, last);
            let (n, e) = (URL_SAFE_NO_PAD.encode(modulus), URL_SAFE_NO_PAD.encode(exponent));
            PublicKey::from_jwk(&json!({"kty": "RSA", "n": n, "e": e}))
        };
        let usual = [1, 0, 1];
        for (bytes, first) in [(256, 0x80), (512, 0xff), (1024, 0xff)] {
            let key = jwk(bytes, first, 1, &usual).unwrap();
            assert!(key.verifier().is_some(), "{bytes}");
        }
        assert!(jwk(256, 0x7f, 1, &usual).unwrap_err().contains("too short"));
        assert!(jwk(128, 0xff, 1, &usual).unwrap_err().contains("too short"));
        assert_eq!(jwk(1025, 1, 1, &usual), Err(UNREADABLE));
        assert_eq!(jwk(256, 0x80, 2, &usual), Err(UNREADABLE));
        for exponent in [&[][..], &[0], &[1], &[2], &[1, 0, 0], &[1, 0, 0, 0, 1]] {
            assert_eq!(jwk(256, 0x80, 1, exponent), Err(UNREADABLE), "{exponent:?}");
        }
    }

    #[test]
    fn a_point_off_the_curve_is_refused() {
        let coordinate = |byte: u8| URL_SAFE_NO_PAD.encode([byte; 32]);
        let (x, y) = (coordinate(1), coordinate(2));
        let jwk = json!({"kty": "EC", "crv": "P-256", "x": x, "y": y});
        assert_eq!(PublicKey::from_jwk(&jwk), Err(UNREADABLE));
        let stored = PublicKey::new(Algorithm::Es256, &[4; 65]);
        assert!(stored.verifier().is_none());
    }

    #[test]
    fn a_key_stored_in_der_works_like_its_point() {
        // The base point of the curve, which has the private key 1.
        let point = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
                     4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
        let byte = |at: usize| u8::from_str_radix(&point[2 * at..2 * at + 2], 16).unwrap();
        let point: Vec<u8> = (0..65).map(byte).collect();
        let head = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA";
        let der = STANDARD.decode(format!("{head}=")).unwrap();
        let der = [&der[..], &point].concat();
        for bytes in [&der, &point] {
            let key = PublicKey::new(Algorithm::Es256, bytes).verifier().unwrap();
            let Verifier::Public(Algorithm::Es256, key) = key else { panic!("another key") };
            assert_eq!(key.as_ref(), &point);
        }
    }
}
