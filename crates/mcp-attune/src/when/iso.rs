//! Dates that are the same for everybody: `2026-11-12`, `2026-11`, `2026`, `2026-Q4`, `2026-W46`.

use jiff::civil::{Date, ISOWeekDate, Weekday};

use super::TimeExpressionError;
use super::span::CalendarSpan;

/// What is written as a date, or nothing where it is something else. The text is [plain](super::text::normalize): its
/// hyphens are blanks.
pub(super) fn read(text: &str) -> Option<Result<CalendarSpan, TimeExpressionError>> {
    let mut parts = text.split(' ');
    let year = number(parts.next()?, 4)?;
    let (second, third, more) = (parts.next(), parts.next(), parts.next());
    if more.is_some() {
        return None;
    }
    let days = match (second, third) {
        (None, _) => months(year, 1, 12),
        (Some(month), Some(day)) => {
            let date = Date::new(year, small(number(month, 2)?), small(number(day, 2)?)).ok();
            date.map(|date| (date, date))
        }
        (Some(part), None) => match (part.strip_prefix('w'), part.strip_prefix('q')) {
            (Some(week), _) => week_days(year, small(number(week, 2)?)),
            (_, Some(quarter)) => {
                let quarter = small(number(quarter, 1)?);
                (1..=4).contains(&quarter).then(|| months(year, quarter * 3 - 2, quarter * 3)).flatten()
            }
            _ => {
                let month = small(number(part, 2)?);
                months(year, month, month)
            }
        },
    };
    Some(days.map(|(first, last)| CalendarSpan::Dates { first, last }).ok_or(TimeExpressionError::NoSuchDate))
}

/// Exactly so many digits.
fn number(text: &str, digits: usize) -> Option<i16> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok()).flatten()
}

/// Of at most two digits.
fn small(number: i16) -> i8 {
    i8::try_from(number).unwrap_or(i8::MAX)
}

fn months(year: i16, first: i8, last: i8) -> Option<(Date, Date)> {
    Some((Date::new(year, first, 1).ok()?, Date::new(year, last, 1).ok()?.last_of_month()))
}

fn week_days(year: i16, week: i8) -> Option<(Date, Date)> {
    let day = |day| ISOWeekDate::new(year, week, day).ok().map(ISOWeekDate::date);
    Some((day(Weekday::Monday)?, day(Weekday::Sunday)?))
}

#[cfg(test)]
mod tests {
    use super::super::text::normalize;
    use super::*;

    fn check(text: &str, expected: Option<Result<(&str, &str), TimeExpressionError>>) {
        let span = expected.map(|read| {
            read.map(|(first, last)| CalendarSpan::Dates {
                first: first.parse().unwrap(),
                last: last.parse().unwrap(),
            })
        });
        assert_eq!(read(&normalize(text)), span, "{text}");
    }

    #[test]
    fn reads_what_is_in_the_calendar() {
        check("2026-11-12", Some(Ok(("2026-11-12", "2026-11-12"))));
        check("2024-02", Some(Ok(("2024-02-01", "2024-02-29"))));
        check("2026", Some(Ok(("2026-01-01", "2026-12-31"))));
        check("2026-Q4", Some(Ok(("2026-10-01", "2026-12-31"))));
        check("2026-w46", Some(Ok(("2026-11-09", "2026-11-15"))));
        check("2026-W53", Some(Ok(("2026-12-28", "2027-01-03"))));
        check("0000-01-01", Some(Ok(("0000-01-01", "0000-01-01"))));
    }

    #[test]
    fn refuses_what_is_not() {
        for text in
            ["2026-02-29", "2026-13", "2026-00", "2026-11-31", "2025-W53", "2026-W00", "2026-Q5", "2026-Q0"]
        {
            check(text, Some(Err(TimeExpressionError::NoSuchDate)));
        }
    }

    #[test]
    fn leaves_the_rest_alone() {
        for text in [
            "",
            "26",
            "20261112",
            "2026-1-2",
            "2026-11-12-13",
            "2026-W4",
            "2026-11-12T10:00",
            "+2026",
            "2 days",
        ] {
            check(text, None);
        }
    }
}
