//! Numbers to be formatted: decimal, exact, and bounded.
//!
//! 1. A number is what its text says, trailing zeros included: languages that tell `1` from `1.0` can.
//! 2. Neither side of the point has more than [`Number::MAX_DIGITS`] digits, which holds every finite `f64`.
//! 3. Halves are rounded away from zero, as people round; zero has no sign.
//!
//! Rules: C6.

use core::fmt;

use fixed_decimal::{
    Decimal, FloatPrecision, SignDisplay, SignedRoundingMode, UnsignedRoundingMode::HalfExpand,
};

/// A decimal number: read from text, or made from an integer or a finite float.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::Number;
///
/// assert_eq!(Number::parse("0012.50").unwrap().to_string(), "12.50");
/// assert_eq!(Number::try_from(0.1).unwrap().to_string(), "0.1");
/// assert_eq!(Number::from(-7).to_string(), "-7");
/// assert!(Number::parse("twelve").is_err());
/// assert!(Number::try_from(f64::NAN).is_err());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Number(Decimal);

impl Number {
    /// How many digits a number has at most before the point, and how many after it.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::{NotANumber, Number};
    ///
    /// assert!(Number::try_from(f64::MAX).is_ok());
    /// assert_eq!(Number::parse("1e400"), Err(NotANumber::TooLong));
    /// ```
    pub const MAX_DIGITS: u16 = 400;

    /// Reads a number as JSON writes it; a leading `+` and zeros are fine too.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::{NotANumber, Number};
    ///
    /// assert_eq!(Number::parse("-1.5e3").unwrap().to_string(), "-1500");
    /// assert_eq!(Number::parse("1,5"), Err(NotANumber::Syntax));
    /// ```
    pub fn parse(text: &str) -> Result<Self, NotANumber> {
        if text.len() > 2 * usize::from(Self::MAX_DIGITS) + 8 {
            return Err(NotANumber::TooLong);
        }
        Self::bounded(Decimal::try_from_str(text).map_err(|wrong| match wrong {
            fixed_decimal::ParseError::Limit => NotANumber::TooLong,
            _ => NotANumber::Syntax,
        })?)
    }

    fn bounded(decimal: Decimal) -> Result<Self, NotANumber> {
        let decimal = Decimal::new(decimal.sign, decimal.absolute.trimmed_start());
        let places = decimal.absolute.magnitude_range();
        if places.start().unsigned_abs() > Self::MAX_DIGITS || places.end().unsigned_abs() >= Self::MAX_DIGITS
        {
            return Err(NotANumber::TooLong);
        }
        Ok(Self(decimal.with_sign_display(SignDisplay::Negative)))
    }

    /// The number as ICU4X takes it.
    #[must_use]
    pub fn decimal(&self) -> &Decimal {
        &self.0
    }

    /// The number with as many digits behind the point as asked for.
    #[must_use]
    pub fn rounded(&self, digits: Digits) -> Self {
        let mut decimal = self.0.clone();
        digits.apply(&mut decimal);
        Self(decimal)
    }

    /// A hundred times the number, with as many digits behind the point as asked for.
    #[must_use]
    pub fn hundredfold(&self, digits: Digits) -> Self {
        let mut decimal = self.0.clone();
        decimal.absolute.multiply_pow10(2);
        decimal.absolute.trim_start();
        digits.apply(&mut decimal);
        Self(decimal)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self(Decimal::from(integer))
    }
}

impl TryFrom<f64> for Number {
    type Error = NotANumber;

    fn try_from(float: f64) -> Result<Self, NotANumber> {
        if !float.is_finite() {
            return Err(NotANumber::NotFinite);
        }
        let decimal =
            Decimal::try_from_f64(float, FloatPrecision::RoundTrip).map_err(|_| NotANumber::TooLong)?;
        Self::bounded(decimal)
    }
}

impl core::str::FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        Self::parse(text)
    }
}

/// How many digits stand behind the point: none to three unless said otherwise, as CLDR has it.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::Digits;
///
/// assert_eq!(Digits::default(), Digits::up_to(3));
/// assert_eq!(Digits::exactly(2), Digits::between(2, 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digits {
    least: u8,
    most: u8,
}

impl Digits {
    /// How many digits can be asked for.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::Digits;
    ///
    /// assert_eq!(Digits::exactly(200), Digits::exactly(Digits::MAX));
    /// ```
    pub const MAX: u8 = 100;

