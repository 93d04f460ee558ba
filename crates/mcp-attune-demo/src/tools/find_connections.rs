//! `find_connections`: the trains of one day.

use std::sync::Arc;

use jiff::Timestamp;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use rmcp::object;
use serde::Deserialize;
use serde_json::json;

use super::{TravelToolError, answer, arguments, city, day, read_only};
use crate::data::{self, CITIES};

pub(crate) const NAME: &str = "find_connections";
const TITLE: &str = "Train connections";

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "from": { "type": "string", "title": "From", "description": "The city to leave from" },
            "to": { "type": "string", "title": "To", "description": "The city to arrive at" },
            "date": {
                "type": "string",
                "format": "date",
                "title": "Date",
                "description": "The day of travel; today if left out"
            }
        },
        "required": ["from", "to"]
    });
    let output = object!({
        "type": "object",
        "properties": {
            "connections": {
                "type": "array", "title": "Connections",
                "description": "In the order in which they leave; empty where there is none",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string", "title": "ID", "description": "What book_seat asks for" },
                        "train": { "type": "string", "title": "Train" },
                        "from": { "type": "string", "title": "From", "examples": CITIES.map(|city| city.name) },
                        "to": { "type": "string", "title": "To", "examples": CITIES.map(|city| city.name) },
                        "departure": { "type": "string", "title": "Departure", "format": "date-time" },
                        "arrival": { "type": "string", "title": "Arrival", "format": "date-time" },
                        "duration_minutes": { "type": "integer", "title": "Duration" },
                        "changes": { "type": "integer", "title": "Changes" },
                        "platform": { "type": "integer", "title": "Platform" },
                        "price_chf": { "type": "number", "title": "Price", "description": "Second class, in Swiss francs" }
                    },
                    "required": ["id", "train", "from", "to", "departure", "arrival", "duration_minutes"]
                }
            }
        },
        "required": ["connections"]
    });
    Tool::new(NAME, "Finds train connections between two Swiss cities", input)
        .with_title(TITLE)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(read_only(TITLE))
}

#[derive(Deserialize)]
struct FindConnectionsArguments {
    from: String,
    to: String,
    date: Option<String>,
}

pub(crate) fn call(given: JsonObject, now: Timestamp) -> Result<CallToolResult, TravelToolError> {
    let FindConnectionsArguments { from, to, date } = arguments(given)?;
    let date = date.map_or_else(|| Ok(data::today(now)), |date| day(&date))?;
    answer(&json!({ "connections": data::connections(city(&from)?, city(&to)?, date) }))
}
