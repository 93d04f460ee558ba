//! A client for the official MCP referee to judge: `judged URL`, with the name of a scenario in the environment variable
//! `MCP_CONFORMANCE_SCENARIO` and what it is to do in `MCP_CONFORMANCE_CONTEXT`, as the referee gives them.
//!
//! ```sh
//! npx @modelcontextprotocol/conformance client --command target/debug/examples/judged --scenario http-custom-headers
//! ```
//!
//! Everything that a scenario has a server list is asked for, and every tool is called that can be. Whatever a scenario
//! leaves open, this caller has a language, a time zone and features, so that the referee also sees what Attune adds.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use mcp_attune_rmcp::context::{ClientContext, IanaTimeZone};
use mcp_attune_rmcp::language::AcceptLanguage;
use mcp_attune_rmcp::{CallerProfile, ClientError, Connection, ConnectionOptions, ServerTarget};
use rmcp::model::ClientCapabilities;
use serde_json::{Map, Value, json};

/// How often a server may ask for more before a call is given up.
const ROUNDS: usize = 8;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome {
    let url = env::args().nth(1).ok_or("give the URL of the server")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context: Value = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let target: ServerTarget = url.parse()?;
    let mut options = ConnectionOptions::default();
    (options.connect, options.answer) = (Duration::from_secs(20), Duration::from_secs(20));
    options.profile = caller()?;
    let connection = Connection::open(&target, &options).await?;
    let outcome = ask(&connection, &scenario, &context).await;
    connection.close().await;
    outcome
}

/// Somebody in Zurich, who can be asked for a confirmation.
fn caller() -> Result<CallerProfile, Box<dyn std::error::Error>> {
    let able: ClientCapabilities =
        serde_json::from_value(json!({ "elicitation": {}, "sampling": {}, "roots": {} }))?;
    Ok(CallerProfile::default()
        .language(AcceptLanguage::parse("de-CH, de;q=0.9, en;q=0.5")?)
        .context(ClientContext::from_parts(IanaTimeZone::parse("Europe/Zurich").ok(), None, None))
        .capabilities(able)
        .features(["agent"])?)
}

async fn ask(connection: &Connection, scenario: &str, context: &Value) -> Outcome {
    let tools = connection.tools().await?;
    for dropped in tools.dropped() {
        eprintln!("dropped `{}`: {}", dropped.name(), dropped.why);
    }
    if scenario == "json-schema-ref-no-deref" {
        // It has a server that lists and does nothing else: what is asked is that nobody fetches what a schema names.
        return Ok(());
    }
    if scenario == "json-schema-2020-12-preservation" {
        // What came is to go back as it came.
        let schema = tools
            .iter()
            .find(|tool| tool["name"] == "json_schema_2020_12_tool")
            .map(|tool| &tool["inputSchema"]);
        return Ok(call(connection, "json_schema_echo", json!({ "schema": schema })).await?);
    }
    match context.get("toolCalls").and_then(Value::as_array) {
        Some(calls) => {
            for wanted in calls {
                let tool = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
                call(connection, tool, wanted.get("arguments").cloned().unwrap_or_default()).await?;
            }
        }
        None => {
            for tool in tools.iter() {
                call(
                    connection,
                    tool.get("name").and_then(Value::as_str).unwrap_or_default(),
                    arguments(tool),
                )
                .await?;
            }
        }
    }
    let able = &connection.info().capabilities;
    if able.resources.is_some() {
        for resource in connection.resources().await?.iter() {
            connection.read(resource.get("uri").and_then(Value::as_str).unwrap_or_default()).await?;
        }
    }
    if able.prompts.is_some() {
        for prompt in connection.prompts().await?.iter() {
            let name = prompt.get("name").and_then(Value::as_str).unwrap_or_default();
            connection.prompt(name, json!({})).await?;
        }
    }
    Ok(())
}

/// Something of the right type for each argument that a tool requires, and for the two numbers that a calculator adds.
fn arguments(tool: &Value) -> Value {
    let properties = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("string") => json!("text"),
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        _ => Value::Null,
    };
    let filled = properties.into_iter().flatten().map(|(name, schema)| (name.clone(), value(schema)));
    Value::Object(filled.filter(|(_, value)| !value.is_null()).collect())
}

/// Calls a tool, and answers what its server asks on the way. The state that a server gives goes back as it came.
async fn call(connection: &Connection, tool: &str, arguments: Value) -> Result<(), ClientError> {
    let mut params = json!({ "name": tool, "arguments": arguments });
    for _ in 0..ROUNDS {
        let result = connection.request("tools/call", params.clone()).await?;
        if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
            return Ok(());
        }
        let asked = result.get("inputRequests").and_then(Value::as_object);
        let confirmed = json!({ "action": "accept", "content": { "confirmed": true } });
        let answers: Map<_, _> =
            asked.into_iter().flatten().map(|(key, _)| (key.clone(), confirmed.clone())).collect();
        params["inputResponses"] = Value::Object(answers);
        match result.get("requestState") {
            Some(state) => params["requestState"] = state.clone(),
            None => drop(params.as_object_mut().and_then(|params| params.remove("requestState"))),
        }
    }
    Ok(())
}
