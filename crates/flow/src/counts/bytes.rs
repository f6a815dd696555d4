//! Numbers and texts as bytes: variable-length numbers, seven bits per byte, least significant
//! first.

/// Bytes that are not valid counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("counts are damaged: {0}")]
pub struct Damaged(pub(super) &'static str);

pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Signed numbers; those near zero are short.
pub(super) fn put_signed(out: &mut Vec<u8>, number: i128) {
    let mut bits = (number << 1 ^ number >> 127).cast_unsigned();
    while bits >= 0x80 {
        out.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    out.push(bits as u8);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads values in the order they were written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteReader<'b>(pub(super) &'b [u8]);

impl<'b> ByteReader<'b> {
    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Damaged> {
        let (first, rest) = self.0.split_first().ok_or(Damaged("cut short"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, Damaged> {
        // Nearly all numbers are this short.
        if let [first @ 0..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*first));
        }
        u64::try_from(self.bits(63)?).map_err(|_| Damaged("a number is too long"))
    }

    /// A number that fits the target type.
    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.number()?).map_err(|_| Damaged("a number is too large"))
    }

    pub(super) fn signed(&mut self) -> Result<i128, Damaged> {
        let bits = self.bits(126)?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    pub(super) fn count(&mut self) -> Result<i64, Damaged> {
        i64::try_from(self.signed()?).map_err(|_| Damaged("a count is too large"))
    }

    pub(super) fn text(&mut self) -> Result<&'b str, Damaged> {
        let length = self.small()?;
        self.text_of(length)
    }

    pub(super) fn text_of(&mut self, length: usize) -> Result<&'b str, Damaged> {
        let (text, rest) = self.0.split_at_checked(length).ok_or(Damaged("cut short"))?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| Damaged("a text is not UTF-8"))
    }

    pub(super) fn skip(&mut self, length: usize) -> Result<(), Damaged> {
        self.0 = self.0.get(length..).ok_or(Damaged("cut short"))?;
        Ok(())
    }

    fn bits(&mut self, shift_max: u32) -> Result<u128, Damaged> {
        let (mut bits, mut shift) = (0_u128, 0);
        loop {
            let byte = self.byte()?;
            bits |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(bits);
            }
            shift += 7;
            if shift > shift_max {
                return Err(Damaged("a number is too long"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_read_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, number);
            assert_eq!(ByteReader(&out).number(), Ok(number));
        }
        for number in [0, -1, 1, 63, -64, 64, i128::from(i64::MIN), i128::MAX, i128::MIN] {
            let mut out = Vec::new();
            put_signed(&mut out, number);
            assert_eq!(ByteReader(&out).signed(), Ok(number));
        }
        let mut out = Vec::new();
        put_text(&mut out, "grün");
        let mut reader = ByteReader(&out);
        assert_eq!((reader.text(), reader.is_at_end()), (Ok("grün"), true));
    }

    #[test]
    fn truncated_or_overlong_bytes_are_damaged() {
        assert_eq!(ByteReader(&[]).byte(), Err(Damaged("cut short")));
        assert_eq!(ByteReader(&[0x80]).number(), Err(Damaged("cut short")));
        assert_eq!(ByteReader(&[0xff; 20]).number(), Err(Damaged("a number is too long")));
        assert_eq!(ByteReader(&[0xff; 20]).signed(), Err(Damaged("a number is too long")));
        assert_eq!(ByteReader(&[3, b'a']).text(), Err(Damaged("cut short")));
        assert_eq!(ByteReader(&[1, 0xff]).text(), Err(Damaged("a text is not UTF-8")));
    }
}
