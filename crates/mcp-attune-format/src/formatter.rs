//! The formatters of a server, made when first needed, and used for one locale and one zone.

use core::fmt;
use std::sync::{Arc, OnceLock};

use icu_calendar::{Date as IcuDate, Gregorian, Iso};
use icu_time::zone::UtcOffset;
use icu_time::{DateTime as IcuDateTime, Time as IcuTime, TimeZone as IcuZone, ZonedDateTime};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff_icu::{ConvertFrom as _, ConvertTryFrom as _};
use mcp_attune::format::{FormatBackend, FormatValue, Grouping, LocaleFormatter, Number, Plural, Precision};
use mcp_attune::language::Tag;

use crate::kept::Kept;
use crate::locale::Known;
use crate::made::{Kind, Made};

/// What CLDR knows of all locales, and the formatters that were made of it.
pub(crate) struct Cldr {
    kept: Arc<Kept>,
    default: Arc<Known>,
}

impl Cldr {
    pub(crate) fn new(default: &Tag) -> Self {
        Self::with(Known::first([default]).unwrap_or_else(Known::english))
    }

    pub(crate) fn english() -> Self {
        Self::with(Known::english())
    }

    fn with(default: Known) -> Self {
        Self { kept: Arc::new(Kept::new()), default: Arc::new(default) }
    }
}

impl FormatBackend for Cldr {
    fn formatter(&self, locales: &mut dyn Iterator<Item = &Tag>, zone: TimeZone) -> Arc<dyn LocaleFormatter> {
        let known = Known::first(locales).map_or_else(|| Arc::clone(&self.default), Arc::new);
        Arc::new(Formatter { kept: Arc::clone(&self.kept), known, zone, named: OnceLock::new() })
    }
}

impl fmt::Debug for Cldr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cldr({} of {}, {})", self.kept.len(), Kept::CAPACITY, self.default.name)
    }
}

/// What writes values for one locale and one zone.
#[derive(Clone)]
struct Formatter {
    kept: Arc<Kept>,
    known: Arc<Known>,
    zone: TimeZone,
    /// The zone as ICU names it, found when the first instant is shown.
    named: OnceLock<IcuZone>,
}

impl Formatter {
    fn made(&self, kind: Kind) -> Option<Made> {
        self.kept.get(&self.known, kind)
    }

    fn civil(&self, civil: DateTime, kind: Kind) -> Option<String> {
        let Made::DateTime(formatter) = self.made(kind)? else { return None };
        let time = IcuTime::convert_from(civil.time());
        Some(formatter.format(&IcuDateTime { date: gregorian(civil.date()), time }).to_string())
    }

    fn instant(&self, instant: Timestamp, kind: Kind) -> Option<String> {
        let Made::Zoned(formatter) = self.made(kind)? else { return None };
        let zoned = instant.to_zoned(self.zone.clone());
        let (date, time) = (gregorian(zoned.date()), IcuTime::convert_from(zoned.time()));
        let named = self.named.get_or_init(|| IcuZone::convert_from(&self.zone));
        let offset = UtcOffset::convert_try_from(zoned.offset()).ok();
        let zone = named.with_offset(offset).at_date_time(IcuDateTime { date, time });
        Some(formatter.format(&ZonedDateTime { date, time, zone }).to_string())
    }
}

impl LocaleFormatter for Formatter {
    fn locale(&self) -> &str {
        &self.known.name
    }

    fn zone(&self) -> &TimeZone {
        &self.zone
    }

    fn within(&self, zone: TimeZone) -> Arc<dyn LocaleFormatter> {
        Arc::new(Self { zone, named: OnceLock::new(), ..self.clone() })
    }

    fn write(&self, value: FormatValue<'_>) -> Option<String> {
        if let FormatValue::DateTime(civil, ..) = value {
            return self.civil(civil, kind(value));
        }
        if let FormatValue::Instant(instant, ..) = value {
            return self.instant(instant, kind(value));
        }
        Some(match (self.made(kind(value))?, value) {
            (Made::Date(formatter), FormatValue::Date(date, _)) => {
                formatter.format(&gregorian(date)).to_string()
            }
            (Made::Time(formatter), FormatValue::Time(time, _)) => {
                formatter.format(&IcuTime::convert_from(time)).to_string()
            }
            (Made::Number(formatter), FormatValue::Number(number, _)) => {
                formatter.format(number.decimal()).to_string()
            }
            (Made::Percent(formatter), FormatValue::Percent(hundredths)) => {
                formatter.write(hundredths.decimal())
            }
            (Made::Money(formatter), FormatValue::Money(amount, _)) => formatter.write(amount.decimal()),
            (Made::Measure(formatter), FormatValue::Measure(value, ..)) => formatter.write(value.decimal()),
            (Made::Relative(formatter), FormatValue::Relative { count, .. }) => formatter.write(count),
            (Made::List(formatter), FormatValue::List(items, _)) => {
                formatter.format(items.iter()).to_string()
            }
            _ => return None,
        })
    }

    fn plural(&self, number: &Number) -> Option<Plural> {
        let Made::Plural(rules) = self.made(Kind::Plural)? else { return None };
        Some(rules.category_for(number.decimal()).into())
    }
}

/// The kind of formatter that writes a value.
fn kind(value: FormatValue<'_>) -> Kind {
    match value {
        FormatValue::Date(_, length) => Kind::Date(length),
        FormatValue::Time(_, length) => Kind::Time(length),
        FormatValue::DateTime(_, length, Precision::Second) => Kind::DateTime(length),
        FormatValue::DateTime(_, length, Precision::Minute) => Kind::DateTimeMinute(length),
        FormatValue::Instant(_, length, Precision::Second) => Kind::Zoned(length),
        FormatValue::Instant(_, length, Precision::Minute) => Kind::ZonedMinute(length),
        FormatValue::Number(_, Grouping::Locale) => Kind::Number,
        FormatValue::Number(_, Grouping::Never) => Kind::Ungrouped,
        FormatValue::Percent(_) => Kind::Percent,
        FormatValue::Money(_, currency) => Kind::Money(currency),
        FormatValue::Measure(_, unit, length) => Kind::Measure(unit, length),
        FormatValue::Relative { step, length, words, .. } => Kind::Relative { step, length, words },
        FormatValue::List(_, list) => Kind::List(list),
    }
}

fn gregorian(date: Date) -> IcuDate<Gregorian> {
    IcuDate::<Iso>::convert_from(date).to_calendar(Gregorian)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune::format::{Currency, Format, Formatters, List};

    fn tag(text: &str) -> Tag {
        Tag::parse(text).unwrap()
    }

    fn english() -> (Arc<Kept>, Formatters) {
        let cldr = Cldr::new(&tag("en"));
        (Arc::clone(&cldr.kept), Formatters::new(Arc::new(cldr)))
    }

    #[test]
    fn keeps_a_formatter_for_the_next_caller() {
        let (kept, formatters) = english();
        for _ in 0..3 {
            let format = formatters.format([&tag("de-CH")], TimeZone::UTC);
            assert_eq!(format.list(&["a", "b"], List::And), "a und b");
        }
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn keeps_no_more_than_it_has_room_for() {
        let (kept, formatters) = english();
        let format = formatters.format([], TimeZone::UTC);
        let one = Number::from(1);
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
        check::<Format>();
    }
}
