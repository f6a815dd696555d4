//! Fixed bytes as hexadecimal text, for records that are written as JSON: `#[serde(with = "hex")]`.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

/// Bytes that have a text.
pub trait Hex: Sized {
    fn to_text(&self) -> Option<String>;
    fn from_text(text: Option<&str>) -> Option<Self>;
}

impl<const N: usize> Hex for [u8; N] {
    fn to_text(&self) -> Option<String> {
        let mut text = String::with_capacity(2 * N);
        for byte in self {
            let _infallible = write!(text, "{byte:02x}");
        }
        Some(text)
    }

    fn from_text(text: Option<&str>) -> Option<Self> {
        let (digits, []) = text?.as_bytes().as_chunks::<2>() else { return None };
        let mut bytes = [0; N];
        if digits.len() != N {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(digits) {
            let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
            *byte = u8::try_from(high? << 4 | low?).ok()?;
        }
        Some(bytes)
    }
}

impl Hex for uuid::Uuid {
    fn to_text(&self) -> Option<String> {
        self.as_bytes().to_text()
    }

    fn from_text(text: Option<&str>) -> Option<Self> {
        Hex::from_text(text).map(Self::from_bytes)
    }
}

impl<const N: usize> Hex for Option<[u8; N]> {
    fn to_text(&self) -> Option<String> {
        self.as_ref().and_then(Hex::to_text)
    }

    fn from_text(text: Option<&str>) -> Option<Self> {
        match text {
            Some(_) => Hex::from_text(text).map(Some),
            None => Some(None),
        }
    }
}

/// One after the other.
impl<const N: usize> Hex for Vec<[u8; N]> {
    fn to_text(&self) -> Option<String> {
        Some(self.iter().filter_map(Hex::to_text).collect())
    }

    fn from_text(text: Option<&str>) -> Option<Self> {
        let text = text?;
        let part = |at: usize| Hex::from_text(text.get(at * 2 * N..(at + 1) * 2 * N));
        match text.len().is_multiple_of(2 * N) {
            true => (0..text.len() / (2 * N)).map(part).collect(),
            false => None,
        }
    }
}

pub fn serialize<T: Hex, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.to_text().serialize(to)
}

pub fn deserialize<'de, T: Hex, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(from)?;
    T::from_text(text.as_deref())
        .ok_or_else(|| de::Error::custom("not the expected hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back_and_anything_else_is_refused() {
        assert_eq!([0_u8, 0xAB].to_text().as_deref(), Some("00ab"));
        assert_eq!(<[u8; 2]>::from_text(Some("00aB")), Some([0, 0xAB]));
        assert_eq!(Vec::from_text(Some("00ab01")), Some(vec![[0_u8], [0xAB], [1]]));
        assert_eq!(Option::<[u8; 1]>::from_text(None), Some(None));
        for text in
            [None, Some(""), Some("0"), Some("00a"), Some("00ag"), Some("00abcd"), Some("é00")]
        {
            assert_eq!(<[u8; 2]>::from_text(text), None, "{text:?}");
        }
        assert_eq!(Vec::<[u8; 2]>::from_text(Some("00ab1")), None);
    }
}
