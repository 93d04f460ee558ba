//! Values as one caller reads them.

use std::sync::Arc;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::currency::Currency;
use super::length::FormatLength;
use super::number::{DecimalNumber, FractionDigits};
use super::unit::{ListStyle, MeasureUnit, PluralForm, RelativeTimeUnit};
use super::value::{DigitGrouping, FormatValue, LocaleFormatter, TimePrecision};

/// Formats for one locale and one time zone; made by [`Formatters::format`](super::Formatters::for_locales).
///
/// Rules: C6.
///
/// ```
/// use jiff::tz::TimeZone;
/// use mcp_attune::format::{FractionDigits, DecimalNumber};
/// use mcp_attune::language::Tag;
///
/// let formatters = mcp_attune_format::formatters(&Tag::parse("en").unwrap());
/// let format = formatters.for_locales([&Tag::parse("de-CH").unwrap()], TimeZone::UTC);
/// let number = DecimalNumber::parse("1234567.891").unwrap();
/// assert_eq!(format.number(&number, FractionDigits::default()), "1'234'567.891");
/// ```
#[derive(Clone)]
pub struct ValueFormatter(Arc<dyn LocaleFormatter>);

impl ValueFormatter {
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
    /// let format = mcp_attune_format::formatters(&mcp_attune::language::Tag::parse("en").unwrap()).for_locales([], TimeZone::UTC);
    /// let zone = TimeZone::get("Asia/Tokyo").unwrap();
    /// assert_eq!(format.in_zone(zone).zone().iana_name(), Some("Asia/Tokyo"));
    /// ```
    #[must_use]
    pub fn in_zone(&self, zone: TimeZone) -> Self {
        Self(self.0.with_zone(zone))
    }

    /// A day: `Sep 10, 2024`.
    #[must_use]
    pub fn date(&self, date: Date, length: FormatLength) -> String {
        self.0.write(FormatValue::Date(date, length)).unwrap_or_else(|| date.to_string())
    }

    /// A time of day: `11:37 PM` when short, else `11:37:20 PM`.
    #[must_use]
    pub fn time(&self, time: Time, length: FormatLength) -> String {
        self.0.write(FormatValue::Time(time, length)).unwrap_or_else(|| time.to_string())
    }

    /// A day and a time of it, in no zone: `Sep 10, 2024, 11:37:20 PM`.
    #[must_use]
    pub fn date_time(&self, civil: DateTime, length: FormatLength) -> String {
        self.civil(civil, length, TimePrecision::Second)
    }

    /// The same to the minute: `Sep 10, 2024, 11:37 PM`.
    #[must_use]
    pub fn date_time_to_the_minute(&self, civil: DateTime, length: FormatLength) -> String {
        self.civil(civil, length, TimePrecision::Minute)
    }

    fn civil(&self, civil: DateTime, length: FormatLength, precision: TimePrecision) -> String {
        let written = self.0.write(FormatValue::DateTime(civil, length, precision));
        written.unwrap_or_else(|| civil.to_string())
    }

    /// An instant in the caller's zone, with the zone's name: `Sep 10, 2024, 11:37:20 PM EDT`.
    ///
    /// ```
    /// use jiff::{Timestamp, tz::TimeZone};
    /// use mcp_attune::format::FormatLength;
    /// use mcp_attune::language::Tag;
    ///
    /// let zone = TimeZone::get("Europe/Zurich").unwrap();
    /// let format = mcp_attune_format::formatters(&Tag::parse("de-CH").unwrap()).for_locales([], zone);
    /// let instant: Timestamp = "2024-09-10T21:37:20Z".parse().unwrap();
    /// assert_eq!(format.zoned(instant, FormatLength::Short), "10.09.24, 23:37 MESZ");
    /// ```
    #[must_use]
    pub fn zoned(&self, instant: Timestamp, length: FormatLength) -> String {
        self.instant(instant, length, TimePrecision::Second)
    }

    /// The same to the minute: `Sep 10, 2024, 11:37 PM EDT`.
    ///
    /// ```
    /// use jiff::{Timestamp, tz::TimeZone};
    /// use mcp_attune::format::FormatLength;
    /// use mcp_attune::language::Tag;
    ///
    /// let zone = TimeZone::get("Europe/Zurich").unwrap();
    /// let format = mcp_attune_format::formatters(&Tag::parse("de-CH").unwrap()).for_locales([], zone);
    /// let instant: Timestamp = "2024-09-10T21:37:00Z".parse().unwrap();
    /// assert_eq!(format.zoned_to_the_minute(instant, FormatLength::Medium), "10.09.2024, 23:37 MESZ");
    /// ```
    #[must_use]
    pub fn zoned_to_the_minute(&self, instant: Timestamp, length: FormatLength) -> String {
        self.instant(instant, length, TimePrecision::Minute)
    }

    fn instant(&self, instant: Timestamp, length: FormatLength, precision: TimePrecision) -> String {
        let written = self.0.write(FormatValue::Instant(instant, length, precision));
        written.unwrap_or_else(|| instant.to_zoned(self.zone().clone()).to_string())
    }

    /// A number: `1,234,567.891`.
    #[must_use]
    pub fn number(&self, number: &DecimalNumber, digits: FractionDigits) -> String {
        self.decimal(number, digits, DigitGrouping::Locale)
    }

