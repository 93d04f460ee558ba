//! What now is for a caller, and where it is read.
//!
//! 1. The instant is the caller's, else the server's.
//! 2. It is read in the caller's zone, else in the offset that the caller's instant was written with, else in UTC.
//! 3. An offset that is not the zone's at that instant is told, and changes neither.
//!
//! Rules: C4.

use core::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::{ClientContext, IanaTimeZone};

/// When it is for a caller, and where. `Debug` shows neither.
///
/// Rules: C4, C8.
///
/// ```
/// use mcp_attune::context::ClientContext;
/// use mcp_attune_wire::message::Message;
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":
///     {"currentTimestamp":"2026-11-12T23:30:00+00:00","timezone":"Europe/Vienna"}}"#;
/// let (context, _) = ClientContext::read(&Message::parse(body)?);
/// let now = context.now(jiff::Timestamp::UNIX_EPOCH);
/// assert_eq!(now.civil().to_string(), "2026-11-13T00:30:00");
/// assert_eq!(now.offset_agrees, Some(false));
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallerTime {
    /// The instant.
    pub instant: Timestamp,
    /// Where it is read.
    pub zone: TimeZone,
    /// Whether the offset that the instant was written with is the zone's then; none where one of them is not there.
    pub offset_agrees: Option<bool>,
}

impl CallerTime {
    /// The date and the time that the caller's clock shows.
    #[must_use]
    pub fn civil(&self) -> DateTime {
        self.zone.to_datetime(self.instant)
    }
}

impl fmt::Debug for CallerTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerTime").field("offset_agrees", &self.offset_agrees).finish_non_exhaustive()
    }
}

impl ClientContext {
    /// Whether the offset of the caller's instant is the one that the caller's zone has then; none where one of them is
    /// not there.
    ///
    /// Rules: C4.
    #[must_use]
    pub fn offset_agrees(&self) -> Option<bool> {
        // Without an instant of the caller's there is nothing to compare, whatever the clock says.
        self.now(Timestamp::UNIX_EPOCH).offset_agrees
    }

    /// The caller's now; `clock` is what the server's clock says.
    ///
    /// Rules: C4.
    #[must_use]
    pub fn now(&self, clock: Timestamp) -> CallerTime {
        let written = self.instant.as_ref();
        let instant = written.map_or(clock, super::Rfc3339Instant::timestamp);
        let offset = written.and_then(super::Rfc3339Instant::offset);
        let zone = self.timezone.map(IanaTimeZone::time_zone);
        let agrees = |(zone, offset): (&TimeZone, Offset)| zone.to_offset(instant) == offset;
        let offset_agrees = zone.as_ref().zip(offset).map(agrees);
        let zone = zone.or_else(|| offset.map(TimeZone::fixed)).unwrap_or(TimeZone::UTC);
        CallerTime { instant, zone, offset_agrees }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Rfc3339Instant;

    #[track_caller]
    fn check(timezone: Option<&str>, timestamp: Option<&str>, local: &str, agrees: Option<bool>) {
        let context = ClientContext {
            timezone: timezone.map(|name| IanaTimeZone::parse(name).unwrap()),
            instant: timestamp.map(|text| Rfc3339Instant::parse(text).unwrap()),
            ..ClientContext::default()
        };
        let now = context.now("2026-07-01T12:00:00Z".parse().unwrap());
        let shown = now.instant.display_with_offset(now.zone.to_offset(now.instant)).to_string();
        assert_eq!((shown.as_str(), now.offset_agrees), (local, agrees), "{timezone:?} {timestamp:?}");
    }

    #[test]
    fn the_callers_instant_and_zone_come_first() {
        check(None, None, "2026-07-01T12:00:00+00:00", None);
        check(Some("Europe/Vienna"), None, "2026-07-01T14:00:00+02:00", None);
        check(None, Some("2026-11-12T14:23:00+01:00"), "2026-11-12T14:23:00+01:00", None);
        check(None, Some("2026-11-12T14:23:00-00:00"), "2026-11-12T14:23:00+00:00", None);
        check(
            Some("Europe/Vienna"),
            Some("2026-11-12T14:23:00+01:00"),
            "2026-11-12T14:23:00+01:00",
            Some(true),
        );
    }

    #[test]
    fn an_offset_that_disagrees_changes_neither() {
        check(
            Some("Europe/Vienna"),
            Some("2026-11-12T23:30:00+00:00"),
            "2026-11-13T00:30:00+01:00",
            Some(false),
        );
        check(Some("Europe/Vienna"), Some("2026-11-12T23:30:00-00:00"), "2026-11-13T00:30:00+01:00", None);
        // The offset of the other half of the year.
        check(
            Some("Europe/Vienna"),
            Some("2026-07-01T12:00:00+01:00"),
            "2026-07-01T13:00:00+02:00",
            Some(false),
        );
    }
}
