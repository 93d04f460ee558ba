//! Values as one caller reads them.

use std::sync::Arc;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::currency::Currency;
use super::length::Length;
use super::number::{Digits, Number};
use super::unit::{List, Plural, Step, Unit};
use super::value::{FormatValue, Grouping, LocaleFormatter, Precision};

/// Formats for one locale and one time zone; made by [`Formatters::format`](super::Formatters::format).
///
/// Rules: C6.
///
/// ```
/// use jiff::tz::TimeZone;
/// use mcp_attune::format::{Digits, Number};
/// use mcp_attune::language::Tag;
///
/// let formatters = mcp_attune_format::formatters(&Tag::parse("en").unwrap());
/// let format = formatters.format([&Tag::parse("de-CH").unwrap()], TimeZone::UTC);
/// let number = Number::parse("1234567.891").unwrap();
/// assert_eq!(format.number(&number, Digits::default()), "1'234'567.891");
/// ```
#[derive(Clone)]
pub struct Format(Arc<dyn LocaleFormatter>);

impl Format {
    pub(super) fn new(formatter: Arc<dyn LocaleFormatter>) -> Self {
        Self(formatter)
    }

    /// The locale that is formatted for: the canonical form of the one that was known.
    #[must_use]
    pub fn locale(&self) -> &str {
        self.0.locale()
    }

    /// The zone in which instants are shown.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        self.0.zone()
    }

    /// The same for another zone.
    ///
    /// ```
    /// use jiff::tz::TimeZone;
    ///
    /// let format = mcp_attune_format::formatters(&mcp_attune::language::Tag::parse("en").unwrap()).format([], TimeZone::UTC);
    /// let zone = TimeZone::get("Asia/Tokyo").unwrap();
    /// assert_eq!(format.within(zone).zone().iana_name(), Some("Asia/Tokyo"));
    /// ```
    #[must_use]
    pub fn within(&self, zone: TimeZone) -> Self {
        Self(self.0.within(zone))
    }

    /// A day: `Sep 10, 2024`.
    #[must_use]
    pub fn date(&self, date: Date, length: Length) -> String {
        self.0.write(FormatValue::Date(date, length)).unwrap_or_else(|| date.to_string())
    }

    /// A time of day: `11:37 PM` when short, else `11:37:20 PM`.
    #[must_use]
    pub fn time(&self, time: Time, length: Length) -> String {
        self.0.write(FormatValue::Time(time, length)).unwrap_or_else(|| time.to_string())
    }

    /// A day and a time of it, in no zone: `Sep 10, 2024, 11:37:20 PM`.
    #[must_use]
    pub fn date_time(&self, civil: DateTime, length: Length) -> String {
        self.civil(civil, length, Precision::Second)
    }

    /// The same to the minute: `Sep 10, 2024, 11:37 PM`.
    #[must_use]
    pub fn date_time_to_the_minute(&self, civil: DateTime, length: Length) -> String {
        self.civil(civil, length, Precision::Minute)
    }

    fn civil(&self, civil: DateTime, length: Length, precision: Precision) -> String {
        let written = self.0.write(FormatValue::DateTime(civil, length, precision));
        written.unwrap_or_else(|| civil.to_string())
    }

    /// An instant in the caller's zone, with the zone's name: `Sep 10, 2024, 11:37:20 PM EDT`.
    ///
    /// ```
    /// use jiff::{Timestamp, tz::TimeZone};
    /// use mcp_attune::format::Length;
    /// use mcp_attune::language::Tag;
    ///
    /// let zone = TimeZone::get("Europe/Zurich").unwrap();
    /// let format = mcp_attune_format::formatters(&Tag::parse("de-CH").unwrap()).format([], zone);
    /// let instant: Timestamp = "2024-09-10T21:37:20Z".parse().unwrap();
    /// assert_eq!(format.zoned(instant, Length::Short), "10.09.24, 23:37 MESZ");
    /// ```
    #[must_use]
    pub fn zoned(&self, instant: Timestamp, length: Length) -> String {
        self.instant(instant, length, Precision::Second)
    }

    /// The same to the minute: `Sep 10, 2024, 11:37 PM EDT`.
    ///
    /// ```
    /// use jiff::{Timestamp, tz::TimeZone};
    /// use mcp_attune::format::Length;
    /// use mcp_attune::language::Tag;
    ///
    /// let zone = TimeZone::get("Europe/Zurich").unwrap();
    /// let format = mcp_attune_format::formatters(&Tag::parse("de-CH").unwrap()).format([], zone);
    /// let instant: Timestamp = "2024-09-10T21:37:00Z".parse().unwrap();
    /// assert_eq!(format.zoned_to_the_minute(instant, Length::Medium), "10.09.2024, 23:37 MESZ");
    /// ```
    #[must_use]
    pub fn zoned_to_the_minute(&self, instant: Timestamp, length: Length) -> String {
        self.instant(instant, length, Precision::Minute)
    }

    fn instant(&self, instant: Timestamp, length: Length, precision: Precision) -> String {
        let written = self.0.write(FormatValue::Instant(instant, length, precision));
        written.unwrap_or_else(|| instant.to_zoned(self.zone().clone()).to_string())
    }

    /// A number: `1,234,567.891`.
    #[must_use]
    pub fn number(&self, number: &Number, digits: Digits) -> String {
        self.decimal(number, digits, Grouping::Locale)
    }

    /// A number that is not counted, such as a year or a port: `2026`.
    #[must_use]
    pub fn ungrouped(&self, number: &Number, digits: Digits) -> String {
        self.decimal(number, digits, Grouping::Never)
    }

    fn decimal(&self, number: &Number, digits: Digits, grouping: Grouping) -> String {
        let rounded = number.rounded(digits);
        self.0.write(FormatValue::Number(&rounded, grouping)).unwrap_or_else(|| rounded.to_string())
    }

    /// A ratio in hundredths: 0.125 is `13%`, or `12.5%` with up to one digit.
    #[must_use]
    pub fn percent(&self, ratio: &Number, digits: Digits) -> String {
        let hundredths = ratio.hundredfold(digits);
        self.0.write(FormatValue::Percent(&hundredths)).unwrap_or_else(|| format!("{hundredths}%"))
    }

    /// An amount of money, with as many digits as the currency has: `$1,234.50`, `¥1,235`.
    #[must_use]
    pub fn currency(&self, amount: &Number, currency: Currency) -> String {
        let written = self.0.write(FormatValue::Money(amount, currency));
        written.unwrap_or_else(|| format!("{currency}\u{a0}{amount}"))
    }

    /// A measure: `5 km`, or `5 kilometers` when long.
    #[must_use]
    pub fn unit(&self, value: &Number, unit: Unit, length: Length) -> String {
        let plain = |name: &str| format!("{}\u{a0}{name}", self.number(value, Digits::default()));
        if let Some(symbol) = unit.symbol() {
            return plain(symbol);
        }
        let rounded = value.rounded(Digits::default());
        self.0.write(FormatValue::Measure(&rounded, unit, length)).unwrap_or_else(|| plain(unit.as_str()))
    }

    /// So many steps from now, by the calendar and in words where the language has them: `yesterday`, `in 3 days`.
    #[must_use]
    pub fn relative(&self, count: i64, step: Step, length: Length) -> String {
        self.steps(count, step, length, true)
    }

    /// How far an instant is from now, in the largest step that fits and to the nearest of it: `in 3 hours`, `1 day ago`.
    ///
    /// A duration knows no calendar: thirty hours from now may be tomorrow or the day after. So days and longer
    /// are numbered, never named; months and years are average ones.
    #[must_use]
    pub fn distance(&self, distance: SignedDuration, length: Length) -> String {
        let (count, step) = steps(distance.as_secs());
        self.steps(count, step, length, count == 0)
    }

    fn steps(&self, count: i64, step: Step, length: Length, words: bool) -> String {
        let written = self.0.write(FormatValue::Relative { count, step, length, words });
        written.unwrap_or_else(|| format!("{count:+} {}", step.as_str()))
    }

    /// The items as one phrase: `a, b, and c`. They stand in it as they are, without marks that isolate them.
    #[must_use]
    pub fn list(&self, items: &[&str], list: List) -> String {
        self.0.write(FormatValue::List(items, list)).unwrap_or_else(|| items.join(", "))
    }

    /// Which plural form goes with a number, as it is written: in English `1` is one and `1.0` is not.
    #[must_use]
    pub fn plural(&self, number: &Number) -> Plural {
        self.0.plural(number).unwrap_or(Plural::Other)
    }
}

