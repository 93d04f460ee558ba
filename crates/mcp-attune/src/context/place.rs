//! Where a caller is, as far as they say so.

use core::fmt;

use mcp_attune_wire::json::{JsonKind, SpannedValue};

use super::country::Country;
use super::warning::ClientContextError;

/// A place: any of a city, a region, a country and coordinates.
///
/// `Debug` names what is known, and says nothing of it.
///
/// Rules: C2, C8.
#[derive(Clone, PartialEq, Default)]
pub struct UserLocation {
    pub(super) city: Option<PlaceName>,
    pub(super) region: Option<PlaceName>,
    pub(super) country: Option<Country>,
    pub(super) coordinates: Option<Coordinates>,
}

impl UserLocation {
    /// A place by its names, each of which may be left out.
    ///
    /// ```
    /// use mcp_attune::context::{Country, UserLocation, ClientContextError};
    ///
    /// let place = UserLocation::named(Some("Wien"), None, Country::parse("at").ok())?;
    /// assert_eq!(place.country().map(Country::as_str), Some("AT"));
    /// assert_eq!(UserLocation::named(Some(""), None, None), Err(ClientContextError::Empty));
    /// # Ok::<(), ClientContextError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A name that is empty, too long, or has a control character in it.
    pub fn named(
        city: Option<&str>,
        region: Option<&str>,
        country: Option<Country>,
    ) -> Result<Self, ClientContextError> {
        let (city, region) =
            (city.map(PlaceName::parse).transpose()?, region.map(PlaceName::parse).transpose()?);
        Ok(Self { city, region, country, coordinates: None })
    }

    /// The place with its coordinates.
    #[must_use]
    pub fn with_coordinates(self, coordinates: Coordinates) -> Self {
        Self { coordinates: Some(coordinates), ..self }
    }

    /// The city, such as `Wien`.
    #[must_use]
    pub fn city(&self) -> Option<&str> {
        self.city.as_ref().map(PlaceName::as_str)
    }

    /// The region, state or province, such as `Kalifornien`.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.region.as_ref().map(PlaceName::as_str)
    }

    /// The country.
    #[must_use]
    pub fn country(&self) -> Option<Country> {
        self.country
    }

    /// The coordinates.
    #[must_use]
    pub fn coordinates(&self) -> Option<Coordinates> {
        self.coordinates
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Debug for UserLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { city, region, country, coordinates } = self;
        let known = [
            ("city", city.is_some()),
            ("region", region.is_some()),
            ("country", country.is_some()),
            ("coordinates", coordinates.is_some()),
        ];
        let names = known.into_iter().filter(|(_, known)| *known).map(|(name, _)| name);
        write!(f, "Place {{{}}}", names.collect::<Vec<_>>().join(", "))
    }
}

/// The name of a city or a region: 1 to 256 characters, none of them a control character.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PlaceName(Box<str>);

impl PlaceName {
    const MAX_CHARS: usize = 256;

