//! Currencies by their code.

use core::fmt;

/// A currency code of three letters by ISO 4217.
///
/// Whether anybody has such money is not checked: a code that CLDR does not know is shown as it is.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::Currency;
///
/// assert_eq!(Currency::parse("chf").unwrap().to_string(), "CHF");
/// assert!(Currency::parse("€").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Reads a code, in either case.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::{Currency, CurrencyError};
    ///
    /// assert_eq!(Currency::parse("EURO"), Err(CurrencyError));
    /// ```
    pub fn parse(code: &str) -> Result<Self, CurrencyError> {
        let code: [u8; 3] = code.as_bytes().try_into().map_err(|_| CurrencyError)?;
        if code.iter().all(u8::is_ascii_alphabetic) {
            Ok(Self(code.map(|letter| letter.to_ascii_uppercase())))
        } else {
            Err(CurrencyError)
        }
    }

    /// The three letters.
    #[must_use]
    pub fn bytes(self) -> [u8; 3] {
        self.0
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Currency({self})")
    }
}

impl core::str::FromStr for Currency {
    type Err = CurrencyError;

    fn from_str(code: &str) -> Result<Self, CurrencyError> {
        Self::parse(code)
    }
}

/// A text that is no currency code: `€`, `EURO`, `12A`.
///
/// Rules: C6.
///
/// ```
/// use mcp_attune::format::{Currency, CurrencyError};
///
/// assert!(CurrencyError.to_string().contains("CHF"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CurrencyError;

impl fmt::Display for CurrencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a currency code; write three letters by ISO 4217, such as CHF")
    }
}

impl core::error::Error for CurrencyError {}
