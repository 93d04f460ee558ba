//! A small Swiss travel service over MCP, to try Attune with.
//!
//! It is what a good server looks like today: English titles, results as text and as structured content, times in
//! UTC unless a zone is asked for. It knows nothing of languages, formats or the caller's context, so that one sees
//! what Attune adds in front of it; four tools are the exception, and show what a Rust author can do with
//! [`Caller`](mcp_attune_rmcp::Caller). The sample data never change. The clock runs, unless [`DemoOptions::now`] stops it.
//!
//! | what | name | shows |
//! |---|---|---|
//! | tool | `get_weather` | prose and structured content, `outputSchema`, an optional `tz` |
//! | tool | `find_connections` | a list of objects |
//! | tool | `book_seat` | elicitation: `input_required` for modern callers, `elicitation/create` for legacy ones |
//! | tool | `build_report` | progress and cancellation |
//! | tool | `execute_sql` | `x-mcp-header` on a string, an integer, a boolean and a nested property |
//! | tool | `sales_report` | dates, numbers and money |
//! | tool | `local_time` | time zones: the caller's, or one that is named |
//! | tool | `query_sales`, `query_tickets`, `query_activity` | the caller's time, locale and language, known to the tool itself |
//! | resource | `map://features/alpine-valley-1` | JSON |
//! | template | `map://features/{id}` | a resource that is not listed |
//! | prompt | `plan_trip` | arguments |
//!
//! # Both eras
//!
//! A request that names 2026-07-28 in its header and its `_meta` is served by itself. A client that begins with
//! `initialize` gets a session, kept in memory.
//!
//! # What the server checks, and what it does not
//!
//! All of it is done by rmcp, before a tool runs:
//!
//! - `Host` must be a loopback name or one of [`DemoOptions::allowed_hosts`]: 403. `Origin` is not compared: a page on
//!   another origin fails at its CORS preflight, and a gateway in front decides for itself.
//! - `Accept` must name both `application/json` and `text/event-stream`: 406. `Content-Type` must be JSON: 415.
//! - `MCP-Protocol-Version` must be a known version (400), and equal to the one in `_meta` (400, `-32020`).
//! - Modern requests must have `Mcp-Method`, and `Mcp-Name` where the method has a name, equal to the body
//!   (400, `-32020`), and the `_meta` keys of the envelope (400, `-32602`).
//!
//! Nothing compares `Mcp-Param-*`: rmcp would, for a server that implements `ServerHandler::get_tool`, and
//! [`TravelServer`] leaves it out.
//!
//! # Example
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! println!("http://{}/mcp", listener.local_addr()?);
//! mcp_attune_demo::serve(listener, mcp_attune_demo::DemoOptions::default(), std::future::ready(())).await
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

mod data;
mod era;
mod prompts;
mod resources;
mod tools;

mod server;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use jiff::Timestamp;
use mcp_attune_shape::{EmbeddedTemplate, TemplateSubject};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

pub use server::TravelServer;

/// What an operator of the service might write for agents and for people.
pub const TEMPLATES: &[EmbeddedTemplate] = &[
    EmbeddedTemplate { of: WEATHER, file: "md", text: include_str!("../templates/get_weather.md") },
    EmbeddedTemplate {
        of: WEATHER,
        file: "compact.md",
        text: include_str!("../templates/get_weather.compact.md"),
    },
    EmbeddedTemplate {
        of: WEATHER,
        file: "!interactive.json",
        text: include_str!("../templates/get_weather.!interactive.json"),
    },
    EmbeddedTemplate { of: WEATHER, file: "hints", text: include_str!("../templates/get_weather.hints") },
    EmbeddedTemplate {
        of: TemplateSubject::Resource("map://features/alpine-valley-1"),
        file: "md",
        text: include_str!("../templates/alpine-valley-1.md"),
    },
    EmbeddedTemplate {
        of: PLAN,
        file: "mcp-capable.sampling.md",
        text: include_str!("../templates/plan_trip.mcp-capable.sampling.md"),
    },
    EmbeddedTemplate {
        of: PLAN,
        file: "interactive.md",
        text: include_str!("../templates/plan_trip.interactive.md"),
    },
];

const WEATHER: TemplateSubject = TemplateSubject::Tool("get_weather");
const PLAN: TemplateSubject = TemplateSubject::Prompt("plan_trip");

/// The locale files of the service, by their tags; English is its own language.
pub const LOCALES: &[(&str, &str)] = &[
    ("ar", include_str!("../locales/ar.json")),
    ("de-CH", include_str!("../locales/de-CH.json")),
    ("en", include_str!("../locales/en.json")),
    ("es-MX", include_str!("../locales/es-MX.json")),
    ("fr-CH", include_str!("../locales/fr-CH.json")),
    ("it-CH", include_str!("../locales/it-CH.json")),
    ("ja", include_str!("../locales/ja.json")),
    ("rm", include_str!("../locales/rm.json")),
    ("zh-TW", include_str!("../locales/zh-TW.json")),
];

/// How the demo behaves.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// How long `build_report` takes for each page.
    pub step_delay: Duration,
    /// Whether modern calls without progress are answered as one JSON document. Off, every answer is a stream.
    pub json_answers: bool,
    /// The moment at which the service's clock stands still; `None` lets it run.
    pub now: Option<Timestamp>,
    /// The hosts that requests may name, with or without a port. Empty, any host is allowed.
    pub allowed_hosts: Vec<String>,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            step_delay: Duration::from_millis(150),
            json_answers: true,
            now: None,
            allowed_hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec(),
        }
    }
}

/// The demo as a tower service: put it behind any path, or under a layer.
///
/// Clones share their legacy sessions. Cancelling `config.cancellation_token` of the service ends them all, and every
/// open stream with them.
pub fn service(options: DemoOptions) -> StreamableHttpService<TravelServer, LocalSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_json_response(options.json_answers)
        .with_allowed_hosts(options.allowed_hosts)
        .disable_allowed_origins();
    let travel = TravelServer::new(options.step_delay).with_stopped_clock(options.now);
    StreamableHttpService::new(move || Ok(travel.clone()), Arc::default(), config)
}

/// Serves the demo at `/mcp` until `shutdown` is ready. Streams that are still open then end at once.
pub async fn serve(
    listener: TcpListener,
    options: DemoOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let service = service(options);
    let streams = service.config.cancellation_token.clone();
    let router = Router::new().route_service("/mcp", service);
    // A stream is written in small pieces, and each would wait for the one before to be acknowledged.
    let listener = listener.tap_io(|tcp| {
        let _ = tcp.set_nodelay(true);
    });
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            shutdown.await;
            streams.cancel();
        })
        .await
}

/// Serves the demo on standard input and output until the input is closed.
pub async fn serve_stdio(options: &DemoOptions) -> io::Result<()> {
    let travel = TravelServer::new(options.step_delay).with_stopped_clock(options.now);
    let running = match rmcp::serve_server(travel, rmcp::transport::stdio_pipes()).await {
        // Whoever only wanted to know who we are has left.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        running => running.map_err(io::Error::other)?,
    };
    running.waiting().await.map_err(io::Error::other)?;
    Ok(())
}
