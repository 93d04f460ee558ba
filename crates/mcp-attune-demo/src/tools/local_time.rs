//! `local_time`: what the clock says where the caller is, or in a zone that they name.

use std::sync::Arc;

use mcp_attune_rmcp::Caller;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use rmcp::object;
use serde::Deserialize;
use serde_json::json;

use super::{TravelToolError, answer, arguments, moment, read_only, zone, zone_name};
use crate::data;

pub(crate) const NAME: &str = "local_time";
const TITLE: &str = "Local time";
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "tz": {
                "type": "string",
                "title": "Time zone",
                "description": "An IANA time zone, for example Europe/Zurich; the caller's own if left out, else UTC"
            },
            "at": {
                "type": "string",
                "format": "date-time",
                "title": "Moment",
                "description": "The moment to show; now if left out"
            }
        }
    });
    let output = object!({
        "type": "object",
        "properties": {
            "timezone": { "type": "string", "title": "Time zone" },
            "local_time": { "type": "string", "title": "Local time", "format": "date-time" },
            "weekday": { "type": "string", "title": "Weekday", "enum": WEEKDAYS },
            "utc_offset": { "type": "string", "title": "UTC offset" }
        },
        "required": ["timezone", "local_time", "weekday", "utc_offset"]
    });
    Tool::new(NAME, "Tells the time in a time zone", input)
        .with_title(TITLE)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(read_only(TITLE))
}

#[derive(Deserialize)]
struct LocalTimeArguments {
    tz: Option<String>,
    at: Option<String>,
}

pub(crate) fn call(given: JsonObject, caller: &Caller) -> Result<CallToolResult, TravelToolError> {
    let LocalTimeArguments { tz, at } = arguments(given)?;
    let now = caller.now();
    let zone = tz.map_or_else(|| Ok(now.time_zone().clone()), |name| zone(Some(&name)))?;
    let local = at.map_or_else(|| Ok(now.timestamp()), |at| moment(&at))?.to_zoned(zone);
    answer(&json!({
        "timezone": zone_name(&local),
        "local_time": data::format_rfc3339(&local),
        "weekday": local.strftime("%A").to_string(),
        "utc_offset": local.strftime("%:z").to_string(),
    }))
}
