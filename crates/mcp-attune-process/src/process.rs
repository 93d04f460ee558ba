//! Programs that are started, kept in a group of their own, and ended with all that they started themselves.
//!
//! 1. A child reads and writes pipes; what it says on its standard error is logged line by line, or goes where our
//!    own goes.
//! 2. Its environment is the operator's choice: see `environment.rs`.
//! 3. It leads a process group, so that the programs behind a wrapper (`npx`, a shell) end with it, and so that a
//!    Ctrl-C in our terminal ends us first, and then we end our children in order.
//! 4. The end: its input is closed; it may finish; its group is asked to end (`SIGTERM`); it is ended (`SIGKILL`).
//!    Whatever is dropped without that is ended at once. Where there are no groups, the program alone is ended.
//!
//! Caveat: when we are ended by force ourselves, our children only find their input closed.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::environment;
use crate::stderr;

/// How long a child may take to end by itself when its input is closed, and again when it is asked to.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// A program to start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its name, looked for in `PATH`, or its path.
    pub name: String,
    /// What it is given on its command line.
    pub arguments: Vec<String>,
    /// The folder that it runs in; ours where none is named.
    pub directory: Option<PathBuf>,
    /// What it finds in its environment.
    pub environment: ProgramEnvironment,
    /// Where its standard error goes.
    pub stderr: StderrTarget,
}

/// What a program finds in its environment. See `environment.rs`.
#[derive(Clone, PartialEq, Eq)]
pub enum ProgramEnvironment {
    /// All that we have but what is meant for ourselves (`ATTUNE_…` but `ATTUNE_SETTING_…`), and these on top.
    Inherited(Vec<(String, String)>),
    /// What programs need, and these on top.
    Chosen(Vec<(String, String)>),
}

impl fmt::Debug for ProgramEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, added) = match self {
            Self::Inherited(added) => ("Inherited", added),
            Self::Chosen(added) => ("Chosen", added),
        };
        let names: Vec<_> = added.iter().map(|(name, _)| name).collect();
        f.debug_tuple(name).field(&names).finish()
    }
}

/// Where a program's standard error goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StderrTarget {
    /// Into our log, under this name.
    Logged(String),
    /// Where ours goes.
    Inherited,
    /// To whoever starts it, through [`ProgramPipes::stderr`].
    Piped,
}

/// Why a program does not run.
#[derive(Debug)]
pub struct ProgramStartError {
    program: String,
    why: io::Error,
}

impl fmt::Display for ProgramStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = &self.program;
        match self.why.kind() {
            io::ErrorKind::NotFound => {
                write!(f, "the program {program} was not found; is it installed, and is its folder in PATH?")
            }
            io::ErrorKind::PermissionDenied => {
                write!(f, "the program {program} may not be run; is it executable?")
            }
            _ => write!(f, "the program {program} cannot be started: {}", self.why),
        }
    }
}

impl std::error::Error for ProgramStartError {}

/// The ends of a running program that messages and its log go through.
#[derive(Debug)]
pub struct ProgramPipes {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it says beside, where that is [piped](StderrTarget::Piped).
    pub stderr: Option<ChildStderr>,
}

impl ProgramPipes {
    /// A look at what the program has not read yet; none where the system does not tell.
    pub fn stdin_backlog(&self) -> Option<StdinBacklog> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsFd;
            self.stdin.as_fd().try_clone_to_owned().ok().map(|input| StdinBacklog { input })
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// What a program has not read yet of what was written to it. Its input stays open as long as this is there.
#[derive(Debug)]
pub struct StdinBacklog {
    #[cfg(target_os = "linux")]
    input: std::os::fd::OwnedFd,
}

impl StdinBacklog {
    /// How many bytes; none where the system does not tell.
    pub fn bytes(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        {
            rustix::io::ioctl_fionread(&self.input).ok()
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// A program that runs. Dropped, it and its group are ended by force.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    /// The group is the program's own number. None once it is over, or where there are no groups.
    group: Option<u32>,
}

/// Looks into the pipe to a program's standard input, for what the program has not read.
///
/// It holds the pipe open: drop it before the program is to notice that its input is closed.
#[derive(Debug)]
pub struct UnreadInput {
    #[cfg(unix)]
    pipe: std::os::fd::OwnedFd,
}

impl UnreadInput {
    /// None where the system cannot tell.
    #[must_use]
    pub fn from_stdin(stdin: &ChildStdin) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            Some(Self { pipe: stdin.as_fd().try_clone_to_owned().ok()? })
        }
        #[cfg(not(unix))]
        {
            let _ = stdin;
            None
        }
    }

    /// Whether something was left unread.
    #[must_use]
    pub fn has_unread_bytes(&self) -> bool {
        #[cfg(unix)]
        {
            rustix::io::ioctl_fionread(&self.pipe).is_ok_and(|bytes| bytes > 0)
        }
        #[cfg(not(unix))]
        false
    }
}

/// The exit code that stands for how a program ended; as shells do, 128 is added to the number of a signal.
#[must_use]
pub fn exit_code(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return Some(signal + 128);
        }
    }
    status.code()
}

