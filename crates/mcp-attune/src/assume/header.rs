//! The headers that an operator trusts to say something of callers.

use core::str;
use std::sync::Arc;

use super::source::{CallerField, CallerSource};
use super::values::CallerValues;
use crate::context::{Country, IanaTimeZone, UserLocation};
use crate::language::{AcceptLanguage, Tag};

/// No zone of the database has a longer name.
const MAX_ZONE_BYTES: usize = 64;

/// The names of the trusted headers, in lower case. None of them is trusted by default.
///
/// Rules: A1, A2.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrustedHeaders {
    /// The languages, in the form of `Accept-Language`.
    pub language: Option<Arc<str>>,
    /// The time zone, by its IANA name.
    pub timezone: Option<Arc<str>>,
    /// The locale, a BCP 47 tag.
    pub locale: Option<Arc<str>>,
    /// The country, by ISO 3166-1.
    pub country: Option<Arc<str>>,
    /// The region.
    pub region: Option<Arc<str>>,
    /// The city.
    pub city: Option<Arc<str>>,
}

impl TrustedHeaders {
    /// Whether none is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    /// The names of all that are trusted.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let Self { language, timezone, locale, country, region, city } = self;
        [language, timezone, locale, country, region, city].into_iter().flatten()
    }

    /// What the headers of a request say. `lines` finds the lines of a name. A header that comes more than once says
    /// nothing, but for the languages, whose lines are one list (RFC 9110, 5.3).
    pub(super) fn read<'h>(&self, lines: &dyn Fn(&str) -> Vec<&'h [u8]>) -> CallerValues {
        let text = |name: &Option<Arc<str>>| {
            let lines = lines(name.as_deref()?);
            let [line] = lines.as_slice() else { return None };
            str::from_utf8(line).ok().map(str::trim)
        };
        let zone = text(&self.timezone).filter(|zone| zone.len() <= MAX_ZONE_BYTES);
        let country = text(&self.country).and_then(|country| Country::parse(country).ok());
        let (region, city) = (text(&self.region), text(&self.city));
        let named = |city, region, country| UserLocation::named(city, region, country).ok();
        // One name that cannot be used takes no other with it.
        let city = city.filter(|city| named(Some(*city), None, None).is_some());
        let region = region.filter(|region| named(None, Some(*region), None).is_some());
        CallerValues {
            language: self.language.as_deref().and_then(|name| read_language(&lines(name))),
            timezone: zone.and_then(|zone| IanaTimeZone::parse(zone).ok()),
            locale: text(&self.locale).and_then(|locale| Tag::parse(locale).ok()),
            place: named(city, region, country).filter(|place| !place.is_empty()),
            features: None,
        }
    }

    /// Which header a field is read from. The place is named after the most general of its headers.
    pub(super) fn source(&self, field: CallerField) -> CallerSource {
        let name = match field {
            CallerField::Language => self.language.as_ref(),
            CallerField::Timezone => self.timezone.as_ref(),
            CallerField::Locale => self.locale.as_ref(),
            CallerField::Place => self.country.as_ref().or(self.region.as_ref()).or(self.city.as_ref()),
            CallerField::Now | CallerField::Features => None,
        };
        CallerSource::Header(name.cloned().unwrap_or_default())
    }

    /// The headers that an answer may depend on: those of language and locale wherever languages are chosen, the
    /// others where they took part.
    pub(crate) fn vary_names(&self, took_part: impl Fn(CallerField) -> bool) -> Vec<Arc<str>> {
        let Self { language, timezone, locale, country, region, city } = self;
        let (zone, place) = (took_part(CallerField::Timezone), took_part(CallerField::Place));
        let each = [
            (language, true),
            (locale, true),
            (timezone, zone),
            (country, place),
            (region, place),
            (city, place),
        ];
        each.into_iter().filter(|(_, counts)| *counts).filter_map(|(name, _)| name.clone()).collect()
    }
}

/// A lone `*`, which many programs send without having been told, says nothing, and neither does an empty list.
fn read_language(lines: &[&[u8]]) -> Option<AcceptLanguage> {
    let length: usize = lines.iter().map(|line| line.len()).sum();
    if length > AcceptLanguage::MAX_LEN {
        return None;
    }
    let lines: Option<Vec<&str>> = lines.iter().map(|line| str::from_utf8(line).ok()).collect();
    let text = lines?.join(", ");
    let preference = AcceptLanguage::parse(text.trim()).ok()?;
    (!preference.is_empty() && preference.as_str() != "*").then_some(preference)
}
