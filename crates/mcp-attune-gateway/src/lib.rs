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

pub mod access;

mod admin;
mod body;
mod caller_keys;
mod descriptors;
mod health;
mod http1;
mod metrics;
mod refusal;
mod slots;
mod tally;
mod wake;

pub mod workers;

pub mod config;

pub mod guard;
pub mod listen;
pub mod request_id;
pub mod upstream;

mod child;
pub mod inspect;
mod look;
mod route;

pub mod stack;
pub mod stdio;

mod listening;
mod reload;

pub mod gateway;

#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzzed;

pub use mcp_attune_tower::{Body, BoxError};
