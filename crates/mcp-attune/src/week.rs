//! The day that a week begins on, by CLDR.
//!
//! 1. What the locale says itself, by `-u-fw-` or `-u-rg-`.
//! 2. The day of its region, or of the region where its language is most likely spoken.
//! 3. Monday, as in ISO 8601, where nothing is known.
//!
//! Rules: C5.

use icu_calendar::week::WeekInformation;
use icu_locale::Locale;
use jiff::civil::Weekday;
use oxilangtag::LanguageTag;

use crate::language::Tag;

/// The first day of a week where this locale is at home.
///
/// ```
/// use jiff::civil::Weekday;
/// use mcp_attune::{language::Tag, week};
///
/// assert_eq!(week::first_day(&Tag::parse("en-US").unwrap()), Weekday::Sunday);
/// assert_eq!(week::first_day(&Tag::parse("en-US-u-fw-mon").unwrap()), Weekday::Monday);
/// ```
#[must_use]
pub fn first_day(locale: &Tag) -> Weekday {
    let week = read(locale).and_then(|locale| WeekInformation::try_new((&locale).into()).ok());
    let number = week.and_then(|week| i8::try_from(week.first_weekday as usize).ok());
    number.and_then(|number| Weekday::from_monday_one_offset(number).ok()).unwrap_or(Weekday::Monday)
}

/// ICU4X reads no extended languages, private tags and old names; of those the region is what counts.
fn read(locale: &Tag) -> Option<Locale> {
    let whole = Locale::try_from_str(locale.as_str()).ok();
    whole.or_else(|| {
        let tag = LanguageTag::parse(locale.as_str()).ok()?;
        Locale::try_from_str(&format!("und-{}", tag.region()?)).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(locale: &str, day: Weekday) {
        assert_eq!(first_day(&Tag::parse(locale).unwrap()), day, "{locale}");
    }

    #[test]
    fn weeks_begin_as_cldr_says() {
        check("en-US", Weekday::Sunday);
        check("de-CH", Weekday::Monday);
        check("ar-EG", Weekday::Saturday);
        check("fa-IR", Weekday::Saturday);
        check("pt-PT", Weekday::Sunday);
        check("dv-MV", Weekday::Friday);
    }

    #[test]
    fn a_language_alone_has_the_week_of_its_likely_region() {
        check("en", Weekday::Sunday);
        check("fr", Weekday::Monday);
        check("ja", Weekday::Sunday);
    }

    #[test]
    fn a_locale_can_say_it_itself() {
        check("de-CH-u-fw-sun", Weekday::Sunday);
        check("en-US-u-ca-gregory-fw-mon-nu-latn", Weekday::Monday);
        check("en-US-u-rg-dezzzz", Weekday::Monday);
        check("en-US-u-fw-never", Weekday::Sunday);
    }

    #[test]
    fn odd_tags_have_a_week_too() {
        check("x-private", Weekday::Monday);
        check("i-klingon", Weekday::Monday);
        check("zh-yue-HK", Weekday::Sunday);
        check("und", Weekday::Monday);
    }
}
