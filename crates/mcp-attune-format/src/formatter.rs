//! The backend behind [`Formatters`](mcp_attune::format::Formatters): `CldrBackend` is what a server has,
//! `CldrFormatter` what one caller gets of it, for one locale and one time zone.

use core::fmt;
use std::sync::{Arc, OnceLock};

use icu_calendar::{Date as IcuDate, Gregorian, Iso};
use icu_time::zone::models::AtTime;
use icu_time::zone::{TimeZoneInfo, UtcOffset};
use icu_time::{DateTime as IcuDateTime, Time as IcuTime, TimeZone as IcuZone, ZonedDateTime};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff_icu::{ConvertFrom as _, ConvertTryFrom as _};
use mcp_attune::format::{
    DecimalNumber, DigitGrouping, FormatBackend, FormatValue, LocaleFormatter, PluralForm, TimePrecision,
};
use mcp_attune::language::Tag;
use writeable::Writeable;

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
        let (kept, named, found) = (Arc::clone(&self.kept), OnceLock::new(), Default::default());
        Arc::new(CldrFormatter { kept, known, zone, named, found })
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
    /// The first formatters that were fetched from the cache: a page has many values of few kinds.
    found: [OnceLock<(FormatterKind, IcuFormatter)>; FOUND_FORMATTERS],
}

/// How many formatters one caller's formatter holds beside the cache.
const FOUND_FORMATTERS: usize = 4;
/// Memory for a formatted value in bytes, enough for most. ICU does not tell how long a text will be.
const VALUE_CAPACITY: usize = 40;

impl CldrFormatter {
    /// Calls `write` with the ICU formatter of a kind for this locale: one that was found before, else from the
    /// cache. Returns `None` if there are no data for it.
    fn with_formatter<T>(
        &self,
        kind: FormatterKind,
        write: impl FnOnce(&IcuFormatter) -> Option<T>,
    ) -> Option<T> {
        for slot in &self.found {
            match slot.get() {
                Some((found, formatter)) if *found == kind => return write(formatter),
                Some(_) => {}
                None => {
                    let formatter = self.kept.get(&self.known, kind)?;
                    // Another thread may have been faster, with whatever kind.
                    let _ = slot.set((kind, formatter.clone()));
                    return write(&formatter);
                }
            }
        }
        write(&self.kept.get(&self.known, kind)?)
    }

    /// Converts an instant to what the wall clock in this formatter's zone shows, with the zone. The offset of
    /// that very instant is used, so that summer and winter time are told apart.
    fn zoned(&self, instant: Timestamp) -> ZonedDateTime<Gregorian, TimeZoneInfo<AtTime>> {
        let offset = self.zone.to_offset(instant);
        let civil = offset.to_datetime(instant);
        let (date, time) = (gregorian(civil.date()), IcuTime::convert_from(civil.time()));
        let named = self.named.get_or_init(|| IcuZone::convert_from(&self.zone));
        let offset = UtcOffset::convert_try_from(offset).ok();
        let zone = named.with_offset(offset).at_date_time(IcuDateTime { date, time });
        ZonedDateTime { date, time, zone }
    }
}

/// Writes a formatted value into memory that is mostly enough.
fn written(value: &impl Writeable) -> String {
    let mut out = String::with_capacity(VALUE_CAPACITY);
    // Writing to a string does not fail.
    let _ = value.write_to(&mut out);
    out
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
        self.with_formatter(kind_of(value), |formatter| {
            Some(match (formatter, value) {
                (IcuFormatter::Date(formatter), FormatValue::Date(date, _)) => {
                    written(&formatter.format(&gregorian(date)))
                }
                (IcuFormatter::Time(formatter), FormatValue::Time(time, _)) => {
                    written(&formatter.format(&IcuTime::convert_from(time)))
                }
                (IcuFormatter::DateTime(formatter), FormatValue::DateTime(civil, ..)) => {
                    let (date, time) = (gregorian(civil.date()), IcuTime::convert_from(civil.time()));
                    written(&formatter.format(&IcuDateTime { date, time }))
                }
                (IcuFormatter::Zoned(formatter), FormatValue::Instant(instant, ..)) => {
                    written(&formatter.format(&self.zoned(instant)))
                }
                (IcuFormatter::Number(formatter), FormatValue::Number(number, _)) => {
                    written(&formatter.format(number.decimal()))
                }
                (IcuFormatter::Percent(formatter), FormatValue::Percent(hundredths)) => {
                    formatter.write(hundredths.decimal())
                }
                (IcuFormatter::Money(formatter), FormatValue::Money(amount, _)) => {
                    written(&formatter.format(amount.decimal()))
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
        })
    }

    fn plural(&self, number: &DecimalNumber) -> Option<PluralForm> {
        self.with_formatter(FormatterKind::Plural, |formatter| match formatter {
            IcuFormatter::Plural(rules) => Some(rules.category_for(number.decimal()).into()),
            _ => None,
        })
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
