//! One MCP message, its HTTP headers, and whether they agree.
#![no_std]
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

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod protocol;
pub mod quality;
pub mod text;
pub mod notice;

mod number;
pub mod json;
mod scan;
pub mod document;

#[cfg(feature = "count-readings")]
pub mod readings;

pub mod header;
pub mod hop_headers;
pub mod message;

pub mod context;
pub mod correlate;
pub mod handshake;
pub mod listing;
pub mod multiplex;
pub mod schema;

pub mod mirror;

pub mod agree;
pub mod endpoint;

pub mod reply;
