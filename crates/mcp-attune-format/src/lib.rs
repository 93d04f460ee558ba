//! Dates, numbers, money and the like as the readers of each locale write them: an implementation of the seam
//! [`mcp_attune::format`] on top of ICU4X and the data of CLDR.
//!
//! A host (the layer, the gateway, a server of rmcp) makes one [`Formatters`] when it starts and shares it
//! among all requests. For each caller it asks for a formatter of that caller's locales and time zone, which is
//! cheap, and writes values with it; locale files and templates do the same.
//!
//! 1. A value is formatted for the first of the requested locales whose language CLDR knows, else for the
//!    default of [`formatters`], else in English. Formatting never fails: a value that ICU4X has no data for is
//!    written in the plain form of [`mcp_attune::format`].
//! 2. An ICU formatter takes microseconds to construct, so constructed ones are kept by locale, kind and
//!    options, at most [`MAX_FORMATTERS`] of them. No part of the key tells one caller from another.
//! 3. What ICU4X still calls experimental (money, percentages, measures, relative times) is used in one private
//!    module.
//!
//! It is a crate of its own because the data of all locales, and the crates that read them, are most of what
//! formatting costs to compile, and many programs need only the rules.
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

/// Maximum number of constructed ICU formatters that one [`Formatters`] keeps: room for twenty kinds in each of
/// fifty locales.
///
/// At the limit, the cache evicts formatters that are rarely used and constructs them again when they are
/// needed. A caller who asks for ever new locales can therefore cost time, but neither memory nor correctness.
pub const MAX_FORMATTERS: u16 = cache::FormatterCache::CAPACITY;

/// Makes the formatters of a server whose own language is `default`.
///
/// `default` is the locale that is used when CLDR knows none of the locales that a caller asks for. If CLDR
/// does not know `default` either, English is used. Each call makes a cache of its own, so a host should call
/// this once and share the result: it is cheap to clone and can be used from all threads.
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

/// Makes the formatters of a server whose own language is unknown: English is used for callers whose locales
/// CLDR does not know.
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
