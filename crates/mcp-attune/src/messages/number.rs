//! Numbers in the text of a server, as programs write them.

use crate::format::{DecimalNumber, FractionDigits};

/// A number with the way it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenNumber {
    pub(super) number: DecimalNumber,
    /// How many digits stood behind the point.
    pub(super) digits: FractionDigits,
    /// Whether the digits before it stood in groups.
    pub(super) grouped: bool,
}

/// Reads `42`, `-3.50` and `1,234,567.8`. A leading zero (`007`), a `+` or an exponent is no number here: it is more
/// likely a code, and carried over as it is.
pub(super) fn read(text: &str) -> Option<WrittenNumber> {
    const MAX_NUMBER_BYTES: usize = 60;
    let bare = text.strip_prefix('-').unwrap_or(text);
    let first = bare.bytes().next()?;
    if !first.is_ascii_digit() || text.len() > MAX_NUMBER_BYTES {
        return None;
    }
    let (whole, fraction) = match bare.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (bare, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.is_some_and(|fraction| !digits(fraction)) || (first == b'0' && whole.len() > 1) {
        return None;
    }
    let mut groups = whole.split(',');
    let head = groups.next().filter(|head| digits(head))?;
    let grouped = whole.len() > head.len();
    if grouped && (head.len() > 3 || !groups.all(|group| group.len() == 3 && digits(group))) {
        return None;
    }
    let number =
        if grouped { DecimalNumber::parse(&text.replace(',', "")) } else { DecimalNumber::parse(text) };
    let digits = fraction.map_or(0, str::len).try_into().ok()?;
    Some(WrittenNumber { number: number.ok()?, digits: FractionDigits::exactly(digits), grouped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_as_programs_write_them() {
        for (text, number, digits, grouped) in [
            ("0", "0", 0, false),
            ("42", "42", 0, false),
            ("-3.50", "-3.50", 2, false),
            ("0.5", "0.5", 1, false),
            ("2026", "2026", 0, false),
            ("1,234", "1234", 0, true),
            ("12,345,678.9", "12345678.9", 1, true),
        ] {
            let written = read(text).unwrap();
            assert_eq!(
                (written.number.to_string().as_str(), written.digits, written.grouped),
                (number, FractionDigits::exactly(digits), grouped)
            );
        }
    }

    #[test]
    fn takes_nothing_else_for_a_number() {
        for text in [
            "", "-", "+5", "007", "1.", ".5", "1e3", "1,23", "1,2345", "1234,567", "1.2.3", "1.234,5", "12%",
            " 1", "0x1", "١", "--1", "1,", ",1", "1,,234",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"1".repeat(61)), None);
    }
}
