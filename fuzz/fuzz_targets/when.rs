//! Expressions of time: never a panic, never an interval that ends before it starts, and blanks and case mean nothing.
//!
//! Numbers choose the language, the zone, the first day of the week and the instant; the rest is the text.
#![no_main]

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use mcp_attune::when::{ExpressionLanguage, Interval, ReferenceTime, When};

const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Zurich",
    "America/Santiago",
    "America/Goose_Bay",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "America/Juneau",
];

fuzz_target!(|input: (u8, u8, u8, i64, &str)| {
    let (language, zone, first_day, instant, text) = input;
    let language = ExpressionLanguage::ALL[usize::from(language) % ExpressionLanguage::ALL.len()];
    let Ok(when) = When::parse(text, language) else { return };
    if text.chars().count() <= When::MAX_LEN - 2 {
        let other = format!(" {}\t", text.replace(' ', "_"));
        assert_eq!(When::parse(&other, language), Ok(when), "{text:?}");
    }
    let now = ReferenceTime {
        instant: Timestamp::from_second(instant).unwrap_or(Timestamp::MAX),
        zone: TimeZone::get(ZONES[usize::from(zone) % ZONES.len()]).unwrap(),
        first_day: Weekday::from_monday_zero_offset((first_day % 7) as i8).unwrap(),
    };
    if let Ok(Interval { start, end }) = when.resolve(&now) {
        assert!(start <= end, "{text:?}");
    }
});
