//! Formatting without the data of locales: ISO 8601 for dates, digits with a point for numbers.
//!
//! Plural forms are right all the same, because they decide whether a sentence is one.

use std::sync::Arc;

use icu_locale::Locale;
use icu_plurals::{PluralCategory, PluralRules};
use jiff::tz::TimeZone;

use super::number::DecimalNumber;
use super::unit::PluralForm;
use super::value::{FormatBackend, FormatValue, LocaleFormatter};
use crate::language::{Tag, canonical};

/// Writes plain forms for every locale.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlainBackend;

impl FormatBackend for PlainBackend {
    fn formatter(&self, locales: &mut dyn Iterator<Item = &Tag>, zone: TimeZone) -> Arc<dyn LocaleFormatter> {
        let locale = locales.next().map_or_else(|| "en".to_owned(), |tag| canonical(tag.as_str()));
        Arc::new(PlainFormatter { locale: locale.into(), zone })
    }
}

#[derive(Clone)]
struct PlainFormatter {
    locale: Arc<str>,
    zone: TimeZone,
}

impl LocaleFormatter for PlainFormatter {
    fn locale(&self) -> &str {
        &self.locale
    }

    fn zone(&self) -> &TimeZone {
        &self.zone
    }

    fn with_zone(&self, zone: TimeZone) -> Arc<dyn LocaleFormatter> {
        Arc::new(Self { zone, ..self.clone() })
    }

    fn write(&self, _: FormatValue<'_>) -> Option<String> {
        None
    }

    fn plural(&self, number: &DecimalNumber) -> Option<PluralForm> {
        let locale = Locale::try_from_str(&self.locale).ok()?;
        let rules = PluralRules::try_new_cardinal((&locale).into()).ok()?;
        Some(rules.category_for(number.decimal()).into())
    }
}

impl From<PluralCategory> for PluralForm {
    fn from(category: PluralCategory) -> Self {
        match category {
            PluralCategory::Zero => Self::Zero,
            PluralCategory::One => Self::One,
            PluralCategory::Two => Self::Two,
            PluralCategory::Few => Self::Few,
            PluralCategory::Many => Self::Many,
            PluralCategory::Other => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FormatLength, Formatters, FractionDigits};
    use super::*;

    #[test]
    fn values_are_plain_and_plurals_are_the_languages_own() {
        let polish = Tag::parse("pl").unwrap();
        let format = Formatters::default().for_locales([&polish], TimeZone::UTC);
        assert_eq!(format.locale(), "pl");
        assert_eq!(
            format.number(&DecimalNumber::parse("1234.5").unwrap(), FractionDigits::default()),
            "1234.5"
        );
        assert_eq!(format.date(jiff::civil::date(2024, 9, 10), FormatLength::Long), "2024-09-10");
        assert_eq!(format.plural(&DecimalNumber::from(3)), PluralForm::Few);
        assert_eq!(format.plural(&DecimalNumber::from(5)), PluralForm::Many);
    }
}
