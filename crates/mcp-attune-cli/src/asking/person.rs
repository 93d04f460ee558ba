//! Whoever is asked by a server: what they are told, and what they say.

use std::io::{self, BufRead, Write};

use crate::show::terminal_columns;
use crate::show::wrap::wrapped;

/// Where questions are shown and answers come from.
pub(crate) trait Prompter {
    fn print_line(&mut self, line: &str);
    /// A line of theirs; none when they are gone.
    fn read_reply(&mut self, prompt: &str) -> Option<String>;
}

/// The person at this terminal.
pub(crate) struct TerminalPrompter;

impl Prompter for TerminalPrompter {
    fn print_line(&mut self, line: &str) {
        eprintln!("{}", wrapped(line, terminal_columns(), 0));
    }

    fn read_reply(&mut self, prompt: &str) -> Option<String> {
        eprint!("{prompt}");
        let _ = io::stderr().flush();
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(read) if read > 0 => Some(line.trim().to_owned()),
            _ => None,
        }
    }
}

/// Why a form was not filled in.
pub(super) enum FormAbortReason {
    Declined,
    Cancelled,
}

pub(super) fn read_form_reply(person: &mut impl Prompter, prompt: &str) -> Result<String, FormAbortReason> {
    match person.read_reply(prompt) {
        Some(said) if said == "!decline" => Err(FormAbortReason::Declined),
        Some(said) if said != "!cancel" => Ok(said),
        _ => Err(FormAbortReason::Cancelled),
    }
}
