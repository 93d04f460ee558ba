//! Numbers to be formatted: decimal, exact, and bounded.
//!
//! 1. A number is what its text says, trailing zeros included: languages that tell `1` from `1.0` can.
//! 2. Neither side of the point has more than [`DecimalNumber::MAX_DIGITS`] digits, which holds every finite `f64`.
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
/// use mcp_attune::format::DecimalNumber;
///
/// assert_eq!(DecimalNumber::parse("0012.50").unwrap().to_string(), "12.50");
/// assert_eq!(DecimalNumber::try_from(0.1).unwrap().to_string(), "0.1");
/// assert_eq!(DecimalNumber::from(-7).to_string(), "-7");
/// assert!(DecimalNumber::parse("twelve").is_err());
/// assert!(DecimalNumber::try_from(f64::NAN).is_err());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct DecimalNumber(Decimal);

impl DecimalNumber {
    /// How many digits a number has at most before the point, and how many after it.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::{DecimalNumberError, DecimalNumber};
    ///
    /// assert!(DecimalNumber::try_from(f64::MAX).is_ok());
    /// assert_eq!(DecimalNumber::parse("1e400"), Err(DecimalNumberError::TooLong));
    /// ```
    pub const MAX_DIGITS: u16 = 400;

    /// Reads a number as JSON writes it; a leading `+` and zeros are fine too.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::{DecimalNumberError, DecimalNumber};
    ///
    /// assert_eq!(DecimalNumber::parse("-1.5e3").unwrap().to_string(), "-1500");
    /// assert_eq!(DecimalNumber::parse("1,5"), Err(DecimalNumberError::Syntax));
    /// ```
    pub fn parse(text: &str) -> Result<Self, DecimalNumberError> {
        if text.len() > 2 * usize::from(Self::MAX_DIGITS) + 8 {
            return Err(DecimalNumberError::TooLong);
        }
        Self::bounded(Decimal::try_from_str(text).map_err(|wrong| match wrong {
            fixed_decimal::ParseError::Limit => DecimalNumberError::TooLong,
            _ => DecimalNumberError::Syntax,
        })?)
    }

    fn bounded(decimal: Decimal) -> Result<Self, DecimalNumberError> {
        let decimal = Decimal::new(decimal.sign, decimal.absolute.trimmed_start());
        let places = decimal.absolute.magnitude_range();
        if places.start().unsigned_abs() > Self::MAX_DIGITS || places.end().unsigned_abs() >= Self::MAX_DIGITS
        {
            return Err(DecimalNumberError::TooLong);
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
    pub fn rounded(&self, digits: FractionDigits) -> Self {
        let mut decimal = self.0.clone();
        digits.apply(&mut decimal);
        Self(decimal)
    }

    /// A hundred times the number, with as many digits behind the point as asked for.
    #[must_use]
    pub fn hundredfold(&self, digits: FractionDigits) -> Self {
        let mut decimal = self.0.clone();
        decimal.absolute.multiply_pow10(2);
        decimal.absolute.trim_start();
        digits.apply(&mut decimal);
        Self(decimal)
    }
}

impl fmt::Display for DecimalNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<i64> for DecimalNumber {
    fn from(integer: i64) -> Self {
        Self(Decimal::from(integer))
    }
}

impl TryFrom<f64> for DecimalNumber {
    type Error = DecimalNumberError;

    fn try_from(float: f64) -> Result<Self, DecimalNumberError> {
        if !float.is_finite() {
            return Err(DecimalNumberError::NotFinite);
        }
        let decimal = Decimal::try_from_f64(float, FloatPrecision::RoundTrip)
            .map_err(|_| DecimalNumberError::TooLong)?;
        Self::bounded(decimal)
    }
}

impl core::str::FromStr for DecimalNumber {
    type Err = DecimalNumberError;

    fn from_str(text: &str) -> Result<Self, DecimalNumberError> {
        Self::parse(text)
    }
}

/// How many digits stand behind the point: none to three unless said otherwise, as CLDR has it.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::FractionDigits;
///
/// assert_eq!(FractionDigits::default(), FractionDigits::up_to(3));
/// assert_eq!(FractionDigits::exactly(2), FractionDigits::between(2, 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FractionDigits {
    least: u8,
    most: u8,
}

impl FractionDigits {
    /// How many digits can be asked for.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::FractionDigits;
    ///
    /// assert_eq!(FractionDigits::exactly(200), FractionDigits::exactly(FractionDigits::MAX_COUNT));
    /// ```
    pub const MAX_COUNT: u8 = 100;

