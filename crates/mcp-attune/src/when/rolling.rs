//! The same local time one unit earlier.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::TimeResolutionError;
use super::span::CalendarUnit;

/// The instant at which the clocks of the zone showed the time of `now` one unit earlier.
///
/// - A day that the earlier month does not have is its last one.
/// - A time that the clocks skipped is as much later as they went forward; of a time that they showed twice it is the
///   first. It is never after `now`.
pub(super) fn start(
    unit: CalendarUnit,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Timestamp, TimeResolutionError> {
    let span = match unit {
        CalendarUnit::Day => 1.day(),
        CalendarUnit::Week => 1.week(),
        CalendarUnit::Month => 1.month(),
        CalendarUnit::Quarter => 3.months(),
        CalendarUnit::Year => 1.year(),
    };
    let earlier = zone.to_datetime(now).checked_sub(span).map_err(|_| TimeResolutionError::OutOfRange)?;
    let start =
        zone.to_ambiguous_timestamp(earlier).compatible().map_err(|_| TimeResolutionError::OutOfRange)?;
    Ok(start.min(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: CalendarUnit, zone: &str, now: &str, expected: &str) {
        let zone = TimeZone::get(zone).unwrap();
        let start = start(unit, now.parse().unwrap(), &zone).unwrap();
        assert_eq!(start.display_with_offset(zone.to_offset(start)).to_string(), expected);
    }

    #[test]
    fn the_clocks_show_the_same_time() {
        check(CalendarUnit::Week, "Europe/Vienna", "2026-11-12T10:30:00+01:00", "2026-11-05T10:30:00+01:00");
        check(CalendarUnit::Day, "Europe/Vienna", "2026-03-29T10:30:00+02:00", "2026-03-28T10:30:00+01:00");
        check(CalendarUnit::Quarter, "UTC", "2026-11-12T10:30:00Z", "2026-08-12T10:30:00+00:00");
    }

    #[test]
    fn a_day_that_the_earlier_month_does_not_have_is_its_last() {
        check(CalendarUnit::Month, "UTC", "2026-03-31T10:30:00Z", "2026-02-28T10:30:00+00:00");
        check(CalendarUnit::Quarter, "UTC", "2026-05-31T10:30:00Z", "2026-02-28T10:30:00+00:00");
        check(CalendarUnit::Year, "UTC", "2028-02-29T10:30:00Z", "2027-02-28T10:30:00+00:00");
    }

    #[test]
    fn a_time_that_the_clocks_skipped_or_showed_twice_is_found() {
        check(CalendarUnit::Day, "Europe/Vienna", "2026-03-30T02:30:00+02:00", "2026-03-29T03:30:00+02:00");
        check(CalendarUnit::Day, "Europe/Vienna", "2026-10-26T02:30:00+01:00", "2026-10-25T02:30:00+02:00");
        // Samoa had no 30 December 2011.
        check(CalendarUnit::Day, "Pacific/Apia", "2011-12-31T12:00:00+14:00", "2011-12-31T12:00:00+14:00");
    }

    #[test]
    fn what_leaves_the_calendar_is_an_error() {
        assert_eq!(
            start(CalendarUnit::Year, Timestamp::MIN, &TimeZone::UTC),
            Err(TimeResolutionError::OutOfRange)
        );
    }
}
