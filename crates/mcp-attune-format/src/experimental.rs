//! The formatters that ICU4X has not stabilized, behind one door: money, percentages, measures and relative
//! times.
//!
//! No other module names `icu_experimental`. Its version is pinned, and when its API changes, only this file
//! has to follow. The file also works around two shortcomings of its data: percent signs that do not go with
//! the digits, and units that are abbreviated although the language has a name for them.

use fixed_decimal::Decimal;
use icu_decimal::DecimalFormatter;
use icu_decimal::provider::{DecimalDigitsV1, DecimalSymbolsV1};
use icu_experimental::dimension::currency::CurrencyType;
use icu_experimental::dimension::currency::formatter::CurrencyFormatter;
use icu_experimental::dimension::percent::formatter::PercentFormatter;
use icu_experimental::dimension::provider::units::categorized_display_names::{
    UnitsNamesDurationCoreV1, UnitsNamesDurationExtendedV1, UnitsNamesDurationOutlierV1,
    UnitsNamesLengthCoreV1, UnitsNamesLengthExtendedV1, UnitsNamesLengthOutlierV1, UnitsNamesMassCoreV1,
    UnitsNamesMassExtendedV1, UnitsNamesMassOutlierV1, UnitsNamesVolumeCoreV1, UnitsNamesVolumeExtendedV1,
    UnitsNamesVolumeOutlierV1,
};
use icu_experimental::dimension::units::categorized_formatter::CategorizedFormatter;
use icu_experimental::dimension::units::options::{UnitsFormatterOptions, Width};
use icu_experimental::measure::category::{self, CategorizedMeasureUnit, MeasureUnitCategory};
use icu_experimental::provider::Baked;
use icu_experimental::relativetime::options::Numeric;
use icu_experimental::relativetime::provider::DatetimeRelativeDayLongV1;
use icu_experimental::relativetime::{RelativeTimeFormatter, RelativeTimeFormatterOptions};
use icu_locale::{DataLocale, Locale};
use icu_plurals::provider::PluralsCardinalV1;
use icu_provider::prelude::{
    DataError, DataErrorKind, DataIdentifierBorrowed, DataProvider, DataRequest, DataResponse,
};

use mcp_attune::format::Currency;
use mcp_attune::format::FormatLength;
use mcp_attune::format::{MeasureUnit, RelativeTimeUnit};
use writeable::Writeable;

/// Returns whether CLDR has data of its own for a locale's language.
///
/// ICU answers for every locale, if need be with the data of the root of all locales. So this loads the words
/// for yesterday and tomorrow, which every language with data has of its own, and looks whether they came from
/// the root. The undetermined language (`und`) counts as unknown.
pub(crate) fn is_known_language(locale: &Locale) -> bool {
    let wanted = DataLocale::from(&locale.id);
    let mut request =
        DataRequest { id: DataIdentifierBorrowed::for_locale(&wanted), ..DataRequest::default() };
    request.metadata.silent = true;
    let found = DataProvider::<DatetimeRelativeDayLongV1>::load(&Baked, request);
    !wanted.is_unknown()
        && found.is_ok_and(|found| found.metadata.locale.is_none_or(|found| !found.is_unknown()))
}

/// Writes amounts of one currency.
#[derive(Debug)]
pub(crate) struct MoneyWriter(CurrencyFormatter<DecimalFormatter>);

impl MoneyWriter {
    /// Constructs a writer that uses the currency's symbol in the locale, or its ISO 4217 code where there is
    /// no symbol.
    pub(crate) fn new(locale: &Locale, currency: Currency) -> Option<Self> {
        let code = CurrencyType::try_from_utf8(&currency.bytes()).ok()?;
        CurrencyFormatter::try_new_symbol(locale.into(), code, Default::default()).ok().map(Self)
    }

    /// Formats an amount with as many fraction digits as the currency has: `1234.5` francs are `1,234.50`.
    pub(crate) fn format<'a>(&'a self, amount: &'a Decimal) -> impl Writeable + 'a {
        self.0.format_fixed_decimal(amount)
    }
}

/// Writes percentages.
#[derive(Debug)]
pub(crate) struct PercentWriter(PercentFormatter<DecimalFormatter>);

impl PercentWriter {
    pub(crate) fn new(locale: &Locale) -> Option<Self> {
        PercentFormatter::try_new(locale.into(), Default::default()).ok().map(Self)
    }

    /// Writes a number of hundredths: `12.5` is written as `12.5%`.
    pub(crate) fn write(&self, hundredfold: &Decimal) -> String {
        localize_percent_signs(self.0.format(hundredfold).to_string())
    }
}

