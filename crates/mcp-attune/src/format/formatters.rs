//! The formatters of a server, made when first needed.

use core::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::handle::Format;
use super::kept::Kept;
use super::locale::Known;
use crate::language::Tag;

/// The formatters of a server, shared by all of its callers.
///
/// Rules: C6, C8.
///
/// ```
/// use jiff::{civil::date, tz::TimeZone};
/// use mcp_attune::format::{Formatters, Length};
/// use mcp_attune::language::Tag;
///
/// let formatters = Formatters::new(&Tag::parse("en").unwrap());
/// let (locale, negotiated) = (Tag::parse("tlh").unwrap(), Tag::parse("de-CH").unwrap());
/// let format = formatters.format([&locale, &negotiated], TimeZone::UTC);
/// assert_eq!(format.locale(), "de-CH");
/// assert_eq!(format.date(date(2024, 9, 10), Length::Long), "10. September 2024");
/// ```
#[derive(Clone)]
pub struct Formatters {
    kept: Arc<Kept>,
    default: Arc<Known>,
}

impl Formatters {
    /// How many formatters are kept: twenty for each of fifty locales, and some.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use mcp_attune::format::Formatters;
    ///
    /// assert_eq!(Formatters::CAPACITY, 1024);
    /// ```
    pub const CAPACITY: u16 = Kept::CAPACITY;

    /// No formatter yet; the locale that stands in where none of those asked for is known. Where CLDR does not know
    /// that one either, English does.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use jiff::tz::TimeZone;
    /// use mcp_attune::format::Formatters;
    /// use mcp_attune::language::Tag;
    ///
    /// let formatters = Formatters::new(&Tag::parse("tlh").unwrap());
    /// assert_eq!(formatters.format([], TimeZone::UTC).locale(), "en");
    /// ```
    #[must_use]
    pub fn new(default: &Tag) -> Self {
        let default = Known::first([default]).unwrap_or_else(Known::english);
        Self { kept: Arc::new(Kept::new()), default: Arc::new(default) }
    }

    /// Formats for the first of these locales that is known, else for the default. In a call those are the
    /// context's locale, where there is one, and the negotiated language.
    ///
    /// Rules: C6.
    ///
    /// ```
    /// use jiff::tz::TimeZone;
    /// use mcp_attune::format::Formatters;
    /// use mcp_attune::language::Tag;
    ///
    /// let formatters = Formatters::new(&Tag::parse("sv").unwrap());
    /// let french = Tag::parse("fr").unwrap();
    /// assert_eq!(formatters.format([&french], TimeZone::UTC).locale(), "fr");
    /// assert_eq!(formatters.format([], TimeZone::UTC).locale(), "sv");
    /// ```
    #[must_use]
    pub fn format<'a>(&self, locales: impl IntoIterator<Item = &'a Tag>, zone: TimeZone) -> Format {
        let known = Known::first(locales).map_or_else(|| Arc::clone(&self.default), Arc::new);
        Format::new(Arc::clone(&self.kept), known, zone)
    }
}

/// English where nothing is known.
impl Default for Formatters {
    fn default() -> Self {
        Self { kept: Arc::new(Kept::new()), default: Arc::new(Known::english()) }
    }
}

impl fmt::Debug for Formatters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Formatters({} of {}, {})", self.kept.len(), Self::CAPACITY, self.default.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Currency, List, Number};
    use super::*;

    fn tag(text: &str) -> Tag {
        Tag::parse(text).unwrap()
    }

    #[test]
    fn keeps_a_formatter_for_the_next_caller() {
        let formatters = Formatters::new(&tag("en"));
        for _ in 0..3 {
            let format = formatters.format([&tag("de-CH")], TimeZone::UTC);
            assert_eq!(format.list(&["a", "b"], List::And), "a und b");
        }
        assert_eq!(formatters.kept.len(), 1);
    }

    #[test]
    fn keeps_no_more_than_it_has_room_for() {
        let formatters = Formatters::new(&tag("en"));
        let format = formatters.format([], TimeZone::UTC);
        let one = Number::from(1);
        for number in 0..3000_u16 {
            let letter = |place: u16| char::from(b'A' + u8::try_from(number / place % 26).unwrap());
            let code: String = [letter(676), letter(26), letter(1)].iter().collect();
            assert!(format.currency(&one, Currency::parse(&code).unwrap()).contains('1'));
        }
        let kept = formatters.kept.len();
        assert!((500..=usize::from(Formatters::CAPACITY)).contains(&kept), "{kept}");
    }

    #[test]
    fn is_shared_by_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Formatters>();
        check::<Format>();
    }
}
