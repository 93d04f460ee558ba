//! Programs that are MCP servers over their standard input and output: how they are started, spoken to line by
//! line, and ended together with all processes that they started.
//!
//! This is what a gateway in front of such a program and a client of one have in common, and no more: nothing
//! here knows what a message is, except for the one place that finds the id of a message that is too long to be
//! kept.
//!
//! Without the feature `programs` (on by default) there is only [`lines`], for those who already have two
//! pipes.
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
