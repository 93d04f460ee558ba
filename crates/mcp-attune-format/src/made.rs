//! What can be made for a locale: one formatter for each kind of value, which takes microseconds.

use std::sync::Arc;

use icu_calendar::Gregorian;
use icu_datetime::fieldsets::enums::{CompositeFieldSet, DateAndTimeFieldSet, DateFieldSet};
use icu_datetime::fieldsets::zone::{SpecificLong, SpecificShort};
use icu_datetime::fieldsets::{T, YMD, YMDE};
use icu_datetime::{FixedCalendarDateTimeFormatter, NoCalendarFormatter};
use icu_decimal::DecimalFormatter;
use icu_decimal::options::GroupingStrategy;
use icu_list::ListFormatter;
use icu_locale::Locale;
use icu_plurals::PluralRules;

use crate::experimental::{Measure, Money, Percent, Relative};
use mcp_attune::format::Currency;
use mcp_attune::format::Length;
use mcp_attune::format::{List, Step, Unit};

/// A kind of value, with everything that its formatter depends on but the locale.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Date(Length),
    Time(Length),
    DateTime(Length),
    Zoned(Length),
    DateTimeMinute(Length),
    ZonedMinute(Length),
    Number,
    Ungrouped,
    Percent,
    Money(Currency),
    Measure(Unit, Length),
    Relative { step: Step, length: Length, words: bool },
    List(List),
    Plural,
}

/// The formatter of a kind.
#[derive(Clone, Debug)]
pub(crate) enum Made {
    Date(Arc<FixedCalendarDateTimeFormatter<Gregorian, DateFieldSet>>),
    Time(Arc<NoCalendarFormatter<T>>),
    DateTime(Arc<FixedCalendarDateTimeFormatter<Gregorian, DateAndTimeFieldSet>>),
    Zoned(Arc<FixedCalendarDateTimeFormatter<Gregorian, CompositeFieldSet>>),
    Number(Arc<DecimalFormatter>),
    Percent(Arc<Percent>),
    Money(Arc<Money>),
    Measure(Arc<Measure>),
    Relative(Arc<Relative>),
    List(Arc<ListFormatter>),
    Plural(Arc<PluralRules>),
}

impl Made {
    /// None where the data are not there, which no known locale was seen to come to.
    pub(crate) fn new(locale: &Locale, kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Date(length) => Self::Date(Arc::new(date(locale, length)?)),
            Kind::Time(length) => {
                Self::Time(Arc::new(NoCalendarFormatter::try_new(locale.into(), clock(length)).ok()?))
            }
            Kind::DateTime(length) => Self::DateTime(Arc::new(date_time(locale, length)?)),
            Kind::Zoned(length) => Self::Zoned(Arc::new(zoned(locale, length)?)),
            Kind::DateTimeMinute(length) => Self::DateTime(Arc::new(date_time_minute(locale, length)?)),
            Kind::ZonedMinute(length) => Self::Zoned(Arc::new(zoned_minute(locale, length)?)),
            Kind::Number => {
                Self::Number(Arc::new(DecimalFormatter::try_new(locale.into(), Default::default()).ok()?))
            }
            Kind::Ungrouped => Self::Number(Arc::new(
                DecimalFormatter::try_new(locale.into(), GroupingStrategy::Never.into()).ok()?,
            )),
            Kind::Percent => Self::Percent(Arc::new(Percent::new(locale)?)),
            Kind::Money(currency) => Self::Money(Arc::new(Money::new(locale, currency)?)),
            Kind::Measure(unit, length) => Self::Measure(Arc::new(Measure::new(locale, unit, length)?)),
            Kind::Relative { step, length, words } => {
                Self::Relative(Arc::new(Relative::new(locale, step, length, words)?))
            }
            Kind::List(list) => Self::List(Arc::new(
                match list {
                    List::And => ListFormatter::try_new_and,
                    List::Or => ListFormatter::try_new_or,
                    List::Unit => ListFormatter::try_new_unit,
                    _ => return None,
                }(locale.into(), Default::default())
                .ok()?,
            )),
            Kind::Plural => Self::Plural(Arc::new(PluralRules::try_new_cardinal(locale.into()).ok()?)),
        })
    }
}

