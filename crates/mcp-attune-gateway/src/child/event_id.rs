//! Where an event stands in a session.

/// An event's place, as its id says it: `3-7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LegacyEventId {
    pub(super) stream: u64,
    /// From 1; 0 is before the first.
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
