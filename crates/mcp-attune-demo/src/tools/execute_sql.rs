//! `execute_sql`: arguments that travel as HTTP headers too, so that a load balancer can route by region or shard.

use std::sync::Arc;

use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use rmcp::object;
use serde::Deserialize;
use serde_json::{Number, json};

use super::{TravelToolError, answer, arguments};

pub(crate) const NAME: &str = "execute_sql";
const TITLE: &str = "Run a query";

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "title": "Query", "description": "The SQL query to run" },
            "region": {
                "type": "string",
                "title": "Region",
                "description": "The region to run the query in, for example us-west1",
                "x-mcp-header": "Region"
            },
            "shard": {
                "type": "integer",
                "title": "Shard",
                "description": "The shard to run the query on",
                "x-mcp-header": "Shard"
            },
            "dry_run": {
                "type": "boolean",
                "title": "Dry run",
                "description": "Only check the query; false if left out",
                "x-mcp-header": "Dry-Run"
            },
            "options": {
                "type": "object",
                "title": "Options",
                "description": "How to run the query",
                "properties": {
                    "priority": {
                        "type": "string",
                        "title": "Priority",
                        "description": "For example low, normal or high; normal if left out",
                        "x-mcp-header": "Priority"
                    }
                }
            }
        },
        "required": ["region", "query"]
    });
    let output = object!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "title": "Region" },
            "shard": { "type": "integer", "title": "Shard" },
            "dry_run": { "type": "boolean", "title": "Dry run" },
            "priority": { "type": "string", "title": "Priority", "examples": ["low", "normal", "high"] },
            "columns": { "type": "array", "title": "Columns", "items": { "type": "string" } },
            "rows": { "type": "array", "title": "Rows", "items": { "type": "array" }, "description": "One list for each row" },
            "row_count": { "type": "integer", "title": "Row count" }
        },
        "required": ["region", "shard", "dry_run", "priority", "columns", "rows", "row_count"]
    });
    Tool::new(
        NAME,
        "Runs an SQL query on the bookings. The data are samples: every query gives the same rows",
        input,
    )
    .with_title(TITLE)
    .with_raw_output_schema(Arc::new(output))
    .with_annotations(ToolAnnotations::with_title(TITLE).destructive(false).open_world(false))
}

#[derive(Deserialize)]
struct ExecuteSqlArguments {
    #[serde(rename = "query")]
    _query: String,
    region: String,
    shard: Option<Number>,
    dry_run: Option<bool>,
    options: Option<SqlOptions>,
}

#[derive(Deserialize)]
struct SqlOptions {
    priority: Option<String>,
}

pub(crate) fn call(given: JsonObject) -> Result<CallToolResult, TravelToolError> {
    let ExecuteSqlArguments { region, shard, dry_run, options, .. } = arguments(given)?;
    let shard = shard.unwrap_or_else(|| Number::from(0));
    if !is_whole(&shard) {
        return Err(TravelToolError::Shard);
    }
    let dry_run = dry_run.unwrap_or_default();
    let rows = if dry_run { json!([]) } else { bookings() };
    answer(&json!({
        "region": region,
        "shard": shard,
        "dry_run": dry_run,
        "priority": options.and_then(|options| options.priority).unwrap_or_else(|| "normal".to_owned()),
        "columns": ["id", "city", "nights", "price_chf"],
        "row_count": rows.as_array().map_or(0, Vec::len),
        "rows": rows,
    }))
}

/// As JSON Schema says: 42.0 is an integer too.
fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

fn bookings() -> serde_json::Value {
    json!([[1, "Bern", 2, 318.0], [2, "Zurich", 1, 189.5], [3, "Zermatt", 4, 1240.0]])
}