    pub(super) fn parse(text: &str) -> Result<Self, ClientContextError> {
        if text.is_empty() {
            return Err(ClientContextError::Empty);
        }
        // No text has more characters than bytes.
        if text.len() > Self::MAX_CHARS && text.chars().nth(Self::MAX_CHARS).is_some() {
            return Err(ClientContextError::TooLong);
        }
        let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if !plain && text.chars().any(char::is_control) {
            return Err(ClientContextError::ControlCharacter);
        }
        Ok(Self(text.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A latitude from −90 to 90 and a longitude from −180 to 180, in degrees.
///
/// `Debug` does not show them.
///
/// Rules: C2, C8.
///
/// ```
/// use mcp_attune::context::{Coordinates, ClientContextError};
///
/// assert_eq!(Coordinates::new(48.2, 16.4).unwrap().latitude(), 48.2);
/// assert_eq!(Coordinates::new(90.1, 0.0), Err(ClientContextError::OutOfRange));
/// assert_eq!(Coordinates::new(f64::NAN, 0.0), Err(ClientContextError::OutOfRange));
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Coordinates {
    latitude: f64,
    longitude: f64,
}

impl Coordinates {
    /// Coordinates on the globe.
    ///
    /// # Errors
    ///
    /// [`ClientContextError::OutOfRange`] for what is not there, or no number.
    pub fn new(latitude: f64, longitude: f64) -> Result<Self, ClientContextError> {
        let there = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        if there { Ok(Self { latitude, longitude }) } else { Err(ClientContextError::OutOfRange) }
    }

    /// Degrees to the north.
    #[must_use]
    pub fn latitude(self) -> f64 {
        self.latitude
    }

    /// Degrees to the east.
    #[must_use]
    pub fn longitude(self) -> f64 {
        self.longitude
    }

    /// Rounded to a tenth of a degree, which is about ten kilometres.
    ///
    /// ```
    /// use mcp_attune::context::Coordinates;
    ///
    /// let vienna = Coordinates::new(48.2082, 16.3738).unwrap();
    /// assert_eq!(vienna.rounded(), Coordinates::new(48.2, 16.4).unwrap());
    /// ```
    #[must_use]
    pub fn rounded(self) -> Self {
        // Adding nothing makes a negative zero a plain one.
        let tenths = |degrees: f64| (degrees * 10.0).round() / 10.0 + 0.0;
        Self { latitude: tenths(self.latitude), longitude: tenths(self.longitude) }
    }

    /// From two members of an object; none where neither is there. The name is the member that is wrong, if it is one.
    pub(super) fn read(
        latitude: Option<SpannedValue<'_>>,
        longitude: Option<SpannedValue<'_>>,
        texts: bool,
    ) -> Result<Option<Self>, (Option<CoordinateAxis>, ClientContextError)> {
        let (latitude, longitude) = match (latitude, longitude) {
            (None, None) => return Ok(None),
            (Some(latitude), Some(longitude)) => (latitude, longitude),
            _ => return Err((None, ClientContextError::Half)),
        };
        let north = degrees(latitude, texts)
            .ok_or((Some(CoordinateAxis::Latitude), ClientContextError::NotANumber))?;
        let east = degrees(longitude, texts)
            .ok_or((Some(CoordinateAxis::Longitude), ClientContextError::NotANumber))?;
        Self::new(north, 0.0).map_err(|wrong| (Some(CoordinateAxis::Latitude), wrong))?;
        Self::new(north, east).map(Some).map_err(|wrong| (Some(CoordinateAxis::Longitude), wrong))
    }
}

/// Which of the two is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CoordinateAxis {
    Latitude,
    Longitude,
}

/// `texts`: a number may stand in a string.
fn degrees(value: SpannedValue<'_>, texts: bool) -> Option<f64> {
    match value.kind() {
        JsonKind::Number => value.raw().parse().ok(),
        JsonKind::String if texts => value.text()?.decode()?.parse().ok(),
        _ => None,
    }
}

impl fmt::Debug for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Coordinates(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_readable() {
        assert!(PlaceName::parse("São Paulo 東京").is_ok());
        assert!(PlaceName::parse(&"é".repeat(256)).is_ok());
        assert_eq!(PlaceName::parse(&"é".repeat(257)).err(), Some(ClientContextError::TooLong));
        assert_eq!(PlaceName::parse("").err(), Some(ClientContextError::Empty));
        for text in ["a\nb", "\u{7f}", "\u{1b}[31m", "\u{85}", "\0"] {
            assert_eq!(PlaceName::parse(text).err(), Some(ClientContextError::ControlCharacter), "{text:?}");
        }
    }

    #[test]
    fn coordinates_are_on_the_globe() {
        for (latitude, longitude, fine) in [
            (90.0, 180.0, true),
            (-90.0, -180.0, true),
            (-0.0, 0.0, true),
            (90.000_001, 0.0, false),
            (0.0, -180.000_001, false),
            (f64::INFINITY, 0.0, false),
            (0.0, f64::NAN, false),
        ] {
            assert_eq!(Coordinates::new(latitude, longitude).is_ok(), fine, "{latitude} {longitude}");
        }
    }

    #[test]
    fn coarse_coordinates_have_one_decimal_and_stay_on_the_globe() {
        let coarse = |latitude, longitude| {
            let coarse = Coordinates::new(latitude, longitude).unwrap().rounded();
            format!("{} {}", coarse.latitude(), coarse.longitude())
        };
        assert_eq!(coarse(34.0522, -118.2437), "34.1 -118.2");
        assert_eq!(coarse(-0.04, 179.96), "0 180");
        assert_eq!(coarse(-90.0, -180.0), "-90 -180");
    }

    #[test]
    fn debug_shows_names_only() {
        let place = UserLocation {
            city: PlaceName::parse("Wien").ok(),
            coordinates: Coordinates::new(48.2, 16.4).ok(),
            ..UserLocation::default()
        };
        assert_eq!(format!("{place:?}"), "Place {city, coordinates}");
        assert_eq!(format!("{:?}", place.coordinates()), "Some(Coordinates(…))");
    }
}
