//! Time-based one-time codes (TOTP, RFC 6238): HMAC-SHA-1, six digits, steps of 30 seconds.

use ring::hmac;
use sluice_flow::time::Timestamp;

/// Seconds for which one code is valid.
const STEP_SECONDS: i64 = 30;
const DIGITS: u32 = 6;
/// Steps before and after the current one whose codes are accepted, for clocks that differ.
const SKEW_STEPS: i64 = 1;
/// RFC 4226 recommends 160 bits.
pub(super) const SECRET_BYTES: usize = 20;

/// The code of a time step.
fn code_at(secret: &[u8], step: i64) -> u32 {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    // Dynamic truncation, RFC 4226 section 5.3.
    let offset = bytes.last().map_or(0, |last| usize::from(last & 0x0f));
    let word = bytes.get(offset..offset + 4).and_then(|it| it.try_into().ok()).unwrap_or_default();
    (u32::from_be_bytes(word) & 0x7fff_ffff) % 10_u32.pow(DIGITS)
}

/// The time step for which a code is valid now. Steps up to `used_step` are used up: each code
/// works once.
pub(super) fn step_of(secret: &[u8], code: &str, now: Timestamp, used_step: i64) -> Option<i64> {
    let code: String = code.chars().filter(|it| !it.is_whitespace()).collect();
    if code.len() != DIGITS as usize || !code.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let code: u32 = code.parse().ok()?;
    let current = now.as_millis().div_euclid(STEP_SECONDS * 1000);
    let steps = current - SKEW_STEPS..=current + SKEW_STEPS;
    steps.filter(|step| *step > used_step).find(|step| code_at(secret, *step) == code)
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Base32 without padding (RFC 4648), the format of authenticator apps.
pub(super) fn base32(bytes: &[u8]) -> String {
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let bits: Vec<u8> = bits.collect();
    let letters = bits.chunks(5).map(|chunk| {
        let value = chunk.iter().fold(0, |value, bit| value << 1 | bit) << (5 - chunk.len());
        char::from(ALPHABET[usize::from(value) % ALPHABET.len()])
    });
    letters.collect()
}

/// Parses a secret of [`SECRET_BYTES`] from base32.
pub(super) fn secret_from_base32(text: &str) -> Option<[u8; SECRET_BYTES]> {
    let mut bits = Vec::with_capacity(SECRET_BYTES * 8);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|it| *it == letter)?;
        bits.extend((0..5).rev().map(|bit| value >> bit & 1));
    }
    let bytes = bits.chunks(8).map(|chunk| chunk.iter().fold(0, |byte, bit| byte << 1 | bit));
    let bytes: Vec<u8> = bytes.map(u8::try_from).collect::<Result<_, _>>().ok()?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC_SECRET: &[u8; SECRET_BYTES] = b"12345678901234567890";

    fn seconds(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    /// RFC 6238, appendix B, SHA-1: the last six of its eight digits.
    #[test]
    fn codes_match_the_test_vectors_of_rfc_6238() {
        for (at, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(step_of(RFC_SECRET, code, seconds(at), -1), Some(at / 30), "{at}");
        }
    }

    #[test]
    fn a_code_is_accepted_one_step_early_or_late_and_only_once() {
        let (code, step) = ("081804", 1_111_111_109 / 30);
        for (offset, is_accepted) in [(-31, false), (-29, true), (0, true), (29, true), (61, false)]
        {
            let found = step_of(RFC_SECRET, code, seconds(step * 30 + offset), -1);
            assert_eq!(found, is_accepted.then_some(step), "{offset}");
        }
        let now = seconds(step * 30);
        assert_eq!(step_of(RFC_SECRET, "081 804", now, step - 1), Some(step));
        assert_eq!(step_of(RFC_SECRET, code, now, step), None, "a used step is refused");
        for wrong in ["", "81804", "0081804", "08180a", "+81804", "081805"] {
            assert_eq!(step_of(RFC_SECRET, wrong, now, -1), None, "{wrong}");
        }
    }

    #[test]
    fn a_secret_in_base32_reads_back() {
        assert_eq!(base32(RFC_SECRET), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(
            secret_from_base32("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").as_ref(),
            Some(RFC_SECRET)
        );
        assert_eq!(base32(b"foob"), "MZXW6YQ");
        for wrong in ["", "GEZDGNBV", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1", &"A".repeat(33)] {
            assert_eq!(secret_from_base32(wrong), None, "{wrong}");
        }
    }
}
