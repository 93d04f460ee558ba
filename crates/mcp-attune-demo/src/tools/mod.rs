//! The tools: one file each, with its definition and what it does.

mod problem;
mod book_seat;
mod build_report;
mod execute_sql;
mod find_connections;
mod get_weather;
mod local_time;
mod sales_report;
mod query;

use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use mcp_attune_rmcp::Caller;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::data::{self, City};
use problem::{TravelToolError, quoted_input};
pub(crate) use query::service_title;

/// Every tool, in the order in which they are listed.
pub(crate) fn list() -> Vec<Tool> {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let mut tools = vec![
            get_weather::definition(),
            find_connections::definition(),
            book_seat::definition(),
            build_report::definition(),
            execute_sql::definition(),
            sales_report::definition(),
            local_time::definition(),
        ];
        tools.extend(query::definitions());
        tools
    });
    TOOLS.clone()
}

/// Runs one tool. What the caller can put right is a result that says so; only an unknown name is an error.
pub(crate) async fn call(
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    caller: &Caller,
    now: Timestamp,
    step_delay: Duration,
) -> Result<CallToolResponse, ErrorData> {
    let given = request.arguments.clone().unwrap_or_default();
    let result = match request.name.as_ref() {
        get_weather::NAME => get_weather::call(given, now),
        find_connections::NAME => find_connections::call(given, now),
        book_seat::NAME => return book_seat::call(request, context).await,
        build_report::NAME => build_report::call(given, context, step_delay).await?,
        execute_sql::NAME => execute_sql::call(given),
        sales_report::NAME => sales_report::call(given),
        local_time::NAME => local_time::call(given, caller),
        query::SALES => query::sales(given, caller),
        query::TICKETS => query::support(given, caller),
        query::ACTIVITY => query::activity(given, caller),
        unknown => {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", quoted_input(unknown)), None));
        }
    };
    Ok(result.unwrap_or_else(CallToolResult::from).into())
}

/// The arguments as the tool wants them.
fn arguments<T: DeserializeOwned>(given: JsonObject) -> Result<T, TravelToolError> {
    serde_json::from_value(Value::Object(given)).map_err(TravelToolError::Arguments)
}

/// A result in both forms: the structured content, and the same as JSON text for clients that read only text.
fn answer(value: &impl Serialize) -> Result<CallToolResult, TravelToolError> {
    Ok(CallToolResult::structured(serde_json::to_value(value).map_err(|_| TravelToolError::Internal)?))
}

/// A result in both forms where the text is for people.
fn answer_with_text(text: String, value: &impl Serialize) -> Result<CallToolResult, TravelToolError> {
    let mut result = answer(value)?;
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}

/// What a tool that only looks things up says about itself.
fn read_only(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).open_world(false)
}

fn city(name: &str) -> Result<&'static City, TravelToolError> {
    data::city(name).ok_or_else(|| TravelToolError::UnknownCity(name.to_owned()))
}

fn day(text: &str) -> Result<Date, TravelToolError> {
    text.parse().map_err(|_| TravelToolError::Date(text.to_owned()))
}

fn moment(text: &str) -> Result<Timestamp, TravelToolError> {
    text.parse().map_err(|_| TravelToolError::Moment(text.to_owned()))
}

/// The name of the zone that a moment is in; its offset where a caller told no more.
fn zone_name(moment: &Zoned) -> String {
    let name = moment.time_zone().iana_name();
    name.map_or_else(|| moment.strftime("%:z").to_string(), ToOwned::to_owned)
}

/// UTC where nobody says otherwise, as servers do.
fn zone(name: Option<&str>) -> Result<TimeZone, TravelToolError> {
    name.map_or(Ok(TimeZone::UTC), |name| {
        data::zone(name).ok_or_else(|| TravelToolError::Zone(name.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_its_texts_and_its_schemas() {
        for tool in list() {
            assert!(tool.title.is_some() && tool.description.is_some(), "{}", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.output_schema.as_ref().expect(&tool.name)["type"], "object", "{}", tool.name);
            assert_eq!(tool.annotations.as_ref().and_then(|notes| notes.title.as_ref()), tool.title.as_ref());
            for (name, property) in tool.input_schema["properties"].as_object().expect(&tool.name) {
                assert!(property["title"].is_string() && property["description"].is_string(), "{name}");
            }
        }
    }
}
