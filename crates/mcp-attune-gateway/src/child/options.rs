//! How a program behind is run and spoken to.

use std::time::Duration;

use mcp_attune_process::process::{self, Program, ProgramEnvironment, StderrTarget};

use crate::config;

/// How a program is run and spoken to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ChildOptions {
    pub(super) mount: String,
    pub(super) program: Program,
    pub(super) sessions: usize,
    /// The part of the sessions that one caller may have.
    pub(super) share: f64,
    pub(super) idle: Duration,
    pub(super) first_byte: Duration,
    pub(super) stream_idle: Duration,
    /// How long a line may be.
    pub(super) line: usize,
    /// How many bytes of one session are kept to be heard again.
    pub(super) kept: usize,
}

impl ChildOptions {
    pub(crate) fn new(mount: &str, child: &config::ChildConfig, limits: &config::LimitsConfig) -> Self {
        let added = child.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let program = Program {
            name: child.program.clone(),
            arguments: child.arguments.clone(),
            directory: child.directory.clone(),
            environment: if child.inherit_env {
                ProgramEnvironment::Inherited(added.collect())
            } else {
                ProgramEnvironment::Chosen(added.collect())
            },
            stderr: StderrTarget::Logged(mount.to_owned()),
        };
        Self {
            mount: mount.to_owned(),
            program,
            sessions: child.children,
            share: limits.share,
            idle: child.child_idle,
            first_byte: limits.upstream_first_byte,
            stream_idle: limits.stream_idle,
            line: limits.answer.max(limits.event),
            kept: limits.event,
        }
    }

    /// Whether the program is there at all.
    pub(crate) fn check_program_exists(&self) -> Result<(), process::ProgramStartError> {
        process::check_startable(&self.program)
    }
}
