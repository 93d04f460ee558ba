//! JSON numbers compared by value, exactly and at any size, without ever writing their digits out.
//!
//! Rules: C1, H7.

use core::fmt::{self, Write};
use core::hash::Hasher;

/// The largest integer that every JSON reader keeps exactly: 2^53 − 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// A number as its significant digits and the power of ten of the first one.
struct JsonDecimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// The written exponent; `None` where it is beyond 64 bits.
    exponent: Option<i64>,
}

impl<'a> JsonDecimal<'a> {
    /// Reads `-?digits(.digits)?([eE][+-]?digits)?`; leading zeros are fine, as header values may have them.
    fn read(text: &'a [u8]) -> Option<Self> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(text)?;
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest)?,
            _ => (&[][..], rest),
        };
        let exponent = match rest {
            [] => Some(0),
            [b'e' | b'E', b'-', rest @ ..] => parse_exponent(rest)?.map(|power| -power),
            [b'e' | b'E', b'+', rest @ ..] | [b'e' | b'E', rest @ ..] => parse_exponent(rest)?,
            _ => return None,
        };
        Some(Self { negative, whole, fraction, exponent })
    }

    /// All digits from the first that is not zero to the last that is not.
    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        let all = self.whole.iter().chain(self.fraction).copied();
        let significant = self.fraction.iter().rposition(|digit| *digit != b'0').map_or_else(
            || self.whole.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1),
            |last| self.whole.len() + last + 1,
        );
        all.take(significant).skip_while(|digit| *digit == b'0')
    }

    fn is_zero(&self) -> bool {
        self.digits().next().is_none()
    }

    /// The power of ten of the first significant digit.
    fn leading_power(&self) -> Option<i64> {
        let written = i64::try_from(self.whole.len()).ok()?;
        let zeros = self.whole.iter().chain(self.fraction).take_while(|digit| **digit == b'0').count();
        let zeros = i64::try_from(zeros).ok()?;
        self.exponent?.checked_add(written)?.checked_sub(zeros)?.checked_sub(1)
    }

    fn same_value(&self, other: &Self) -> bool {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => true,
            (false, false) => {
                self.negative == other.negative
                    && matches!((self.leading_power(), other.leading_power()), (Some(one), Some(two)) if one == two)
                    && self.digits().eq(other.digits())
            }
            _ => false,
        }
    }
}

fn split_digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { None } else { text.split_at_checked(count) }
}

/// The outer `None` is a syntax error, the inner one a power beyond 64 bits.
fn parse_exponent(text: &[u8]) -> Option<Option<i64>> {
    let (digits, []) = split_digits(text)? else { return None };
    let step = |power: i64, digit: &u8| power.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
    Some(digits.iter().try_fold(0, step))
}

/// Whether two JSON numbers are one. Exponents beyond 64 bits are equal only where they are written alike.
pub(crate) fn numbers_equal(one: &str, other: &str) -> bool {
    let numbers = JsonDecimal::read(one.as_bytes()).zip(JsonDecimal::read(other.as_bytes()));
    one == other || numbers.is_some_and(|(one, other)| one.same_value(&other))
}

/// Feeds a JSON number to a hasher, so that numbers that are [`numbers_equal`] have one hash.
pub(crate) fn hash(text: &str, state: &mut impl Hasher) {
    match JsonDecimal::read(text.as_bytes()) {
        Some(number) if number.is_zero() => state.write_u8(b'0'),
        Some(number) => match number.leading_power() {
            Some(top) => {
                state.write_u8(if number.negative { b'-' } else { b'+' });
                state.write_i64(top);
                number.digits().for_each(|digit| state.write_u8(digit));
            }
            None => state.write(text.as_bytes()),
        },
        None => state.write(text.as_bytes()),
    }
}

/// Whether a number is an integer, and one that every JSON reader keeps exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IntegerClass {
    /// Within ±(2^53 − 1).
    Safe(i64),
    /// An integer beyond that.
    Unsafe,
    /// Has a fraction.
    Not,
}

/// Reads a JSON number's text as an integer; `42.0` and `4.2e1` are 42.
pub(crate) fn classify_integer(text: &str) -> IntegerClass {
    let Some(number) = JsonDecimal::read(text.as_bytes()) else {
        return IntegerClass::Not;
    };
    if number.is_zero() {
        return IntegerClass::Safe(0);
    }
    let Some(top) = number.leading_power() else {
        // An exponent beyond 64 bits: so large, or so small, that it has no other way to be written.
        return if text.contains("e-") || text.contains("E-") {
            IntegerClass::Not
        } else {
            IntegerClass::Unsafe
        };
    };
    let (mut value, mut place) = (0u64, top);
    for digit in number.digits() {
        if place < 0 {
            return IntegerClass::Not;
        }
        value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
        place -= 1;
    }
    for _ in 0..(place + 1).min(17) {
        value = value.saturating_mul(10);
    }
    match i64::try_from(value) {
        Ok(size) if value <= MAX_SAFE_INTEGER => {
            IntegerClass::Safe(if number.negative { -size } else { size })
        }
        _ => IntegerClass::Unsafe,
    }
}

/// Whether a header value says this number, where the schema asks for an integer.
///
/// Plain decimal compares by value. An exponent in the header is taken only in the body's own spelling or
/// in the shortest text of that float, as the common languages write it.
pub(crate) fn header_equals_number(header: &[u8], number: &str) -> bool {
    if header == number.as_bytes() {
        return true;
    }
    let (Some(said), Some(meant)) = (JsonDecimal::read(header), JsonDecimal::read(number.as_bytes())) else {
        return false;
    };
    said.same_value(&meant)
        && (!header.iter().any(|byte| matches!(byte, b'e' | b'E')) || is_shortest_float(header))
}