/// Minutes where it has to be short, else seconds.
fn clock(length: Length) -> T {
    match length {
        Length::Short => T::hm(),
        Length::Medium | Length::Long | Length::Full => T::hms(),
    }
}

// Each field set is named on its own and cast afterwards: a set chosen at run time would link the data of all of them.

fn date(locale: &Locale, length: Length) -> Option<FixedCalendarDateTimeFormatter<Gregorian, DateFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let day = |fields| F::<YMD>::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        Length::Short => day(YMD::short()),
        Length::Medium => day(YMD::medium()),
        Length::Long => day(YMD::long()),
        Length::Full => F::<YMDE>::try_new(locale.into(), YMDE::long()).ok().map(F::cast_into_fset),
    }
}

fn date_time(
    locale: &Locale,
    length: Length,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, DateAndTimeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let day = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        Length::Short => day(YMD::short().with_time_hm()),
        Length::Medium => day(YMD::medium().with_time_hms()),
        Length::Long => day(YMD::long().with_time_hms()),
        Length::Full => F::try_new(locale.into(), YMDE::long().with_time_hms()).ok().map(F::cast_into_fset),
    }
}

/// The same without seconds.
fn date_time_minute(
    locale: &Locale,
    length: Length,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, DateAndTimeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let day = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        Length::Short => day(YMD::short().with_time_hm()),
        Length::Medium => day(YMD::medium().with_time_hm()),
        Length::Long => day(YMD::long().with_time_hm()),
        Length::Full => F::try_new(locale.into(), YMDE::long().with_time_hm()).ok().map(F::cast_into_fset),
    }
}

/// The zone is abbreviated where the language has an abbreviation, else its offset, and written out where there is room.
fn zoned(
    locale: &Locale,
    length: Length,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, CompositeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let short = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        Length::Short => short(YMD::short().with_time_hm().with_zone(SpecificShort)),
        Length::Medium => short(YMD::medium().with_time_hms().with_zone(SpecificShort)),
        Length::Long => {
            let fields = YMD::long().with_time_hms().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
        Length::Full => {
            let fields = YMDE::long().with_time_hms().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
    }
}

/// The same without seconds.
fn zoned_minute(
    locale: &Locale,
    length: Length,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, CompositeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let short = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        Length::Short => short(YMD::short().with_time_hm().with_zone(SpecificShort)),
        Length::Medium => short(YMD::medium().with_time_hm().with_zone(SpecificShort)),
        Length::Long => {
            let fields = YMD::long().with_time_hm().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
        Length::Full => {
            let fields = YMDE::long().with_time_hm().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Known;
    use mcp_attune::language::Tag;

    fn kinds() -> Vec<Kind> {
        let mut kinds = vec![Kind::Number, Kind::Ungrouped, Kind::Percent, Kind::Plural];
        kinds.extend(["CHF", "EUR", "XQZ"].map(|code| Kind::Money(Currency::parse(code).unwrap())));
        kinds.extend(List::ALL.iter().map(|list| Kind::List(*list)));
        for length in [Length::Short, Length::Medium, Length::Long, Length::Full] {
            kinds.extend([Kind::Date, Kind::Time, Kind::DateTime, Kind::Zoned].map(|kind| kind(length)));
            kinds.extend([Kind::DateTimeMinute, Kind::ZonedMinute].map(|kind| kind(length)));
            let named = Unit::ALL.iter().filter(|unit| unit.symbol().is_none());
            kinds.extend(named.map(|unit| Kind::Measure(*unit, length)));
            for &step in Step::ALL {
                kinds.extend([true, false].map(|words| Kind::Relative { step, length, words }));
            }
        }
        kinds
    }

    #[test]
    fn every_kind_can_be_made_for_every_locale() {
        for text in [
            "en",
            "de-CH",
            "fr-CH",
            "it",
            "es-MX",
            "pt-PT",
            "ja",
            "zh-Hant",
            "ar-EG",
            "fa-IR",
            "th",
            "hi",
            "pl",
            "sv",
            "he",
            "am",
            "yue-HK",
            "de-ZZ",
            "en-u-hc-h99-nu-wxyz",
            "sr-Latn",
        ] {
            let known = Known::first([&Tag::parse(text).unwrap()]).unwrap();
            for kind in kinds() {
                assert!(Made::new(&known.locale, kind).is_some(), "{text} {kind:?}");
            }
        }
    }
}
