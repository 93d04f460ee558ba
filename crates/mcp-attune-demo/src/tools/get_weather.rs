//! `get_weather`: prose for people and structured content for programs, as servers send them today.

use std::sync::Arc;

use jiff::Timestamp;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use rmcp::object;
use serde::{Deserialize, Serialize};

use super::{TravelToolError, answer_with_text, arguments, city, read_only, zone};
use crate::data::{self, CITIES, CONDITIONS, DIRECTIONS, ForecastDay, SOURCE, Weather};

pub(crate) const NAME: &str = "get_weather";
const TITLE: &str = "Current weather";

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "title": "Location",
                "description": "A Swiss city, for example Bern"
            },
            "tz": {
                "type": "string",
                "title": "Time zone",
                "description": "The IANA time zone for the time of observation; UTC if left out"
            }
        },
        "required": ["location"]
    });
    let output = object!({
        "type": "object",
        "properties": {
            "location": { "type": "string", "title": "Location", "description": "The city", "examples": CITIES.map(|city| city.name) },
            "observed_at": { "type": "string", "title": "Observed at", "format": "date-time", "description": "When it was measured" },
            "temperature_c": { "type": "integer", "title": "Temperature", "description": "Temperature in °C" },
            "feels_like_c": { "type": "integer", "title": "Feels like", "description": "Temperature with wind chill in °C" },
            "conditions": { "type": "string", "title": "Conditions", "description": "The sky in a few words", "examples": CONDITIONS },
            "humidity_percent": { "type": "integer", "title": "Humidity", "description": "Relative humidity" },
            "precipitation_probability": {
                "type": "number", "title": "Precipitation probability", "minimum": 0, "maximum": 1, "description": "Rain or snow in the next 2 hours"
            },
            "wind_speed_kmh": { "type": "integer", "title": "Wind speed", "description": "Wind speed in km/h" },
            "wind_direction": { "type": "string", "title": "Wind direction", "description": "Where the wind comes from", "enum": DIRECTIONS },
            "uv_index": { "type": "integer", "title": "UV index", "description": "UV index" },
            "forecast": {
                "type": "array", "title": "Forecast",
                "description": "The days to come",
                "items": {
                    "type": "object",
                    "properties": {
                        "date": { "type": "string", "title": "Date", "format": "date" },
                        "temperature_c": { "type": "integer", "title": "Temperature" },
                        "conditions": { "type": "string", "title": "Conditions", "examples": CONDITIONS }
                    },
                    "required": ["date", "temperature_c", "conditions"]
                }
            },
            "source": { "type": "string", "title": "Source", "description": "Where the data come from", "examples": [SOURCE] }
        },
        "required": ["location", "temperature_c", "conditions", "humidity_percent", "precipitation_probability"]
    });
    Tool::new(NAME, "Gives the current weather in a Swiss city, and a short forecast", input)
        .with_title(TITLE)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(read_only(TITLE))
}

#[derive(Deserialize)]
struct GetWeatherArguments {
    location: String,
    tz: Option<String>,
}

#[derive(Serialize)]
struct WeatherReport {
    location: &'static str,
    observed_at: String,
    #[serde(flatten)]
    weather: Weather,
    forecast: Vec<ForecastDay>,
    source: &'static str,
}

pub(crate) fn call(given: JsonObject, now: Timestamp) -> Result<CallToolResult, TravelToolError> {
    let GetWeatherArguments { location, tz } = arguments(given)?;
    let city = city(&location)?;
    let observed_at = data::format_rfc3339(&now.to_zoned(zone(tz.as_deref())?));
    let forecast = city.weather.forecast(data::today(now));
    let last = forecast.last().copied().ok_or(TravelToolError::Internal)?;
    let text = prose(city.name, &city.weather, &last);
    let (location, weather) = (city.name, city.weather);
    answer_with_text(text, &WeatherReport { location, observed_at, weather, forecast, source: SOURCE })
}

fn prose(name: &str, weather: &Weather, last: &ForecastDay) -> String {
    let trend = if last.temperature_c > weather.temperature_c { "gradually warming" } else { "cooling" };
    let burn = if weather.uv_index < 3 { "low" } else { "moderate" };
    format!(
        "Current temperature in {name}: {}°C. Humidity is {}%. There is a {:.0}% chance of precipitation in the next \
         2 hours. The forecast shows {trend} trends over the coming week, with temperatures reaching {}°C by \
         {}. UV index is {} ({burn}). Wind speed is {} km/h from the {}. This is typical {} weather for \
         the region...",
        weather.temperature_c,
        weather.humidity_percent,
        weather.precipitation_probability * 100.0,
        last.temperature_c,
        last.date.strftime("%A"),
        weather.uv_index,
        weather.wind_speed_kmh,
        weather.wind_direction,
        last.date.strftime("%B"),
    )
}
