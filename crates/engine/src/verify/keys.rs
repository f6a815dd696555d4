//! Keys that signatures are checked with: each with the one algorithm it is for.
//!
//! A key is read once, when its app is loaded or its set is fetched, and not for every token.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcome::Invalid;
use super::token::{Algorithm, KID_CHARS_MAX, Token};
use super::weak_point;

/// The shortest RSA key, in bits.
const RSA_BITS_MIN: u32 = 2048;
/// What stands before the key itself in the DER form of an RSA key of that length or more.
const RSA_PREFIX_BYTES: usize = 24;
/// Members of a JWK that only the holder of the private key may have.
const PRIVATE_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// A key that a signature can be checked with.
pub(crate) enum Verifier {
    Secret(Box<hmac::Key>),
    Public(Algorithm, ParsedPublicKey),
}

impl Verifier {
    pub(crate) fn of_secret(secret: &str) -> Self {
        Self::Secret(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())))
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Secret(_) => Algorithm::Hs256,
            Self::Public(algorithm, _) => *algorithm,
        }
    }

    /// Whether this key signed the token, by the algorithm that the key is for and no other.
    pub(crate) fn check(&self, token: &Token<'_>) -> Result<(), Invalid> {
        if token.algorithm != self.algorithm() {
            return Err(Invalid::AlgorithmRefused);
        }
        let right = match self {
            Self::Secret(key) => hmac::verify(key, token.signed, &token.signature).is_ok(),
            Self::Public(_, key) => key.verify_sig(token.signed, &token.signature).is_ok(),
        };
        if right { Ok(()) } else { Err(Invalid::SignatureWrong) }
    }
}

/// A public key as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PublicKey {
    alg: String,
    /// DER, a point, or 32 bytes, by the algorithm; in base64.
    key: String,
    /// The name that its JWK gave it.
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

    /// The key ready for use; nothing where the store gives back what it was not given.
    pub(crate) fn verifier(&self) -> Option<Verifier> {
        let algorithm = Algorithm::named(&self.alg)?;
        let bytes = STANDARD.decode(&self.key).ok()?;
        if algorithm == Algorithm::EdDsa && weak_point::is_weak(&bytes) {
            return None;
        }
        let key = ParsedPublicKey::new(primitive(algorithm)?, bytes).ok()?;
        Some(Verifier::Public(algorithm, key))
    }

    pub(crate) fn of_pem(pem: &str) -> Result<Self, &'static str> {
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
        Self::of_der(&der)
    }

    fn of_der(der: &[u8]) -> Result<Self, &'static str> {
        if let Ok(key) = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, der) {
            return Self::of_rsa(key.as_der().map_err(|_| UNREADABLE)?.as_ref());
        }
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
            let Some(primitive) = primitive(algorithm) else { continue };
            if ParsedPublicKey::new(primitive, der).is_ok() {
                let is_weak = algorithm == Algorithm::EdDsa && weak_point::is_weak(der);
                return if is_weak { Err(WEAK) } else { Ok(Self::new(algorithm, der)) };
            }
        }
        Err(if weak_point::is_weak_spki(der) { WEAK } else { UNREADABLE })
    }

    fn of_rsa(der: &[u8]) -> Result<Self, &'static str> {
        let inner = der.get(RSA_PREFIX_BYTES..).unwrap_or_default();
        match RsaParameters::public_modulus_len(inner) {
            Ok(bits) if bits >= RSA_BITS_MIN => Ok(Self::new(Algorithm::Rs256, der)),
            _ => Err("is too short: an RSA key must have at least 2048 bits"),
        }
    }

    /// Reads a JWK. What is not for checking signatures by one of our algorithms is refused.
    pub(crate) fn of_jwk(jwk: &Value) -> Result<Self, &'static str> {
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
                let (n, e) = (unpadded(bytes("n")?), unpadded(bytes("e")?));
                let components = RsaPublicKeyComponents { n, e };
                Self::of_rsa(components.as_der().map_err(|_| UNREADABLE)?.as_ref())?
            }
            (Some("EC"), Some("P-256")) => {
                let point = [vec![4], bytes("x")?, bytes("y")?].concat();
                Self::new(Algorithm::Es256, &point)
            }
            (Some("OKP"), Some("Ed25519")) => {
                let point = bytes("x")?;
                if weak_point::is_weak(&point) {
                    return Err(WEAK);
                }
                Self::new(Algorithm::EdDsa, &point)
            }
            _ => return Err("must be an RSA key, an EC key on P-256, or an OKP key on Ed25519"),
        };
        if text("alg").is_some_and(|name| name != key.alg) {
            return Err("names an algorithm that does not go with its type: RS256, ES256 or EdDSA");
        }
        key.verifier().ok_or(UNREADABLE)?;
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

fn primitive(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    match algorithm {
        Algorithm::Hs256 => None,
        Algorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::Es256 => Some(&ECDSA_P256_SHA256_FIXED),
        Algorithm::EdDsa => Some(&ED25519),
    }
}