/// Replaces the percent and minus signs of a formatted percentage by those that go with its digits.
///
/// The library always takes the signs that go with Western digits. With Arabic-Indic and Persian digits CLDR
/// asks for `٪`, and with Arabic-Indic ones for another directional mark.
fn localize_percent_signs(text: String) -> String {
    if text.contains(|digit| ('\u{660}'..='\u{669}').contains(&digit)) {
        text.replace("\u{200e}%\u{200e}", "٪\u{61c}").replace("\u{200e}-", "\u{61c}-")
    } else if text.contains(|digit| ('\u{6f0}'..='\u{6f9}').contains(&digit)) {
        text.replace('%', "٪")
    } else {
        text
    }
}

/// Writes times relative to now in one unit, such as `3 days ago`.
#[derive(Debug)]
pub(crate) struct RelativeTimeWriter(RelativeTimeFormatter);

impl RelativeTimeWriter {
    /// Constructs a writer for a unit and a length. With `words`, it uses a word where the language has one
    /// (`yesterday`); otherwise it always writes a number (`1 day ago`). The full length is the same as the
    /// long one.
    pub(crate) fn new(
        locale: &Locale,
        step: RelativeTimeUnit,
        length: FormatLength,
        words: bool,
    ) -> Option<Self> {
        use RelativeTimeFormatter as F;
        let make = match (step, length) {
            (RelativeTimeUnit::Second, FormatLength::Short) => F::try_new_narrow_second,
            (RelativeTimeUnit::Second, FormatLength::Medium) => F::try_new_short_second,
            (RelativeTimeUnit::Second, _) => F::try_new_long_second,
            (RelativeTimeUnit::Minute, FormatLength::Short) => F::try_new_narrow_minute,
            (RelativeTimeUnit::Minute, FormatLength::Medium) => F::try_new_short_minute,
            (RelativeTimeUnit::Minute, _) => F::try_new_long_minute,
            (RelativeTimeUnit::Hour, FormatLength::Short) => F::try_new_narrow_hour,
            (RelativeTimeUnit::Hour, FormatLength::Medium) => F::try_new_short_hour,
            (RelativeTimeUnit::Hour, _) => F::try_new_long_hour,
            (RelativeTimeUnit::Day, FormatLength::Short) => F::try_new_narrow_day,
            (RelativeTimeUnit::Day, FormatLength::Medium) => F::try_new_short_day,
            (RelativeTimeUnit::Day, _) => F::try_new_long_day,
            (RelativeTimeUnit::Week, FormatLength::Short) => F::try_new_narrow_week,
            (RelativeTimeUnit::Week, FormatLength::Medium) => F::try_new_short_week,
            (RelativeTimeUnit::Week, _) => F::try_new_long_week,
            (RelativeTimeUnit::Month, FormatLength::Short) => F::try_new_narrow_month,
            (RelativeTimeUnit::Month, FormatLength::Medium) => F::try_new_short_month,
            (RelativeTimeUnit::Month, _) => F::try_new_long_month,
            (RelativeTimeUnit::Quarter, FormatLength::Short) => F::try_new_narrow_quarter,
            (RelativeTimeUnit::Quarter, FormatLength::Medium) => F::try_new_short_quarter,
            (RelativeTimeUnit::Quarter, _) => F::try_new_long_quarter,
            (RelativeTimeUnit::Year, FormatLength::Short) => F::try_new_narrow_year,
            (RelativeTimeUnit::Year, FormatLength::Medium) => F::try_new_short_year,
            (RelativeTimeUnit::Year, _) => F::try_new_long_year,
            _ => return None,
        };
        let numeric = if words { Numeric::Auto } else { Numeric::Always };
        make(locale.into(), RelativeTimeFormatterOptions::default().with_numeric(numeric)).ok().map(Self)
    }

    /// Writes a number of steps from now; negative ones are in the past.
    pub(crate) fn write(&self, count: i64) -> String {
        self.0.format(Decimal::from(count)).to_string()
    }
}

/// Writes quantities of one unit. The library has a type for each category of units, hence the variants.
#[derive(Debug)]
pub(crate) enum MeasureWriter {
    Time(CategorizedFormatter<category::Duration>),
    Length(CategorizedFormatter<category::Length>),
    Mass(CategorizedFormatter<category::Mass>),
    Volume(CategorizedFormatter<category::Volume>),
}