    /// As many digits as the number has, and this many at most.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::Digits;
    ///
    /// assert_eq!(Digits::up_to(1), Digits::between(0, 1));
    /// ```
    #[must_use]
    pub const fn up_to(most: u8) -> Self {
        Self::between(0, most)
    }

    /// This many digits, zeros included.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::Digits;
    ///
    /// assert_ne!(Digits::exactly(1), Digits::up_to(1));
    /// ```
    #[must_use]
    pub const fn exactly(digits: u8) -> Self {
        Self::between(digits, digits)
    }

    /// At least and at most so many; of two that contradict each other, the first stands.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::Digits;
    ///
    /// assert_eq!(Digits::between(3, 1), Digits::exactly(3));
    /// ```
    #[must_use]
    pub const fn between(least: u8, most: u8) -> Self {
        let least = if least > Self::MAX { Self::MAX } else { least };
        let most = if most > Self::MAX { Self::MAX } else { most };
        Self { least, most: if most < least { least } else { most } }
    }

    fn apply(self, decimal: &mut Decimal) {
        decimal.round_with_mode(-i16::from(self.most), SignedRoundingMode::Unsigned(HalfExpand));
        decimal.absolute.trim_end();
        decimal.absolute.pad_end(-i16::from(self.least));
        decimal.apply_sign_display(SignDisplay::Negative);
    }
}

impl Default for Digits {
    fn default() -> Self {
        Self::up_to(3)
    }
}

/// Why something is no number that can be formatted.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::{NotANumber, Number};
///
/// assert_eq!(Number::parse(""), Err(NotANumber::Syntax));
/// assert_eq!(Number::try_from(f64::INFINITY), Err(NotANumber::NotFinite));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NotANumber {
    /// Not decimal digits with at most one point: `1,5`, `0x10`, the empty text.
    Syntax,
    /// More than [`Number::MAX_DIGITS`] digits on one side of the point: `1e400`.
    TooLong,
    /// `NaN` or an infinity.
    NotFinite,
}

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "not a decimal number; write digits and at most one point, such as -1234.5",
            Self::TooLong => "a number of too many digits; write at most 400 before and 400 after the point",
            Self::NotFinite => "not a finite number; leave out NaN and infinities",
        })
    }
}

impl core::error::Error for NotANumber {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, digits: Digits, expected: &str) {
        assert_eq!(Number::parse(text).unwrap().rounded(digits).to_string(), expected, "{text} {digits:?}");
    }

    #[test]
    fn rounds_halves_away_from_zero() {
        check("0.5", Digits::up_to(0), "1");
        check("2.5", Digits::up_to(0), "3");
        check("-2.5", Digits::up_to(0), "-3");
        check("1.005", Digits::exactly(2), "1.01");
        check("999.9996", Digits::default(), "1000");
    }

    #[test]
    fn zero_has_no_sign() {
        check("-0", Digits::default(), "0");
        check("-0.4", Digits::up_to(0), "0");
        check("-0.4", Digits::exactly(1), "-0.4");
        assert_eq!(Number::try_from(-0.0).unwrap().to_string(), "0");
    }

    #[test]
    fn pads_and_trims_behind_the_point() {
        check("1.50", Digits::default(), "1.5");
        check("1", Digits::exactly(2), "1.00");
        check("0012.3", Digits::default(), "12.3");
        check("1200", Digits::default(), "1200");
    }

    #[test]
    fn a_hundredfold_has_no_leading_zeros() {
        for (text, expected) in
            [("0.05", "5"), ("0.125", "13"), ("1", "100"), ("-0.001", "0"), ("12", "1200")]
        {
            let number = Number::parse(text).unwrap();
            assert_eq!(number.hundredfold(Digits::up_to(0)).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn keeps_within_its_bounds() {
        for float in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.1] {
            assert!(Number::try_from(float).is_ok(), "{float}");
        }
        for text in ["1e400", "1e-401", "1e32767", "1e-32767", "1e99999999999"] {
            assert_eq!(Number::parse(text), Err(NotANumber::TooLong), "{text}");
        }
        assert!(Number::parse("1e399").is_ok());
        assert!(Number::parse("1e-400").is_ok());
        assert_eq!(Number::parse(&"1".repeat(10_000)), Err(NotANumber::TooLong));
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", "-", ".", "1,5", "1 000", "0x10", "NaN", "inf", "1.2.3", "--1", "١"] {
            assert_eq!(Number::parse(text), Err(NotANumber::Syntax), "{text}");
        }
    }
}
