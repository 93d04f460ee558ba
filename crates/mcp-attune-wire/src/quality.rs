//! Weights of content negotiation: the `q` of RFC 9110 §12.4.2.
//!
//! 1. A weight is `0` or `1`, optionally followed by a dot and at most three digits.
//! 2. After a `1` those digits can only be zeros.
//! 3. `0.` and `1.` are legal; `.5`, `1.5`, `0.1234` and `+1` are not.
//!
//! Rules: L1.

use core::fmt;

/// A weight from 0 to 1 in steps of a thousandth, which is all that HTTP can say.
///
/// ```
/// use mcp_attune_wire::quality::Quality;
///
/// let half = Quality::parse("0.5").unwrap();
/// assert!(half < Quality::ONE);
/// assert_eq!(half.to_string(), "0.5");
/// assert_eq!(Quality::parse("0.500"), Some(half));
/// assert_eq!(Quality::parse(".5"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Quality(u16);

impl Quality {
    /// Not wanted at all: `q=0` excludes.
    pub const ZERO: Self = Self(0);
    /// Fully wanted: what a member without a weight has.
    pub const ONE: Self = Self(1000);

    /// Reads a weight as RFC 9110 writes it, or `None` where the grammar does not allow it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = match text.as_bytes() {
            [whole] | [whole, b'.'] => (whole, &[][..]),
            [whole, b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
            _ => return None,
        };
        let mut thousandths = 0;
        let mut unit = 100;
        for digit in fraction {
            if !digit.is_ascii_digit() {
                return None;
            }
            thousandths += u16::from(digit - b'0') * unit;
            unit /= 10;
        }
        match whole {
            b'0' => Some(Self(thousandths)),
            b'1' if thousandths == 0 => Some(Self::ONE),
            _ => None,
        }
    }

    /// The weight in thousandths, 0 to 1000.
    #[must_use]
    pub const fn thousandths(self) -> u16 {
        self.0
    }

    /// Whether this weight excludes instead of ranking.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Default for Quality {
    fn default() -> Self {
        Self::ONE
    }
}

/// Writes the shortest form that the grammar allows: `1`, `0.8`, `0.125`, `0`.
impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 1000, self.0 % 1000);
        if fraction == 0 {
            write!(f, "{whole}")
        } else if fraction % 100 == 0 {
            write!(f, "{whole}.{}", fraction / 100)
        } else if fraction % 10 == 0 {
            write!(f, "{whole}.{:02}", fraction / 10)
        } else {
            write!(f, "{whole}.{fraction:03}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_every_weight_that_the_grammar_allows() {
        for (text, thousandths) in [
            ("0", 0),
            ("0.", 0),
            ("0.0", 0),
            ("0.000", 0),
            ("0.001", 1),
            ("0.8", 800),
            ("0.80", 800),
            ("0.125", 125),
            ("0.999", 999),
            ("1", 1000),
            ("1.", 1000),
            ("1.0", 1000),
            ("1.000", 1000),
        ] {
            assert_eq!(Quality::parse(text).map(Quality::thousandths), Some(thousandths), "{text}");
        }
    }

    #[test]
    fn refuses_what_the_grammar_does_not_allow() {
        for text in [
            "", ".", ".5", "1.5", "1.001", "2", "00", "01", "0.1234", "1.0000", "+1", "-0", "0,5", "1e0",
            "NaN", " 1", "1 ", "0.5 ", "0.５",
        ] {
            assert_eq!(Quality::parse(text), None, "{text}");
        }
    }

    #[test]
    fn prints_what_it_reads() {
        for thousandths in 0..=1000 {
            let quality = Quality(thousandths);
            assert_eq!(Quality::parse(&quality.to_string()), Some(quality));
        }
    }
}
