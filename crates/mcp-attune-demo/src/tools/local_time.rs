//! `local_time`: what the clock says somewhere, at the moment where the sample data stand still.

use std::sync::Arc;

use rmcp::model::{CallToolResult, JsonObject, Tool};
use rmcp::object;
use serde::Deserialize;
use serde_json::json;

use super::{Problem, answer, arguments, moment, read_only, zone};
use crate::data;

pub(crate) const NAME: &str = "local_time";
const TITLE: &str = "Local time";

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "tz": {
                "type": "string",
                "title": "Time zone",
                "description": "An IANA time zone, for example Europe/Zurich; UTC if left out"
            },
            "at": {
                "type": "string",
                "format": "date-time",
                "title": "Moment",
                "description": "The moment to show; 2026-02-22T08:30:00Z if left out"
            }
        }
    });
    let output = object!({
        "type": "object",
        "properties": {
            "timezone": { "type": "string" },
            "local_time": { "type": "string", "format": "date-time" },
            "weekday": { "type": "string" },
            "utc_offset": { "type": "string" }
        },
        "required": ["timezone", "local_time", "weekday", "utc_offset"]
    });
    Tool::new(NAME, "Tells the time in a time zone", input)
        .with_title(TITLE)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(read_only(TITLE))
}

#[derive(Deserialize)]
struct Arguments {
    tz: Option<String>,
    at: Option<String>,
}

pub(crate) fn call(given: JsonObject) -> Result<CallToolResult, Problem> {
    let Arguments { tz, at } = arguments(given)?;
    let zone = zone(tz.as_deref())?;
    let name = zone.iana_name().unwrap_or("UTC").to_owned();
    let local = at.map_or(Ok(data::now()), |at| moment(&at))?.to_zoned(zone);
    answer(&json!({
        "timezone": name,
        "local_time": data::written(&local),
        "weekday": local.strftime("%A").to_string(),
        "utc_offset": local.strftime("%:z").to_string(),
    }))
}
