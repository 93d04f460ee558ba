//! Whole units of the calendar, counted from today.

use jiff::civil::{Date, Weekday};
use jiff::{SignedDuration, ToSpan as _};

use super::TimeResolutionError;
use super::TimeResolutionError::OutOfRange;

/// What can be counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum CalendarUnit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl CalendarUnit {
    /// The first day of the unit that a date is in.
    pub(super) fn start(self, date: Date, first_day: Weekday) -> Result<Date, TimeResolutionError> {
        let month = |month| Date::new(date.year(), month, 1).map_err(|_| OutOfRange);
        match self {
            Self::Day => Ok(date),
            Self::Week => add_days(date, -i64::from(first_day.until(date.weekday()))),
            Self::Month => Ok(date.first_of_month()),
            Self::Quarter => month((date.month() - 1) / 3 * 3 + 1),
            Self::Year => Ok(date.first_of_year()),
        }
    }

    /// The first day of the unit that begins so many units after one that begins on a date.
    fn start_after(self, start: Date, count: i32) -> Result<Date, TimeResolutionError> {
        let months = |each: i32| start.checked_add((count * each).months()).map_err(|_| OutOfRange);
        match self {
            Self::Day => add_days(start, count.into()),
            Self::Week => add_days(start, i64::from(count) * 7),
            Self::Month => months(1),
            Self::Quarter => months(3),
            Self::Year => months(12),
        }
    }
}

fn add_days(date: Date, days: i64) -> Result<Date, TimeResolutionError> {
    date.checked_add(SignedDuration::from_hours(days * 24)).map_err(|_| OutOfRange)
}

/// Which of the days of one name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum RelativeWeekday {
    /// The one in the current week.
    This,
    /// The latest before today.
    Last,
    /// The first after today.
    Next,
}

/// One or more whole days in a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum CalendarSpan {
    /// So many units, the first of which is so many after the current one.
    Units { unit: CalendarUnit, from: i32, count: i32 },
    /// One day by its name.
    Weekday { day: Weekday, which: RelativeWeekday },
    /// The same for everybody, both ends included.
    Dates { first: Date, last: Date },
}

impl CalendarSpan {
    /// The first day, and the first after.
    pub(super) fn dates(self, today: Date, first_day: Weekday) -> Result<(Date, Date), TimeResolutionError> {
        let following = |date: Date| date.tomorrow().map_err(|_| OutOfRange);
        match self {
            Self::Units { unit, from, count } => {
                let current = unit.start(today, first_day)?;
                Ok((unit.start_after(current, from)?, unit.start_after(current, from.saturating_add(count))?))
            }
            Self::Weekday { day, which } => {
                let date = match which {
                    RelativeWeekday::This => {
                        add_days(CalendarUnit::Week.start(today, first_day)?, first_day.until(day).into())?
                    }
                    RelativeWeekday::Last => add_days(today, -days_between(day, today.weekday()))?,
                    RelativeWeekday::Next => add_days(today, days_between(today.weekday(), day))?,
                };
                Ok((date, following(date)?))
            }
            Self::Dates { first, last } => Ok((first, following(last)?)),
        }
    }
}

/// From one weekday to the next of another name, or of the same: 1 to 7.
fn days_between(from: Weekday, to: Weekday) -> i64 {
    match from.until(to) {
        0 => 7,
        days => days.into(),
    }
}
