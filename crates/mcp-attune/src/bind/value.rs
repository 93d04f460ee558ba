//! What an argument becomes for a caller, as JSON.

use core::cell::OnceCell;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mcp_attune_wire::json::JsonQuoted;

use super::{BoundContextPart, InstantNotation, IntervalEdge};
use crate::caller::Caller;
use crate::context::{CallerTime, CoordinatePrecision, Coordinates, Country, IanaTimeZone};
use crate::when::{ExpressionLanguage, Interval};

/// A caller, and what time it is, which is looked up once and only where somebody asks.
pub(super) struct BindingCaller<'c> {
    pub(super) caller: &'c Caller,
    pub(super) precision: CoordinatePrecision,
    clock: Timestamp,
    now: OnceCell<CallerTime>,
}

impl<'c> BindingCaller<'c> {
    pub(super) fn new(caller: &'c Caller, precision: CoordinatePrecision, clock: Timestamp) -> Self {
        Self { caller, precision, clock, now: OnceCell::new() }
    }

    pub(super) fn now(&self) -> &CallerTime {
        self.now.get_or_init(|| self.caller.context().now(self.clock))
    }

    /// What the context says.
    pub(super) fn context_value(&self, from: BoundContextPart) -> Option<String> {
        let context = self.caller.context();
        let place = context.user_location();
        let knows_time = context.timezone().is_some() || context.instant().is_some();
        match from {
            BoundContextPart::Timezone => context.timezone().map(IanaTimeZone::name).map(quoted),
            BoundContextPart::Offset | BoundContextPart::Now(_) => {
                knows_time.then(|| self.time(from)).flatten()
            }
            BoundContextPart::Locale => context.locale().map(|locale| quoted(locale.as_str())),
            BoundContextPart::Language => self.language().map(quoted),
            BoundContextPart::City => place?.city().map(quoted),
            BoundContextPart::Region => place?.region().map(quoted),
            BoundContextPart::Country => place?.country().map(Country::as_str).map(quoted),
            BoundContextPart::Latitude => self.coordinates().map(|place| place.latitude().to_string()),
            BoundContextPart::Longitude => self.coordinates().map(|place| place.longitude().to_string()),
        }
    }

    /// What UTC and the server's clock say, for what a context without time and zone leaves open.
    pub(super) fn assumed_value(&self, from: BoundContextPart) -> Option<String> {
        match from {
            BoundContextPart::Timezone => Some(quoted("UTC")),
            other => self.time(other),
        }
    }

    fn time(&self, from: BoundContextPart) -> Option<String> {
        match from {
            BoundContextPart::Offset => {
                let now = self.now();
                Some(quoted(&offset(now.zone.to_offset(now.instant).seconds())))
            }
            BoundContextPart::Now(written) => Some(instant(self.now().instant, &self.now().zone, written)),
            _ => None,
        }
    }

    /// The language of the range with the highest weight, the first of them where there are several.
    fn language(&self) -> Option<&'c str> {
        // One letter is no language: `x-private`, `i-klingon`.
        let named = self.caller.preference()?.wanted_ranges().filter(|(range, _)| range.primary().len() > 1);
        named.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(range, _)| range.primary())
    }

    /// The language that the caller writes expressions of time in, beside English.
    pub(super) fn interval_language(&self) -> ExpressionLanguage {
        self.caller.expression_language()
    }

    fn coordinates(&self) -> Option<Coordinates> {
        let place = self.caller.context().user_location()?.coordinates()?;
        match self.precision {
            CoordinatePrecision::Off => None,
            CoordinatePrecision::Coarse => Some(place.rounded()),
            CoordinatePrecision::Exact => Some(place),
        }
    }
}

fn quoted(text: &str) -> String {
    JsonQuoted(text).to_string()
}

/// `+01:00`, as RFC 3339 writes it.
fn offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// An instant as it is written in a zone.
fn instant(instant: Timestamp, zone: &TimeZone, written: InstantNotation) -> String {
    // Few servers read fractions of a second, and none needs them.
    let second = instant.as_millisecond().div_euclid(1000);
    let whole = Timestamp::from_second(second).unwrap_or(instant);
    match written {
        InstantNotation::DateTime => quoted(&whole.display_with_offset(zone.to_offset(whole)).to_string()),
        InstantNotation::Date => quoted(&zone.to_datetime(instant).date().to_string()),
        InstantNotation::Utc => quoted(&whole.to_string()),
        InstantNotation::Unix => second.to_string(),
        InstantNotation::UnixMillis => instant.as_millisecond().to_string(),
    }
}

