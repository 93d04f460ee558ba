//! Expressions such as `last week` and `3 days ago`, and the intervals that they name for a caller.
//!
//! With U a unit (day, week, month, quarter, year), N a number from 1 to 10,000 and W a weekday:
//!
//! 1. `today`, `yesterday`, `tomorrow`, `day before yesterday`, `day after tomorrow`: that day.
//! 2. `this U`, `last U`, `next U`: that whole calendar unit.
//! 3. `last N U`, `next N U`: the N whole units directly before or after the current one, which is not in it.
//! 4. `N U ago`: the one whole unit that lies N back. `in N U`: the one whole unit that lies N ahead.
//! 5. `W`, `this W`: that day of the current week. `last W`: the latest before today. `next W`: the first after.
//! 6. `U to date`: from the start of the current unit to now.
//! 7. `the last U`, `the past U`, `past U`: from the same local time one unit ago to now, unless [`PastPhrasePolicy`] says otherwise.
//!    A day that the earlier month does not have is its last: on 31 March `the last month` begins on 28 February.
//! 8. `2026-11-12`, `2026-11`, `2026`, `2026-Q4`, `2026-W46`: that day, month, year, quarter or ISO week, which begins
//!    on a Monday everywhere. The other weeks begin on the caller's first day.
//! 9. `A..B`, `A to B`: from the start of A to the end of B, whatever of 1 to 5 and 8 they are.
//!
//! Case means nothing, nor do accents, and words stand apart by blanks, `_` or `-`. Numbers to twelve may be words.
//! The same in the caller's language, where it is one of the [tables](ExpressionLanguage), which then comes before English.
//! What is in no table is an error: nothing is guessed.
//!
//! Intervals include their start and exclude their end. A day begins at its first instant in the zone: where there is
//! no midnight, when the clocks have gone forward; where there are two, at the first. A day that the zone skipped is
//! empty.
//!
//! Rules: C5, C14.
//!
//! ```
//! use jiff::{civil::Weekday, tz::TimeZone};
//! use mcp_attune::when::{ExpressionLanguage, ReferenceTime, When};
//!
//! let now = ReferenceTime {
//!     instant: "2026-11-12T14:23:00+01:00".parse().unwrap(),
//!     zone: TimeZone::get("Europe/Vienna").unwrap(),
//!     first_day: Weekday::Monday,
//! };
//! let last_week = When::parse("letzte Woche", ExpressionLanguage::German).unwrap().resolve(&now).unwrap();
//! assert_eq!(last_week.start.to_string(), "2026-11-01T23:00:00Z");
//! assert_eq!(last_week.end.to_string(), "2026-11-08T23:00:00Z");
//! assert_eq!(When::parse("last_week", ExpressionLanguage::English).unwrap().resolve(&now), Ok(last_week));
//! ```

// A module uses only modules above it. First what can go wrong,
mod fault;

// the calendar, and the zone that it is read in,
mod day;
mod span;
mod rolling;

// what is written: letters, dates, phrases, tables of phrases,
mod iso;
mod phrase;
mod text;

mod table;
mod language;

// and the flow: a text is read, and resolved for a caller.
mod read;

use core::fmt;

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use crate::language::Tag;
use crate::{context, week};

pub use fault::{EXPRESSION_HELP, TimeExpressionError, TimeIntervalError, TimeResolutionError};
pub use language::ExpressionLanguage;
use span::{CalendarSpan, CalendarUnit};

/// When it is for a caller, and where. `Debug` shows neither.
///
/// Rules: C4, C5, C8.
///
/// ```
/// use jiff::{civil::Weekday, tz::TimeZone};
/// use mcp_attune::when::ReferenceTime;
///
/// let now = ReferenceTime { instant: "2026-11-12T13:23:00Z".parse().unwrap(), zone: TimeZone::UTC, first_day: Weekday::Sunday };
/// assert_eq!(now.zone.to_datetime(now.instant).date().to_string(), "2026-11-12");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ReferenceTime {
    /// The instant.
    pub instant: Timestamp,
    /// The zone in which it is read.
    pub zone: TimeZone,
    /// The day that a week begins on where the caller is.
    pub first_day: Weekday,
}

impl ReferenceTime {
    /// A caller's now, with the week of their locale; Monday is the first day of a week that nobody knows.
    ///
    /// ```
    /// use jiff::{Timestamp, civil::Weekday};
    /// use mcp_attune::{context::ClientContext, language::Tag, when::ReferenceTime};
    ///
    /// let context = ClientContext::from_parts(None, None, Tag::parse("en-US").ok());
    /// let now = ReferenceTime::of(context.now(Timestamp::UNIX_EPOCH), context.locale());
    /// assert_eq!(now.first_day, Weekday::Sunday);
    /// ```
    #[must_use]
    pub fn of(now: context::CallerTime, locale: Option<&Tag>) -> Self {
        let first_day = locale.map_or(Weekday::Monday, week::first_day);
        Self { instant: now.instant, zone: now.zone, first_day }
    }
}

impl fmt::Debug for ReferenceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReferenceTime").finish_non_exhaustive()
    }
}

/// From one instant, which is in it, to another, which is not. Empty where they are the same; never backwards.
///
/// Rules: C5.
///
/// ```
/// use jiff::{civil::Weekday, tz::TimeZone};
/// use mcp_attune::when::{ExpressionLanguage, ReferenceTime, When};
///
/// // Samoa went from Thursday to Saturday.
/// let apia = ReferenceTime {
///     instant: "2011-12-31T12:00:00+14:00".parse().unwrap(),
///     zone: TimeZone::get("Pacific/Apia").unwrap(),
///     first_day: Weekday::Monday,
/// };
/// let friday = When::parse("yesterday", ExpressionLanguage::English).unwrap().resolve(&apia).unwrap();
/// assert_eq!(friday.start, friday.end);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Interval {
    /// The first instant.
    pub start: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
}

