//! Tokens of any kind, valid or invalid, signed with keys that a test creates.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

/// RSA keys of 2048 bits in PKCS #8, created by `openssl genpkey` for these tests: they protect
/// nothing.
const RSA_ONE: &[u8] = include_bytes!("keys/rsa-one.der");
const RSA_ANOTHER: &[u8] = include_bytes!("keys/rsa-another.der");
/// The bytes before the key in a SubjectPublicKeyInfo: RSA of 2048 bits with a three-byte exponent,
/// P-256, Ed25519.
const RSA_PREFIX: &[u8] = b"\x30\x82\x01\x22\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82\x01\x0f\x00";
const P256_PREFIX: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
const ED25519_PREFIX: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// The key that a token is signed with.
pub(crate) enum Signer {
    Secret(Vec<u8>),
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Nothing,
}

impl Signer {
    /// Always the same key, since generating one takes long.
    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA_ONE).unwrap()))
    }

    /// Always the same key, different from [`Self::rsa`].
    pub(crate) fn another_rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA_ANOTHER).unwrap()))
    }

    pub(crate) fn p256() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Secret(_) => "HS256",
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
            Self::Nothing => "none",
        }
    }

    pub(crate) fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Secret(secret) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
                hmac::sign(&key, message).as_ref().to_vec()
            }
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
            Self::Nothing => Vec::new(),
        }
    }

    /// A token from these texts, whatever they contain.
    pub(crate) fn raw(&self, header: &str, claims: &str) -> String {
        let message =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.signature(message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// A token with the header of this key.
    pub(crate) fn token(&self, kid: Option<&str>, claims: &Value) -> String {
        let mut header = json!({"alg": self.algorithm(), "typ": "JWT"});
        if let Some(kid) = kid {
            header["kid"] = json!(kid);
        }
        self.raw(&header.to_string(), &claims.to_string())
    }

    fn der(&self) -> Vec<u8> {
        match self {
            Self::Rsa(key) => [RSA_PREFIX, key.public_key().as_ref()].concat(),
            Self::P256(key) => [P256_PREFIX, key.public_key().as_ref()].concat(),
            Self::Ed25519(key) => [ED25519_PREFIX, key.public_key().as_ref()].concat(),
            Self::Secret(_) | Self::Nothing => panic!("it has no public key"),
        }
    }

    pub(crate) fn pem(&self) -> String {
        let text = STANDARD.encode(self.der());
        let lines: Vec<&str> =
            text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "alg": "ES256",
                       "x": text(&point[1..33]), "y": text(&point[33..])})
            }
            Self::Ed25519(key) => json!({"kty": "OKP", "crv": "Ed25519", "kid": kid,
                                          "x": text(key.public_key().as_ref())}),
            Self::Rsa(_) => {
                // The modulus of 2048 bits is at a fixed offset, the exponent at the end.
                let der = self.der();
                let modulus = &der[33..33 + 256];
                json!({"kty": "RSA", "kid": kid, "n": text(modulus), "e": "AQAB"})
            }
            Self::Secret(_) | Self::Nothing => panic!("it has no public key"),
        }
    }
}
