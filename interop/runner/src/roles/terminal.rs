//! A pseudo-terminal with somebody who types.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use kit::running::Running;

const COLUMNS: u16 = 100;

/// Runs a command on a terminal, types each line once its question was shown, and returns the exit code and everything
/// that was shown.
pub(super) fn run(
    command: &mut Command,
    types: &[(String, String)],
    timeout: Duration,
) -> Result<(Option<i32>, String)> {
    let deadline = Instant::now() + timeout;
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    let name = ptsname(&controller, Vec::new())?.into_string()?;
    let open = || OpenOptions::new().read(true).write(true).open(&name);
    tcsetwinsize(&controller, Winsize { ws_row: 40, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 })?;
    let mut modes = tcgetattr(open()?)?;
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(open()?, OptionalActions::Now, &modes)?;
    command.stdin(Stdio::from(open()?)).stdout(Stdio::from(open()?)).stderr(Stdio::from(open()?));
    let mut running = Running::start(command)?;
    // While the command holds its copies, the terminal does not end with the program.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut controller = File::from(controller);
    let pieces = read_pieces(controller.try_clone()?);
    let mut shown = String::new();
    let mut from = 0;
    for (question, line) in types {
        while !shown.get(from..).is_some_and(|new| new.contains(question.as_str())) {
            match pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => shown += &piece,
                Err(_) => bail!("{question:?} was not asked: {shown}"),
            }
        }
        from = shown.len();
        writeln!(controller, "{line}")?;
    }
    while let Ok(piece) = pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        shown += &piece;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    let Some(status) = running.wait(left)? else { bail!("it does not end: {shown}") };
    Ok((status.code(), shown.replace("\r\n", "\n")))
}

/// What appears on the terminal, until no process holds it any more.
fn read_pieces(mut controller: File) -> Receiver<String> {
    let (to, pieces) = channel();
    thread::spawn(move || {
        let (mut buffer, mut rest) = ([0; 4096], Vec::new());
        while let Ok(count @ 1..) = controller.read(&mut buffer) {
            rest.extend_from_slice(buffer.get(..count).unwrap_or_default());
            // A character may come in two pieces.
            let whole = std::str::from_utf8(&rest).map_or_else(|error| error.valid_up_to(), str::len);
            let piece: Vec<u8> = rest.drain(..whole).collect();
            if to.send(String::from_utf8_lossy(&piece).into_owned()).is_err() {
                return;
            }
        }
    });
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_a_line_when_it_is_asked_for() {
        let mut command = Command::new("sh");
        command.args(["-c", "printf 'name> '; read name; [ -t 1 ] && echo \"hello $name\"; exit 3"]);
        let types = [("name> ".to_owned(), "Ada".to_owned())];
        let (code, shown) = run(&mut command, &types, Duration::from_secs(20)).unwrap();
        assert_eq!((code, shown.as_str()), (Some(3), "name> hello Ada\n"));
    }
}
