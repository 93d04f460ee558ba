//! What holds for every value, locale and length: there is a text, and it is bounded.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use mcp_attune::format::{
    Currency, DecimalNumber, FormatLength, FractionDigits, ListStyle, MeasureUnit, RelativeTimeUnit,
    ValueFormatter,
};
use mcp_attune::language::Tag;
use proptest::prelude::*;

const LENGTHS: [FormatLength; 4] =
    [FormatLength::Short, FormatLength::Medium, FormatLength::Long, FormatLength::Full];

/// Locales of all kinds, some that nobody speaks.
const LOCALES: [&str; 24] = [
    "en",
    "en-US",
    "en-GB",
    "de-CH",
    "fr",
    "it",
    "es-MX",
    "pt-BR",
    "ja",
    "zh-Hant",
    "ar-EG",
    "fa-IR",
    "th",
    "hi",
    "pl",
    "sv",
    "he",
    "ko",
    "ru",
    "tr",
    "tlh",
    "und",
    "en-u-nu-wxyz-hc-h99",
    "zh-yue-HK-x-private",
];

fn formats(zone: &TimeZone) -> Vec<ValueFormatter> {
    let formatters = mcp_attune_format::formatters(&Tag::parse("en").unwrap());
    LOCALES
        .iter()
        .map(|locale| formatters.for_locales([&Tag::parse(locale).unwrap()], zone.clone()))
        .collect()
}

#[test]
fn the_calendar_is_gregorian_for_everybody() {
    for locale in ["th", "fa-IR-u-nu-latn", "fa-u-ca-persian-nu-latn", "ar-SA-u-nu-latn", "ja-u-ca-japanese"]
    {
        let format = mcp_attune_format::formatters(&Tag::parse("en").unwrap())
            .for_locales([&Tag::parse(locale).unwrap()], TimeZone::UTC);
        let text = format.date(Date::constant(2024, 9, 10), FormatLength::Long);
        assert!(text.contains("2024"), "{locale}: {text}");
    }
}

#[test]
fn a_zone_without_a_name_is_told_by_its_offset() {
    let zone = TimeZone::fixed(Offset::constant(-3));
    let format = mcp_attune_format::formatters(&Tag::parse("en").unwrap()).for_locales([], zone);
    for length in LENGTHS {
        let text = format.zoned(Timestamp::UNIX_EPOCH, length);
        assert!(text.contains("GMT-3") || text.contains("GMT-03:00"), "{text}");
    }
}

#[test]
fn years_at_the_ends_of_time_have_a_text() {
    for format in formats(&TimeZone::get("Asia/Kathmandu").unwrap()) {
        for length in LENGTHS {
            for date in [Date::MIN, Date::MAX, Date::ZERO] {
                assert!(!format.date(date, length).is_empty());
            }
            for instant in [Timestamp::MIN, Timestamp::MAX] {
                assert!(!format.zoned(instant, length).is_empty());
            }
            for civil in [DateTime::MIN, DateTime::MAX] {
                assert!(!format.date_time(civil, length).is_empty());
            }
            for time in [Time::MIN, Time::MAX] {
                assert!(!format.time(time, length).is_empty());
            }
            for distance in [SignedDuration::MIN, SignedDuration::MAX] {
                assert!(!format.distance(distance, length).is_empty());
            }
            for count in [i64::MIN, i64::MAX] {
                assert!(!format.relative(count, RelativeTimeUnit::Year, length).is_empty());
            }
        }
    }
}

#[test]
fn lists_of_none_one_and_two_items_have_no_comma() {
    let format = mcp_attune_format::formatters(&Tag::parse("en").unwrap()).for_locales([], TimeZone::UTC);
    for (items, expected) in [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a and b")] {
        assert_eq!(format.list(items, ListStyle::And), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_tag_and_any_float_have_a_text(tag in "[a-z]{2,8}(-[a-zA-Z0-9]{2,8}){0,3}(-u-(nu|hc|ca)-[a-z0-9]{3,8})?", float in any::<f64>(), digits in any::<(u8, u8)>(), code in "[A-Za-z]{3}") {
        let formatters = mcp_attune_format::formatters(&Tag::parse("en").unwrap());
        let tag = Tag::parse(&tag);
        let format = formatters.for_locales(tag.as_ref().ok(), TimeZone::UTC);
        prop_assert_eq!(DecimalNumber::try_from(float).is_ok(), float.is_finite());
        if let Ok(number) = DecimalNumber::try_from(float) {
            let digits = FractionDigits::between(digits.0, digits.1);
            let text = format.number(&number, digits);
            prop_assert!(!text.is_empty() && text.len() < 4096, "{}", text);
            prop_assert!(!format.percent(&number, digits).is_empty());
            prop_assert!(!format.currency(&number, Currency::parse(&code).unwrap()).is_empty());
            prop_assert!(!format.unit(&number, MeasureUnit::Kilometer, FormatLength::Long).is_empty());
            prop_assert!(!format.plural(&number).as_str().is_empty());
        }
    }

    #[test]
    fn a_number_reads_back_what_it_writes(integer in any::<i64>(), places in 0_usize..20) {
        let text = if places == 0 { integer.to_string() } else { format!("{integer}.{}", "5".repeat(places)) };
        prop_assert_eq!(DecimalNumber::parse(&text).unwrap().to_string(), text);
    }
}
