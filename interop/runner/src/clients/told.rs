//! What a client tells: one check a line.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Deserialize;

use super::matrix::{Checks, Outcome};
use kit::running::Running;

/// A client has a dozen checks, and ten seconds for each. Many calls take longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// One line of what a client prints.
#[derive(Deserialize)]
struct Line {
    check: String,
    ok: bool,
    detail: String,
}

/// Runs a client to its end, and reads what it found.
pub(super) fn checks(client: &mut Command) -> Result<Checks> {
    let output = Running::to_its_end(client, PATIENCE)?;
    let checks = read(&String::from_utf8_lossy(&output.stdout));
    if checks.is_empty() {
        bail!("it checked nothing ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(checks)
}

fn read(text: &str) -> Checks {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    lines.map(|line| (line.check, Outcome { ok: line.ok, detail: line.detail })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_check_a_line_and_nothing_else() {
        let checks = read("a warning\n{\"check\":\"lists\",\"ok\":true,\"detail\":\"9 tools\"}\n{}\n");
        assert_eq!(checks.len(), 1);
        assert!(checks["lists"].ok);
    }

    #[test]
    fn a_client_that_checks_nothing_is_an_error() {
        assert!(checks(&mut Command::new("true")).is_err());
    }
}
