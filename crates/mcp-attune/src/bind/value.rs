//! What an argument becomes for a caller, as JSON.

use core::cell::OnceCell;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mcp_attune_wire::json::Quoted;

use super::{Part, Source, Written};
use crate::caller::Caller;
use crate::context::{Coordinates, Country, Now, Precision, Zone};
use crate::language::Tag;
use crate::when::{Interval, Language};

/// A caller, and what time it is, which is looked up once and only where somebody asks.
pub(super) struct Asker<'c> {
    pub(super) caller: &'c Caller,
    pub(super) precision: Precision,
    clock: Timestamp,
    now: OnceCell<Now>,
}

impl<'c> Asker<'c> {
    pub(super) fn new(caller: &'c Caller, precision: Precision, clock: Timestamp) -> Self {
        Self { caller, precision, clock, now: OnceCell::new() }
    }

    pub(super) fn now(&self) -> &Now {
        self.now.get_or_init(|| self.caller.context().now(self.clock))
    }

    /// What the context says.
    pub(super) fn told(&self, from: Source) -> Option<String> {
        let context = self.caller.context();
        let place = context.place();
        let knows_time = context.timezone().is_some() || context.instant().is_some();
        match from {
            Source::Timezone => context.timezone().map(Zone::name).map(quoted),
            Source::Offset | Source::Now(_) => knows_time.then(|| self.time(from)).flatten(),
            Source::Locale => context.locale().map(|locale| quoted(locale.as_str())),
            Source::Language => self.language().map(quoted),
            Source::City => place?.city().map(quoted),
            Source::Region => place?.region().map(quoted),
            Source::Country => place?.country().map(Country::as_str).map(quoted),
            Source::Latitude => self.coordinates().map(|place| place.latitude().to_string()),
            Source::Longitude => self.coordinates().map(|place| place.longitude().to_string()),
        }
    }

    /// What UTC and the server's clock say, for what a context without time and zone leaves open.
    pub(super) fn assumed(&self, from: Source) -> Option<String> {
        match from {
            Source::Timezone => Some(quoted("UTC")),
            other => self.time(other),
        }
    }

    fn time(&self, from: Source) -> Option<String> {
        match from {
            Source::Offset => {
                let now = self.now();
                Some(quoted(&offset(now.zone.to_offset(now.instant).seconds())))
            }
            Source::Now(written) => Some(instant(self.now().instant, &self.now().zone, written)),
            _ => None,
        }
    }

    /// The language of the range with the highest weight, the first of them where there are several.
    fn language(&self) -> Option<&'c str> {
        // One letter is no language: `x-private`, `i-klingon`.
        let named = self.caller.preference()?.wanted().filter(|(range, _)| range.primary().len() > 1);
        named.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(range, _)| range.primary())
    }

    /// The language that the caller writes expressions of time in, beside English.
    pub(super) fn tongue(&self) -> Language {
        match self.caller.context().locale() {
            Some(locale) => Language::of(locale),
            None => self
                .language()
                .and_then(|name| Tag::parse(name).ok())
                .as_ref()
                .map_or_else(Language::default, Language::of),
        }
    }

    fn coordinates(&self) -> Option<Coordinates> {
        let place = self.caller.context().place()?.coordinates()?;
        match self.precision {
            Precision::Off => None,
            Precision::Coarse => Some(place.coarse()),
            Precision::Exact => Some(place),
        }
    }
}

fn quoted(text: &str) -> String {
    Quoted(text).to_string()
}

/// `+01:00`, as RFC 3339 writes it.
fn offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// An instant as it is written in a zone.
fn instant(instant: Timestamp, zone: &TimeZone, written: Written) -> String {
    // Few servers read fractions of a second, and none needs them.
    let second = instant.as_millisecond().div_euclid(1000);
    let whole = Timestamp::from_second(second).unwrap_or(instant);
    match written {
        Written::DateTime => quoted(&whole.display_with_offset(zone.to_offset(whole)).to_string()),
        Written::Date => quoted(&zone.to_datetime(instant).date().to_string()),
        Written::Utc => quoted(&whole.to_string()),
        Written::Unix => second.to_string(),
        Written::UnixMillis => instant.as_millisecond().to_string(),
    }
}

