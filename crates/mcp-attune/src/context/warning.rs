//! What can be wrong with a part of a context. Nothing here says what stood there.

use core::fmt;

use mcp_attune_wire::protocol::meta;

use crate::language::LanguageTagError;

/// Why a part of a context is not used.
///
/// Rules: C3, C8.
///
/// ```
/// use mcp_attune::context::{ClientContextError, IanaTimeZone};
///
/// assert_eq!(IanaTimeZone::parse("+01:00"), Err(ClientContextError::BareOffset));
/// assert!(ClientContextError::BareOffset.to_string().contains("Europe/Vienna"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ClientContextError {
    /// Not an object.
    NotAnObject,
    /// A context of more than 64 KiB.
    TooLarge,
    /// Not a string, or one with half a surrogate pair.
    NotText,
    /// Not a number.
    NotANumber,
    /// Not the name of a zone: `Mars/Olympus`.
    UnknownZone,
    /// An offset in place of a zone, which is right for a part of the year only: `+01:00`.
    BareOffset,
    /// Not an instant by RFC 3339: `yesterday`, `12026-01-01T00:00:00Z`, the 30th of February.
    NotAnInstant,
    /// An instant without an offset: `2026-11-12T14:23:00`.
    NoOffset,
    /// A leap second, which clocks and calendars do not know: `2016-12-31T23:59:60Z`.
    LeapSecond,
    /// Not a language tag.
    Locale(LanguageTagError),
    /// Not a country by ISO 3166-1: `UK`, `Austria`.
    UnknownCountry,
    /// A text without a character.
    Empty,
    /// A text of more than 256 characters.
    TooLong,
    /// A text with control characters.
    ControlCharacter,
    /// Not a latitude or a longitude.
    OutOfRange,
    /// A latitude without a longitude, or the other way round.
    Half,
}

impl ClientContextError {
    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match self {
            Self::NotAnObject => "not an object",
            Self::TooLarge => "over 64 KiB",
            Self::NotText => "not a string of whole characters",
            Self::NotANumber => "not a number",
            Self::UnknownZone => "not a time zone",
            Self::BareOffset => "an offset and not a time zone",
            Self::NotAnInstant => "not an instant",
            Self::NoOffset => "a time without an offset",
            Self::LeapSecond => "a leap second, which the calendar here does not have",
            Self::Locale(wrong) => wrong.what(),
            Self::UnknownCountry => "not a country",
            Self::Empty => "empty",
            Self::TooLong => "too long",
            Self::ControlCharacter => "a text with control characters",
            Self::OutOfRange => "out of range",
            Self::Half => "half a pair",
        }
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotAnObject => "write {…}",
            Self::TooLarge => "send less",
            Self::NotText => "write one",
            Self::NotANumber => "write degrees, such as 48.2",
            Self::UnknownZone | Self::BareOffset => {
                "write a name of the IANA database, such as Europe/Vienna"
            }
            Self::NotAnInstant => "write one by RFC 3339 with an offset, such as 2026-11-12T14:23:00+01:00",
            Self::NoOffset => {
                "write one by RFC 3339, such as 2026-11-12T14:23:00+01:00 or 2026-11-12T13:23:00Z"
            }
            Self::LeapSecond => "write second 59",
            Self::Locale(wrong) => wrong.hint(),
            Self::UnknownCountry => "write its two letters by ISO 3166-1, such as AT",
            Self::Empty => "leave it out",
            Self::TooLong => "write at most 256 characters",
            Self::ControlCharacter => "write it without",
            Self::OutOfRange => "write a latitude from -90 to 90 and a longitude from -180 to 180",
            Self::Half => "write latitude and longitude",
        }
    }
}

impl fmt::Display for ClientContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.hint())
    }
}

impl core::error::Error for ClientContextError {}

/// Something in a context that is not used, and why; the rest stands.
///
/// Rules: C3, C8.
///
/// ```
/// use mcp_attune::context::ClientContext;
/// use mcp_attune_wire::message::Message;
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{"timezone":"Mars/Olympus","locale":"de-AT"}}"#;
/// let (context, warnings) = ClientContext::read(&Message::parse(body)?);
/// assert_eq!(context.locale().unwrap().as_str(), "de-AT");
/// assert_eq!(
///     warnings[0].to_string(),
///     "clientContext.timezone is ignored: it is not a time zone; write a name of the IANA database, such as Europe/Vienna",
/// );
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct ContextWarning {
    /// Where the context stands.
    pub source: ContextPosition,
    /// The field in it, such as `userLocation.country`; empty for the whole.
    pub field: &'static str,
    /// What is wrong with it.
    pub wrong: ClientContextError,
}

impl fmt::Display for ContextWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, field, wrong } = self;
        let dot = if field.is_empty() { "" } else { "." };
        write!(f, "{source}{dot}{field} is ignored: it is {wrong}")
    }
}

/// Where a part of a context stands in a request.
///
/// Rules: C1, C11.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ContextPosition {
    /// Beside `params`.
    Beside,
    /// In `_meta`, under the key of MCP.
    Meta,
    /// In `_meta`, under this key of a vendor.
    Vendor(&'static str),
}

impl fmt::Display for ContextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beside => f.write_str("clientContext"),
            Self::Meta => write!(f, "_meta[\"{}\"]", meta::CLIENT_CONTEXT),
            Self::Vendor(key) => write!(f, "_meta[\"{key}\"]"),
        }
    }
}
