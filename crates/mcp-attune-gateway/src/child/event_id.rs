//! The SSE event ids of legacy sessions, from which a stream can be resumed.

/// The id of an event: the number of its stream within the session, and its number within the stream.
///
/// On the wire it is `id: 3-7`, and comes back in `Last-Event-ID: 3-7`. The layer outside may seal it; here
/// it is always plain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LegacyEventId {
    /// The number of the stream: 0 is the stream of GET, every POST with a request in it has the next number.
    pub(super) stream: u64,
    /// The number of the event, from 1. 0 is before the first event, so that a stream can be resumed from its
    /// beginning.
    pub(super) event: u64,
}

impl std::fmt::Display for LegacyEventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.event)
    }
}

impl std::str::FromStr for LegacyEventId {
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
    fn places_are_read_as_they_are_written() {
        let place = LegacyEventId { stream: 3, event: 7 };
        assert_eq!((place.to_string().as_str(), "3-7".parse()), ("3-7", Ok(place)));
        for wrong in ["", "3", "3-", "-7", "a-b", "3-7-1", "99999999999999999999-1"] {
            assert_eq!(wrong.parse::<LegacyEventId>(), Err(()), "{wrong}");
        }
    }
}
