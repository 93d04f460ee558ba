//! The sample data: six cities, their weather, and the trains between them. Nothing here depends on the clock.

mod trains;

use std::sync::LazyLock;

use jiff::civil::{Date, date};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use serde::Serialize;

pub(crate) use trains::{Connection, connection, connections};

/// The day that the service believes it is: a Sunday in February.
pub(crate) const TODAY: Date = date(2026, 2, 22);

/// The moment that the service believes it is: half past nine in Switzerland.
pub(crate) fn now() -> Timestamp {
    // 2026-02-22T08:30:00Z
    Timestamp::constant(1_771_749_000, 0)
}

/// How a moment is written everywhere in the answers: RFC 3339 with the offset of its zone.
pub(crate) fn written(moment: &Zoned) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A zone by its IANA name, from the rules inside the program: the machine's own could give other answers.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    ZONES.get(name).ok()
}

/// A city, and the names that people use for it.
pub(crate) struct City {
    pub(crate) name: &'static str,
    also: &'static [&'static str],
    pub(crate) weather: Weather,
}

/// The weather of the day, as the answers give it.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Weather {
    pub(crate) temperature_c: i32,
    pub(crate) feels_like_c: i32,
    pub(crate) conditions: &'static str,
    pub(crate) humidity_percent: u32,
    pub(crate) precipitation_probability: f64,
    pub(crate) wind_speed_kmh: u32,
    pub(crate) wind_direction: &'static str,
    pub(crate) uv_index: u32,
    pub(crate) forecast: [Forecast; 3],
    pub(crate) source: &'static str,
}

/// One day of the forecast.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Forecast {
    pub(crate) date: Date,
    pub(crate) temperature_c: i32,
    pub(crate) conditions: &'static str,
}

const SOURCE: &str = "Sample station data";

const fn forecast(days: [(i32, &'static str); 3]) -> [Forecast; 3] {
    let [(today, looks), (tomorrow, then), (thursday, later)] = days;
    [
        Forecast { date: TODAY, temperature_c: today, conditions: looks },
        Forecast { date: date(2026, 2, 23), temperature_c: tomorrow, conditions: then },
        Forecast { date: date(2026, 2, 26), temperature_c: thursday, conditions: later },
    ]
}

/// Every city of the service, in the order in which messages name them.
pub(crate) const CITIES: [City; 6] = [
    City {
        name: "Bern",
        also: &["Berne", "Berna"],
        weather: Weather {
            temperature_c: 8,
            feels_like_c: 5,
            conditions: "Mostly cloudy, light precipitation possible",
            humidity_percent: 72,
            precipitation_probability: 0.3,
            wind_speed_kmh: 15,
            wind_direction: "northwest",
            uv_index: 2,
            forecast: forecast([
                (8, "Clouds clearing by afternoon"),
                (9, "Mostly sunny"),
                (12, "Sunny and pleasant"),
            ]),
            source: SOURCE,
        },
    },
    City {
        name: "Zurich",
        also: &["Zürich", "Zurigo"],
        weather: Weather {
            temperature_c: 7,
            feels_like_c: 4,
            conditions: "Light rain",
            humidity_percent: 84,
            precipitation_probability: 0.7,
            wind_speed_kmh: 18,
            wind_direction: "west",
            uv_index: 1,
            forecast: forecast([(7, "Light rain"), (8, "Cloudy"), (11, "Mostly sunny")]),
            source: SOURCE,
        },
    },
    City {
        name: "Geneva",
        also: &["Genève", "Genf", "Ginevra"],
        weather: Weather {
            temperature_c: 9,
            feels_like_c: 6,
            conditions: "Fog over the lake",
            humidity_percent: 91,
            precipitation_probability: 0.1,
            wind_speed_kmh: 22,
            wind_direction: "northeast",
            uv_index: 2,
            forecast: forecast([(9, "Fog over the lake"), (10, "Partly cloudy"), (13, "Sunny")]),
            source: SOURCE,
        },
    },
    City {
        name: "Lugano",
        also: &["Lauis"],
        weather: Weather {
            temperature_c: 13,
            feels_like_c: 13,
            conditions: "Sunny",
            humidity_percent: 48,
            precipitation_probability: 0.0,
            wind_speed_kmh: 6,
            wind_direction: "south",
            uv_index: 4,
            forecast: forecast([(13, "Sunny"), (14, "Sunny"), (15, "Partly cloudy")]),
            source: SOURCE,
        },
    },
    City {
        name: "Zermatt",
        also: &["Praborgne"],
        weather: Weather {
            temperature_c: -4,
            feels_like_c: -9,
            conditions: "Snow showers",
            humidity_percent: 78,
            precipitation_probability: 0.8,
            wind_speed_kmh: 30,
            wind_direction: "southwest",
            uv_index: 3,
            forecast: forecast([(-4, "Snow showers"), (-2, "Partly cloudy"), (1, "Sunny")]),
            source: SOURCE,
        },
    },
    City {
        name: "Basel",
        also: &["Bâle", "Basle", "Basilea"],
        weather: Weather {
            temperature_c: 10,
            feels_like_c: 9,
            conditions: "Partly cloudy",
            humidity_percent: 63,
            precipitation_probability: 0.2,
            wind_speed_kmh: 9,
            wind_direction: "west",
            uv_index: 2,
            forecast: forecast([(10, "Partly cloudy"), (11, "Sunny"), (13, "Sunny")]),
            source: SOURCE,
        },
    },
];

/// The city of that name, in any of its languages, whatever the case.
pub(crate) fn city(name: &str) -> Option<&'static City> {
    let asked = name.trim().to_lowercase();
    CITIES.iter().find(|city| {
        city.name.to_lowercase() == asked || city.also.iter().any(|also| also.to_lowercase() == asked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_city_by_any_of_its_names() {
        for name in ["Geneva", "genève", " GENF "] {
            assert_eq!(city(name).map(|city| city.name), Some("Geneva"));
        }
        assert!(city("Paris").is_none());
    }

    #[test]
    fn now_is_within_today() {
        assert_eq!(now().to_string(), "2026-02-22T08:30:00Z");
    }
}
