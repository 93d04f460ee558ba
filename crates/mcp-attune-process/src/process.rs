//! Child processes that are started in a process group of their own, and ended with all processes that they
//! started.
//!
//! 1. A child reads and writes pipes. What it writes to its standard error is logged line by line, goes where
//!    our own standard error goes, or is handed to whoever starts the child.
//! 2. Its environment is the operator's choice: see `environment.rs`.
//! 3. It leads a process group, so that the programs behind a wrapper (`npx`, a shell) end with it, and so that
//!    a Ctrl-C in our terminal ends us first, and then we end our children in order.
//! 4. The end has four steps: its input is closed; it may finish; its group is asked to end (`SIGTERM`); its
//!    group is killed (`SIGKILL`). A child that is dropped without these steps is killed at once. On systems
//!    without process groups only the program itself is killed.
//!
//! Caveat: if we are killed ourselves, our children only find their input closed.

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

/// How long each step of [`RunningProgram::terminate`] waits for the child to exit: after its input is closed,
/// after `SIGTERM`, and after `SIGKILL`.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// A program to start with [`start`], with everything that its process gets from us.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its path, or its name, which is looked up in `PATH`.
    pub name: String,
    /// Its command line arguments, without the name. No shell interprets them.
    pub arguments: Vec<String>,
    /// The working directory. `None` means our own.
    pub directory: Option<PathBuf>,
    /// The environment variables that it gets.
    pub environment: ProgramEnvironment,
    /// Where its standard error goes.
    pub stderr: StderrTarget,
}

/// The environment variables that a program gets; the rules are in `environment.rs`. `Debug` shows the names of
/// added variables and never their values, which may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum ProgramEnvironment {
    /// All variables of our own environment, except those that configure ourselves (`ATTUNE_…`, but
    /// `ATTUNE_SETTING_…` is inherited), and these in addition. On equal names these win.
    Inherited(Vec<(String, String)>),
    /// Only the variables that programs commonly need, such as `PATH`, `HOME` and `LANG`, and these in
    /// addition.
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
    /// Into our log, line by line, with this name in the field `child`. Long lines are cut and floods are
    /// throttled.
    Logged(String),
    /// To our own standard error, unchanged.
    Inherited,
    /// To whoever starts it, through [`ProgramPipes::stderr`]. They must read it, or the program blocks when
    /// the pipe is full.
    Piped,
}

/// Why a program could not be started, for an operator.
#[derive(Debug)]
pub struct ProgramStartError {
    program: String,
    why: io::Error,
}

impl ProgramStartError {
    /// Returns what is wrong: `the program x was not found`.
    #[must_use]
    pub fn what(&self) -> String {
        let program = &self.program;
        match self.why.kind() {
            io::ErrorKind::NotFound => format!("the program {program} was not found"),
            io::ErrorKind::PermissionDenied => format!("the program {program} may not be run"),
            _ => format!("the program {program} cannot be started: {}", self.why),
        }
    }

    /// Returns what to look at, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self.why.kind() {
            io::ErrorKind::NotFound => Some("is it installed, and is its folder in PATH?"),
            io::ErrorKind::PermissionDenied => Some("is it executable?"),
            _ => None,
        }
    }
}

impl fmt::Display for ProgramStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for ProgramStartError {}

/// Our ends of the pipes of a running program. Dropping `stdin` closes the program's input, the first step of
/// its end.
#[derive(Debug)]
pub struct ProgramPipes {
    /// What is written here, the program reads from its standard input.
    pub stdin: ChildStdin,
    /// What the program writes to its standard output.
    pub stdout: ChildStdout,
    /// What the program writes to its standard error if that is [piped](StderrTarget::Piped), else `None`.
    pub stderr: Option<ChildStderr>,
}

