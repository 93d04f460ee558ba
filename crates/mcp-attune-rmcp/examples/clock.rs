//! A server that answers each caller in their language, their format and their time zone; no gateway needed.
//!
//! ```text
//! cargo run -p mcp-attune-rmcp --example clock                 # over pipes, for clients that start it
//! cargo run -p mcp-attune-rmcp --example clock 127.0.0.1:8000  # at http://127.0.0.1:8000/mcp
//! ```

#![allow(clippy::needless_pass_by_value, reason = "rmcp hands a handler its arguments")]

use std::sync::{Arc, LazyLock};

use mcp_attune_rmcp::features::ContentFormat;
use mcp_attune_rmcp::format::FormatLength;
use mcp_attune_rmcp::language::Languages;
use mcp_attune_rmcp::{AttuneLayer, Caller, Settings, TimeTextError, stdio};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents};
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;

static LANGUAGES: LazyLock<Languages> =
    LazyLock::new(|| Languages::new("en", ["de", "fr"]).expect("these are languages"));

#[derive(Clone)]
pub(crate) struct Clock;

#[derive(Deserialize, JsonSchema)]
struct Period {
    /// What to look up, such as `last week`, in the user's language or in English
    period: String,
}

#[tool_router]
impl Clock {
    /// Says what time it is for the user
    #[tool]
    fn now(&self, caller: Caller) -> String {
        if caller.prefers(ContentFormat::Json) {
            return serde_json::json!({ "now": caller.now() }).to_string();
        }
        let language = caller.language(&LANGUAGES);
        let now = caller.format().zoned(caller.now().timestamp(), FormatLength::Long);
        match language.as_str() {
            "de" => format!("Es ist {now}."),
            "fr" => format!("Nous sommes le {now}."),
            _ => format!("It is {now}."),
        }
    }

    /// Says on which days a period begins and ends for the user
    #[tool]
    fn days(
        &self,
        caller: Caller,
        Parameters(Period { period }): Parameters<Period>,
    ) -> Result<String, TimeTextError> {
        let (interval, zone) = (caller.when(&period)?, caller.now().time_zone().clone());
        let day = |instant| caller.format().date(zone.to_datetime(instant).date(), FormatLength::Medium);
        Ok(format!("{} – {}", day(interval.start), day(interval.end - jiff::SignedDuration::from_nanos(1))))
    }
}

#[tool_handler]
impl ServerHandler for Clock {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = self.now(Caller::of(&context));
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

/// The layer lets only callers of this machine in; a server with a public name lists it in `Settings::guard`.
pub(crate) fn app() -> axum::Router {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Clock), sessions, Default::default());
    axum::Router::new().route_service("/mcp", service).layer(AttuneLayer::default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1) {
        Some(address) => {
            let listener = tokio::net::TcpListener::bind(address).await?;
            println!("listening on http://{}/mcp", listener.local_addr()?);
            axum::serve(listener, app()).await?;
        }
        None => _ = Clock.serve(stdio(Settings::default())).await?.waiting().await?,
    }
    Ok(())
}
