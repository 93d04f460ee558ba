//! The server of docs/rust.md: one tool, two languages, over pipes and over HTTP.

#![allow(clippy::needless_pass_by_value, reason = "rmcp hands a handler its arguments")]

use std::sync::{Arc, LazyLock};

use mcp_attune_rmcp::catalog::EmbeddedLocales;
use mcp_attune_rmcp::language::Tag;
use mcp_attune_rmcp::messages::MessageArguments;
use mcp_attune_rmcp::{AttuneLayer, Caller, Settings, stdio};
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

/// The locale files, as a part of the program.
static TEXTS: LazyLock<Arc<EmbeddedLocales>> = LazyLock::new(|| {
    let files = &[("en", include_str!("en.json")), ("de", include_str!("de.json"))];
    Arc::new(EmbeddedLocales::new(Tag::parse("en").expect("a language"), files).expect("locale files"))
});

#[derive(Clone)]
pub(crate) struct Greeter;

#[tool_router]
impl Greeter {
    /// Says what day it is for the user
    #[tool(title = "What day is it?")]
    pub(crate) fn today(&self, caller: Caller) -> String {
        caller.text(&**TEXTS, "today", &MessageArguments::new().date("day", caller.now().date()))
    }
}

#[tool_handler]
impl ServerHandler for Greeter {}

/// What Attune does for this server: its titles and descriptions come from the locale files too.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.offer.library = Some(TEXTS.clone());
    settings
}

pub(crate) fn app() -> axum::Router {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Greeter), sessions, Default::default());
    axum::Router::new().route_service("/mcp", service).layer(AttuneLayer::new(settings()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1) {
        Some(address) => axum::serve(tokio::net::TcpListener::bind(address).await?, app()).await?,
        None => _ = Greeter.serve(stdio(settings())).await?.waiting().await?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_in_zurich_reads_their_own_day() {
        let caller = Caller::for_test()
            .language("de-CH, en;q=0.5")
            .timezone("Europe/Zurich")
            .now("2026-11-12T23:30:00Z")
            .locale("de-CH")
            .caller();
        assert_eq!(Greeter.today(caller.clone()), "Heute ist der 13.11.2026.");
        assert_eq!(caller.chosen_languages().unwrap().to_string(), "de");
    }
}
