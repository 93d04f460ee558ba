//! What Attune gives to rmcp's servers and clients.
//!
//! # In a server
//!
//! [`Caller`] is an argument of a handler: who is calling, in which language, where, and what time it is there. Over
//! HTTP [`AttuneLayer`] goes around the service; over pipes, [`stdio`] or [`AttuneTransport`] is the transport. They
//! read the request, check it, and report the language that a handler chose. `examples/clock.rs` is a whole server, and
//! docs/rust.md a guide to one.
//!
//! The layer lets only callers of this machine in (`Host` and `Origin`, rule H15). A server with a public name lists it
//! in its [`Settings`], as in [`guard`].
//!
//! # In a client
//!
//! A [`ServerTarget`] is a URL, or a program with its arguments. [`Connection::open`] reaches it and finds out which
//! era it speaks; then it can be asked. rmcp does the protocol: the negotiation, sessions and streams. What rmcp reads
//! into its own types loses the members that it does not know, so a connection keeps the text of every answer as it
//! came: what a command shows is what the server said.
//!
//! ## Which era
//!
//! 1. `server/discover`, as of 2026-07-28. Whoever answers it with that version is spoken to without a session.
//! 2. An error that the modern era does not have, or silence for eight seconds, or half of the time that there is:
//!    `initialize`, 2025-11-25 or what the server has instead. An answer that comes after that is dropped.
//! 3. A program that ends at a question that it does not know (it has read it, as far as the system tells), or a server
//!    that names older versions only or answers with something that is no introduction, is connected to once more,
//!    beginning with `initialize`.
//!
//! ## Who is calling
//!
//! A [`CallerProfile`] says which language, time, place and features a caller has, in the [`ConnectionOptions`] for a
//! whole connection or by [`Connection::with_profile`] for a request. What it says is in every request of both eras and
//! over both transports, as far as each has a place for it; the default says nothing.
//! [`ProfiledConnection::unmet_preferences`] tells what of it was not honoured.
//!
//! ## What is believed
//!
//! 1. A tool whose `x-mcp-header` annotations are invalid is left out of a [`CompleteListing`], which tells why, and
//!    not called. This is so over HTTP in the modern era; elsewhere no headers mirror arguments.
//! 2. A call that is refused for headers that mirror parameters is repeated once, after the tools were listed again.
//! 3. An answer that says one language in `Content-Language` and another in its `_meta` is malformed.
//! 4. With an [`AnswerCache`] answers are kept for as long as the server says, and one for each kind of caller.
//!
//! ## Bounds
//!
//! Everything that a server sends is bounded by [`ConnectionOptions`]: how long it may take, how large one answer is,
//! how many pages and items a listing has. Redirects are not followed.
//!
//! ## Example
//!
//! ```
//! use mcp_attune_rmcp::{Connection, ConnectionOptions, ServerTarget};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let url = format!("http://{}/mcp", listener.local_addr()?);
//! # tokio::spawn(mcp_attune_demo::serve(listener, Default::default(), std::future::pending()));
//! let target: ServerTarget = url.parse()?;
//! let connection = Connection::open(&target, &ConnectionOptions::default()).await?;
//! assert_eq!(connection.version(), "2026-07-28");
//!
//! let tools = connection.tools().await?;
//! assert!(tools.iter().any(|tool| tool["name"] == "get_weather"));
//!
//! // The same connection, for somebody in Zurich.
//! use mcp_attune_rmcp::{CallerProfile, language::AcceptLanguage};
//! let swiss = CallerProfile::default().language(AcceptLanguage::parse("de-CH, en;q=0.5")?);
//! let weather = connection.with_profile(&swiss).call("get_weather", serde_json::json!({ "location": "Bern" })).await?;
//! assert_eq!(weather["structuredContent"]["location"], "Bern");
//! connection.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
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

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

/// The code of the README.
#[cfg(all(doctest, feature = "format", feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "client")]
pub use client::{
    AnswerCache, CallerProfile, CertificateTrust, ClientError, ClientHost, CompleteListing, Connection,
    ConnectionOptions, CustomHeader, CustomHeaderError, DroppedTool, ElicitationFuture, Era, McpVersion,
    ProfileFeatureError, ProfiledConnection, ServerCertificateProblem, ServerTarget, ServerTargetError,
    StderrTarget, UnknownVersion, UnmetPreference, WireEvent, client_tls_config,
};
#[cfg(any(feature = "client", feature = "server"))]
pub use mcp_attune::{catalog, context, features, format, language, messages, when};
#[cfg(feature = "server")]
pub use mcp_attune_tower::{AttuneLayer, Settings, guard};
#[cfg(feature = "server")]
pub use server::{AttuneTransport, Caller, TestCallerBuilder, TimeTextError, stdio};