impl MeasureWriter {
    /// Constructs a writer for a unit. The short length is narrow (`5km`), the medium one abbreviates (`5 km`),
    /// and the long and the full ones write the name out (`5 kilometers`).
    ///
    /// Returns `None` for units that the library has no names for. Those have a [`MeasureUnit::symbol`], which
    /// the formatter in front of this crate writes without asking.
    pub(crate) fn new(locale: &Locale, unit: MeasureUnit, length: FormatLength) -> Option<Self> {
        use category::{Duration, Length as Distance, Mass, Volume};
        let width = UnitsFormatterOptions::from(match length {
            FormatLength::Short => Width::Narrow,
            FormatLength::Medium => Width::Short,
            FormatLength::Long | FormatLength::Full => Width::Long,
        });
        Some(match unit {
            MeasureUnit::Second
            | MeasureUnit::Minute
            | MeasureUnit::Hour
            | MeasureUnit::Day
            | MeasureUnit::Week
            | MeasureUnit::Month
            | MeasureUnit::Year => {
                let unit = || with_unit_id(Duration::second(), unit);
                Self::Time(named_unit_formatter(locale, unit, width)?)
            }
            MeasureUnit::Centimeter
            | MeasureUnit::Meter
            | MeasureUnit::Kilometer
            | MeasureUnit::Foot
            | MeasureUnit::Mile => {
                let unit = || with_unit_id(Distance::meter(), unit);
                Self::Length(named_unit_formatter(locale, unit, width)?)
            }
            MeasureUnit::Gram | MeasureUnit::Kilogram => {
                let unit = || with_unit_id(Mass::gram(), unit);
                Self::Mass(named_unit_formatter(locale, unit, width)?)
            }
            MeasureUnit::Liter => {
                let unit = || with_unit_id(Volume::liter(), unit);
                Self::Volume(named_unit_formatter(locale, unit, width)?)
            }
            _ => return None,
        })
    }

    pub(crate) fn write(&self, value: &Decimal) -> String {
        match self {
            Self::Time(formatter) => formatter.format_fixed_decimal(value).to_string(),
            Self::Length(formatter) => formatter.format_fixed_decimal(value).to_string(),
            Self::Mass(formatter) => formatter.format_fixed_decimal(value).to_string(),
            Self::Volume(formatter) => formatter.format_fixed_decimal(value).to_string(),
        }
    }
}

/// Returns another unit of the same category as `one`. The library has constructors for few units, but data for
/// all of them, which it finds by their identifier alone.
fn with_unit_id<C: MeasureUnitCategory>(
    mut one: CategorizedMeasureUnit<C>,
    unit: MeasureUnit,
) -> CategorizedMeasureUnit<C> {
    one.unit.id = Some(unit.as_str());
    one
}

/// Constructs a unit formatter that prefers the language's own name of the unit to the symbol of the root
/// locale.
///
/// The data of units are in three layers (core, extended, outlier). The library's own constructors accept what
/// the first layer merely inherits from the root, so that two kilometres would be `2 km` at any length. This
/// one first looks through all layers without the root, and takes the root's symbol only if none of them has a
/// name.
fn named_unit_formatter<C: MeasureUnitCategory>(
    locale: &Locale,
    unit: impl Fn() -> CategorizedMeasureUnit<C>,
    width: UnitsFormatterOptions,
) -> Option<CategorizedFormatter<C>>
where
    Baked: DataProvider<C::DataMarkerCore>
        + DataProvider<C::DataMarkerExtended>
        + DataProvider<C::DataMarkerOutlier>,
    NotRoot: DataProvider<C::DataMarkerCore>
        + DataProvider<C::DataMarkerExtended>
        + DataProvider<C::DataMarkerOutlier>,
{
    CategorizedFormatter::try_new_outlier_unstable(&NotRoot, locale.into(), unit(), width)
        .or_else(|_| CategorizedFormatter::try_new_outlier(locale.into(), unit(), width))
        .ok()
}

/// A data provider that reports unit names which a language merely inherits from the root of all locales as
/// missing, and passes on everything else.
struct NotRoot;

macro_rules! not_root {
    ($($marker:ident)+) => {$(
        impl DataProvider<$marker> for NotRoot {
            fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<$marker>, DataError> {
                let mut quiet = request;
                quiet.metadata.silent = true;
                let found = DataProvider::<$marker>::load(&Baked, quiet)?;
                if found.metadata.locale.is_some_and(|locale| locale.is_unknown()) {
                    return Err(DataErrorKind::IdentifierNotFound.into_error());
                }
                Ok(found)
            }
        }
    )+};
}

not_root! {
    UnitsNamesDurationCoreV1 UnitsNamesDurationExtendedV1 UnitsNamesDurationOutlierV1
    UnitsNamesLengthCoreV1 UnitsNamesLengthExtendedV1 UnitsNamesLengthOutlierV1
    UnitsNamesMassCoreV1 UnitsNamesMassExtendedV1 UnitsNamesMassOutlierV1
    UnitsNamesVolumeCoreV1 UnitsNamesVolumeExtendedV1 UnitsNamesVolumeOutlierV1
}

macro_rules! passed_on {
    ($($marker:ident from $baked:path;)+) => {$(
        impl DataProvider<$marker> for NotRoot {
            fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<$marker>, DataError> {
                DataProvider::<$marker>::load(&$baked, request)
            }
        }
    )+};
}

passed_on! {
    DecimalSymbolsV1 from icu_decimal::provider::Baked;
    DecimalDigitsV1 from icu_decimal::provider::Baked;
    PluralsCardinalV1 from icu_plurals::provider::Baked;
}
