//! The rules of Attune as a tower layer ([`AttuneLayer`]) around any service that speaks MCP over HTTP, and as a
//! relay between two pipes ([`relay`]). Both drive the state machine [`mcp_attune::exchange`]: they do its I/O and
//! decide nothing themselves.
//!
//! 0. A request that names a host or an origin of somewhere else is refused with 403: [`Settings::guard`] lets this
//!    machine in, and what is listed there. A server with a public name has to list it.
//! 1. A POST is read once, up to its bound, and must agree with its headers; a refusal never reaches the service.
//! 2. The [`Caller`](mcp_attune::caller::Caller) is in the request's extensions, unless [`Settings::introduce`] is
//!    off.
//! 3. Answers are adapted message by message, JSON and events alike, and say their language where one is claimed.
//! 4. Requests of other methods are forwarded. Only a stream that is opened or resumed with GET is looked at.
//! 5. With [`Settings::seal`], the ids of legacy sessions and events carry what any replica needs to serve them.
//! 6. Locale files and templates are used as their owner has them in memory: no request looks whether they changed
//!    on a disk.
//!
//! The layer waits for listings on tokio's clock and spawns tasks, so it runs inside a tokio runtime.
//!
//! The service that the layer makes never fails: what goes wrong is an HTTP answer with a JSON-RPC error. Every body
//! that is held in memory has a limit ([`BodySizeLimits`]), and all of them together can have one ([`BufferBudget`]).
//! What became of a request is told beside the answer, as a [`RequestOutcome`].
//!
//! Around a plain axum handler, which learns who is calling:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use axum::{Extension, Router, routing::post};
//! use mcp_attune::caller::Caller;
//! use mcp_attune_tower::AttuneLayer;
//! # use tower::ServiceExt;
//!
//! async fn mcp(Extension(caller): Extension<Caller>) -> String {
//!     let wish = caller.preference().map_or("nothing", |preference| preference.as_str());
//!     format!("You prefer {wish}.")
//! }
//! let app: Router = Router::new().route("/mcp", post(mcp)).layer(AttuneLayer::default());
//! # let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"rm"}}}"#;
//! # let answer = app.oneshot(http::Request::post("/mcp").body(body.to_string()).unwrap()).await.unwrap();
//! # assert_eq!(axum::body::to_bytes(answer.into_body(), 99).await.unwrap(), "You prefer rm.");
//! # }
//! ```
//!
//! Around an rmcp server:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use mcp_attune::language::Languages;
//! use mcp_attune_tower::{AttuneLayer, Settings};
//! use tower::{Layer, ServiceExt};
//!
//! let rmcp = mcp_attune_demo::service(mcp_attune_demo::DemoOptions::default()); // a StreamableHttpService
//! let mut settings = Settings::default();
//! settings.offer.languages = Some(Languages::new("en", []).unwrap());
//! let service = AttuneLayer::new(settings).layer(rmcp);
//! # let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/acceptLanguage":"de""#;
//! # let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
//! # let request = http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json")
//! #     .header("accept", "application/json, text/event-stream").header("mcp-protocol-version", "2026-07-28")
//! #     .header("mcp-method", "tools/list").body(mcp_attune_tower::full(body)).unwrap();
//! # let answer = service.oneshot(request).await.unwrap();
//! # assert_eq!(answer.headers()["content-language"], "en");
//! # }
//! ```
//!
//! With locale files and templates on a disk, which a `FileWatcher` of
//! [`mcp-attune-files`](https://docs.rs/mcp-attune-files) follows:
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_attune::language::Tag;
//! use mcp_attune_files::{LocaleFolder, LocaleFilePattern, ServerTemplatePaths, ServerTemplateFiles, FileWatcher};
//! use mcp_attune_tower::{AttuneLayer, Settings};
//!
//! let folder = Arc::new(LocaleFolder::new(LocaleFilePattern::new("locales/${locale}.json")?, Tag::parse("en")?));
//! let shelves = Arc::new(ServerTemplateFiles::new(ServerTemplatePaths::default()));
//! let mut settings = Settings::default();
//! settings.offer.library = Some(folder.clone());
//! settings.offer.content = Some(shelves.clone());
//! let layer = AttuneLayer::new(settings);
//! // Until it is dropped.
//! let held = layer.clone();
//! let _following = FileWatcher::new().follow(folder).follow(shelves).on_refresh(move || held.recheck_templates()).spawn()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
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

// A module uses only modules above it. First what is told,
mod request_outcome;
pub mod logging;

// bodies, and what becomes of them,
mod held;
mod body;
mod failed;
mod long_work;
mod media;
mod attached_message;
mod inner;
pub mod sse;

// headers, and who may come in,
mod lines;
pub mod guard;
mod own_reply;

// what is known of the tools of a server,
mod tool_names;
mod listing_inspector;
mod fitting;
mod schemas;

// what a mount is,
mod seal;
mod settings;
mod memo;
mod mount;
mod library;

// and the drivers of an exchange: over HTTP, and between pipes.
mod lister;
mod admit;
mod response_adapter;
mod stream;
mod answer;
mod drive;
mod layer;
pub mod relay;

pub use attached_message::{AttachedMessage, CallerBody};
pub use body::{Body, BoxError, boxed, full};
pub use failed::HttpFailure;
pub use held::BufferBudget;
pub use inner::McpHttpService;
pub use layer::{AttuneLayer, AttuneService};
pub use mcp_attune::exchange::{IdSeal, NoRandomness, SealKeys};
pub use media::{BodyMediaType, media};
pub use own_reply::{render_reply, render_reply_for};
pub use request_outcome::RequestOutcome;
pub use schemas::SchemaCacheSettings;
pub use seal::{random_keys, seal};
pub use settings::{BodySizeLimits, Settings};
