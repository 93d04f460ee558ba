//! The ICU formatters: one for each kind of value and each set of options, constructed for one locale.
//!
//! Constructing one looks up and parses locale data, which takes microseconds; `cache` keeps them. The
//! functions at the end choose the ICU field sets for dates and times.

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

/// A kind of value with all options that its ICU formatter depends on, except the locale. It is the second half
/// of the cache key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FormatterKind {
    /// A calendar day. The full length adds the weekday.
    Date(FormatLength),
    /// A time of day: to the minute at the short length, else to the second.
    Time(FormatLength),
    /// A day and a time in no zone, with seconds unless the length is short.
    DateTime(FormatLength),
    /// An instant with its zone, with seconds unless the length is short.
    Zoned(FormatLength),
    /// A day and a time in no zone, never with seconds.
    DateTimeMinute(FormatLength),
    /// An instant with its zone, never with seconds.
    ZonedMinute(FormatLength),
    /// A number, its digits grouped as the locale does: `1,234`.
    Number,
    /// A number without grouping, for years, ports and the like: `1234`.
    Ungrouped,
    /// A percentage, given as a number of hundredths.
    Percent,
    /// An amount in this currency.
    Money(Currency),
    /// A quantity of this unit. The length decides between `5 km` and `5 kilometers`.
    Measure(MeasureUnit, FormatLength),
    /// A number of steps from now, such as `in 2 days`; with `words`, `yesterday` where the language has a
    /// word.
    Relative { step: RelativeTimeUnit, length: FormatLength, words: bool },
    /// Several items as one phrase: `a, b and c`.
    List(ListStyle),
    /// The rules that choose a plural form for a cardinal number.
    Plural,
}

/// A constructed ICU formatter. Cloning it clones an `Arc`, so the cache can hand it out while it keeps its
/// own.
///
/// There are fewer variants than kinds: a kind's options are inside the formatter, so that `DateTime` also
/// holds the formatters of `DateTimeMinute`, `Zoned` those of `ZonedMinute`, and `Number` those of `Ungrouped`.
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
    /// Constructs the formatter of a kind for a locale.
    ///
    /// Returns `None` if ICU has no data for it, so that the value is written in its plain form. That is always
    /// so for units without names, such as degrees; a test makes sure that it is not so for any other kind in
    /// the locales that it tries.
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

/// Returns the fields of a time of day: hours and minutes at the short length, with seconds at all others.
fn clock(length: FormatLength) -> T {
    match length {
        FormatLength::Short => T::hm(),
        FormatLength::Medium | FormatLength::Long | FormatLength::Full => T::hms(),
    }
}

// Each field set is named on its own and cast afterwards: a set chosen at run time would link the data of all of them.

/// Constructs the formatter of a day. The full length is the long one with the weekday.
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

/// Constructs the formatter of a day and a time in no zone, with seconds unless the length is short.
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

/// Constructs the same formatter as [`date_time`], without seconds at any length.
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

/// Constructs the formatter of an instant, with seconds unless the length is short.
///
/// The short and the medium length abbreviate the zone (`PST`), or write its offset where the language has no
/// abbreviation. The long and the full length write its name out (`Pacific Standard Time`).
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

/// Constructs the same formatter as [`zoned`], without seconds at any length.
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
