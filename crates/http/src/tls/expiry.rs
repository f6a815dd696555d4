//! When a certificate expires: the one field of X.509 that is read here. The library that checks
//! certificates of others does not return it.

use rustls::pki_types::CertificateDer;
use sluice_flow::time::Timestamp;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The digits of the year that a short time leaves out: 50 and later are of the last century.
const SHORT_YEAR_PIVOT: u32 = 50;
/// The time of a certificate that does not expire (RFC 5280, section 4.1.2.5).
const NO_EXPIRY: &str = "99991231235959Z";

/// The time after which the certificate is not valid; `None` if there is none or it cannot be read.
pub(super) fn not_after(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let (_, whole, _) = element(certificate)?;
    let (_, mut rest, _) = element(whole)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    // The serial number, the algorithm and the issuer.
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (kind, validity, _) = element(rest)?;
    let (_, _, not_after) = element(validity).filter(|_| kind == SEQUENCE)?;
    let (kind, text, _) = element(not_after)?;
    instant(kind, std::str::from_utf8(text).ok()?)
}

/// The first element of DER: its kind, its content, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |sum, &digit| (sum << 8) | usize::from(digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((kind, content, rest))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn instant(kind: u8, text: &str) -> Option<Timestamp> {
    let (year, rest) = match kind {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year: u32 = year.parse().ok()?;
            (if year < SHORT_YEAR_PIVOT { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME if text != NO_EXPIRY => {
            let (year, rest) = text.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let digits = rest.strip_suffix('Z').filter(|digits| digits.len() == 10)?;
    let two = |at: usize| digits.get(at..at + 2);
    let (month, day, hour) = (two(0)?, two(2)?, two(4)?);
    let (minute, second) = (two(6)?, two(8)?);
    format!("{year:04}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_certificates_are_read_in_both_forms() {
        for (kind, text, expected) in [
            (UTC_TIME, "261118000000Z", Some("2026-11-18T00:00:00.000Z")),
            (UTC_TIME, "491231235959Z", Some("2049-12-31T23:59:59.000Z")),
            (UTC_TIME, "500101000000Z", Some("1950-01-01T00:00:00.000Z")),
            (GENERALIZED_TIME, "20500101000000Z", Some("2050-01-01T00:00:00.000Z")),
            (GENERALIZED_TIME, "99991231235958Z", Some("9999-12-31T23:59:58.000Z")),
            (GENERALIZED_TIME, NO_EXPIRY, None),
            (UTC_TIME, "261318000000Z", None),
            (UTC_TIME, "2611180000Z", None),
            (UTC_TIME, "261118000000+0100", None),
            (UTC_TIME, "", None),
            (SEQUENCE, "261118000000Z", None),
        ] {
            let found = instant(kind, text).map(|it| it.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_expiry() {
        for bytes in [
            &[][..],
            &[SEQUENCE],
            &[SEQUENCE, 0x80],
            &[SEQUENCE, 0x82, 0xff, 0xff],
            &[SEQUENCE, 2, SEQUENCE, 0],
        ] {
            assert_eq!(not_after(&CertificateDer::from(bytes)), None, "{bytes:?}");
        }
    }
}
