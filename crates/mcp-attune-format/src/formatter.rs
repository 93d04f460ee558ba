//! The backend behind [`Formatters`](mcp_attune::format::Formatters): `CldrBackend` is what a server has,
//! `CldrFormatter` what one caller gets of it, for one locale and one time zone.

use core::fmt;
use std::sync::{Arc, OnceLock};

use icu_calendar::{Date as IcuDate, Gregorian, Iso};
use icu_time::zone::UtcOffset;
use icu_time::{DateTime as IcuDateTime, Time as IcuTime, TimeZone as IcuZone, ZonedDateTime};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff_icu::{ConvertFrom as _, ConvertTryFrom as _};
use mcp_attune::format::{
    DecimalNumber, DigitGrouping, FormatBackend, FormatValue, LocaleFormatter, PluralForm, TimePrecision,
};
use mcp_attune::language::Tag;

use crate::cache::FormatterCache;
use crate::icu_formatter::{FormatterKind, IcuFormatter};
use crate::locale::KnownLocale;

/// The formatting of one server: a cache of ICU formatters, and the locale that is used when a caller asks for
/// none that CLDR knows.
pub(crate) struct CldrBackend {
    kept: Arc<FormatterCache>,
    /// Used when CLDR knows none of the locales that are asked for.
    default: Arc<KnownLocale>,
}

impl CldrBackend {
    /// Makes a backend with this default locale, or with English if CLDR does not know the default.
    pub(crate) fn new(default: &Tag) -> Self {
        Self::with(KnownLocale::first_known([default]).unwrap_or_else(KnownLocale::english))
    }

    /// Makes a backend with English as its default locale.
    pub(crate) fn english() -> Self {
        Self::with(KnownLocale::english())
    }

    fn with(default: KnownLocale) -> Self {
        Self { kept: Arc::new(FormatterCache::new()), default: Arc::new(default) }
    }
}

impl FormatBackend for CldrBackend {
    fn formatter(&self, locales: &mut dyn Iterator<Item = &Tag>, zone: TimeZone) -> Arc<dyn LocaleFormatter> {
        let known = KnownLocale::first_known(locales).map_or_else(|| Arc::clone(&self.default), Arc::new);
        Arc::new(CldrFormatter { kept: Arc::clone(&self.kept), known, zone, named: OnceLock::new() })
    }
}

impl fmt::Debug for CldrBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cldr({} of {}, {})", self.kept.len(), FormatterCache::CAPACITY, self.default.name)
    }
}

/// Writes values for one locale and one time zone.
///
/// Making one costs a few allocations and no look at the data of locales: the ICU formatters are fetched from
/// the shared cache when the first value of their kind is written.
#[derive(Clone)]
struct CldrFormatter {
    kept: Arc<FormatterCache>,
    known: Arc<KnownLocale>,
    /// The zone that instants are shown in. Civil dates and times are written as they are.
    zone: TimeZone,
    /// The zone by ICU's identifier, which is looked up when the first instant is shown. It is a separate cell
    /// so that callers who are shown no instant do not pay for the lookup.
    named: OnceLock<IcuZone>,
}

impl CldrFormatter {
    /// Returns the ICU formatter of a kind for this locale, from the cache if it is there.
    fn formatter_for(&self, kind: FormatterKind) -> Option<IcuFormatter> {
        self.kept.get(&self.known, kind)
    }

    /// Writes a date with its time of day that belongs to no zone. Returns `None` if there are no data.
    fn format_civil(&self, civil: DateTime, kind: FormatterKind) -> Option<String> {
        let IcuFormatter::DateTime(formatter) = self.formatter_for(kind)? else { return None };
        let time = IcuTime::convert_from(civil.time());
        Some(formatter.format(&IcuDateTime { date: gregorian(civil.date()), time }).to_string())
    }

    /// Writes an instant as the wall clock in this formatter's zone shows it, followed by the name or the
    /// offset of the zone. The offset of that very instant is used, so that summer and winter time are told
    /// apart. Returns `None` if there are no data.
    fn format_instant(&self, instant: Timestamp, kind: FormatterKind) -> Option<String> {
        let IcuFormatter::Zoned(formatter) = self.formatter_for(kind)? else { return None };
        let zoned = instant.to_zoned(self.zone.clone());
        let (date, time) = (gregorian(zoned.date()), IcuTime::convert_from(zoned.time()));
        let named = self.named.get_or_init(|| IcuZone::convert_from(&self.zone));
        let offset = UtcOffset::convert_try_from(zoned.offset()).ok();
        let zone = named.with_offset(offset).at_date_time(IcuDateTime { date, time });
        Some(formatter.format(&ZonedDateTime { date, time, zone }).to_string())
    }
}

impl LocaleFormatter for CldrFormatter {
    fn locale(&self) -> &str {
        &self.known.name
    }

    fn zone(&self) -> &TimeZone {
        &self.zone
    }

