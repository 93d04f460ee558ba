//! The commands, one file each.
//!
//! A command is a struct that derives [`clap::Args`], with an example in its `after_help` that a test runs, and
//! `fn run(self, out: &mut impl Write) -> anyhow::Result<Exit>`: data goes to `out`, and an error says with
//! [`hinted`](crate::exit::hinted) what to do about it.

pub(crate) mod catalog;
pub(crate) mod init;
pub(crate) mod install;
#[cfg(feature = "audit")]
pub(crate) mod audit;
pub(crate) mod bundle;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod clients;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod discover;
pub(crate) mod explain;
pub(crate) mod features;
pub(crate) mod language;
pub(crate) mod list;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod serve;
pub(crate) mod stdio;
pub(crate) mod template;
