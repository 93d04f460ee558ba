//! Durations and sizes with units, such as `"250 ms"` and `"4 MiB"`.

use std::time::Duration;

use super::findings::ConfigProblem;

/// Parses a duration: a whole number and `ms`, `s`, `min` or `h`, with one blank between them or none. At
/// most a year.
pub(super) fn parse_duration(text: &str) -> Result<Duration, ConfigProblem> {
    // Far more than anything here can mean, and far less than what a clock can count to.
    const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let millis = match split_unit(text) {
        Some((number, unit)) => match unit {
            "ms" => Some(Some(number)),
            "s" => Some(number.checked_mul(1000)),
            "min" => Some(number.checked_mul(60_000)),
            "h" => Some(number.checked_mul(3_600_000)),
            _ => None,
        },
        None => None,
    };
    let Some(millis) = millis else {
        let hint = "write a whole number and ms, s, min or h, such as \"250 ms\" or \"5 min\"";
        return Err(ConfigProblem::new("is no duration", hint));
    };
    match millis.map(Duration::from_millis) {
        Some(duration) if duration <= MAX_DURATION => Ok(duration),
        _ => Err(ConfigProblem::new("is longer than a year", "write at most \"8760 h\"")),
    }
}

/// Parses a size in bytes: a whole number and `B`, `KiB`, `MiB` or `GiB`. Decimal units such as `MB` are
/// refused.
pub(super) fn parse_byte_size(text: &str) -> Result<u64, ConfigProblem> {
    let too_much = || ConfigProblem::new("is too much", "write at most \"1024 GiB\"");
    let no_size = |hint: &str| ConfigProblem::new("is no size", hint);
    let (number, unit) = split_unit(text).ok_or_else(|| {
        no_size("write a whole number and B, KiB, MiB or GiB, such as \"4 MiB\", or bytes without quotes")
    })?;
    let shift = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "" => return Err(no_size("write bytes without quotes, or add a unit: B, KiB, MiB or GiB")),
        _ => return Err(no_size("units are B, KiB (1024 B), MiB and GiB, such as \"4 MiB\"")),
    };
    number.checked_mul(1 << shift).ok_or_else(too_much)
}

/// Splits a text into a whole number and its unit. `None` if it does not begin with a digit; a number that
/// does not fit is `u64::MAX`, so that it is refused as too large and not as malformed.
fn split_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    // A number of a hundred digits is a number all the same, only too large.
    let number = if number.is_empty() { return None } else { number.parse().unwrap_or(u64::MAX) };
    Some((number, unit.strip_prefix(' ').unwrap_or(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations() {
        for (text, millis) in [
            ("250 ms", 250),
            ("60 s", 60_000),
            ("60s", 60_000),
            ("5 min", 300_000),
            ("2 h", 7_200_000),
            ("0 s", 0),
            ("8760 h", 31_536_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in
            ["", "s", "60", "60 sec", "5 m", "-1 s", "1.5 s", "60  s", " 60 s", "60 s ", "60 S", "é", "6é"]
        {
            assert_eq!(parse_duration(text).unwrap_err().what, "is no duration", "{text}");
        }
        for text in ["8761 h", "99999999999999999999 s", "18446744073709551615 h"] {
            assert_eq!(parse_duration(text).unwrap_err().what, "is longer than a year", "{text}");
        }
    }

    #[test]
    fn reads_sizes() {
        for (text, bytes) in [("512 B", 512), ("64 KiB", 64 << 10), ("4MiB", 4 << 20), ("1 GiB", 1 << 30)] {
            assert_eq!(parse_byte_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "MiB", "4096", "4 MB", "4 kB", "4 mib", "-4 MiB", "0.5 GiB", "4 MiB "] {
            assert_eq!(parse_byte_size(text).unwrap_err().what, "is no size", "{text}");
        }
        assert_eq!(parse_byte_size("99999999999999999 GiB").unwrap_err().what, "is too much");
    }
}