/// An end of an interval as it is written in a zone; none where it leaves the calendar.
pub(super) fn write_interval_edge(
    interval: Interval,
    part: IntervalEdge,
    zone: &TimeZone,
    written: InstantNotation,
) -> Option<String> {
    let Interval { start, end } = interval;
    let before = |step: SignedDuration| end.checked_sub(step).ok();
    match (part, written) {
        (IntervalEdge::Start, _) => Some(instant(start, zone, written)),
        // A day is in an interval where an instant of it is; the first after it may not have begun when the interval
        // ends, as in `week to date`.
        (IntervalEdge::After, InstantNotation::Date) if start < end => {
            let last = zone.to_datetime(before(SignedDuration::from_nanos(1))?).date();
            Some(quoted(&last.tomorrow().ok()?.to_string()))
        }
        (IntervalEdge::After, _) => Some(instant(end, zone, written)),
        (IntervalEdge::Last, InstantNotation::Date) => {
            Some(instant(before(SignedDuration::from_nanos(1))?, zone, written))
        }
        (IntervalEdge::Last, InstantNotation::UnixMillis) => {
            Some(instant(before(SignedDuration::from_millis(1))?, zone, written))
        }
        (IntervalEdge::Last, _) => Some(instant(before(SignedDuration::from_secs(1))?, zone, written)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use InstantNotation::{Date, DateTime, Unix, UnixMillis, Utc};

    #[track_caller]
    fn check(part: IntervalEdge, written: InstantNotation, ends: [&str; 2], zone: &str, expected: &str) {
        let [start, end] = ends.map(|end| end.parse().unwrap());
        let zone = TimeZone::get(zone).unwrap();
        assert_eq!(
            write_interval_edge(Interval { start, end }, part, &zone, written).as_deref(),
            Some(expected)
        );
    }

    /// The day on which Zurich's clocks go forward, and the one on which Los Angeles' go back.
    const SPRING: [&str; 2] = ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"];
    const AUTUMN: [&str; 2] = ["2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"];

    #[test]
    fn the_ends_of_a_day_that_is_not_24_hours_long() {
        let zurich = |part, written, expected| check(part, written, SPRING, "Europe/Zurich", expected);
        zurich(IntervalEdge::Start, DateTime, "\"2026-03-29T00:00:00+01:00\"");
        zurich(IntervalEdge::After, DateTime, "\"2026-03-30T00:00:00+02:00\"");
        zurich(IntervalEdge::Last, DateTime, "\"2026-03-29T23:59:59+02:00\"");
        zurich(IntervalEdge::Start, Date, "\"2026-03-29\"");
        zurich(IntervalEdge::After, Date, "\"2026-03-30\"");
        zurich(IntervalEdge::Last, Date, "\"2026-03-29\"");
        zurich(IntervalEdge::Start, Utc, "\"2026-03-28T23:00:00Z\"");
        zurich(IntervalEdge::After, Unix, "1774821600");
        zurich(IntervalEdge::Last, Unix, "1774821599");
        zurich(IntervalEdge::Last, UnixMillis, "1774821599999");
        let angeles = |part, written, expected| check(part, written, AUTUMN, "America/Los_Angeles", expected);
        angeles(IntervalEdge::Start, DateTime, "\"2026-11-01T00:00:00-07:00\"");
        angeles(IntervalEdge::After, DateTime, "\"2026-11-02T00:00:00-08:00\"");
        angeles(IntervalEdge::Last, DateTime, "\"2026-11-01T23:59:59-08:00\"");
        angeles(IntervalEdge::Last, Date, "\"2026-11-01\"");
        angeles(IntervalEdge::After, Date, "\"2026-11-02\"");
    }

    #[test]
    fn an_interval_that_ends_in_the_middle_of_a_day_has_that_day_in_it() {
        let to_date = ["2026-11-08T23:00:00Z", "2026-11-12T13:23:00.25Z"];
        let check = |part, written, expected| check(part, written, to_date, "Europe/Zurich", expected);
        check(IntervalEdge::Last, Date, "\"2026-11-12\"");
        check(IntervalEdge::After, Date, "\"2026-11-13\"");
        check(IntervalEdge::After, DateTime, "\"2026-11-12T14:23:00+01:00\"");
        check(IntervalEdge::After, UnixMillis, "1794489780250");
    }

    #[test]
    fn an_empty_interval_begins_where_it_ends() {
        // Samoa skipped a Friday.
        let friday = ["2011-12-30T10:00:00Z"; 2];
        check(IntervalEdge::Start, Date, friday, "Pacific/Apia", "\"2011-12-31\"");
        check(IntervalEdge::After, Date, friday, "Pacific/Apia", "\"2011-12-31\"");
        check(IntervalEdge::Last, Date, friday, "Pacific/Apia", "\"2011-12-29\"");
    }

    #[test]
    fn an_instant_before_1970_is_rounded_down_too() {
        let early = ["1969-12-31T23:59:58.5Z"; 2];
        check(IntervalEdge::Start, Unix, early, "UTC", "-2");
        check(IntervalEdge::Start, Utc, early, "UTC", "\"1969-12-31T23:59:58Z\"");
        check(IntervalEdge::Start, UnixMillis, early, "UTC", "-1500");
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
