//! What no client tells: that nothing but messages comes out of `attune stdio`, and that it ends as the server does.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::list::Server;
use crate::servers::Ours;
use kit::running::Running;

const PATIENCE: Duration = Duration::from_secs(20);

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"interop","version":"1"}}}"#;

/// What a client does to end its server.
#[derive(Clone, Copy, Debug)]
enum End {
    CloseInput,
    Terminate,
}

/// Starts the server by itself and with `attune stdio`, ends it, and compares.
pub(super) fn alike(ours: &Ours, server: &Server) -> Result<Vec<String>> {
    server.prepare()?;
    let command = server.command();
    let attune = [ours.attune.to_string_lossy().into_owned(), "stdio".to_owned(), "--".to_owned()];
    let mut faults = Vec::new();
    for end in [End::CloseInput, End::Terminate] {
        let direct = life(&command, end)?;
        let through = life(&[&attune[..], &command].concat(), end)?;
        let title = format!("{}, `attune stdio`, {end:?}", server.entry.name);
        faults.extend(compare(&direct, &through).into_iter().map(|what| format!("{title}: {what}")));
    }
    Ok(faults)
}

/// What is wrong with a life that has to be like another.
fn compare(direct: &Life, through: &Life) -> Vec<String> {
    let noise = through.lines.iter().filter(|line| !is_message(line));
    let mut faults: Vec<_> = noise.map(|line| format!("no message on its standard output: {line}")).collect();
    if direct.code != through.code {
        faults.push(format!("ends with {:?} instead of {:?}", through.code, direct.code));
    }
    if direct.lines.first() != through.lines.first() {
        faults.push("another answer to initialize".to_owned());
    }
    faults
}

/// How a program lived.
struct Life {
    lines: Vec<String>,
    /// As a shell tells it; none where it had to be ended.
    code: Option<i32>,
}

/// Begins a session, and ends it.
fn life(command: &[String], end: End) -> Result<Life> {
    let (program, arguments) = command.split_first().context("a command has no program")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(&mut command)?;
    let mut input = running.input().context("no way in")?;
    let mut output = BufReader::new(running.output().context("no way out")?);
    writeln!(input, "{INITIALIZE}")?;
    let mut first = String::new();
    output.read_line(&mut first)?;
    if first.is_empty() {
        bail!("{} ended instead of answering initialize", running.name());
    }
    match end {
        End::CloseInput => drop(input),
        End::Terminate => running.ask_to_end(),
    }
    let code = running.wait(PATIENCE)?.map(code);
    drop(running);
    let mut rest = String::new();
    output.read_to_string(&mut rest)?;
    let lines = std::iter::once(first.trim_end()).chain(rest.lines()).map(str::to_owned).collect();
    Ok(Life { lines, code })
}

fn is_message(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|message| message.get("jsonrpc").is_some())
}

/// The code by which a shell would tell how a program ended.
fn code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or_default()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, end: End) -> Life {
        life(&["sh", "-c", script].map(str::to_owned), end).unwrap()
    }

    const ANSWER: &str = r#"read line; echo '{"jsonrpc":"2.0"}';"#;

    #[test]
    fn tells_how_a_program_ends() {
        let ends = |script: &str, end| shell(&format!("{ANSWER} {script}"), end).code;
        assert_eq!(ends("read line; exit 3", End::CloseInput), Some(3));
        assert_eq!(ends("exec sleep 60", End::Terminate), Some(143));
        assert!(life(&["true".to_owned()], End::CloseInput).is_err());
    }

    #[test]
    fn finds_noise_and_other_ends_and_other_answers() {
        let direct = shell(ANSWER, End::CloseInput);
        assert_eq!(compare(&direct, &direct), [""; 0]);
        for other in ["echo noise; exit 0", "exit 1"] {
            assert_eq!(
                compare(&direct, &shell(&format!("{ANSWER} {other}"), End::CloseInput)).len(),
                1,
                "{other}"
            );
        }
        let other = shell(r#"read line; echo '{"jsonrpc":"2.0","id":1}'"#, End::CloseInput);
        assert_eq!(compare(&direct, &other), ["another answer to initialize"]);
    }
}
