//! The day that a week begins on, by CLDR.

use icu_calendar::week::WeekInformation;
use icu_locale::Locale;
use jiff::civil::Weekday;
use mcp_attune::language::Tag;

/// By the region of a locale, or the likely one of its language; Monday where nothing is known.
pub(super) fn first_day(locale: &Tag) -> Weekday {
    let locale = Locale::try_from_str(locale.as_str()).unwrap_or(Locale::UNKNOWN);
    let week = WeekInformation::try_new((&locale).into()).ok();
    let offset = week.and_then(|week| i8::try_from(week.first_weekday as usize).ok());
    offset.and_then(|offset| Weekday::from_monday_one_offset(offset).ok()).unwrap_or(Weekday::Monday)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_as_cldr_says() {
        for (locale, day) in [
            ("en-US", Weekday::Sunday),
            ("de-CH", Weekday::Monday),
            ("ar-EG", Weekday::Saturday),
            ("fa-IR", Weekday::Saturday),
            ("pt-PT", Weekday::Sunday),
            ("dv-MV", Weekday::Friday),
            ("en", Weekday::Sunday),
            ("fr", Weekday::Monday),
            ("ja", Weekday::Sunday),
            ("de-CH-u-fw-sun", Weekday::Sunday),
            ("x-private", Weekday::Monday),
        ] {
            assert_eq!(first_day(&Tag::parse(locale).unwrap()), day, "{locale}");
        }
    }
}