impl core::fmt::Debug for Format {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Format({}, {})", self.locale(), self.zone().iana_name().unwrap_or("offset"))
    }
}

/// The largest step of which there is at least one once the smaller ones are rounded: 59 and a half minutes are an hour.
fn steps(seconds: i64) -> (i64, Step) {
    /// Of 365.2425 days.
    const YEAR: i64 = 31_556_952;
    const LARGER: [(i64, Step); 6] = [
        (60, Step::Minute),
        (3_600, Step::Hour),
        (86_400, Step::Day),
        (7 * 86_400, Step::Week),
        (YEAR / 12, Step::Month),
        (YEAR, Step::Year),
    ];
    let (mut count, mut step, mut size) = (seconds, Step::Second, 1);
    for (length, larger) in LARGER {
        if count.saturating_mul(size).saturating_abs() < length {
            break;
        }
        let half = if seconds < 0 { -length / 2 } else { length / 2 };
        (count, step, size) = (seconds.saturating_add(half) / length, larger, length);
    }
    (count, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_told_in_the_largest_step_that_fits() {
        for (seconds, expected) in [
            (0, (0, Step::Second)),
            (59, (59, Step::Second)),
            (60, (1, Step::Minute)),
            (-89, (-1, Step::Minute)),
            (-90, (-2, Step::Minute)),
            (3_569, (59, Step::Minute)),
            (3_570, (1, Step::Hour)),
            (30 * 3_600, (1, Step::Day)),
            (86_400 * 13, (2, Step::Week)),
            (86_400 * 30, (4, Step::Week)),
            (86_400 * 32, (1, Step::Month)),
            (-86_400 * 365, (-1, Step::Year)),
            (i64::MAX, (292_277_024_626, Step::Year)),
            (i64::MIN, (-292_277_024_626, Step::Year)),
        ] {
            assert_eq!(steps(seconds), expected, "{seconds}");
        }
    }
}
