//! The day that a week begins on, by CLDR.
//!
//! 1. What the locale says itself, by `-u-fw-` or `-u-rg-`.
//! 2. The day of its region, or of the region where its language is most likely spoken.
//! 3. Monday, as in ISO 8601, where nothing is known.
//!
//! Rules: C5.

use icu_locale::extensions::unicode::key;
use icu_locale::subtags::Region;
use icu_locale::{Locale, LocaleExpander};
use jiff::civil::Weekday;
use oxilangtag::LanguageTag;

use crate::language::{Tag, week_begins};

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
    let Some(mut locale) = parse_locale(locale) else { return Weekday::Monday };
    let keywords = &locale.extensions.unicode.keywords;
    let keyword = |key| keywords.get(&key).map(ToString::to_string);
    if let Some(day) = keyword(key!("fw")).and_then(|name| weekday_from_key(&name)) {
        return day;
    }
    // A region instead of the locale's own: `rg-dezzzz`.
    let stated = keyword(key!("rg")).and_then(|code| Region::try_from_str(code.get(..2)?).ok());
    let region = stated.or(locale.id.region).or_else(|| {
        const { LocaleExpander::new_extended() }.maximize(&mut locale.id);
        locale.id.region
    });
    region.map_or(Weekday::Monday, |region| week_begins(region.as_str()))
}

fn weekday_from_key(name: &str) -> Option<Weekday> {
    Some(match name {
        "mon" => Weekday::Monday,
        "tue" => Weekday::Tuesday,
        "wed" => Weekday::Wednesday,
        "thu" => Weekday::Thursday,
        "fri" => Weekday::Friday,
        "sat" => Weekday::Saturday,
        "sun" => Weekday::Sunday,
        _ => return None,
    })
}

/// ICU4X reads no extended languages, private tags and old names; of those the region is what counts.
fn parse_locale(locale: &Tag) -> Option<Locale> {
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
