//! The caller's time, place and locale, as far as a request tells them.
//!
//! 1. The context stands beside `params` or in `_meta`; where both are there they are equal, or the request was refused.
//! 2. Every field is optional. One that cannot be read is ignored with a [`ContextWarning`], and the others stand.
//! 3. Fields that are not known are kept as they were written.
//! 4. The keys of vendors fill what the context did not supply: a locale, a time zone, and a place as a whole. They are
//!    one table, a row for each key.
//! 5. Nothing here shows a value: `Debug` has the names of the fields, and a warning says where and what, never which.
//!
//! Rules: C1–C4, C8, C10, C11.
//!
//! ```
//! use mcp_attune::context::ClientContext;
//! use mcp_attune_wire::message::Message;
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_sales"},
//!     "clientContext":{"timezone":"europe/vienna","locale":"de-AT","userLocation":{"country":"at"}}}"#;
//! let (context, warnings) = ClientContext::read(&Message::parse(body)?);
//! assert_eq!(context.timezone().unwrap().name(), "Europe/Vienna");
//! assert_eq!(context.user_location().unwrap().country().unwrap().as_str(), "AT");
//! assert_eq!(format!("{context:?}"), "ClientContext {timezone, locale, userLocation}");
//! assert!(warnings.is_empty());
//! # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
//! ```

// A module uses only modules above it. First what can be wrong,
mod warning;

// what a field can hold,
mod country;
mod instant;
mod place;
mod zone;

// the reading of one request,
mod vendor;
mod read;

// what it comes to, and what of it goes on.
mod forward;
mod now;

use core::fmt;

use mcp_attune_wire::message::Message;

use crate::language::Tag;

pub use country::Country;
pub use forward::{ClientContextField, ContextForwarding, ContextPlacement, CoordinatePrecision};
pub use instant::Rfc3339Instant;
pub use now::CallerTime;
pub use place::{Coordinates, UserLocation};
pub(crate) use read::VendorFilledFields;
pub use warning::{ClientContextError, ContextPosition, ContextWarning};
pub use zone::IanaTimeZone;

/// What a request tells of its caller's time, place and locale.
///
/// It lives as long as its request. `Debug` names its fields and shows none.
///
/// Rules: C2, C8.
#[derive(Clone, PartialEq, Default)]
pub struct ClientContext {
    timezone: Option<IanaTimeZone>,
    instant: Option<Rfc3339Instant>,
    locale: Option<Tag>,
    place: Option<UserLocation>,
    unknown: Vec<(Box<str>, Box<str>)>,
}

impl ClientContext {
    /// Reads the context of a message, and tells what in it is ignored.
    ///
    /// Rules: C1, C2, C3, C11.
    #[must_use]
    pub fn read(message: &Message<'_>) -> (Self, Vec<ContextWarning>) {
        let (context, warnings, _) = read::read(message);
        (context, warnings)
    }

    /// The same, with what of it comes from keys of vendors.
    pub(crate) fn read_with_origins(
        message: &Message<'_>,
    ) -> (Self, Vec<ContextWarning>, VendorFilledFields) {
        read::read(message)
    }

    /// The locale that the keys of vendors name in a message, whatever its context says.
    ///
    /// Rules: C11.
    #[must_use]
    pub fn vendor_locale(message: &Message<'_>) -> Option<Tag> {
        read::vendor_locale(message)
    }

    /// The context with what it does not have: each field where it is open.
    #[must_use]
    pub(crate) fn or_else(
        self,
        timezone: Option<IanaTimeZone>,
        locale: Option<Tag>,
        place: Option<UserLocation>,
    ) -> Self {
        Self {
            timezone: self.timezone.or(timezone),
            locale: self.locale.or(locale),
            place: self.place.or(place),
            ..self
        }
    }

    /// A context of parts that were read elsewhere.
    ///
    /// ```
    /// use mcp_attune::context::{ClientContext, IanaTimeZone};
    ///
    /// let context = ClientContext::from_parts(IanaTimeZone::parse("Europe/Vienna").ok(), None, None);
    /// assert_eq!(context.field_names().collect::<Vec<_>>(), ["timezone"]);
    /// ```
    #[must_use]
    pub fn from_parts(
        timezone: Option<IanaTimeZone>,
        instant: Option<Rfc3339Instant>,
        locale: Option<Tag>,
    ) -> Self {
        Self { timezone, instant, locale, ..Self::default() }
    }

    /// The context with a place.
    #[must_use]
    pub fn with_user_location(self, place: UserLocation) -> Self {
        Self { place: Some(place).filter(|place| !place.is_empty()), ..self }
    }

    /// `timezone`: where the caller's clock hangs.
    #[must_use]
    pub fn timezone(&self) -> Option<IanaTimeZone> {
        self.timezone
    }

    /// `currentTimestamp`: the caller's now.
    #[must_use]
    pub fn instant(&self) -> Option<&Rfc3339Instant> {
        self.instant.as_ref()
    }

    /// `locale`, with its extensions: `de-AT`, `en-US-u-fw-mon`.
    #[must_use]
    pub fn locale(&self) -> Option<&Tag> {
        self.locale.as_ref()
    }

    /// `userLocation`: where the caller is.
    #[must_use]
    pub fn user_location(&self) -> Option<&UserLocation> {
        self.place.as_ref()
    }

    /// The fields that are not known, by name, as they were written.
    pub fn unknown_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.unknown.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.field_names().next().is_none() && self.unknown.is_empty()
    }

    /// The names of the fields that are there and could be read: all that may be logged. Names that are not known
    /// are the caller's own words, and not among them.
    ///
    /// Rules: C8.
    pub fn field_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let there = [
            ("timezone", self.timezone.is_some()),
            ("currentTimestamp", self.instant.is_some()),
            ("locale", self.locale.is_some()),
            ("userLocation", self.place.is_some()),
        ];
        there.into_iter().filter(|(_, there)| *there).map(|(name, _)| name)
    }
}

impl fmt::Debug for ClientContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientContext {")?;
        for (index, name) in self.field_names().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(name)?;
        }
        if !self.unknown.is_empty() {
            write!(f, "; {} unknown", self.unknown.len())?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_names_and_no_value() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{"timezone":"Europe/Vienna",
            "currentTimestamp":"2026-11-12T14:23:00+01:00","locale":"de-AT","secret":"hush",
            "userLocation":{"city":"Linz","region":"Traun","country":"AT","coordinates":{"latitude":48.25,"longitude":14.5}}}}"#;
        let (context, warnings) = ClientContext::read(&Message::parse(body.as_bytes()).unwrap());
        assert!(warnings.is_empty());
        let shown = format!("{context:?} {context:#?}");
        let names = "ClientContext {timezone, currentTimestamp, locale, userLocation; 1 unknown}";
        assert_eq!(shown, format!("{names} {names}"));
    }

    #[test]
    fn a_warning_shows_no_value() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"openai/locale":"hush_hush"}},"clientContext":
            {"timezone":"hush","currentTimestamp":"hush","locale":"hush_hush","userLocation":{"city":"hush\n","region":"hush\n",
            "country":"hush","coordinates":{"latitude":"hush","longitude":"hush"}}}}"#;
        let (context, warnings) = ClientContext::read(&Message::parse(body.as_bytes()).unwrap());
        assert_eq!(warnings.len(), 8);
        assert!(context.is_empty());
        for warning in warnings {
            assert!(!format!("{warning} {warning:?}").contains("hush"), "{warning}");
        }
    }
}
