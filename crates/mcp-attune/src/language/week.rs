//! The day that a week begins on in a region, by CLDR.

use jiff::civil::Weekday;

use super::cldr::WEEK_BEGINS;
use super::subtag::Subtag;

/// The first day of a week in a region; Monday, as in ISO 8601, where nothing else is known.
pub(crate) fn week_begins(region: &str) -> Weekday {
    let region = Subtag::new(region);
    let found = WEEK_BEGINS.binary_search_by_key(&region, |(region, _)| *region);
    found.ok().and_then(|at| WEEK_BEGINS.get(at)).map_or(Weekday::Monday, |(_, day)| *day)
}
