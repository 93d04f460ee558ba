//! Instants as callers write them: RFC 3339, offset and all.

use core::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::warning::ClientContextError;

/// An instant and the offset that it was written with.
///
/// The form is exactly `date-time` of RFC 3339. Leap seconds are not taken, and years have four digits.
///
/// Rules: C2.
///
/// ```
/// use mcp_attune::context::{Rfc3339Instant, ClientContextError};
///
/// let instant = Rfc3339Instant::parse("2026-11-12T14:23:00+01:00").unwrap();
/// assert_eq!(instant.timestamp().to_string(), "2026-11-12T13:23:00Z");
/// assert_eq!(instant.offset().unwrap().seconds(), 3600);
/// assert_eq!(Rfc3339Instant::parse("2026-11-12T14:23:00"), Err(ClientContextError::NoOffset));
/// assert_eq!(Rfc3339Instant::parse("2016-12-31T23:59:60Z"), Err(ClientContextError::LeapSecond));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Rfc3339Instant {
    timestamp: Timestamp,
    offset: Option<Offset>,
    text: Box<str>,
}

impl Rfc3339Instant {
    /// The most bytes that are read: the form has twenty-five, and a fraction of a second.
    const MAX_LEN: usize = 64;

    /// Reads an instant.
    ///
    /// # Errors
    ///
    /// [`ClientContextError::NotAnInstant`], [`ClientContextError::NoOffset`] or [`ClientContextError::LeapSecond`].
    pub fn parse(text: &str) -> Result<Self, ClientContextError> {
        if text.len() > Self::MAX_LEN {
            return Err(ClientContextError::NotAnInstant);
        }
        let (written, rest) = parse_civil(text.as_bytes()).ok_or(ClientContextError::NotAnInstant)?;
        if rest.is_empty() {
            return Err(ClientContextError::NoOffset);
        }
        let offset = offset(rest).ok_or(ClientContextError::NotAnInstant)?;
        let [year, month, day, hour, minute, second] = written.fields;
        if second == 60 {
            return Err(ClientContextError::LeapSecond);
        }
        let small = |field: i16| i8::try_from(field).unwrap_or(i8::MAX);
        let [month, day, hour, minute, second] = [month, day, hour, minute, second].map(small);
        let timestamp = DateTime::new(year, month, day, hour, minute, second, written.nanoseconds)
            .and_then(|civil| offset.unwrap_or(Offset::UTC).to_timestamp(civil));
        Ok(Self {
            timestamp: timestamp.map_err(|_| ClientContextError::NotAnInstant)?,
            offset,
            text: text.into(),
        })
    }

    /// The instant itself.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The offset that it was written with; none for `-00:00`, by which RFC 3339 says that it is not known.
    #[must_use]
    pub fn offset(&self) -> Option<Offset> {
        self.offset
    }

    /// The instant as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Rfc3339Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({})", self.text)
    }
}

/// The digits of a date and a time.
struct CivilFields {
    /// From the year to the second.
    fields: [i16; 6],
    nanoseconds: i32,
}

/// The date and the time, and what comes after them.
fn parse_civil(text: &[u8]) -> Option<(CivilFields, &[u8])> {
    let (year, text) = number(text, 4, b"")?;
    let (month, text) = number(text, 2, b"-")?;
    let (day, text) = number(text, 2, b"-")?;
    let (hour, text) = number(text, 2, b"Tt")?;
    let (minute, text) = number(text, 2, b":")?;
    let (second, text) = number(text, 2, b":")?;
    let (nanoseconds, text) = match text.split_first() {
        Some((b'.', rest)) => fraction(rest)?,
        _ => (0, text),
    };
    Some((CivilFields { fields: [year, month, day, hour, minute, second], nanoseconds }, text))
}

/// A number of so many digits, with one of these before it.
fn number<'t>(text: &'t [u8], digits: usize, before: &[u8]) -> Option<(i16, &'t [u8])> {
    let text = match text.split_first() {
        _ if before.is_empty() => text,
        Some((first, rest)) if before.contains(first) => rest,
        _ => return None,
    };
    let (digits, rest) = text.split_at_checked(digits)?;
    let add = |number: i16, digit: &u8| digit.is_ascii_digit().then(|| number * 10 + i16::from(digit - b'0'));
    Some((digits.iter().try_fold(0, add)?, rest))
}

