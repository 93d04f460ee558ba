//! Reads from when to when a certificate is valid: the one part of X.509 that nothing else here reads.
//!
//! A certificate is DER: nested elements of a tag, a length and a content. If it is not as RFC 5280 says, it
//! has no known validity.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The tag of the optional version field.
const VERSION: u8 = 0xa0;
/// The tag of a time with two digits of the year.
const UTC_TIME: u8 = 0x17;
/// The tag of a time with four digits of the year.
const GENERALIZED_TIME: u8 = 0x18;

/// Returns from when and until when a certificate in DER is valid. `None` if it cannot be parsed. It never
/// fails otherwise, whatever the bytes are.
pub(super) fn validity(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // The serial number, the algorithm of the signature, the issuer.
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (_, validity, _) = element(fields)?;
    let (from_kind, from, rest) = element(validity)?;
    let (until_kind, until, _) = element(rest)?;
    Some((time(from_kind, from)?, time(until_kind, until)?))
}

/// Splits the first element off: its tag, its content, and what follows it. `None` if it is cut off, or its
/// length takes more than three bytes.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(first) {
        short @ 0..=0x7f => (short, rest),
        long => {
            let (bytes, rest) = rest.split_at_checked(long & 0x7f).filter(|(bytes, _)| bytes.len() <= 3)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Parses `260228235959Z` (years 1950 to 2049) or `20500228235959Z`.
fn time(kind: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match kind {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year: i16 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let mut rest = rest;
    let mut next = || -> Option<i8> {
        let (two, after) = rest.split_at_checked(2)?;
        rest = after;
        two.parse().ok()
    };
    let (month, day, hour, minute, second) = (next()?, next()?, next()?, next()?, next()?);
    let time = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_validity_of_certificates_and_of_nothing_else() {
        for (until, expected) in [(2031, "2031-05-06T00:00:00Z"), (2077, "2077-05-06T00:00:00Z")] {
            let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
            params.not_before = rcgen::date_time_ymd(1999, 1, 2);
            params.not_after = rcgen::date_time_ymd(until, 5, 6);
            let made = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
            let (from, to) = validity(made.der()).unwrap();
            assert_eq!((from.to_string(), to.to_string()), ("1999-01-02T00:00:00Z".into(), expected.into()));
            // Whatever is cut off or changed, it is read or not, and nothing worse.
            for length in 0..made.der().len() {
                let _ = validity(&made.der()[..length]);
                let mut changed = made.der().to_vec();
                changed[length] ^= 0xff;
                let _ = validity(&changed);
            }
        }
        assert_eq!(validity(b""), None);
        assert_eq!(validity(b"\x30\x84\xff\xff\xff\xff"), None);
        assert_eq!(time(UTC_TIME, b"2613"), None);
    }
}