/// An end of an interval as it is written in a zone; none where it leaves the calendar.
pub(super) fn end(interval: Interval, part: Part, zone: &TimeZone, written: Written) -> Option<String> {
    let Interval { start, end } = interval;
    let before = |step: SignedDuration| end.checked_sub(step).ok();
    match (part, written) {
        (Part::Start, _) => Some(instant(start, zone, written)),
        // A day is in an interval where an instant of it is; the first after it may not have begun when the interval
        // ends, as in `week to date`.
        (Part::After, Written::Date) if start < end => {
            let last = zone.to_datetime(before(SignedDuration::from_nanos(1))?).date();
            Some(quoted(&last.tomorrow().ok()?.to_string()))
        }
        (Part::After, _) => Some(instant(end, zone, written)),
        (Part::Last, Written::Date) => Some(instant(before(SignedDuration::from_nanos(1))?, zone, written)),
        (Part::Last, Written::UnixMillis) => {
            Some(instant(before(SignedDuration::from_millis(1))?, zone, written))
        }
        (Part::Last, _) => Some(instant(before(SignedDuration::from_secs(1))?, zone, written)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Written::{Date, DateTime, Unix, UnixMillis, Utc};

    #[track_caller]
    fn check(part: Part, written: Written, ends: [&str; 2], zone: &str, expected: &str) {
        let [start, end] = ends.map(|end| end.parse().unwrap());
        let zone = TimeZone::get(zone).unwrap();
        assert_eq!(super::end(Interval { start, end }, part, &zone, written).as_deref(), Some(expected));
    }

    /// The day on which Zurich's clocks go forward, and the one on which Los Angeles' go back.
    const SPRING: [&str; 2] = ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"];
    const AUTUMN: [&str; 2] = ["2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"];

    #[test]
    fn the_ends_of_a_day_that_is_not_24_hours_long() {
        let zurich = |part, written, expected| check(part, written, SPRING, "Europe/Zurich", expected);
        zurich(Part::Start, DateTime, "\"2026-03-29T00:00:00+01:00\"");
        zurich(Part::After, DateTime, "\"2026-03-30T00:00:00+02:00\"");
        zurich(Part::Last, DateTime, "\"2026-03-29T23:59:59+02:00\"");
        zurich(Part::Start, Date, "\"2026-03-29\"");
        zurich(Part::After, Date, "\"2026-03-30\"");
        zurich(Part::Last, Date, "\"2026-03-29\"");
        zurich(Part::Start, Utc, "\"2026-03-28T23:00:00Z\"");
        zurich(Part::After, Unix, "1774821600");
        zurich(Part::Last, Unix, "1774821599");
        zurich(Part::Last, UnixMillis, "1774821599999");
        let angeles = |part, written, expected| check(part, written, AUTUMN, "America/Los_Angeles", expected);
        angeles(Part::Start, DateTime, "\"2026-11-01T00:00:00-07:00\"");
        angeles(Part::After, DateTime, "\"2026-11-02T00:00:00-08:00\"");
        angeles(Part::Last, DateTime, "\"2026-11-01T23:59:59-08:00\"");
        angeles(Part::Last, Date, "\"2026-11-01\"");
        angeles(Part::After, Date, "\"2026-11-02\"");
    }

    #[test]
    fn an_interval_that_ends_in_the_middle_of_a_day_has_that_day_in_it() {
        let to_date = ["2026-11-08T23:00:00Z", "2026-11-12T13:23:00.25Z"];
        let check = |part, written, expected| check(part, written, to_date, "Europe/Zurich", expected);
        check(Part::Last, Date, "\"2026-11-12\"");
        check(Part::After, Date, "\"2026-11-13\"");
        check(Part::After, DateTime, "\"2026-11-12T14:23:00+01:00\"");
        check(Part::After, UnixMillis, "1794489780250");
    }

    #[test]
    fn an_empty_interval_begins_where_it_ends() {
        // Samoa skipped a Friday.
        let friday = ["2011-12-30T10:00:00Z"; 2];
        check(Part::Start, Date, friday, "Pacific/Apia", "\"2011-12-31\"");
        check(Part::After, Date, friday, "Pacific/Apia", "\"2011-12-31\"");
        check(Part::Last, Date, friday, "Pacific/Apia", "\"2011-12-29\"");
    }

    #[test]
    fn an_instant_before_1970_is_rounded_down_too() {
        let early = ["1969-12-31T23:59:58.5Z"; 2];
        check(Part::Start, Unix, early, "UTC", "-2");
        check(Part::Start, Utc, early, "UTC", "\"1969-12-31T23:59:58Z\"");
        check(Part::Start, UnixMillis, early, "UTC", "-1500");
    }

    #[test]
    fn offsets_are_written_as_rfc_3339_does() {
        for (seconds, expected) in
            [(0, "+00:00"), (3600, "+01:00"), (-12_600, "-03:30"), (20_700, "+05:45"), (-59, "-00:00")]
        {
            assert_eq!(offset(seconds), expected);
        }
    }
}
