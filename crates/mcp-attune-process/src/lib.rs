//! Programs that are MCP servers: started, spoken to in lines, ended with all that they started.
//!
//! What a gateway in front of such a program and a client of one have in common, and no more: nothing here knows what a
//! message is.
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

#[cfg(feature = "programs")]
mod environment;
pub mod lines;
#[cfg(feature = "programs")]
pub mod throttle;

#[cfg(feature = "programs")]
mod stderr;

#[cfg(feature = "programs")]
pub mod process;
