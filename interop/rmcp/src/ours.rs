//! Attune's own client, with all that it says of its caller, at servers of other people.

use anyhow::{Result, ensure};
use mcp_attune_rmcp::context::{ClientContext, IanaTimeZone};
use mcp_attune_rmcp::language::AcceptLanguage;
use mcp_attune_rmcp::{CallerProfile, Connection, ConnectionOptions, Era, ServerTarget};
use serde_json::{Value, json};

use crate::client::{in_time, tell};
use crate::server::NOTE;

const BOTH: [&str; 6] = ["lists", "calls", "reads", "prompts", "changes_its_mind", "refuses"];

/// Runs the checks of an era.
pub(crate) async fn run(url: &str, era: &str) -> Result<()> {
    let modern = era == "modern";
    let connection = match in_time(connect(url, if modern { Era::Modern } else { Era::Legacy })).await {
        Ok(connection) => connection,
        Err(error) => {
            tell("connects", &Err(error));
            return Ok(());
        }
    };
    tell("connects", &Ok(connection.version().to_owned()));
    let of_era: &[&str] = if modern { &["mirrors_headers"] } else { &[] };
    for name in [&BOTH[..], of_era].concat() {
        tell(name, &in_time(check(&connection, name)).await);
    }
    connection.close().await;
    Ok(())
}

async fn connect(url: &str, era: Era) -> Result<Connection> {
    let target: ServerTarget = url.parse()?;
    let mut options = ConnectionOptions::default();
    options.era = Some(era);
    options.profile = swiss()?;
    Ok(Connection::open(&target, &options).await?)
}

fn swiss() -> Result<CallerProfile> {
    Ok(CallerProfile::default()
        .language(AcceptLanguage::parse("de-CH, en;q=0.5")?)
        .context(ClientContext::from_parts(IanaTimeZone::parse("Europe/Zurich").ok(), None, None))
        .features(["agent"])?)
}

async fn check(connection: &Connection, name: &str) -> Result<String> {
    match name {
        "lists" => {
            let (tools, prompts) = (connection.tools().await?, connection.prompts().await?);
            ensure!(tools.dropped().is_empty(), "{:?} are dropped", tools.dropped());
            ensure!(tools.iter().any(|tool| tool["name"] == "add"), "the tool `add` is not listed");
            same(&prompts[0]["name"], "greet")?;
            same(&connection.resources().await?[0]["uri"], NOTE)
        }
        "calls" => same(&call(connection, "add", json!({ "a": 2, "b": 3 })).await?, "5"),
        "reads" => {
            call(connection, "set_note", json!({ "text": "first" })).await?;
            same(&connection.read(NOTE).await?["contents"][0]["text"], "first")
        }
        "prompts" => {
            let prompt = connection.prompt("greet", json!({ "name": "Ada" })).await?;
            same(&prompt["messages"][0]["content"]["text"], "Greet Ada.")
        }
        "changes_its_mind" => {
            let nobody = connection.with_profile(&CallerProfile::default());
            same(&text(&nobody.call("add", json!({ "a": 2, "b": 3 })).await?), "5")
        }
        "refuses" => {
            let error = connection.request("no/such/method", json!({})).await;
            ensure!(error.as_ref().is_err_and(mcp_attune_rmcp::ClientError::is_refusal), "{error:?}");
            Ok("a refusal is told as one".to_owned())
        }
        _ => {
            let routed = call(connection, "route", json!({ "region": "são paulo" })).await?;
            same(&routed, "routed to são paulo")
        }
    }
}

async fn call(connection: &Connection, tool: &str, arguments: Value) -> Result<Value> {
    Ok(text(&connection.call(tool, arguments).await?))
}

fn text(result: &Value) -> Value {
    result["content"][0]["text"].clone()
}

fn same(found: &Value, expected: &str) -> Result<String> {
    ensure!(found == expected, "{found} instead of {expected:?}");
    Ok(expected.to_owned())
}