    /// A number that is not counted, such as a year or a port: `2026`.
    #[must_use]
    pub fn ungrouped(&self, number: &DecimalNumber, digits: FractionDigits) -> String {
        self.decimal(number, digits, DigitGrouping::Never)
    }

    fn decimal(&self, number: &DecimalNumber, digits: FractionDigits, grouping: DigitGrouping) -> String {
        let rounded = number.rounded(digits);
        self.0.write(FormatValue::Number(&rounded, grouping)).unwrap_or_else(|| rounded.to_string())
    }

    /// A ratio in hundredths: 0.125 is `13%`, or `12.5%` with up to one digit.
    #[must_use]
    pub fn percent(&self, ratio: &DecimalNumber, digits: FractionDigits) -> String {
        let hundredths = ratio.hundredfold(digits);
        self.0.write(FormatValue::Percent(&hundredths)).unwrap_or_else(|| format!("{hundredths}%"))
    }

    /// An amount of money, with as many digits as the currency has: `$1,234.50`, `¥1,235`.
    #[must_use]
    pub fn currency(&self, amount: &DecimalNumber, currency: Currency) -> String {
        let written = self.0.write(FormatValue::Money(amount, currency));
        written.unwrap_or_else(|| format!("{currency}\u{a0}{amount}"))
    }

    /// A measure: `5 km`, or `5 kilometers` when long.
    #[must_use]
    pub fn unit(&self, value: &DecimalNumber, unit: MeasureUnit, length: FormatLength) -> String {
        let plain = |name: &str| format!("{}\u{a0}{name}", self.number(value, FractionDigits::default()));
        if let Some(symbol) = unit.symbol() {
            return plain(symbol);
        }
        let rounded = value.rounded(FractionDigits::default());
        self.0.write(FormatValue::Measure(&rounded, unit, length)).unwrap_or_else(|| plain(unit.as_str()))
    }

    /// So many steps from now, by the calendar and in words where the language has them: `yesterday`, `in 3 days`.
    #[must_use]
    pub fn relative(&self, count: i64, step: RelativeTimeUnit, length: FormatLength) -> String {
        self.steps(count, step, length, true)
    }

    /// How far an instant is from now, in the largest step that fits and to the nearest of it: `in 3 hours`, `1 day ago`.
    ///
    /// A duration knows no calendar: thirty hours from now may be tomorrow or the day after. So days and longer
    /// are numbered, never named; months and years are average ones.
    #[must_use]
    pub fn distance(&self, distance: SignedDuration, length: FormatLength) -> String {
        let (count, step) = steps(distance.as_secs());
        self.steps(count, step, length, count == 0)
    }

    fn steps(&self, count: i64, step: RelativeTimeUnit, length: FormatLength, words: bool) -> String {
        let written = self.0.write(FormatValue::Relative { count, step, length, words });
        written.unwrap_or_else(|| format!("{count:+} {}", step.as_str()))
    }

    /// The items as one phrase: `a, b, and c`. They stand in it as they are, without marks that isolate them.
    #[must_use]
    pub fn list(&self, items: &[&str], list: ListStyle) -> String {
        self.0.write(FormatValue::List(items, list)).unwrap_or_else(|| items.join(", "))
    }

    /// Which plural form goes with a number, as it is written: in English `1` is one and `1.0` is not.
    #[must_use]
    pub fn plural(&self, number: &DecimalNumber) -> PluralForm {
        self.0.plural(number).unwrap_or(PluralForm::Other)
    }
}

impl core::fmt::Debug for ValueFormatter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Format({}, {})", self.locale(), self.zone().iana_name().unwrap_or("offset"))
    }
}

/// The largest step of which there is at least one once the smaller ones are rounded: 59 and a half minutes are an hour.
fn steps(seconds: i64) -> (i64, RelativeTimeUnit) {
    /// Of 365.2425 days.
    const YEAR: i64 = 31_556_952;
    const LARGER: [(i64, RelativeTimeUnit); 6] = [
        (60, RelativeTimeUnit::Minute),
        (3_600, RelativeTimeUnit::Hour),
        (86_400, RelativeTimeUnit::Day),
        (7 * 86_400, RelativeTimeUnit::Week),
        (YEAR / 12, RelativeTimeUnit::Month),
        (YEAR, RelativeTimeUnit::Year),
    ];
    let (mut count, mut step, mut size) = (seconds, RelativeTimeUnit::Second, 1);
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
            (0, (0, RelativeTimeUnit::Second)),
            (59, (59, RelativeTimeUnit::Second)),
            (60, (1, RelativeTimeUnit::Minute)),
            (-89, (-1, RelativeTimeUnit::Minute)),
            (-90, (-2, RelativeTimeUnit::Minute)),
            (3_569, (59, RelativeTimeUnit::Minute)),
            (3_570, (1, RelativeTimeUnit::Hour)),
            (30 * 3_600, (1, RelativeTimeUnit::Day)),
            (86_400 * 13, (2, RelativeTimeUnit::Week)),
            (86_400 * 30, (4, RelativeTimeUnit::Week)),
            (86_400 * 32, (1, RelativeTimeUnit::Month)),
            (-86_400 * 365, (-1, RelativeTimeUnit::Year)),
            (i64::MAX, (292_277_024_626, RelativeTimeUnit::Year)),
            (i64::MIN, (-292_277_024_626, RelativeTimeUnit::Year)),
        ] {
            assert_eq!(steps(seconds), expected, "{seconds}");
        }
    }
}
