//! `[limits]`: sizes, numbers and time-outs.

use std::time::Duration;

use super::findings::ConfigProblem;
use super::reader::{ConfigTableReader, TomlValue, number, text, type_problem};
use super::units;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// `[limits]`: sizes, numbers and time-outs. Sizes are in bytes here; the file writes them with a unit (`"4
/// MiB"`). Rules: G4.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Maximum size of a request's body; else 413. Default: 4 MiB.
    pub body: usize,
    /// Maximum size of an answer that has to be buffered to be adapted. Default: 64 MiB.
    pub answer: usize,
    /// Maximum size of one event of a stream. Default: 8 MiB.
    pub event: usize,
    /// Maximum of header lines of a request; else 431. Default: 128.
    pub headers: usize,
    /// Maximum size of all header lines of a request together, 8 KiB to 16 MiB; else 431. Default: 64 KiB.
    pub header_bytes: usize,
    /// Maximum of caller connections at a time; further ones get 503. Default: 10,000, or fewer if the
    /// process may not have as many file descriptors.
    pub connections: usize,
    /// Maximum of calls that run at a time; further ones get 503. Default: 4096.
    pub calls: usize,
    /// Maximum of streams that callers listen on at a time; further ones get 503. Default: 4096.
    pub streams: usize,
    /// The part of calls, streams and legacy sessions that one caller may have, above 0 and at most 1; beyond
    /// it the caller gets 429. Default: 0.25.
    pub share: f64,
    /// Maximum size of everything that is buffered of requests and answers of all callers together. Default:
    /// 1 GiB.
    pub held: usize,
    /// How long the head of a request may take, and a TLS handshake, and how long a connection may be idle.
    /// Default: 60 s.
    pub request_head: Duration,
    /// How long a request's body may pause; else 408. Default: 30 s.
    pub request_pause: Duration,
    /// How long a request's body may take, beside a second for each `request_rate` bytes that have come; else
    /// 408. Default: 30 s.
    pub request_body: Duration,
    /// How many bytes of a request's body give it a second more. Default: 4 KiB.
    pub request_rate: usize,
    /// How long a caller may leave unread what waits for it, before its connection is cut. Default: 30 s.
    pub unread: Duration,
    /// How long an upstream may take to begin its answer; else 504. Default: 60 s.
    pub upstream_first_byte: Duration,
    /// How long the answer of an upstream may pause before it is broken off. Default: 5 min.
    pub stream_idle: Duration,
    /// How long running calls may go on when the gateway stops, before they are cut. May be zero. Default: 30
    /// s.
    pub drain: Duration,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            body: 4 * MIB,
            answer: 64 * MIB,
            event: 8 * MIB,
            headers: 128,
            header_bytes: 64 * KIB,
            connections: 10_000,
            calls: 4096,
            streams: 4096,
            share: 0.25,
            held: 1024 * MIB,
            request_head: Duration::from_secs(60),
            request_pause: Duration::from_secs(30),
            request_body: Duration::from_secs(30),
            request_rate: 4 * KIB,
            unread: Duration::from_secs(30),
            upstream_first_byte: Duration::from_secs(60),
            stream_idle: Duration::from_secs(5 * 60),
            drain: Duration::from_secs(30),
        }
    }
}

impl LimitsConfig {
    /// Returns how many connections to upstreams there may be at a time: one for each call and each stream.
    #[must_use]
    pub fn upstream_connections(&self) -> usize {
        self.calls.saturating_add(self.streams)
    }

    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        let bytes = |value: &TomlValue<'_>| parse_size(value, 1, MAX_BYTES);
        Self {
            body: reader.read("body", base.body, bytes),
            answer: reader.read("answer", base.answer, bytes),
            event: reader.read("event", base.event, bytes),
            headers: reader.read("headers", base.headers, |value| parse_count(value, 10_000)),
            // HTTP libraries read headers through a buffer of at least this size.
            header_bytes: reader
                .read("header_bytes", base.header_bytes, |value| parse_size(value, 8 << 10, 16 << 20)),
            connections: reader.read("connections", base.connections, |value| parse_count(value, 1_000_000)),
            calls: reader.read("calls", base.calls, |value| parse_count(value, 1_000_000)),
            streams: reader.read("streams", base.streams, |value| parse_count(value, 1_000_000)),
            share: reader.read("share", base.share, parse_share),
            held: reader.read("held", base.held, bytes),
            request_head: reader.read("request_head", base.request_head, parse_nonzero_time),
            request_pause: reader.read("request_pause", base.request_pause, parse_nonzero_time),
            request_body: reader.read("request_body", base.request_body, parse_nonzero_time),
            request_rate: reader.read("request_rate", base.request_rate, bytes),
            unread: reader.read("unread", base.unread, parse_nonzero_time),
            upstream_first_byte: reader.read(
                "upstream_first_byte",
                base.upstream_first_byte,
                parse_nonzero_time,
            ),
            stream_idle: reader.read("stream_idle", base.stream_idle, parse_nonzero_time),
            drain: reader.read("drain", base.drain, parse_time),
        }
    }
}

/// The largest size that can be configured, 1 TiB: no machine that runs this has more memory.
const MAX_BYTES: u64 = 1 << 40;

