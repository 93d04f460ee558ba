//! Names in a session: of calls and tokens, and of events.

use mcp_attune_wire::json::Value;
use mcp_attune_wire::message::Message;

/// An id or a token, by what it says and not by how it is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    Number(String),
    Text(String),
}

impl Key {
    pub(super) fn of(value: Value<'_>) -> Self {
        let raw = value.raw();
        match value.text() {
            Some(text) => Self::Text(text.decode().unwrap_or(text.as_written().into()).into_owned()),
            None => {
                Self::Number(raw.parse::<i128>().map_or_else(|_| raw.to_owned(), |number| number.to_string()))
            }
        }
    }

    /// One that stands alone.
    pub(super) fn read(raw: &str) -> Option<Self> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{raw},"method":""}}"#);
        Message::parse(text.as_bytes()).ok()?.id().map(Self::of)
    }
}

/// An event's place, as its id says it: `3-7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) stream: u64,
    /// From 1; 0 is before the first.
    pub(super) event: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.event)
    }
}

impl std::str::FromStr for Place {
    type Err = ();

    fn from_str(id: &str) -> Result<Self, ()> {
        let (stream, event) = id.split_once('-').ok_or(())?;
        Ok(Self { stream: stream.parse().map_err(drop)?, event: event.parse().map_err(drop)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_when_they_say_the_same() {
        for (one, two, same) in [
            ("1", "1", true),
            ("-0", "0", true),
            ("\"a\"", r#""\u0061""#, true),
            ("1", "\"1\"", false),
            ("123456789012345678901234567890", "123456789012345678901234567891", false),
        ] {
            assert_eq!(Key::read(one) == Key::read(two), same, "{one} {two}");
        }
        assert_eq!(Key::read("{"), None);
    }

    #[test]
    fn places_are_read_as_they_are_written() {
        let place = Place { stream: 3, event: 7 };
        assert_eq!((place.to_string().as_str(), "3-7".parse()), ("3-7", Ok(place)));
        for wrong in ["", "3", "3-", "-7", "a-b", "3-7-1", "99999999999999999999-1"] {
            assert_eq!(wrong.parse::<Place>(), Err(()), "{wrong}");
        }
    }
}
