//! Identifiers: a prefix that names the kind, and 22 base62 digits for 128 bits.
//!
//! Ids are UUIDv7 inside, so they sort by creation time; that also means that an id contains its
//! time and is never a secret. [`ApiKey`] is random and publishable. The engine generates the bits
//! (clock, randomness); here they are arguments.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

/// The number of base62 digits for 128 bits.
pub const DIGITS: usize = 22;

/// Ten digits: fits into 64 bits, where division is fast.
const CHUNK: u128 = 62_u128.pow(10);

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The value of each byte as a digit, and [`NO_DIGIT`] for all others.
static VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};
const NO_DIGIT: u8 = u8::MAX;

/// The text is not an identifier of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be {prefix} followed by 22 letters and digits")]
pub struct InvalidId {
    prefix: &'static str,
}

/// Writes 128 bits as 22 base62 digits, most significant first, so that texts sort like the
/// numbers.
pub fn base62(bits: u128) -> String {
    String::from_utf8_lossy(&digits_of(bits)).into_owned()
}

fn digits_of(bits: u128) -> [u8; DIGITS] {
    // 128-bit division is slow, so it is done twice instead of once per digit.
    let (rest, low) = (bits / CHUNK, (bits % CHUNK) as u64);
    let (high, middle) = ((rest / CHUNK) as u64, (rest % CHUNK) as u64);
    let mut digits = [b'0'; DIGITS];
    for (chunk, places) in [(high, 0..2), (middle, 2..12), (low, 12..22)] {
        let mut rest = chunk;
        for digit in digits[places].iter_mut().rev() {
            *digit = ALPHABET[(rest % 62) as usize];
            rest /= 62;
        }
    }
    digits
}

fn read_base62(text: &str) -> Option<u128> {
    let digits: &[u8; DIGITS] = text.as_bytes().try_into().ok()?;
    // In chunks of 64 bits, as they are written.
    let chunk = |places: Range<usize>| {
        digits[places].iter().try_fold(0_u64, |value, byte| match VALUES[usize::from(*byte)] {
            NO_DIGIT => None,
            digit => Some(value * 62 + u64::from(digit)),
        })
    };
    let (high, middle, low) = (chunk(0..2)?, chunk(2..12)?, chunk(12..22)?);
    // The highest two digits may be too large for 128 bits.
    let rest = u128::from(high) * CHUNK + u128::from(middle);
    rest.checked_mul(CHUNK)?.checked_add(u128::from(low))
}

