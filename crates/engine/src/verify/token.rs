//! Parses a token strictly: anything but a well-formed signed JWT is refused here, before any key
//! is used.
//!
//! Three parts of unpadded base64url, two of them JSON objects without duplicate names. A header
//! with a key or a key's URL (`jwk`, `jku`, `x5c`, `x5u`) or a required extension (`crit`) is
//! refused and not ignored: its sender relies on it.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;

use super::outcome::Invalid;

/// The maximum size of a token, in bytes.
const TOKEN_BYTES_MAX: usize = 4096;
/// The maximum length of a `kid`, in characters.
pub(crate) const KID_CHARS_MAX: usize = 255;
/// Header members that are never allowed.
const REFUSED_MEMBERS: [&str; 7] = ["crit", "jku", "jwk", "x5u", "x5c", "b64", "zip"];

/// The signature algorithms. There is no `none`, and no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Algorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 4] = [Self::Hs256, Self::Rs256, Self::Es256, Self::EdDsa];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// A well-formed token; nothing in it is proven yet.
pub(crate) struct Token<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) kid: Option<String>,
    /// The signed bytes.
    pub(crate) signed: &'a [u8],
    pub(crate) signature: Vec<u8>,
    /// The claims, to be trusted only after the signature is verified.
    pub(crate) claims: Members,
}

impl<'a> Token<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Invalid> {
        Self::parse_within(text, TOKEN_BYTES_MAX)
    }

    pub(crate) fn parse_within(text: &'a str, bytes_max: usize) -> Result<Self, Invalid> {
        if text.len() > bytes_max {
            return Err(Invalid::Malformed);
        }
        let mut parts = text.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Invalid::Malformed);
        };
        let signed = &text.as_bytes()[..header.len() + 1 + claims.len()];
        let header = Members::read(&decoded(header)?)?;
        let (algorithm, kid) = checked_header(&header)?;
        let claims = Members::read(&decoded(claims)?)?;
        Ok(Self { algorithm, kid, signed, signature: decoded(signature)?, claims })
    }
}

fn decoded(part: &str) -> Result<Vec<u8>, Invalid> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Invalid::Malformed)
}

fn checked_header(header: &Members) -> Result<(Algorithm, Option<String>), Invalid> {
    if REFUSED_MEMBERS.iter().any(|name| header.get(name).is_some()) {
        return Err(Invalid::HeaderRefused);
    }
    let is_jwt = |typ: &Value| {
        let known = ["JWT", "at+jwt", "application/jwt", "application/at+jwt"];
        typ.as_str().is_some_and(|typ| known.iter().any(|one| one.eq_ignore_ascii_case(typ)))
    };
    if !header.get("typ").is_none_or(is_jwt) {
        return Err(Invalid::HeaderRefused);
    }
    let algorithm = header.get("alg").and_then(Value::as_str).and_then(Algorithm::named);
    let algorithm = algorithm.ok_or(Invalid::AlgorithmRefused)?;
    let kid = match header.get("kid") {
        None => None,
        Some(Value::String(kid)) if (1..=KID_CHARS_MAX).contains(&kid.chars().count()) => {
            Some(kid.clone())
        }
        Some(_) => return Err(Invalid::HeaderRefused),
    };
    Ok((algorithm, kid))
}

/// The members of a JSON object, without duplicate names.
pub(crate) struct Members(BTreeMap<String, Value>);

impl Members {
    fn read(bytes: &[u8]) -> Result<Self, Invalid> {
        serde_json::from_slice(bytes).map_err(|_| Invalid::Malformed)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a name occurs twice"));
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Once)
    }
}
