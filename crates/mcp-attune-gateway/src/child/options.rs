//! How a program behind is run and spoken to, put together from the configuration.

use std::time::Duration;

use mcp_attune_process::process::{self, Program, ProgramEnvironment, StderrTarget};

use crate::config;

/// How one program is run, and the limits that it is held to.
///
/// `ChildRegistry::upstream` compares these: a reload that leaves all of them as they are keeps the running
/// children and their sessions.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ChildOptions {
    /// The name of the mount, for the log.
    pub(super) mount: String,
    /// Command, arguments, directory and environment. Standard error goes into the log, under the name of the
    /// mount.
    pub(super) program: Program,
    /// How many legacy sessions may be open at one time, each with a child of its own (`children`). The child
    /// that modern callers share comes on top.
    pub(super) sessions: usize,
    /// The part of `sessions` that one caller may have (`[limits] share`): above 0, and at most 1.
    pub(super) share: f64,
    /// How long a child without work is kept, and with it its session (`child_idle`).
    pub(super) idle: Duration,
    /// How long a request may take until its answer begins, the start of a child included (`[limits]
    /// upstream_first_byte`).
    pub(super) first_byte: Duration,
    /// How long a stream may be silent while the child owes its caller a message (`[limits] stream_idle`).
    pub(super) stream_idle: Duration,
    /// The longest line of the child that is read, in bytes: the larger one of `[limits] answer` and
    /// `[limits] event`. A longer line is dropped, and the call that it answers fails with
    /// `UpstreamError::TooLarge`.
    pub(super) line: usize,
    /// How many bytes of messages one session keeps for a caller that resumes a stream (`[limits] event`).
    pub(super) kept: usize,
}

impl ChildOptions {
    /// Combines what the mount says of its program with the limits of the gateway.
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

    /// Checks that the program can be found and may be executed, without starting it, so that a mistake is
    /// told when the configuration is read and not to the first caller. Where the system is no Unix it always
    /// succeeds.
    pub(crate) fn check_program_exists(&self) -> Result<(), process::ProgramStartError> {
        process::check_startable(&self.program)
    }
}
