//! What can be wrong with an expression, and with what it names.

use core::fmt;

/// What can be read, in a few lines: for whoever wrote something else, and for the help of commands.
///
/// Rules: C5.
///
/// ```
/// assert!(mcp_attune::when::EXPRESSION_HELP.contains("last N U"));
/// ```
pub const EXPRESSION_HELP: &str = concat!(
    "  days      today, yesterday, tomorrow, day before yesterday, day after tomorrow\n",
    "  units     this U, last U, next U; U is day, week, month, quarter or year\n",
    "  several   last N U, next N U; N is 1 to 10000, or a word from one to twelve\n",
    "  one       N U ago, in N U\n",
    "  weekdays  monday, this monday, last monday, next monday\n",
    "  so far    U to date\n",
    "  past      the last U, the past U, past U; from the same time one U ago to now\n",
    "  dates     2026-11-12, 2026-11, 2026, 2026-Q4, 2026-W46\n",
    "  ranges    A..B or A to B, where A and B are any of these that do not end now\n",
);

/// Why a text is no expression that can be read.
///
/// Rules: C5.
///
/// ```
/// use mcp_attune::when::{ExpressionLanguage, TimeExpressionError, When};
///
/// let read = |text| When::parse(text, ExpressionLanguage::English).unwrap_err();
/// assert_eq!(read("soon"), TimeExpressionError::Unknown);
/// assert_eq!(read("last 0 days"), TimeExpressionError::Number);
/// assert_eq!(read("2026-02-30"), TimeExpressionError::NoSuchDate);
/// assert_eq!(read(&"a".repeat(201)), TimeExpressionError::TooLong);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TimeExpressionError {
    /// More characters than an expression can have.
    TooLong,
    /// Not in the tables: `soon`, `last 24 hours`.
    Unknown,
    /// The calendar unit before this one or the time up to now, where neither is to be assumed: `the last week`.
    Ambiguous,
    /// A number that is not 1 to 10,000: `last 0 days`, `99999 years ago`.
    Number,
    /// Written as a date, and not in the calendar: `2026-02-30`, `2025-W53`, `2026-Q5`.
    NoSuchDate,
}

/// Says what is wrong and what to write.
impl fmt::Display for TimeExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("too long for an expression of time; write at most 200 characters"),
            Self::Unknown => {
                write!(
                    f,
                    "not an expression of time that can be read; write one of\n{}",
                    EXPRESSION_HELP.trim_end()
                )
            }
            Self::Ambiguous => f.write_str(
                "ambiguous: a calendar unit, or the time up to now; write `last week` or `last 7 days`",
            ),
            Self::Number => f.write_str("not a number of units that can be counted; write 1 to 10000"),
            Self::NoSuchDate => {
                f.write_str("not in the calendar; write a date that exists, such as 2026-11-12")
            }
        }
    }
}

impl core::error::Error for TimeExpressionError {}

/// Why an expression names no interval for a caller.
///
/// Rules: C5.
///
/// ```
/// use jiff::{civil::Weekday, tz::TimeZone};
/// use mcp_attune::when::{ExpressionLanguage, ReferenceTime, TimeResolutionError, When};
///
/// let instant = "2026-11-12T13:23:00Z".parse().unwrap();
/// let now = ReferenceTime { instant, zone: TimeZone::UTC, first_day: Weekday::Monday };
/// let resolve = |text| When::parse(text, ExpressionLanguage::English).unwrap().resolve(&now).unwrap_err();
/// assert_eq!(resolve("next 10000 years"), TimeResolutionError::OutOfRange);
/// assert_eq!(resolve("tomorrow to yesterday"), TimeResolutionError::Backwards);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TimeResolutionError {
    /// Before the year -9999 or after the year 9999.
    OutOfRange,
    /// A range whose end comes before its start.
    Backwards,
}

/// Says what is wrong and what to write.
impl fmt::Display for TimeResolutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfRange => {
                "outside the calendar, which has the years -9999 to 9999; write a smaller number"
            }
            Self::Backwards => "a range that ends before it starts; write the earlier end first",
        })
    }
}

impl core::error::Error for TimeResolutionError {}

/// Why a text names no interval for a caller: one or the other of what can go wrong.
///
/// Rules: C5.
///
/// ```
/// use mcp_attune::caller::Caller;
///
/// let unclear = Caller::default().when("soon", jiff::Timestamp::UNIX_EPOCH).unwrap_err();
/// assert!(unclear.to_string().starts_with("not an expression of time that can be read; write one of"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TimeIntervalError {
    /// It cannot be read.
    Unreadable(TimeExpressionError),
    /// It can be read and names no interval.
    Unresolvable(TimeResolutionError),
}

impl fmt::Display for TimeIntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(unreadable) => unreadable.fmt(f),
            Self::Unresolvable(unresolvable) => unresolvable.fmt(f),
        }
    }
}

impl core::error::Error for TimeIntervalError {}

impl From<TimeExpressionError> for TimeIntervalError {
    fn from(unreadable: TimeExpressionError) -> Self {
        Self::Unreadable(unreadable)
    }
}

impl From<TimeResolutionError> for TimeIntervalError {
    fn from(unresolvable: TimeResolutionError) -> Self {
        Self::Unresolvable(unresolvable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_and_what_to_write() {
        let unreadable = [
            TimeExpressionError::TooLong,
            TimeExpressionError::Unknown,
            TimeExpressionError::Ambiguous,
            TimeExpressionError::Number,
            TimeExpressionError::NoSuchDate,
        ];
        let unresolvable = [TimeResolutionError::OutOfRange, TimeResolutionError::Backwards];
        let texts =
            unreadable.iter().map(ToString::to_string).chain(unresolvable.iter().map(ToString::to_string));
        for text in texts {
            assert!(text.contains("; write "), "{text}");
            assert!(text.lines().all(|line| line.len() < 100), "{text}");
        }
    }
}