/// Starts a program.
pub fn start(program: &Program) -> Result<(RunningProgram, ProgramPipes), ProgramStartError> {
    let failed = |why| ProgramStartError { program: program.name.clone(), why };
    let mut command = Command::new(&program.name);
    command.args(&program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    match &program.environment {
        ProgramEnvironment::Chosen(_) => {
            command.env_clear().envs(environment::essential_variables(std::env::vars_os()));
        }
        ProgramEnvironment::Inherited(_) => {
            for name in environment::own_variable_names(std::env::vars_os()) {
                command.env_remove(name);
            }
        }
    }
    let (ProgramEnvironment::Inherited(added) | ProgramEnvironment::Chosen(added)) = &program.environment;
    command.envs(added.iter().map(|(name, value)| (name, value)));
    command.stderr(match program.stderr {
        StderrTarget::Logged(_) | StderrTarget::Piped => Stdio::piped(),
        StderrTarget::Inherited => Stdio::inherit(),
    });
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let group = child.id().filter(|_| cfg!(unix));
    let (stdin, stdout, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let process = RunningProgram { child, group };
    let stderr = match (&program.stderr, errors) {
        (StderrTarget::Logged(name), Some(errors)) => {
            tokio::spawn(stderr::log_lines(errors, name.clone()));
            None
        }
        (_, errors) => errors,
    };
    match (stdin, stdout) {
        (Some(stdin), Some(stdout)) => Ok((process, ProgramPipes { stdin, stdout, stderr })),
        _ => Err(failed(io::Error::other("it has no pipes"))),
    }
}

/// Whether a program can be found at all, so that an operator hears of it at once and not from the first caller.
pub fn check_startable(program: &Program) -> Result<(), ProgramStartError> {
    // Elsewhere, names are looked for in more ways than PATH.
    if !cfg!(unix) {
        return Ok(());
    }
    let (ProgramEnvironment::Inherited(added) | ProgramEnvironment::Chosen(added)) = &program.environment;
    let path = added.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| OsString::from(value)).or_else(|| std::env::var_os("PATH"));
    let mut places: Vec<PathBuf> = if program.name.contains('/') {
        vec![program.directory.as_deref().unwrap_or(Path::new("")).join(&program.name)]
    } else {
        std::env::split_paths(&path.unwrap_or_default()).map(|folder| folder.join(&program.name)).collect()
    };
    places.retain(|place| place.is_file());
    let why = match places.iter().any(|place| is_executable(place)) {
        true => return Ok(()),
        false if places.is_empty() => io::ErrorKind::NotFound,
        false => io::ErrorKind::PermissionDenied,
    };
    Err(ProgramStartError { program: program.name.clone(), why: why.into() })
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

impl RunningProgram {
    /// The program's number, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Passes a signal on to it, and to all that it started.
    pub fn send_signal(&self, told: Signal) {
        if let Some(group) = self.group {
            signal(group, told);
        }
    }

    /// Waits until it ended by itself, and ends what it left behind. Can be dropped and called again.
    pub async fn wait_for_exit(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        if let Some(group) = self.group.take() {
            signal(group, Signal::Kill);
        }
        status
    }

    /// Ends it. Its input must have been closed before: that is the first thing that it is to notice.
    pub async fn terminate(mut self) -> Option<ExitStatus> {
        if let Ok(status) = timeout(SHUTDOWN_GRACE, self.wait_for_exit()).await {
            return status.ok();
        }
        if let Some(group) = self.group {
            signal(group, Signal::Term);
            if let Ok(status) = timeout(SHUTDOWN_GRACE, self.wait_for_exit()).await {
                return status.ok();
            }
            signal(group, Signal::Kill);
        }
        let _ = self.child.start_kill();
        timeout(SHUTDOWN_GRACE, self.wait_for_exit()).await.ok()?.ok()
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // The runtime reaps the program itself; `kill_on_drop` ends it where there is no group.
        if let Some(group) = self.group.take() {
            signal(group, Signal::Kill);
        }
    }
}

/// What a program can be told by whoever started it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// The terminal is gone.
    HangUp,
    /// Ctrl-C.
    Interrupt,
    /// Please end.
    Term,
    /// End.
    Kill,
}

/// Nobody left in the group is not a failure: that is what is wanted.
#[cfg(unix)]
fn signal(group: u32, signal: Signal) {
    use rustix::process::{Pid, kill_process_group};
    let signal = match signal {
        Signal::HangUp => rustix::process::Signal::HUP,
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Term => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(group) = i32::try_from(group).ok().filter(|group| *group > 1).and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(not(unix))]
fn signal(_: u32, _: Signal) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    fn shell(script: &str) -> Program {
        Program {
            name: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            directory: None,
            environment: ProgramEnvironment::Chosen(vec![("MINE".into(), "yes".into())]),
            stderr: StderrTarget::Logged("test".into()),
        }
    }

    /// Whether a program is over; whether somebody has asked how it ended does not matter.
    fn is_over(id: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
        let dead = stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')));
        dead || rustix::process::test_kill_process(rustix::process::Pid::from_raw(id as i32).unwrap())
            .is_err()
    }

    async fn gone(id: u32) -> bool {
        for _ in 0..500 {
            if is_over(id) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    /// Starts a script that says its own number, and that of a program which it starts itself.
    async fn family(script: &str) -> (RunningProgram, ProgramPipes, Vec<u32>) {
        let (process, pipes) = start(&shell(script)).unwrap();
        let ProgramPipes { stdin, stdout, stderr } = pipes;
        let mut lines = BufReader::new(stdout).lines();
        let ids = lines.next_line().await.unwrap().unwrap();
        let ids = ids.split(' ').map(|id| id.parse().unwrap()).collect();
        (process, ProgramPipes { stdin, stdout: lines.into_inner().into_inner(), stderr }, ids)
    }

    #[tokio::test]
    async fn gives_a_child_what_it_needs_and_what_was_chosen() {
        let (process, mut pipes) = start(&shell("echo $MINE; env")).unwrap();
        let mut said = String::new();
        pipes.stdout.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("yes\n"), "{said}");
        assert!(said.contains("\nPATH="));
        assert!(!said.contains("CARGO"), "{said}");
        drop(pipes);
        assert!(process.terminate().await.unwrap().success());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn tells_whether_a_child_has_read_its_input() {
        use tokio::io::AsyncWriteExt;
        let (process, mut pipes) = start(&shell("read go; echo $go; sleep 600")).unwrap();
        let unread = pipes.stdin_backlog().unwrap();
        pipes.stdin.write_all(b"now").await.unwrap();
        pipes.stdin.write_all(b"\n").await.unwrap();
        assert_eq!(BufReader::new(&mut pipes.stdout).lines().next_line().await.unwrap().unwrap(), "now");
        assert_eq!(unread.bytes(), Some(0));
        pipes.stdin.write_all(b"more").await.unwrap();
        assert_eq!(unread.bytes(), Some(4));
        drop(process);
    }

    #[tokio::test]
    async fn a_child_may_say_what_it_has_to_say_to_whoever_started_it() {
        let program = Program { stderr: StderrTarget::Piped, ..shell("echo aside >&2") };
        let (_process, pipes) = start(&program).unwrap();
        let mut said = String::new();
        pipes.stderr.unwrap().read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "aside\n");
    }

    #[tokio::test]
    async fn what_a_child_did_not_read_is_seen_when_it_is_over() {
        use tokio::io::AsyncWriteExt;
        // The first ends when it is told to: one that was over before it was sent anything would leave nothing unread.
        let deaf = "trap 'exit 1' TERM; echo; while :; do sleep 0.05; done";
        for (script, unread) in [(deaf, true), ("echo; read line; exit 1", false)] {
            let (mut process, mut pipes) = start(&shell(script)).unwrap();
            let input = UnreadInput::from_stdin(&pipes.stdin).unwrap();
            BufReader::new(&mut pipes.stdout).lines().next_line().await.unwrap();
            pipes.stdin.write_all(b"a line\n").await.unwrap();
            if unread {
                process.send_signal(Signal::Term);
            }
            assert_eq!(exit_code(process.wait_for_exit().await.unwrap()), Some(1));
            assert_eq!(input.has_unread_bytes(), unread, "{script}");
        }
    }

    #[tokio::test]
    async fn ends_a_child_that_ends_with_its_input() {
        let (process, pipes, _) = family("echo $$; cat; exit 7").await;
        drop(pipes);
        assert_eq!(process.terminate().await.unwrap().code(), Some(7));
    }

    #[tokio::test]
    async fn ends_a_child_that_does_not_listen_with_what_it_started() {
        let (process, pipes, ids) =
            family("trap '' TERM; sleep 600 & echo $$ $!; while true; do wait; sleep 600; done").await;
        drop(pipes);
        assert!(process.terminate().await.is_some());
        for id in ids {
            assert!(gone(id).await, "{id}");
        }
    }

    #[tokio::test]
    async fn ends_what_a_child_left_behind() {
        let (mut process, _pipes, ids) = family("sleep 600 & echo $$ $!").await;
        process.wait_for_exit().await.unwrap();
        assert!(gone(ids[1]).await);
    }

    #[tokio::test]
    async fn ends_a_child_that_is_dropped() {
        let (process, _pipes, ids) = family("sleep 600 & echo $$ $!; sleep 600").await;
        drop(process);
        for id in ids {
            assert!(gone(id).await, "{id}");
        }
    }

    #[tokio::test]
    async fn says_what_is_wrong_with_a_program() {
        let program = Program { name: "no-such-program".into(), ..shell("") };
        let says = "the program no-such-program was not found; is it installed, and is its folder in PATH?";
        assert_eq!(check_startable(&program).unwrap_err().to_string(), says);
        assert_eq!(start(&program).unwrap_err().to_string(), says);
        let program =
            Program { name: concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into(), ..shell("") };
        assert!(start(&program).unwrap_err().to_string().ends_with("may not be run; is it executable?"));
        assert!(
            check_startable(&program).unwrap_err().to_string().ends_with("may not be run; is it executable?")
        );
        assert!(check_startable(&shell("")).is_ok());
    }
}
