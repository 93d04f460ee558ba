//! What a formatter is asked to write, and the seam to whatever has the data of locales.

use core::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use super::currency::Currency;
use super::length::FormatLength;
use super::number::DecimalNumber;
use super::unit::{ListStyle, MeasureUnit, PluralForm, RelativeTimeUnit};
use crate::language::Tag;

/// Makes formatters for locales. The crate `mcp-attune-format` has one over ICU4X and CLDR.
pub trait FormatBackend: Send + Sync + fmt::Debug {
    /// The formatter of the first of these locales that is known, else of a default one.
    fn formatter(&self, locales: &mut dyn Iterator<Item = &Tag>, zone: TimeZone) -> Arc<dyn LocaleFormatter>;
}

/// Writes values for one locale, and instants in one time zone.
pub trait LocaleFormatter: Send + Sync {
    /// The locale, by its canonical name.
    fn locale(&self) -> &str;

    /// The zone in which instants are shown.
    fn zone(&self) -> &TimeZone;

    /// The same formatter for another zone.
    fn with_zone(&self, zone: TimeZone) -> Arc<dyn LocaleFormatter>;

    /// Writes a value; `None` where there are no data for it, and a plain form is used instead.
    fn write(&self, value: FormatValue<'_>) -> Option<String>;

    /// The plural form that goes with a number as it is written; `None` where there are no data for it.
    fn plural(&self, number: &DecimalNumber) -> Option<PluralForm>;
}

/// A value to write, with everything that its form depends on but the locale and the zone.
#[derive(Clone, Copy, Debug)]
pub enum FormatValue<'a> {
    /// A day.
    Date(Date, FormatLength),
    /// A time of day.
    Time(Time, FormatLength),
    /// A day and a time of it, in no zone.
    DateTime(DateTime, FormatLength, TimePrecision),
    /// An instant, shown in the zone with its name.
    Instant(Timestamp, FormatLength, TimePrecision),
    /// A number, its digits grouped or not.
    Number(&'a DecimalNumber, DigitGrouping),
    /// A number of hundredths.
    Percent(&'a DecimalNumber),
    /// An amount of money.
    Money(&'a DecimalNumber, Currency),
    /// A measure.
    Measure(&'a DecimalNumber, MeasureUnit, FormatLength),
    /// A number of steps from now.
    Relative {
        /// How many; negative ones are past.
        count: i64,
        /// Of what.
        step: RelativeTimeUnit,
        /// How long the text may be.
        length: FormatLength,
        /// Whether words such as `yesterday` are used where the language has them.
        words: bool,
    },
    /// Items as one phrase.
    List(&'a [&'a str], ListStyle),
}

/// How exactly a time is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TimePrecision {
    /// With seconds, but for the short form.
    Second,
    /// Without seconds.
    Minute,
}

/// Whether the digits of a number are grouped: `1,234` or `1234`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DigitGrouping {
    /// As the locale does it.
    Locale,
    /// Never: for years, ports and the like.
    Never,
}
