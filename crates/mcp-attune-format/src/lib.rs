//! Values as the readers of each locale write them: the formatting of [`mcp_attune::format`] over ICU4X and CLDR.
//!
//! 1. A value is formatted for the first of the asked locales whose language CLDR knows, else for the default of
//!    [`formatters`], else in English. Formatting never fails.
//! 2. Formatters take microseconds to make, so they are kept: by locale, kind and options, at most [`MAX_FORMATTERS`], and by
//!    nothing that tells one caller from another.
//! 3. What ICU4X has not settled yet (money, percentages, measures, relative times) is used in one module.
//!
//! It is a crate of its own because the data of all locales and the crates that read them are most of what formatting
//! costs to compile, and many programs need only the rules.
//!
//! Rules: C6, C8.
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
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

// What ICU4X has not settled yet, and the locale that is asked for,
mod experimental;
mod locale;

// what formats a value,
mod icu_formatter;

// and who keeps and uses that.
mod cache;

mod formatter;

use std::sync::Arc;

use mcp_attune::format::Formatters;
use mcp_attune::language::Tag;

/// How many formatters are kept: twenty for each of fifty locales, and some.
pub const MAX_FORMATTERS: u16 = cache::FormatterCache::CAPACITY;

/// Makes the formatters of a server. `default` is the locale that stands in where none of those asked for is known; where
/// CLDR does not know that one either, English does.
///
/// Rules: C6.
///
/// ```
/// use jiff::tz::TimeZone;
/// use mcp_attune::language::Tag;
/// use mcp_attune_format::formatters;
///
/// let [french, swedish, klingon] = ["fr", "sv", "tlh"].map(|tag| Tag::parse(tag).unwrap());
/// assert_eq!(formatters(&swedish).for_locales([&klingon, &french], TimeZone::UTC).locale(), "fr");
/// assert_eq!(formatters(&swedish).for_locales([&klingon], TimeZone::UTC).locale(), "sv");
/// assert_eq!(formatters(&klingon).for_locales([], TimeZone::UTC).locale(), "en");
/// ```
#[must_use]
pub fn formatters(default: &Tag) -> Formatters {
    Formatters::new(Arc::new(formatter::CldrBackend::new(default)))
}

/// The formatters of a server whose own language is not known: English stands in.
///
/// ```
/// use jiff::tz::TimeZone;
///
/// assert_eq!(mcp_attune_format::english().for_locales([], TimeZone::UTC).locale(), "en");
/// ```
#[must_use]
pub fn english() -> Formatters {
    Formatters::new(Arc::new(formatter::CldrBackend::english()))
}