/// Parses a size, an integer in bytes or a string with a unit, from `least` to `most`.
fn parse_size(value: &TomlValue<'_>, least: u64, most: u64) -> Result<usize, ConfigProblem> {
    let bytes = match value {
        TomlValue::String(text) => i128::from(units::parse_byte_size(text)?),
        TomlValue::Integer(_) => number(value, "a size")?,
        other => return Err(type_problem(other, "a size, such as \"4 MiB\"")),
    };
    let outside = || {
        ConfigProblem::new(
            "is out of bounds",
            format!("write {} to {}", format_size(least), format_size(most)),
        )
    };
    let bytes = u64::try_from(bytes).ok().filter(|bytes| (least..=most).contains(bytes));
    bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(outside)
}

/// Formats a size for a hint, in the largest unit without a fraction, in quotes.
fn format_size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = units.into_iter().find(|(shift, _)| bytes != 0 && bytes.is_multiple_of(1 << shift));
    fits.map_or_else(|| format!("\"{bytes} B\""), |(shift, unit)| format!("\"{} {unit}\"", bytes >> shift))
}

/// Parses a number above 0 and at most 1.
fn parse_share(value: &TomlValue<'_>) -> Result<f64, ConfigProblem> {
    let number = match value {
        TomlValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
        TomlValue::Integer(integer) => integer.as_str().parse().ok(),
        other => return Err(type_problem(other, "a number, such as 0.25")),
    };
    let outside =
        || ConfigProblem::new("is out of bounds", "write a number above 0 and up to 1, such as 0.25");
    number.filter(|share: &f64| *share > 0.0 && *share <= 1.0).ok_or_else(outside)
}

/// Parses a number from 1 to `most`.
pub(super) fn parse_count(value: &TomlValue<'_>, most: usize) -> Result<usize, ConfigProblem> {
    let outside = || ConfigProblem::new("is out of bounds", format!("write a number from 1 to {most}"));
    let count = usize::try_from(number(value, "an integer")?).map_err(|_| outside())?;
    (1..=most).contains(&count).then_some(count).ok_or_else(outside)
}

/// Parses a duration, which is a string with a unit. An integer is refused with a hint that shows it with
/// one.
pub(super) fn parse_time(value: &TomlValue<'_>) -> Result<Duration, ConfigProblem> {
    if let TomlValue::Integer(integer) = value {
        return Err(ConfigProblem::new(
            "has no unit",
            format!("write \"{} s\", or ms, min or h", integer.as_str()),
        ));
    }
    units::parse_duration(text(value)?)
}

/// Parses a duration that is not zero.
pub(super) fn parse_nonzero_time(value: &TomlValue<'_>) -> Result<Duration, ConfigProblem> {
    let none = ConfigProblem::new("is no time at all", "write at least \"1 ms\"");
    parse_time(value).and_then(|time| if time.is_zero() { Err(none) } else { Ok(time) })
}

#[cfg(test)]
mod tests {
    use toml::de::DeValue;

    use super::*;

    fn value(text: &str) -> DeValue<'_> {
        DeValue::parse(text).unwrap().into_inner()
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit_and_keep_within_bounds() {
        for (text, expected) in [
            ("4096", Ok(4096)),
            ("0x1000", Ok(4096)),
            ("'4 KiB'", Ok(4096)),
            ("1", Ok(1)),
            ("0", Err("is out of bounds")),
            ("-1", Err("is out of bounds")),
            ("'8 GiB'", Err("is out of bounds")),
            ("99999999999999999999999999999999999999999999", Err("is out of bounds")),
            ("1.5", Err("is a float, not a size, such as \"4 MiB\"")),
            ("true", Err("is a boolean, not a size, such as \"4 MiB\"")),
        ] {
            let size = parse_size(&value(text), 1, 4 << 30);
            assert_eq!(
                size.as_ref().map_err(|problem| &*problem.what),
                expected.as_ref().map_err(|what| *what)
            );
        }
        assert_eq!(
            parse_size(&value("1"), 8 << 10, 16 << 20).unwrap_err().hint,
            "write \"8 KiB\" to \"16 MiB\""
        );
        assert_eq!(parse_size(&value("0"), 1, 1500).unwrap_err().hint, "write \"1 B\" to \"1500 B\"");
    }

    #[test]
    fn a_share_is_a_part_of_the_whole() {
        for (text, expected) in [("0.25", Ok(0.25)), ("1", Ok(1.0)), ("1.0", Ok(1.0)), ("1e-3", Ok(0.001))] {
            assert_eq!(parse_share(&value(text)), expected, "{text}");
        }
        for text in ["0", "0.0", "-0.5", "1.01", "2", "nan", "inf"] {
            assert_eq!(parse_share(&value(text)).unwrap_err().what, "is out of bounds", "{text}");
        }
        assert_eq!(parse_share(&value("'25%'")).unwrap_err().what, "is a string, not a number, such as 0.25");
    }

    #[test]
    fn counts_begin_with_one() {
        assert_eq!(parse_count(&value("1"), 9), Ok(1));
        assert_eq!(parse_count(&value("9"), 9), Ok(9));
        for text in ["0", "10", "-5", "99999999999999999999999999999999999999999999"] {
            assert_eq!(parse_count(&value(text), 9).unwrap_err().what, "is out of bounds", "{text}");
        }
        assert_eq!(parse_count(&value("'9'"), 9).unwrap_err().what, "is a string, not an integer");
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_time(&value("60")).unwrap_err().hint, "write \"60 s\", or ms, min or h");
        assert_eq!(parse_time(&value("'0 s'")), Ok(Duration::ZERO));
        assert_eq!(parse_nonzero_time(&value("'0 s'")).unwrap_err().what, "is no time at all");
        assert_eq!(parse_nonzero_time(&value("'1 s'")), Ok(Duration::from_secs(1)));
    }
}
