//! The binary, run as a user runs it: what it prints, and how it ends.

mod asking;
mod audit;
mod bad_servers;
mod bundle;
mod bundled;
mod callers;
mod catalog;
mod certificates;
mod check;
mod clients;
mod config;
mod context;
mod demo;
mod explain;
mod features;
mod flood;
mod guides;
mod help;
mod init;
mod install;
mod language;
mod localized;
mod operating;
mod preview;
mod readme;
mod scripts;
mod serve_operations;
mod serving;
mod shaped;
mod signals;
mod stdio;
mod template;
mod terminal;

use std::process::{Command, Output};

/// Runs `attune` and shows everything that can be seen of it.
fn attune(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_attune")).args(arguments).output().expect("attune starts");
    format!(
        "exit: {}\n--- stdout\n{}--- stderr\n{}",
        code(&output),
        text(&output.stdout),
        text(&output.stderr)
    )
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("attune ends by itself")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("attune prints UTF-8")
}
