//! Values as their reader writes them: dates, times, numbers, percentages, money, measures, relative times, lists.
//!
//! 1. A value is formatted for the locale of the caller's context; without one for the negotiated language; without
//!    both for the server's default. A locale that CLDR does not know is passed over, so formatting never fails.
//! 2. The patterns, names and symbols are those of CLDR, for the locale or what it inherits from, spaces included: French
//!    groups digits with U+202F and many patterns have U+00A0, so that numbers don't break over lines. Whoever
//!    compares texts should mind them.
//! 3. The numbering system and the hour cycle are the locale's, or those of its extensions `-u-nu-` and `-u-hc-`. The
//!    calendar is the Gregorian one for everybody, also where another is usual (`fa`, `th`): the same day should read as
//!    the same year in the text and in the data beside it.
//! 4. No marks for isolation or direction are put around values, because machines read the text too. Where CLDR's own
//!    patterns have such marks, as in Arabic and Persian, they stay.
//! 5. What comes from outside is read into [`DecimalNumber`], [`Currency`] and the like first, and refused there; a value that
//!    was read can be formatted. Should data be missing all the same, a plain form is used: ISO 8601 for dates, digits
//!    with a point for numbers, the code or the English name for units and money.
//!
//! 6. The data of locales are not in this crate: a [`FormatBackend`] has them, and the crate `mcp-attune-format` is one over
//!    ICU4X and CLDR. Without one the plain forms are used, and plural forms are right all the same.
//!
//! Formatters take microseconds to make, so they are kept: [`Formatters`] belongs to the server, [`ValueFormatter`] to one call.
//!
//! Rules: C6.
//!
//! ```
//! use jiff::tz::TimeZone;
//! use mcp_attune::format::{Currency, FormatLength, DecimalNumber, RelativeTimeUnit};
//! use mcp_attune::language::Tag;
//!
//! let formatters = mcp_attune_format::formatters(&Tag::parse("en").unwrap());
//! let format = formatters.for_locales([&Tag::parse("fr").unwrap()], TimeZone::UTC);
//! assert_eq!(format.relative(-1, RelativeTimeUnit::Day, FormatLength::Long), "hier");
//! let price = DecimalNumber::parse("1234.5").unwrap();
//! assert_eq!(format.currency(&price, Currency::parse("CHF").unwrap()), "1\u{202f}234,50\u{a0}CHF");
//! ```

// What can be asked for,
mod currency;
mod length;
mod number;
mod unit;

// what has the data for it,
mod value;

mod plain;

// and who uses that.
mod handle;

mod formatters;

pub use currency::{Currency, CurrencyError};
pub use formatters::Formatters;
pub use handle::ValueFormatter;
pub use length::FormatLength;
pub use number::{DecimalNumber, DecimalNumberError, FractionDigits};
pub use unit::{ListStyle, MeasureUnit, PluralForm, RelativeTimeUnit};
pub use value::{DigitGrouping, FormatBackend, FormatValue, LocaleFormatter, TimePrecision};