/// What phrases such as `the last week` and `past month` mean, which could be the calendar unit before this one or the
/// time up to now.
///
/// Rules: C14.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PastPhrasePolicy {
    /// From the same local time one unit earlier to now.
    #[default]
    Rolling,
    /// The calendar unit before the current one, as `last week`.
    Calendar,
    /// Neither: the expression is refused, and the error says what to write.
    Refuse,
}

/// An expression that was read, and means something at any time and in any zone.
///
/// Rules: C5.
///
/// ```
/// use mcp_attune::when::{ExpressionLanguage, TimeExpressionError, When};
///
/// assert_eq!(When::parse("先週", ExpressionLanguage::Japanese), When::parse("Last Week", ExpressionLanguage::Japanese));
/// assert_eq!(When::parse("the other day", ExpressionLanguage::English), Err(TimeExpressionError::Unknown));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct When(ExpressionMeaning);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ExpressionMeaning {
    Span(CalendarSpan),
    /// From the start of one to the end of the other.
    Between(CalendarSpan, CalendarSpan),
    /// From the start of the current unit to now.
    ToDate(CalendarUnit),
    /// From the same local time one unit ago to now.
    Rolling(CalendarUnit),
}

impl When {
    /// The most characters that an expression can have.
    pub const MAX_LEN: usize = 200;
    /// The largest number in one.
    pub const MAX_NUMBER: u32 = 10_000;

    /// Reads an expression in the caller's language, or in English.
    ///
    /// Rules: C5.
    ///
    /// ```
    /// use mcp_attune::when::{ExpressionLanguage, When};
    ///
    /// let ago = When::parse("vor drei Tagen", ExpressionLanguage::German).unwrap();
    /// assert_eq!(When::parse("3 days ago", ExpressionLanguage::German), Ok(ago));
    /// ```
    ///
    /// # Errors
    ///
    /// What is in no table, too long, or names a number or a date that cannot be.
    pub fn parse(text: &str, language: ExpressionLanguage) -> Result<Self, TimeExpressionError> {
        read::read(text, language).map(Self)
    }

    /// The expression with `the last week` and its like read as `past` says. Without this they are rolling.
    ///
    /// Rules: C14.
    ///
    /// ```
    /// use mcp_attune::when::{ExpressionLanguage, PastPhrasePolicy, TimeExpressionError, When};
    ///
    /// let the_last_week = When::parse("the last week", ExpressionLanguage::English).unwrap();
    /// assert_eq!(the_last_week.with_past_policy(PastPhrasePolicy::Calendar), When::parse("last week", ExpressionLanguage::English));
    /// assert_eq!(the_last_week.with_past_policy(PastPhrasePolicy::Refuse), Err(TimeExpressionError::Ambiguous));
    /// ```
    ///
    /// # Errors
    ///
    /// [`TimeExpressionError::Ambiguous`] for such an expression, where it is to be refused.
    pub fn with_past_policy(self, past: PastPhrasePolicy) -> Result<Self, TimeExpressionError> {
        match (self.0, past) {
            (ExpressionMeaning::Rolling(unit), PastPhrasePolicy::Calendar) => {
                Ok(Self(ExpressionMeaning::Span(CalendarSpan::Units { unit, from: -1, count: 1 })))
            }
            (ExpressionMeaning::Rolling(_), PastPhrasePolicy::Refuse) => Err(TimeExpressionError::Ambiguous),
            _ => Ok(self),
        }
    }

    /// The interval that the expression names for a caller.
    ///
    /// Rules: C5, C14.
    ///
    /// ```
    /// use jiff::{civil::Weekday, tz::TimeZone};
    /// use mcp_attune::when::{ExpressionLanguage, ReferenceTime, When};
    ///
    /// let instant = "2026-03-29T12:00:00Z".parse().unwrap();
    /// let now = ReferenceTime { instant, zone: TimeZone::get("Europe/Zurich").unwrap(), first_day: Weekday::Monday };
    /// let today = When::parse("today", ExpressionLanguage::English).unwrap().resolve(&now).unwrap();
    /// assert_eq!(today.start.duration_until(today.end).as_hours(), 23);
    /// ```
    ///
    /// # Errors
    ///
    /// An interval that leaves the calendar, or one that would end before it starts.
    pub fn resolve(&self, now: &ReferenceTime) -> Result<Interval, TimeResolutionError> {
        let today = now.zone.to_datetime(now.instant).date();
        let begin = |date| day::begin(date, &now.zone);
        match self.0 {
            ExpressionMeaning::Span(span) => {
                let (first, after) = span.dates(today, now.first_day)?;
                Ok(Interval { start: begin(first)?, end: begin(after)? })
            }
            ExpressionMeaning::Between(from, to) => {
                let (first, _) = from.dates(today, now.first_day)?;
                let (_, after) = to.dates(today, now.first_day)?;
                if after <= first {
                    return Err(TimeResolutionError::Backwards);
                }
                Ok(Interval { start: begin(first)?, end: begin(after)? })
            }
            ExpressionMeaning::ToDate(unit) => {
                Ok(Interval { start: begin(unit.start(today, now.first_day)?)?, end: now.instant })
            }
            ExpressionMeaning::Rolling(unit) => {
                Ok(Interval { start: rolling::start(unit, now.instant, &now.zone)?, end: now.instant })
            }
        }
    }
}
