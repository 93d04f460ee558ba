//! The formatters of a server.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::handle::ValueFormatter;
use super::plain::PlainBackend;
use super::value::FormatBackend;
use crate::language::Tag;

/// The formatters of a server, shared by all of its callers.
///
/// By default they write plain forms. With the data of CLDR, `mcp_attune_format::formatters` makes them.
///
/// Rules: C6, C8.
///
/// ```
/// use jiff::{civil::date, tz::TimeZone};
/// use mcp_attune::format::{Formatters, FormatLength};
/// use mcp_attune::language::Tag;
///
/// let format = Formatters::default().for_locales([], TimeZone::UTC);
/// assert_eq!(format.date(date(2024, 9, 10), FormatLength::Long), "2024-09-10");
///
/// let formatters: Formatters = mcp_attune_format::formatters(&Tag::parse("en").unwrap());
/// let (locale, negotiated) = (Tag::parse("tlh").unwrap(), Tag::parse("de-CH").unwrap());
/// let format = formatters.for_locales([&locale, &negotiated], TimeZone::UTC);
/// assert_eq!(format.locale(), "de-CH");
/// assert_eq!(format.date(date(2024, 9, 10), FormatLength::Long), "10. September 2024");
/// ```
#[derive(Clone, Debug)]
pub struct Formatters(Arc<dyn FormatBackend>);

impl Formatters {
    /// Formats with what this backend knows of locales.
    #[must_use]
    pub fn new(backend: Arc<dyn FormatBackend>) -> Self {
        Self(backend)
    }

    /// Formats for the first of these locales that is known, else for the default. In a call those are the
    /// context's locale, where there is one, and the negotiated language.
    ///
    /// Rules: C6.
    #[must_use]
    pub fn for_locales<'a>(
        &self,
        locales: impl IntoIterator<Item = &'a Tag>,
        zone: TimeZone,
    ) -> ValueFormatter {
        ValueFormatter::new(self.0.formatter(&mut locales.into_iter(), zone))
    }
}

impl Formatters {
    /// Whether these are the very same formatters.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Writes plain forms.
impl Default for Formatters {
    fn default() -> Self {
        Self(Arc::new(PlainBackend))
    }
}