impl ProgramPipes {
    /// Returns a handle that tells how much of its input the program has not read yet. `None` where the system
    /// cannot tell, which is everywhere but on Linux.
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

/// Tells how many bytes in the pipe to a program's standard input the program has not read yet.
///
/// It holds a duplicate of our end of the pipe: drop it before the program is to notice that its input is
/// closed.
#[derive(Debug)]
pub struct StdinBacklog {
    #[cfg(target_os = "linux")]
    input: std::os::fd::OwnedFd,
}

impl StdinBacklog {
    /// Returns the number of unread bytes in the pipe. `None` where the system cannot tell.
    pub fn bytes(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        {
            rustix::io::ioctl_fionread(&self.input).ok()
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// A running child process and its process group. Dropping it kills the whole group at once;
/// [`terminate`](Self::terminate) ends it in order.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    /// The id of the process group, which is the process id of the program. `None` once the group was killed
    /// after the program's exit, so that no signal can reach a later group with the same id, or where there are
    /// no process groups.
    group: Option<u32>,
}

/// Tells whether a program left unread what was written to its standard input. In contrast to [`StdinBacklog`]
/// it exists on all Unix systems and is meant to be asked when the program is over.
///
/// It holds a duplicate of our end of the pipe: drop it before the program is to notice that its input is
/// closed.
#[derive(Debug)]
pub struct UnreadInput {
    #[cfg(unix)]
    pipe: std::os::fd::OwnedFd,
}

impl UnreadInput {
    /// Duplicates our end of the pipe. Returns `None` on systems other than Unix, or if no file descriptor is
    /// left.
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

    /// Returns whether the pipe still holds bytes that the program did not read. `false` if the system cannot
    /// tell.
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

/// Returns the exit code that stands for how a program ended: its own, or 128 and the number of the signal that
/// ended it, as shells report it. `None` if the system gives neither.
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

/// Starts a program as the leader of a new process group, with pipes for its input and output.
///
/// Must be called inside a tokio runtime with its I/O enabled. For [`StderrTarget::Logged`] it spawns a task
/// that logs the standard error until the program and all its descendants have closed it.
///
/// # Errors
///
/// The program was not found, may not be executed, or the system cannot start it.
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

/// Checks that a program could be found and executed, without starting it, so that an operator hears of a
/// mistake when a configuration is read and not when the first caller comes.
///
/// The program is looked for in the `PATH` that it would get. Only Unix systems are checked; elsewhere names
/// are looked up in more ways than `PATH`, and the check always succeeds.
///
/// # Errors
///
/// No such file, or no such file that is executable, in the words that [`start`] would use.
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

/// Returns whether anybody may execute a file; whether *we* may is up to the system when the program is
/// started.
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
    /// Returns the process id, or `None` once the exit status was collected.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a signal to the program and to all processes of its group. Does nothing once the program is over,
    /// or where there are no process groups.
    pub fn send_signal(&self, told: Signal) {
        if let Some(group) = self.group {
            signal(group, told);
        }
    }

    /// Waits until the program exits by itself, and then kills what is left of its group.
    ///
    /// It is cancellation safe: the future can be dropped and the method called again, also after the program
    /// exited.
    pub async fn wait_for_exit(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        if let Some(group) = self.group.take() {
            signal(group, Signal::Kill);
        }
        status
    }

    /// Ends the program: waits two seconds for it to exit by itself, sends `SIGTERM` to its group, waits two
    /// seconds, and kills the group. Takes at most six seconds.
    ///
    /// The caller must have closed the program's input before, which is what asks a server over pipes to end:
    /// all duplicates of `ProgramPipes::stdin` must be dropped, those in [`StdinBacklog`] and [`UnreadInput`]
    /// included. Returns `None` if the exit status could not be collected.
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

/// The signals that can be passed on to a program, for instance when we receive them ourselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// `SIGHUP`: the terminal is gone.
    HangUp,
    /// `SIGINT`: somebody pressed Ctrl-C.
    Interrupt,
    /// `SIGTERM`: a request to end, which the program may handle or ignore.
    Term,
    /// `SIGKILL`: ends the program by force.
    Kill,
}

/// Sends a signal to a process group. Ids below 2 are ignored, because they would mean our own group or every
/// process. A group without processes is not an error: that is what is wanted.
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
