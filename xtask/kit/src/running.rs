//! Programs that run beside us, each with all that it started itself, until they are dropped or have said everything.

use std::io::Read;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::leash;

/// How long a program may take to end once it is asked to: a gateway ends its children before itself.
const GRACE: Duration = Duration::from_secs(8);

/// A program in a group of its own. Dropped, it is asked to end, and then ended by force with whatever is left of its
/// group.
pub struct Running {
    name: String,
    child: Child,
}

impl Running {
    /// Starts a program in a group of its own.
    pub fn start(command: &mut Command) -> Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        leash::hold(child.id());
        Ok(Self { name, child })
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The program, as it was named when it was started.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it prints, for whoever asks first.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The way into it, for whoever asks first.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Asks it, and nothing that it started, to end.
    pub fn ask_to_end(&self) {
        signal(self.child.id(), Signal::Ask);
    }

    /// Runs a program to its end, and returns what it said.
    pub fn to_its_end(command: &mut Command, patience: Duration) -> Result<Output> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Self::start(command)?;
        let (out, err) = (running.child.stdout.take(), running.child.stderr.take());
        let [out, err] = [reading(out), reading(err)];
        let status = running.wait(patience)?;
        // Whatever it left behind would keep its output open.
        let name = running.name.clone();
        drop(running);
        let read = |reading: thread::JoinHandle<Vec<u8>>| reading.join().unwrap_or_default();
        let (stdout, stderr) = (read(out), read(err));
        match status {
            Some(status) => Ok(Output { status, stdout, stderr }),
            None => {
                let said = String::from_utf8_lossy(&stderr).into_owned();
                bail!("{name} did not end within {patience:?}: {said}")
            }
        }
    }

    /// Its end; none where that does not come in time.
    pub fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if begun.elapsed() > patience {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn reading(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut read = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut read);
        }
        read
    })
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.ask_to_end();
            let _ = self.wait(GRACE);
        }
        signal(self.child.id(), Signal::Force);
        let _ = self.child.kill();
        let _ = self.child.wait();
        leash::let_go(self.child.id());
    }
}

#[derive(Clone, Copy)]
enum Signal {
    /// To the program, which knows how to end what it started.
    Ask,
    /// To all that is left of its group.
    Force,
}

/// Nobody left is what is wanted, and no failure.
#[cfg(unix)]
fn signal(id: u32, signal: Signal) {
    use rustix::process::{Pid, Signal as Number, kill_process, kill_process_group};
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = match signal {
            Signal::Ask => kill_process(pid, Number::TERM),
            Signal::Force => kill_process_group(pid, Number::KILL),
        };
    }
}

#[cfg(not(unix))]
fn signal(_: u32, _: Signal) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn returns_what_a_program_said_and_how_it_ended() {
        let output = Running::to_its_end(&mut shell("echo out; echo err >&2; exit 3"), GRACE).unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn what_a_program_left_behind_ends_with_it() {
        let output = Running::to_its_end(&mut shell("sleep 60 >&- 2>&- & echo $!"), GRACE).unwrap();
        let left = String::from_utf8(output.stdout).unwrap();
        let lives = || {
            // What nobody waits for stays as a name only, until somebody does.
            let state = std::fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        let gone = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            !lives()
        });
        assert!(gone, "{left} still runs");
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let error = Running::to_its_end(&mut shell("echo why >&2; sleep 60"), Duration::from_millis(200));
        assert!(error.unwrap_err().to_string().contains("why"));
    }
}
