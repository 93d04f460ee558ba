//! A script of steps, done with rmcp: one line of JSON a step, with what came of it.
//!
//! That is `{"result": …}` or `{"error": …}` as rmcp has it, so that it can be compared with what comes of the same step
//! in another way.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, JsonObject, ReadResourceRequestParams, ServerPeerInfo,
};
use rmcp::service::{ClientInitializeError, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::Asker;

const PATIENCE: Duration = Duration::from_secs(30);

/// One step, as the script has it.
#[derive(Deserialize)]
struct Step {
    name: String,
    #[serde(rename = "do")]
    verb: String,
    #[serde(default)]
    what: String,
    #[serde(default)]
    arguments: JsonObject,
}

/// Does the steps of a file.
pub(crate) async fn run(begun: Result<Asker, ClientInitializeError>, file: &str) -> Result<()> {
    let steps: Vec<Step> = serde_json::from_str(&fs::read_to_string(file)?)?;
    let asker = match begun {
        Ok(asker) => asker,
        Err(error) => {
            tell("begins", &json!({ "error": refused_to_begin(&error) }));
            return Ok(());
        }
    };
    let said = asker.client.peer_info().context("the server said nothing of itself")?;
    tell("begins", &json!({ "result": &*said }));
    for step in steps {
        let outcome = match timeout(PATIENCE, done(&asker, &said, &step)).await {
            Ok(Ok(result)) => json!({ "result": result }),
            Ok(Err(error)) => json!({ "error": refused(&error) }),
            Err(_) => json!({ "error": format!("nothing within {PATIENCE:?}") }),
        };
        tell(&step.name, &outcome);
    }
    asker.client.cancel().await?;
    Ok(())
}

fn tell(step: &str, outcome: &Value) {
    println!("{}", json!({ "step": step, "outcome": outcome }));
}

async fn done(asker: &Asker, said: &ServerPeerInfo, step: &Step) -> Result<Value, ServiceError> {
    let (what, arguments) = (step.what.clone(), step.arguments.clone());
    let client = &asker.client;
    Ok(match step.verb.as_str() {
        "lists" => {
            let mut all = json!({ "tools": client.list_all_tools().await? });
            if said.capabilities.prompts.is_some() {
                all["prompts"] = plain(&client.list_all_prompts().await?);
            }
            if said.capabilities.resources.is_some() {
                all["resources"] = plain(&client.list_all_resources().await?);
                all["templates"] = plain(&client.list_all_resource_templates().await?);
            }
            all
        }
        "calls" => {
            // Progress is not told here: rmcp hands it to tasks that may come after the answer.
            let params = CallToolRequestParams::new(what).with_arguments(arguments);
            plain(&client.call_tool(params).await?)
        }
        "prompts" => {
            plain(&client.get_prompt(GetPromptRequestParams::new(what).with_arguments(arguments)).await?)
        }
        "reads" => plain(&client.read_resource(ReadResourceRequestParams::new(what)).await?),
        unknown => json!({ "no such step": unknown }),
    })
}

fn plain(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

fn refused(error: &ServiceError) -> Value {
    match error {
        ServiceError::McpError(error) => plain(error),
        other => json!(other.to_string()),
    }
}

/// rmcp keeps the code of a version that is not spoken to itself, and tells what is.
fn refused_to_begin(error: &ClientInitializeError) -> Value {
    match error {
        ClientInitializeError::JsonRpcError(error) => plain(error),
        other => json!(other.to_string()),
    }
}
