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

use crate::experimental::{MeasureWriter, MoneyWriter, PercentWriter, RelativeTimeWriter};
use mcp_attune::format::Currency;
use mcp_attune::format::FormatLength;
use mcp_attune::format::{ListStyle, MeasureUnit, RelativeTimeUnit};

/// A kind of value, with everything that its formatter depends on but the locale.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FormatterKind {
    Date(FormatLength),
    Time(FormatLength),
    DateTime(FormatLength),
    Zoned(FormatLength),
    DateTimeMinute(FormatLength),
    ZonedMinute(FormatLength),
    Number,
    Ungrouped,
    Percent,
    Money(Currency),
    Measure(MeasureUnit, FormatLength),
    Relative { step: RelativeTimeUnit, length: FormatLength, words: bool },
    List(ListStyle),
    Plural,
}

/// The formatter of a kind.
#[derive(Clone, Debug)]
pub(crate) enum IcuFormatter {
    Date(Arc<FixedCalendarDateTimeFormatter<Gregorian, DateFieldSet>>),
    Time(Arc<NoCalendarFormatter<T>>),
    DateTime(Arc<FixedCalendarDateTimeFormatter<Gregorian, DateAndTimeFieldSet>>),
    Zoned(Arc<FixedCalendarDateTimeFormatter<Gregorian, CompositeFieldSet>>),
    Number(Arc<DecimalFormatter>),
    Percent(Arc<PercentWriter>),
    Money(Arc<MoneyWriter>),
    Measure(Arc<MeasureWriter>),
    Relative(Arc<RelativeTimeWriter>),
    List(Arc<ListFormatter>),
    Plural(Arc<PluralRules>),
}

impl IcuFormatter {
    /// None where the data are not there, which no known locale was seen to come to.
    pub(crate) fn new(locale: &Locale, kind: FormatterKind) -> Option<Self> {
        Some(match kind {
            FormatterKind::Date(length) => Self::Date(Arc::new(date(locale, length)?)),
            FormatterKind::Time(length) => {
                Self::Time(Arc::new(NoCalendarFormatter::try_new(locale.into(), clock(length)).ok()?))
            }
            FormatterKind::DateTime(length) => Self::DateTime(Arc::new(date_time(locale, length)?)),
            FormatterKind::Zoned(length) => Self::Zoned(Arc::new(zoned(locale, length)?)),
            FormatterKind::DateTimeMinute(length) => {
                Self::DateTime(Arc::new(date_time_minute(locale, length)?))
            }
            FormatterKind::ZonedMinute(length) => Self::Zoned(Arc::new(zoned_minute(locale, length)?)),
            FormatterKind::Number => {
                Self::Number(Arc::new(DecimalFormatter::try_new(locale.into(), Default::default()).ok()?))
            }
            FormatterKind::Ungrouped => Self::Number(Arc::new(
                DecimalFormatter::try_new(locale.into(), GroupingStrategy::Never.into()).ok()?,
            )),
            FormatterKind::Percent => Self::Percent(Arc::new(PercentWriter::new(locale)?)),
            FormatterKind::Money(currency) => Self::Money(Arc::new(MoneyWriter::new(locale, currency)?)),
            FormatterKind::Measure(unit, length) => {
                Self::Measure(Arc::new(MeasureWriter::new(locale, unit, length)?))
            }
            FormatterKind::Relative { step, length, words } => {
                Self::Relative(Arc::new(RelativeTimeWriter::new(locale, step, length, words)?))
            }
            FormatterKind::List(list) => Self::List(Arc::new(
                match list {
                    ListStyle::And => ListFormatter::try_new_and,
                    ListStyle::Or => ListFormatter::try_new_or,
                    ListStyle::Unit => ListFormatter::try_new_unit,
                    _ => return None,
                }(locale.into(), Default::default())
                .ok()?,
            )),
            FormatterKind::Plural => {
                Self::Plural(Arc::new(PluralRules::try_new_cardinal(locale.into()).ok()?))
            }
        })
    }
}

/// Minutes where it has to be short, else seconds.
fn clock(length: FormatLength) -> T {
    match length {
        FormatLength::Short => T::hm(),
        FormatLength::Medium | FormatLength::Long | FormatLength::Full => T::hms(),
    }
}

// Each field set is named on its own and cast afterwards: a set chosen at run time would link the data of all of them.

