//! Tokens of any kind, right or wrong, signed by keys that a test makes.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// What a token is signed with.
pub(crate) enum Signer {
    Secret(Vec<u8>),
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Nothing,
}

impl Signer {
    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    pub(crate) fn p256() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
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
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
            Self::Nothing => Vec::new(),
        }
    }

    /// A token of these texts, whatever they are.
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
            Self::Rsa(key) => key.public_key().as_der().unwrap().as_ref().to_vec(),
            Self::P256(key) => key.public_key().as_der().unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.public_key().as_der().unwrap().as_ref().to_vec(),
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
                // The modulus of 2048 bits stands at a fixed place, the exponent at the end.
                let der = self.der();
                let modulus = &der[33..33 + 256];
                json!({"kty": "RSA", "kid": kid, "n": text(modulus), "e": "AQAB"})
            }
            Self::Secret(_) | Self::Nothing => panic!("it has no public key"),
        }
    }
}
