//! The gateway of Attune: configuration, the one stack in order, and the servers behind it.
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

// A module uses only modules above it: first what knows nothing of the gateway, then what a request meets, from the server
// behind outwards, and last what runs it all.

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