    fn with_zone(&self, zone: TimeZone) -> Arc<dyn LocaleFormatter> {
        Arc::new(Self { zone, named: OnceLock::new(), ..self.clone() })
    }

    fn write(&self, value: FormatValue<'_>) -> Option<String> {
        if let FormatValue::DateTime(civil, ..) = value {
            return self.format_civil(civil, kind_of(value));
        }
        if let FormatValue::Instant(instant, ..) = value {
            return self.format_instant(instant, kind_of(value));
        }
        Some(match (self.formatter_for(kind_of(value))?, value) {
            (IcuFormatter::Date(formatter), FormatValue::Date(date, _)) => {
                formatter.format(&gregorian(date)).to_string()
            }
            (IcuFormatter::Time(formatter), FormatValue::Time(time, _)) => {
                formatter.format(&IcuTime::convert_from(time)).to_string()
            }
            (IcuFormatter::Number(formatter), FormatValue::Number(number, _)) => {
                formatter.format(number.decimal()).to_string()
            }
            (IcuFormatter::Percent(formatter), FormatValue::Percent(hundredths)) => {
                formatter.write(hundredths.decimal())
            }
            (IcuFormatter::Money(formatter), FormatValue::Money(amount, _)) => {
                formatter.write(amount.decimal())
            }
            (IcuFormatter::Measure(formatter), FormatValue::Measure(value, ..)) => {
                formatter.write(value.decimal())
            }
            (IcuFormatter::Relative(formatter), FormatValue::Relative { count, .. }) => {
                formatter.write(count)
            }
            (IcuFormatter::List(formatter), FormatValue::List(items, _)) => {
                formatter.format(items.iter()).to_string()
            }
            _ => return None,
        })
    }

    fn plural(&self, number: &DecimalNumber) -> Option<PluralForm> {
        let IcuFormatter::Plural(rules) = self.formatter_for(FormatterKind::Plural)? else { return None };
        Some(rules.category_for(number.decimal()).into())
    }
}

/// Returns the kind of ICU formatter that writes a value: everything about the value that is part of the cache
/// key.
fn kind_of(value: FormatValue<'_>) -> FormatterKind {
    match value {
        FormatValue::Date(_, length) => FormatterKind::Date(length),
        FormatValue::Time(_, length) => FormatterKind::Time(length),
        FormatValue::DateTime(_, length, TimePrecision::Second) => FormatterKind::DateTime(length),
        FormatValue::DateTime(_, length, TimePrecision::Minute) => FormatterKind::DateTimeMinute(length),
        FormatValue::Instant(_, length, TimePrecision::Second) => FormatterKind::Zoned(length),
        FormatValue::Instant(_, length, TimePrecision::Minute) => FormatterKind::ZonedMinute(length),
        FormatValue::Number(_, DigitGrouping::Locale) => FormatterKind::Number,
        FormatValue::Number(_, DigitGrouping::Never) => FormatterKind::Ungrouped,
        FormatValue::Percent(_) => FormatterKind::Percent,
        FormatValue::Money(_, currency) => FormatterKind::Money(currency),
        FormatValue::Measure(_, unit, length) => FormatterKind::Measure(unit, length),
        FormatValue::Relative { step, length, words, .. } => FormatterKind::Relative { step, length, words },
        FormatValue::List(_, list) => FormatterKind::List(list),
    }
}

/// Converts a civil date to the Gregorian calendar, the only one that values are shown in.
fn gregorian(date: Date) -> IcuDate<Gregorian> {
    IcuDate::<Iso>::convert_from(date).to_calendar(Gregorian)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune::format::{Currency, Formatters, ListStyle, ValueFormatter};

    fn tag(text: &str) -> Tag {
        Tag::parse(text).unwrap()
    }

    fn english() -> (Arc<FormatterCache>, Formatters) {
        let cldr = CldrBackend::new(&tag("en"));
        (Arc::clone(&cldr.kept), Formatters::new(Arc::new(cldr)))
    }

    #[test]
    fn keeps_a_formatter_for_the_next_caller() {
        let (kept, formatters) = english();
        for _ in 0..3 {
            let format = formatters.for_locales([&tag("de-CH")], TimeZone::UTC);
            assert_eq!(format.list(&["a", "b"], ListStyle::And), "a und b");
        }
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn keeps_no_more_than_it_has_room_for() {
        let (kept, formatters) = english();
        let format = formatters.for_locales([], TimeZone::UTC);
        let one = DecimalNumber::from(1);
        for number in 0..3000_u16 {
            let letter = |place: u16| char::from(b'A' + u8::try_from(number / place % 26).unwrap());
            let code: String = [letter(676), letter(26), letter(1)].iter().collect();
            assert!(format.currency(&one, Currency::parse(&code).unwrap()).contains('1'));
        }
        assert!((500..=usize::from(crate::MAX_FORMATTERS)).contains(&kept.len()), "{}", kept.len());
    }

    #[test]
    fn is_shared_by_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Formatters>();
        check::<ValueFormatter>();
    }
}
