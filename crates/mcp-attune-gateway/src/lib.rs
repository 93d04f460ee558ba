//! The Attune gateway: a reverse proxy for MCP that answers each caller in their language, format and time
//! zone.
//!
//! The gateway listens for callers over HTTP/1.1 and HTTP/2, with TLS or without, and passes their requests
//! on to MCP servers (*upstreams*), which it reaches over HTTP or starts as programs on their standard input
//! and output. On the way, the rules of Attune (`mcp_attune_tower::AttuneLayer`) check that headers and body
//! agree, negotiate the language, fill arguments from the caller's context and adapt the answer. Everything
//! in this crate is about carrying bytes safely: limits, time-outs, permits, reloading, logging and metrics.
//!
//! Where to begin reading:
//!
//! 1. [`config`] is `attune.toml`: every setting of an operator, checked as a whole.
//! 2. [`stack`] puts all layers together, in one function, with the reason for the position of each.
//! 3. [`listen`] accepts connections and reads requests from them.
//! 4. [`upstream`] sends requests to servers over HTTP; the private module `child` does the same for
//!    programs.
//! 5. [`gateway`] runs all of it: two listeners, the reload loop, and the stages of a shutdown.
//!
//! [`stdio`] is the other way to use the rules: between two pipes, without any HTTP. [`inspect`] serves
//! commands that check a configuration, and [`access`], [`request_id`] and [`workers`] are what a program
//! needs that embeds the gateway and has a log and a runtime of its own.
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

// A module uses only modules above it: first what knows nothing of the gateway, then what a request meets, from the
// upstream outwards, and last what runs it all.

pub mod config;
pub mod workers;

mod body;
mod date;
mod descriptors;
mod message_sender;
mod poll_on_wake;
mod refusal;

pub mod access;
pub mod request_id;

mod caller_keys;
mod slots;

pub mod listen;

mod upstream_error;

mod health;
mod metrics;
mod probe;

pub mod upstream;

mod auth;
mod bridge;
mod child;
mod server_check;
mod tally;

mod mount;
mod open_streams;
mod permits;
mod route;

mod dispatch;

pub mod guard;
pub mod stack;

mod admin;

pub mod inspect;

mod reload;

pub mod gateway;
pub mod stdio;

pub use mcp_attune_tower::{Body, BoxError};
