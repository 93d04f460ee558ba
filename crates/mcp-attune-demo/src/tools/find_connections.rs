//! `find_connections`: the trains of one day.

use std::sync::Arc;

use rmcp::model::{CallToolResult, JsonObject, Tool};
use rmcp::object;
use serde::Deserialize;
use serde_json::json;

use super::{Problem, answer, arguments, city, day, read_only};
use crate::data;

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
                "description": "The day of travel; 2026-02-22 if left out"
            }
        },
        "required": ["from", "to"]
    });
    let output = object!({
        "type": "object",
        "properties": {
            "connections": {
                "type": "array",
                "description": "In the order in which they leave; empty where there is none",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string", "description": "What book_seat asks for" },
                        "train": { "type": "string" },
                        "from": { "type": "string" },
                        "to": { "type": "string" },
                        "departure": { "type": "string", "format": "date-time" },
                        "arrival": { "type": "string", "format": "date-time" },
                        "duration_minutes": { "type": "integer" },
                        "changes": { "type": "integer" },
                        "platform": { "type": "integer" },
                        "price_chf": { "type": "number", "description": "Second class, in Swiss francs" }
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
struct Arguments {
    from: String,
    to: String,
    date: Option<String>,
}

pub(crate) fn call(given: JsonObject) -> Result<CallToolResult, Problem> {
    let Arguments { from, to, date } = arguments(given)?;
    let date = date.map_or(Ok(data::TODAY), |date| day(&date))?;
    answer(&json!({ "connections": data::connections(city(&from)?, city(&to)?, date) }))
}