fn date(
    locale: &Locale,
    length: FormatLength,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, DateFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let day = |fields| F::<YMD>::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        FormatLength::Short => day(YMD::short()),
        FormatLength::Medium => day(YMD::medium()),
        FormatLength::Long => day(YMD::long()),
        FormatLength::Full => F::<YMDE>::try_new(locale.into(), YMDE::long()).ok().map(F::cast_into_fset),
    }
}

fn date_time(
    locale: &Locale,
    length: FormatLength,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, DateAndTimeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let day = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        FormatLength::Short => day(YMD::short().with_time_hm()),
        FormatLength::Medium => day(YMD::medium().with_time_hms()),
        FormatLength::Long => day(YMD::long().with_time_hms()),
        FormatLength::Full => {
            F::try_new(locale.into(), YMDE::long().with_time_hms()).ok().map(F::cast_into_fset)
        }
    }
}

/// The same without seconds.
fn date_time_minute(
    locale: &Locale,
    length: FormatLength,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, DateAndTimeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let day = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        FormatLength::Short => day(YMD::short().with_time_hm()),
        FormatLength::Medium => day(YMD::medium().with_time_hm()),
        FormatLength::Long => day(YMD::long().with_time_hm()),
        FormatLength::Full => {
            F::try_new(locale.into(), YMDE::long().with_time_hm()).ok().map(F::cast_into_fset)
        }
    }
}

/// The zone is abbreviated where the language has an abbreviation, else its offset, and written out where there is room.
fn zoned(
    locale: &Locale,
    length: FormatLength,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, CompositeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let short = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        FormatLength::Short => short(YMD::short().with_time_hm().with_zone(SpecificShort)),
        FormatLength::Medium => short(YMD::medium().with_time_hms().with_zone(SpecificShort)),
        FormatLength::Long => {
            let fields = YMD::long().with_time_hms().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
        FormatLength::Full => {
            let fields = YMDE::long().with_time_hms().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
    }
}

/// The same without seconds.
fn zoned_minute(
    locale: &Locale,
    length: FormatLength,
) -> Option<FixedCalendarDateTimeFormatter<Gregorian, CompositeFieldSet>> {
    type F<S> = FixedCalendarDateTimeFormatter<Gregorian, S>;
    let short = |fields| F::try_new(locale.into(), fields).ok().map(F::cast_into_fset);
    match length {
        FormatLength::Short => short(YMD::short().with_time_hm().with_zone(SpecificShort)),
        FormatLength::Medium => short(YMD::medium().with_time_hm().with_zone(SpecificShort)),
        FormatLength::Long => {
            let fields = YMD::long().with_time_hm().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
        FormatLength::Full => {
            let fields = YMDE::long().with_time_hm().with_zone(SpecificLong);
            F::try_new(locale.into(), fields).ok().map(F::cast_into_fset)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::KnownLocale;
    use mcp_attune::language::Tag;

    fn kinds() -> Vec<FormatterKind> {
        let mut kinds = vec![
            FormatterKind::Number,
            FormatterKind::Ungrouped,
            FormatterKind::Percent,
            FormatterKind::Plural,
        ];
        kinds.extend(["CHF", "EUR", "XQZ"].map(|code| FormatterKind::Money(Currency::parse(code).unwrap())));
        kinds.extend(ListStyle::ALL.iter().map(|list| FormatterKind::List(*list)));
        for length in [FormatLength::Short, FormatLength::Medium, FormatLength::Long, FormatLength::Full] {
            kinds.extend(
                [FormatterKind::Date, FormatterKind::Time, FormatterKind::DateTime, FormatterKind::Zoned]
                    .map(|kind| kind(length)),
            );
            kinds
                .extend([FormatterKind::DateTimeMinute, FormatterKind::ZonedMinute].map(|kind| kind(length)));
            let named = MeasureUnit::ALL.iter().filter(|unit| unit.symbol().is_none());
            kinds.extend(named.map(|unit| FormatterKind::Measure(*unit, length)));
            for &step in RelativeTimeUnit::ALL {
                kinds.extend([true, false].map(|words| FormatterKind::Relative { step, length, words }));
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
            let known = KnownLocale::first_known([&Tag::parse(text).unwrap()]).unwrap();
            for kind in kinds() {
                assert!(IcuFormatter::new(&known.locale, kind).is_some(), "{text} {kind:?}");
            }
        }
    }
}