/// Whether a header value is a text that a client would write for this number: the body's own spelling, a
/// plain integer, or the shortest text of the float.
pub(crate) fn header_spells_number(header: &[u8], number: &str) -> bool {
    let plain_integer = match header {
        b"0" => true,
        [b'-', b'1'..=b'9', rest @ ..] | [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    header == number.as_bytes()
        || header_equals_number(header, number) && (plain_integer || is_shortest_float(header))
}

/// Whether a text with an exponent is the shortest text of the float it names: `1e16`, `1e+16`, `1e-07`.
fn is_shortest_float(text: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(text) else {
        return false;
    };
    let Ok(float) = text.parse::<f64>() else {
        return false;
    };
    let mut shortest = FloatTextBuffer { bytes: [0; 32], len: 0 };
    if write!(shortest, "{float:e}").is_err() {
        return false;
    }
    let written = shortest.bytes.get(..shortest.len).and_then(|bytes| core::str::from_utf8(bytes).ok());
    let (Some((said, said_power)), Some((mantissa, power))) =
        (text.split_once('e'), written.and_then(|written| written.split_once('e')))
    else {
        return false;
    };
    // At most a sign and three digits: `1e00000016` is nobody's way of writing it.
    said == mantissa && said_power.len() <= 4 && said_power.parse::<i16>() == power.parse()
}

struct FloatTextBuffer {
    bytes: [u8; 32],
    len: usize,
}

impl Write for FloatTextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let slot = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        slot.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_plain_decimals_by_value() {
        for (header, body) in [
            ("42", "42"),
            ("42", "42.0"),
            ("42.0", "42"),
            ("042", "42"),
            ("42", "4.2e1"),
            ("42", "420E-1"),
            ("-0", "0"),
            ("0", "-0.0"),
            ("0", "0e99999999999999999999"),
            ("-7", "-7.000"),
            ("9007199254740993", "9007199254740993"),
            ("9007199254740993.000", "9007199254740993"),
            ("123456789012345678901234567890", "12345678901234567890123456789e1"),
            ("0.50", "5e-1"),
            ("100", "1e2"),
            ("100", "1e+2"),
            ("10", "0.00001e6"),
        ] {
            assert!(header_equals_number(header.as_bytes(), body), "{header} {body}");
        }
    }

    #[test]
    fn tells_numbers_apart_that_floats_would_not() {
        for (header, body) in [
            ("9007199254740992", "9007199254740993"),
            ("42", "43"),
            ("42", "-42"),
            ("42.5", "42"),
            ("4", "42"),
            ("420", "42"),
            ("0.42", "42"),
            ("100", "1e3"),
            ("10", "1e18446744073709551617"),
            ("1", "1e-99999999999999999999"),
            ("0", "1e-99999999999999999999"),
        ] {
            assert!(!header_equals_number(header.as_bytes(), body), "{header} {body}");
        }
    }

    #[test]
    fn takes_an_exponent_only_in_a_known_spelling() {
        for (header, body, expected) in [
            ("1e16", "1e16", true),
            ("1e+16", "1e16", true),
            ("1e16", "10000000000000000", true),
            ("1e+16", "10000000000000000", true),
            ("1E16", "1E16", true),
            ("1e-07", "1e-7", true),
            ("1.5e300", "1.5e300", true),
            ("1.5e+300", "1.50e300", true),
            ("1E16", "1e16", false),
            ("10e15", "1e16", false),
            ("1.0e16", "1e16", false),
            ("1e016", "1e16", true),
            ("1e00000016", "1e16", false),
            ("1e2", "1e3", false),
            ("1e999", "1e1000", false),
            ("1e999", "1e999", true),
            ("1e22", "10000000000000000000001", false),
            ("9007199254740993e0", "9007199254740993", false),
        ] {
            assert_eq!(header_equals_number(header.as_bytes(), body), expected, "{header} {body}");
        }
    }

    #[test]
    fn refuses_what_is_no_plain_decimal() {
        for header in
            ["0x2a", "+42", "42.", ".42", "", "-", "4_2", "４２", "42 ", "NaN", "inf", "1e", "1e+", "42e"]
        {
            assert!(!header_equals_number(header.as_bytes(), "42"), "{header}");
        }
    }

    #[test]
    fn knows_which_integers_are_safe() {
        for (text, expected) in [
            ("0", IntegerClass::Safe(0)),
            ("-0", IntegerClass::Safe(0)),
            ("42", IntegerClass::Safe(42)),
            ("-42.00", IntegerClass::Safe(-42)),
            ("4.2e1", IntegerClass::Safe(42)),
            ("9007199254740991", IntegerClass::Safe(9_007_199_254_740_991)),
            ("-9007199254740991", IntegerClass::Safe(-9_007_199_254_740_991)),
            ("9007199254740992", IntegerClass::Unsafe),
            ("-9007199254740992", IntegerClass::Unsafe),
            ("9e15", IntegerClass::Safe(9_000_000_000_000_000)),
            ("1e16", IntegerClass::Unsafe),
            ("1e999999999999", IntegerClass::Unsafe),
            ("1e99999999999999999999", IntegerClass::Unsafe),
            ("0e99999999999999999999", IntegerClass::Safe(0)),
            ("18446744073709551617", IntegerClass::Unsafe),
            ("1.5", IntegerClass::Not),
            ("1e-1", IntegerClass::Not),
            ("1e-99999999999999999999", IntegerClass::Not),
            ("12345678901234567890.5", IntegerClass::Not),
        ] {
            assert_eq!(classify_integer(text), expected, "{text}");
        }
    }
}
