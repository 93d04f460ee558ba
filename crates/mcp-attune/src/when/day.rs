//! When a day begins in a zone.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::TimeResolutionError;

/// The first instant at which the date, or a later one, is on the calendar of the zone.
///
/// - One midnight: there.
/// - Two, because the clocks went back across it: the first.
/// - None, because they went forward across it: when they did. A zone that skipped the whole day has that instant for
///   the beginning of the next day too.
pub(super) fn begin(date: Date, zone: &TimeZone) -> Result<Timestamp, TimeResolutionError> {
    let midnight = date.to_datetime(Time::midnight());
    let instant = match zone.to_ambiguous_timestamp(midnight).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(midnight),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(midnight),
        AmbiguousOffset::Gap { before, after } => {
            // Read with the offset after the change, a midnight in the gap is before the change; and the other way
            // around. Between the two lies the change.
            let (early, late) = (after.to_timestamp(midnight), before.to_timestamp(midnight));
            if let (Ok(early), Ok(late)) = (&early, &late) {
                let changes = zone.following(*early).map(|change| (change.timestamp(), change.offset()));
                let mut near = changes.take_while(|(instant, _)| instant <= late);
                if let Some((instant, _)) = near.find(|(_, offset)| *offset == after) {
                    return Ok(instant);
                }
            }
            late
        }
    };
    instant.map_err(|_| TimeResolutionError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(zone: &str, date: &str, expected: &str) {
        let begin = begin(date.parse().unwrap(), &TimeZone::get(zone).unwrap()).unwrap();
        assert_eq!(begin.to_string(), expected, "{date} in {zone}");
    }

    #[test]
    fn a_day_begins_at_midnight() {
        check("Europe/Zurich", "2026-07-01", "2026-06-30T22:00:00Z");
        check("Asia/Kathmandu", "2026-07-01", "2026-06-30T18:15:00Z");
        check("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00Z");
        check("Australia/Lord_Howe", "2026-10-05", "2026-10-04T13:00:00Z");
    }

    #[test]
    fn where_there_is_no_midnight_a_day_begins_when_the_clocks_have_gone_forward() {
        check("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z");
        check("Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00Z");
        check("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z");
        // The clocks went from 23:30 to 00:30.
        check("America/Toronto", "1919-03-31", "1919-03-31T04:30:00Z");
    }

    #[test]
    fn where_there_are_two_midnights_a_day_begins_at_the_first() {
        check("America/Havana", "2026-11-01", "2026-11-01T04:00:00Z");
        // The clocks went from 00:01 back to 23:01.
        check("America/Goose_Bay", "2010-11-07", "2010-11-07T03:00:00Z");
        // At midnight back to 23:00: the midnight after that is the only one.
        check("America/Santiago", "2026-04-05", "2026-04-05T04:00:00Z");
    }

    #[test]
    fn a_day_that_the_zone_skipped_begins_with_the_next() {
        for (zone, skipped, next) in
            [("Pacific/Apia", "2011-12-30", "2011-12-31"), ("Pacific/Kwajalein", "1993-08-21", "1993-08-22")]
        {
            let zone = TimeZone::get(zone).unwrap();
            let [skipped, next] = [skipped, next].map(|date| begin(date.parse().unwrap(), &zone).unwrap());
            assert_eq!(skipped, next);
        }
    }

    #[test]
    fn a_day_outside_the_calendar_is_an_error() {
        let zone = TimeZone::get("Pacific/Kiritimati").unwrap();
        assert_eq!(begin(Date::MIN, &zone), Err(TimeResolutionError::OutOfRange));
        assert_eq!(begin(Date::MAX, &TimeZone::UTC), Err(TimeResolutionError::OutOfRange));
    }
}
