//! How a command ends: 0 fine, 1 findings, 2 could not run; and how an error is told.

use std::fmt;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use mcp_attune_rmcp::{ClientError, ServerCertificateProblem};

use crate::paint::{self, Paint, PaintStyle};
use crate::show::wrap::wrapped;
use crate::show::{plain, terminal_columns};

/// How a command ended that could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is in order.
    Fine,
    /// The command did its work and found something: invalid, a mismatch, incomplete.
    Findings,
    /// The command stood for another program, which ended so.
    As(u8),
}

/// An error that says what to do about it.
#[derive(Debug)]
struct HintedError {
    what: String,
    hint: String,
}

impl fmt::Display for HintedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for HintedError {}

/// Makes an error that says what to do about it.
pub(crate) fn hinted(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    HintedError { what: what.into(), hint: hint.into() }.into()
}

/// Tells an error, if there is one, and returns the exit code.
pub(crate) fn code(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::Findings) => ExitCode::from(1),
        Ok(Exit::As(code)) => ExitCode::from(code),
        // Whoever reads our output may stop when they have seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::from(2)
        }
    }
}

/// Tells an error that is no reason to give up.
pub(crate) fn print_error(error: &anyhow::Error) {
    eprint!("{}", render_error(error, paint::stderr(), terminal_width()));
}

/// Tells something that is worth knowing, and wrong in no way.
pub(crate) fn print_note(text: &str) {
    eprint!("{}", labelled(PaintStyle::Hint, "note:", text, paint::stderr(), terminal_width()));
}

/// Tells something that may be wrong.
pub(crate) fn print_warning(text: &str) {
    eprint!("{}", labelled(PaintStyle::Doubtful, "warning:", text, paint::stderr(), terminal_width()));
}

/// How many columns standard error has, where it is a terminal.
fn terminal_width() -> Option<usize> {
    io::stderr().is_terminal().then(terminal_columns)
}

/// A text after a word that says what it is, broken at blanks where a terminal has so many columns.
fn labelled(style: PaintStyle, label: &str, text: &str, paint: Paint, width: Option<usize>) -> String {
    // Some of it may be what a server said.
    let text = plain::lines(&format!("{label} {text}"));
    let text = width.map_or(text.clone(), |width| wrapped(&text, width, label.len() + 1));
    match text.strip_prefix(label) {
        Some(rest) => format!("{}{rest}\n", paint.paint(style, label)),
        None => text + "\n",
    }
}

/// An error and what to do about it, broken at blanks where a terminal has so many columns.
fn render_error(error: &anyhow::Error, paint: Paint, width: Option<usize>) -> String {
    let line = |style: PaintStyle, label: &str, text: &str| labelled(style, label, text, paint, width);
    let hint = error.chain().find_map(hint);
    let told = format!("{error:#}");
    // Where an error says itself what to do, that is the hint, and told once.
    let asked = error.chain().find_map(|cause| cause.downcast_ref::<ClientError>());
    let told = asked.map_or(told.clone(), |asked| told.replace(&asked.to_string(), &asked.without_advice()));
    let hint = hint.map(|hint| line(PaintStyle::Hint, "hint:", &hint)).unwrap_or_default();
    line(PaintStyle::Bad, "error:", &told) + &hint
}

/// What one of the causes of an error says is to be done.
fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let asked = || {
        let error = cause.downcast_ref::<ClientError>()?;
        option_hint(error).or(error.advice()).map(str::to_owned)
    };
    cause.downcast_ref::<HintedError>().map(|hinted| hinted.hint.clone()).or_else(asked)
}

/// What to do about an error of a connection, in the options of a command line; none where the error's own advice is as
/// good.
fn option_hint(error: &ClientError) -> Option<&'static str> {
    Some(match error {
        ClientError::Certificate { problem: ServerCertificateProblem::Untrusted, .. } => {
            "name its authority with --cacert FILE; --insecure asks without checking"
        }
        ClientError::Status { status: 401, .. } => {
            "say who you are: a token in the environment variable ATTUNE_TOKEN or with --token, or --header NAME:VALUE"
        }
        ClientError::NoAnswer { .. } => "allow it more time with --timeout SECONDS, or see what it waits for",
        _ => return None,
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn an_error_is_told_with_its_hint_when_it_has_one() {
        let tell_plain = |error: &anyhow::Error| render_error(error, Paint::NONE, None);
        assert_eq!(tell_plain(&anyhow::anyhow!("no")), "error: no\n");
        assert_eq!(tell_plain(&hinted("no", "try yes")), "error: no\nhint: try yes\n");
        let inner: anyhow::Result<()> = Err(hinted("no", "try yes"));
        assert_eq!(tell_plain(&inner.context("asked").unwrap_err()), "error: asked: no\nhint: try yes\n");
    }

    #[test]
    fn on_a_terminal_an_error_has_colours_and_breaks_at_blanks() {
        let told =
            render_error(&hinted("something is not as it should be", "mend it"), Paint::new(true), Some(24));
        assert_eq!(
            told,
            "\u{1b}[1;31merror:\u{1b}[0m something is not\n       as it should be\n\u{1b}[36mhint:\u{1b}[0m mend it\n"
        );
    }

    #[test]
    fn a_broken_pipe_is_no_error_and_a_full_disk_is() {
        let error =
            |kind: io::ErrorKind| anyhow::Error::from(io::Error::from(kind)).context("could not write");
        assert!(is_broken_pipe(&error(io::ErrorKind::BrokenPipe)));
        assert!(!is_broken_pipe(&error(io::ErrorKind::StorageFull)));
    }
}
