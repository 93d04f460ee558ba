//! The rules of Attune: what each caller of an MCP server gets, and why.
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

pub mod edits;
pub mod suggestion;

pub mod features;
pub mod language;
pub mod session;
pub mod task;

pub mod context;
pub mod format;
pub mod week;
pub mod when;

pub mod messages;

pub mod catalog;
pub mod localize;
pub mod words;

pub mod shaping;

pub mod assume;
pub mod caller;

pub mod bind;
pub mod plan;

pub mod exchange;

pub mod bridge;

pub mod cache;

pub mod clients;

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