/// The 128 bits of a UUIDv7: milliseconds, then a sequence within the millisecond, then random
/// bits.
///
/// The sequence (26 bits) precedes the random part, so that ids made in the same millisecond still
/// sort in creation order.
pub fn v7(at: Timestamp, sequence: u32, random: u64) -> Uuid {
    let millis = u128::from(at.as_millis().max(0).unsigned_abs()) & 0xFFFF_FFFF_FFFF;
    let high = u128::from(sequence >> 14) & 0xFFF;
    let low = u128::from(sequence & 0x3FFF);
    let random = u128::from(random & 0xFFFF_FFFF_FFFF);
    Uuid::from_u128(millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low << 48 | random)
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &str = $prefix;

            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub fn uuid(self) -> Uuid {
                self.0
            }

            /// Appends what `Display` writes, without the cost of formatting.
            pub fn append_to(self, out: &mut Vec<u8>) {
                out.extend_from_slice($prefix.as_bytes());
                out.extend_from_slice(&digits_of(self.0.as_u128()));
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                f.write_str(std::str::from_utf8(&digits_of(self.0.as_u128())).unwrap_or_default())
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.strip_prefix($prefix)
                    .and_then(read_base62)
                    .map(|bits| Self(Uuid::from_u128(bits)))
                    .ok_or(InvalidId { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                const LENGTH: usize = $prefix.len() + DIGITS;
                let mut text = [0; LENGTH];
                let (prefix, digits) = text.split_at_mut($prefix.len());
                prefix.copy_from_slice($prefix.as_bytes());
                digits.copy_from_slice(&digits_of(self.0.as_u128()));
                serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

macro_rules! tell_their_time {
    ($($name:ident)*) => {$(
        impl $name {
            /// When the id was created, to the millisecond.
            pub fn made_at(self) -> Timestamp {
                let millis = (self.0.as_u128() >> 80) as u64;
                Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
            }
        }
    )*};
}

ids! {
    /// One tenant: a product that collects feedback, with its own keys and flows.
    AppId = "app_";
    /// A survey, form or message, across all its versions.
    FlowId = "fl_";
    /// One version of a flow, from its first draft on.
    FlowVersionId = "fv_";
    /// One stored response. Its time is when the response was received.
    ResponseId = "rs_";
    /// A respondent profile.
    RespondentId = "rp_";
    /// An admin token (its public name, not its secret).
    TokenId = "tk_";
    /// One entry of the audit log.
    AuditId = "au_";
    /// A user of the console.
    UserId = "us_";
    /// An invitation. Anyone with the id may answer as the invitee, so it is entirely random and
    /// contains no time.
    AssignmentId = "fa_";
    /// A report of results (its public name, not the secret of its link).
    ReportId = "rep_";
    /// An uploaded image.
    AssetId = "as_";
    /// An e-mail to send. Anyone with the id may unsubscribe its recipient, so it is entirely
    /// random and contains no time.
    MailId = "ml_";
    /// One form that was shown: its submission is stored once. Its time is when it was created.
    FormKey = "f_";
    /// Something that happened, and its position in the log of its app.
    EventId = "evt_";
    /// A webhook: a URL that receives events.
    EndpointId = "ep_";
    /// The attempts to send one event to one endpoint.
    DeliveryId = "dl_";
}

tell_their_time! {
    AppId FlowId FlowVersionId ResponseId RespondentId TokenId AuditId FormKey EventId DeliveryId
}

impl AssignmentId {
    /// An id from these random bits.
    pub fn from_random(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }
}

impl MailId {
    /// An id from these random bits.
    pub fn from_random(bits: u128) -> Self {
        Self(Uuid::from_u128(bits))
    }
}

/// The publishable key of an app: it grants reading published flows and submitting, nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ApiKey(String);

impl ApiKey {
    pub const PREFIX: &str = "pk_";

    /// A key from these random bits.
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{}{}", Self::PREFIX, base62(bits)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ApiKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for ApiKey {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match text.strip_prefix(Self::PREFIX).and_then(read_base62) {
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(InvalidId { prefix: Self::PREFIX }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_prefix_and_22_digits_and_parses_back() {
        for bits in [0, 1, 61, 62, u128::MAX, 0x0199_0000_0000_7000_8000_0000_0000_0000] {
            let id = FlowId::from_uuid(Uuid::from_u128(bits));
            let text = id.to_string();
            assert_eq!(text.len(), 3 + DIGITS);
            assert_eq!(text.parse(), Ok(id));
            let mut appended = Vec::new();
            id.append_to(&mut appended);
            assert_eq!(appended, text.as_bytes());
        }
    }

    #[test]
    fn an_id_of_another_kind_or_length_or_range_is_refused() {
        let over = "fl_zzzzzzzzzzzzzzzzzzzzzz";
        for text in [
            "",
            "fl_",
            "fv_0000000000000000000000",
            "fl_000000000000000000000",
            over,
            "fl_000000000000000000000-",
        ] {
            assert!(text.parse::<FlowId>().is_err(), "{text}");
        }
    }

    #[test]
    fn ids_sort_by_time_then_sequence_as_bits_and_as_text() {
        let at = |ms, seq| ResponseId::from_uuid(v7(Timestamp::from_millis(ms), seq, u64::MAX));
        let ids =
            [at(1, 0), at(1, 1), at(1, 0x3FFF), at(1, 0x4000), at(2, 0), at(1_763_172_000_000, 5)];
        for pair in ids.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(pair[0].to_string() < pair[1].to_string());
        }
    }

    #[test]
    fn an_id_contains_its_time_and_is_a_version_7_uuid() {
        let at = Timestamp::from_millis(1_763_172_000_123);
        let uuid = v7(at, 77, 12345);
        assert_eq!(ResponseId::from_uuid(uuid).made_at(), at);
        assert_eq!(uuid.get_version_num(), 7);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    }
}