/// The digits after the point in billionths; what is finer is left out.
fn fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count).filter(|_| count > 0)?;
    let billionths = digits.iter().chain(core::iter::repeat(&b'0')).take(9);
    Some((billionths.fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0')), rest))
}

/// The outer `None` is no offset, the inner one an offset that is not known.
fn offset(text: &[u8]) -> Option<Option<Offset>> {
    if matches!(text, b"Z" | b"z") {
        return Some(Some(Offset::UTC));
    }
    let (hours, rest) = number(text, 2, b"+-")?;
    let (minutes, b"") = number(rest, 2, b":")? else { return None };
    let negative = text.first() == Some(&b'-');
    match (hours, minutes) {
        (24.., _) | (_, 60..) => None,
        (0, 0) if negative => Some(None),
        _ => {
            let seconds = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
            Offset::from_seconds(if negative { -seconds } else { seconds }).ok().map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, utc: &str, offset: Option<i32>) {
        let instant = Rfc3339Instant::parse(text).unwrap();
        assert_eq!(instant.timestamp().to_string(), utc);
        assert_eq!(instant.offset().map(Offset::seconds), offset);
        assert_eq!(instant.as_str(), text);
    }

    #[test]
    fn reads_the_examples_of_rfc_3339() {
        check("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.52Z", Some(0));
        check("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57Z", Some(-8 * 3600));
        check("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.87Z", Some(1200));
    }

    #[test]
    fn keeps_the_offset() {
        check("2026-11-12t14:23:00z", "2026-11-12T14:23:00Z", Some(0));
        check("2026-11-12T14:23:00-00:00", "2026-11-12T14:23:00Z", None);
        check("2026-11-12T14:23:00-00:01", "2026-11-12T14:24:00Z", Some(-60));
        check("2026-11-12T14:23:00+23:59", "2026-11-11T14:24:00Z", Some(86_340));
        check("2026-11-12T14:23:00.1234567891234+01:00", "2026-11-12T13:23:00.123456789Z", Some(3600));
        check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", Some(0));
    }

    #[test]
    fn refuses_leap_seconds_and_what_has_no_offset() {
        assert_eq!(Rfc3339Instant::parse("2016-12-31T23:59:60Z"), Err(ClientContextError::LeapSecond));
        assert_eq!(Rfc3339Instant::parse("2016-12-31T15:59:60.5-08:00"), Err(ClientContextError::LeapSecond));
        assert_eq!(Rfc3339Instant::parse("2026-11-12T14:23:00"), Err(ClientContextError::NoOffset));
        assert_eq!(Rfc3339Instant::parse("2026-11-12T14:23:00.5"), Err(ClientContextError::NoOffset));
    }

    #[test]
    fn refuses_what_is_no_instant() {
        for text in [
            "",
            "now",
            "2026-11-12",
            "12026-11-12T14:23:00Z",
            "+002026-11-12T14:23:00Z",
            "-2026-11-12T14:23:00Z",
            "2026-11-12 14:23:00Z",
            "2026-11-12T14:23Z",
            "2026-11-12T14:23:00,5Z",
            "2026-11-12T14:23:00.Z",
            "2026-11-12T24:00:00Z",
            "2026-11-12T14:60:00Z",
            "2026-11-12T14:23:61Z",
            "2026-02-30T14:23:00Z",
            "2026-13-01T14:23:00Z",
            "2026-00-01T14:23:00Z",
            "2026-11-12T14:23:00+0100",
            "2026-11-12T14:23:00+01",
            "2026-11-12T14:23:00+24:00",
            "2026-11-12T14:23:00+01:60",
            "2026-11-12T14:23:00+01:00[Europe/Vienna]",
            "2026-11-12T14:23:00Z ",
            " 2026-11-12T14:23:00Z",
            "2026-W46-4T14:23:00Z",
            "20261112T142300Z",
            "9999-12-31T23:59:59-23:59",
            "２０２６-11-12T14:23:00Z",
            "1763000000",
        ] {
            assert_eq!(Rfc3339Instant::parse(text), Err(ClientContextError::NotAnInstant), "{text}");
        }
        let long = format!("2026-11-12T14:23:00.{}Z", "0".repeat(100));
        assert_eq!(Rfc3339Instant::parse(&long), Err(ClientContextError::NotAnInstant));
    }
}
