//! What holds for every expression, instant and zone.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mcp_attune::when::{ExpressionLanguage, Interval, ReferenceTime, TimeExpressionError, When};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const UNITS: [&str; 5] = ["day", "week", "month", "quarter", "year"];
const ENGLISH: ExpressionLanguage = ExpressionLanguage::English;

/// Zones whose clocks do what clocks should not.
fn zone() -> impl Strategy<Value = TimeZone> {
    let names = vec![
        "UTC",
        "Europe/Zurich",
        "Europe/Dublin",
        "America/New_York",
        "America/Santiago",
        "America/Havana",
        "America/Goose_Bay",
        "America/Juneau",
        "Asia/Beirut",
        "Asia/Kathmandu",
        "Asia/Manila",
        "Africa/Casablanca",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Kwajalein",
        "Antarctica/Troll",
    ];
    let zones: Vec<_> = names.into_iter().map(|name| TimeZone::get(name).unwrap()).collect();
    prop::sample::select(zones)
}

fn weekday() -> impl Strategy<Value = Weekday> {
    (1..=7_i8).prop_map(|number| Weekday::from_monday_one_offset(number).unwrap())
}

/// From 1840 to 2100, and often within two days of a change of the clocks.
fn now() -> impl Strategy<Value = ReferenceTime> {
    let seconds = -4_100_000_000..4_100_000_000_i64;
    (zone(), seconds, weekday(), any::<bool>(), -172_800..172_800_i64).prop_map(
        |(zone, second, first_day, near_change, by)| {
            let mut instant = Timestamp::from_second(second).unwrap();
            if near_change && let Some(change) = zone.following(instant).next() {
                instant = Timestamp::from_second(change.timestamp().as_second() + by).unwrap();
            }
            ReferenceTime { instant, zone, first_day }
        },
    )
}

fn unit() -> impl Strategy<Value = &'static str> {
    prop::sample::select(UNITS.to_vec())
}

fn resolve(text: &str, now: &ReferenceTime) -> Interval {
    When::parse(text, ENGLISH).unwrap().resolve(now).unwrap()
}

fn any_language() -> impl Strategy<Value = ExpressionLanguage> {
    prop::sample::select(ExpressionLanguage::ALL.to_vec())
}

