//! The sample data: six cities, their weather, and the trains between them. The weather is the same every day.

mod trains;

use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan, Zoned};
use serde::Serialize;

pub(crate) use trains::{TrainConnection, connection, connections};

/// The day that it is in Switzerland.
pub(crate) fn today(now: Timestamp) -> Date {
    let zone = zone("Europe/Zurich").unwrap_or(TimeZone::UTC);
    zone.to_datetime(now).date()
}

/// How a moment is written everywhere in the answers: RFC 3339 with the offset of its zone.
pub(crate) fn format_rfc3339(moment: &Zoned) -> String {
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
    #[serde(skip)]
    days: [(i32, &'static str); 3],
}

/// One day of the forecast.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct ForecastDay {
    pub(crate) date: Date,
    pub(crate) temperature_c: i32,
    pub(crate) conditions: &'static str,
}

impl Weather {
    /// Today, tomorrow, and the day that is four days ahead. Fewer at the very end of the calendar.
    pub(crate) fn forecast(&self, today: Date) -> Vec<ForecastDay> {
        let ahead = [0, 1, 4].into_iter().map(|days| today.checked_add(days.days()).ok());
        let days = ahead.zip(self.days);
        days.filter_map(|(date, (temperature_c, conditions))| {
            Some(ForecastDay { date: date?, temperature_c, conditions })
        })
        .collect()
    }
}

/// Where all weather comes from.
pub(crate) const SOURCE: &str = "Sample station data";

/// What the sky can look like.
pub(crate) const CONDITIONS: [&str; 10] = [
    "Clouds clearing by afternoon",
    "Cloudy",
    "Fog over the lake",
    "Light rain",
    "Mostly cloudy, light precipitation possible",
    "Mostly sunny",
    "Partly cloudy",
    "Snow showers",
    "Sunny",
    "Sunny and pleasant",
];

/// Where the wind can come from.
pub(crate) const DIRECTIONS: [&str; 8] =
    ["north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"];

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
            days: [(8, "Clouds clearing by afternoon"), (9, "Mostly sunny"), (12, "Sunny and pleasant")],
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
            days: [(7, "Light rain"), (8, "Cloudy"), (11, "Mostly sunny")],
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
            days: [(9, "Fog over the lake"), (10, "Partly cloudy"), (13, "Sunny")],
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
            days: [(13, "Sunny"), (14, "Sunny"), (15, "Partly cloudy")],
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
            days: [(-4, "Snow showers"), (-2, "Partly cloudy"), (1, "Sunny")],
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
            days: [(10, "Partly cloudy"), (11, "Sunny"), (13, "Sunny")],
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
    fn what_the_weather_says_is_what_the_schema_lists() {
        for City { name, weather, .. } in CITIES {
            let days = weather.days.map(|(_, conditions)| conditions);
            assert!(days.iter().all(|conditions| CONDITIONS.contains(conditions)), "{name}");
            assert!(CONDITIONS.contains(&weather.conditions) && DIRECTIONS.contains(&weather.wind_direction));
        }
    }

    #[test]
    fn the_forecast_begins_today_in_switzerland() {
        let late = "2026-02-22T23:30:00Z".parse().unwrap();
        assert_eq!(today(late).to_string(), "2026-02-23");
        let days = CITIES[0]
            .weather
            .forecast(today(late))
            .iter()
            .map(|day| day.date.to_string())
            .collect::<Vec<_>>();
        assert_eq!(days, ["2026-02-23", "2026-02-24", "2026-02-27"]);
    }
}
