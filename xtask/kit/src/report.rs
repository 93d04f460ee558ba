//! How a failure is told: what is wrong, where, and what to do about it.

use std::fmt;
use std::process::ExitCode;

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where: `path`, `path:line`, or a path and the rule there.
    pub place: String,
    /// What is wrong there.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    /// A warning is printed and fails nothing.
    pub warning: bool,
}

impl Finding {
    /// A finding that fails the check.
    pub fn new(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), hint: hint.into(), warning: false }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { warning: true, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = if self.warning { "warning: " } else { "" };
        write!(f, "{}: {warning}{}; hint: {}", self.place, self.what, self.hint)
    }
}

/// Prints every finding, and fails when one of them is more than a warning.
pub fn conclude(check: &str, hint: &str, findings: &[Finding]) -> anyhow::Result<()> {
    for finding in findings {
        eprintln!("{finding}");
    }
    match findings.iter().filter(|finding| !finding.warning).count() {
        0 => Ok(()),
        1 => Err(hinted(format!("{check}: 1 finding"), hint)),
        count => Err(hinted(format!("{check}: {count} findings"), hint)),
    }
}

/// An error that says what to do.
#[derive(Debug)]
struct Hinted {
    what: String,
    hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Hinted {}

/// Makes an error that says what to do.
pub fn hinted(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Hinted { what: what.into(), hint: hint.into() }.into()
}

/// Prints an error with its hint, and returns the exit code of a failed command.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    if let Some(hinted) = error.chain().find_map(|cause| cause.downcast_ref::<Hinted>()) {
        eprintln!("hint: {}", hinted.hint);
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_fails_nothing() {
        let finding = Finding::new("a.rs", "long", "split it");
        assert!(conclude("tidy", "fix it", std::slice::from_ref(&finding)).is_err());
        assert!(conclude("tidy", "fix it", &[finding.warning()]).is_ok());
    }

    #[test]
    fn a_finding_says_where_what_and_what_to_do() {
        let finding = Finding::new("a.rs:3", "long", "split it");
        assert_eq!(finding.to_string(), "a.rs:3: long; hint: split it");
        assert_eq!(finding.warning().to_string(), "a.rs:3: warning: long; hint: split it");
    }
}