proptest! {
    // The same inputs every time, so that a build says the same twice; new ones are the fuzz target's work.
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(1809), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn days_in_a_row_leave_no_gap_and_do_not_overlap(now in now(), from in 1..400_u32) {
        let mut end = resolve(&format!("{} days ago", from + 8), &now).end;
        for back in (from..from + 8).rev() {
            let day = resolve(&format!("{back} days ago"), &now);
            prop_assert!(day.start <= day.end);
            prop_assert_eq!(end, day.start);
            end = day.end;
        }
    }

    #[test]
    fn last_this_and_next_stand_in_a_row(now in now(), unit in unit(), before in 1..50, after in 1..50) {
        let last = resolve(&format!("last {before} {unit}s"), &now);
        let this = resolve(&format!("this {unit}"), &now);
        let next = resolve(&format!("next {after} {unit}s"), &now);
        prop_assert!(last.start <= last.end && this.start <= this.end && next.start <= next.end);
        prop_assert_eq!((last.end, this.end), (this.start, next.start));
        prop_assert_eq!(resolve(&format!("last {unit}"), &now).end, this.start);
        prop_assert_eq!(resolve(&format!("{before} {unit}s ago"), &now).start, last.start);
        prop_assert_eq!(resolve(&format!("in {after} {unit}s"), &now).end, next.end);
    }

    #[test]
    fn now_is_in_the_current_unit(now in now(), unit in unit()) {
        let this = resolve(&format!("this {unit}"), &now);
        let so_far = resolve(&format!("{unit} to date"), &now);
        prop_assert_eq!((so_far.start, so_far.end), (this.start, now.instant));
        prop_assert!(this.start <= now.instant);
        // But for the hours after a zone went back across midnight: then the next unit has begun once already.
        let date = |instant| now.zone.to_datetime(instant).date();
        prop_assert!(now.instant < this.end || date(now.instant) < date(this.end));
    }

    #[test]
    fn a_day_begins_with_its_first_instant(now in now()) {
        let today = resolve("today", &now);
        let date = now.zone.to_datetime(now.instant).date();
        prop_assert_eq!(now.zone.to_datetime(today.start).date(), date);
        let just_before = today.start - SignedDuration::from_secs(1);
        prop_assert!(now.zone.to_datetime(just_before).date() < date);
    }

    #[test]
    fn a_unit_begins_where_the_calendar_says(now in now(), unit in unit()) {
        let first = now.zone.to_datetime(resolve(&format!("this {unit}"), &now).start).date();
        match unit {
            "week" => {
                let today = now.zone.to_datetime(now.instant).date();
                // Where the zone skipped the first day, the week begins with the second.
                let late = i8::from(first.weekday() != now.first_day);
                prop_assert_eq!(now.first_day.until(first.weekday()), late);
                prop_assert!(today.duration_since(first).as_hours() < 7 * 24);
            }
            "month" => prop_assert!(first.day() == 1),
            "quarter" => prop_assert!(first.day() == 1 && first.month() % 3 == 1),
            "year" => prop_assert!(first.day_of_year() == 1),
            _ => {}
        }
    }

    #[test]
    fn last_and_next_weekdays_are_within_a_week(now in now(), day in weekday()) {
        let today = resolve("today", &now);
        let name = format!("{day:?}");
        let (last, next) = (resolve(&format!("last {name}"), &now), resolve(&format!("next {name}"), &now));
        prop_assert!(last.end <= today.start && today.end <= next.start);
        let week = SignedDuration::from_hours(8 * 24);
        prop_assert!(last.start.duration_until(today.start) <= week && today.start.duration_until(next.start) <= week);
    }

    #[test]
    fn a_range_runs_from_the_start_of_one_to_the_end_of_the_other(now in now(), unit in unit(), back in 1..90, ahead in 1..90) {
        let (from, to) = (format!("{back} {unit}s ago"), format!("in {ahead} {unit}s"));
        for range in [format!("{from}..{to}"), format!("{from} to {to}")] {
            let range = resolve(&range, &now);
            prop_assert_eq!((range.start, range.end), (resolve(&from, &now).start, resolve(&to, &now).end));
        }
    }

    #[test]
    fn reading_never_panics(text in any::<String>(), language in any_language()) {
        let _ = When::parse(&text, language);
    }

    #[test]
    fn reading_and_resolving_near_misses_never_panics(
        words in prop::collection::vec(prop::sample::select(vec![
            "last", "next", "this", "in", "ago", "to", "date", "..", "days", "week", "monday", "0", "1", "9999", "10000",
            "99999", "2026-02-30", "0000", "9999-12-31", "vor", "letzten", "Tagen", "il y a", "過去", "日間", "前", "a", "_", "-", "'",
        ]), 0..6),
        blank in prop::sample::select(vec![" ", "", "_", "-"]), language in any_language(), zone in zone(), first_day in weekday(),
        end in prop::sample::select(vec![Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH]),
    ) {
        if let Ok(when) = When::parse(&words.join(blank), language)
            && let Ok(Interval { start, end }) = when.resolve(&ReferenceTime { instant: end, zone, first_day })
        {
            prop_assert!(start <= end);
        }
    }
}

#[test]
fn the_ends_of_time_are_errors_and_no_panics() {
    for instant in [Timestamp::MIN, Timestamp::MAX] {
        for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York"] {
            let now =
                ReferenceTime { instant, zone: TimeZone::get(zone).unwrap(), first_day: Weekday::Sunday };
            for unit in UNITS {
                for text in [
                    "this U",
                    "last U",
                    "next U",
                    "last 10000 U",
                    "next 10000 U",
                    "10000 U ago",
                    "in 10000 U",
                    "U to date",
                ] {
                    let when = When::parse(&text.replace('U', unit), ENGLISH).unwrap();
                    if let Ok(Interval { start, end }) = when.resolve(&now) {
                        assert!(start <= end, "{text} at {instant} in {zone}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_long_text_is_refused_before_it_is_read() {
    for unit in ["last ", "1", "..", " to ", "日", "\u{301}", "A bis "] {
        let text = unit.repeat(10 * 1024 * 1024 / unit.len());
        assert_eq!(When::parse(&text, ExpressionLanguage::German), Err(TimeExpressionError::TooLong));
        let text: String = unit.repeat(200).chars().take(When::MAX_LEN).collect();
        assert!(When::parse(&text, ExpressionLanguage::Japanese).is_err());
    }
}

#[test]
fn every_form_in_the_list_of_what_can_be_read_can_be_read() {
    let forms = mcp_attune::when::EXPRESSION_HELP.lines().flat_map(|line| {
        let forms = line.strip_prefix("  ").unwrap().split_once("  ").unwrap().1.split(';').next().unwrap();
        forms.split([',']).flat_map(|form| form.split(" or ")).map(str::trim).collect::<Vec<_>>()
    });
    let mut count = 0;
    for form in forms.filter(|form| !form.starts_with("where A") && !form.is_empty()) {
        let text = form.replace('U', "weeks").replace('N', "3").replace("A", "2025").replace("B", "2026");
        let text =
            text.strip_suffix(" where 2025 and 2026 are any of these that do not end now").unwrap_or(&text);
        assert!(When::parse(text, ENGLISH).is_ok(), "{form}");
        count += 1;
    }
    assert!(count >= 20, "{count}");
}