    /// As many digits as the number has, and this many at most.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::FractionDigits;
    ///
    /// assert_eq!(FractionDigits::up_to(1), FractionDigits::between(0, 1));
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
    /// use mcp_attune::format::FractionDigits;
    ///
    /// assert_ne!(FractionDigits::exactly(1), FractionDigits::up_to(1));
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
    /// use mcp_attune::format::FractionDigits;
    ///
    /// assert_eq!(FractionDigits::between(3, 1), FractionDigits::exactly(3));
    /// ```
    #[must_use]
    pub const fn between(least: u8, most: u8) -> Self {
        let least = if least > Self::MAX_COUNT { Self::MAX_COUNT } else { least };
        let most = if most > Self::MAX_COUNT { Self::MAX_COUNT } else { most };
        Self { least, most: if most < least { least } else { most } }
    }

    fn apply(self, decimal: &mut Decimal) {
        decimal.round_with_mode(-i16::from(self.most), SignedRoundingMode::Unsigned(HalfExpand));
        decimal.absolute.trim_end();
        decimal.absolute.pad_end(-i16::from(self.least));
        decimal.apply_sign_display(SignDisplay::Negative);
    }
}

impl Default for FractionDigits {
    fn default() -> Self {
        Self::up_to(3)
    }
}

/// Why something is no number that can be formatted.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::{DecimalNumberError, DecimalNumber};
///
/// assert_eq!(DecimalNumber::parse(""), Err(DecimalNumberError::Syntax));
/// assert_eq!(DecimalNumber::try_from(f64::INFINITY), Err(DecimalNumberError::NotFinite));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DecimalNumberError {
    /// Not decimal digits with at most one point: `1,5`, `0x10`, the empty text.
    Syntax,
    /// More than [`DecimalNumber::MAX_DIGITS`] digits on one side of the point: `1e400`.
    TooLong,
    /// `NaN` or an infinity.
    NotFinite,
}

impl fmt::Display for DecimalNumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "not a decimal number; write digits and at most one point, such as -1234.5",
            Self::TooLong => "a number of too many digits; write at most 400 before and 400 after the point",
            Self::NotFinite => "not a finite number; leave out NaN and infinities",
        })
    }
}

impl core::error::Error for DecimalNumberError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, digits: FractionDigits, expected: &str) {
        assert_eq!(
            DecimalNumber::parse(text).unwrap().rounded(digits).to_string(),
            expected,
            "{text} {digits:?}"
        );
    }

    #[test]
    fn rounds_halves_away_from_zero() {
        check("0.5", FractionDigits::up_to(0), "1");
        check("2.5", FractionDigits::up_to(0), "3");
        check("-2.5", FractionDigits::up_to(0), "-3");
        check("1.005", FractionDigits::exactly(2), "1.01");
        check("999.9996", FractionDigits::default(), "1000");
    }

    #[test]
    fn zero_has_no_sign() {
        check("-0", FractionDigits::default(), "0");
        check("-0.4", FractionDigits::up_to(0), "0");
        check("-0.4", FractionDigits::exactly(1), "-0.4");
        assert_eq!(DecimalNumber::try_from(-0.0).unwrap().to_string(), "0");
    }

    #[test]
    fn pads_and_trims_behind_the_point() {
        check("1.50", FractionDigits::default(), "1.5");
        check("1", FractionDigits::exactly(2), "1.00");
        check("0012.3", FractionDigits::default(), "12.3");
        check("1200", FractionDigits::default(), "1200");
    }

    #[test]
    fn a_hundredfold_has_no_leading_zeros() {
        for (text, expected) in
            [("0.05", "5"), ("0.125", "13"), ("1", "100"), ("-0.001", "0"), ("12", "1200")]
        {
            let number = DecimalNumber::parse(text).unwrap();
            assert_eq!(number.hundredfold(FractionDigits::up_to(0)).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn keeps_within_its_bounds() {
        for float in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.1] {
            assert!(DecimalNumber::try_from(float).is_ok(), "{float}");
        }
        for text in ["1e400", "1e-401", "1e32767", "1e-32767", "1e99999999999"] {
            assert_eq!(DecimalNumber::parse(text), Err(DecimalNumberError::TooLong), "{text}");
        }
        assert!(DecimalNumber::parse("1e399").is_ok());
        assert!(DecimalNumber::parse("1e-400").is_ok());
        assert_eq!(DecimalNumber::parse(&"1".repeat(10_000)), Err(DecimalNumberError::TooLong));
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", "-", ".", "1,5", "1 000", "0x10", "NaN", "inf", "1.2.3", "--1", "١"] {
            assert_eq!(DecimalNumber::parse(text), Err(DecimalNumberError::Syntax), "{text}");
        }
    }
}
